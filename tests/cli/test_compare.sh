#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# "fastsched compare": golden text, what it says of traffic whose gain is known,
# the report, and what is refused.
#
#   test_compare.sh [BUILD-DIRECTORY]
set -u
export LC_ALL=C

tool=${1:-${FS_BUILDDIR:-.}}/libfastsched/fastsched
python=$(command -v python3 || true)
subcommand=compare
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/cli/command.sh
. "$here/command.sh"

# ---- by hand: no start-up costs, 1 GB/s ----

# Two servers of two ranks: all 2 GB from rank 0 to rank 2. Two NICs could take
# 1 s, one takes 2 s.
cat >hot.csv <<'END'
0 0 2e9 0
0 0 0 0
0 0 0 0
0 0 0 0
END
cluster='--scale-out 1GBps --scale-up 1TBps --alpha 0 --alpha-up 0'
cat >golden <<'END'
traffic     hot.csv: 2.00 GB, 2.00 GB of it between servers
cluster     2 servers, 4 ranks; a server has 2 NICs of 8.00 Gbit/s
            1.00 TB/s of a rank inside; a message starts in 0 ns, inside 0 ns
bottleneck  server 0 sends 2.00 GB, 100% of what goes between servers (mean 50%)
            rank 0 is the busiest, with 2.00 GB from or to other servers

