#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/dhbvn_frames.sh"
figure dhbvn_fig2b "mean frame length over load, model NU"
# Without balancing the first GPU of a server carries the load of all: from
# 1/gpus on, frames grow for ever.
{
    echo load,unbalanced,balanced,unbalanced_bound,balanced_bound
    for load in 0.02 0.04 0.06 0.08 0.09 0.1 0.11 0.115; do
        line NU $load
    done
} >"$csv"
plot <<'END'
set title 'DHBvN Fig. 2b: model NU, 4 servers of 8 GPUs'
set xlabel 'load [packets per NIC and slot, if balanced]'
set ylabel 'mean frame length [slots]'
set logscale y
plot csv using 1:2 skip 1 ls 3 title 'no balancing', \
     csv using 1:3 skip 1 ls 2 title 'balanced', \
     csv using 1:5 skip 1 ls 2 dt 2 title 'balanced, bound'
END
