#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fastsched-field in a lab, with both MPIs: every byte arrives, fast serves, and the report says so.
#
#   test_field.sh hosts    with a host file
#   test_field.sh slurm    in Slurm jobs (make check-slurm); and the ways to start jobs that docs/administrators.md names
#
# Exit status: 0 passed, 1 not, 77 not possible here. FS_BUILDDIR: the build.
set -euo pipefail

how=${1-hosts}
here=$(dirname "$(realpath "$0")")
cd "${FS_BUILDDIR:-$PWD}"
# shellcheck source=/dev/null
. ./run-env
name=field-$$
dir=/run/fastsched-lab/$name
work=$(mktemp -d)
trap '"$here/lab" down --name "$name"; rm -rf "$work"' EXIT
failed=0

in_head() { timeout 150 "$here/lab" exec --name "$name" head "$@" >"$work/out" 2>"$work/err" </dev/null; }

# WHAT COMMAND...
check() {
    local what=$1 status=0
    shift
    "$@" || status=$?
    if ((status == 0)); then
        echo "ok - $what"
    else
        echo "not ok - $what (status $status)"
        cat "$work/out" "$work/err"
        failed=1
    fi
}

one_minute=(--pattern zipf:0.8 --size 64k --minutes 1)

# NAME: every setting and fast has a time, fast served, and all bytes were right.
is_whole() {
    grep -qE "^\| zipf:0.8 \| 64 KiB \| (default|pairwise) .*staged" "$work/$1.md" &&
        grep -q '"valid": true' "$work/$1.json" && ! grep -q '"valid": false\|node0' "$work/$1.json"
}

# MPI FIELD'S-OPTIONS...: a measurement, and its report.
measures() {
    local mpi=$1
    shift
    in_head "${start[@]}" fastsched-field --mpi "$mpi" "$@" "${one_minute[@]}" --output "$work/$mpi" && is_whole "$mpi"
}

# COMMAND...: a job of the benchmark in which fast serves; every byte is checked.
serves() {
    in_head "$@" -m 64k:64k -p zipf:0.8 -i 2 -x 1 -c --json && grep -q '"servers": 2' "$work/out" &&
        grep -q '"valid": true' "$work/out" && grep -q '"algorithm": "staged"' "$work/out"
}

# COMMAND...: one that is left to the MPI.
is_native() {
    in_head "$@" -m 64k:64k -p zipf:0.8 -i 2 -x 1 -c --json && grep -q '"valid": true' "$work/out" &&
        ! grep -q staged "$work/out"
}

# MPI: a measurement in a batch job, whose script runs on the first server.
measures_in_batch() {
    in_head sbatch --wait -N 2 --ntasks-per-node=2 --output="$work/batch" --wrap \
        "fastsched-field --mpi $1 --wrapper $dir/rank ${one_minute[*]} --output $work/batch-$1" && is_whole "batch-$1"
}

with_hosts() {
    printf 'node0 slots=2\nnode1:2\n' >"$work/hosts"
    start=()
    export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$dir/agent OMPI_MCA_oob_tcp_if_include=10.99.0.0/16
    export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$dir/agent HYDRA_IFACE=ctl
    # A whole measurement takes a minute with it: in slurm.
    check 'Open MPI, host file' in_head fastsched-field --mpi ompi --hosts "$work/hosts" --wrapper "$dir/rank" --check
    check 'MPICH, host file' measures mpich --hosts "$work/hosts" --wrapper "$dir/rank"
}

with_slurm() {
    local tasks=(-N 2 --ntasks-per-node=2)
    "$here/slurm" "$name" 2 || exit $?
    export SLURM_CONF=$dir/slurm.conf
    start=(salloc "${tasks[@]}")
    check 'Open MPI, salloc' measures ompi --wrapper "$dir/rank"
    check 'MPICH, salloc' measures mpich --wrapper "$dir/rank"
    check 'Open MPI, sbatch' measures_in_batch ompi
    check 'MPICH, sbatch' measures_in_batch mpich
    # Without the lab's script around each rank: as users start them. No tuner: the last call is not a probe.
    export OMPI_MCA_coll_fast_tuner=0 FASTSCHED_TUNER=0 UCX_TLS=tcp,posix,sysv,cma,self
    check 'mpirun --mca coll fast, salloc' serves salloc "${tasks[@]}" mpirun --mca coll fast osu_alltoallv_skew
    # pmi_progress.c says why.
    local mpich=(env "LD_PRELOAD=$dir/pmi_progress.so" mpich-fast)
    check 'mpich-fast mpiexec, salloc' serves salloc "${tasks[@]}" "${mpich[@]}" mpiexec.hydra osu_alltoallv_skew.mpich
    check 'OMPI_MCA_coll=fast srun --mpi=pmix' serves env OMPI_MCA_coll=fast \
        srun --mpi=pmix "${tasks[@]}" osu_alltoallv_skew
    check 'OMPI_MCA_coll_fast_priority=100 srun --mpi=pmix' serves env OMPI_MCA_coll_fast_priority=100 \
        srun --mpi=pmix "${tasks[@]}" osu_alltoallv_skew
    check 'opting out of it: coll_fast_algorithm off' is_native env OMPI_MCA_coll_fast_priority=100 \
        OMPI_MCA_coll_fast_algorithm=off srun --mpi=pmix "${tasks[@]}" osu_alltoallv_skew
    check 'nothing asked for, srun --mpi=pmix' is_native srun --mpi=pmix "${tasks[@]}" osu_alltoallv_skew
    check 'srun --mpi=pmi2 mpich-fast' serves srun --mpi=pmi2 "${tasks[@]}" "${mpich[@]}" osu_alltoallv_skew.mpich
    check 'opting out of it: FASTSCHED_ALGORITHM=off' is_native env FASTSCHED_ALGORITHM=off \
        srun --mpi=pmi2 "${tasks[@]}" "${mpich[@]}" osu_alltoallv_skew.mpich
    check 'srun --export=NONE leaves the choice behind' is_native env OMPI_MCA_coll=fast \
        srun --export=NONE --mpi=pmix "${tasks[@]}" "$(command -v osu_alltoallv_skew)"
}

"$here/lab" up --name "$name" --servers 2 --ranks 2 --rate 50mbit || exit $?
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=^openib,ofi OMPI_MCA_osc=^ucx
export OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
"with_$how"
exit $failed
