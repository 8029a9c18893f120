#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every file of a corpus through its fuzz target. How to fuzz:
#
#   configure CC=clang --enable-fuzz, make check TESTS=
#   tests/fuzz/fuzz_plan -max_len=700 NEW_DIR SOURCE/tests/fuzz/corpus/plan
#
# A file that crashes goes into the corpus, together with the fix.
set -u

corpus=${FS_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/fuzz/corpus
built=${FS_BUILDDIR:-$corpus/../../..}/tests/fuzz
failed=0
n_targets=0
TMPDIR=$(mktemp -d) || exit 1 # for what a target that fails leaves there
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

for replay in "$built"/replay_*; do
    [ -f "$replay" ] && [ -x "$replay" ] || continue
    target=${replay##*/replay_}
    n_targets=$((n_targets + 1))
    if ! "$replay" "$corpus/$target"/*; then
        echo "test_corpus: $target failed" >&2
        failed=1
    fi
done
if [ $n_targets = 0 ]; then
    echo "test_corpus: there is no replay_* in $built" >&2
    failed=1
fi
exit $failed
