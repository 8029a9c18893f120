#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpi_alltoallv under MPICH on one host, which plays several servers (parameter
# servers), with libmpich_coll_fast. One line per run.
#
#   run_mpich.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/mpich_job.sh
. "$(dirname "$0")/mpich_job.sh"
need_mpich mpich/mpi_alltoallv
in_turn

# Under load MPICH 4.0.2 now and then loses an MPI_Accumulate in shared memory,
# with nothing of ours loaded: no case "window". It also loses the end of a few kB
# of MPI_DOUBLE_INT, in MPI_Sendrecv as well: where it serves calls the cases are
# $sound. $light is without those that make many communicators, which takes it
# seconds.
# Those of several nonblocking calls have runs of their own.
every=$("$program" --list | sed '/^many-outstanding$/,$d' |
    grep -vx -e huge -e huge-total -e huge-element -e far -e mismatch -e window)
sound=$(printf '%s\n' "$every" | grep -vx -e pair-types -e types-in-place)
light=$(printf '%s\n' "$sound" | grep -vx -e churn -e many -e split -e dup \
    -e unused -e inter -e never-freed)

# NP NODES EXPECT [OPTION...] [-- [PROGRAM-OPTION...]]
job() {
    np=$1 servers=$2 expect=$3 options=
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    [ $# = 0 ] || shift
    # shellcheck disable=SC2086 # names have no blanks
    case $#,$servers,$expect in
    0,2x1,* | 0,*,native | 0,2x2,any) set -- $sound ;;
    0,2x2,* | 0,1+3+4,*) set -- $every ;;
    0,*) set -- $light ;;
    esac
    [ -z "$servers" ] || options="$options --mca coll_fast_servers $servers"
    # shellcheck disable=SC2086 # options have no blanks
    any_run -np "$np" $options "$program" --servers "$servers" --expect "$expect" "$@"
}

# shellcheck source=tests/mpi/any_mpi_cases.sh
. "$(dirname "$0")/any_mpi_cases.sh"

staged 4 2x2 -- --threads
staged 8 2x4 -- --threads

# ---- buffers on a device, and an MPICH that knows what to do with them ----

aware=-x\ LD_PRELOAD=$build/tests/accel/libfake_aware.so
# shellcheck disable=SC2086
[ -n "$native" ] || {
    packs="--device-packs $some structs wide-types columns planes in-place self dup same-counts isend"
    report 'on a device, for an MPI that packs there' job 4 2x2 any \
        --mca coll fast $device $aware --mca coll_fast_min_bytes 0 -- $packs
    report 'on a device, for an MPI that packs there, no fallback' job 4 2x2 \
        any --mca coll fast $device $aware --mca coll_fast_min_bytes 0 \
        --mca coll_fast_accel_fallback 0 -- $packs
}

# ---- as many communicators as without us ----

# LINES OPTION... -- ARGUMENT: so many of them say that fast is not used there.
many() {
    wanted=$1 options=
    shift
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    # shellcheck disable=SC2086
    any_run -np 2 --mca coll fast $always $options "${program%/*}/mpich_many" "$2" ||
        return
    lines=$(grep -c 'not used on a communicator: ' "$scratch/out")
    [ "$lines" = "$wanted" ] || { echo "$lines times not used" && return 1; }
}

servers='--mca coll_fast_servers 2x1'
# shellcheck disable=SC2086
{
    report '1,900 communicators' many 0 $servers -- 1900
    report 'all communicators that there are' many 0 $servers -- --all
    report 'none is left for our messages' many 3 $servers $mpi -- --all
    report 'none is left for eager messages' many 0 $servers \
        --mca coll_fast_algorithm eager -- --all
    [ -n "$native" ] ||
        report 'none is left to ask who shares a server' \
            many 3 -x MPIR_CVAR_NUM_CLIQUES=2 -- --all
}

# ---- nonblocking calls, which need a thread that progresses them, or an MPICH that
# knows "fast": that has persistent ones, too ----

helper='--mca coll_fast_progress_thread on'
[ -z "$native" ] || helper=
# shellcheck disable=SC2086
{
    each_as nonblocking 4 2x2 staged $helper
    each_as nonblocking 8 @1,0,0,2,1,2,0,1 bundles $helper
    each_as nonblocking 5 2+2+1 staged $helper -- --alltoallw
    each_as nonblocking 4 2x2 staged $helper $device -- --device
    several 4 2x2 staged $helper
    several 8 @1,0,0,2,1,2,0,1 bundles $helper
    several 5 2+2+1 pipe2d $helper $tight
    frames 1 $helper
    staged 4 2x2 $helper -- --threads
    [ -z "$native" ] || {
        # Waiting in MPICH's collectives, ranks do not yield the processor: fewer cases.
        each_as persistent 4 2x2 staged
        served pipe2d 8 1+3+4 $tight -- --persistent $some
        report 'persistent, np 8, bundles' job 8 @1,0,0,2,1,2,0,1 any --mca coll fast \
            --mca coll_fast_algorithm bundles -- --persistent $some
        report 'persistent MPI_Alltoallw' job 5 2+2+1 any --mca coll fast \
            --mca coll_fast_algorithm staged -- --alltoallw --persistent $some
        each_as nonblocking 4 2x2 staged --mca coll_fast_progress_thread on
    }
}

# ---- how it is chosen; an MPICH that knows "fast" is test_native.sh's ----

[ -z "$native" ] || {
    echo "$n_runs runs, $failed failed"
    [ $failed = 0 ]
    exit
}

few='ragged zero split'
# NAME=VALUE... -- EXPECT: the environment of mpiexec, hydra included.
chosen() {
    settings=
    while [ "$1" != -- ]; do
        settings="$settings $1"
        shift
    done
    # shellcheck disable=SC2086
    env $settings FASTSCHED_SERVERS=2x2 FASTSCHED_MIN_BYTES=0 FASTSCHED_ALGORITHM=staged \
        timeout --kill-after=5 "$limit" "$mpiexec" -n 4 "$program" --servers 2x2 \
        --expect "$2" $few </dev/null
}

# A report of it.
choice() {
    report "$*" chosen LD_PRELOAD="$library" "$@"
}

choice MPICH_ALLTOALLV_INTRA_ALGORITHM=fast -- staged
choice MPIR_PARAM_ALLTOALLV_INTRA_ALGORITHM=fast -- staged
choice MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM=fast -- staged
choice MPICH_ALLTOALLV_INTRA_ALGORITHM=fast \
    MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM=scattered -- absent
choice MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM=fast \
    MPIR_PARAM_ALLTOALLV_INTRA_ALGORITHM=scattered -- staged
choice MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM=scattered -- absent
choice FASTSCHED_ALLTOALLV=fast -- staged
choice FASTSCHED_ALLTOALLV=fast \
    MPICH_ALLTOALLV_INTRA_ALGORITHM=auto -- absent
choice -- absent

launched() {
    # shellcheck disable=SC2086
    FASTSCHED_SERVERS=2x2 FASTSCHED_MIN_BYTES=0 FASTSCHED_ALGORITHM=staged \
        timeout --kill-after=5 "$limit" "$@" "$program" --servers 2x2 \
        --expect staged $few </dev/null
}

launcher=$build/mpich_coll_fast/mpich-fast
report 'mpich-fast mpiexec' launched "$launcher" "$mpiexec" -n 4
report 'mpiexec mpich-fast' launched "$mpiexec" -n 4 "$launcher"

echo "$n_runs runs, $failed failed"
[ $failed = 0 ]
