#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Parameter trace and "fastsched trace": jobs of Open MPI on one host, traced.
#
#   test_trace.sh [BUILD-DIRECTORY]
set -u
export LC_ALL=C

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/mpi_alltoallv
command -v python3 >/dev/null || skip 'no python3'
bench=$build/osu_extensions/osu_alltoallv_skew
tool=$build/libfastsched/fastsched
# shellcheck source=tests/mpi/with_otf2.sh
. "$(dirname "$0")/with_otf2.sh"
[ -n "$otf2_path" ] || echo 'skip    OTF2: no otf2-print, or no python3 with the module otf2'
failed=0

# STATUS WHAT: one line, and the output if it is not as it should be.
report() {
    if [ "$1" = 0 ]; then
        echo "ok      $2"
    else
        echo "FAILED  $2"
        tail -n 25 "$scratch/out" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
}

# NP NODES MCA-OPTION... -- COMMAND...
job() {
    np=$1 servers=$2
    shift 2
    mpi_run -np "$np" --mca coll fast --mca coll_fast_servers "$servers" \
        --mca coll_fast_min_bytes 0 "$@"
}

# WHAT NP DIR: the traces in it, and what the command makes of them.
check() {
    {
        "$tool" trace "$3" --output "$scratch/merged.json" --svg "$scratch/chart.svg" --format json \
            >"$scratch/report.json" &&
            "$tool" trace "$3" | grep -q '^Critical path' &&
            python3 "$(dirname "$0")/check_trace.py" "$3" "$2" "$scratch/merged.json" "$scratch/report.json" &&
            python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$scratch/chart.svg"
    } >"$scratch/out" 2>&1
    report $? "$1"
    [ -n "$otf2_path" ] || return 0
    rm -rf "$scratch/otf2"
    {
        PATH=$otf2_path "$tool" trace "$3" --otf2 "$scratch/otf2" &&
            python3 "$(dirname "$0")/check_otf2.py" "$3" "$scratch/otf2"
    } >"$scratch/out" 2>&1
    report $? "$1, as OTF2"
}

for algorithm in staged pipe2d direct; do
    dir=$scratch/$algorithm
    job 8 4x2 --mca coll_fast_algorithm $algorithm --mca coll_fast_trace "$dir" "$bench" -p zipf:0.8 \
        -m 64k:64k -i 2 -x 1 --servers 4x2 -c >"$scratch/out" 2>&1
    report $? "traced: $algorithm, zipf:0.8"
    check "the traces of $algorithm" 8 "$dir"
done

dir=$scratch/shapes
job 7 4+2+1 --mca coll_fast_algorithm staged --mca coll_fast_rate 1gbit --mca coll_fast_chunk 4k \
    --mca coll_fast_trace "$dir" "$program" --servers 4+2+1 --expect staged ragged zero places split \
    >"$scratch/out" 2>&1
report $? 'traced: uneven servers, types that are packed, communicators that split'
check 'the traces of these' 7 "$dir"

job 4 2x2 --mca coll_fast_trace "$scratch/auto" "$program" --servers 2x2 --expect any zero small \
    >"$scratch/out" 2>&1
report $? 'traced: whatever auto decides'

# A directory that cannot be: said once per rank, and the job goes on.
job 4 2x2 --mca coll_fast_algorithm staged --mca coll_fast_trace /dev/null/no "$program" --servers 2x2 \
    --expect staged ragged >"$scratch/out" 2>&1
status=$?
[ $status = 0 ] && [ "$(grep -c 'coll fast: no trace: /dev/null/no: Not a directory' "$scratch/out")" = 4 ]
report $? 'no trace in a directory that cannot be made'

[ $failed = 0 ]
