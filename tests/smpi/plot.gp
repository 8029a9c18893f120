# SPDX-License-Identifier: BSD-3-Clause
# csv: the file; sizes: numbers of ranks, one panel each
names = 'ours ompi mpich pair ring'
patterns = 'balanced random zipf:0.8 hotspot:2 moe'
place(p) = sum [k=1:words(patterns)] (word(patterns, k) eq p ? k : 0)
set style fill solid
set boxwidth 0.15
set logscale y
set yrange [0.9:*]
set xrange [0.5:words(patterns)+0.5]
set ylabel 'time over the lower bound'
set xtics ('' 0)
set for [k=1:words(patterns)] xtics add (word(patterns, k) k)
set multiplot layout words(sizes),1
do for [size in sizes] {
    set title size.' ranks, 8 per server, 768 KiB per pair on average (SMPI)'
    plot for [n=1:words(names)] csv skip 1 \
        using (strcol(1) eq size && strcol(3) eq word(names, n) ? place(strcol(2)) + 0.16 * (n - 3) : NaN):6 \
        with boxes ls n title word(names, n), \
        csv skip 1 using (strcol(1) eq size && strcol(3) eq 'ours' ? place(strcol(2)) : NaN):7:(0.4) \
        with xerrorbars ls 9 pt 0 title 'busiest rank', \
        1 ls 9 dt 1 notitle
}
unset multiplot
