#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# MPI_Alltoallv and MPI_Allreduce with buffers on the GPU of this machine, which needs
# nothing but its driver: the rest comes from an archive of tests/gpu/bundle. Ranks share the GPU
# and play servers. Prints and writes tables; every byte is checked.
#
#   tests/gpu/run.sh [--host] [--keep] [-t SECONDS] [-l SECONDS] [-o FILE] BUNDLE
#
# BUNDLE is unpacked to a directory of its own (below $TMPDIR or /tmp), which is
# removed at the end, or kept with --keep. --host is a dry run with host buffers. No
# job starts later than -l (90) before -t (400) seconds are over, none takes longer
# than -l. FILE, by default RESULTS.md in $OUT or here, gets the report. CUDA_DRIVER
# may say where libcuda.so.1 is; UCX_TLS is obeyed. At most 8 minutes.
# Exit status: 0 every figure is there; 1 a job failed, did not end, gave no figures,
# or a byte was wrong; 2 it cannot run like that; 3 nothing failed, but for some jobs
# no time was left; 77 there is no GPU.
set -u
export LC_ALL=C

reduced='1048576 4194304 16777216' # bytes of a vector
sizes='4096 16384 65536 262144 1048576 4194304' # bytes per pair, in the tables
total=400                                       # seconds for all jobs
limit=90                                        # for one
ucx='--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any'
fast='--mca coll fast --mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0'
# Rendezvous: eager messages leave a GPU 8 kB at a time.
straight='--mca coll_fast_accel_direct always -x FASTSCHED_UCX_RNDV_THRESH=auto'
round='--mca coll_fast_accel_direct never' # by pinned host memory
stats='--mca coll_fast_stats 1'
begin=$(date +%s)
command="$0 $*"
failed=0
skipped=0 # jobs for which no time was left
no_time=75

die() {
    printf 'run.sh: %s\n' "$*" >&2
    exit 2
}

# ---- arguments, archive ----

# OPTION VALUE
need_seconds() {
    case $2 in
    '' | *[!0-9]* | 0* | ????*) die "$1 \"$2\": allowed: 1 to 999 seconds" ;;
    esac
}

host_only=0
keep=0
result=${OUT:-.}/RESULTS.md
bundle=
while [ $# -gt 0 ]; do
    case $1 in
    -o | -t | -l) [ $# -gt 1 ] || die "$1 needs a value" ;;
    esac
    case $1 in
    --host) host_only=1 ;;
    --keep) keep=1 ;;
    -o) result=$2 && shift ;;
    -t) need_seconds "$1" "$2" && total=$2 && shift ;;
    -l) need_seconds "$1" "$2" && limit=$2 && shift ;;
    -*) die "unknown option $1; allowed: --host, --keep, -t SECONDS, -l SECONDS, -o FILE" ;;
    *) bundle=$1 ;;
    esac
    shift
done
[ -n "$bundle" ] || die 'needs an archive of tests/gpu/bundle: run.sh fast.tar.xz'
[ -r "$bundle" ] || die "cannot read $bundle"
[ "$limit" -le "$total" ] || die "-l $limit: allowed: at most the $total seconds of -t"

scratch=$(mktemp -d) || die 'cannot make a directory; TMPDIR says where'
leave() {
    if [ $keep = 1 ]; then
        echo "run.sh: kept: $scratch" >&2
    else
        rm -rf "$scratch"
    fi
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
prefix=$scratch/fastsched-gpu
logs=$scratch/logs
mkdir "$logs" "$scratch/tmp" || exit 2
tar -C "$scratch" -xJf "$bundle" || die "cannot unpack $bundle; tar and xz are needed"
for file in bin/mpirun bin/osu_alltoallv_skew bin/osu_allreduce_arrival bin/copy_bench VERSIONS; do
    [ -r "$prefix/$file" ] || die "$bundle is no archive of tests/gpu/bundle: no $file in it"
done

# No settings or plugins of this machine's; and where Open MPI has been moved to.
for name in $(env | sed -n 's/^\(\(OMPI\|PMIX\|PRTE\|SLURM\)_[A-Za-z0-9_]*\)=.*/\1/p') LD_PRELOAD; do
    unset "$name"
done
export OPAL_PREFIX="$prefix/usr" OMPI_MCA_mca_base_param_files=none
export PMIX_MCA_mca_base_component_disable_dlopen=1 PMIX_MCA_pcompress_base_silence_warning=1
export HWLOC_PLUGINS_PATH="$prefix/none"
export TMPDIR="$scratch/tmp" # what ended jobs leave is removed, too

# UCX 1.22 ends with SIGSEGV where /dev/shm is too small for it, as in many containers:
# System V's shared memory instead.
# shellcheck disable=SC2046 # fields
set -- $(df -kP /dev/shm | tail -n 1)
if [ "${4:-0}" -lt 1048576 ]; then
    case ${UCX_TLS:-^} in
    ^) export UCX_TLS=^posix ;;
    ^*) UCX_TLS=$UCX_TLS,posix ;;
    esac
