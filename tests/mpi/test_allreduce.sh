#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPI_Allreduce on one host, which plays several servers (parameter servers). One line per
# case.
#
#   test_allreduce.sh [--mpi ompi|mpich] [BUILD-DIRECTORY]
set -u

mpi=ompi
[ "${1-}" != --mpi ] || { mpi=$2 && shift 2; }
# shellcheck source=/dev/null
. "$(dirname "$0")/${mpi}_job.sh"
need_mpi mpi/mpi_allreduce
in_turn

limit=200

# What is left to the MPI, whatever the parameters. Inside an MPICH the choice of its variable is
# "exact", elsewhere nothing is ours by default.
only='' off=''
if [ -n "${native-}" ]; then
    off='--mca coll_fast_allreduce off'
elif [ "$mpi" = mpich ]; then
    only=--no-persistent
    # shellcheck disable=SC2154 # mpich_job.sh sets it
    "$mpiexec" --version | grep -q 'Version: *4\.[0-2]\.' && only="$only --no-nonblocking"
fi

# NP SERVERS [MCA-OPTION...] [-- [PROGRAM-OPTION...]]
job() {
    np=$1 servers=$2 mca=
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        mca="$mca $1"
        shift
    done
    [ $# = 0 ] || shift
    # shellcheck disable=SC2086 # options have no blanks
    any_run -np "$np" --mca coll fast --mca coll_fast_servers "$servers" \
        --mca coll_fast_allreduce_min 1 $mca "$program" $only "$@" >"$scratch/out" 2>&1
    status=$?
    ends_well
}

all='--mca coll_fast_allreduce all'
exact='--mca coll_fast_allreduce exact'
fixed='--mca coll_fast_tuner 0 --mca coll_fast_straggler'
pieces='--mca coll_fast_stage_cost 0' # they pay at any length
little='--mca coll_fast_chunk 4k --mca coll_fast_staging_limit 64k --mca coll_fast_window 1'
# But the large ones, which take long; with little memory, where a piece waits for the one before,
# too long on a busy machine.
blocking='types sizes bits comms mixed ops gaps'

# shellcheck disable=SC2086 # options have no blanks
{
    case_of 'off' job 8 8x1 $off -- --expect native $blocking outstanding persistent
    case_of 'exact, ring' job 8 8x1 $exact $fixed none -- --expect ring
    case_of 'exact, rank 3 late' job 8 8x1 $exact $fixed 3 -- --expect stragglar \
        $blocking outstanding persistent
    once case_of 'all, ring' job 8 8x1 $all $fixed none -- --expect ring --all $blocking
    case_of 'all, rank 0 late' job 8 8x1 $all $fixed 0 -- --expect stragglar --all
    for np in 4 5 7; do
        once case_of "all, $np ranks, the last one late" job $np ${np}x1 $all \
            $fixed $((np - 1)) -- --expect stragglar --all $blocking outstanding
    done
    # Other ranks: in unit tests.
    once case_of 'in finer pieces, rank 7' job 8 8x1 $all $fixed 7 $pieces -- \
        --expect stragglar --all sizes bits
    for np in 4 5 7; do
        once case_of "in finer pieces, $np ranks" job $np ${np}x1 $all $fixed 1 $pieces -- \
            --expect stragglar --all $blocking large outstanding
    done
    once case_of 'in finer pieces, it is late' job 8 8x1 $all $fixed 5 $pieces -- --late 5 \
        --expect stragglar --all sizes bits mixed
    once case_of 'in finer pieces, little memory, window 1' job 6 6x1 $all $fixed 2 $pieces \
        $little -- --expect stragglar --all sizes bits
    once case_of 'it is late' job 8 8x1 $all $fixed 5 -- --late 5 --expect stragglar \
        --all sizes bits mixed
    once case_of 'another one is late' job 8 8x1 $all $fixed 5 -- --late 2 \
        --expect stragglar --all sizes bits mixed
    case_of 'ranks in another order' job 5 @4,2,0,3,1 $all $fixed 1 -- \
        --expect stragglar --all $blocking persistent
    once case_of 'little memory, window 1' job 8 8x1 $all $fixed 2 \
        $little -- --expect stragglar --all $blocking outstanding persistent
    once case_of 'no plan is kept' job 8 8x1 $all $fixed 2 \
        --mca coll_fast_plan_cache 0 -- --expect stragglar --all $blocking persistent
    case_of 'messages of the MPI' job 8 8x1 $all $fixed 2 \
        --mca coll_fast_transport mpi -- --expect stragglar --all --no-nonblocking \
        --no-persistent
    case_of 'a thread of ours, which calls no MPI' job 8 8x1 $all $fixed 2 \
        --mca coll_fast_progress_thread on -- --expect stragglar --all --no-nonblocking \
        --no-persistent outstanding among-others freed persistent
    case_of 'threads' job 4 4x1 $all $fixed 2 -- --expect stragglar --all --threads
    once case_of 'threads, ring' job 4 4x1 $exact $fixed none -- --expect ring --threads
    case_of 'threads, two tiers' job 8 4x2 $all $fixed 2 -- --expect stragglar --all --threads
    case_of 'lines, sums, a trace, check' job 8 8x1 $all $fixed 2 --mca coll_fast_verbose 1 \
        --mca coll_fast_stats 1 --mca coll_fast_trace "$scratch" \
        --mca coll_fast_check 1 -- --all $blocking outstanding persistent
    case_of 'a late rank is found' job 8 8x1 $exact --mca coll_fast_tuner 0 -- \
        --late 6 --expect stragglar many
    once case_of 'nobody is late' job 8 8x1 $exact --mca coll_fast_tuner 0 -- \
        --expect ring many
    case_of 'the fastest serves' job 8 8x1 $all -- --all
    case_of 'the fastest serves, a late rank' job 8 8x1 $all -- --all --late 1 many
    case_of 'two tiers, ring' job 8 4x2 $all $fixed none -- --all --expect ring $blocking
    case_of 'two tiers, rank 0 late' job 8 4x2 $all $fixed 0 -- --all --expect stragglar
    once case_of 'two tiers, rank 5 late' job 8 4x2 $all $fixed 5 -- --all --expect stragglar $blocking
    case_of 'two tiers, mixed' job 10 @4,2,0,3,1,0,1,2,3,4 $all $fixed 3 -- --all \
        --expect stragglar --late 3 sizes bits mixed comms outstanding persistent
    once case_of 'two tiers, in finer pieces' job 8 4x2 $all $fixed 5 $pieces -- --all --late 5 \
        --expect stragglar $blocking outstanding
    once case_of 'two tiers, in finer pieces, mixed' job 10 @4,2,0,3,1,0,1,2,3,4 $all $fixed 3 $pieces -- \
        --all --expect stragglar sizes bits large mixed comms persistent
    once case_of 'two tiers, little memory' job 12 4x3 $all $fixed 2 \
        $little -- --expect stragglar --all sizes bits mixed
    once case_of 'two tiers, messages of the MPI' job 8 4x2 $all $fixed 2 \
        --mca coll_fast_transport mpi -- --expect stragglar --all --no-nonblocking \
        --no-persistent
    once case_of 'two tiers, a late rank is found' job 8 4x2 $exact \
        --mca coll_fast_tuner 0 -- --late 6 --expect stragglar many
    case_of 'servers of different size' job 8 3+2+2+1 $all -- --all --expect native $blocking
    once case_of 'fewer lanes than ranks' job 8 4x2 $all --mca coll_fast_lanes 1 -- \
        --all --expect native $blocking
    case_of 'one server' job 4 1x4 $all -- --all --expect native $blocking
    once case_of 'three ranks' job 3 3x1 $all $fixed 0 -- --all --expect native $blocking
}

# ---- vectors on a device: the driver of tests/accel, and a UCX that knows it ----

device="-x LD_LIBRARY_PATH=$build/tests/accel:${LD_LIBRARY_PATH-}"
straight="$device -x LD_PRELOAD=$build/tests/accel/libfake_ucx.so
    -x FAKE_UCX_COUNT=$scratch/on_device --mca coll_fast_accel_direct always"
# No MPI here can serve such calls itself, but blocking ones through copies of ours.
short=$blocking
case $only in *--no-nonblocking*) ;; *) short="$short outstanding among-others crossed freed" ;; esac
case $only in *--no-persistent*) ;; *) short="$short persistent" ;; esac
known="$short large"

