#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Faults in the middle of an MPI_Alltoallv on one host: a rank that is killed,
# stopped, or late; and what is left behind. One line per case. Faults of the
# network are in lab/test_faults.sh.
#
#   test_faults.sh [--mpi ompi|mpich] [BUILD-DIRECTORY]
set -u

mpi=ompi
[ "${1-}" != --mpi ] || { mpi=$2 && shift 2; }
# shellcheck source=/dev/null
. "$(dirname "$0")/${mpi}_job.sh"
need_mpi mpi/mpi_fault

limit=60

# A name of our own, to find what is left of it.
fault=$scratch/fault$$
cp "$program" "$fault" || exit 1

# Where the ranks are just before the limit, for the report of a hang.
look() {
    sleep $((limit - 5)) &
    trap 'kill $!; exit' TERM
    wait $!
    for pid in $(pgrep "fault$$"); do
        ps -o pid=,stat=,wchan:20=,comm= "$pid"
        ! command -v gdb >/dev/null ||
            gdb -p "$pid" -batch -ex bt 2>/dev/null | grep '^#' | cut -c1-120
    done
}

# MCA-OPTION... -- PROGRAM-OPTION...: a job on 4 servers of 2 ranks.
job() {
    mca=
    while [ "$1" != -- ]; do
        mca="$mca $1"
        shift
    done
    shift
    start=$(date +%s)
    look >"$scratch/looked" 2>&1 &
    looker=$!
    # shellcheck disable=SC2086 # options have no blanks
    any_run -np 8 --mca coll fast --mca coll_fast_algorithm staged \
        --mca coll_fast_min_bytes 0 --mca coll_fast_servers 4x2 $mca \
        "$fault" "$@" >"$scratch/out" 2>&1
    status=$?
    kill $looker 2>/dev/null
    # 137 is timeout's, if mpirun did not die by itself, and mpirun's, if a rank
    # was killed.
    [ $(($(date +%s) - start)) -lt $limit ] && return
    echo "no end after $limit s"
    cat "$scratch/looked"
    return 1
}

# MIN MAX TEXT: so many lines of the output match.
said() {
    lines=$(grep -c -e "$3" "$scratch/out")
    [ "$lines" -ge "$1" ] && [ "$lines" -le "$2" ] && return
    echo "$lines lines instead of $1 to $2 with: $3"
    return 1
}

# Processes that are not dead, and names in shared memory: none of ours, soon.
nothing_left() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        # shellcheck disable=SC2009 # pgrep knows no states
        left=$(ps -eo stat=,comm= | grep -v '^[ZX]' | grep "fault$$"
            find /dev/shm -name 'fastsched-*' -newer "$fault" 2>/dev/null)
        [ -n "$left" ] || return 0
        sleep 0.5
    done
    echo "left: $left"
    return 1
}

# ---- a rank is killed: the job ends ----

killed() {
    job -- --bytes 8000000 --kill 3 --after 20 "$@" && ends_badly &&
        said 0 0 ': ok' && nothing_left
}

case_of 'a killed rank: the job ends, nothing is left' killed
case_of 'a killed rank, errors come back: likewise' killed --return --abort
[ "$mpi" = mpich ] ||
    case_of 'a killed rank, in nonblocking calls' killed --nonblocking
[ "$mpi" = mpich ] || case_of 'the same, errors come back' \
    killed --nonblocking --return --abort

# Rank 6 has not entered, and the others exchange with each other; or it is the one,
# and never enters.
early='--mca coll_fast_early on'

# KILLED OPTION...
killed_early() {
    who=$1
    shift
    # shellcheck disable=SC2086 # options have no blanks
    job $early -- --bytes 8000000 --kill "$who" --after 100 \
        --late 6 --late-ms 3000 "$@" && ends_badly &&
        said 0 0 ': ok' && nothing_left
}

case_of 'a killed rank, while they work early: likewise' killed_early 3
case_of 'the same, errors come back' killed_early 3 --return --abort
case_of 'the late one is killed: likewise' killed_early 6

# ---- a rank is stopped: the watchdog ----

stopped() {
    job --mca coll_fast_watchdog 2 -- --bytes 8000000 --stop 3 --after 20 \
        "$@" && ends_badly && nothing_left &&
        said 1 7 'nothing has moved for too long (2 s).*waits for rank'
}

case_of 'a stopped rank: the watchdog ends the job' stopped
case_of 'errors come back, and MPI_Abort' stopped --return --abort
case_of 'errors come back, and exit' stopped --return

