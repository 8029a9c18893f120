#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Is the kernel that is built in made of its source, and do CUDA's assembler and
# HIP's compiler take it for GPUs of today? What is not installed is left out.
set -u
src=${FS_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${FS_BUILDDIR:-$(cd .. && pwd)}
accel=$src/libfastsched/accel
grep -q -F "cksum $(cksum <"$accel/fs_kernel.cu")." "$accel/fs_kernel_text.c" ||
    { echo 'fs_kernel.cu has changed: run libfastsched/accel/make_kernel' && exit 1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT INT TERM
failed=0
done=0

# try WHAT COMMAND...
try() {
    what=$1
    shift
    "$@" >"$scratch/why" 2>&1
    case $? in
    0) echo "ok      $what" ;;
    77) echo "skipped $what" && return ;;
    *)
        echo "FAILED  $what"
        sed 's/^/    /' "$scratch/why"
        failed=1
        ;;
    esac
    done=1
}

sed -n '/fs_kernel_ptx/,/^    ;/s/^ *"\(.*\)\\n"$/\1/p' "$accel/fs_kernel_text.c" >"$scratch/ptx"
[ -s "$scratch/ptx" ] || { echo 'no PTX in fs_kernel_text.c' && exit 1; }
if command -v ptxas >/dev/null; then
    for arch in sm_75 sm_80 sm_90 sm_100; do
        try $arch ptxas -arch=$arch -o /dev/null "$scratch/ptx"
    done
else
    echo 'skipped CUDA: no ptxas'
fi
# What Debian 12's compiler knows: at other names it crashes.
for arch in gfx906 gfx908 gfx90a gfx1030; do
    try $arch "$build/tests/accel/compile_hip" $arch
done
[ $done = 1 ] || exit 77
exit $failed
