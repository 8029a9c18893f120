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

small() { # VARIANT ROUND BYTES TIME
    echo "{\"job\": \"small $1 $2\", \"kind\": \"small\", \"layout\": \"1x4\", \"rate\": \"50mbit\", \"nics\": null," \
        "\"variant\": \"$1\", \"pattern\": \"random\", \"round\": $2, \"avg_bytes_per_pair\": $3, \"time_s\": $4}"
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
        small default 0 8 2e-5
        small "fast, tuned" 0 8 1e-5
        small default 1 8 2e-5
        small "fast, tuned" 1 8 4e-5
        small default 0 16 1e-5
        small "fast, tuned" 0 16 2e-5
    } >"$work/lab-suite.jsonl"
    "$suite" --table --build "$work" >"$work/output" 2>&1
    report $? "a table of what is there"
    prints "Plain streams reach 96.0 % of the rate." "the lab's own ceiling"
    prints "| zipf:0.8 | 1.000 | 1.250 (1.000 to **1.400**) | 1.200 | 2.10 (pairwise) | 1.68x | 2.0 |" \
        "medians, an outlier, the best peer"
    prints "- outliers of zipf:0.8: call 1 1.400 x LB; the switch dropped 7 packets" "the outlier once more"
    prints "no: 1.2500 > 1.05, 1.68x < 1.8x |" "goals that are missed"
    prints "- failed: bulk default eager: exit status 124: too long" "a job that failed"
    [[ $(grep -c "failed:" "$work/output") == 1 ]]
    report $? "one that failed at first, and not when it was run again"
    prints "| 8 B | 1.25 |" "speeds of small calls"
    prints "Worst: random, 16 B: 0.50 (0.50 to 0.50). Below 0.95: 1 of 2, with all of their pairs 1. Goal met: no." \
        "and the verdict"
}

test_list() {
    "$suite" --list --only moe --layout 8x2 --rate 25mbit --fast-only >"$work/output" 2>&1
    report $? "a list"
    diff - "$work/output" >"$work/diff" <<'TEXT'
2 jobs, about 0.9 minutes
stream 8x2 25mbit balanced 8 stream
bulk 8x2 25mbit moe 1000000 fast
TEXT
    report $? "of what would run"
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
    set -- --build "$work" --only balanced --layout 2x2 --rate 500mbit --fast-only --repeat 2
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
}

command -v python3 >/dev/null || exit 77
test_table
test_list
test_job
echo "1..$count"
exit $((failures > 0))
