# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by run_ompi.sh and run_mpich.sh: what must hold with any MPI. They
# define job:
#   NP NODES EXPECT [OPTION...] [-- [PROGRAM-OPTION...]]
# with options as Open MPI has them: --mca coll fast is the choice of fast,
# --mca coll_fast_NAME VALUE a parameter.

# shellcheck disable=SC2154 # scratch and limit are theirs
failed=0
n_runs=0

# TEXT COMMAND...: run it, one line about it; its output only if it fails.
report() {
    text=$1
    shift
    start=$(date +%s)
    "$@" >"$scratch/out" 2>&1
    status=$?
    n_runs=$((n_runs + 1))
    word=ok
    [ $status = 0 ] || word=FAILED
    printf '%-6s %3d s  %s\n' $word $(($(date +%s) - start)) "$text"
    if [ $status != 0 ]; then
        failed=$((failed + 1))
        [ $status != 124 ] || echo "    no end after $limit s"
        grep -a -v ORTE_ERROR_LOG "$scratch/out" | tail -n 25 | sed 's/^/    /'
    fi
}

# Named, and told to serve whatever crosses servers.
#   ALGORITHM NP NODES [MCA-OPTION...] [-- [PROGRAM-OPTION...]]
served() {
    text="$1, np $2, $3${4:+, }"
    algorithm=$1 np=$2 servers=$3
    shift 3
    report "$text$*" job "$np" "$servers" "$algorithm" --mca coll fast \
        --mca coll_fast_algorithm "$algorithm" --mca coll_fast_min_bytes 0 "$@"
}

staged() { served staged "$@"; }

some='ragged zero small large changing places'

# ---- servers of all shapes ----

staged 1 1x1
staged 2 2x1
once staged 3 2+1
staged 4 2x2
once staged 4 4x1
staged 4 @0,1,0,1
once staged 4 @3,0,3,7
staged 5 2+2+1
once staged 5 @1,0,0,2,1
once staged 8 2x4
staged 8 1+3+4
staged 8 @1,0,0,2,1,2,0,1
staged 11 4+4+2+1
# shellcheck disable=SC2086
once staged 16 4x4 -- $some split many

# ---- lanes, little memory ----

tight='--mca coll_fast_chunk 4k --mca coll_fast_staging_limit 64k'
once staged 8 2x4 --mca coll_fast_lanes 1
once staged 8 2x4 --mca coll_fast_lanes 2
once staged 5 4+1 --mca coll_fast_window 1
# shellcheck disable=SC2086
{
    staged 4 2x2 $tight
    once staged 8 4x2 $tight --mca coll_fast_window 1 --mca coll_fast_lanes 1
    once staged 11 4+4+2+1 $tight
}
staged 4 2x2 --mca coll_fast_check 1
staged 8 1+3+4 --mca coll_fast_check 1 -- mismatch ragged
staged 4 2x2 --mca coll_fast_window 64 --mca coll_fast_chunk 64m \
    --mca coll_fast_staging_limit 16g -- --large 40000000 large ragged

# ---- 2^31 bytes and more ----

