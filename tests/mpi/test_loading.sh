#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Our plugins in the processes of others: names that a program has, too; libraries
# that are not there. One line per case.
#
#   test_loading.sh [--mpi ompi|mpich] [BUILD-DIRECTORY]
set -u

mpi=ompi
[ "${1-}" != --mpi ] || { mpi=$2 && shift 2; }
# shellcheck source=/dev/null
. "$(dirname "$0")/${mpi}_job.sh"
need_mpi mpi/mpi_mismatch

names=$build/tests/mpi/libtake_names.so

# OPTION...: four ranks that exchange and check bytes.
job() {
    any_run -np 4 --mca coll_fast_servers 2x2 --mca coll_fast_min_bytes 0 "$@" \
        "$program" --none >"$scratch/out" 2>&1
    status=$?
    ends_well && said 4 ': ok'
}

# What a program defines is not what our plugin calls.
taken() {
    job --mca coll fast --mca coll_fast_verbose 1 \
        --mca coll_fast_algorithm staged -x LD_PRELOAD="$names" &&
        said 0 take_names && said 1 'call 1: staged'
}

case_of 'a program with functions of our names' taken

# A UCX that is of no use. Open MPI itself is kept from it.
no_ucx() {
    mkdir -p "$scratch/lib" && cp "$names" "$scratch/lib/libucp.so.0" &&
        job --mca pml ob1 --mca btl self,vader --mca osc ^ucx \
            --mca coll_fast_verbose 1 \
            -x LD_LIBRARY_PATH="$scratch/lib:${LD_LIBRARY_PATH-}" "$@"
}

not_asked_for() { no_ucx && said 0 'coll fast' && said 0 ucp; }

asked_for() {
    no_ucx --mca coll fast --mca coll_fast_algorithm staged &&
        said 1 "the MPI's own messages are used" && said 1 'call 1: staged' &&
        said 1 'UCX cannot be used: libucp.so.0 has no uc'
}

if [ "$mpi" = ompi ]; then
    case_of 'no UCX, a job that does not ask for fast: not a word' not_asked_for
    case_of "no UCX, a job that does: the MPI's own messages" asked_for
fi

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
