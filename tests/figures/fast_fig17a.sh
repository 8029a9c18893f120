#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
. "$FIG_SRC/sim.sh"
figure fast_fig17a "alltoallv over GPUs, with and without planning time"
# FAST §5.4: 50 MB per pair on average, random, 400 Gbit/s out, H200.
fabric='--lanes 8 --scale-out 400gbit --scale-up 450GBps'

# both SERIES SERVERS OPTIONS: GB/s per GPU without and with planning time, and
# the optimum; means of the seeds. Chunks are a thousandth of a GPU's bytes, 16 MB at
# most.
both() {
    series=$1 servers=$2
    shift 2
    if [ "$series" = ours ]; then
        chunk=$((servers < 40 ? servers * 400000 : 16000000))
        set -- --chunk $chunk "$@"
    fi
    for seed in $seeds; do
        # shellcheck disable=SC2086
        simulate "$series" --servers "$servers" $fabric --count-scheduling \
            --pattern random --mean 50000000 --seed "$seed" "$@" >"$work/json"
        for key in time_us scheduling_us algo_bandwidth optimal_bandwidth; do
            json_number $key <"$work/json"
        done | tr '\n' ' '
        echo
    done | awk '{ raw += $3 * $1 / ($1 - $2); with += $3; best += $4 }
        END { n = NR * 1e9; printf "%.3f,%.3f,%.3f\n", raw / n, with / n, best / n }'
}

{
    echo gpus,ours,ours_with_scheduling,fast,fast_with_scheduling,spreadout,bound
    for servers in 4 8 12 16 24 32 40; do
        [ $servers -lt 24 ] || seeds='1 2'
        echo "$((servers * 8)),$(both ours $servers | cut -d, -f1,2),$(
            both fast $servers | cut -d, -f1,2),$(
            both spreadout $servers | cut -d, -f2,3)"
    done
    # Beyond the paper's range: one seed, one lane for each server.
    seeds=1
    for servers in 128 1024; do
        echo "$((servers * 8)),$(both ours $servers --level lanes |
            sed 's/,\([^,]*\)$/,,,,\1/')"
    done
} >"$csv"
plot <<'END'
set title 'FAST Fig. 17a: random, 50 MB per pair, 450 GB/s up, 50 GB/s out'
set xlabel 'GPUs'
set ylabel 'GB/s per GPU'
set logscale x
set yrange [0:]
plot for [k=2:7] csv using 1:k skip 1 ls (k == 7 ? 9 : k <= 3 ? 1 : k <= 5 ? 2 : 3) dt 1+(k == 7 || k % 2 == 1) \
    title word('ours ours+planning FAST FAST+planning SpreadOut optimum', k - 1)
END
