#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/dhbvn_frames.sh"
figure dhbvn_fig3 "mean frame length, balanced, models U and NU"
{
    echo load,u,nu
    for load in 0.05 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.85 0.9 0.95; do
        echo "$load,$(mean_length U yes hierarchical $load),$(
            mean_length NU yes hierarchical $load)"
    done
} >"$csv"
plot <<'END'
set title 'DHBvN Fig. 3: balanced, 4 servers of 8 GPUs'
set xlabel 'load [packets per NIC and slot]'
set ylabel 'mean frame length [slots]'
set logscale y
plot csv using 1:2 skip 1 ls 2 title 'model U', \
     csv using 1:3 skip 1 ls 3 dt 2 title 'model NU'
END
