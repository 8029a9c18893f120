#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# libfastsched under SimGrid's SMPI, beside SMPI's own alltoallv: simulated times.
#
# Usage: run.sh BUILD_DIR [RANKS...]
#
# Started by "make smpi-figures". RANKS are 64 and 320. Files go to
# BUILD_DIR/smpi: smpi.csv, plots, RESULTS.md; the last goes to the source tree,
# too, if it is writable and both sizes were run.
set -eu

[ $# -ge 1 ] || {
    sed -n 's/^# \{0,1\}//; 3,9p' "$0"
    exit 2
}
build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- 64 320
src=$(cd "$(dirname "$0")" && pwd)
lib=$(cd "$src/../../libfastsched" && pwd)
out=$build/smpi
LC_ALL=C
export LC_ALL

for tool in smpicc smpirun python3; do
    command -v $tool >/dev/null || {
        echo "smpi: $tool is missing (Debian: libsimgrid-dev, python3)" >&2
        exit 1
    }
done
mkdir -p "$out/obj"
csv=$out/smpi.csv

patterns='balanced random zipf:0.8 hotspot:2 moe'
mean=786432 # the largest block of zipf:0.8 on 320 ranks must fit in an int

# ---- one program: the library's own sources and SMPI as its host ----

compile() {
    flags="-std=gnu11 -O2 -Wall -Wextra -fPIC -I$lib -I$src"
    find "$lib/base" "$lib/sched" "$lib/exec" "$src" -name '*.c' \
        ! -path '*/papers/*' \
        ! -name '*ucx*' ! -name '*hwloc*' ! -name fs_shm.c -print0 |
        xargs -0 -P "$(nproc)" -I FILE sh -c "smpicc $flags \
            -DFS_VERSION='\"smpi\"' -c FILE \
            -o '$out/obj/'\$(basename FILE .c).o || exit 255"
    smpicc -o "$out/smpi_alltoallv" "$out"/obj/*.o -lm
}

# ---- runs ----

# Bandwidths and latencies are those of the platform, not of a real protocol
# stack; no computation, no cost of polling. All ranks share one set of globals.
config() {
    for item in smpi/coll-selector:mpich smpi/lat-factor:0:1 \
        smpi/bw-factor:0:1 network/weight-S:0 network/crosstraffic:no \
        network/loopback-bw:450e9 network/loopback-lat:0 \
        smpi/simulate-computation:no smpi/wtime:0 \
        smpi/test:0 smpi/iprobe:0 smpi/grow-injected-times:no \
        smpi/shared-malloc-blocksize:67108864 \
        smpi/auto-shared-malloc-thresh:8388608; do
        printf ' --cfg=%s' "$item"
    done
    printf ' --log=root.thres:critical'
}

# RANKS LABEL [SMPIRUN-OPTION...]
simulate() {
    ranks=$1 label=$2
    shift 2
    start=$(date +%s)
    # shellcheck disable=SC2046,SC2086
    smpirun -no-privatize -platform "$out/$ranks.xml" \
        -hostfile "$out/$ranks.hosts" $(config) "$@" "$out/smpi_alltoallv" \
        "$label" 8 $mean $chunk $window $patterns >"$out/$ranks.$label.out" \
        2>"$out/$ranks.$label.err" ||
        echo "smpi: $label cannot run on $ranks ranks: $out/$ranks.$label.err" >&2
    printf '%3d ranks, %-5s %4d s\n' "$ranks" "$label" $(($(date +%s) - start))
}

compile
echo 'ranks,pattern,algorithm,time_s,bound_s,ratio,rank_bound_ratio' >"$csv"
for ranks in "$@"; do
    case $ranks in
    64) chunk=512k window=16 ;;
    320) chunk=2m window=4 ;; # fewer messages at a time: SimGrid is slow
    *)
        echo "smpi: $ranks ranks; allowed: 64, 320" >&2
        exit 2
        ;;
    esac
    python3 "$src/platform.py" $((ranks / 8)) 8 "$out/$ranks.xml" \
        "$out/$ranks.hosts"
    simulate "$ranks" ours & # on a core of its own: it takes the longest
    for label in ompi mpich pair ring; do
        simulate "$ranks" $label --cfg=smpi/alltoallv:$label
    done
    wait
    for label in ours ompi mpich pair ring; do
        grep "^$ranks," "$out/$ranks.$label.out" >>"$csv" || :
    done
done

# ---- plot and table ----

python3 "$src/results.py" "$csv" >"$out/RESULTS.md"
if command -v gnuplot >/dev/null; then
    for kind in svg png; do
        size=900,$((350 * $#))
        case $kind in
        svg) terminal="svg size $size dynamic font 'sans,14' background 'white'" ;;
        png) terminal="pngcairo size $size font 'sans,11'" ;;
        esac
        gnuplot -e "set terminal $terminal; set output '$out/smpi.$kind'" \
            -e "csv = '$csv'; sizes = '$*'" "$src/../figures/style.gp" \
            "$src/plot.gp"
    done
else
    echo 'smpi: gnuplot is missing, so there is no plot (Debian: gnuplot-nox)' >&2
fi
if [ "$*" = '64 320' ] && [ -w "$src" ]; then
    cp "$out/RESULTS.md" "$src/RESULTS.md"
    echo "written: $src/RESULTS.md"
fi
echo "written: $out"
