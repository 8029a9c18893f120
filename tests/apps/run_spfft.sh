#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# SpFFT, unchanged, with all its exchanges: buffered (MPI_Alltoall), compact
# (MPI_Alltoallv), both also in single precision, and unbuffered (MPI_Alltoallw);
# and several transforms at once, which are nonblocking.
#
#   run_spfft.sh [BUILD-DIRECTORY]
# shellcheck disable=SC2317 # app_under calls these functions
set -u

app_client=SpFFT
# shellcheck source=tests/apps/app_job.sh
. "$(dirname "$0")/app_job.sh"

result() {
    grep digest out
}

compare() {
    for exchange in buffered buffered-float compact compact-float unbuffered; do
        app_compare "$exchange, digests" 2x2 "$scratch/sphere" 48 "$exchange"
    done
    app_compare 'unbuffered, digests' @0,1,2,0,1,2 "$scratch/sphere" 37 unbuffered
    for exchange in buffered compact unbuffered; do
        app_compare "$exchange, 4 at once, nonblocking, digests" 2x2 "$scratch/multi" "$exchange"
    done
}

debian() {
    app_package /usr/include/spfft/spfft.h libspfft-dev
    app_mpicc -O1 -o "$scratch/sphere" "$apps/spfft_sphere.c" -lspfft -lm ||
        skip 'spfft_sphere.c does not compile'
    ${FS_MPICXX:-mpicxx.openmpi} -O1 -o "$scratch/multi" "$apps/spfft_multi.cpp" -lspfft ||
        skip 'spfft_multi.cpp does not compile'
    compare
}

sources() {
    app_source spfft
    app_build spfft sh -c 'cmake -S . -B build -DMPI_CXX_COMPILER=mpicxx.mpich \
        -DMPI_C_COMPILER=mpicc.mpich -DSPFFT_OMP=OFF -DCMAKE_BUILD_TYPE=Release &&
        make -C build -j2'
    set -- -I "$app_tree/include" -I "$app_tree/build" -L"$app_tree/build/src" \
        -Wl,-rpath,"$app_tree/build/src"
    { app_mpicc -O1 -o "$scratch/sphere" "$apps/spfft_sphere.c" "$@" -lspfft -lm &&
        mpicxx.mpich -O1 -o "$scratch/multi" "$apps/spfft_multi.cpp" "$@" -lspfft; } ||
        skip 'our programs do not compile'
    # MPICH's nonblocking calls need the thread.
    export FASTSCHED_PROGRESS_THREAD=on
    compare
}

app_under ompi debian
app_under mpich sources
app_end
