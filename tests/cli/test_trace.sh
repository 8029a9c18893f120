#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# "fastsched trace" as a user meets it: a small trace, and what is refused, with
# file and line, status 2 and nothing on stdout. Real traces: mpi/test_trace.sh.
#
#   test_trace.sh [BUILD-DIRECTORY]
set -u
export LC_ALL=C

tool=${1:-${FS_BUILDDIR:-.}}/libfastsched/fastsched
python=$(command -v python3) || { echo 'no python3'; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
subcommand=trace
# shellcheck source=tests/cli/command.sh
. "$here/command.sh"

# ---- two ranks, each a server; one message, 1000 bytes in 80 us ----

# RANK
head_line() {
    printf '{"displayTimeUnit": "ns", "otherData": {"format": "fastsched trace 1", "comm": "WORLD", "id": "1f", '
    printf '"rank": %d, "world_rank": %d, "ranks": 2, "server": %d, "servers": 2, "lane": 0, ' "$1" "$1" "$1"
    printf '"lanes": 1, "rate": 0, "clock": "c", "epoch_ns": 5, "events": 3, "dropped": 0}, "traceEvents": [\n'
}
# CALL-DURATION
call_lines() {
    printf '{"ph": "X", "cat": "call", "pid": 0, "name": "call 1", "tid": 0, "ts": 1000.000, "dur": %s, ' "$1"
    printf '"args": {"call": 1, "algorithm": "staged", "decompose": "compact", "stages": 1, "planned": 1000, '
    printf '"bytes": 1000, "bound": 1000, "status": "success", "run": 1010.000}},\n'
    printf '{"ph": "X", "cat": "phase", "pid": 0, "name": "summary", "tid": 0, "ts": 1000.0, "dur": 10, "args": {"call": 1}},\n'
    printf '{"ph": "X", "cat": "phase", "pid": 0, "name": "run", "tid": 0, "ts": 1010.0, "dur": 90, "args": {"call": 1}},\n'
}
# CAT NAME TS DUR ARGS
event() {
    printf '{"ph": "X", "cat": "%s", "pid": 0, "name": "%s", "tid": 700, "ts": %s, "dur": %s, "args": {"call": 1, %s}}' "$@"
}
write_traces() {
    rm -rf t
    mkdir t
    {
        head_line 0
        call_lines 100.000
        event planned 'send to server 1' 0.0 0 '"server": 1, "start": 0, "bytes": 1000' && echo ,
        event wire 'send to 1' 1015.000 5.5 '"peer": 1, "count": 1, "bytes": 1000, "op": 0, "ready": 1010.0' && echo ,
        event grant 'grant from 1' 1014.000 0 '"peer": 1, "count": 1' && echo ,
        event grant 'grant from 1' 1098.000 0 '"peer": 1, "count": 2'
        printf '\n]}\n'
    } >t/fast-WORLD-1f-rank0.json
    {
        head_line 1
        call_lines 100.000
        event planned 'receive from server 0' 0.0 0 '"server": 0, "start": 0, "bytes": 1000' && echo ,
        event wire 'receive from 0' 1011.000 84 '"peer": 0, "count": 1, "bytes": 1000, "op": 0, "ready": 1010.0' && echo ,
        event grant 'grant to 0' 1012.000 0 '"peer": 0, "count": 1' && echo ,
        event grant 'grant to 0' 1096.000 0 '"peer": 0, "count": 2'
        printf '\n]}\n'
    } >t/fast-WORLD-1f-rank1.json
}

write_traces
cat >golden <<'END'
WORLD (1f): 2 ranks on 2 servers
  call  algorithm                    bytes      time ms   skew ms  of bound
     1  staged  compact               1000        0.100     0.000      80.0%

Call 1 of WORLD
algorithm        staged, compact
between servers  1000 bytes, 1 messages
lower bound      1000 bytes per lane, 0.080 ms
time             0.100 ms, slowest rank 0, 1.250 times the bound

Steps: planned, bytes per lane; first send, last arrival; the lane that took longest,
the longest pause of a lane before it; mean rate of busy lanes, of the full rate; ms
 step          from         bytes      first       last    longest    pause   Mbit/s  effic.  servers
    0             0          1000      0.015      0.095      0.080    0.000    100.0  100.0%  0>1 

Critical path by activity, 0.100 ms in all
summary       0.010 ms    10.0%  summary exchange
wire          0.080 ms    80.0%  bytes between servers
grant         0.004 ms     4.0%  grants on their way
idle          0.006 ms     6.0%  until a rank noticed, or its turn came
The wire on this path carried 1000 bytes at 100.0 Mbit/s; at full rate 0.080 ms.

Critical path; ms from when the last rank had entered
    from ms    took ms  what      rank  peer        bytes  msgs  waited for
END
run t --rate 100mbit
{ ends 0 && silent err; } >why
sed '/from ms/q' out | diff golden - >>why
verdict 'golden text'
[ "$(sed '1,/from ms/d' out | awk '{ print $3, $4 }' | tr '\n' ' ')" = 'summary 1 idle 1 grant 0 idle 0 wire 1 idle 1 grant 0 idle 0 ' ] ||
    sed '1,/from ms/d' out >why
verdict 'the critical path'

run t --rate=100mbit --svg chart.svg --output merged.json --format json
{ ends 0 && silent err && said out '"unmatched": 0' && said out '"wire": 80000'; } >why
said chart.svg 'rank 1 planned to send' >>why
said merged.json '"ts": 11.000' >>why
said merged.json '"cat": "arrow"' >>why
verdict 'JSON, SVG, merged'
"$python" -m json.tool out >/dev/null 2>why
"$python" -m json.tool merged.json >/dev/null 2>>why
verdict 'valid JSON'

# WHAT PYTHON: the files written again by another program, with the object in x.
rewritten() {
    write_traces
    run t --output merged.json
    mv out before
    for file in t/*; do
        "$python" -c "import json, sys
def turned(x):
    if isinstance(x, dict):
        return {k: turned(x[k]) for k in reversed(x)}
    return [turned(y) for y in x] if isinstance(x, list) else x
x = json.load(open(sys.argv[1]))
open(sys.argv[1], 'w').write($2)" "$file"
    done
    run t --output again.json
    {
        ends 0 && silent err
        diff before out
        "$python" -c 'import json; exit(*(json.load(open(a)) != json.load(open(b)) for a, b in [("merged.json", "again.json")]))' ||
            echo 'another merged file'
    } >why
    verdict "$1"
}
rewritten 'files without a blank' 'json.dumps(x, separators=(",", ":"))'
rewritten 'files with a line for each member' 'json.dumps(x, indent=4)'
rewritten 'files with members in another order' 'json.dumps(turned(x))'
rewritten 'files with more members' 'json.dumps({"a": [{}, 1.5e3, "\u00e9"], **x, "b": None})'

write_traces
rm t/fast-WORLD-1f-rank1.json
run t
{ ends 0 && silent err && said out 'the files of 1 ranks are missing' && said out 'unmatched        1 messages'; } >why
verdict 'a rank without a file'
write_traces

# ---- refused ----

refused() {
    { ends 2 && silent out && said err "fastsched: $1"; } >why
    [ "$(wc -l <err)" = 1 ] || { echo 'not one line on stderr:' && cat err; } >>why
    verdict "refused: $1"
}
refuses() { # WORDS OPTION...
    words=$1
    shift
    run "$@"
    refused "$words"
}
# WORDS SED-SCRIPT: rank 1's file, edited.
refuses_file() {
    write_traces
    sed "$2" t/fast-WORLD-1f-rank1.json >edited
    mv edited t/fast-WORLD-1f-rank1.json
    run t
    refused "t/fast-WORLD-1f-rank1.json:$1"
}

refuses 'trace needs a directory'
refuses 'trace needs a directory' --rate 1gbit
refuses 'nowhere: No such file or directory' nowhere
mkdir empty
refuses 'empty: no traces; their names are fast-*-rank*.json' empty
refuses 'unexpected argument "u"' t --rate 1gbit u
refuses 't: no such call in these traces' t --call 2
refuses 't: no such call in these traces' t --comm OTHER
refuses '--call "0": allowed: 1 to' t --call 0
refuses '--format "xml": allowed: text, json' t --format xml
refuses 'unexpected argument "u"' t u
refuses_file '1: not a trace of coll_fast' '1s/traceEvents/events/'
refuses_file '1: something follows the object' '1d'
refuses_file '1: not an object' '1s/^/[/'
refuses_file '1: not a list of events' '1s/\[$/7/'
refuses_file '1: the format is not "fastsched trace 1"' '1s/trace 1/trace 2/'
refuses_file '1: wrong or missing: rank' '1s/"rank": 1/"rank": 2/'
refuses_file '1: wrong or missing: id' '1s/"id": "1f"/"id": 1/'
refuses_file '1: another file has the same rank' '1s/"rank": 1/"rank": 0/'
refuses_file '1: wrong or missing: clock' '1s/"clock": "c"/"clock": 7/'
refuses_file '2: wrong or missing: ts' '2s/"ts": 1000.000/"ts": -1/'
refuses_file '2: wrong or missing: ts' '2s/"ts": 1000.000/"ts": 1e3/'
refuses_file '2: wrong or missing: ts' '2s/"ts": 1000.000/"ts": 1.0005/'
refuses_file '2: wrong or missing: bytes' '2s/"bytes": 1000/"bytes": 18446744073709551616/'
refuses_file '6: wrong or missing: peer' '6s/"peer": 0/"peer": 2/'
refuses_file '6: wrong or missing: count' '6s/"count": 1, //'
refuses_file '7: the name of a member is missing' '7s/"args": {/"args": {,/'
refuses_file '7: a value is missing' '7s/"ts": 1012.000/"ts": /'
refuses_file '7: wrong or missing: ts' '7s/"ts": 1012.000/"ts": [1]/'
refuses_file '7: a string does not end' '7s/"grant to 0".*/"grant/'
refuses_file '7: the name of a member is missing' '7s/}},$/},/' # the next event is in it
refuses_file '7: not an object' '7s/$/}/'
refuses_file '8: no "," or "]" after an event' '7s/,$//'
refuses_file '7: a zero byte' '7s/grant to/&\x00/'
refuses_file '7: no ":"' '7s/"tid":/"tid"/'
refuses_file '4: not an object' '4s/.*/[]/'
refuses_file '8: the file ends too early' '9d'
refuses_file '8: no "," or "}" after a member' '8s/}}$//'
refuses_file '8: the file ends too early' '8s/}}$//;9d'
refuses_file '9: something follows the object' '9s/$/ 1/'
refuses_file '1: the file is empty' '1,$d'

write_traces
write_traces
run t --svg -
{ ends 0 && silent err && [ "$(head -c 5 out)" = '<?xml' ] && [ "$(tail -n 1 out)" = '</svg>' ]; } >why || cat out >>why
verdict 'an SVG on standard output'
run t --rate 50mbit
{ ends 0 && said out '160.0%' && said out 'More than 100% of the bound: the NICs are faster than the rate of 50.0 Mbit/s that --rate'; } >why
verdict 'a rate that is too low'
run t --svg no/such/directory.svg
{ ends 1 && silent out && said err 'no/such/directory.svg: No such file'; } >why
verdict 'an SVG that cannot be written'
run t --output no/such/directory.json
{ ends 1 && silent out && said err 'no/such/directory.json: No such file'; } >why
verdict 'a merged file that cannot be written'


if [ -w /dev/full ]; then
    "$tool" trace t >/dev/full 2>err
    status=$?
    { ends 1 && said err 'fastsched: cannot write to standard output: No space left'; } >why
    [ "$(wc -l <err)" = 1 ] || cat err >>why
    verdict 'a full disk is noticed'
    for option in --svg --output; do
        run t $option /dev/full
        { ends 1 && silent out && said err 'fastsched: /dev/full: No space left'; } >why
        [ "$(wc -l <err)" = 1 ] || cat err >>why
        verdict "a full disk is noticed: $option"
    done
fi

run --rate 100mbit t
{ ends 0 && silent err && said out 'Critical path'; } >why
verdict 'the directory behind the options'

# ---- OTF2 ----

# shellcheck source=tests/mpi/with_otf2.sh
. "$here/../mpi/with_otf2.sh"
if [ -z "$otf2_path" ]; then
    echo 'skip    OTF2: no otf2-print, or no python3 with the module otf2'
else
    PATH=$otf2_path run t --otf2 archive
    { ends 0 && silent err && said out 'Critical path'; } >why
    otf2-print archive/traces.otf2 | sed '1,/^---/d; s/ <[0-9]*>//g; s/  */ /g' >events
    cat >golden <<'END'
ENTER 0 0 Region: "call, staged"
ENTER 0 0 Region: "summary"
ENTER 1 0 Region: "call, staged"
ENTER 1 0 Region: "summary"
LEAVE 0 10000 Region: "summary"
ENTER 0 10000 Region: "run"
LEAVE 1 10000 Region: "summary"
ENTER 1 10000 Region: "run"
MPI_IRECV_REQUEST 1 11000 Request: 0
MPI_ISEND 0 15000 Receiver: 1 ("WORLD rank 1"), Communicator: "WORLD", Tag: 4, Length: 1000, Request: 0
ENTER 2 15000 Region: "step 0"
ENTER 3 15000 Region: "step 0"
MPI_ISEND_COMPLETE 0 20500 Request: 0
MPI_IRECV 1 95000 Sender: 0 ("WORLD rank 0"), Communicator: "WORLD", Tag: 4, Length: 1000, Request: 0
LEAVE 2 95000 Region: "step 0"
LEAVE 3 95000 Region: "step 0"
LEAVE 0 100000 Region: "run"
LEAVE 0 100000 Region: "call, staged"
LEAVE 1 100000 Region: "run"
LEAVE 1 100000 Region: "call, staged"
END
    diff golden events >>why
    "$python" "$here/../mpi/check_otf2.py" t archive >check || cat check >>why
    verdict 'OTF2: every event at its time'
    PATH=$otf2_path run t --otf2 archive
    { ends 1 && silent out && said err 'fastsched: archive: File exists'; } >why
    verdict 'OTF2: a directory that is there is left alone'
    rm -r archive t/fast-WORLD-1f-rank1.json
    PATH=$otf2_path run t --otf2 archive
    {
        ends 0 && silent err
        otf2-print -G archive/traces.otf2 >definitions
        said definitions 'WORLD rank 1, no file'
    } >why
    verdict 'OTF2: a rank without a file'
    write_traces
fi

# -S: no modules but those of the standard library.
mkdir plain
printf '#!/bin/sh\nexec "%s" -S "$@"\n' "$python" >plain/python3
chmod +x plain/python3
PATH=$scratch/plain:$PATH run t --otf2 never
{ ends 1 && silent out && said err 'fastsched: fastsched trace --otf2 needs the module otf2 for '; } >why
[ ! -e never ] || echo 'there is a directory' >>why
verdict 'no module otf2'

# ---- without python3, or without what it runs ----

without="fastsched: fastsched trace needs python3, which is not in PATH; install it"
PATH=$scratch "$tool" trace t >out 2>err
status=$?
{ ends 1 && silent out && said err "$without"; } >why
verdict 'no python3'
PATH=$scratch "$tool" trace --help >out 2>err
status=$?
{ ends 0 && silent err && said out '--output FILE'; } >why
verdict 'the help needs none'
mkdir -p moved/tools/python
cp "$tool" moved
moved/fastsched trace t >out 2>err
status=$?
{ ends 1 && silent out && said err "fastsched trace needs $scratch/moved/tools/python/__main__.py: No such file"; } >why
verdict 'no files for python3'

[ $failed = 0 ]