# Nobody is missed before all have entered.
stopped_early() {
    # shellcheck disable=SC2086 # options have no blanks
    job $early --mca coll_fast_watchdog 2 -- --bytes 8000000 --stop 3 \
        --after 100 --late 6 --late-ms 1000 --return && ends_badly &&
        nothing_left && said 1 7 'nothing has moved for too long (2 s)'
}

case_of 'a stopped rank, while they work early' stopped_early

# The rank wakes up when the others have given up; then all finalize, those
# too for whom all had gone through before: the second call is the last.
finalized() {
    job --mca coll_fast_watchdog 1 "$@" -- --bytes 8000000 --calls 2 \
        --pause 3 --pause-ms 5000 --after 20 --return --finalize &&
        ends_badly && said 8 8 ': \(ok\|error\)' && said 4 8 ': error' &&
        said 0 0 'Signal' && nothing_left
}

case_of 'errors come back, and MPI_Finalize' finalized
case_of 'the same over the messages of the MPI' finalized \
    --mca coll_fast_transport mpi

# ---- all ranks are suspended, as batch systems do: no error ----

# Lines of two ranks may come as one.
processes() { grep -o 'process [0-9]*' "$scratch/out" | cut -d ' ' -f 2; }

n_stopped() {
    for pid in $(processes); do
        cat "/proc/$pid/stat"
    done 2>/dev/null | grep -c ') T'
}

# When all ranks are stopped: continue them, after that many seconds.
wake() {
    while [ "$(n_stopped)" != 8 ]; do
        sleep 0.1
    done
    sleep "$1"
    # shellcheck disable=SC2046 # a number each
    kill -CONT $(processes)
    : >"$scratch/woken"
}

# Seven wait for rank 3, which pauses, when it happens: nothing moves.
suspended() {
    rm -f "$scratch/woken"
    wake 6 &
    waker=$!
    job --mca coll_fast_watchdog 2 -- --bytes 4000000 --pause 3 --after 30 \
        --pause-ms 1000 --suspend 500
    kill $waker 2>/dev/null
    ends_well && said 8 8 ': ok' && nothing_left || return
    [ -e "$scratch/woken" ] || { echo 'they were not suspended' && return 1; }
}

case_of 'suspended for three times the watchdog: they go on' suspended

# ---- a rank is late: no error ----

late() {
    job --mca coll_fast_watchdog 1 -- --late 3 --after 2500 && ends_well &&
        said 8 8 ': ok' && said 7 7 'waiting in call 2 for 1 s (not an error)' &&
        said 1 7 'no summary yet from rank 3 on server 1'
}

case_of 'a late rank: warnings that name it, and the right bytes' late

# ---- who waits is served ----

# CASE OPTION...: four ranks, two to a server.
served() {
    what=$1
    shift
    any_run -np 4 --mca coll fast --mca coll_fast_algorithm staged \
        --mca coll_fast_min_bytes 0 --mca coll_fast_servers 2x2 "$@" \
        "${program%/*}/mpi_progress" "$what" >"$scratch/out" 2>&1
    status=$?
    ends_well && said 4 4 ': ok' && nothing_left
}

# What is sent and still with UCX, as its socket is full, has to leave it.
tcp='-x FASTSCHED_UCX_TLS=tcp -x UCX_TCP_SNDBUF=64k
    -x FASTSCHED_UCX_RNDV_THRESH=inf -x FASTSCHED_UCX_ZCOPY_THRESH=inf
    --mca coll_fast_chunk 64m --mca coll_fast_staging_limit 800m'
# shellcheck disable=SC2086 # options have no blanks
case_of 'servers without shared memory: the sender leaves first' served leave $tcp
case_of 'in MPI_Alltoallv, and the target of an MPI_Put' served put
case_of 'the same over the messages of the MPI' served put \
    --mca coll_fast_transport mpi

# ---- one sender at a time, as counted by every receiver ----

one_sender() {
    job --mca coll_fast_stats 1 --mca coll_fast_decompose "$1" -- \
        --bytes 1000000 && ends_well &&
        said 1 1 'peak senders [01]/[01]/[01];'
}

for decompose in compact openshop birkhoff; do
    case_of "$decompose: never more than one sender" one_sender $decompose
done

# ---- communicators come and go ----

comms() {
    job "$@" -- --comms 100 --bytes 800 && ends_well && said 8 8 ': ok' &&
        nothing_left
}

case_of '100 communicators: no descriptor is left' comms
case_of '100 communicators, over TCP' comms -x FASTSCHED_UCX_TLS=tcp,self

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
