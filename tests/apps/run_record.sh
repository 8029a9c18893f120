#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# record.c: what it writes of calls whose matrix is known.
#
#   run_record.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/../mpi/ompi_job.sh"
need_ompi mpi/mpi_mismatch
library=$scratch/librecord.so
${FS_MPICC:-mpicc.openmpi} -Wall -Wextra -Werror -shared -fPIC -o "$library" \
    "$src/tests/apps/record.c" || exit 1

cat >"$scratch/known" <<'MATRIX'
1 2 3 4
10 20 30 40
5 6 7 8
0 0 0 1000
MATRIX

# Three calls of the benchmark, one of them to warm up.
record() {
    mkdir -p "$scratch/calls"
    mpi_run -np 4 -x LD_PRELOAD="$library" -x RECORD="$scratch/sum" \
        -x RECORD_CALLS="$scratch/calls" \
        "$@" "$build/osu_extensions/osu_alltoallv_skew" -i 2 -x 1 \
        -p "file:$scratch/known" -c >"$scratch/out" 2>&1
    status=$?
    ends_well
}

# FILE TIMES
holds() {
    grep -v '^#' "$1" | cmp -s - "$scratch/times$2" && return
    echo "$1 is not $2 times the matrix:" && cat "$1"
    return 1
}

for times in 1 3; do
    awk -v n=$times '{ for (i = 1; i <= NF; i++) $i = n * $i; print }' \
        "$scratch/known" >"$scratch/times$times"
done

sums() {
    record && holds "$scratch/sum" 3
}

calls() {
    [ "$(find "$scratch/calls" -type f | wc -l)" = 3 ] ||
        { ls "$scratch/calls" && return 1; }
    for k in 0 1 2; do
        holds "$scratch/calls/4r0s3c$k.txt" 1 || return
    done
}

beside_fast() {
    record --mca coll fast --mca coll_fast_servers 2x2 \
        --mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0 &&
        said 1 ' staged ' && holds "$scratch/sum" 3
}

case_of 'the sum of all calls' sums
case_of 'each call' calls
case_of 'in front of fast' beside_fast

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
