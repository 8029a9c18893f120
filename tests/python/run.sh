#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A test that is written in Python: a skip where there is no python3.
#
#   run.sh FILE [OPTION...]
command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
exec python3 -B "$@"
