#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Many random calls, on one host or in the lab; see soak.c. make check makes a
# few hundred of them.
#
#   run_soak.sh [--mpi ompi|mpich] [--lab] [--calls N] [--seed S]
#               [--transport T] [BUILD-DIRECTORY]
#
#   --lab          between two servers of two ranks, 1 Gbit/s each NIC; Open MPI
#   --calls N      of each job; default FASTSCHED_SOAK_CALLS, or 500; the real thing
#                  is 20000, minutes
#   --transport T  ucx or mpi; default auto
#
# The staging pool is kept small: pages of it that are touched for the first
# time, late, look like growth.
set -u

mpi=ompi in_lab=0 calls=${FASTSCHED_SOAK_CALLS:-500} seed=1 transport=auto
while [ $# -gt 0 ]; do
    case $1 in
    --mpi) mpi=$2 && shift ;;
    --lab) in_lab=1 ;;
    --calls) calls=$2 && shift ;;
    --seed) seed=$2 && shift ;;
    --transport) transport=$2 && shift ;;
    *) break ;;
    esac
    shift
done

# shellcheck source=/dev/null
. "$(dirname "$0")/../mpi/${mpi}_job.sh"
need_mpi soak/soak

# Where MPICH 4.0.2 itself serves calls it loses parts of some types.
sound=0
[ "$mpi" = ompi ] || sound=1

lab=$src/tests/lab/lab
name=soak$$
limit=$((60 + calls / 5))

lab_up() {
    trap '"$lab" down --name "$name"; rm -rf "$scratch"' EXIT
    "$lab" up --name "$name" --servers 2 --ranks 2 --rate 1gbit \
        >"$scratch/up" 2>&1 && return
    status=$?
    cat "$scratch/up"
    exit $status
}

# MCA-OPTION...: 4 ranks on two servers.
job() {
    set -- --mca coll fast --mca coll_fast_stats 1 --mca coll_fast_staging_limit 1m \
        --mca coll_fast_transport "$transport" "$@"
    if [ $in_lab = 1 ]; then
        "$lab" run --name "$name" --mpi ompi --timeout $limit "$@" -- \
            "$program" --calls "$calls" --seed "$seed" --sound $sound \
            --apart $apart </dev/null
    else
        any_run -np 4 --mca coll_fast_servers 2x2 "$@" \
            "$program" --calls "$calls" --seed "$seed" --sound $sound \
            --device $on_device --apart $apart
    fi
}

failed=0 apart=0

# TEXT MCA-OPTION...
soak() {
    text=$1
    shift
    start=$(date +%s)
    job "$@" >"$scratch/out" 2>&1
    status=$?
    word=ok
    if [ $status != 0 ]; then
        word=FAILED failed=$((failed + 1))
    fi
    grep -a -v -e ORTE_ERROR_LOG -e ": stats: " -e ": summary: " "$scratch/out" | tail -n 25
    printf '%-6s %3d s  %s\n' $word $(($(date +%s) - start)) "$text"
}

on_device=0
[ $in_lab = 0 ] || lab_up
soak 'every call by staged' --mca coll_fast_algorithm staged \
    --mca coll_fast_min_bytes 0
grep -a ': stats: ' "$scratch/out" | grep -q ' [1-9][0-9]* staged' || {
    echo 'FAILED: no call was staged'
    failed=$((failed + 1))
}
soak 'auto: bundles, tuner' --mca coll_fast_min_bytes 1k
transport=mpi
soak "over the MPI's own messages" --mca coll_fast_min_bytes 1k
# Ranks enter apart, and exchange before all are there: the counters say so.
went_early() {
    early=$(grep -a -o '[0-9]* begun early' "$scratch/out" |
        awk '{ n += $1 } END { print n + 0 }')
    bytes=$(grep -a -o 'bytes sent early [0-9/]*' "$scratch/out" |
        awk -F / '{ n += $3 } END { print n + 0 }')
    echo "       $early calls have begun early; up to $bytes bytes of a rank"
    [ "$early" -ge $((calls / 2)) ] && [ "$bytes" -gt 0 ] && return
    echo 'FAILED: too few'
    failed=$((failed + 1))
}

transport=auto apart=2000
soak 'ranks enter apart, exchange early' --mca coll_fast_early on \
    --mca coll_fast_min_bytes 1k
went_early
apart=0
if [ $in_lab = 0 ]; then
    # The drivers of tests/accel: memory that ends who touches it.
    on_device=1 transport=auto
    fake="-x LD_LIBRARY_PATH=$build/tests/accel:${LD_LIBRARY_PATH-}"
    # shellcheck disable=SC2086
    soak 'on a device' $fake --mca coll_fast_min_bytes 1k
    # shellcheck disable=SC2086
    soak 'straight from a device' $fake --mca coll_fast_min_bytes 1k \
        -x LD_PRELOAD="$build/tests/accel/libfake_ucx.so" \
        --mca coll_fast_accel_direct always
fi
[ $failed = 0 ]
