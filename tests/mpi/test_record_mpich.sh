#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Parameter record in front of MPICH: see any_mpi_record.sh.
#
#   test_record_mpich.sh [BUILD-DIRECTORY]
set -u
export LC_ALL=C

# shellcheck source=tests/mpi/mpich_job.sh
. "$(dirname "$0")/mpich_job.sh"
need_mpich mpich/mpi_mismatch
# shellcheck disable=SC2034
record_suffix=.mpich
# shellcheck source=tests/mpi/any_mpi_record.sh
. "$(dirname "$0")/any_mpi_record.sh"

# The benchmark's blocking call without bytes comes first, which sets the communicator up.
case_of 'recorded: nonblocking calls' nonblocking
case_of 'recorded: nonblocking calls, of fast' nonblocking --mca coll_fast_progress_thread on

echo "$n_cases cases, $failed failed"
[ "$failed" = 0 ]
