#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Random calls on random communicators, by fast and by the MPI's own algorithm,
# compared byte by byte; see stress.c. Jobs one after the other, with seeds S,
# S + 1, ...: the seed decides how many ranks there are, on which servers, and
# fast's parameters. make check makes 1,000 calls, make stress 100,000.
#
#   run_stress.sh [--mpi ompi|mpich] [--full] [--calls N] [--seed S]
#                 [--from K | --only K] [BUILD-DIRECTORY]
#
#   --full      jobs of 500 calls with up to 64 MB each, all ranks together;
#               without, jobs of 100 calls with up to 4 MB
#   --calls N   all jobs together; default 1000
#   --only K    only call K of the job of this seed, as a failure says
#   --from K    that and those after it; --from 1 is the whole job
set -u

mpi=ompi calls=1000 seed=1 full='' which=''
while [ $# -gt 0 ]; do
    case $1 in
    --mpi) mpi=$2 && shift ;;
    --full) full=$1 ;;
    --calls) calls=$2 && shift ;;
    --seed) seed=$2 && shift ;;
    --from | --only) which="$1 $2" && shift ;;
    *) break ;;
    esac
    shift
done

# shellcheck source=/dev/null
. "$(dirname "$0")/../mpi/${mpi}_job.sh"
need_mpi stress/stress

per_job=100 log2_sum=22
[ -z "$full" ] || per_job=500 log2_sum=26

# Where MPICH 4.0.2 itself serves calls it loses parts of some types.
sound=0
[ "$mpi" = ompi ] || sound=1

# The calls that fast has served in the last job.
served() {
    sed -n 's/^stress: .* \([0-9]*\) served by .*/\1/p' "$scratch/out" |
        awk '{ n += $1 } END { print n + 0 }'
}

# SEED [OPTION...]
job() {
    again="FS_BUILDDIR=$build $src/tests/stress/run_stress.sh --mpi $mpi"
    again="$again${full:+ $full} --seed $1"
    options=$("$program" --seed "$1" --job)
    limit=$((60 + per_job))
    # shellcheck disable=SC2086 # options have no blanks
    set -- --mca coll fast $options "$program" --calls $per_job \
        --log2-sum $log2_sum --sound $sound --seed "$@"
    any_run "$@" --again "$again" >"$scratch/out" 2>&1
    status=$?
    if [ $status = 0 ]; then
        n_served=$((n_served + $(served)))
        grep -a -v ORTE_ERROR_LOG "$scratch/out" | tail -n 25
        return
    fi
    grep -a 'stress: FAILED' "$scratch/out" | head -n 5
    printf 'FAILED  exit status %s: %s\n' $status "$*"
    printf '        the whole job: %s --from 1\n' "$again"
    printf '        it said at the end:\n'
    tail -n 25 "$scratch/out" | sed 's/^/          /'
    return 1
}

n_served=0
if [ -n "$which" ]; then
    # shellcheck disable=SC2086 # an option and its value
    job "$seed" $which
    exit
fi

start=$(date +%s) failed=0
n_jobs=$(((calls + per_job - 1) / per_job))
last=$((seed + n_jobs - 1))
while [ "$seed" -le $last ]; do
    job "$seed" || failed=$((failed + 1))
    seed=$((seed + 1))
done
printf '%s: %s calls in %s jobs, %s served, %s failed, %s s\n' "$mpi" \
    $((n_jobs * per_job)) $n_jobs $n_served $failed $(($(date +%s) - start))
if [ $n_served = 0 ]; then
    echo 'FAILED: fast has served no call'
    failed=$((failed + 1))
fi
[ $failed = 0 ]