staged 4 2x2 -- far
staged 8 1+3+4 --mca coll_fast_transport mpi -- far
if [ "$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -ge 10 ]
then
    limit=240
    staged 4 2x2 -- --limit 120 huge huge-total huge-element
    limit=60
else
    echo 'skip: 2 GiB for one pair, 2 GiB from one rank: less than 10 GiB of memory'
fi

# ---- ranks that do not wait for the last one ----

# NP SERVERS [OPTION...] [-- [PROGRAM-OPTION...]]: what is left is served by any.
early() {
    text="begun early, np $1, $2${3:+, }"
    np=$1 servers=$2
    shift 2
    report "$text$*" job "$np" "$servers" any --mca coll fast \
        --mca coll_fast_early on --mca coll_fast_min_bytes 0 "$@"
}

# shellcheck disable=SC2086
{
    early 4 2x2
    early 4 2x2 -- --threads
    once early 8 @1,0,0,2,1,2,0,1 $tight --mca coll_fast_algorithm staged
    once early 11 4+4+2+1 --mca coll_fast_algorithm pipe2d
    early 8 1+3+4 --mca coll_fast_check 1 -- mismatch ragged
}

# ---- the other schedules and algorithms ----

# shellcheck disable=SC2086
{
    for decompose in compact openshop birkhoff; do
        once staged 8 @1,0,0,2,1,2,0,1 --mca coll_fast_decompose $decompose -- $some
    done
    once staged 11 4+4+2+1 $tight --mca coll_fast_decompose openshop -- $some
}
for algorithm in pipe2d direct; do
    # shellcheck disable=SC2086
    {
        served $algorithm 8 2x4
        once served $algorithm 11 4+4+2+1 $tight -- $some
        once served $algorithm 8 @1,0,0,2,1,2,0,1 --mca coll_fast_lanes 1 -- $some
    }
done

served eager 8 2x4
served eager 8 @1,0,0,2,1,2,0,1 -- --threads
# shellcheck disable=SC2086
served eager 11 4+4+2+1 --mca coll_fast_check 1 -- mismatch far $some

# ---- our bytes as the MPI's own messages ----

mpi='--mca coll_fast_transport mpi'
# shellcheck disable=SC2086
{
    staged 4 2x2 $mpi
    staged 11 4+4+2+1 $mpi $tight --mca coll_fast_window 1 -- $some structs in-place split
    once served pipe2d 8 @1,0,0,2,1,2,0,1 $mpi
    served direct 8 2x4 $mpi -- $some
    staged 4 2x2 $mpi -- --threads
}

# ---- buffers on a device: a driver without a GPU, and memory that ends the
# process when a CPU touches it ----

device="-x LD_LIBRARY_PATH=$build/tests/accel:${LD_LIBRARY_PATH-}"
touched="--device $some in-place split self dup same-counts same-in-place
    many-counts nonblocking persistent inter collectives never-freed isend ring
    chain ints"

# ALGORITHM NP NODES OPTION...
served_on_device() {
    algorithm=$1 np=$2 servers=$3
    shift 3
    # shellcheck disable=SC2086
    report "on a device, $algorithm, np $np, $servers${1:+, }$*" \
        job "$np" "$servers" "$algorithm" --mca coll fast $device \
        --mca coll_fast_algorithm "$algorithm" --mca coll_fast_min_bytes 0 \
        "$@" -- $touched
}

# shellcheck disable=SC2086
{
    served_on_device staged 4 2x2
    once served_on_device staged 8 1+3+4 $tight --mca coll_fast_check 1
    once served_on_device pipe2d 8 2x4
    once served_on_device direct 8 @1,0,0,2,1,2,0,1
    served_on_device staged 4 2x2 $mpi
    report 'on a device, two threads' job 4 2x2 any --mca coll fast $device \
        --mca coll_fast_min_bytes 0 -- --device --threads
    report 'on a device, one host' job 4 '' native --mca coll fast $device -- \
        $touched
    report 'on a device, tuner' job 4 2x2 any --mca coll fast $device \
        --mca coll_fast_min_bytes 1k -- $touched
}

# ---- the same, and UCX takes them there ----

direct="$device -x LD_PRELOAD=$build/tests/accel/libfake_ucx.so
    -x FAKE_UCX_COUNT=$scratch/on_device --mca coll_fast_accel_direct always"

# Every rank has had messages on a device. ALGORITHM NP NODES OPTION...
straight() {
    algorithm=$1 np=$2 servers=$3
    shift 3
    : >"$scratch/on_device"
    # shellcheck disable=SC2086
    job "$np" "$servers" "$algorithm" --mca coll fast $direct \
        --mca coll_fast_algorithm "$algorithm" --mca coll_fast_min_bytes 0 \
        "$@" -- $touched || return
    [ "$(grep -c '^[1-9]' "$scratch/on_device")" = "$np" ] && return
    echo "messages on a device, by rank: $(tr '\n' ' ' <"$scratch/on_device")"
    return 1
}

# All cases: what is not contiguous has to be on the host.
every_case() {
    # shellcheck disable=SC2086
    report "$1, every case" job 4 2x2 staged --mca coll fast $2 \
        --mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0 -- \
        --device ${every-}
}

straight_from_device() {
    report "straight from a device, $1, np $2, $3" straight "$@"
}

# shellcheck disable=SC2086
{
    every_case 'on a device' "$device"
    every_case 'straight from a device' "$direct"
    straight_from_device staged 4 2x2
    straight_from_device staged 8 1+3+4 $tight --mca coll_fast_check 1
    once straight_from_device pipe2d 8 2x4
    once straight_from_device direct 8 @1,0,0,2,1,2,0,1
    report 'straight from a device, two threads' job 4 2x2 any --mca coll fast \
        $direct --mca coll_fast_min_bytes 0 -- --device --threads
    report 'straight from a device, tuner' job 4 2x2 any \
        --mca coll fast $direct --mca coll_fast_min_bytes 1k -- $touched
}

always='--mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0'

# ---- what is left to the MPI's own algorithm ----

report 'algorithm off' job 4 2x2 native --mca coll fast \
    --mca coll_fast_algorithm off
report 'one host, parameter servers not set' job 4 '' native --mca coll fast
report 'small calls, native' job 4 2x2 native --mca coll fast \
    --mca coll_fast_bundle_memory 0 --mca coll_fast_min_bytes 64k -- ragged ints split

# ---- small blocks in bundles, all of a call or some ----

report 'small calls' job 4 2x2 bundles --mca coll fast \
    --mca coll_fast_tuner 0 -- ragged
report 'small calls, one lane' job 8 2x4 bundles --mca coll fast \
    --mca coll_fast_tuner 0 --mca coll_fast_stage_cost 1m \
    --mca coll_fast_lanes 1 -- ragged
bundles() {
    text="bundles, np $1, $2${3:+, }"
    np=$1 servers=$2
    shift 2
    report "$text$*" job "$np" "$servers" any --mca coll fast \
        --mca coll_fast_algorithm bundles --mca coll_fast_min_bytes 0 "$@"
}
bundles 2 2x1
bundles 4 2x2
bundles 4 2x2 --mca coll_fast_bundle_memory 20k
bundles 4 2x2 -- --threads
bundles 8 @1,0,0,2,1,2,0,1
bundles 8 1+3+4 --mca coll_fast_transport mpi
once bundles 11 4+4+2+1 --mca coll_fast_bundle_memory 64k
# shellcheck disable=SC2086
bundles 11 4+4+2+1 --mca coll_fast_lanes 2 --mca coll_fast_check 1 \
    -- $some structs in-place split dup
# shellcheck disable=SC2086
once bundles 16 4x4 -- $some split many

# ---- MPI_Alltoall ----

# NP SERVERS MOST CALLS [OPTION...]: some calls on MPI_COMM_WORLD are counted as CALLS.
alltoall() {
    np=$1 servers=$2 most=$3 calls=$4
    shift 4
    # shellcheck disable=SC2086 # most: two words at times
    any_run -np "$np" --mca coll fast --mca coll_fast_servers "$servers" \
        --mca coll_fast_stats 1 "$@" "${program%v}" $most &&
        grep -q 'mpi_alltoall: ok' "$scratch/out" &&
        grep 'stats: MPI_COMM_WORLD[:,]' "$scratch/out" | grep -q " [1-9][0-9]* $calls,"
}

even() {
    report "MPI_Alltoall, np $1, $2, $3, $4" alltoall "$@"
}

even 4 2x2 1000000 staged --mca coll_fast_algorithm staged
even 4 2x2 300000 bundles --mca coll_fast_algorithm bundles
even 8 @1,0,0,2,1,2,0,1 70000 bundles
once even 11 4+4+2+1 70000 bundles
once even 6 1+2+3 300000 pipe2d --mca coll_fast_algorithm pipe2d

# ---- MPI_Alltoallw ----

each='ragged zero small large changing repeated places in-place ints structs wide-types
    columns planes empty-types bottom split self dup same-counts same-in-place small-large'
# NP SERVERS ALGORITHM [OPTION...]; with bundles some cases have blocks
# that are too large for them.
each_type() {
    text="MPI_Alltoallw, np $1, $2, $3"
    np=$1 servers=$2 algorithm=$3 expect=$3
    shift 3
    [ "$algorithm" != bundles ] || expect=any
    report "$text" job "$np" "$servers" "$expect" --mca coll fast \
        --mca coll_fast_algorithm "$algorithm" --mca coll_fast_min_bytes 0 \
        "$@" -- --alltoallw $each
}
each_type 4 2x2 staged
each_type 8 @1,0,0,2,1,2,0,1 bundles
# shellcheck disable=SC2086
each_type 5 2+2+1 pipe2d $tight

# ---- several nonblocking calls at once ----

# Nonblocking and persistent calls are those of MPICH before 4.3 itself where the library is
# preloaded; no need to test them.
if_ours=
if [ -z "${native-}" ] && "${mpiexec-false}" --version | grep -q 'Version: *4\.[0-2]\.'; then
    if_ours=once
fi

many='many-outstanding frames between wait-against-barrier wait-against-recv
    test-before-others two-communicators get-status test waitall waitany free-while-active
    dup-while-active nonblocking nonblocking-first'
# NP SERVERS ALGORITHM [OPTION...]
several() {
    text="several nonblocking, np $1, $2, $3"
    np=$1 servers=$2 algorithm=$3
    shift 3
    report "$text" job "$np" "$servers" "$algorithm" --mca coll fast \
        --mca coll_fast_algorithm "$algorithm" --mca coll_fast_min_bytes 0 \
        "$@" -- $many
}
# shellcheck disable=SC2086
{
    $if_ours several 4 2x2 staged
    $if_ours several 8 @1,0,0,2,1,2,0,1 bundles
    $if_ours several 5 2+2+1 pipe2d $tight
    $if_ours report 'several nonblocking, as they are' job 6 2+3+1 any --mca coll fast -- $many
}

# ---- persistent calls ----

# NP SERVERS ALGORITHM [OPTION...]
again() {
    text="persistent, np $1, $2, $3"
    np=$1 servers=$2 algorithm=$3
    shift 3
    report "$text" job "$np" "$servers" any --mca coll fast \
        --mca coll_fast_algorithm "$algorithm" --mca coll_fast_min_bytes 0 \
        "$@" -- start-orders ahead startall never-started among-others \
        start-against-barrier comm-freed misused same-plan persistent left
}
$if_ours again 4 2x2 staged
$if_ours again 8 @1,0,0,2,1,2,0,1 bundles

# ---- each call in another form ----

# FORM NP SERVERS ALGORITHM [OPTION...] [-- PROGRAM-OPTION]
each_as() {
    text="$1, np $2, $3, $4${5:+, }"
    form=$1 np=$2 servers=$3 algorithm=$4 expect=$4
    shift 4
    [ "$algorithm" != bundles ] || expect=any
    case " $* " in
    *' -- '*) ;;
    *) set -- "$@" -- ;;
    esac
    # shellcheck disable=SC2086 # each
    report "$text$*" job "$np" "$servers" "$expect" --mca coll fast \
        --mca coll_fast_algorithm "$algorithm" --mca coll_fast_min_bytes 0 \
        "$@" "--$form" $each
}

