#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
figure arrival_table "ranks that enter a call apart: with and without the early exchange"

# value NAME: of the last simulation.
value() {
    json_number "$1" <"$work/json"
}

# row SERVERS PATTERN BYTES ENTRIES: times over the bound without entries.
row() {
    tool "$FASTSCHED" sim --servers "$1" --pattern "$2" --mean "$3" --arrival "$4" --early-chunk 512k --format json >"$work/json"
    echo "$1,$2,$3,$4,$(value optimal_us),$(value entry_bound_over_optimal),$(value early_off_over_optimal),$(
        value early_on_over_optimal),$(value early_off_from_last_over_optimal),$(
        value early_on_from_last_over_optimal),$(calc "$(value early_bytes) / $(value wire_bytes)"),$(value hand_over_us)"
}

{
    echo servers,pattern,bytes,entries,bound_us,entry_bound,off,on,off_from_last,on_from_last,early_share,hand_over_us
    for size in '4x4 64m' '40x8 4m' '1024x1 2m'; do
        for pattern in balanced zipf:0.8; do
            for entries in uniform:0.1 uniform:0.3 uniform:1 late:1:0.5; do
                # shellcheck disable=SC2086 # words
                set -- $size
                row "$1" $pattern "$2" $entries
            done
        done
    done
} >"$csv"
