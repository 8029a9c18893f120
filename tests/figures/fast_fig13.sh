#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/sim.sh"
. "$FIG_SRC/amd.sh"
figure fast_fig13 "alltoallv on the AMD testbed over bytes per GPU"
series='ours fast spreadout all-at-once hierarchical2d bound'

# lines NAME PATTERN
lines() {
    for mb in 100 200 400 600 800 1000; do
        printf '%s,%s' "$1" "$mb"
        # shellcheck disable=SC2086
        bandwidths "$series" "$2" $((mb * 1000000 / 32)) $testbed
    done
}

{
    echo "pattern,mb_per_gpu,$series" | tr ' -' ,_
    lines random random
    lines senders senders:0.8
    lines pairs zipf:0.8
} >"$csv"
plot 3 <<'END'
set multiplot layout 3,1
set ylabel 'GB/s per GPU'
set yrange [0:]
do for [p in 'random senders pairs'] {
set title 'FAST Fig. 13: 4 x 8 MI300X, '.(p eq 'random' ? p : 'Zipf 0.8 over '.p)
set xlabel (p eq 'pairs' ? 'MB per GPU' : '')
plot for [k=3:8] csv using 2:(strcol(1) eq p ? column(k) : NaN) skip 1 \
    ls (k == 8 ? 9 : k - 2) title word('ours FAST SpreadOut RCCL-like MSCCL-like optimum', k - 2)
}
unset multiplot
END