# ---- now ours, now the MPI's, by the tuner: always right ----

report 'tuner' job 4 2x2 any --mca coll fast --mca coll_fast_min_bytes 1k
once report 'tuner, no bundles' job 4 2x2 any --mca coll fast \
    --mca coll_fast_min_bytes 1k --mca coll_fast_bundle_memory 0
once report 'tuner, places' job 8 @1,0,0,2,1,2,0,1 any --mca coll fast \
    --mca coll_fast_min_bytes 300 --mca coll_fast_plan_cache 20k

# Lines of stats about MPI_COMM_WORLD of 4 ranks: inside an MPICH (FS_NATIVE) before 5.0 it
# ends before MPI_Finalize asks, where each rank is alone and prints its own.
n_stats=1
if [ -n "${FS_NATIVE-}" ] && "$mpiexec" --version | grep -q 'Version: *4'; then
    n_stats=4
fi

# What it remembers is in use: the number before WORDS in the stats of
# MPI_COMM_WORLD is above 0, or 0.  WORDS 1|0 OPTION...
remembers() {
    words=$1 grows=$2
    shift 2
    job 4 2x2 any --mca coll fast --mca coll_fast_stats 1 "$@" || return 1
    awk -v words=" $words" -v grows="$grows" -v n_stats="$n_stats" '
        /stats: MPI_COMM_WORLD/ && index($0, words) {
            number = $0
            sub(words ".*", "", number)
            sub(/.* /, "", number)
            ++n
            if ((number > 0) != grows) { print; bad = 1 }
        }
        END { if (n != n_stats) print n " lines of stats"; exit bad || n != n_stats }' \
        "$scratch/out"
}