# NP SERVERS STRAGGLER OPTIONS EXPECTED [CASES]: as job; every rank has had messages on a device.
straight_job() {
    : >"$scratch/on_device"
    # shellcheck disable=SC2086 # options have no blanks
    job "$1" "$2" $straight $all $fixed "$3" $4 -- --device --all --expect "$5" ${6:-$known} || return
    [ "$(grep -c '^[1-9]' "$scratch/on_device")" = "$1" ] && return
    echo "messages on a device, by rank: $(tr '\n' ' ' <"$scratch/on_device")"
    return 1
}

# shellcheck disable=SC2086
{
    case_of 'on a device, by the host' job 8 8x1 $device $all $fixed 2 -- --device --all \
        --expect stragglar $known
    case_of 'on a device' straight_job 8 8x1 2 '' stragglar
    case_of 'on a device, ring' straight_job 4 4x1 none '' ring
    case_of 'on a device, two tiers, in finer pieces' straight_job 8 4x2 5 "$pieces" stragglar
    once case_of 'on a device, little memory, window 1' straight_job 8 8x1 2 \
        "$little" stragglar "$short"
    case_of 'on a device, its kernel is not taken' job 4 4x1 $straight -x FAKE_CUDA_NO_KERNEL=1 $all \
        $fixed 2 -- --device --all --expect stragglar types sizes mixed comms
    case $only in
    *--no-nonblocking*) ;;
    *)
        case_of 'on a device, threads' job 4 4x1 $straight $all $fixed 2 -- --device --all \
            --expect stragglar --threads
        ;;
    esac
    once case_of 'on a device, the fastest serves' job 8 8x1 $straight $all -- --device --all --late 1 sizes many
}

