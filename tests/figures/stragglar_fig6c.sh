#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/stragglar.sh"
figure stragglar_fig6c "allreduce time over ranks, powers of two"
scaling 4 8 16 32 64 128 256 >"$csv"
cp "$FIG_SRC/stragglar_lab.csv" "$FIG_OUT/${name}_lab.csv" # measured, and kept: a lab needs root and time
plot <<'END'
set title 'StragglAR Fig. 6c: 1 GiB, 450 GB/s, 3 us'
set xlabel 'ranks'
set ylabel 'ms'
set logscale x 2
set yrange [0:8]
plot csv using 1:3:4 skip 1 with filledcurves fc rgb '#cce5f5' title 'StragglAR, range', \
     csv using 1:3 skip 1 ls 1 title 'StragglAR, ideal', \
     csv using 1:4 skip 1 ls 1 dt 2 title 'StragglAR, worst', \
     csv using 1:5 skip 1 ls 3 title 'Ring', \
     csv using 1:6 skip 1 ls 4 title 'RHD', \
     csv using 1:9 skip 1 ls 5 title 'MSCCL all-pairs', \
     csv using 1:7 skip 1 ls 6 title 'Broadcast, ideal'
END
