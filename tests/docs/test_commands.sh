#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the commands that the pages of docs and the README mark as tested, each block in a directory of
# its own, with the build in the environment as the pages say (run-env). A block behind
#
#   <!-- tested -->           has to succeed; under "tested mpich" only where the build has MPICH
#
# What a benchmark prints has to end with Pass, and fast has to have served a call.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
n=0 failed=0

# PAGE: each block is a file of $work; its name has its number and what it needs.
extract() {
    awk -v prefix="$work/$(basename "$1" .md)" '
        /^<!-- tested/ { needs = $3 == "-->" ? "any" : $3 }
        needs && /^```/ { inside = !inside; if (inside) { k++ } else { needs = "" }; next }
        inside { print > (prefix "-" k "." needs) }' "$1"
}

has_mpich() { grep -qE '^MPICH_LIBS = .+' "$FS_BUILDDIR/mpich_coll_fast/Makefile"; }

for page in "$FS_SRCDIR"/README.md "$FS_SRCDIR"/docs/*.md; do
    extract "$page"
done
# BLOCK: why it is not as it should be, or nothing.
judge() {
    local status=0
    (cd "$1.d" && timeout 120 bash -e "$1") >"$1.log" 2>&1 </dev/null || status=$?
    if ((status != 0)); then
        echo "status $status"
    elif grep -q osu_ "$1" && ! grep -q Pass "$1.log"; then
        echo 'no Pass'
    elif grep -qi _verbose "$1" && ! grep -qE 'coll fast: .*(staged|pipe2d|direct|bundles)' "$1.log"; then
        echo 'fast has served no call'
    fi
}

for block in "$work"/*.any "$work"/*.mpich; do
    [[ $block != *.mpich ]] || has_mpich || continue
    mkdir "$block.d"
    why=$(judge "$block")
    ((++n))
    [[ -z $why ]] || {
        echo "FAILED: ${block##*/}: $why"
        cat "$block" "$block.log"
        failed=1
    }
done
echo "$n blocks"
((n > 0 && failed == 0))
