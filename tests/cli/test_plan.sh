#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The JSON of "fastsched plan", checked against the matrix.
set -u

tool=${FS_BUILDDIR:-.}/libfastsched/fastsched
command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
[ -x "$tool" ] || { echo "$tool is not there"; exit 1; }
exec python3 "$(dirname "$0")/check_plan.py" "$tool"
