#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/stragglar.sh"
figure stragglar_fig9 "allreduce time over ranks, not powers of two"
# The paper has even numbers; odd ones are ours.
scaling 6 7 10 11 14 20 21 24 36 48 49 60 72 96 100 101 144 192 200 250 251 >"$csv"
plot <<'END'
set title 'StragglAR Fig. 9: 1 GiB, 450 GB/s, 3 us; not powers of two'
set xlabel 'ranks'
set ylabel 'ms'
set logscale x 2
set yrange [0:12]
plot csv using 1:3:4 skip 1 with filledcurves fc rgb '#cce5f5' title 'StragglAR, range', \
     csv using 1:3 skip 1 ls 1 title 'StragglAR, ideal', \
     csv using 1:4 skip 1 ls 1 dt 2 title 'StragglAR, worst', \
     csv using 1:5 skip 1 ls 3 title 'Ring', \
     csv using 1:6 skip 1 ls 4 title 'RHD', \
     csv using 1:9 skip 1 ls 5 title 'MSCCL all-pairs', \
     csv using 1:7 skip 1 ls 6 title 'Broadcast, ideal'
END
