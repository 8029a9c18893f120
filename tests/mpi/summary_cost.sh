#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a small call takes: microseconds per call without fast, with it, and what a
# summary costs that leaves the call to Open MPI's own algorithm (no bundles), medians of runs that take turns. A measurement, not a test: run it on a quiet machine.
#
#   summary_cost.sh [BUILD-DIRECTORY [RUNS [CALLS]]]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/summary_cost
runs=${2:-7}
calls=${3:-1000}

# NP OPTION...: microseconds per call.
once() {
    np=$1
    shift
    mpi_run -np "$np" "$@" "$program" 8 "$calls" 2>&1 |
        sed -n 's/^us per call: //p'
}

# Numbers, one a line: the middle one.
median() {
    sort -n | awk '{ x[NR] = $1 }
        END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'
}

# NP NODES: a row of the table.
row() {
    : >"$scratch/with"
    : >"$scratch/asked"
    : >"$scratch/without"
    k=0
    while [ $k -lt "$runs" ]; do
        once "$1" >>"$scratch/without"
        once "$1" --mca coll fast --mca coll_fast_servers "$2" >>"$scratch/with"
        once "$1" --mca coll fast --mca coll_fast_servers "$2" \
            --mca coll_fast_bundle_memory 0 >>"$scratch/asked"
        k=$((k + 1))
    done
    for name in with without asked; do
        [ "$(wc -l <"$scratch/$name")" = "$runs" ] ||
            { echo "np $1: a run $name fast has failed" && exit 1; }
    done
    awk -v np="$1" -v servers="$2" -v with="$(median <"$scratch/with")" \
        -v without="$(median <"$scratch/without")" \
        -v asked="$(median <"$scratch/asked")" 'BEGIN {
            printf "%5d  %-7s %12.1f %12.1f %8.2f %12.1f %8.2f\n", np, servers,
                   without, with, with / without, asked, asked / without }'
}

echo "8 bytes per pair, $calls calls, median of $runs runs; $(nproc) cores;"
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
printf '%5s  %-7s %12s %12s %8s %12s %8s\n' ranks servers 'without (us)' \
    'with (us)' ratio 'native (us)' ratio
row 4 2x2
row 8 4x2
row 16 4x4
