#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The logic of run.sh without a GPU: an archive whose mpirun is a few lines of shell
# that succeed, hang, fail, tell of wrong bytes, or say nothing. One line per case.
set -u
export LC_ALL=C

run=$(cd "$(dirname "$0")" && pwd)/run.sh
for tool in xz tar timeout; do
    command -v $tool >/dev/null || { echo "${0##*/}: skipped: no $tool" && exit 77; }
done
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
cd "$scratch" || exit 1
mkdir -p tmp fastsched-gpu/bin
export TMPDIR="$scratch/tmp"
at=
failed=0

# ---- an archive ----

# Whose mpirun does what FAKE says, in jobs whose command line has FAKE_AT in it, and
# notes where it lies.
cat >fastsched-gpu/bin/mpirun <<'TEXT'
#!/bin/sh
dirname "$0" >>"$FAKE_LOG"
sizes='4096 8192 16384 32768 65536 131072 262144 524288 1048576 2097152 4194304'
valid=Pass algorithm=staged status=0
case $* in
*^fast*) algorithm=- ;;
esac
case $* in
*$FAKE_AT*) how=$FAKE ;; # a pattern
*) how=fine ;;
esac
case $how in
hang) exec sleep 100 ;;
slow) sleep 2 ;;
fail) status=5 ;;
wrong) valid=Fail status=1 ;;
host) algorithm=host ;;
silent) exit 0 ;;
words) exec echo 'an MPI of another kind' ;;
short) sizes='4096 8192 16384' ;;
no_gpu) echo 'this machine takes no cuda memory' && exit 2 ;;
esac
case $* in
*osu_allreduce_arrival*)
    case $algorithm in staged) algorithm=stragglar ;; esac
    for size in 1048576 2097152 4194304 8388608 16777216; do
        [ $how = short ] || echo "$size 1.0 1.0 0.5 1.0 1.0 nan $algorithm $valid"
    done
    exit $status
    ;;
esac
for size in $sizes; do
    echo "$size 1 1 1 1 0.00 12.5 - - $algorithm $valid"
