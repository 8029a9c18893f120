#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# FFTW's MPI transform, unchanged, with and without fast: the same bits.
#
#   run_fftw.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/../mpi/ompi_job.sh"
need_ompi apps/fftw_transform

failed=0

# NAME NP SIZE OPTION...: the transform to $scratch/NAME, what the job said to
# NAME.out.
transform() {
    name=$1 np=$2 size=$3
    shift 3
    rm -f "$scratch/$name"
    # shellcheck disable=SC2086 # a size is three numbers
    mpi_run -np "$np" "$@" "$program" $size "$scratch/$name" \
        >"$scratch/$name.out" 2>&1 || { echo "exit status $?" && return 1; }
}

# NAME: how many calls ran through fast.
staged() {
    grep -c 'coll fast: .* call .*: staged (' "$scratch/$1.out"
}

digest() {
    grep -o 'fftw_transform: digest .*' "$scratch/$1.out"
}

# NP NODES SIZE
compare() {
    transform without "$1" "$3" --mca coll_fast_verbose 1 &&
        transform with "$1" "$3" --mca coll fast --mca coll_fast_servers "$2" \
            --mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0 \
            --mca coll_fast_verbose 1 || return
    [ "$(staged without)" = 0 ] || { echo 'without fast: staged' && return 1; }
    [ "$(staged with)" -ge 2 ] ||
        { echo 'with fast: no call was staged' && return 1; }
    [ -n "$(digest with)" ] || { echo 'no digest' && return 1; }
    [ "$(digest with)" = "$(digest without)" ] ||
        { echo 'the digests differ' && return 1; }
    cmp "$scratch/with" "$scratch/without"
}

# NP NODES SIZE: a line.
report() {
    text="np $1, $2, size $3"
    if compare "$@" >"$scratch/why" 2>&1; then
        echo "ok      $text: $(staged with) calls staged, $(digest with)"
        return
    fi
    failed=$((failed + 1))
    echo "FAILED  $text"
    sed 's/^/    /' "$scratch/why"
    tail -n 15 "$scratch/without.out" "$scratch/with.out" 2>/dev/null |
        sed 's/^/    /'
}

# No size whose N1 x N2 the number of ranks divides: FFTW would find another
# way than MPI_Alltoallv.
report 4 2x2 '61 59 37'
report 5 3+2 '33 28 17'
report 4 @1,0,0,1 '37 31 9'

[ $failed = 0 ]