fi

# ---- the driver ----

# In the order of trust: as told, as the loader knows, where it usually is.
find_driver() {
    if [ -n "${CUDA_DRIVER-}" ]; then
        echo "$CUDA_DRIVER"
        return
    fi
    { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | while read -r name rest; do
        case "$name $rest" in
        'libcuda.so.1 '*x86-64*) echo "${rest##*=> }" && break ;;
        esac
    done
    for dir in /usr/lib/x86_64-linux-gnu /usr/local/nvidia/lib64 /usr/lib64 /usr/local/cuda/compat /usr/lib/wsl/lib; do
        [ ! -e "$dir/libcuda.so.1" ] || echo "$dir/libcuda.so.1"
    done
}

# Beside our libraries, with its own: our loader looks there first.
link_driver() {
    driver=$(find_driver | head -n 1)
    [ -n "$driver" ] || return
    for file in "${driver%/*}"/libnvidia-*.so*; do
        [ ! -e "$file" ] || ln -sf "$file" "$prefix/lib/"
    done
    ln -sf "$driver" "$prefix/lib/libcuda.so.1"
}

# ---- jobs ----

# Is there time for a job, even for one that does not end?
has_time() {
    [ $(($(date +%s) - begin + limit)) -le "$total" ]
}

# NP OPTION... -- BENCHMARK-OPTION...: the job's exit status, or $no_time.
program=osu_alltoallv_skew
mpi() {
    has_time || return $no_time
    np=$1 options=
    shift
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # options have no blanks
    timeout -k 5 "$limit" "$prefix/bin/mpirun" --allow-run-as-root --oversubscribe --bind-to none -np "$np" \
        --mca plm isolated $ucx $options "$prefix/bin/$program" "$@" </dev/null
}

# STATUS of mpi(): the job was ended because it did not end.
hung() {
    [ "$1" = 124 ] || [ "$1" = 137 ]
}

# The rows of the benchmark's table in FILE: size, MB/s, algorithm, Pass or Fail.
rows() {
    while read -r size _ _ _ _ _ rate _ _ algorithm valid _; do
        case $size,${rate-},${valid-} in
        [1-9]*,[0-9]*,Pass | [1-9]*,[0-9]*,Fail) echo "$size $rate $algorithm $valid" ;;
        esac
    done <"$1"
}

# STATUS FILE ALGORITHM SIZES: what is wrong with the job, nothing if all is well.
verdict() {
    n=0
    while read -r size _ algorithm valid; do
        n=$((n + 1))
        [ "$valid" = Pass ] || echo "wrong bytes at $size bytes"
        [ "$algorithm" = "$3" ] || echo "served by $algorithm, not $3, at $size bytes"
    done <"$2.rows"
    if hung "$1"; then
        echo "no end in $limit seconds, after $n sizes"
    elif [ "$1" != 0 ]; then
        echo "exit status $1 after $n sizes"
    else
        for bytes in $4; do
            grep -q "^$bytes " "$2.rows" || echo "no figure at $bytes bytes"
        done
    fi
}

