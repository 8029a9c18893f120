#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs in Fortran, by each of its bindings: MPI_Alltoallv; MPI_Ialltoallw and
# MPI_Alltoallw_init, for which the MPI makes arrays that do not last. One line per case.
#
#   test_fortran.sh [--mpi ompi|mpich] [BUILD-DIRECTORY]
set -u

mpi=ompi
[ "${1-}" != --mpi ] || { mpi=$2 && shift 2; }
# shellcheck source=/dev/null
. "$(dirname "$0")/${mpi}_job.sh"
need_mpi mpi/mpi_mismatch
case $mpi in
ompi) suffix=openmpi by_w='6 calls, 5 staged' ;; # one makes the persistent call
*) suffix=mpich by_w='3 calls, 3 staged' ;;       # which is MPICH's here
esac
mpifort=$(command -v "mpifort.$suffix") || skip "no mpifort.$suffix"
command -v gfortran >/dev/null || skip 'no gfortran'

here=$(cd "$(dirname "$0")" && pwd)

# SOURCE BINDING OPTION...: to $scratch/BINDING.
compile() {
    source=$1 binding=$2
    shift 2
    "$mpifort" -w -fallow-argument-mismatch "-DBINDING_$binding" "$@" -o "$scratch/$binding" "$here/$source.F90"
}

# SOURCE BINDING CALLS: that program, compiled, gets all it wants.
runs() {
    any_run -np 4 --mca coll fast --mca coll_fast_servers 2x2 --mca coll_fast_verbose 1 \
        --mca coll_fast_min_bytes 0 --mca coll_fast_algorithm staged \
        --mca coll_fast_progress_thread on "$scratch/$2" >"$scratch/out" 2>&1
    status=$?
    ends_well && said 1 "$1: wrong 0" &&
        said 1 "coll fast: summary: $3,"
}

by_v() {
    compile alltoallv "$1" && runs alltoallv "$1" '2 calls, 2 staged'
}

by_w() {
    { compile alltoallw "$1" -DALLTOALLW_INIT=MPI_Alltoallw_init 2>/dev/null ||
        compile alltoallw "$1" -DALLTOALLW_INIT=MPIX_Alltoallw_init -DEXTENSION; } &&
        runs alltoallw "$1" "$by_w"
}

for binding in F77 F90 F08; do
    case_of "MPI_Alltoallv, $binding" by_v $binding
    case_of "MPI_Ialltoallw, MPI_Alltoallw_init, $binding" by_w $binding
done

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
