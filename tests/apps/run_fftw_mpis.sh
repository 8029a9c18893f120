#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# FFTW's MPI transform, unchanged, with MPI_Alltoallv; where all blocks are equal,
# as MPI_Alltoall wants them, it finds another way. Under MPICH its MPI part is
# compiled from Debian's sources.
#
#   run_fftw_mpis.sh [BUILD-DIRECTORY]
# shellcheck disable=SC2317 # app_under calls these functions
set -u

app_client=FFTW
# shellcheck source=tests/apps/app_job.sh
. "$(dirname "$0")/app_job.sh"

result() {
    grep -h 'digest' out err && sha256sum transform
}

compare() {
    app_compare 'all bits, alltoallv' 2x2 "$scratch/fftw" 61 59 37 transform
    app_compare 'all bits, alltoallv' @0,1,2,0,1,2 "$scratch/fftw" 37 31 9 transform
}

debian() {
    app_package /usr/include/fftw3-mpi.h libfftw3-dev libfftw3-mpi-dev
    app_mpicc -O1 -o "$scratch/fftw" "$apps/fftw_transform.c" -lfftw3_mpi -lfftw3 \
        -lm || skip 'fftw_transform.c does not compile'
    compare
}

sources() {
    app_package /usr/include/fftw3.h libfftw3-dev
    app_source fftw3
    # shellcheck disable=SC2016 # for the other shell
    app_build fftw3 sh -c './configure -q --enable-mpi --disable-fortran \
            MPICC=mpicc.mpich CFLAGS=-O2 && cd mpi &&
        mpicc.mpich -O2 -w -shared -fPIC -DHAVE_CONFIG_H -I. -I.. -I../api \
            -o ../libfftw3_mpi.so $(ls *.c | grep -v -e bench -e f03-wrap -e testsched) \
            -lfftw3 -lm'
    app_mpicc -O1 -I "$app_tree/mpi" -o "$scratch/fftw" "$apps/fftw_transform.c" \
        "$app_tree/libfftw3_mpi.so" -Wl,-rpath,"$app_tree" -lfftw3 -lm ||
        skip 'fftw_transform.c does not compile'
    compare
}

app_under ompi debian
app_under mpich sources
app_end
