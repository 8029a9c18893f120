# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts that run jobs under Open MPI on one host.

# shellcheck source=tests/mpi/any_mpi_job.sh
. "$(dirname "$0")/../mpi/any_mpi_job.sh"

# Open MPI is there and so is our component; PROGRAM, below tests/, is built.
need_ompi() {
    program=$build/tests/$1
    [ -r "$build/run-env" ] || skip "no run-env in $build"
    # shellcheck disable=SC1091
    . "$build/run-env"
    mpirun=${FS_MPIRUN:-$(command -v mpirun.openmpi || command -v mpirun)} ||
        skip 'no mpirun'
    "$mpirun" --version 2>/dev/null | grep -q 'Open MPI\|OpenRTE' ||
        skip "$mpirun is not Open MPI's"
    [ -e "$build/ompi_coll_fast/.libs/mca_coll_fast.so" ] ||
        skip 'the component is not built'
    [ -x "$program" ] || skip "$program is not built"
}

# Options before the number of ranks. Nothing is left over after LIMIT seconds.
limit=60
mpi_run() {
    set -- --oversubscribe "$@"
    [ "$(id -u)" != 0 ] || set -- --allow-run-as-root "$@"
    # shellcheck disable=SC2086,SC2154 # a command, from any_mpi_job.sh
    $turn timeout --kill-after=5 "$limit" "$mpirun" "$@" </dev/null
}

# For scripts that run under any MPI: is it there, such a job, and what people
# call a parameter, in messages and in the environment.
need_mpi() { need_ompi "$1"; }
any_run() { mpi_run "$@"; }
parameter() { echo "coll_fast_$1"; }
variable() { echo "OMPI_MCA_coll_fast_$1"; }
