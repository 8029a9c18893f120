# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the scripts that run jobs under MPICH on one host.

# shellcheck source=tests/mpi/any_mpi_job.sh
. "$(dirname "$0")/../mpi/any_mpi_job.sh"
library=$build/mpich_coll_fast/.libs/libmpich_coll_fast.so

# With FS_NATIVE, where an MPICH is installed that knows "fast" itself (see
# mpich_coll_fast/native/build), that MPICH runs the jobs and opens the library.
native=${FS_NATIVE-}

# MPICH is there and so is our library; PROGRAM, below tests/, is built.
need_mpich() {
    program=$build/tests/$1
    [ -r "$build/run-env" ] || skip "no run-env in $build"
    # shellcheck disable=SC1091
    . "$build/run-env"
    if [ -n "$native" ]; then
        FS_MPIEXEC_MPICH=$native/bin/mpiexec
        export LD_LIBRARY_PATH="$native/lib:${library%/*}:${LD_LIBRARY_PATH-}"
    fi
    mpiexec=${FS_MPIEXEC_MPICH:-$(command -v mpiexec.mpich || command -v mpiexec.hydra)} ||
        skip 'no mpiexec'
    "$mpiexec" --version 2>/dev/null | grep -q HYDRA ||
        skip "$mpiexec is not MPICH's"
    [ -e "$library" ] || skip 'the library is not built'
    [ -x "$program" ] || skip "$program is not built"
}

# Arguments of mpiexec. Nothing is left over after LIMIT seconds.
limit=60
mpi_run() {
    # shellcheck disable=SC2086 # a command
    $turn timeout --kill-after=5 "$limit" "$mpiexec" "$@" </dev/null
}

# As in ompi_job.sh. Programs of the same name are in mpich/.
need_mpi() { need_mpich "mpich/${1##*/}"; }
parameter() { printf 'FASTSCHED_%s\n' "$1" | tr '[:lower:]' '[:upper:]'; }
variable() { parameter "$1"; }

# Inside an MPICH each function has a variable of its own.
others() {
    for name in ALLTOALL ALLTOALLW ALLREDUCE; do
        echo "-genv MPICH_${name}_INTRA_ALGORITHM $1"
    done
    for name in IALLTOALL IALLTOALLV IALLTOALLW IALLREDUCE; do
        echo "-genv MPICH_${name}_INTRA_ALGORITHM tsp_$1"
    done
}

# A job with arguments as Open MPI has them: --mca coll fast loads the library
# (if need be) and chooses it, --mca coll_fast_NAME VALUE is FASTSCHED_NAME, -x NAME=VALUE.
any_run() {
    mpich= preload=
    while :; do
        case $1,${2-} in
        -np,*) mpich="$mpich -n $2" ;;
        -x,LD_PRELOAD=*"$library"*) preload=:${2#*=} ;; # the whole list
        -x,LD_PRELOAD=*) preload=$preload:${2#*=} ;;
        -x,*) mpich="$mpich -genv ${2%%=*} ${2#*=}" ;;
        --mca,coll)
            [ -n "$native" ] || preload=$library$preload
            mpich="$mpich -genv MPICH_ALLTOALLV_INTRA_ALGORITHM $3"
            [ -z "$native" ] || mpich="$mpich $(others "$3")"
            shift
            ;;
        --mca,coll_fast_*)
            mpich="$mpich -genv $(variable "${2#coll_fast_}") $3"
            shift
            ;;
        *) break ;;
        esac
        shift 2
    done
    # Or most tests take several times as long on two cores.
    preload=$preload:$build/tests/mpi/libyield_progress.so
    mpich="$mpich -genv LD_PRELOAD ${preload#:}"
    # shellcheck disable=SC2086 # options have no blanks
    mpi_run $mpich "$@"
}
