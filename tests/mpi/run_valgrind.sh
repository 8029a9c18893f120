#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpi_alltoallv under memcheck, on one host that plays two servers. Run by hand,
# a few minutes: it is not part of make check.
#
#   run_valgrind.sh [BUILD-DIRECTORY]
#
# Fails if there is any error of memory access, or a leak with a function of
# ours on its stack. What is not ours, and found here, is in valgrind.supp; other
# leaks of others are counted only. Exit status 77 without valgrind.
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/mpi_alltoallv
command -v valgrind >/dev/null || skip 'no valgrind'

limit=900
failed=0
ours='mca_coll_fast|libfastsched|fs_[a-z0-9_]*[.][ch]:|coll_fast_[a-z0-9]*[.][ch]:'
supp=--suppressions=$src/tests/mpi/valgrind.supp
for file in /usr/share/openmpi/openmpi-valgrind.supp; do
    [ ! -r "$file" ] || supp="$supp --suppressions=$file"
done

# One record a line of what memcheck has found: "leak|error ours|others TEXT".
records() {
    awk -v ours="$ours" '
        function flush() {
            if (text ~ / (definitely|indirectly|possibly) lost in loss record/)
                kind = "leak"
            else if (text ~ /(at|by) 0x/ && text !~ /SUMMARY/)
                kind = "error"
            else
                kind = ""
            if (kind != "")
                print kind, (text ~ ours ? "ours" : "others"), text
            text = ""
        }
        { sub(/^==[0-9]+== ?/, "") }
        /^ *$/ { flush(); next }
        { text = text "\\n" $0 }
        END { flush() }' "$scratch"/memcheck.*
}

# TEXT MCA-OPTION... -- ARGUMENT...
check() {
    text=$1 mca=
    shift
    while [ "$1" != -- ]; do
        mca="$mca $1"
        shift
    done
    shift
    rm -f "$scratch"/memcheck.*
    start=$(date +%s)
    # shellcheck disable=SC2086 # options have no blanks
    mpi_run -np 4 --mca coll fast --mca coll_fast_servers 2x2 \
        --mca coll_fast_staging_limit 1m $mca -x UCX_HANDLE_ERRORS=none \
        valgrind --leak-check=full --keep-debuginfo=yes --num-callers=40 \
        $supp --log-file="$scratch/memcheck.%p" \
        "$program" --servers 2x2 --limit 600 --large 300000 "$@" \
        >"$scratch/out" 2>&1
    status=$?
    records >"$scratch/records"
    bad=$(grep -c '^error \|^leak ours ' "$scratch/records")
    others=$(grep -c '^leak others ' "$scratch/records")
    word=ok
    if [ $status != 0 ] || [ "$bad" != 0 ]; then
        word=FAILED failed=1
    fi
    printf '%-6s %3d s  %s: %d errors and leaks of ours, %d leaks of others\n' \
        $word $(($(date +%s) - start)) "$text" "$bad" "$others"
    [ $status = 0 ] || tail -n 15 "$scratch/out"
    grep '^error \|^leak ours ' "$scratch/records" | head -n 2 |
        sed 's/\\n/\n    /g' | head -n 60
}

always='--mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0'
main='ragged zero small large changing places in-place ints structs pair-types
    wide-types empty-types types-in-place split dup many inter create-group
    isend irecv wildcard ring nonblocking across errors-return same-counts
    same-in-place free-in-flight free-inside-free free-in-finalize'
some='ragged large ints in-place split many isend free-inside-free
    free-in-finalize'

# shellcheck disable=SC2086
{
    check 'staged' $always -- --expect staged $main
    check 'pipe2d' --mca coll_fast_algorithm pipe2d \
        --mca coll_fast_min_bytes 0 -- --expect pipe2d $some
    check 'counts that differ, found' $always --mca coll_fast_check 1 \
        -- mismatch ragged
    check 'auto: bundles, tuner, plans' --mca coll_fast_min_bytes 1k \
        -- small-large many-counts same-counts
    check "Open MPI's messages" $always --mca coll_fast_transport mpi \
        -- --expect staged $some
    check 'threads' $always -- --expect staged --threads
}
[ $failed = 0 ]
