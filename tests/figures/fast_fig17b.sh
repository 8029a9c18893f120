#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/sim.sh"
figure fast_fig17b "alltoallv over the ratio of scale-up to scale-out"
# FAST §5.4: 32 GPUs, random. Bandwidth over that of a NIC, 50 GB/s. The text
# gives neither the ratios nor the bytes: 50 MB per pair as in Fig. 17a.
series='ours fast spreadout bound'

# line PATTERN RATIO
line() {
    printf '%s' "$2"
    for one in $series; do
        printf ',%s' "$(calc "$(bandwidth $one "$1" 50000000 --servers 4 \
            --lanes 8 --scale-out 50GBps --scale-up $(($2 * 50))GBps) / 50")"
    done
    echo
}

{
    echo "ratio,$series" | tr ' ' ,
    for ratio in 1 2 3 4 6 9 12 18 24 36; do
        line random $ratio
    done
} >"$csv"
{
    echo "ratio,$series" | tr ' ' ,
    line adversarial 9
} >"${csv%.csv}_worst.csv"
plot <<'END'
set title 'FAST Fig. 17b: 4 x 8 GPUs, random'
set xlabel 'scale-up over scale-out'
set ylabel 'bandwidth per GPU over that of its NIC'
set yrange [0:]
plot for [k=2:5] csv using 1:k skip 1 ls (k == 5 ? 9 : k - 1) \
    title word('ours FAST SpreadOut optimum', k - 1)
END
