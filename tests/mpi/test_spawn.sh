#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Spawned processes: every byte is right, and traces tell processes apart that have
# one rank in their MPI_COMM_WORLD, those of another job as well. One line per case.
#
#   test_spawn.sh [--mpi ompi|mpich] [BUILD-DIRECTORY]
set -u

mpi=ompi
[ "${1-}" != --mpi ] || { mpi=$2 && shift 2; }
# shellcheck source=/dev/null
. "$(dirname "$0")/${mpi}_job.sh"
need_mpi mpi/mpi_spawn
tool=$build/libfastsched/fastsched
traces=$scratch/traces
python=$(command -v python3 || true)

any_run -np 2 "$program" >"$scratch/out" 2>&1 || {
    sed 's/^/    /' "$scratch/out"
    skip 'this MPI cannot spawn'
}

spawns() {
    any_run -np 2 --mca coll fast --mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0 \
        --mca coll_fast_servers 2x1 --mca coll_fast_trace "$traces" "$program" >"$scratch/out" 2>&1
    status=$?
    ends_well && said 4 ': wrong 0'
}

# N: so many files.
files() {
    n=$(find "$traces" -name '*.json' | wc -l)
    [ "$n" = "$1" ] && return
    echo "$n files instead of $1:"
    ls "$traces"
    return 1
}

# COMMUNICATORS PROCESSES: no rank is missing, and all are told apart.
told() {
    "$tool" trace "$traces" --format json --output "$scratch/merged.json" >"$scratch/report.json" || return
    n=$(grep -c '"missing_ranks": 0' "$scratch/report.json")
    [ "$n" = "$1" ] || { echo "$n communicators without a missing rank instead of $1" && return 1; }
    [ -z "$python" ] ||
        "$python" "$(dirname "$0")/check_trace.py" "$traces" "$2" "$scratch/merged.json" "$scratch/report.json"
}

case_of 'two ranks spawn two' spawns
case_of 'a file for each rank of three communicators' files 8
case_of 'their traces' told 3 4
case_of 'another job with the same directory' spawns
case_of 'the files of both' files 16
case_of 'the traces of both' told 6 8

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
