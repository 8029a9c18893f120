#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Quantum ESPRESSO's pw.x, Debian's, unchanged, a Fortran program: two atoms of
# silicon, moved apart, to self-consistency.
#
#   run_espresso.sh [BUILD-DIRECTORY]
# shellcheck disable=SC2317 # app_under calls these functions
set -u

app_client='Quantum ESPRESSO'
# shellcheck source=tests/apps/app_job.sh
. "$(dirname "$0")/app_job.sh"

pseudo=/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz

# Without times. All steps of all energies, bands and forces.
result() {
    grep -e '!' -e ' Ry' -e 'force =' -e 'accuracy' out | grep -v -i WALL
    sed -n '/End of self-consistent/,/convergence has been/p' out
}

app_prepare() {
    gunzip -c "$pseudo" >Si.UPF
}

debian() {
    app_package pw.x quantum-espresso
    app_package "$pseudo" quantum-espresso-data
    [ -e "$pseudo" ] || skip "no $pseudo"
    app_compare 'energies, bands, forces' 2x2 pw.x -nd 1 -in "$apps/espresso_si.in"
    app_compare 'energies, bands, forces' @0,1,2,0 pw.x -nd 1 -in "$apps/espresso_si.in"
}

app_under ompi debian
app_end
