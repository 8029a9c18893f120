# SPDX-License-Identifier: BSD-3-Clause
# Shared by the figures' scripts, which read it with ".". From run.sh:
#   FASTSCHED  the command          FRAMES   the program frames
#   FIG_OUT    where files go       FIG_SRC  this directory
#   GNUPLOT    empty: no plots
# shellcheck shell=sh
set -eu

# A figure names itself first: figure NAME "what it shows"
figure() {
    name=$1
    csv=$FIG_OUT/$name.csv
    work=$FIG_OUT/.$name
    rm -rf "$work" "$csv" "$FIG_OUT/$name".svg "$FIG_OUT/$name".png
    mkdir -p "$work"
    printf '%-18s %s\n' "$name" "$2"
}

# tool COMMAND...: run it. A failure inside a pipeline or $() would go unnoticed, so
# it is noted in a file that run.sh looks for.
tool() {
    "$@" || {
        : >"$work/failed"
        return 1
    }
}

# json_number KEY < JSON: the first number of that name.
json_number() {
    tr ',{}[]' '\n\n\n\n\n' |
        sed -n 's/^ *"'"$1"'": *\(-\{0,1\}[0-9][0-9.eE+-]*\) *$/\1/p' | head -n 1
}

# plot [PANELS] < gnuplot commands: $name.svg and $name.png; the CSV is the file
# "csv".
plot() {
    size=800,$((${1-1} * 350 + 150))
    cat >"$work/plot"
    if [ -z "$GNUPLOT" ]; then
        return
    fi
    for kind in svg png; do
        case $kind in
        svg) terminal="svg size $size dynamic font 'sans,14' background 'white'" ;;
        png) terminal="pngcairo size $size font 'sans,11'" ;;
        esac
        {
            echo "set terminal $terminal"
            echo "set output '$FIG_OUT/$name.$kind'"
            echo "csv = '$csv'; out = '$FIG_OUT/'"
            cat "$FIG_SRC/style.gp" "$work/plot"
        } | (cd "$work" && "$GNUPLOT" -)
    done
}

# calc EXPRESSION: one number.
calc() {
    awk "BEGIN { printf \"%.6g\\n\", $1 }"
}
