#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests of the suite, in TAP: the table from lines that are known, then one job in a lab. Exit status: 0 all passed, 1
# not, 77 without python3.
set -uo pipefail

suite=$(dirname "$(realpath "$0")")/suite
build=${FS_BUILDDIR:-$PWD}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
failures=0

report() { # STATUS WHAT
    ((++count))
    if (($1 == 0)); then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        sed 's/^/# /' "$work/output"
        ((++failures))
    fi
}

bulk() { # VARIANT ROUND TIME...: a line of a job on links that need 1 s
    local variant=$1 times
    shift
    times=$(IFS=,; echo "$*")
    echo "{\"job\": \"bulk $variant\", \"kind\": \"bulk\", \"layout\": \"4x4\", \"rate\": \"50mbit\", \"nics\": null," \
        "\"variant\": \"$variant\", \"pattern\": \"zipf:0.8\", \"round\": 0, \"avg_bytes_per_pair\": 1000000," \
        "\"lower_bound_s\": 1, \"algorithm\": \"staged\", \"peak_staging\": 2097152, \"drops\": 7," \
        "\"times_s\": [$times], \"bounds_s\": [1, 1, 1]}"
}

small() { # VARIANT ROUND BYTES TIME PACKETS [LAYOUT PATTERN]: at a lower bound of 1 s
    local layout=${6-1x4} pattern=${7-random}
    echo "{\"job\": \"small $layout $pattern $1 $2\", \"kind\": \"small\", \"layout\": \"$layout\", \"rate\": \"50mbit\"," \
        "\"nics\": null, \"variant\": \"$1\", \"pattern\": \"$pattern\", \"round\": $2, \"avg_bytes_per_pair\": $3," \
        "\"collective\": \"alltoallv\", \"time_s\": $4, \"data_packets\": $5, \"sent_bytes\": 1000, \"lower_bound_s\": 1}"
}

plan() { # LAYOUT TOTAL
    echo "{\"job\": \"plan m $1\", \"kind\": \"plan\", \"layout\": \"$1\", \"rate\": \"\", \"nics\": null, \"variant\": \"fast\"," \
        "\"pattern\": \"m\", \"round\": 0, \"lower_bound\": 1000, \"total\": $2}"
}

late() { # KIND VARIANT ARRIVAL TIME: entries apart, at a lower bound of 1 s
    local arrival=null
    [[ -z $3 ]] || arrival="\"$3\", \"entry_bound_s\": 1.15"
    bulk "$2" "$4" "$4" "$4" | sed "s/\"bulk/\"$1/g; s/\"job\": \"[^\"]*/&$3/; s/\"round\": 0/&, \"arrival\": $arrival/"
}

allreduce() { # LAYOUT VARIANT ARRIVAL TIME: of 8 MiB
    local arrival=null
    [[ -z $3 ]] || arrival="\"$3\""
    echo "{\"job\": \"allreduce $1 $2 $3\", \"kind\": \"allreduce\", \"layout\": \"$1\", \"rate\": \"200mbit\"," \
        "\"nics\": null, \"variant\": \"$2\", \"pattern\": \"sum\", \"round\": 0, \"avg_bytes_per_pair\": 8388608," \
        "\"arrival\": $arrival, \"time_s\": $4, \"lower_bound_s\": 0.6, \"algorithm\": \"ring\"," \
        "\"impl\": \"ompi\"}"
}

failed() { # VARIANT
    bulk "$1" 1 1 1 | sed 's/"lower_bound_s".*/"error": "exit status 124: too long"}/'
}

prints() { # TEXT WHAT: the table has it
    grep -qF -- "$1" "$work/output"
    report $? "$2"
}

