# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by test_bad_input.sh and test_bad_input_mpich.sh: what a user can do
# wrong with any MPI. They have sourced what starts jobs.

# shellcheck disable=SC2154 # program and scratch are theirs
limit=30

# OPTION...: a job; its exit status to $status, never that of a timeout. Without
# lines that may have any number in them: when a job ends at once, the event
# library of Open MPI's mpirun may warn, and MPICH prints one about MPI_Abort.
job() {
    any_run "$@" >"$scratch/all" 2>&1
    status=$?
    grep -a -v -e '^\[warn\] ' -e ' application called MPI_Abort' \
        -e '^Abort([0-9]*) on node .*: stopped by' "$scratch/all" \
        >"$scratch/out"
    case $status in
    124 | 137) echo "no end after $limit s" && return 1 ;;
    esac
}

# The same, or more.
said_at_least() {
    lines=$(grep -c -F -e "$2" "$scratch/out")
    [ "$lines" -ge "$1" ] && return
    echo "$lines lines instead of $1 or more with: $2"
    return 1
}

# N VALUE: so many of our lines about parameters have it; Open MPI 5.0 has lines
# with all kinds of numbers.
named() {
    lines=$(grep -F 'coll fast: parameter' "$scratch/out" | grep -c -F -e "$2")
    [ "$lines" = "$1" ] && return
    echo "$lines lines about parameters instead of $1 with: $2"
    return 1
}

# ---- a wrong value: MPI_Init fails on every rank, and one says why ----

# NP NAME VALUE ALLOWED [OPTION...]
refuses() {
    np=$1 name=$2 value=$3 allowed=$4
    shift 4
    job -np "$np" "$@" --mca "coll_fast_$name" "$value" "$program" --none &&
        ends_badly && said 1 "coll fast: parameter $(parameter "$name")" &&
        named 1 "$value" && said 1 "allowed: $allowed" &&
        said 0 'mpi_mismatch: rank'
}

wrong() {
    np=$1
    shift
    case_of "$1=$2 on $np ranks is refused" refuses "$np" "$@" --mca coll fast
}

wrong 4 algorithm foo 'auto, bundles, eager, staged, pipe2d, direct'
once wrong 4 verbose 2 '0 or 1'
once wrong 4 stats yes '0 or 1'
once wrong 4 check 2 '0 or 1'
once wrong 4 rate 50 '0 or a rate such as 50mbit, 100gbit'
once wrong 4 watchdog 86401 '0 to 86400'
once wrong 4 min_bytes 1.5g 'auto, or 0 to 1g'
once wrong 4 mtm_threshold 0.5 'auto, or 1 to 1000'
once wrong 4 lanes -1 '0 to 4096'
wrong 4 chunk abc '4k to 64m'
once wrong 4 window 0 '1 to 64'
once wrong 4 staging_limit 1k '64k to 16g'
once wrong 4 transport foo 'auto, ucx, mpi'
once wrong 4 accel 2 '0 or 1'
once wrong 4 accel_direct 1 'auto, always, never'
once wrong 4 accel_fallback yes '0 or 1'
once wrong 4 tcp_sndbuf 1 '4k to 64m'
once wrong 4 stage_cost 2g '0 to 1g'
once wrong 4 decompose hierarchical 'auto, compact, openshop, birkhoff'

shapes='4x4 (servers x ranks), 4+4+2+1 (ranks of each server)'
wrong 6 servers 4x4 "$shapes"
once wrong 4 servers @0,1 "$shapes"
once wrong 4 servers 2+x "$shapes"

# Its old name, which works, in a message that has the new one.
by_old_name() {
    job -np 6 --mca coll_fast_nodes 4x4 --mca coll fast "$program" --none &&
        ends_badly && said 1 "coll fast: parameter $(parameter servers)" &&
        named 1 4x4 && said 1 "allowed: $shapes"
}
case_of 'nodes=4x4 on 6 ranks is refused as well' by_old_name

