#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# GROMACS, Debian's, unchanged: a box of water with PME, whose Fourier transform
# half of the ranks compute, on two servers. Option -reprod makes it reproducible.
#
#   run_gromacs.sh [BUILD-DIRECTORY]
# shellcheck disable=SC2317 # app_under calls these functions
set -u

app_client=GROMACS
# shellcheck source=tests/apps/app_job.sh
. "$(dirname "$0")/app_job.sh"

# Positions, velocities and forces of the trajectory are binary, without times.
result() {
    sha256sum traj.trr
    gmx_mpi -quiet dump -e ener.edr 2>/dev/null | grep -e 'Potential' -e 'Coul. recip' \
        -e 'Total Energy'
}

water() {
    cat >topol.top <<'TOP'
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
TOP
    gmx -quiet solvate -cs spc216.gro -box 2.6 2.6 2.6 -o box.gro -p topol.top &&
        gmx -quiet grompp -f "$apps/gromacs_pme.mdp" -c box.gro -p topol.top -o pme.tpr
}

debian() {
    app_package gmx_mpi gromacs gromacs-data
    export LC_ALL=C
    (cd "$scratch" && water) >"$scratch/water" 2>&1 </dev/null ||
        skip "no box of water: $(tail -n 1 "$scratch/water")"
    for servers in 2x4 @0,1,2,3,0,1,2,3; do
        app_compare 'bits of the trajectory, energies' "$servers" gmx_mpi -quiet mdrun \
            -s "$scratch/pme.tpr" -npme 4 -ntomp 1 -reprod -dlb no -notunepme \
            -nb cpu -pme cpu
    done
}

app_under ompi debian
app_end
