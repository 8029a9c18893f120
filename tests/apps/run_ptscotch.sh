#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# PT-Scotch's dgord, unchanged, orders the points of a mesh. The option makes it
# deterministic: the order is, its messages are not. Under MPICH it is built from
# Debian's sources.
#
#   run_ptscotch.sh [BUILD-DIRECTORY]
# shellcheck disable=SC2317 # app_under calls these functions
set -u

app_client=PT-Scotch
# shellcheck source=tests/apps/app_job.sh
. "$(dirname "$0")/app_job.sh"

result() {
    sha256sum <order
}

# DGORD
compare() {
    "$apps/mesh.sh" 24 >"$scratch/mesh.grf"
    for servers in 2x2 @0,1,2,0,1,2; do
        app_compare 'digest of the order' "$servers" "$1" -Cd "$scratch/mesh.grf" order
    done
}

debian() {
    app_package dgord ptscotch
    compare dgord
}

sources() {
    app_package bison bison flex
    app_package cmake cmake
    app_source scotch
    app_build scotch sh -c 'cmake -S . -B build -DMPI_C_COMPILER=mpicc.mpich \
            -DTHREADS=OFF -DMPI_THREAD_MULTIPLE=OFF -DBUILD_LIBESMUMPS=OFF \
            -DBUILD_LIBSCOTCHMETIS=OFF -DCMAKE_BUILD_TYPE=Release &&
        make -C build -j2 dgord'
    compare "$app_tree/build/bin/dgord"
}

app_under ompi debian
app_under mpich sources
app_end