# 64k is a good limit, but not with chunks of 64k.
case_of 'staging_limit=64k is refused for chunks of 64k' refuses 4 \
    staging_limit 65536 'a staging_limit of' --mca coll fast

# Nobody asked for the component: its parameters do not matter.
not_used() {
    job -np 4 --mca coll_fast_chunk abc "$program" --none && ends_well &&
        said 0 'coll fast' && said 4 ': ok'
}

case_of 'chunk=abc does not matter where fast is not used' not_used

# ---- counts that disagree ----

always='--mca coll fast --mca coll_fast_algorithm staged
    --mca coll_fast_min_bytes 0 --mca coll_fast_servers 2x2'
pair='rank 0 sends 1007 bytes to rank 1, which expects 1000'

checked_returns() {
    # shellcheck disable=SC2086 # options have no blanks
    job -np 4 $always --mca coll_fast_check 1 "$program" --more --return &&
        ends_well && said 4 "$pair" && said 4 ': truncate'
}

checked_ends() {
    # shellcheck disable=SC2086
    job -np 4 $always --mca coll_fast_check 1 "$program" "$1" &&
        ends_badly && said_at_least 1 "$2" && said 0 'mpi_mismatch: rank'
}

case_of 'check, a rank sends more: an error on every rank' checked_returns
case_of 'check, more: the default error handler ends the job' \
    checked_ends --more "$pair"
case_of 'check, fewer: the default error handler ends the job' checked_ends \
    --fewer 'rank 0 sends 993 bytes to rank 1, which expects 1000'

# Seen in the summary as well, where data are planned and where they are in bundles.
unchecked() {
    job -np 4 --mca coll fast --mca coll_fast_algorithm "$1" \
        --mca coll_fast_servers 2x2 "$program" "$2" --return &&
        ends_well && said 4 "$3" && said 4 ': truncate'
}

fewer='rank 0 sends 993 bytes to rank 1, which expects 1000'
case_of 'no check, a rank sends more' unchecked staged --more "$pair"
case_of 'no check, a rank sends fewer' unchecked staged --fewer "$fewer"
case_of 'no check, in bundles, a rank sends more' unchecked bundles --more "$pair"
case_of 'no check, in bundles, a rank sends fewer' unchecked bundles --fewer "$fewer"

# In another form of the call.  ALGORITHM FORM TEXT CLASS
in_form() {
    # shellcheck disable=SC2086 # helper
    job -np 4 --mca coll fast --mca coll_fast_algorithm "$1" --mca coll_fast_min_bytes 0 \
        --mca coll_fast_servers 2x2 $helper "$program" --more --return "$2" &&
        ends_well && said 4 "$3" && said 4 ": $4"
}

# In front of an MPICH the thread serves nonblocking calls, and nobody persistent ones. An
# MPICH that has us inside makes MPI_ERR_OTHER of all errors of nonblocking calls.
helper='--mca coll_fast_progress_thread on' differ='send and receive counts differ'
class=truncate
[ -z "${native-}" ] || class='another error'
for algorithm in staged bundles; do
    case_of "nonblocking, $algorithm, a rank sends more" in_form $algorithm --nonblocking \
        "MPI_Ialltoallv failed on MPI_COMM_WORLD: $differ" "$class"
    [ -z "${native-inside}" ] ||
        case_of "persistent, $algorithm, a rank sends more" in_form $algorithm --persistent "$pair" truncate
done

# Of MPI_Alltoall, where all know the counts.
unequal() {
    job -np 4 --mca coll fast --mca coll_fast_servers 2x2 "$program" "$1" \
        --return && ends_well && said 4 "$2" && said 4 ': truncate'
}

case_of 'MPI_Alltoall, one rank has small blocks' unequal --small \
    'rank 1 sends 8 bytes to rank 0, which expects 300000'
case_of 'MPI_Alltoall, one rank calls MPI_Alltoallv' unequal --mixed \
    'some ranks call MPI_Alltoall, others another collective'

