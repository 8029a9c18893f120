#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpi_alltoallv under Open MPI on one host, which plays several servers
# (parameter servers). One line per run.
#
#   run_ompi.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/mpi_alltoallv

# NP NODES EXPECT [MCA-OPTION...] [-- [PROGRAM-OPTION...]]
job() {
    np=$1 servers=$2 expect=$3 mca=
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        mca="$mca $1"
        shift
    done
    [ $# = 0 ] || shift
    # shellcheck disable=SC2086 # options have no blanks
    mpi_run -np "$np" --mca coll_fast_servers "$servers" $mca "$program" \
        --servers "$servers" --expect "$expect" "$@"
}

# shellcheck source=tests/mpi/any_mpi_cases.sh
. "$(dirname "$0")/any_mpi_cases.sh"

# ---- nonblocking calls, waited for at once ----

# NP SERVERS ALGORITHM [OPTION...] [-- PROGRAM-OPTION]
at_once() {
    text="nonblocking, np $1, $2, $3${4:+, }"
    np=$1 servers=$2 algorithm=$3 expect=$3
    shift 3
    [ "$algorithm" != bundles ] || expect=any
    [ "${1-}" = -- ] || set -- "$@" --
    # shellcheck disable=SC2154,SC2086 # each: in any_mpi_cases.sh
    report "$text$*" job "$np" "$servers" "$expect" --mca coll fast \
        --mca coll_fast_algorithm "$algorithm" --mca coll_fast_min_bytes 0 \
        "$@" --nonblocking $each
}
at_once 4 2x2 staged
at_once 8 @1,0,0,2,1,2,0,1 bundles
# shellcheck disable=SC2086
at_once 8 1+3+4 pipe2d $tight
at_once 5 2+2+1 staged -- --alltoallw

# ---- with a thread that progresses them ----

helper='--mca coll_fast_progress_thread on'
# shellcheck disable=SC2086
{
    at_once 4 2x2 staged $helper
    several 4 2x2 staged $helper
    several 5 2+2+1 bundles $helper
    staged 4 2x2 $helper -- --threads
}
mkdir "$scratch/trace"
several 4 2x2 staged --mca coll_fast_trace "$scratch/trace"

# ---- who carries the application's own messages; threads ----

ucx='--mca pml ucx --mca opal_common_ucx_tls any
    --mca opal_common_ucx_devices any'
staged 4 2x2 --mca pml ob1
staged 4 2x2 --mca pml ob1 -- --threads
staged 8 2x4 --mca pml ob1 -- --threads
if "$(dirname "$mpirun")/ompi_info" --param pml ucx 2>/dev/null | grep -q ucx
then
    # shellcheck disable=SC2086
    {
        staged 4 2x2 $ucx
        staged 4 2x2 $ucx -- --threads
    }
fi

# ---- our bytes as Open MPI's own messages ----

# shellcheck disable=SC2086
{
    staged 8 2x4 $mpi --mca pml ob1 -- --threads
    staged 4 2x2 $mpi --mca pml ob1 --mca btl tcp,self
    staged 4 2x2 $mpi $ucx
    staged 4 2x2 $mpi $ucx -- --threads
}

# ---- how it is named ----

# shellcheck disable=SC2086
{
    report 'coll fast,tuned' job 4 2x2 staged --mca coll fast,tuned $always
    report 'coll tuned,fast' job 4 2x2 staged --mca coll tuned,fast $always
    report 'no list, priority 95' job 4 2x2 staged \
        --mca coll_fast_priority 95 $always
    report 'coll ^han, priority 95' job 4 2x2 staged --mca coll '^han' \
        --mca coll_fast_priority 95 $always
    report 'coll fast, priority 1: below the others' job 4 2x2 absent \
        --mca coll fast --mca coll_fast_priority 1 $always
}

# Installed, and nobody asked for it: not a call, not a word.
not_named() {
    mpi_run -np 4 "$@" --mca coll_fast_verbose 1 --mca coll_fast_servers 2x2 \
        "$program" --expect absent ragged split
    status=$?
    ! grep 'coll fast:' "$scratch/out" && [ $status = 0 ]
}

report 'installed, not named' not_named
report 'coll ^fast' not_named --mca coll '^fast'
report 'another is named' not_named --mca coll tuned,libnbc,basic,self,inter

echo "$n_runs runs, $failed failed"
[ $failed = 0 ]
