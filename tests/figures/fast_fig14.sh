#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/sim.sh"
. "$FIG_SRC/amd.sh"
figure fast_fig14 "alltoallv on the AMD testbed over skew"
# The text does not say how much a GPU sends; 500 MB is the middle of Fig. 13.
mean=$((500 * 1000000 / 32))
series='ours fast spreadout all-at-once bound'

{
    echo "pattern,skew,$series" | tr ' -' ,_
    for skew in 0.3 0.4 0.5 0.6 0.7 0.8 0.9; do
        printf '%s,%s' senders $skew
        # shellcheck disable=SC2086
        bandwidths "$series" senders:$skew $mean $testbed
    done
    for skew in 0.3 0.4 0.5 0.6 0.7 0.8 0.9; do
        printf '%s,%s' pairs $skew
        # shellcheck disable=SC2086
        bandwidths "$series" zipf:$skew $mean $testbed
    done
} >"$csv"
plot 3 <<'END'
set multiplot layout 3,1
set yrange [0:]
set ylabel 'GB/s per GPU'
do for [p in 'senders pairs'] {
set title 'FAST Fig. 14: 4 x 8 MI300X, 500 MB per GPU, Zipf over '.p
plot for [k=3:7] csv using 2:(strcol(1) eq p ? column(k) : NaN) skip 1 \
    ls (k == 7 ? 9 : k - 2) title word('ours FAST SpreadOut RCCL-like optimum', k - 2)
}
set xlabel 'Zipf exponent'
set ylabel 'over the optimum'
set title 'time that balancing and redistribution add'
plot for [p in 'senders pairs'] csv using 2:(strcol(1) eq p ? column(7)/column(4)-1 : NaN) skip 1 \
    ls 2 dt 1+(p eq 'pairs') title ('FAST, '.p), \
     for [p in 'senders pairs'] csv using 2:(strcol(1) eq p ? column(7)/column(3)-1 : NaN) skip 1 \
    ls 1 dt 1+(p eq 'pairs') title ('ours, '.p)
unset multiplot
END
