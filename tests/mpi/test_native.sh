#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# An MPICH that knows "fast" itself: how it is chosen, and what is said when the
# library and it do not get together. One line per case. make check-native runs
# this, and with the same MPICH test_bad_input_mpich.sh, test_allreduce_mpich.sh and run_mpich.sh.
#
#   FS_NATIVE=PREFIX test_native.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/mpich_job.sh
. "$(dirname "$0")/mpich_job.sh"
[ -n "$native" ] || skip 'FS_NATIVE is not set; see mpich_coll_fast/native/build'
need_mpich mpich/mpi_alltoallv
alltoall=$build/tests/mpich/mpi_alltoall

cvar=$build/tests/mpich/mpi_cvar
rules=MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=$native/share/coll_fast.json

# NP NAME=VALUE... -- COMMAND...: a job; its exit status to $status.
job() {
    np=$1 settings=
    shift
    while [ "$1" != -- ]; do
        settings="$settings $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    env $settings timeout --kill-after=5 "$limit" "$mpiexec" -n "$np" "$@" \
        >"$scratch/out" 2>&1 </dev/null
    status=$?
    case $status in
    124 | 137) echo "no end after $limit s" && return 1 ;;
    esac
}

# ---- MPI_T ----

# NAME NAME-OF-ALGORITHM [VARIABLE=VALUE]
reads() {
    job 2 "${3-NOTHING=1}" -- "$cvar" "MPIR_CVAR_$1" "$2" && ends_well
}

for name in ALLTOALL_INTRA_ALGORITHM ALLTOALLV_INTRA_ALGORITHM ALLTOALLW_INTRA_ALGORITHM ALLREDUCE_INTRA_ALGORITHM; do
    other=scattered
    [ $name != ALLREDUCE_INTRA_ALGORITHM ] || other=smp
    for prefix in MPICH MPIR_PARAM MPIR_CVAR; do
        variable=${prefix}_$name
        case_of "$variable=fast, read by MPI_T" \
            reads $name fast "$variable=fast"
        case_of "$variable=$other" reads $name $other "$variable=$other"
    done
    case_of "$name not set" reads $name auto
done
for name in IALLTOALL IALLTOALLV IALLTOALLW IALLREDUCE; do
    case_of "MPICH_${name}_INTRA_ALGORITHM=tsp_fast, read by MPI_T" \
        reads ${name}_INTRA_ALGORITHM tsp_fast "MPICH_${name}_INTRA_ALGORITHM=tsp_fast"
done

# ---- a selection file ----

# EXPECT NAME=VALUE...
by_rules() {
    expect=$1
    shift
    # shellcheck disable=SC2086
    job 4 "$rules" FASTSCHED_SERVERS=2x2 FASTSCHED_MIN_BYTES=0 "$@" -- \
        "$program" --servers 2x2 --expect "$expect" ragged zero split in-place &&
        ends_well
}

case_of 'chosen by a selection file' by_rules staged FASTSCHED_ALGORITHM=staged
case_of 'chosen so, and left alone' by_rules native FASTSCHED_ALGORITHM=off

# ---- MPI_Alltoall, by a variable of its own or by the file ----

# WHO NP NAME=VALUE...: serves some of them; "": nobody opens the library.
even() {
    who=$1 np=$2
    shift 2
    job "$np" FASTSCHED_SERVERS=2x$((np / 2)) FASTSCHED_VERBOSE=1 "$@" -- \
        "$alltoall" 70000 && ends_well && said 1 'mpi_alltoall: ok' || return
    if [ -z "$who" ]; then
        said 0 'coll fast: '
        return
    fi
    grep -q "MPI_COMM_WORLD call [0-9]*: $who " "$scratch/out" ||
        { echo "no call is $who" && return 1; }
}

