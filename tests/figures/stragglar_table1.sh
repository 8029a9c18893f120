#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/stragglar.sh"
figure stragglar_table1 "rounds and bytes of allreduce schedules"
{
    echo n,stragglar_rounds,stragglar_best,stragglar_worst,stragglar_all_rounds,ring_rounds,ring_bytes,rhd_rounds,rhd_bytes,schedule_us
    for n in 4 8 16 32 64 128 256 512 1024; do
        ring=$(schedule ring $n | awk '{ print $1 + $3 "," $2 + $4 }')
        rhd=$(schedule rhd $n | awk '{ print $1 + $3 "," $2 + $4 }')
        ours=$(schedule stragglar $n |
            awk '{ print $3 "," $4 "," $2 + $4 "," $1 + $3 }')
        echo "$n,$ours,$ring,$rhd,$(json_number plan_us <"$work/json")"
    done
} >"$csv"
plot <<'END'
set title 'StragglAR Table 1: bytes sent one after another'
set xlabel 'ranks'
set ylabel 'over the buffer'
set logscale x 2
set yrange [0:3]
plot csv using 1:3 skip 1 ls 1 title 'StragglAR, best case', \
     csv using 1:4 skip 1 ls 1 dt 2 title 'StragglAR, worst case', \
     csv using 1:7 skip 1 ls 3 title 'Ring', \
     csv using 1:9 skip 1 ls 4 dt 2 title 'RHD'
END