way                  time   over bound fast gains
rotation           2.00 s         2.00      2.00x  to r + 1, r + 2, ... in turn (MPICH)
pairwise           2.00 s         2.00      2.00x  one partner per step, in lock step (Open MPI)
all at once        2.00 s         2.00      2.00x  everything is posted at the start (Open MPI's linear)
hierarchical       2.00 s         2.00      2.00x  gathered inside servers, then sent along rails
fast               1.00 s         1.00             staged, birkhoff
lower bound        1.00 s         1.00             the bytes of the busiest server over its NICs

You would gain 2.0x over the best of these, rotation: one NIC has 2.0 times the
bytes per NIC of the busiest server, and fast shares bytes among the NICs of a
server.
END
# shellcheck disable=SC2086
run hot.csv --servers 2x2 $cluster
{ ends 0 && silent err && diff golden out; } >why
verdict 'golden text'
# shellcheck disable=SC2086
run --matrix hot.csv --servers 2x2 $cluster
{ ends 0 && diff golden out; } >why
verdict '--matrix is the same'

# VERDICT OPTION...
says() {
    word=$1
    shift
    run "$@" --format json
    { ends 0 && silent err && said out "\"verdict\": \"$word\""; } >why
    [ -z "$python" ] || "$python" -m json.tool out >/dev/null 2>>why
    verdict "$word: $*"
}
says gain --pattern intrahost --servers 4x4
says gain --pattern moe --servers 4+4+2+1
says 'no gain' --pattern balanced --servers 4x4 --mean 64m
says 'loss' --pattern balanced --servers 16x1 --mean 128k --alpha 100
says inside --pattern random --servers 1x8
says small --pattern random --servers 4x4 --mean 1k
says gain --pattern zipf:0.8 --servers 65x2
said out '"name": "all at once", "meaning": "everything is posted at the start (Open MPI'"'"'s linear)", "simulated": false}' >why
verdict 'what is too large is not simulated'

# Incast hits what has many senders to a NIC, not fast.
measured() {
    "$tool" compare --pattern balanced --servers 4x2 --mean 16m --format json "$@" |
        sed -n 's/.*"all at once".*"time_us": \([0-9]*\)\.[0-9]*, .*"hierarchical".*/\1/p; s/.*"fast": .*"time_us": \([0-9]*\)\..*/\1/p' | tr '\n' ' '
}
# shellcheck disable=SC2046
set -- $(measured) $(measured --incast 0.5)
{ [ $# = 4 ] && [ "$3" -gt $((2 * $1)) ] && [ "$4" -lt $((2 * $2)) ]; } || echo "times are $*" >why
verdict '--incast'

# ---- the report ----

if [ -n "$python" ]; then
    printf '0 5e9\n5e8 0\n' >'a <b> & c.csv'
    run 'a <b> & c.csv' --html report.html
    { ends 0 && silent err && said report.html 'a &lt;b&gt; &amp; c.csv' && said report.html 'prefers-color-scheme:dark'; } >why
    grep -oE '(href|src|url|@import)[=(]' report.html >>why
    "$python" - report.html >>why 2>&1 <<'END'
import html.parser, sys
VOID = {"meta", "br"}
class Checker(html.parser.HTMLParser):
    open_ = []
    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open_.append(tag)
    def handle_endtag(self, tag):
        if self.open_.pop() != tag:
            print("</%s> at %s closes another" % (tag, self.getpos()))
checker = Checker()
checker.feed(open(sys.argv[1], encoding="utf-8").read())
if checker.open_:
    print("not closed:", checker.open_)
END
    verdict 'a report: escaped, well-formed, loads nothing'
    run --pattern moe --servers 70x2 --html - --format json
    { ends 0 && silent err && said out '2 x 2 servers'; } >why
    [ "$(head -n 1 out)" = '<!DOCTYPE html>' ] && [ "$(tail -n 1 out)" = '</html>' ] || echo 'more than the page' >>why
    verdict 'a report on standard output, and nothing else'
    run --pattern moe --servers 4x4 --svg -
    { ends 0 && silent err && said out 'lower bound' && said out '>fast</text>'; } >why
    "$python" -c 'import sys, xml.dom.minidom as m; sys.exit(m.parse("out").documentElement.tagName != "svg")' 2>>why ||
        echo 'not an SVG alone' >>why
    verdict 'the timeline alone'
    run --pattern random --servers 1x4 --svg none.svg
    { ends 1 && silent out && said err '--svg: there is nothing to draw. You gain nothing: no bytes'; } >why
    [ ! -e none.svg ] || echo 'a file of nothing' >>why
    verdict 'no timeline of nothing'
    run --pattern random --servers 1x4 --html report.html
    { ends 0 && said report.html 'No bytes go from one server to another'; } >why
    ! grep -q 'over time' report.html || echo 'a timeline of nothing' >>why
    verdict 'a report of nothing'
    run --pattern random --servers 2x2 --html no/such/report.html
    { ends 1 && silent out && said err 'no/such/report.html: No such file'; } >why
    verdict 'a report that cannot be written'
fi

# ---- recordings: the hot matrix three times, one that stays inside twice, and a part of the ranks ----

refuses() {
    message=$1
    shift
    run "$@"
    { ends 2 && silent out && said err "fastsched: $message"; } >why
    verdict "refused: $*"
}
if [ -n "$python" ]; then
    cat >inside.csv <<'END'
0 5 0 0
0 0 0 0
0 0 0 7
0 0 0 0
END
    printf '0 2e9\n0 0\n' >pair.csv
    "$python" "$here/write_recording.py" recorded world 0,1,2,3 0,0,0,0 0:hot.csv 1:inside.csv 0:hot.csv 0:hot.csv 1:inside.csv
    "$python" "$here/write_recording.py" recorded part 1,3 0,0 3:pair.csv
    cat >golden <<'END'
recording   recorded: 6 calls on 2 communicators within 4.00 s
traffic     8.00 GB, 8.00 GB of it between servers
longest     kind 1, MPI_Alltoallv of world
cluster     2 servers, 4 ranks; a server has 2 NICs of 8.00 Gbit/s
            1.00 TB/s of a rank inside; a message starts in 0 ns, inside 0 ns
bottleneck  server 0 sends 2.00 GB, 100% of what goes between servers (mean 50%)
            rank 0 is the busiest, with 2.00 GB from or to other servers

 kind    calls bytes each     best way       time       fast fast gains
    1        3    2.00 GB     rotation     2.00 s     1.00 s      2.00x  MPI_Alltoallv of world, 4 ranks
    2        1    2.00 GB     rotation     2.00 s     2.00 s      1.00x  MPI_Ialltoallv of part, 2 ranks
    3        2       12 B       inside          -          -          -  MPI_Alltoall of world, 4 ranks

way                  time   over bound fast gains  sums over 4 calls
rotation           8.00 s         1.60      1.60x  to r + 1, r + 2, ... in turn (MPICH)
pairwise           8.00 s         1.60      1.60x  one partner per step, in lock step (Open MPI)
all at once        8.00 s         1.60      1.60x  everything is posted at the start (Open MPI's linear)
hierarchical       8.00 s         1.60      1.60x  gathered inside servers, then sent along rails
fast               5.00 s         1.00             a schedule for each kind
lower bound        5.00 s         1.00             the bytes of the busiest server over its NICs
2 calls are small or inside servers: fast leaves them to the MPI

You would gain 1.6x over the best of these, rotation: 5.00 s instead of 8.00 s.
Kind 1 takes longest: You would gain 2.0x over the best of these, rotation: one
NIC has 2.0 times the bytes per NIC of the busiest server, and fast shares
bytes among the NICs of a server.
END
    # shellcheck disable=SC2086
    run recorded --servers 2x2 $cluster
    { ends 0 && silent err && diff golden out; } >why
    verdict 'golden text of a recording'
    # shellcheck disable=SC2086
    run recorded --servers 2 $cluster
    { ends 0 && diff golden out; } >why
    verdict 'a number of servers has equal parts of the ranks'
    # shellcheck disable=SC2086
    run recorded --servers 2x2 $cluster --matrices 1 --format json
    { ends 0 && said out '"kinds": 3, "compared": 1, "compared_share": 0.750000' && said out '"verdict": "gain"'; } >why
    "$python" -m json.tool out >/dev/null 2>>why
    verdict 'the kind with most bytes alone'
    run recorded
    { ends 0 && said out 'It was recorded on one server: --servers says what cluster'; } >why
    verdict 'recorded on one server'
    # Most bytes stay inside servers, and what leaves them is small.
    printf '0 4000 0 0\n4000 0 0 0\n0 0 0 4000\n0 0 4000 0\n' >near.csv
    printf '0 0 900 0\n0 0 0 0\n0 0 0 0\n0 0 0 0\n' >far.csv
    "$python" "$here/write_recording.py" little world 0,1,2,3 0,0,0,0 0:near.csv 0:far.csv
    run little --servers 2x2
    { ends 0 && said out 'longest     kind 2' && said out 'cluster     2 servers, 4 ranks' &&
        said out 'All calls with bytes between servers are small. Kind 2 has most:'; } >why
    verdict 'a recording of small calls, and of calls inside servers'
    run recorded/part-1 --servers 2x2 --format json
    { ends 0 && said out '"communicators": 1, "calls": 1,'; } >why
    verdict 'one communicator alone'
    # shellcheck disable=SC2086
    run recorded --servers 2x2 $cluster --html report.html
    { ends 0 && diff golden out && said report.html '1.6× faster with fast' && said report.html 'All calls' &&
        said report.html '<dd>8.00 s</dd>' && said report.html 'MPI_Alltoallv of world'; } >why
    verdict 'a report of a recording'
    for k in 1 3; do
        "$tool" matrix recorded --kind $k >out 2>err
        status=$?
        case $k in
        1) sed 's/2e9/2000000000/' hot.csv ;;
        3) cat inside.csv ;;
        esac >golden
        { ends 0 && diff golden out; } >why
        verdict "the matrix of kind $k"
    done
    refuses '--servers "1x3" has 3 ranks, and the recorded program had 4; allowed: at least as many' recorded --servers 1x3
    refuses 'a recording and --pattern are given; allowed: one of them' recorded --pattern moe
    mkdir empty
    refuses 'empty: there is no recording; expected: the directory that parameter record named' empty
    subcommand=matrix
    refuses '--kind 4: allowed: 1 to 3, as many different matrices as are in the recording' recorded --kind 4
    refuses '"hot.csv" is no directory; allowed: that of a recording, or --matrix FILE' hot.csv
    subcommand=compare
    printf 'no\n' >recorded/part-1/rank1.record
    refuses 'recorded/part-1/rank1.record: line 1: this is no recording' recorded
fi
refuses 'no traffic is given' --servers 4x4
refuses 'both kinds of traffic' hot.csv --pattern moe --servers 2x2
refuses 'two matrices are given, "hot.csv" and --matrix; allowed: one' hot.csv --matrix hot.csv
refuses '1032 ranks are too many to simulate each message; allowed: up to 1024' --pattern moe --servers 129x8
refuses 'missing.csv: No such file or directory' missing.csv
refuses '--html and --svg are given; allowed: one of them' hot.csv --html a --svg b
refuses 'unexpected argument "b.csv"' hot.csv b.csv
refuses '--scale-out "fast": allowed' hot.csv --scale-out fast

[ $failed = 0 ] || { echo "$failed failed"; exit 1; }