# Likewise of osu_allreduce_arrival, whose times have one digit behind the point.
reduced_rows() {
    while read -r size _ _ time _ _ _ algorithm valid; do
        case $size,$time,${valid-} in
        [1-9]*,[0-9]*.[0-9],Pass | [1-9]*,[0-9]*.[0-9],Fail)
            tenths=${time%.*}${time#*.}
            while [ "${tenths#0}" != "$tenths" ]; do tenths=${tenths#0}; done
            echo "$size $((10 * size / ${tenths:-1})) $algorithm $valid"
            ;;
        esac
    done <"$1"
}

# NAME NP PATTERN WHAT FILE: a line below the tables, and the end of what the job said.
note() {
    printf -- '- %s, %s ranks, %s: %s; the end of its output:\n\n' "$1" "$2" "$3" "$4"
    tail -n 5 "$5" | sed 's/^/      /'
    echo
}

# NAME MUST|MAY NP PATTERN ALGORITHM SIZES FILTER OPTION... -- BENCHMARK-OPTION...: what one
# job says, its rows through the filter. What MAY fail, and has, is not tried again.
job() {
    name=$1 must=$2 np=$3 pattern=$4 served=$5 wanted=$6 filter=$7
    shift 7
    file=$logs/$name.$np.$pattern
    : >"$file.rows"
    [ ! -e "$logs/$name.$program.bad" ] || return
    mpi "$np" "$@" >"$file" 2>&1
    status=$?
    if [ $status = $no_time ]; then
        : >"$file.no_time"
        skipped=$((skipped + 1))
        return
    fi
    $filter "$file" >"$file.rows"
    bad=$(verdict $status "$file" "$served" "$wanted" | head -n 3)
    grep -h 'takes no .* memory' "$file" | sort -u | sed "s/^/- $name: /" >>"$logs/notes"
    [ -n "$bad" ] || return
    note "$name" "$np" "$pattern" "$bad" "$file" >>"$logs/notes"
    [ "$must" = MUST ] || : >"$logs/$name.$program.bad"
    if [ "$must" = MUST ] || hung $status; then
        failed=1
    fi
}

# NAME MUST|MAY NP PATTERN MEMORY ALGORITHM OPTION...: one cell of each row.
cell() {
    called=$1 fatal=$2 ranks=$3 traffic=$4 memory=$5 by=$6
    shift 6
    job "$called" "$fatal" "$ranks" "$traffic" "$by" "$sizes" rows "$@" -- \
        -d "$memory" --servers "2x$((ranks / 2))" -p "$traffic" -m 4k:4m -i 5 -x 2 -c
}

# NAME MUST|MAY MEMORY ALGORITHM OPTION...: likewise, of MPI_Allreduce.
reduced_cell() {
    called=$1 fatal=$2 memory=$3 by=$4
    shift 4
    program=osu_allreduce_arrival
    job "$called" "$fatal" 4 sums "$by" "$reduced" reduced_rows "$@" -- \
        -d "$memory" --servers 4x1 -m 1m:16m -i 10 -x 5 -c --type double
    program=osu_alltoallv_skew
}

run_reductions() {
    echo '4 ranks, MPI_Allreduce ...' >&2
    add='--mca coll fast --mca coll_fast_servers 4x1 --mca coll_fast_allreduce all --mca coll_fast_allreduce_min 8k
        --mca coll_fast_tuner 0 --mca coll_fast_straggler 1'
    # shellcheck disable=SC2086
    {
        reduced_cell host-mpi MUST host - --mca coll '^fast'
        reduced_cell host-fast MUST host stragglar $add
        [ $host_only = 0 ] || return
        reduced_cell gpu-mpi MAY cuda - --mca coll '^fast'
        reduced_cell gpu-fast MUST cuda stragglar $add $straight
        reduced_cell gpu-round MUST cuda stragglar $add $round
    }
}

run_jobs() {
    for np in 4 8; do
        for pattern in balanced zipf:0.8; do
            echo "$np ranks, $pattern ..." >&2
            nodes="--mca coll_fast_servers 2x$((np / 2))"
            # shellcheck disable=SC2086
            {
                cell host-mpi MUST $np $pattern host - --mca coll '^fast'
                cell host-fast MUST $np $pattern host staged $fast $nodes
                [ $host_only = 0 ] || continue
                cell gpu-mpi MAY $np $pattern cuda - --mca coll '^fast'
                cell gpu-fast MUST $np $pattern cuda staged $fast $straight $stats $nodes
                cell gpu-round MUST $np $pattern cuda staged $fast $round $stats $nodes
            }
        done
    done
}

# Two ranks get a device. What they do then is not the question, if they end: the
# benchmark's exit status is 2 if they do not.
has_gpu() {
    link_driver
    # shellcheck disable=SC2086
    mpi 2 $fast --mca coll_fast_servers 2x1 -- -d cuda -m 8:8 -i 1 -x 0 >"$logs/gpu" 2>&1
    status=$?
    if hung $status; then
        failed=1
        note 'the first job' 2 random "no end in $limit seconds" "$logs/gpu" >>"$logs/notes"
    fi
    [ $status != 2 ]
}

# In some sandboxes processes cannot open each other's memory of the GPU.
find_transports() {
    try_straight >"$logs/ipc" 2>&1
    status=$?
    case $status in
    0 | "$no_time") return ;;
    1) what='wrong bytes' failed=1 ;;
    124 | 137) what="no end in $limit seconds" failed=1 ;;
    *) what="exit status $status" ;;
    esac
    case $status,${UCX_TLS:-^} in
    1,*) without= ;;
    *,^) without=^cuda_ipc ;;
    *,^*) without=$UCX_TLS,cuda_ipc ;;
    *) without= ;;
    esac
    if [ -n "$without" ] && (export UCX_TLS="$without" && try_straight) >"$logs/no_ipc" 2>&1; then
        export UCX_TLS="$without"
        what="$what, so all others run with UCX_TLS=$UCX_TLS"
    fi
    note 'a first job, straight from the GPU' 4 random "$what" "$logs/ipc" >>"$logs/notes"
}

