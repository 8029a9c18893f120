#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Is the kernel that is built in made of its source, and does CUDA's assembler take
# it for GPUs of today? Where there is no assembler: the latter is skipped.
set -u
src=${FS_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
accel=$src/libfastsched/accel
grep -q -F "cksum $(cksum <"$accel/fs_copy.cu")." "$accel/fs_copy_ptx.c" ||
    { echo 'fs_copy.cu has changed: run libfastsched/accel/make_ptx' && exit 1; }
command -v ptxas >/dev/null || { echo 'skipped: no ptxas' && exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT INT TERM
failed=0

sed -n 's/^ *"\(.*\)\\n"$/\1/p' "$accel/fs_copy_ptx.c" >"$scratch/ptx"
[ -s "$scratch/ptx" ] || { echo 'no PTX in fs_copy_ptx.c' && exit 1; }
for arch in sm_75 sm_80 sm_90 sm_100; do
    if ptxas -arch=$arch -o /dev/null "$scratch/ptx" 2>"$scratch/why"; then
        echo "ok      $arch"
    else
        echo "FAILED  $arch"
        sed 's/^/    /' "$scratch/why"
        failed=1
    fi
done
exit $failed