# Where bundles have begun to leave when it shows; the parameter names the ranks.  WHAT RANK
# [OPTION...]
after_calls() {
    what=$1 odd=$2
    shift 2
    job -np 4 --mca coll fast --mca coll_fast_algorithm bundles --mca coll_fast_servers 2x2 \
        "$@" "$program" "$what" --return "--after=$odd" && ends_well && said 0 ': ok' &&
        said_at_least 1 'some have other counts or call another collective'
}

# Messages that are too long are no fault of the MPI that brings them.
after_calls_by_mpi() {
    after_calls --small 3 --mca coll_fast_transport mpi && said 0 'the transport failed'
}

after_calls_checked() {
    job -np 4 --mca coll fast --mca coll_fast_algorithm bundles --mca coll_fast_servers 2x2 \
        --mca coll_fast_check 1 "$program" --small --return --after=0 && ends_well &&
        said 4 'rank 1 sends 9000 bytes to rank 0, which expects 8' && said 4 ': truncate'
}

# Ranks of the first server are in another call. NP SERVERS WHAT LANES
after_calls_uneven() {
    job -np "$1" --mca coll fast --mca coll_fast_algorithm bundles --mca coll_fast_servers "$2" \
        --mca coll_fast_lanes "$4" "$program" "$3" --return --after=0-3 && ends_well &&
        said 0 ': ok' && said_at_least 1 'some have other counts or call another collective'
}

case_of 'MPI_Alltoall in instalments, a rank has small blocks' after_calls --small 0
case_of 'MPI_Alltoall in instalments, a rank of the other server has' after_calls --small 3
case_of 'MPI_Alltoall in instalments, a rank calls MPI_Alltoallv' after_calls --mixed 0
case_of "MPI_Alltoall in instalments by the MPI's messages, small blocks" after_calls_by_mpi
case_of 'MPI_Alltoall in instalments, check' after_calls_checked
case_of 'MPI_Alltoall in instalments one way, a server has no bundle' after_calls_uneven \
    7 4+3 --large 2
case_of 'MPI_Alltoall in instalments, a server without them' after_calls_uneven \
    9 4+4+1 --small 0

# ---- ranks that were told different things ----

