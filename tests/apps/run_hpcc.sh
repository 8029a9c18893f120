#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# HPC Challenge, unchanged: its Fourier transform and the test of its RandomAccess
# call MPI_Alltoall. Under MPICH it is built from Debian's sources.
#
#   run_hpcc.sh [BUILD-DIRECTORY]
# shellcheck disable=SC2317 # app_under calls these functions
set -u

app_client=HPCC
# shellcheck source=tests/apps/app_job.sh
. "$(dirname "$0")/app_job.sh"

# What it computes, without times.
result() {
    grep -e '_maxErr=' -e 'Access.*_Errors=' -e 'Access.*_ErrorsFraction=' -e '_N=' \
        -e 'PTRANS_residual=' -e '^Success=' hpccoutf.txt
}

app_prepare() {
    cp "$apps/hpccinf.txt" hpccinf.txt
}

debian() {
    app_package hpcc hpcc
    compare hpcc
    app_compare 'errors of FFT, RandomAccess, PTRANS' @0,1,1,0 hpcc
}

# HPCC
compare() {
    app_compare 'errors of FFT, RandomAccess, PTRANS' 2x2 "$1"
}

sources() {
    app_package /usr/lib/x86_64-linux-gnu/libblas.so libblas-dev
    app_source hpcc
    cp "$apps/hpcc_mpich.make" "$app_tree/hpl/Make.mpich"
    app_build hpcc make arch=mpich
    compare "$app_tree/hpcc"
}

app_under ompi debian
app_under mpich sources
app_end
