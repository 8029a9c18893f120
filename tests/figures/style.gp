# SPDX-License-Identifier: BSD-3-Clause
set datafile separator ','
set datafile missing ''
set key outside right center vertical
set grid ytics lc rgb '#dddddd'
set border 3
set tics nomirror
set style data linespoints
set pointsize 0.8
set style line 1 lw 2 pt 7 lc rgb '#0072b2'   # ours
set style line 2 lw 2 pt 5 lc rgb '#009e73'   # the paper's algorithm
set style line 3 lw 2 pt 9 lc rgb '#d55e00'   # first baseline
set style line 4 lw 2 pt 11 lc rgb '#cc79a7'  # second baseline
set style line 5 lw 2 pt 13 lc rgb '#e69f00'  # third baseline
set style line 6 lw 2 pt 4 lc rgb '#56b4e9'
set style line 9 lw 2 dt 2 pt 0 lc rgb '#000000' # bound
