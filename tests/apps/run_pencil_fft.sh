#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pencil_fft, a Fortran program that knows nothing of fastsched, under Open MPI and
# under MPICH, with fast and without: all bits of the result must be the same.
#
#   run_pencil_fft.sh [BUILD-DIRECTORY]
set -u

build=${FS_BUILDDIR:-${1:-$PWD}}
here=$(cd "$(dirname "$0")" && pwd)
library=$build/mpich_coll_fast/.libs/libmpich_coll_fast.so
limit=60
box='30 26 23 4 3' # on a grid of 4 x 3 ranks
servers=4x3
failed=0
n_runs=0

skip() {
    echo "run_pencil_fft.sh: skipped: $*"
    exit 77
}

[ -r "$build/run-env" ] || skip "no run-env in $build"
# shellcheck disable=SC1091
. "$build/run-env"
command -v gfortran >/dev/null || skip 'no gfortran'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# TEXT COMMAND...: one run; its checksum goes to $scratch/sums.
run() {
    text=$1
    shift
    n_runs=$((n_runs + 1))
    # shellcheck disable=SC2086 # numbers
    timeout --kill-after=5 "$limit" "$@" $box >"$scratch/out" 2>&1 </dev/null
    status=$?
    line=$(grep 'pencil_fft: checksum' "$scratch/out")
    if [ $status = 0 ] && [ -n "$line" ]; then
        echo "ok      $text: ${line#*: }"
        echo "${line%,*}" >>"$scratch/sums"
        return
    fi
    failed=$((failed + 1))
    echo "FAILED  $text: exit status $status"
    tail -n 20 "$scratch/out" | sed 's/^/    /'
}

# The run before was served: two turns, on a communicator of each kind.
served() {
    grep -q 'coll fast: summary: 2 calls, 2 staged' "$scratch/out" && return
    failed=$((failed + 1))
    echo 'FAILED  fast has not served both calls'
    grep 'coll fast' "$scratch/out" | sed 's/^/    /'
}

: >"$scratch/sums"

if command -v mpifort.openmpi >/dev/null &&
    [ -e "$build/ompi_coll_fast/.libs/mca_coll_fast.so" ]; then
    mpifort.openmpi -O1 -o "$scratch/ompi" "$here/pencil_fft.f90" || exit 1
    set -- mpirun.openmpi --oversubscribe --allow-run-as-root -np 12
    run 'Open MPI' "$@" "$scratch/ompi"
    run 'Open MPI, fast' "$@" --mca coll fast --mca coll_fast_servers $servers \
        --mca coll_fast_verbose 1 --mca coll_fast_algorithm staged "$scratch/ompi"
    served
fi
if command -v mpifort.mpich >/dev/null && [ -e "$library" ]; then
    mpifort.mpich -O1 -w -o "$scratch/mpich" "$here/pencil_fft.f90" || exit 1
    run 'MPICH' mpiexec.mpich -n 12 "$scratch/mpich"
    run 'MPICH, fast' env FASTSCHED_SERVERS=$servers FASTSCHED_VERBOSE=1 \
        FASTSCHED_ALGORITHM=staged mpich-fast mpiexec.mpich -n 12 "$scratch/mpich"
    served
fi
[ $n_runs -gt 0 ] || skip 'neither mpifort.openmpi nor mpifort.mpich'
if [ "$(sort -u "$scratch/sums" | wc -l)" != 1 ]; then
    failed=$((failed + 1))
    echo 'FAILED  the checksums differ'
fi
echo "$n_runs runs, $failed failed"
[ $failed = 0 ]
