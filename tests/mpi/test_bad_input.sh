#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a user can do wrong: a clear error on every rank, or a message and the
# right data; never a hang. One line per case.
#
#   test_bad_input.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/mpi_mismatch

# shellcheck source=tests/mpi/any_mpi_bad_input.sh
. "$(dirname "$0")/any_mpi_bad_input.sh"

# ---- the component's own parameters ----

wrong 4 priority 101 '-1 to 100'
wrong 4 priority abc '-1 to 100'
case_of 'chunk=abc is refused when a priority is all that names fast' \
    refuses 4 chunk abc '4k to 64m' --mca coll_fast_priority 95

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
