#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/sim.sh"
figure flash_fig16a "alltoallv over the topology inside servers"
# FLASH §6.3.2: 4 servers of 8 GPUs, random. The text gives neither the bytes nor
# the bandwidths of the four GPUs. GB/s per GPU over all its links: 450 (H100, a
# switch) and 448 (MI300X, a mesh) are in FAST §5 and A.1, 150 (V100, a hybrid
# cube) in FLASH §2; nothing is known of MI250X, a ring.
{
    echo topology,up_gbps,ours,flash,spreadout,bound
    for fabric in switch:450 mesh:448 hybrid-cube:448 hybrid-cube:150 \
        ring:448 ring:150; do
        up=${fabric#*:}
        printf '%s,%s' "${fabric%:*}" "$up"
        bandwidths 'ours fast spreadout bound' random 50000000 --servers 4 \
            --lanes 8 --scale-out 100gbit --scale-up "${up}GBps" \
            --topology "${fabric%:*}"
    done
} >"$csv"
plot <<'END'
set title 'FLASH Fig. 16a: random, 4 x 8 GPUs, 12.5 GB/s out'
set ylabel 'GB/s per GPU'
set yrange [0:]
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.8
set xtics rotate by -30
plot for [k=3:6] csv using k:xtic(strcol(1).' '.strcol(2)) skip 1 ls (k == 6 ? 9 : k - 2) dt 1 \
    title word('ours FLASH SpreadOut optimum', k - 2)
END
