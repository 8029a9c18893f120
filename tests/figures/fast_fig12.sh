#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/sim.sh"
figure fast_fig12 "alltoallv on the NVIDIA testbed over bytes per GPU"
# FAST §5: 4 servers of 8 H200, 450 GB/s up through a switch, 50 GB/s out with
# credit-based flow control, so no incast penalty.
testbed='--servers 4 --lanes 8 --scale-out 400gbit --scale-up 450GBps'
series='ours fast hierarchical2d relay spreadout bound'

# lines NAME PATTERN MB...
lines() {
    label=$1 kind=$2
    shift 2
    for mb in "$@"; do
        printf '%s,%s' "$label" "$mb"
        # shellcheck disable=SC2086
        bandwidths "$series" "$kind" $((mb * 1000000 / 32)) $testbed
    done
}

{
    echo "pattern,mb_per_gpu,$series" | tr ' ' ,
    lines random random 100 200 400 600 800 1000
    lines senders senders:0.8 100 200 400 600 800 1000
    lines pairs zipf:0.8 100 200 400 600 800 1000
    lines balanced balanced 1000
} >"$csv"
plot 3 <<'END'
set multiplot layout 3,1
set ylabel 'GB/s per GPU'
set yrange [0:]
do for [p in 'random senders pairs'] {
set title 'FAST Fig. 12: 4 x 8 H200, '.(p eq 'random' ? p : 'Zipf 0.8 over '.p)
set xlabel (p eq 'pairs' ? 'MB per GPU' : '')
plot for [k=3:8] csv using 2:(strcol(1) eq p ? column(k) : NaN) skip 1 \
    ls (k == 8 ? 9 : k - 2) title word('ours FAST NCCL-like DeepEP-like SpreadOut optimum', k - 2)
}
unset multiplot
END
