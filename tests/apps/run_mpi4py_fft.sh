#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpi4py-fft, unchanged: slab and pencil transforms of real and complex arrays,
# which call MPI_Alltoallw with subarrays. Under Open MPI the packages of Debian;
# under MPICH those of pip, with Debian's MPICH and with pip's.
# Not pip's Open MPI 5.0: its wheel has mpi.h alone, and the component needs the
# headers of its inside (opal/, ompi/mca/coll/coll.h).
#
#   run_mpi4py_fft.sh [BUILD-DIRECTORY]
# shellcheck disable=SC2317 # app_under calls these functions
set -u

app_client=mpi4py-fft
# shellcheck source=tests/apps/app_job.sh
. "$(dirname "$0")/app_job.sh"

# The MPI that runs must be the one that we name.
result() {
    grep -q "\(MPICH Version:\|Open MPI v\)[[:space:]]*$(echo "${app_mpi%,*}" | sed 's/.* //')" out &&
        grep digest out
}

compare() {
    app_compare 'digests of 4 transforms' 2x2 "$1" "$apps/mpi4py_transform.py"
    app_compare 'digests of 4 transforms' @0,1,2,1,0,2 "$1" "$apps/mpi4py_transform.py"
}

debian() {
    app_package /usr/lib/python3/dist-packages/mpi4py_fft python3-mpi4py-fft \
        python3-mpi4py python3-numpy
    compare /usr/bin/python3
}

pip() {
    app_pip
    compare "$app_venv/bin/python"
}

pip_mpich() {
    app_pip_mpich
    compare "$app_venv/bin/python"
}

app_under ompi debian
app_under mpich pip
app_under mpich pip_mpich
app_end