# ---- how MPICH chooses it ----

# NAME=VALUE... -- PROGRAM ARGUMENT...: the environment of mpiexec, hydra included.
chosen() {
    settings=
    while [ "$1" != -- ]; do
        settings="$settings $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # settings have no blanks
    env $preload FASTSCHED_SERVERS=8x1 FASTSCHED_TUNER=0 FASTSCHED_STRAGGLER=none \
        $settings FASTSCHED_ALLREDUCE_MIN=1 timeout --kill-after=5 "$limit" "$mpiexec" -n 8 "$@" \
        </dev/null >"$scratch/out" 2>&1
    status=$?
    ends_well
}

# LINE NAME=VALUE...: the last two of four ranks have these settings; what is said, and all ends
# well by the MPI.
differ() {
    line=$1 own=
    shift
    for setting; do
        own="$own -env ${setting%%=*} ${setting#*=}"
    done
    # shellcheck disable=SC2086
    mpi_run ${preload:+-genv LD_PRELOAD "$library"} -genv FASTSCHED_SERVERS 4x1 -genv FASTSCHED_ALLREDUCE_MIN 1 \
        $everywhere -n 2 "$program" --expect native sizes bits : \
        $own -n 2 "$program" --expect native sizes bits >"$scratch/out" 2>&1
    status=$?
    [ "$(grep -c 'goes to the MPI' "$scratch/out")" = 1 ] || status=1
    grep -q "$line" "$scratch/out" || status=1
    ends_well
}

preloaded() {
    # shellcheck disable=SC2086
    case_of 'the same, no MPI_Alltoallv' chosen $fast FASTSCHED_MIN_BYTES=0 -- \
        $alltoallv absent ragged
    # shellcheck disable=SC2086
    case_of 'both' chosen $fast MPICH_ALLTOALLV_INTRA_ALGORITHM=fast FASTSCHED_MIN_BYTES=0 \
        FASTSCHED_ALGORITHM=staged -- $alltoallv staged ragged
    everywhere='-genv MPICH_ALLTOALLV_INTRA_ALGORITHM fast'
    case_of 'two ranks want more' \
        differ 'FASTSCHED_ALLREDUCE is exact on rank 2 and off on rank 0' FASTSCHED_ALLREDUCE=exact
    case_of 'two ranks want less' \
        differ 'fast for MPI_Alltoallv is not chosen on rank 2 and chosen on rank 0' \
        MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM=auto FASTSCHED_ALLREDUCE=off $fast
}

inside() {
    everywhere='-genv MPICH_ALLREDUCE_INTRA_ALGORITHM fast'
    for setting in ALLREDUCE=off ALLREDUCE=all ALLREDUCE_MIN=100; do
        case_of "two ranks have $setting" \
            differ 'FASTSCHED_ALLREDUCE or FASTSCHED_ALLREDUCE_MIN differs' "FASTSCHED_$setting"
    done
    # shellcheck disable=SC2086
    for fast in MPICH_IALLREDUCE_INTRA_ALGORITHM=tsp_fast "$fast MPICH_IALLREDUCE_INTRA_ALGORITHM=tsp_fast"; do
        case_of "$fast" chosen $fast -- "$program" --expect any outstanding persistent
    done
}

if [ "$mpi" = mpich ]; then
    # shellcheck disable=SC2154 # mpich_job.sh sets it
    alltoallv="${program%/*}/mpi_alltoallv --servers 8x1 --expect"
    here="$program --no-persistent --no-nonblocking --expect"
    fast=MPICH_ALLREDUCE_INTRA_ALGORITHM=fast
    preload=LD_PRELOAD=$library
    [ -z "$native" ] || preload=
    # shellcheck disable=SC2086
    {
        case_of "$fast" chosen $fast -- $here ring sizes types bits mixed
        case_of 'the same, all' chosen $fast FASTSCHED_ALLREDUCE=all -- $here ring --all types bits
        case_of 'the same, off' chosen $fast FASTSCHED_ALLREDUCE=off -- $here native types bits
        case_of 'MPIR_CVAR_... is another one' chosen $fast \
            MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=recursive_doubling -- $here native types
    }
    if [ -n "$native" ]; then inside; else preloaded; fi
fi

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