test_table() {
    {
        echo '{"job": "stream", "kind": "stream", "layout": "4x4", "rate": "50mbit", "nics": null, "variant": "stream",' \
            '"pattern": "balanced", "round": 0, "avg_bytes_per_pair": 8, "ceiling_mbit": 48, "rate_mbit": 50}'
        failed fast
        bulk fast 1.4 1.0 1.25
        bulk default 2.5 2.6 2.4
        bulk pairwise 2.1 2.0 2.2
        failed "default eager"
        small default 0 8 2e-5 0
        small pairwise 0 8 3e-5 0
        small "fast, tuned" 0 8 1e-5 0
        small default 1 8 2e-5 0
        small pairwise 1 8 1e-5 0
        small "fast, tuned" 1 8 4e-5 0
        small default 0 16 1e-5 0
        small "fast, tuned" 0 16 2e-5 0
        small default 0 8 4e-5 192 4x4
        small "default eager" 0 8 3.5e-5 190 4x4
        small "fast, tuned" 0 8 1e-5 12 4x4
        small default 0 16 4e-5 192 4x4
        small "fast, tuned" 0 16 1e-5 15 4x4
        small default 0 65536 1.8 600 4x4
        small "fast, tuned" 0 65536 1.2 600 4x4
        late late fast "" 1.02
        late late "fast, early off" "" 1.01
        late late "default eager" "" 1.03
        late late fast uniform:0.3 1.22
        late siblings fast uniform:0.3 1.22
        late siblings "default eager" uniform:0.3 1.21
        allreduce 8x1 "fast, tuned" "" 0.7
        allreduce 8x1 default "" 0.65
        allreduce 8x1 "fast, tuned" late:5:1 0.5
        allreduce 8x1 "fast, rank known" late:5:1 0.45
        allreduce 8x1 default late:5:1 0.9
        allreduce 8x1 "tuned ring" late:5:1 0.6
        allreduce 8x1 "tuned linear" late:5:1 '0, "error": "exit status 124: too long"'
        allreduce 16x1 "fast, tuned" late:5:1 0.39
        allreduce 16x1 default late:5:1 0.6
        plan 4x4 1015
        plan 2x8 1016
    } >"$work/lab-suite.jsonl"
    "$suite" --table --build "$work" >"$work/output" 2>&1
    report $? "a table of what is there"
    prints "Plain streams reach 96.0 % of the rate." "the lab's own ceiling"
    prints "| zipf:0.8 | 1.000 | 1.250 (1.000 to **1.400**) | 1.200 | 2.10 (pairwise) | 1.68x | 2.0 |" \
        "medians, an outlier, the best peer"
    prints "- outliers of zipf:0.8: call 1 1.400 x LB; the switch dropped 7 packets" "the outlier once more"
    prints "no: 1.2500 > 1.02, 1.68x < 1.8x |" "goals that are missed"
    prints "- failed: bulk default eager: exit status 124: too long" "a job that failed"
    [[ $(grep -c "failed: bulk" "$work/output") == 1 ]]
    report $? "one that failed at first, and not when it was run again"
    prints "### 1x4, 50mbit, MPI_Alltoallv" "small calls of a lab"
    prints "| 8 B | 1.25 |" "their speeds, by the setting that is best in the middle"
    prints "| 16 B | **0.50** |" "one that misses its goal"
    prints "- 8 B to 1 MiB, each at least 0.97: no; below it 1 of 2, with all of their rounds 1; worst random, 16 B: 0.50 (0.50 to 0.50)" \
        "and the verdict"
    prints "- 8 B to 64 KiB, geometric mean of each pattern at least 0.97: yes; worst random: 2.76" "means of a pattern"
    prints "- 8 B to 64 B, each at least 3: yes; below it 0 of 2, with all of their rounds 0; worst random, 8 B: 3.50" \
        "goals of few bytes"
    prints "| 64 KiB | **1.200** |" "over the lower bound, where bytes count"
    prints "Data packets per call, goal: at most 14.4, that is 1.2 x 4 x 3." "packets"
    prints "| 8 B | random | 12.0 | 190.0 | 1000 | 1000 | yes |" "few"
    prints "| 16 B | random | 15.0 | 192.0 | 1000 | 1000 | no |" "and too many"
    prints "### 4x4, 50mbit, 1 MB per pair, late" "entries apart"
    prints "| together | zipf:0.8 |  | **1.020** | 1.010 | 1.030 |" "one that is slower than without"
    prints "| uniform:0.3 | zipf:0.8 | 1.150 | 1.220 |  |  |" "one that meets its goal"
    prints "| uniform:0.3 | zipf:0.8 | 1.150 | 1.220 | 1.210 |" "communicators that share NICs"
    prints "### 8x1, 200mbit, MPI_Allreduce of 8 MiB" "an allreduce"
    prints "| together | 0.6000 | 0.7000 |  |  | 0.6500 (default) | 1 of 1 | **0.93x** |  | 0.98x |" \
        "one that is slower than the MPI's"
    prints "| late:5:1 | 0.6000 | 0.5000 | 0.4500 |  | 0.6000 (tuned ring) | 2 of 3 | **1.20x** | 1.33x | 1.3x |" \
        "the best of the peers that ran, and goals of eight ranks"
    prints "| late:5:1 | 0.6000 | 0.3900 |  |  | 0.6000 (default) | 1 of 1 | 1.54x |  | 1.5x |" "of sixteen"
    prints "- failed: allreduce 8x1 tuned linear late:5:1: exit status 124: too long" "and what failed"
    grep -qxF "ompi,8x1,200mbit,8388608,late:5:1,0.6000,tuned ring,0.6000,0.4500,0.5000" "$work/lab-suite.csv"
    report $? "as CSV"
    prints "| m | 4x4 | 1.0150 | yes |" "a plan"
    prints "| m | 2x8 | 1.0160 | no: > 1.015 |" "and one above its goal"
}