done
[ $how = no_stats ] || echo 'coll fast: stats: runs 0.400000/0.500000/0.600000 s, device copies 0.000000/0.100000/0.200000 s'
exit $status
TEXT
cat >fastsched-gpu/bin/copy_bench <<'TEXT'
#!/bin/sh
echo what,batch
[ "$FAKE" = no_copies ] || echo copies,1.5
TEXT
: >fastsched-gpu/bin/osu_alltoallv_skew
: >fastsched-gpu/bin/osu_allreduce_arrival
echo 'a fake' >fastsched-gpu/VERSIONS
chmod 755 fastsched-gpu/bin/*
tar -cJf fake.tar.xz fastsched-gpu

# ---- cases ----

# FAKE OPTION...: the report is in RESULTS.md, both outputs in out and err.
try() {
    FAKE=$1
    shift
    rm -f RESULTS.md
    : >log
    export FAKE FAKE_AT="$at" FAKE_LOG="$scratch/log"
    timeout 60 "$run" -o RESULTS.md "$@" >out 2>err </dev/null
    status=$?
}

# WHAT STATUS: what else is wrong is in why. Nothing may be left of any run.
verdict() {
    [ "$status" = "$2" ] || echo "exit status $status instead of $2" >>why
    for left in "$TMPDIR"/*; do
        [ ! -e "$left" ] || { echo "left behind: $left" && rm -rf "$left"; } >>why
    done
    if [ -s why ]; then
        failed=$((failed + 1))
        echo "FAILED  $1"
        sed 's/^/    /' why err
    else
        echo "ok      $1"
    fi
    : >why
}

said() { grep -qF -e "$2" "$1" || echo "$1 lacks: $2" >>why; }
silent() { ! grep -F -e "$2" "$1" >>why; }
: >why

try fine --host fake.tar.xz
said RESULTS.md '| 8 | 2x4 | zipf:0.8 | 4096 | 12.5 | 12.5 |'
silent RESULTS.md '- |'
grep -v "^$TMPDIR/" log >>why # whatever else may lie in /tmp is not run
verdict 'host buffers, all is well' 0

try fine fake.tar.xz
said RESULTS.md '| 8 | 2x4 | zipf:0.8 | 4096 | 12.5 | 12.5 | 12.5 | 12.5 | 12.5 |'
said RESULTS.md '| 8 | zipf:0.8 | 20 | 20 |'
said RESULTS.md '| copies | 1.5 |'
said RESULTS.md '| 16 | 33554432 | 33554432 | 33554432 | 33554432 | 33554432 |'
verdict 'a GPU, all is well' 0

at='^fast*double'
try wrong fake.tar.xz
said RESULTS.md 'gpu-mpi, 4 ranks, sums: wrong bytes at 1048576 bytes'
said RESULTS.md '| 16 | wrong bytes | 33554432 |'
verdict 'a GPU, wrong sums' 1
at=

at='^fast*cuda'
try fail fake.tar.xz
said RESULTS.md '| 8 | 2x4 | zipf:0.8 | 4096 | 12.5 | 12.5 | - | 12.5 | 12.5 |'
said RESULTS.md 'gpu-mpi, 4 ranks, balanced: exit status 5'
verdict "Open MPI's own algorithm may fail on a GPU" 0
at=

try fine --host --keep fake.tar.xz
kept=$(sed -n 's/^run.sh: kept: //p' err)
[ -e "$kept/logs/report" ] || echo "no report in \"$kept\"" >>why
[ "$(stat -c %a "$kept")" = 700 ] || ls -ld "$kept" >>why
rm -rf "${kept:-none}"
verdict 'kept: a directory for its owner only' 0

# ---- jobs that give no figures ----

# WHAT FAKE TEXT OPTION...: exit status 1, and the report has TEXT.
fails() {
    what=$1 fake=$2 text=$3
    shift 3
    try "$fake" "$@" fake.tar.xz
    said RESULTS.md "$text"
    said err FAILED
    verdict "$what" 1
}

fails 'jobs that fail' fail 'exit status 5 after 11 sizes' --host
fails 'wrong bytes' wrong '| wrong bytes | wrong bytes |' --host
fails 'another algorithm' host 'served by host, not staged' --host
fails 'jobs that say nothing' silent 'no figure at 4096 bytes' --host
fails 'jobs that say something else' words 'no figure at 4096 bytes' --host
fails 'sizes are missing' short 'no figure at 65536 bytes' --host
fails 'jobs that do not end, until no time is left' hang 'no end in 1 seconds, after 0 sizes' --host -l 1 -t 6
fails 'a GPU: copies are not told' no_stats 'no time of copies'
fails 'a GPU: copy_bench says nothing' no_copies 'copy_bench: exit status 0, 1 lines'
at='-m 8:8'
fails 'a GPU: the first job does not end' hang 'the first job, 2 ranks, random: no end' -l 1 -t 99
at='-m 1m:1m'
fails 'a GPU: wrong bytes in the second' wrong 'a first job, straight from the GPU, 4 ranks, random: wrong bytes'
at='^fast*cuda'
fails "a GPU: Open MPI's own algorithm does not end" hang 'gpu-mpi, 4 ranks, balanced: no end' -l 1 -t 99
at=

try slow --host -l 12 -t 20 fake.tar.xz
said RESULTS.md '| 12.5 |'
said RESULTS.md '| no time |'
silent RESULTS.md '- |'
said err INCOMPLETE
verdict 'too little time for all jobs' 3

# ---- what cannot run ----

# WHAT TEXT STATUS FAKE ARGUMENT...: the words on stderr, and no report.
refuses() {
    what=$1 text=$2 wanted=$3
    shift 3
    try "$@"
    said err "$text"
    [ ! -e RESULTS.md ] || echo 'there is a report' >>why
    verdict "$what" "$wanted"
}

refuses 'no archive' 'needs an archive of tests/gpu/bundle' 2 fine --host
refuses 'an archive that is not there' 'cannot read nowhere' 2 fine --host nowhere
refuses 'no archive at all' 'cannot unpack log' 2 fine --host log
refuses 'a wrong number of seconds' '-t "5m": allowed' 2 fine -t 5m fake.tar.xz
refuses 'more for one than for all' '-l 9: allowed' 2 fine -l 9 -t 8 fake.tar.xz
refuses 'no GPU' 'no GPU that can be used' 77 no_gpu fake.tar.xz
rm fastsched-gpu/bin/copy_bench
tar -cJf part.tar.xz fastsched-gpu
refuses 'a part of an archive' 'no bin/copy_bench in it' 2 fine part.tar.xz

[ $failed = 0 ]
