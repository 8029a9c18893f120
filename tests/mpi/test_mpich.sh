#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# How libmpich_coll_fast gets in front of a program: linked instead of preloaded; and that
# nothing of an MPI is linked into it. Preloaded, in front of Fortran: test_fortran.sh;
# tools: test_tools.sh. One line per case.
#
#   test_mpich.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/mpich_job.sh
. "$(dirname "$0")/mpich_job.sh"
need_mpich mpich/mpi_alltoallv

here=$(cd "$(dirname "$0")" && pwd)
failed=0
n_cases=0

# TEXT COMMAND...: one case; its output only if it fails.
case_of() {
    text=$1
    shift
    n_cases=$((n_cases + 1))
    if "$@" >"$scratch/out" 2>&1; then
        printf 'ok      %s\n' "$text"
        return
    fi
    failed=$((failed + 1))
    printf 'FAILED  %s\n' "$text"
    tail -n 25 "$scratch/out" | sed 's/^/    /'
}

# SUMMARY COMMAND...: what rank 0 says at the end, on 2 servers of 2 ranks.
summary_is() {
    want=$1
    shift
    "$@" >"$scratch/job" 2>&1 || { cat "$scratch/job" && return 1; }
    grep -q "coll fast: summary: $want" "$scratch/job" && return
    cat "$scratch/job"
    echo "no summary of: $want"
    return 1
}

fast='--mca coll fast --mca coll_fast_servers 2x2 --mca coll_fast_verbose 1
    --mca coll_fast_min_bytes 0 --mca coll_fast_algorithm staged'

# ---- linked, in front of the MPI ----

linked() {
    libs=$build/mpich_coll_fast/.libs
    # shellcheck disable=SC2086
    mpicc.mpich -o "$scratch/linked" "$here/mpi_mismatch.c" -L"$libs" \
        -lmpich_coll_fast -Wl,-rpath,"$libs" &&
        summary_is '1 calls, 1 staged' any_run -np 4 ${fast#--mca coll fast} \
            -x FASTSCHED_ALLTOALLV=fast "$scratch/linked" --none
}

linked_fortran() {
    libs=$build/mpich_coll_fast/.libs
    # shellcheck disable=SC2086
    "$mpifort" -w -DBINDING_F08 -o "$scratch/linked" "$here/alltoallv.F90" \
        -Wl,--no-as-needed -L"$libs" -lmpich_coll_fast -Wl,-rpath,"$libs" &&
        summary_is '2 calls, 2 staged' any_run -np 4 ${fast#--mca coll fast} \
            -x FASTSCHED_ALLTOALLV=fast "$scratch/linked"
}

if command -v mpicc.mpich >/dev/null; then
    case_of 'linked, C' linked
else
    echo 'skip    linked, C: no mpicc.mpich'
fi
mpifort=$(command -v mpifort.mpich) || mpifort=
if [ -n "$mpifort" ] && command -v gfortran >/dev/null; then
    case_of 'linked, Fortran' linked_fortran
else
    echo 'skip    linked, Fortran: no mpifort.mpich or no gfortran'
fi

# ---- MPI_T before MPI_Init: MPICH does not get to see "fast" ----

mpi_t_first() {
    any_run -np 2 --mca coll fast "$build/tests/mpich/mpi_cvar" \
        MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM auto
}

case_of 'MPI_T_init_thread before MPI_Init' mpi_t_first

# ---- sessions, beside MPI_Init ----

# OPTION: as in mpich_session.c.
session() {
    # shellcheck disable=SC2086
    any_run -np 4 $fast "$build/tests/mpich/mpich_session" "$1"
}

case_of 'one rank makes a call before MPI_Init' session --self
case_of 'all ranks make a call before MPI_Init' session --world

# ---- the end of a communicator: sums of all ranks, whenever MPICH lets it go ----

# OPTION: as in mpich_freed.c.
freed() {
    # shellcheck disable=SC2086
    any_run -np 4 $fast --mca coll_fast_stats 1 "$build/tests/mpich/mpich_freed" "$@" \
        >"$scratch/job" 2>&1 &&
        [ "$(grep -c 'mpich_freed: rank [0-3]: ok' "$scratch/job")" = 4 ] &&
        [ "$(grep -c 'stats: freed: 1 calls, 1 staged' "$scratch/job")" = 1 ] &&
        ! grep ' alone: ' "$scratch/job" && return
    cat "$scratch/job"
    return 1
}

case_of 'MPI_Comm_free, and MPICH keeps it on some ranks' freed
case_of MPI_Comm_disconnect freed --disconnect

# ---- what the library is ----

# No MPI among what it needs, no symbol of one that it lacks; and these names.
is_neutral() {
    ! readelf -d "$library" | grep 'NEEDED.*\(libmpi\|libmpich\|libopen\)' &&
        ! nm -D --undefined-only "$library" | grep 'P\{0,1\}MPI_' &&
        nm -D --defined-only "$library" | awk '{ print $3 }' | sort >"$scratch/names" &&
        for name in Allreduce Allreduce_c Alltoall Alltoall_c Alltoallv Alltoallv_c Alltoallw Alltoallw_c \
            Comm_disconnect Comm_free Iallreduce Iallreduce_c Ialltoall Ialltoall_c Ialltoallv Ialltoallv_c Ialltoallw Ialltoallw_c \
            Request_get_status Init Init_thread Session_init; do
            echo "MPI_$name"
            echo "PMPI_$name"
        done | cat - "$scratch/own" | sort | diff - "$scratch/names"
}

printf "%s\n" mpich_fast_counter mpich_fast_native_open >"$scratch/own"
case_of 'no MPI in it' is_neutral

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
