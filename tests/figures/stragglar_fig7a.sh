#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/stragglar.sh"
figure stragglar_fig7a "delay from which StragglAR beats Ring, over ranks"
# Without delay it takes this much longer than Ring. The approximation is that
# of StragglAR App. B.
{
    echo n,critical_ms,approximation_ms
    for n in 4 8 16 32 64 128 256; do
        schedule stragglar $n >/dev/null
        critical=$(json_number critical_delay_us <"$work/json")
        echo "$n,$(calc "$critical / 1e3"),$(calc "log($n) / log(2) / $n * \
            1073741824 / 450e6 + (log($n) / log(2) - 2) * $alpha_us / 1e3")"
    done
} >"$csv"
plot <<'END'
set title 'StragglAR Fig. 7a: critical delay, 1 GiB, 450 GB/s, 3 us'
set xlabel 'ranks'
set ylabel 'ms'
set logscale x 2
set yrange [0:]
plot csv using 1:2 skip 1 ls 1 title 'schedules', \
     csv using 1:3 skip 1 ls 2 dt 2 title 'approximation of App. B'
END
