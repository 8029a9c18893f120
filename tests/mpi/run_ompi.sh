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
in_turn

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

# ---- nonblocking calls, waited for at once; persistent ones ----

for form in nonblocking persistent; do
    each_as $form 4 2x2 staged
    each_as $form 8 @1,0,0,2,1,2,0,1 bundles
    # shellcheck disable=SC2086
    each_as $form 8 1+3+4 pipe2d $tight
done
each_as nonblocking 5 2+2+1 staged -- --alltoallw
# shellcheck disable=SC2154,SC2086 # device, direct: in any_mpi_cases.sh
{
    each_as nonblocking 4 2x2 staged $device -- --device
    each_as nonblocking 8 1+3+4 pipe2d $direct -- --device
    each_as nonblocking 4 2x2 bundles $device -- --device
    each_as persistent 4 2x2 staged $device -- --device
    each_as persistent 8 1+3+4 pipe2d $direct -- --device
    report 'persistent, on a device' job 4 2x2 any --mca coll fast $always $device -- \
        --device start-orders ahead startall comm-freed
}
# shellcheck disable=SC2154,SC2086 # each: in any_mpi_cases.sh
report 'persistent MPI_Alltoallw' job 5 2+2+1 any --mca coll fast \
    --mca coll_fast_algorithm staged -- --alltoallw --persistent $each
even 6 1+2+3 '20000 persistent' staged --mca coll_fast_algorithm staged
even 4 2x2 '500 persistent' bundles
each_as nonblocking 4 2x2 staged -- --unprimed

# The first call of a communicator is nonblocking. LINE NP SERVERS [OPTION...]: some line of the
# job is like LINE; of a network that is not there, or of calls that were ours.
unprimed() {
    line=$1 np=$2 servers=$3
    shift 3
    # shellcheck disable=SC2154,SC2086 # many: in any_mpi_cases.sh
    job "$np" "$servers" any --mca coll fast --mca coll_fast_stats 1 "$@" -- \
        --unprimed $many && grep -q "$line" "$scratch/out"
}
bundled='stats: MPI COMM.*: 20 calls, 20 bundles'
no_network='-x FASTSCHED_UCX_TLS=none'
report 'several nonblocking, unprimed' unprimed "$bundled" 4 2x2
report 'several nonblocking, unprimed, staged' unprimed 'calls, 20 staged' \
    8 @1,0,0,2,1,2,0,1 --mca coll_fast_algorithm staged
# What parameter transport forbids is an error of every call.
refused() {
    # shellcheck disable=SC2086
    job 4 2x2 any --mca coll fast --mca coll_fast_transport ucx $no_network \
        -- --unprimed many-outstanding
    status=$?
    case $status in
    0 | 124 | 137) return 1 ;;
    esac
    ! grep -q 'time is up' "$scratch/out" &&
        grep -q 'and parameter transport is "ucx"' "$scratch/out"
}
report 'nonblocking, unprimed, no network, transport ucx' refused
# shellcheck disable=SC2086
{
    report 'several nonblocking, unprimed, no network' unprimed 'not used on' \
        5 2+2+1 $no_network
    report 'nonblocking, unprimed, no network' job 4 2x2 any --mca coll fast \
        $no_network -- --unprimed --nonblocking $each
}

frames 1
frames 0 --mca coll_fast_frames 1

# ---- with a thread that progresses them ----

helper='--mca coll_fast_progress_thread on'
# shellcheck disable=SC2086
{
    each_as nonblocking 4 2x2 staged $helper
    each_as nonblocking 4 2x2 staged $helper $device -- --device
    each_as persistent 4 2x2 staged $helper
    several 4 2x2 staged $helper
    several 5 2+2+1 bundles $helper
    staged 4 2x2 $helper -- --threads
    frames 1 $helper
}
mkdir "$scratch/trace"
several 4 2x2 staged --mca coll_fast_trace "$scratch/trace"
again 4 2x2 staged --mca coll_fast_trace "$scratch/trace"

# ---- who carries the application's own messages; threads ----

ucx='--mca pml ucx --mca opal_common_ucx_tls any
    --mca opal_common_ucx_devices any'
# The default, unless a NIC has RDMA.
mpi_run -np 1 --mca pml_base_verbose 10 "$program" ragged >"$scratch/out" 2>&1
grep -q 'component ob1 selected' "$scratch/out" || staged 4 2x2 --mca pml ob1
staged 4 2x2 --mca pml ob1 -- --threads
staged 8 2x4 --mca pml ob1 -- --threads
if "$(dirname "$mpirun")/ompi_info" --param pml ucx 2>/dev/null | grep -q ucx
then
    # shellcheck disable=SC2086
    {
        staged 4 2x2 $ucx
        staged 4 2x2 $ucx -- --threads
    }
else
    echo 'skip: pml ucx is not in this Open MPI'
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
    ! grep -q 'coll fast:' "$scratch/out" && [ $status = 0 ]
}

report 'installed, not named' not_named
report 'coll ^fast' not_named --mca coll '^fast'
report 'another is named' not_named --mca coll tuned,libnbc,basic,self,inter

echo "$n_runs runs, $failed failed"
[ $failed = 0 ]
