#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What somebody who is not part of a job can do to it, in the lab's own network, in TAP: ports that our network opens,
# and forged messages. A few seconds. Exit status: 0 all passed, 1 not, 77 a lab cannot be made here.
#
#   test_security.sh [BUILD-DIRECTORY]
set -uo pipefail

build=${FS_BUILDDIR:-${1:-$PWD}}
here=$(dirname "$(realpath "$0")")
lab=$here/lab
name=security$$
work=$(mktemp -d)
: >"$work/why"
count=0
failures=0

trap '"$lab" down --name "$name"; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

report() { # STATUS WHAT
    ((++count))
    if (($1 == 0)); then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        sed 's/^/# /' "$work/why" "$work/output"
        ((++failures))
    fi
}

skip_all() {
    echo "1..0 # SKIP $*"
    exit 77
}

need() { # WHAT COMMAND...
    local what=$1
    shift
    "$@" || { echo "$what" >>"$work/why" && return 1; }
}

# OMPI-OR-MPICH OPTION... -- ARGUMENT...: a job of mpi_doors with fast, stats to its output.
job() {
    local mpi=$1
    shift
    : >"$work/why"
    if [[ $mpi == ompi ]]; then
        set -- --mca coll fast --mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0 --mca coll_fast_stats 1 \
            --mca coll_fast_tuner 0 "$@"
    else
        set -- -x FASTSCHED_ALGORITHM=staged -x FASTSCHED_MIN_BYTES=0 -x FASTSCHED_STATS=1 -x FASTSCHED_TUNER=0 "$@"
    fi
    "$lab" run --name "$name" --mpi "$mpi" --timeout 60 "$@" >"$work/output" 2>&1 </dev/null
}

program_of() { # OMPI-OR-MPICH
    [[ $1 == ompi ]] && echo "$build/tests/mpi/mpi_doors" || echo "mpich-fast $build/tests/mpich/mpi_doors"
}

# ---- ports ----------------------------------------------------------------------------------------------------------

# A port for each rank, at most, and on the data network.
one_door() { # OMPI-OR-MPICH
    # shellcheck disable=SC2046 # two words
    need "exit status not 0" job "$1" -- $(program_of "$1") &&
        need "4 ranks are not ok" test "$(grep -c ': ok$' "$work/output")" = 4 &&
        need "a rank has not one port" test "$(grep -c ': 1 doors$' "$work/output")" = 4 &&
        need "a port is not on the data network" test "$(grep -c '^door [0-9] 10\.98\.' "$work/output")" = 4
}

no_door() { # OMPI-OR-MPICH: ranks of one server
    # shellcheck disable=SC2046
    need "exit status not 0" job "$1" -n 2 -- $(program_of "$1") &&
        need "a rank has a port" test "$(grep -c ': 0 doors$' "$work/output")" = 2
}

# ---- forged messages ------------------------------------------------------------------------------------------------

# While all ranks wait, one on each server, each gets what could be meant for it; then they go on.
forged() { # OMPI-OR-MPICH
    local job tries=300 doors address port
    rm -f "$work/go"
    : >"$work/output" # of the job before
    # shellcheck disable=SC2046
    job "$1" -n 2 --map cyclic -- $(program_of "$1") "$work/go" &
    job=$!
    until [[ $(grep -c ': [0-9]* doors$' "$work/output") == 2 ]] || ((tries-- == 0)); do sleep 0.1; done
    doors=$(sed -n 's/^door [0-9]* //p' "$work/output")
    while read -r address port; do
        "$lab" exec --name "$name" node0 python3 "$here/forge.py" "$address" "$port" >>"$work/why" 2>&1
    done <<<"$doors"
    touch "$work/go"
    need "exit status not 0" wait "$job" &&
        need "2 ranks are not ok" test "$(grep -c ': ok$' "$work/output")" = 2 &&
        need "nothing was dropped" grep -q 'messages dropped [0-9]*/[0-9]*/[1-9]' "$work/output"
}

# ----------------------------------------------------------------------------------------------------------------------

[[ -r $build/run-env ]] || skip_all "no run-env in $build"
# shellcheck disable=SC1091
. "$build/run-env"
[[ -x $build/tests/mpi/mpi_doors ]] || skip_all "mpi_doors is not built"
"$lab" up --name "$name" --layout 2+2 --rate 1gbit >"$work/output" 2>&1
case $? in
0) ;;
77) skip_all "$(cat "$work/output")" ;;
*) cat "$work/output" && exit 1 ;;
esac

mpis=(ompi)
[[ ! -x $build/tests/mpich/mpi_doors ]] || ! command -v mpiexec.hydra >/dev/null || mpis+=(mpich)
for mpi in "${mpis[@]}"; do
    one_door "$mpi"
    report $? "$mpi: a port for each rank, on the data network"
    no_door "$mpi"
    report $? "$mpi: none for ranks of one server"
    forged "$mpi"
    report $? "$mpi: forged messages are dropped and counted"
done
echo "1..$count"
exit $((failures > 0))
