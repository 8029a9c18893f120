#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/sim.sh"
figure flash_fig16b "alltoallv over GPU and NIC models"
# FLASH §6.3.2: 4 servers of 8 GPUs, random. Of the pairs of GPU and NIC the text
# names B200 with 400 Gbit/s. GB/s per GPU and direction: 448 (MI300X) and 450
# (H100) are in FAST §5 and A.1; 900 for B200 is the maker's number.
{
    echo gpu,nic_gbit,ratio,ours,flash,spreadout,bound
    for nic in 400 200 100; do
        for gpu in MI300X:448 H100:450 B200:900; do
            up=${gpu#*:}
            printf '%s,%s,%s' "${gpu%:*}" $nic "$(calc "$up * 8 / $nic")"
            bandwidths 'ours fast spreadout bound' random 50000000 --servers 4 \
                --lanes 8 --scale-out ${nic}gbit --scale-up "${up}GBps"
        done
    done
} >"$csv"
plot <<'END'
set title 'FLASH Fig. 16b: random, 4 x 8 GPUs'
set ylabel 'over the optimum'
set yrange [0:1.05]
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.8
set xtics rotate by -30
plot for [k=4:6] csv using (column(k)/column(7)):xtic(strcol(1).' '.strcol(2).'G') skip 1 ls k - 3 \
    title word('ours FLASH SpreadOut', k - 3)
END
