#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/dhbvn_frames.sh"
figure dhbvn_fig2a "mean frame length over load, model U"
{
    echo load,unbalanced,balanced,unbalanced_bound,balanced_bound
    for load in 0.05 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.85 0.9 0.95; do
        line U $load
    done
} >"$csv"
plot <<'END'
set title 'DHBvN Fig. 2a: model U, 4 servers of 8 GPUs'
set xlabel 'load [packets per NIC and slot]'
set ylabel 'mean frame length [slots]'
set logscale y
plot csv using 1:2 skip 1 ls 3 title 'no balancing', \
     csv using 1:3 skip 1 ls 2 title 'balanced', \
     csv using 1:4 skip 1 ls 3 dt 2 title 'no balancing, bound', \
     csv using 1:5 skip 1 ls 2 dt 2 title 'balanced, bound'
END