only_even() {
    even staged 4 MPICH_ALLTOALL_INTRA_ALGORITHM=fast FASTSCHED_ALGORITHM=staged &&
        job 4 MPICH_ALLTOALL_INTRA_ALGORITHM=fast FASTSCHED_SERVERS=2x2 -- \
            "$program" --servers 2x2 --expect absent ragged && ends_well
}

case_of 'MPI_Alltoall alone' only_even
case_of 'MPI_Alltoallv alone' even '' 4 MPICH_ALLTOALLV_INTRA_ALGORITHM=fast
only_w() {
    settings='FASTSCHED_SERVERS=2x2 FASTSCHED_MIN_BYTES=0 FASTSCHED_ALGORITHM=staged'
    # shellcheck disable=SC2086
    job 4 MPICH_ALLTOALLW_INTRA_ALGORITHM=fast $settings -- "$program" \
        --servers 2x2 --expect staged --alltoallw ragged zero in-place structs \
        empty-types split && ends_well &&
        job 4 MPICH_ALLTOALLW_INTRA_ALGORITHM=fast $settings -- "$program" \
            --servers 2x2 --expect absent ragged && ends_well
}
case_of 'MPI_Alltoallw alone' only_w
case_of 'MPI_Alltoall, chosen by a selection file' even staged 4 "$rules" \
    FASTSCHED_ALGORITHM=staged
# Small blocks on 8 ranks, medium ones and large ones: three algorithms, and one in place.
case_of 'MPI_Alltoall, chosen so, and left alone' even native 8 "$rules" \
    FASTSCHED_ALGORITHM=off

# ---- the library and MPICH do not get together ----

chosen=MPICH_ALLTOALLV_INTRA_ALGORITHM=fast

no_library() {
    job 2 $chosen MPICH_COLL_FAST_LIBRARY=/nowhere/lib.so -- \
        "$build/tests/mpich/mpi_mismatch" --none && ends_well &&
        said 1 'coll fast: not used: rank 0: /nowhere/lib.so' &&
        said 1 'Set LD_LIBRARY_PATH' && said 2 ': ok'
}

another_library() {
    job 2 $chosen MPICH_COLL_FAST_LIBRARY=libm.so.6 -- \
        "$build/tests/mpich/mpi_mismatch" --none && ends_well &&
        said 1 'undefined symbol: mpich_fast_native_open' &&
        said 2 ': ok'
}

# Ranks 2 and 3 do not find it. PROGRAM...
on_two_of_four() {
    settings="$chosen FASTSCHED_SERVERS=2x2 FASTSCHED_MIN_BYTES=0"
    # shellcheck disable=SC2086
    job 2 $settings -- "$@" : -n 2 \
        -env MPICH_COLL_FAST_LIBRARY /nowhere/lib.so "$@" && ends_well &&
        said 1 'coll fast: not used: rank 2: /nowhere/lib.so'
}

missing_on_some() {
    on_two_of_four "$build/tests/mpich/mpi_mismatch" --none && said 4 ': ok' &&
        on_two_of_four "$program" --servers 2x2 ragged split many
}

# Then it stands before MPICH, and MPICH does not see the choice.
preloaded() {
    job 4 $chosen LD_PRELOAD="$library" FASTSCHED_SERVERS=2x2 \
        FASTSCHED_MIN_BYTES=0 FASTSCHED_ALGORITHM=staged -- \
        "$program" --servers 2x2 --expect staged ragged zero && ends_well
}

twice() {
    job 4 $chosen "$rules" LD_PRELOAD="$library" FASTSCHED_ALGORITHM=off -- \
        "$build/tests/mpich/mpi_mismatch" --none --return && ends_well &&
        said 1 'leave out one of the two' && said 4 ': ok'
}

case_of 'no library: a line says what to do' no_library
case_of 'another library' another_library
case_of 'no library on two of four ranks' missing_on_some
case_of 'preloaded: as with any MPICH' preloaded
case_of 'preloaded, and chosen by a selection file' twice

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
