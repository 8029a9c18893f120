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
# shellcheck source=tests/cli/command.sh
. "$(dirname "$0")/command.sh"

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

# ---- refused ----

refuses() {
    message=$1
    shift
    run "$@"
    { ends 2 && silent out && said err "fastsched: $message"; } >why
    verdict "refused: $*"
}
refuses 'no traffic is given' --servers 4x4
refuses 'both kinds of traffic' hot.csv --pattern moe --servers 2x2
refuses 'two matrices are given, "hot.csv" and --matrix; allowed: one' hot.csv --matrix hot.csv
refuses '1032 ranks are too many to simulate each message; allowed: up to 1024' --pattern moe --servers 129x8
refuses 'missing.csv: No such file or directory' missing.csv
refuses '--html and --svg are given; allowed: one of them' hot.csv --html a --svg b
refuses 'unexpected argument "b.csv"' hot.csv b.csv
refuses '--scale-out "fast": allowed' hot.csv --scale-out fast

[ $failed = 0 ] || { echo "$failed failed"; exit 1; }
