#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Parameter record under Open MPI: see any_mpi_record.sh.
#
#   test_record.sh [BUILD-DIRECTORY]
set -u
export LC_ALL=C

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/mpi_mismatch
# shellcheck disable=SC2034
record_suffix=
# shellcheck source=tests/mpi/any_mpi_record.sh
. "$(dirname "$0")/any_mpi_record.sh"

# Its starts are seen if it is ours, its making if it is not.
persistent() {
    record "p$1" "$build/osu_extensions/osu_alltoallv_skew_persistent" --mca coll_fast_servers 2x2 \
        --mca coll_fast_min_bytes 0 --mca coll_fast_nonblocking "$1" -- && holds "p$1" MPI_Alltoallv_init "$2"
}

full() {
    any_run -np 4 --mca coll fast --mca coll_fast_record "$scratch/full" --mca coll_fast_record_limit 4k \
        "$bench" -i 600 -x 0 --dynamic -p random -m 1k:1k -c >"$scratch/out" 2>&1
    status=$?
    ends_well && said 1 Pass && "$tool" compare "$scratch/full" --servers 2x2 >"$scratch/out" &&
        said 1 'files were full (parameter record_limit)'
}

case_of 'a recording that is full' full
# A blocking call without bytes comes first.
case_of 'recorded: nonblocking calls, of fast' nonblocking
case_of 'recorded: nonblocking calls, of the MPI' nonblocking --mca coll_fast_nonblocking 0
case_of 'recorded: starts of a persistent call, of fast' persistent 1 4
case_of 'recorded: a persistent call of the MPI' persistent 0 1

echo "$n_cases cases, $failed failed"
[ "$failed" = 0 ]
