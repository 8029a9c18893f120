#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/sim.sh"
figure flash_fig15b "alltoallv over GPUs per server"
# As Fig. 15a, with 8 servers.
{
    echo gpus_per_server,ours,flash,spreadout,bound
    for gpus in 2 4 8 12 16; do
        printf '%s' $gpus
        bandwidths 'ours fast spreadout bound' random 50000000 \
            --servers 8 --lanes $gpus --scale-out 100gbit --scale-up 450GBps
    done
} >"$csv"
plot <<'END'
set title 'FLASH Fig. 15b: random, 8 servers, 450 GB/s up, 12.5 GB/s out'
set xlabel 'GPUs per server'
set ylabel 'GB/s per GPU'
set yrange [0:]
plot for [k=2:5] csv using 1:k skip 1 ls (k == 5 ? 9 : k - 1) \
    title word('ours FLASH SpreadOut optimum', k - 1)
END
