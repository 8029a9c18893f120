# SPDX-License-Identifier: BSD-3-Clause
# Shared by StragglAR Table 1, Fig. 6c, 7a, 7b and 9: alpha-beta times of
# allreduce schedules, from their rounds and chunks.
# shellcheck shell=sh

# StragglAR §4.3: 3 us, 450 GB/s, 1 GiB.
alpha_us=3 rate=3600gbit buffer=1g

# schedule KIND N: its JSON, in $work/json, and "early rounds, early bytes, late
# rounds, late bytes", bytes as parts of the buffer, sent one after another by the
# rank that sends most.
schedule() {
    tool "$FASTSCHED" stragglar --algorithm "$1" --ranks "$2" --summary \
        --alpha-us $alpha_us --rate $rate --bytes $buffer --format json \
        >"$work/json"
    for key in early_rounds early_chunks late_rounds late_chunks chunks; do
        json_number $key <"$work/json"
    done | tr '\n' ' ' |
        awk '{ printf "%d %.9f %d %.9f\n", $1, $2 / $5, $3, $4 / $5 }'
}

# best_and_worst KIND N: ms if the straggler is late enough for the early rounds,
# and if it is not late at all.
best_and_worst() {
    schedule "$1" "$2" >/dev/null
    for key in best_us worst_us; do
        json_number $key <"$work/json"
    done | tr '\n' ' ' | awk '{ printf "%.6f,%.6f\n", $1 / 1e3, $2 / 1e3 }'
}

# scaling N...: the lines of Fig. 6c and 9.
scaling() {
    echo n,rounds,best,worst,ring,rhd,broadcast,broadcast_worst,msccl
    for n in "$@"; do
        echo "$n,$(schedule stragglar "$n" | cut -d' ' -f3),$(
            best_and_worst stragglar "$n"),$(
            best_and_worst ring "$n" | cut -d, -f2),$(
            best_and_worst rhd "$n" | cut -d, -f2),$(
            best_and_worst broadcast "$n"),$(
            best_and_worst all-pairs "$n" | cut -d, -f2)"
    done
}
