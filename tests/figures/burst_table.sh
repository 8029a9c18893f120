#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
figure burst_table "calls that wait together: one schedule against one by one"
lanes=8

# number SERVERS MATRIX NAME: of a simulation.
number() {
    tool "$FASTSCHED" sim --servers "${1}x$lanes" --matrix "$2" --format json | json_number "$3"
}

# row PATTERN SERVERS CALLS BYTES: times over the bound of the sum.
row() {
    tool "$FASTSCHED" plan --pattern "$1" --servers "$2" --lanes 1 --mean "$4" --decompose openshop --format json \
        >"$work/plan.json"
    LANES=$lanes tool "$FIG_SRC/burst_matrix.py" "$work/plan.json" "$3" "$work"
    bound=$(number "$2" "$work/all" optimal_us)
    alone=0
    for call in $(seq "$3"); do
        alone=$(calc "$alone + $(number "$2" "$work/$call" time_us)")
    done
    echo "$1,$2,$3,$4,$bound,$(calc "$alone / $bound"),$(calc "$(number "$2" "$work/all" time_us) / $bound")"
}

{
    echo pattern,servers,calls,bytes,bound_us,one_by_one,together
    for bytes in 64m 4m; do
        for pattern in hotspot:1 zipf:1.2 random balanced; do
            row $pattern 8 8 $bytes
            row $pattern 40 8 $bytes
        done
        for calls in 2 4 6; do
            row hotspot:1 8 $calls $bytes
        done
    done
} >"$csv"