# Of the lines of test_table.
test_plot() {
    local plot=${suite%suite}plot
    if ! command -v gnuplot >/dev/null; then
        echo "ok $((++count)) - a plot # SKIP no gnuplot"
        return
    fi
    "$plot" "$work/lab-suite.jsonl" "$work/plot.svg" --layout 4x4 >"$work/output" 2>&1
    report $? "a plot"
    cp "$work/plot.svg" "$work/output"
    prints "4x4, 50mbit" "of a lab"
    prints "random" "and a pattern"
    ! grep -q "1x4" "$work/output"
    report $? "and of no other lab"
    ! "$plot" "$work/lab-suite.jsonl" "$work/plot.svg" --collective alltoall >"$work/output" 2>&1
    report $? "what was not measured is not drawn"
    prints "has nothing of the kind alltoall" "and says so"
}

# Eight ranks on four, twice the bytes: what a matrix becomes, and what it is.
test_matrix() {
    python3 - "$(dirname "$suite")" "$work" >"$work/output" 2>&1 <<'CODE'
import array, gzip, pathlib, sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import suite_traffic as traffic

work = pathlib.Path(sys.argv[2], "matrices")
work.mkdir()
(work / "a.txt").write_text("# bytes\n1, 2\n\n3 4 # end\n")
(work / "b.txt.gz").write_bytes(gzip.compress(b"0 7\n8 0\n"))
# Two ranks, two calls: rank 0 sends 5 to 1 in the first, rank 1 sends 6 to 0 in the second, 7 to itself.
parts = [[1, 0, 1, 5, 0, 1, 1, 6], [0, 2, 0, 1, 6, 7, 1, 1, 0, 5, 1, 7]]
numbers = [2, 2, *map(len, parts), *parts[0], *parts[1]]
(work / "wrf.dat.gz").write_bytes(gzip.compress(array.array("i", numbers).tobytes()))
assert traffic.read_all([work]) == {
    "a": [[1, 2], [3, 4]], "b": [[0, 7], [8, 0]],
    "wrf (all calls)": [[0, 5], [6, 7]], "wrf (largest call)": [[0, 0], [6, 7]]}

eight = [[8 * i + j for j in range(8)] for i in range(8)]
four = traffic.fold(eight, 4)
assert sum(map(sum, four)) == sum(map(sum, eight))
assert four[0][1] == eight[0][2] + eight[0][3] + eight[1][2] + eight[1][3]
assert sum(map(sum, traffic.fold(eight, 3))) == sum(map(sum, eight))
most = traffic.bytes_per_nic(four, [2, 2], 0)
assert most == sum(four[2][:2] + four[3][:2]) / 2
assert traffic.bytes_per_nic(four, [2, 2], 1) == 2 * most
reduced, done = traffic.reduce(eight, [2, 2], 0, 2 * most)
assert reduced == [[2 * x for x in row] for row in four]
assert done == "8 ranks folded onto 4, bytes x 2", done
traffic.write(four, work / "c.txt", "text")
assert traffic.read_all([work])["c"] == four
CODE
    report $? "matrices: read, folded, scaled"
}

