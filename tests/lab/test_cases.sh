#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# All cases of mpi_alltoallv between servers that have only a network between them, in TAP. About a minute. Exit
# status: 0 all passed, 1 not, 77 a lab cannot be made here.
#
#   test_cases.sh [BUILD-DIRECTORY]
set -uo pipefail

build=${FS_BUILDDIR:-${1:-$PWD}}
lab=$(dirname "$(realpath "$0")")/lab
name=cases$$
program=$build/tests/mpi/mpi_alltoallv
work=$(mktemp -d)
count=0
failures=0

trap '"$lab" down --name "$name"; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

skip_all() {
    echo "1..0 # SKIP $*"
    exit 77
}

# MPI WHAT NODES OPTION... -- ARGUMENT...: one job; NODES is what the lab makes of its servers, for the program only.
job() {
    local mpi=$1 what=$2 servers=$3 options=()
    shift 3
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    ((++count))
    # shellcheck disable=SC2086 # program may be two words
    if "$lab" run --name "$name" --mpi "$mpi" --timeout 120 "${options[@]}" \
        -- $program --servers "$servers" "$@" >"$work/output" 2>&1 </dev/null; then
        echo "ok $count - $what"
    else
        echo "not ok $count - $what"
        tail -n 40 "$work/output" | sed 's/^/# /'
        ((++failures))
    fi
}

[[ -r $build/run-env ]] || skip_all "no run-env in $build"
# shellcheck disable=SC1091
. "$build/run-env"
[[ -x $program ]] || skip_all "$program is not built"
"$lab" up --name "$name" --layout 1+3+4 --nics 2 --rate 1gbit >"$work/output" 2>&1
case $? in
0) ;;
77) skip_all "$(cat "$work/output")" ;;
*) cat "$work/output" && exit 1 ;;
esac

# Cyclic: rank 0 is alone, the others go round the two servers that still have room.
cyclic=@0,1,2,1,2,1,2,2
staged=(--mca coll fast --mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0 --mca coll_fast_early off)
job ompi "all cases" 1+3+4 "${staged[@]}" -- --expect staged
job ompi "all cases, ranks go round" $cyclic --map cyclic "${staged[@]}" -- --expect staged ragged ints many late isend
job ompi "threads" 1+3+4 "${staged[@]}" -- --expect staged --threads
job ompi "threads, Open MPI's own TCP" 1+3+4 "${staged[@]}" --mca pml ob1 --mca btl tcp,self,vader -- --expect staged --threads
job ompi "auto: bundles and tuner" 1+3+4 --mca coll fast --mca coll_fast_min_bytes 1k -- ragged many-counts small-large
job ompi "begun early" 1+3+4 --mca coll fast --mca coll_fast_early on --mca coll_fast_min_bytes 0 -- ragged many structs late
job ompi "transport mpi" 1+3+4 "${staged[@]}" --mca coll_fast_transport mpi -- ragged zero many structs late

# The same under MPICH, if it is there: each rank is started by mpich-fast.
mpich=(-x FASTSCHED_ALGORITHM=staged -x FASTSCHED_MIN_BYTES=0 -x FASTSCHED_EARLY=off)
program="mpich-fast $build/tests/mpich/mpi_alltoallv"
if [[ -x ${program#* } ]] && command -v mpiexec.hydra >/dev/null; then
    job mpich "MPICH: all cases" 1+3+4 "${mpich[@]}" -- --expect staged
    job mpich "MPICH: threads" 1+3+4 "${mpich[@]}" -- --expect staged --threads
fi
echo "1..$count"
exit $((failures > 0))
