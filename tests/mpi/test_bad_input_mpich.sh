#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What a user of MPICH can do wrong: a clear error on every rank, or a message
# and the right data; never a hang. One line per case.
#
#   test_bad_input_mpich.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/mpich_job.sh
. "$(dirname "$0")/mpich_job.sh"
need_mpich mpich/mpi_mismatch

# shellcheck source=tests/mpi/any_mpi_bad_input.sh
. "$(dirname "$0")/any_mpi_bad_input.sh"

# ---- a parameter that there is not ----

unknown() {
    job -np 4 --mca coll fast -x FASTSCHED_WINDO=8 "$program" --none &&
        ends_well && said 4 ': ok' &&
        said 1 'coll fast: unknown parameter FASTSCHED_WINDO, which has no effect'
}

case_of 'FASTSCHED_WINDO: one line about it' unknown

# ---- ranks without the library, or that have not chosen it ----

without=$scratch/without
cat >"$without" <<'EOF'
#!/bin/sh
# RANKS VARIABLES COMMAND...: the ranks in RANKS, ",0,2,", do not have VARIABLES.
case $1 in
*",$PMI_RANK,"*) unset $2 ;;
esac
shift 2
exec "$@"
EOF
chmod +x "$without"
choice='MPICH_ALLTOALLV_INTRA_ALGORITHM FASTSCHED_ALLTOALLV'

# NP RANKS VARIABLES RANK: the line names RANK.
not_on_all() {
    # shellcheck disable=SC2086
    job -np "$1" $always --mca coll_fast_servers 2x$(($1 / 2)) "$without" "$2" "$3" \
        "$program" --none && ends_well &&
        said "$1" ': ok' &&
        said 1 "coll fast: not used: rank $4 runs without this version"
}

# One host, and mpiexec takes it for two.
on_two_hosts() {
    printf 'localhost:2\n127.0.0.1:2\n' >"$scratch/hosts"
    (
        export HYDRA_LAUNCHER=fork HYDRA_HOST_FILE="$scratch/hosts"
        not_on_all "$@"
    )
}

if [ -z "$native" ]; then
    case_of 'no library on ranks 2 and 3' \
        not_on_all 4 ,2,3, "LD_PRELOAD $choice" 2
    case_of 'no library on ranks 0 and 1' \
        not_on_all 4 ,0,1, "LD_PRELOAD $choice" 0
    case_of 'no library on every second rank' \
        not_on_all 8 ,0,2,4,6, "LD_PRELOAD $choice" 0
    case_of 'not chosen on rank 5' not_on_all 8 ,5, "$choice" 5
    case_of 'no library on the second host' \
        on_two_hosts 4 ,2,3, "LD_PRELOAD $choice" 2
    case_of 'no library on a rank of each host' \
        on_two_hosts 4 ,1,2, "LD_PRELOAD $choice" 1
fi

# ---- loaded, and of no use ----

# Where each of MPICH's nodes is a server, and there is one.
one_server() {
    job -np 2 --mca coll fast --mca coll_fast_verbose 1 "$program" --none &&
        ends_well && said 2 ': ok' && said 1 'call 1: native (one server)' &&
        said 1 'summary: not used: no call on a communicator that spans servers'
}

no_call() {
    job -np 2 --mca coll fast --mca coll_fast_verbose 1 \
        "${program%/*}/mpi_cvar" MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM auto &&
        ends_well &&
        said 1 'summary: not used: no call of MPI_Alltoallv'
}

case_of 'one server: the last line says so' one_server
[ -n "$native" ] || case_of 'no call: the last line says so' no_call

# ---- the variable without the library: MPICH itself refuses ----

alone() {
    job -np 2 -x MPICH_ALLTOALLV_INTRA_ALGORITHM=fast "$program" --none &&
        ends_badly && said_at_least 1 \
        'Invalid MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM value (fast)'
}

[ -n "$native" ] ||
    case_of 'the variable is set, the library is not loaded' alone

# ---- the library in front of an MPI that is not of MPICH's ABI ----

other_mpi() {
    timeout --kill-after=5 "$limit" mpirun.openmpi --oversubscribe \
        --allow-run-as-root -np 2 -x LD_PRELOAD="$library" \
        -x MPICH_ALLTOALLV_INTRA_ALGORITHM=fast \
        "$build/tests/mpi/mpi_mismatch" --none >"$scratch/out" 2>&1 </dev/null
    status=$?
    ends_well && said 2 ': ok' && said 1 \
        "not used: the MPI of this process is not of MPICH's ABI: Open MPI"
}

if [ -z "$native" ] && command -v mpirun.openmpi >/dev/null &&
    [ -x "$build/tests/mpi/mpi_mismatch" ]; then
    case_of 'an Open MPI behind it' other_mpi
elif [ -z "$native" ]; then
    echo 'skip       an Open MPI behind it: no mpirun.openmpi, or no mpi_mismatch for it'
fi

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
