# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests of "fastsched trace --otf2", which have a directory $scratch: is
# OTF2 there, otf2-print and a python3 with the module otf2? Sets otf2_path, a PATH
# whose python3 has it; or nothing.
otf2_path=
for otf2_python in python3 /usr/bin/python3; do
    if [ -z "$otf2_path" ] && command -v otf2-print >/dev/null &&
        otf2_python=$(command -v $otf2_python) && "$otf2_python" -I -c 'import otf2' 2>/dev/null; then
        mkdir -p "$scratch/otf2-bin"
        # shellcheck disable=SC2016
        printf '#!/bin/sh\nexec "%s" "$@"\n' "$otf2_python" >"$scratch/otf2-bin/python3"
        chmod +x "$scratch/otf2-bin/python3"
        otf2_path=$scratch/otf2-bin:$PATH
    fi
done
