# SPDX-License-Identifier: BSD-3-Clause
# What checks.py asks every rank, by sh -c: one line of fields, each behind a tab. $1 is the benchmark,
# $2 the command fastsched.
# shellcheck shell=sh
nics=''
for d in /sys/class/net/*; do
    if [ "$(cat "$d/operstate")" = up ] && [ -e "$d/device" ]; then
        nics=$nics,${d##*/}=$(cat "$d/speed")
    fi
done 2>/dev/null
for d in /sys/class/infiniband/*; do
    [ ! -e "$d" ] || nics=$nics,${d##*/}=$(sed 's/^\([0-9]*\).*/\1000/' "$d/ports/1/rate")
done 2>/dev/null
cuda=0
for d in /dev/nvidia[0-9]*; do
    [ ! -e "$d" ] || cuda=$((cuda + 1))
done
rocm=0
for d in /dev/dri/renderD*; do
    [ ! -e "$d" ] || [ ! -e /dev/kfd ] || rocm=$((rocm + 1))
done
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$PMIX_RANK}}
[ -x "$1" ] || missing=" without ${1##*/}"
version=$("$2" --version 2>/dev/null | head -n 1)
printf 'fastsched-field-probe\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$rank" "$(uname -n)" "${version:-no fastsched}${missing-}" \
    "$(getconf _NPROCESSORS_ONLN)" "$(uname -r)" "$cuda" "$rocm" "${nics#,}"
