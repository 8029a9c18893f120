#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
figure bundles_table "small calls: bundles against direct"

# small SERVERS RANKS LANES BYTES OPTIONS: JSON of one run. 200 Gbit/s a NIC, all
# start-up costs are the command's defaults.
small() {
    servers=$1 ranks=$2 lanes=$3 bytes=$4
    shift 4
    tool "$FASTSCHED" sim --level loggp --servers "${servers}x$ranks" \
        --lanes "$lanes" --mean "$bytes" --scale-out 200gbit "$@" --format json
}

# time_of SMALL...: microseconds.
time_of() {
    small "$@" | json_number time_us
}

# Radices to try: all up to 64, then every sixteenth, and no forwarding.
radices() {
    awk -v n="$1" 'BEGIN {
        for (r = 2; r < n; r += r < 64 ? 1 : 16) print r
        print n
    }'
}

# best SERVERS RANKS LANES BYTES: the radix that is fastest in the simulation, its
# time; of several the largest.
best() {
    for r in $(radices "$1"); do
        echo "$r $(time_of "$@" --algorithm bundles --radix "$r")"
    done | awk 'NR == 1 || $2 <= t { r = $1; t = $2 } END { print r "," t }'
}

{
    echo servers,ranks,lanes,bytes,direct_us,bundles_us,best_radix,best_us,chosen_radix,chosen_us,direct_over_chosen
    for shape in '32 40 1' '32 40 8' '128 96 1' '128 96 8' '1024 64 1' \
        '1024 64 8' '1024 4 1' '1024 1 1'; do
        for bytes in 8 64 512; do
            # shellcheck disable=SC2086 # words
            set -- $shape $bytes
            direct=$(time_of "$@" --algorithm direct)
            small "$@" --algorithm bundles >"$work/json"
            chosen=$(json_number time_us <"$work/json")
            echo "$1,$2,$3,$4,$direct,$(time_of "$@" --algorithm bundles \
                --radix "$1"),$(best "$@"),$(json_number radix <"$work/json"),$chosen,$(
                calc "$direct / $chosen")"
        done
    done
} >"$csv"

# What users measured, and what "direct" takes here on such a cluster.
{
    echo thread,servers,ranks,lanes,bytes,reported_us,direct_us
    while read -r thread shape reported; do
        # shellcheck disable=SC2046 # words
        set -- $(echo "$shape" | tr , ' ')
        echo "$thread,$1,$2,$3,$4,$reported,$(time_of "$@" --algorithm direct)"
    done <<'END'
mpich#7601 32,12,8,4096 467.38
mpich#2530 10,36,1,128 617.54
mpich#7601 128,96,8,8 2340000
END
} >"$FIG_OUT/${name}_reported.csv"

plot <<'END'
set title '128 servers of 96 ranks, one NIC of 200 Gbit/s each'
set xlabel 'bytes of a block'
set ylabel 'ms'
set logscale xy
set key outside right center vertical
at(row) = stringcolumn(1) eq '128' && stringcolumn(3) eq '1' ? column(row) / 1000 : NaN
plot csv using 4:(at(10)) skip 1 ls 1 title 'bundles', \
     csv using 4:(at(5)) skip 1 ls 3 title 'direct'
END