plans='calls with the plan of an earlier one'
kept='same-counts same-in-place many-counts'
# shellcheck disable=SC2086
{
    report 'plans of earlier calls' remembers "$plans" 1 $always -- $kept
    report 'no plans of earlier calls' remembers "$plans" 0 $always \
        --mca coll_fast_plan_cache 0 -- $kept
}

# Several calls are one.  1|0 OPTION...
frames() {
    grows=$1
    shift
    # shellcheck disable=SC2086
    report "frames${*:+, $*}" remembers 'calls in frames' "$grows" $always \
        "$@" -- frames
}

# What the tuner finds in one job the next one begins with. The number of lines
# with WORDS is as given.  NUMBER WORDS
tunes() {
    job 4 2x2 any --mca coll fast --mca coll_fast_verbose 1 \
        --mca coll_fast_tuning "$scratch/tuning" -- same-counts || return 1
    lines=$(grep -c "$2" "$scratch/out")
    [ "$lines" = "$1" ] && [ -s "$scratch/tuning" ] && return
    echo "$lines lines"
    return 1
}

early='MPI_COMM_WORLD call 2:.*according to the tuner'
report 'tuning: an empty file' tunes 0 "$early"
report 'tuning: what the job before has found' tunes 1 "$early"
echo '# not ours' >>"$scratch/tuning"
report 'tuning: a broken line' tunes 1 'tuning file .*: line [0-9]*: no JSON'