wrapper=$scratch/with
cat >"$wrapper" <<'EOF'
#!/bin/sh
# RANK NAME VALUE COMMAND...: NAME=VALUE on one rank only.
[ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" != "$1" ] || export "$2=$3"
shift 3
exec "$@"
EOF
chmod +x "$wrapper"

# RANK NAME VALUE TEXT: message, the native algorithm, the right data.
differs() {
    # shellcheck disable=SC2086
    job -np 4 $always "$wrapper" "$1" "$(variable "$2")" "$3" \
        "$program" --none && ends_well && said 4 ': ok' &&
        said 1 'coll fast: ' && said 1 "not used on MPI_COMM_WORLD: $4"
}

case_of 'lanes=1 on rank 2 only: not used' differs 2 lanes 1 \
    'lanes is "0" on rank 0 and "1" on rank 2'
case_of 'algorithm=off on rank 0 only: not used' differs 0 algorithm off \
    'algorithm is "off" on rank 0 and "staged" on rank 1'
case_of 'servers=4x1 on rank 3 only: not used' differs 3 servers 4x1 \
    'servers is "2x2" on rank 0 and "4x1" on rank 3'
case_of 'check=1 on rank 1 only: not used' differs 1 check 1 \
    'check is "0" on rank 0 and "1" on rank 1'
case_of 'chunk=1048576 on rank 1 only: not used' differs 1 chunk 1048576 \
    'chunk is "64k" on rank 0 and "1m" on rank 1'

refused_alone() {
    # shellcheck disable=SC2086
    job -np 4 $always "$wrapper" 2 "$(variable chunk)" abc \
        "$program" --none && ends_badly &&
        said 1 "coll fast: parameter $(parameter chunk) is \"abc\""
}

case_of 'chunk=abc on rank 2 only: the job ends' refused_alone

# ---- UCX that reaches nobody, or does not start ----

# TLS TRANSPORT OPTION...
with_tls() {
    tls=$1 transport=$2
    shift 2
    # shellcheck disable=SC2086
    job -np 4 $always -x FASTSCHED_UCX_TLS="$tls" \
        --mca coll_fast_transport "$transport" "$program" --none "$@"
}

# TLS TEXT: the job goes on with the MPI's messages.
ucx_may() {
    with_tls "$1" auto && ends_well && said 4 ': ok' &&
        said 1 'coll fast: MPI_COMM_WORLD: rank ' &&
        said 1 "so the MPI's own messages are used" &&
        said_at_least 1 "$2"
}

# TLS TEXT: an error on every rank.
ucx_must() {
    with_tls "$1" ucx --return && ends_well && said 4 ': another error' &&
        said 4 'coll fast: MPI_Alltoallv fails on MPI_COMM_WORLD' &&
        said_at_least 1 "$2" && with_tls "$1" ucx && ends_badly
}

case_of 'UCX reaches no peer, transport ucx: an error' ucx_must self \
    'cannot reach rank'
case_of 'UCX reaches no peer, transport auto: mpi' ucx_may self \
    'cannot reach rank'
case_of 'UCX does not start, transport ucx: an error' ucx_must nonsense \
    'UCX cannot be used'
case_of 'UCX does not start, transport auto: mpi' ucx_may nonsense \
    'UCX cannot be used'

# ---- a buffer on a device ----

# N TEXT OPTION... -- PROGRAM-OPTION: N ranks say so, and the call fails on every
# rank; or well_on_device OPTION...: all is well.
refused_on_device() {
    n_bad=$1 words=$2
    shift 2
    on_device "$@" && said "$n_bad" "$words" && said 4 ': error'
}

well_on_device() {
    on_device "$@" && said 0 ' fails on ' && said 4 ': ok'
}

on_device() {
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    # shellcheck disable=SC2086
    job -np 4 --mca coll fast -x LD_LIBRARY_PATH="$build/tests/accel:${LD_LIBRARY_PATH-}" \
        $options "${program%/*}/mpi_device_error" "$2" && ends_well &&
        said 4 "mpi_device_error: rank"
}

staged=${always#--mca coll fast}
reduce='--mca coll_fast_servers 4x1 --mca coll_fast_allreduce exact --mca coll_fast_allreduce_min 1
    --mca coll_fast_tuner 0 --mca coll_fast_straggler 2'
# shellcheck disable=SC2086
{
    case_of 'a datatype without gaps on a device' well_on_device $staged -- --plain
    case_of 'one rank has a datatype with gaps on a device: an error on every rank' \
        refused_on_device 1 \
        'the send buffer is cuda memory, and its datatype is not contiguous' \
        $staged -- --gaps
    case_of 'likewise of a nonblocking call, whose data would be packed at its start' \
        refused_on_device 1 'the send buffer is cuda memory, and its datatype is not contiguous' \
        $staged $helper -- --nonblocking
    case_of 'accel_fallback=0: likewise' refused_on_device 4 \
        'does not use here; set accel_fallback=1' \
        $staged --mca coll_fast_accel_fallback 0 -- --plain
    case_of 'MPI_Allreduce, one rank has its vectors on a device' \
        well_on_device $reduce -- --allreduce
    case_of 'accel_fallback=0: an error on every rank' refused_on_device 1 \
        'does not use here; set accel_fallback=1' \
        $reduce --mca coll_fast_accel_fallback 0 -- --allreduce
    case_of 'MPI_Allreduce, its second call is on a device' well_on_device $reduce -- --later
    case_of 'accel_fallback=0: an error on every rank, as at the first' refused_on_device 1 \
        'does not use here; set accel_fallback=1' \
        $reduce --mca coll_fast_accel_fallback 0 -- --later
}
