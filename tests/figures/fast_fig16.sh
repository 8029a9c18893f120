#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
. "$(dirname "$0")/common.sh"
figure fast_fig16 "time to plan over GPUs"

# One line of JSON per case; auto comes first.
tool "$FASTSCHED" bench --servers 2,4,8,12,16,24,32,40,128 --lanes 8 \
    --pattern random --decompose auto,birkhoff --format json >"$work/bench"
{
    echo gpus,servers,auto_us,auto_stages,birkhoff_us,birkhoff_stages
    while read -r case; do
        servers=$(echo "$case" | json_number servers)
        times=$(echo "$case" | json_number plan_us),$(
            echo "$case" | json_number stages)
        case $case in
        *'"decompose": "auto"'*) printf '%s,%s,%s' $((servers * 8)) \
            "$servers" "$times" ;;
        *) echo ",$times" ;;
        esac
    done <"$work/bench"
} >"$csv"
# What the text of FAST §4.4 and §5.3 gives.
cat >"$work/paper" <<'END'
16,3.1
32,25
64,221
96,805
320,77000
END
plot <<'END'
set title 'FAST Fig. 16: time to plan, random, 8 GPUs per server'
set xlabel 'GPUs'
set ylabel 'us'
set logscale xy
set format y '10^{%T}'
plot csv using 1:3 skip 1 ls 1 title 'ours, auto', \
     csv using 1:5 skip 1 ls 2 title 'ours, birkhoff', \
     'paper' using 1:2 ls 3 title 'FAST, as published', \
     '+' using (16):(3.6e6) every 1000 with points ls 4 title 'SyCCL, as published'
END
