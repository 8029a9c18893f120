#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/sim.sh"
figure flash_fig15a "alltoallv over servers"
# FLASH §6.3.1: 8 GPUs per server, 100 Gbit/s out, 900 GB/s up counting both
# directions, random. The text does not give the bytes: 50 MB per pair.
{
    echo servers,ours,flash,spreadout,bound
    for servers in 2 4 8 12 16 24 32; do
        printf '%s' $servers
        bandwidths 'ours fast spreadout bound' random 50000000 \
            --servers $servers --lanes 8 --scale-out 100gbit --scale-up 450GBps
    done
} >"$csv"
plot <<'END'
set title 'FLASH Fig. 15a: random, 8 GPUs per server, 450 GB/s up, 12.5 GB/s out'
set xlabel 'servers'
set ylabel 'GB/s per GPU'
set yrange [0:]
plot for [k=2:5] csv using 1:k skip 1 ls (k == 5 ? 9 : k - 1) \
    title word('ours FLASH SpreadOut optimum', k - 1)
END
