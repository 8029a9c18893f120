#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPI_T in Open MPI: counters of communicators, parameters that are written between calls, events where it
# has any. One line per case.
#
#   test_mpit.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/mpi_tool

# CASE OPTION...: a job of 4 ranks on 2 servers; all are well.
job() {
    name=$1
    shift
    mpi_run -np 4 --mca coll fast --mca coll_fast_servers 2x2 --mca coll_fast_algorithm staged \
        --mca coll_fast_min_bytes 0 --mca coll_fast_tuner 0 "$@" "$program" "$name" >"$scratch/out" 2>&1
    status=$?
    ends_well && said 4 ': ok'
}

quiet_job() {
    job "$@" && said 0 'coll fast: '
}

unlike() {
    job unlike && said 1 'ranks have been given different values of algorithm; all keep theirs' &&
        said 2 'not used on MPI COMM' && said 2 ' DUP FROM 0: algorithm is "pipe2d" on rank 0 and "staged" on rank 1'
}

nonsense() {
    job nonsense && said 4 'coll fast: ' &&
        said 4 'parameter coll_fast_algorithm is "nonsense"; allowed: auto, bundles,' && said 4 'it keeps the value it had'
}

# Calls 3 to 6 of 7 have a line: what is written before call 2 holds from call 3 on.
verbose() {
    job verbose && said 4 'a call ' && said 2 'guess of the tuner' && said 0 'a call 2:' && said 1 'a call 6:'
}

case_of 'counters of communicators' quiet_job count
case_of 'algorithm is written' quiet_job write
case_of 'counters of communicators, transport mpi' quiet_job count --mca coll_fast_transport mpi
case_of 'ranks are given different values' unlike
case_of 'off before the first call, a nonblocking one' quiet_job off-first
case_of 'a value that is not allowed' nonsense
case_of 'verbose and tuner are written' verbose
case_of 'calls raise events, if it has any' job events
if grep -q 'has no events' "$scratch/out"; then
    echo 'skip       calls raise events: this Open MPI has none'
fi

case_of 'algorithm and tuner are written at random' job random
case_of 'the same, calls begin early' job random --mca coll_fast_early on
case_of 'the same, with check, plans and a thread' job random --mca coll_fast_check 1 \
    --mca coll_fast_progress_thread on

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
