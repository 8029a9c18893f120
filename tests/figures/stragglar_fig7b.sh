#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/stragglar.sh"
figure stragglar_fig7b "bytes that the critical delay has to hide, over ranks"
{
    echo n,exact,approximation
    for n in 4 8 16 32 64 128 256 512 1024; do
        worst=$(schedule stragglar $n | awk '{ printf "%.9f", $2 + $4 }')
        ring=$(schedule ring $n | awk '{ printf "%.9f", $2 + $4 }')
        echo "$n,$(calc "$worst - $ring"),$(calc "log($n) / log(2) / $n")"
    done
} >"$csv"
plot <<'END'
set title 'StragglAR Fig. 7b: critical delay over the time to send the buffer'
set xlabel 'ranks'
set ylabel 'beta-competitive ratio'
set logscale x 2
set yrange [0:]
plot csv using 1:2 skip 1 ls 1 title 'schedules', \
     csv using 1:3 skip 1 ls 2 dt 2 title 'log n / n'
END
