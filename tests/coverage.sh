#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# coverage.sh SOURCE BUILD: how many lines of sched/ the unit and property tests
# execute, file by file, in a build of its own. Fails below LEAST percent of all
# lines. With lcov's genhtml there are pages to read as well. Use: make coverage
set -eu
export LC_ALL=C

source=$(cd "$1" && pwd)
mkdir -p "$2"
cd "$2"
least=${LEAST-95}

say() { echo "coverage: $*"; }

if [ ! -f config.status ]; then
    say "configuring in $2"
    "$source/configure" CC="${CC:-gcc}" CFLAGS='-O0 -g' --enable-coverage --without-ompi --without-ucx \
        --without-mpich >configure.log 2>&1 || {
        tail -n 20 configure.log >&2
        exit 1
    }
fi
find . -name '*.gcda' -exec rm -f {} +
say "building and running the tests"
status=0
make -j "$(nproc)" check TESTS='$(UNIT_TESTS)' >check.log 2>&1 || {
    grep -E '^(FAIL|ERROR)|error:' check.log >&2 || tail -n 20 check.log >&2
    say "the build or the tests fail, see $2/check.log" >&2
    grep -q '^# TOTAL' check.log || exit 1
    status=1
}

# Every file of sched/, even one that no test has touched.
for file in "$source"/libfastsched/sched/*/*.c; do
    stem=$(basename "$file" .c)
    notes=$(find libfastsched/sched -name "*$stem.gcno" | awk -F/ -v want="$stem.gcno" '$NF == want' | head -n 1)
    [ -n "$notes" ] || { # for check_layers.sh to complain about
        say "$stem.c is in no library" >&2
        continue
    }
    ${GCOV:-gcov} -n "$notes" 2>/dev/null | awk -v name="$stem.c" '
        /^File / { ours = $0 ~ "/sched/[a-z]+/" name "\047$" }
        ours && /^Lines executed:/ {
            sub("Lines executed:", ""); split($0, part, "% of ")
            print name, part[2], int(part[1] * part[2] / 100 + 0.5); ours = 0; found = 1
        }
        END { if (!found) print name, 0, 0 }'
done >lines.txt

awk -v least="$least" '
    { all += $2; run += $3; if ($2 > 0) printf "%6.1f%%  %4d of %4d  %s\n", 100 * $3 / $2, $3, $2, $1 }
    END {
        printf "%6.1f%%  %4d of %4d  sched/\n", 100 * run / all, run, all
        if (100 * run < least * all) { printf "below %d%%\n", least; exit 1 }
    }' lines.txt || status=1

if command -v genhtml >/dev/null && command -v lcov >/dev/null; then
    lcov -q -c -d libfastsched/sched -o sched.info --no-external -b "$source" >lcov.log 2>&1 &&
        genhtml -q -o html sched.info >>lcov.log 2>&1 && say "$2/html/index.html" || true
fi
exit $status