try_straight() {
    # shellcheck disable=SC2086
    mpi 4 $fast $straight --mca coll_fast_servers 2x2 -- -d cuda -m 1m:1m -i 1 -x 0 -c
}

# ---- report ----

# NAME NP PATTERN SIZE: the figure, or why there is none.
figure() {
    why=-
    [ ! -e "$logs/$1.$2.$3.no_time" ] || why='no time'
    while read -r size rate _ valid; do
        case $size,$valid in
        "$4,Pass") why=$rate ;;
        "$4,Fail") why='wrong bytes' ;;
        esac
    done <"$logs/$1.$2.$3.rows"
    printf ' %s |' "$why"
}

# The names of the jobs of a row, and the head of the table.
names_of_jobs() {
    if [ $host_only = 1 ]; then
        names='host-mpi host-fast' heads='host: Open MPI | host: fast' rules='---|---'
    else
        names='host-mpi host-fast gpu-mpi gpu-fast gpu-round'
        heads='host: Open MPI | host: fast | GPU: Open MPI | GPU: fast | GPU: fast, by the host'
        rules='---|---|---|---|---'
    fi
}

print_table() {
    names_of_jobs
    echo "| ranks | servers | pattern | KiB per pair | $heads |"
    echo "|---|---|---|---|$rules|"
    for np in 4 8; do
        for pattern in balanced zipf:0.8; do
            for bytes in $sizes; do
                printf '| %s | 2x%s | %s | %s |' $np $((np / 2)) $pattern $((bytes / 1024))
                for name in $names; do
                    figure "$name" "$np" "$pattern" "$bytes"
                done
                echo
            done
        done
    done
}

print_reductions() {
    names_of_jobs
    printf '\n## MPI_Allreduce\n\n'
    cat <<'TEXT'
Sums of doubles, 4 ranks that play 4 servers; MB/s: bytes of the vector / median time. "GPU: fast" adds with a kernel on the
GPU; "by the host": copies of the vectors in host memory.

TEXT
    echo "| MiB | $heads |"
    echo "|---|$rules|"
    for bytes in $reduced; do
        printf '| %s |' $((bytes / 1048576))
        for name in $names; do
            figure "$name" 4 sums "$bytes"
        done
        echo
    done
}

# NAME NP PATTERN: per cent of the time of all calls, on all ranks, in which copies
# from, to or on the GPU were under way; from the lines that stats prints.
share_of() {
    copies=0 runs=0
    while read -r run copy; do
        runs=$((runs + run)) copies=$((copies + copy))
    done <<LINES
$(sed -n 's|.* runs [0-9.]*/\([0-9]*\)[.]\([0-9]*\)/[0-9.]* s, device copies [0-9.]*/\([0-9]*\)[.]\([0-9]*\)/.*|\1\2 \3\4|p' \
    "$logs/$1.$2.$3" 2>/dev/null | sed 's/\(^\| \)0*\([0-9]\)/\1\2/g')
LINES
    if [ "$runs" -gt 0 ]; then
        printf ' %s |' $((100 * copies / runs))
    elif [ -e "$logs/$1.$2.$3.no_time" ]; then
        printf ' no time |'
    else
        printf ' - |'
        note "$1" "$2" "$3" 'no time of copies' "$logs/$1.$2.$3" >>"$logs/notes"
        failed=1
    fi
}

