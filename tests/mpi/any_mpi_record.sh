# shellcheck shell=sh disable=SC2154 # scratch, status and more are of any_mpi_job.sh
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by test_record.sh and test_record_mpich.sh: parameter record under one MPI. What is recorded is the matrix
# that was sent, whoever served the calls; it plays on as many ranks and on fewer.

# Of the programs of this MPI: set by those who source this.
suffix=$record_suffix
tool=$build/libfastsched/fastsched
bench=$build/osu_extensions/osu_alltoallv_skew$suffix
replay=$build/osu_extensions/osu_alltoallv_replay$suffix

cat >"$scratch/known" <<'MATRIX'
1000 2 3 40000
10 200000 30 40
5 6 0 8
0 0 70000 1000
MATRIX

# NAME PROGRAM MCA-OPTION... -- OPTION...: the known matrix, sent so; the recording is $scratch/NAME.
record() {
    name=$1 sender=$2
    shift 2
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # options have no blanks
    any_run -np 4 --mca coll fast --mca coll_fast_record "$scratch/$name" $options \
        "$sender" -i 3 -x 1 -p "file:$scratch/known" -c "$@" >"$scratch/out" 2>&1
    status=$?
    ends_well && said 1 Pass
}

# NAME FUNCTION CALLS: it holds the matrix, sent so often in calls of that function.
holds() {
    "$tool" matrix "$scratch/$1" >"$scratch/is" 2>&1 && cmp "$scratch/known" "$scratch/is" || { cat "$scratch/is" && return 1; }
    "$tool" compare "$scratch/$1" --servers 2x2 --format json >"$scratch/is" 2>&1
    grep -q "\"communicator\": \"MPI_COMM_WORLD\", \"function\": \"$2\", \"calls\": $3, " "$scratch/is" &&
        grep -q '"missing": 0, "kinds": 1,' "$scratch/is" && return
    echo "not $3 calls of $2:" && cut -c 1-600 "$scratch/is"
    return 1
}

# NAME RANKS
plays() {
    any_run -np "$2" "$replay" -c --json "$scratch/$1" >"$scratch/out" 2>&1
    status=$?
    ends_well && said 2 "\"ranks\": $2, \"recorded_ranks\": 4, \"calls\": 4" && said 2 '"valid": true'
}

served() {
    record served "$bench" --mca coll_fast_servers 2x2 --mca coll_fast_algorithm staged \
        --mca coll_fast_min_bytes 0 -- && holds served MPI_Alltoallv 4
}

left() {
    record off "$bench" --mca coll_fast_servers 2x2 --mca coll_fast_algorithm off -- && holds off MPI_Alltoallv 4
}

one_server() {
    record one "$bench" -- --collective alltoallw && holds one MPI_Alltoallw 4 &&
        "$tool" compare "$scratch/one" >"$scratch/out" && said 1 'no bytes go from one server to another'
}

nonblocking() {
    rm -rf "$scratch/i"
    record i "$build/osu_extensions/osu_ialltoallv_skew$suffix" --mca coll_fast_servers 2x2 "$@" -- &&
        holds i MPI_Ialltoallv 7
}

# Where nothing can be written: a line of each process, and the job goes on.
nowhere() {
    any_run -np 4 --mca coll fast --mca coll_fast_record /dev/null/no "$bench" -i 2 -m 1k:1k -c >"$scratch/out" 2>&1
    status=$?
    ends_well && said 1 Pass && said 4 'no recording: /dev/null/no: Not a directory'
}

# A file is missing.
refuses() {
    rm -r "$scratch/off"/*/rank2.record
    any_run -np 2 "$replay" "$scratch/off" >"$scratch/out" 2>&1
    status=$?
    ends_badly && said 1 'rank2.record: No such file or directory'
}

case_of 'recorded: calls that fast serves' served
case_of 'played on as many ranks' plays served 4
case_of 'played on half the ranks' plays served 2
case_of 'played on three ranks' plays served 3
case_of 'recorded: calls that are left to the MPI' left
case_of 'recorded: on one server' one_server
case_of 'a directory that cannot be made' nowhere
case_of 'a recording without one of its ranks' refuses
