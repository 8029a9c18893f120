#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
figure pipe2d_table "where pipe2d is faster than staged"

# time_of SHAPE INSIDE PATTERN BYTES ALGORITHM: microseconds.
time_of() {
    tool "$FASTSCHED" sim --servers "$1" --scale-up "$2" --pattern "$3" \
        --mean "$4" --algorithm "$5" --format json | json_number time_us
}

{
    echo layout,inside_GBps,pattern,bytes,staged_us,pipe2d_us,staged_over_pipe2d
    for shape in 2x8 2x64 4x8 4x32 16x8; do
        for inside in 450 50 20; do
            for pattern in balanced random zipf:0.8; do
                for bytes in 16k 256k; do
                    staged=$(time_of "$shape" "${inside}GBps" "$pattern" "$bytes" staged)
                    pipe2d=$(time_of "$shape" "${inside}GBps" "$pattern" "$bytes" pipe2d)
                    echo "$shape,$inside,$pattern,$bytes,$staged,$pipe2d,$(
                        calc "$staged / $pipe2d")"
                done
            done
        done
    done
} >"$csv"

plot <<'END'
set title 'blocks of 256 kB, NICs of 50 GB/s'
set xlabel 'rate of a rank inside its server, GB/s'
set ylabel 'time of staged / time of pipe2d'
set logscale x
set key outside right center vertical
of(shape, pattern) = stringcolumn(1) eq shape && stringcolumn(3) eq pattern && \
    stringcolumn(4) eq '256k' ? column(7) : NaN
set datafile missing NaN
plot csv using 2:(of('2x8', 'balanced')) skip 1 ls 1 title '2x8 balanced', \
     csv using 2:(of('2x64', 'balanced')) skip 1 ls 2 title '2x64 balanced', \
     csv using 2:(of('16x8', 'balanced')) skip 1 ls 3 title '16x8 balanced', \
     csv using 2:(of('2x8', 'zipf:0.8')) skip 1 ls 4 title '2x8 zipf:0.8'
END