print_shares() {
    [ $host_only = 0 ] || return
    printf '\nTime with copies from, to or on the GPU under way, %% of the time in which data moved:\n\n'
    echo '| ranks | pattern | GPU: fast | GPU: fast, by the host |'
    echo '|---|---|---|---|'
    for np in 4 8; do
        for pattern in balanced zipf:0.8; do
            printf '| %s | %s |' $np $pattern
            share_of gpu-fast $np $pattern
            share_of gpu-round $np $pattern
            echo
        done
    done
}

# CSV with a header to Markdown.
print_csv() {
    rule=
    while IFS=, read -r first rest; do
        old=$IFS
        IFS=,
        # shellcheck disable=SC2086 # fields
        set -- "$first" $rest
        IFS=$old
        printf '|'
        printf ' %s |' "$@"
        echo
        if [ -z "$rule" ]; then
            rule=$(printf -- '---|%.0s' "$@")
            echo "|$rule"
        fi
    done <"$1"
}

print_copies() {
    [ $host_only = 0 ] || return
    printf '\n## Copies and sums on the GPU\n\n'
    cat <<'TEXT'
GB/s copied, or added. batch: many segments as a call copies them, list and all, by one kernel; row: one by one; kernel: the
kernel alone, many times; ceiling: one large copy; share: the kernel's of that, above 1 where all fits into the GPU's caches.

TEXT
    timeout -k 5 60 "$prefix/bin/copy_bench" >"$logs/copies.csv" 2>"$logs/copies.err" </dev/null
    status=$?
    lines=$(wc -l <"$logs/copies.csv")
    if [ $status = 0 ] && [ "$lines" -gt 1 ]; then
        print_csv "$logs/copies.csv"
    else
        echo "copy_bench: exit status $status, $lines lines"
        head -n 5 "$logs/copies.err"
        failed=1
    fi
}

print_machine() {
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi -L
        nvidia-smi --query-gpu=driver_version,memory.total --format=csv,noheader
    elif [ -r /proc/driver/nvidia/version ]; then
        head -n 1 /proc/driver/nvidia/version
    else
        echo 'GPU: unknown'
    fi
    echo "CPUs: $(nproc)"
    uname -sr
    cat "$prefix/VERSIONS"
}

print_report() {
    printf '# Buffers on a GPU\n\n    %s\n\n' "$command"
    print_machine | while read -r line; do
        printf -- '- %s\n' "$line"
    done
    cat <<'TEXT'

MB/s: bytes of all pairs / (ranks * median time). All ranks share one host and one GPU and play two servers, so there
is no slow link, and nothing to gain from a schedule: the table compares the ways to move the data. Processes
take turns on a GPU, unless MPS is running. Every byte of every call was checked. "By the host": data is staged in pinned
host memory, chunk by chunk; "GPU: fast" does the same if UCX does not support the GPU (the UCX of libucx-cu13
needs driver 580; tests/gpu/bundle can take libucx-cu12). Open MPI's own algorithm copies what a rank sends to itself
with the CPU, which ends the job if this Open MPI was built without CUDA. A dash: the job failed, or one like it had
failed before. No time: the job was not started, because too little time was left.

TEXT
    print_table
    print_shares
    print_reductions
    if [ -s "$logs/notes" ]; then
        echo
        cat "$logs/notes"
    fi
    print_copies
}

# ---- the run ----

# shellcheck disable=SC3045 # bash and dash have it
ulimit -c 0
if [ $host_only = 0 ] && ! has_gpu; then
    echo "run.sh: no GPU that can be used (driver: ${driver:-no libcuda.so.1 found}); --host runs without" >&2
    head -n 3 "$logs/gpu" >&2
    exit 77
fi
[ $host_only = 1 ] || find_transports
run_reductions
run_jobs
print_report >"$logs/report"
cat "$logs/report"
cp "$logs/report" "$result" || exit 2
echo "run.sh: $(($(date +%s) - begin)) s, report in $result" >&2
if [ $failed = 1 ]; then
    echo 'run.sh: FAILED: the lines below the tables say what' >&2
    exit 1
elif [ $skipped -gt 0 ]; then
    echo "run.sh: INCOMPLETE: no time for $skipped jobs; -t SECONDS gives more" >&2
    exit 3
fi
