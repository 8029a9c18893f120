#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# All figures, or those named: CSV files, plots and RESULTS.md.
#
# Usage: run.sh BUILD_DIR [FIGURE...]
#
# Started by "make figures", which builds what is needed first. Files go to
# BUILD_DIR/figures; RESULTS.md goes to the source tree, too, if it is writable
# and all figures were made.
set -eu

usage() {
    sed -n 's/^# \{0,1\}//; 3,9p' "$0"
    exit 2
}

[ $# -ge 1 ] || usage
case $1 in -*) usage ;; esac
build=$(cd "$1" && pwd)
shift

FIG_SRC=$(cd "$(dirname "$0")" && pwd)
FIG_OUT=$build/figures
FASTSCHED=${FASTSCHED:-$build/libfastsched/fastsched}
FRAMES=${FRAMES:-$build/tests/figures/frames}
GNUPLOT=$(command -v gnuplot || true)
PYTHON=$(command -v python3 || true)
LC_ALL=C
export FIG_SRC FIG_OUT FASTSCHED FRAMES GNUPLOT LC_ALL

for program in "$FASTSCHED" "$FRAMES"; do
    if [ ! -x "$program" ]; then
        echo "figures: $program is missing; build it with: make figures" >&2
        exit 1
    fi
done
if [ -z "$PYTHON" ]; then
    echo "figures: python3 is missing (Debian: apt install python3)" >&2
    exit 1
fi
no_plots() {
    echo "figures: gnuplot is missing, so there are CSV files but no plots" \
        "(Debian: apt install gnuplot-nox)" >&2
}
[ -n "$GNUPLOT" ] || no_plots

mkdir -p "$FIG_OUT"
if [ $# -eq 0 ]; then
    all=yes
    for script in "$FIG_SRC"/*_fig*.sh "$FIG_SRC"/*_table*.sh; do
        set -- "$@" "$(basename "$script" .sh)"
    done
else
    all=no
fi

# A figure that fails must not keep the others from being made.
failed=
for name in "$@"; do
    if [ ! -f "$FIG_SRC/$name.sh" ]; then
        echo "figures: no figure \"$name\" in $FIG_SRC" >&2
        failed="$failed $name"
        continue
    fi
    if ! sh "$FIG_SRC/$name.sh" || [ -e "$FIG_OUT/.$name/failed" ]; then
        failed="$failed $name"
    fi
done

"$PYTHON" "$FIG_SRC/results.py" "$FIG_SRC" "$FIG_OUT" >"$FIG_OUT/RESULTS.md"
if [ -n "$failed" ]; then
    echo "figures: failed:$failed" >&2
    exit 1
fi
if [ $all = yes ] && [ -w "$FIG_SRC" ]; then
    cp "$FIG_OUT/RESULTS.md" "$FIG_SRC/RESULTS.md"
    echo "written: $FIG_SRC/RESULTS.md"
fi
echo "written: $FIG_OUT"
[ -n "$GNUPLOT" ] || no_plots
