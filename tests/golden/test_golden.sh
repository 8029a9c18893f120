#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every case.in must give case.out, and must not contradict the paper.
# StragglAR's example is in unit/sched/test_straggler.
#
#   test_golden.sh            compare
#   test_golden.sh --update   write case.out anew; then read the difference
set -u
export LC_ALL=C

here=${FS_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/golden
run=${FS_BUILDDIR:-$here/../..}/tests/golden/golden_case
ours=$(mktemp) || exit 99
trap 'rm -f "$ours"' EXIT
failed=0

for case in "$here"/*.in; do
    name=${case##*/}
    name=${name%.in}
    if ! "$run" <"$case" >"$ours"; then
        echo "test_golden: $name: contradicts the paper" >&2
        failed=1
    fi
    if [ "${1-}" = --update ]; then
        cp "$ours" "$here/$name.out"
    elif ! diff -u "$here/$name.out" "$ours" >&2; then
        echo "test_golden: $name: not as it was" >&2
        failed=1
    fi
done
[ $failed -eq 0 ] && echo "test_golden: ok"
exit $failed
