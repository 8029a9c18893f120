#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One rank runs out of memory at any point of MPI_Alltoallv: never a hang, and
# all ranks end alike. One line per case.
#
#   test_nomem.sh [--mpi ompi|mpich] [BUILD-DIRECTORY]
set -u

mpi=ompi
[ "${1-}" != --mpi ] || { mpi=$2 && shift 2; }
# shellcheck source=/dev/null
. "$(dirname "$0")/${mpi}_job.sh"
need_mpi mpi/mpi_nomem
in_turn

limit=300 # a hang is told earlier, by the program

# AT-LEAST ERRORS MCA-OPTION...: so many allocations have failed; so many calls
# had an error, or any number.
nomem() {
    least=$1 errors=$2
    shift 2
    any_run -np 3 --mca coll fast --mca coll_fast_servers 2+1 \
        --mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0 "$@" \
        -x LD_PRELOAD="$build/tests/mpi/libfail_alloc.so" "$program" >"$scratch/out" 2>&1
    status=$?
    ends_well || return 1
    # shellcheck disable=SC2046 # two numbers
    set -- $(sed -n 's/.*mpi_nomem: \([0-9]*\) .* \([0-9]*\) calls .*/\1 \2/p' \
        "$scratch/out")
    echo "$1 allocations failed, $2 calls had an error"
    [ "$1" -ge "$least" ] && case $errors in any | "$2") ;; *) false ;; esac
}

case_of 'UCX, or the messages of the MPI' nomem 200 0
case_of 'UCX only' nomem 200 any --mca coll_fast_transport ucx
case_of 'the messages of the MPI only' nomem 200 0 \
    --mca coll_fast_transport mpi
case_of 'parameter check, and a trace' nomem 200 any --mca coll_fast_check 1 \
    --mca coll_fast_trace "$scratch/trace"

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