test_list() {
    "$suite" --list --kind bulk --only moe --layout 8x2 --rate 25mbit --fast-only >"$work/output" 2>&1
    report $? "a list"
    diff - "$work/output" >"$work/diff" <<'TEXT'
2 jobs, about 0.9 minutes
stream 8x2 25mbit balanced 8 stream
bulk 8x2 25mbit moe 1000000 fast
TEXT
    report $? "of what would run"
    "$suite" --list --kind small --only random --layout 2x16 --repeat 2 >"$work/output" 2>&1
    [[ $(grep -c "small 2x16 50mbit random 8:8k" "$work/output") == 10 &&
        $(grep -c "small 2x16 50mbit random 16k:64k .* round 2" "$work/output") == 5 ]]
    report $? "in turn, in the lab that a kind has for a layout"
    "$suite" --list --kind small --only random --layout 4x4 --rate 50mbit --mtu 1500 --repeat 1 >"$work/output" 2>&1
    [[ $(grep -c "small 4x4 50mbit MTU 1500 random" "$work/output") == 10 ]]
    report $? "with other frames"
    "$suite" --list --kind alltoall --mpi mpich --repeat 1 >"$work/output" 2>&1
    [[ $(grep -c "^alltoall 4x4 100mbit balanced 8:4k" "$work/output") == 3 ]]
    report $? "of MPI_Alltoall"
    "$suite" --list --kind late --only balanced --layout 8x2 --size 300000 >"$work/output" 2>&1
    [[ $(grep -c "^late 8x2 50mbit balanced 300000 late:5:0.5 fast" "$work/output") == 3 ]]
    report $? "of entries apart"
    "$suite" --list --kind allreduce --layout 8x1 --size 1048576 --rate 200mbit >"$work/output" 2>&1
    [[ $(grep -c "^allreduce 8x1 200mbit sum 1048576 late:3:0.5 .* eager$" "$work/output") == 7 &&
        $(grep -c "sum 1048576 fast, " "$work/output") == 2 && $(grep -c " han" "$work/output") == 0 ]]
    report $? "of an allreduce with one rank late and with none, and all algorithms of the MPI"
    "$suite" --list --kind allreduce --layout 4x4 --rate 500mbit >"$work/output" 2>&1
    [[ $(grep -cE "^allreduce 4x4 500mbit sum 67108864 late:3:1 (han|han eager)$" "$work/output") == 2 ]]
    report $? "han, where servers have several ranks"
    "$suite" --list --kind allreduce --mpi mpich --layout 16x1 --rate 100mbit >"$work/output" 2>&1
    [[ $(grep -cE " (nb|smp|recursive_doubling|reduce_scatter_allgather)$" "$work/output") == 24 ]]
    report $? "of MPICH's"
    touch "$work/other.so"
    "$suite" --list --kind alltoall --repeat 1 --peer "other=$work/other.so,METHOD=2" >"$work/output" 2>&1
    [[ $(grep -c "^alltoall 4x4 100mbit balanced 8:4k other round 1" "$work/output") == 1 ]]
    report $? "with a peer"
    ! "$suite" --list --kind alltoall --peer other=missing.so >"$work/output" 2>&1
    report $? "which must be there"
}

# Matrices through the command: needs no lab.
test_plan() {
    local what="plans of matrices"
    if [[ ! -r $build/run-env ]]; then
        echo "ok $((++count)) - $what # SKIP $build is not a build directory"
        return
    fi
    cp "$build/run-env" "$work"
    mkdir -p "$work/own"
    python3 -c "for i in range(8): print(*range(i, i + 8))" >"$work/own/eight.txt"
    "$suite" --build "$work" --kind plan --traffic "$work/own" >"$work/output" 2>&1
    report $? "$what"
    prints "| eight | 2x4 | 1." "and their row"
    [[ $(grep -cE "^\| (lammps-pppm|ptscotch-order|spfft-sphere) .* yes \|" "$work/output") == 9 ]]
    report $? "those of tests/traffic are within their goal"
}

# A rate so high that it takes no time. With --resume nothing is left to be done.
test_job() {
    local what="a job in a lab" status
    if [[ ! -r $build/run-env ]]; then
        echo "ok $((++count)) - $what # SKIP $build is not a build directory"
        return
    fi
    cp "$build/run-env" "$work"
    rm -f "$work/lab-suite.jsonl"
    set -- --build "$work" --kind bulk --only balanced --layout 2x2 --rate 500mbit --fast-only --repeat 2
    "$suite" "$@" >"$work/output" 2>&1
    status=$?
    if ((status == 77)); then
        echo "ok $((++count)) - $what # SKIP $(tail -n 1 "$work/output")"
        return
    fi
    [[ $status == 0 && $(wc -l <"$work/lab-suite.jsonl") == 2 ]]
    report $? "$what"
    prints "| balanced | 0.032 |" "and its row"
    "$suite" "$@" --resume >"$work/output" 2>&1 && grep -q "^0 jobs" "$work/output"
    report $? "which is not run again"
    "$suite" --build "$work" --kind alltoall --layout 2x2 --rate 500mbit --repeat 1 >"$work/output" 2>&1
    report $? "MPI_Alltoall in a lab"
    prints "### 2x2, 500mbit, MPI_Alltoall" "and its table"
    prints "| 8 B | balanced |" "with packets"
    # Pairwise: a message from each of two ranks to each of two, both ways. TCP sends two of a connection in one packet
    # where the first still waits in the NIC's queue.
    python3 - "$work/lab-suite.jsonl" >"$work/output" 2>&1 <<'CODE'
import json, sys

lines = map(json.loads, open(sys.argv[1], encoding="utf-8"))
packets = [x["data_packets"] for x in lines if x["variant"] == "pairwise" and x["avg_bytes_per_pair"] == 8]
print(packets)
assert len(packets) == 1 and 6 < packets[0] < 12
CODE
    report $? "as many as there are messages"
}

command -v python3 >/dev/null || exit 77
test_table
test_plot
test_matrix
test_list
test_plan
test_job
echo "1..$count"
exit $((failures > 0))