# ---- what it says ----

# As many lines as calls, of the algorithm that ran.
says() {
    job 4 2x2 staged --mca coll fast --mca coll_fast_verbose 1 "$@" -- ragged
    status=$?
    lines=$(grep -c 'MPI_COMM_WORLD call [1-5]: staged (' "$scratch/out")
    sums=$(grep -c 'summary: 5 calls, 5 staged' "$scratch/out")
    [ "$status $lines $sums" = '0 5 1' ] && return
    echo "$lines lines, $sums summaries"
    return 1
}

# shellcheck disable=SC2086
report 'verbose: a line per call' says $always
report 'algorithm auto, above min_bytes' says --mca coll_fast_min_bytes 1 \
    --mca coll_fast_tuner 0 --mca coll_fast_bundle_memory 0

# Peak staging of every rank is within the limit.
within_limit() {
    # shellcheck disable=SC2086
    job 4 2x2 staged --mca coll fast --mca coll_fast_stats 1 $tight $always \
        -- large || return 1
    awk -v n_stats="$n_stats" '/peak staging/ {
             for (k = 1; k <= NF; ++k) if ($k == "staging") {
                 split($(k + 1), peak, "/"); limit = $(k + 4)
             }
             ++n
             if (peak[3] + 0 > limit + 0 || peak[1] + 0 <= 0) { print; bad = 1 }
         }
         END { if (n != n_stats) print n " lines of stats"; exit bad || n != n_stats }' \
        "$scratch/out"
}

report 'stats: peak staging within the limit' within_limit
