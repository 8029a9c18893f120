#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command as a user meets it: golden text, JSON, SVG, and what is refused:
# with the value and what is allowed, status 2 and nothing on stdout.
#
#   test_cli.sh [BUILD-DIRECTORY]
set -u
export LC_ALL=C

tool=${1:-${FS_BUILDDIR:-.}}/libfastsched/fastsched
[ -x "$tool" ] || { echo "$tool is not there"; exit 1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT INT TERM
tool=$(cd "$(dirname "$tool")" && pwd)/fastsched
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$scratch" || exit 1

python=$(command -v python3 || true)
failed=0
n_cases=0

fail() {
    printf 'FAILED  %s\n' "$1"
    failed=$((failed + 1))
}

# TEXT: one case; what it found wrong is in $scratch/why.
verdict() {
    n_cases=$((n_cases + 1))
    [ -s why ] || return 0
    fail "$1"
    sed 's/^/    /' why
    return 1
}

# Run the command; out, err and status are left behind.
run() {
    "$tool" "$@" >out 2>err </dev/null
    status=$?
}

# INPUT OPTION...: the same, with something on standard input.
run_with() {
    input=$1
    shift
    # shellcheck disable=SC2059 # the input is a format: it has newlines and NULs
    printf -- "$input" | "$tool" "$@" >out 2>err
    status=$?
}

ends() { [ "$status" = "$1" ] || echo "exit status $status instead of $1"; }
silent() { [ ! -s "$1" ] || { echo "on std$1:" && cat "$1"; }; }
said() { grep -qF -e "$2" "$1" || { echo "std$1 lacks: $2" && cat "$1"; }; }

# ---- refused ----

refused() {
    { ends 2 && silent out && said err "fastsched: $1"; } >why
    [ "$(wc -l <err)" = 1 ] || { echo 'not one line on stderr:' && cat err; } >>why
}

# MESSAGE OPTION...
refuses() {
    message=$1
    shift
    run "$@"
    refused "$message"
    verdict "refused: $*"
}

# MESSAGE INPUT [OPTION...]: as a matrix of plan, from a file and from stdin.
refuses_matrix() {
    message=$1 input=$2
    shift 2
    run_with "$input" plan --matrix - "$@"
    refused "standard input:$message"
    verdict "refused on stdin: $input"
    # shellcheck disable=SC2059
    printf -- "$input" >bad.csv
    run plan --matrix bad.csv "$@"
    refused "bad.csv:$message"
    verdict "refused in a file: $input"
}

refuses_matrix '2:3: "-4" is negative; allowed: whole numbers' '1 2\n3 -4\n'
refuses_matrix '1:1: "-0.5" is negative' '-0.5\n'
refuses_matrix '1:3: "x" is not a number' '1,x\n2,3\n'
refuses_matrix '1:1: "nan" is not a number' 'nan\n'
refuses_matrix '1:1: "inf" is not a number' 'inf\n'
refuses_matrix '1:1: "0x10" is not a number' '0x10\n'
refuses_matrix '1:1: "+1" is not a number' '+1\n'
refuses_matrix '1:1: "1k" is not a number' '1k\n'
refuses_matrix '1:1: "1e" is not a number' '1e\n'
refuses_matrix '1:1: "1.2.3" is not a number' '1.2.3\n'
refuses_matrix '1:1: "1.5" is not whole' '1.5\n'
refuses_matrix '1:1: "1e-3" is not whole' '1e-3\n'
refuses_matrix '3:1: one row more than the 2 columns' '1 2\n3 4\n5 6\n'
refuses_matrix '3:1: the matrix ends after 2 rows of 3 values' '1 2 3\n4 5 6\n'
refuses_matrix '2:4: row 2 ends after 2 of 3 values' '1 2 3\n4 5\n7 8 9\n'
refuses_matrix '2:5: row 2 has more values than the 2 of the first' '1 2\n3 4 5\n'
refuses_matrix '1:1: "18446744073709551616" does not fit in 64 bits' '18446744073709551616\n'
refuses_matrix '1:1: "1e300" does not fit in 64 bits' '1e300\n'
refuses_matrix '1:1: "9223372036854775807" makes the sum of the matrix exceed 2^62' '9223372036854775807\n'
refuses_matrix '2:3: "1" makes the sum of the matrix exceed 2^62' '4611686018427387904 0\n0 1\n'
refuses_matrix '1:1: no number' ''
refuses_matrix '3:1: no number' '# nothing\n\n'
refuses_matrix '1:2: a zero byte' '1\0002\n'
refuses_matrix '1:1: "\xff\xfe1" is not a number' '\377\3761\n'
refuses_matrix '1:3: a value is missing before this comma' '1,,2\n'
refuses_matrix '1:1: a value is missing before this comma' ',1\n'
refuses_matrix '1:3: a value is missing after the last comma' '1,\n'
refuses_matrix '1:1: "000000000000000000000000000000000000000000000000000000000000..." is too long' "$(printf '%0100d' 1)\n"
refuses_matrix '1:1: the matrix is 3 x 3; allowed: 2 x 2 (servers) or 8 x 8 (ranks)' \
    '1 2 3\n4 5 6\n7 8 9\n' --servers 2 --lanes 4

# The row that is too long is not there, and the end never comes.
yes 1 | tr '\n' ' ' | "$tool" plan --matrix - >out 2>err
status=$?
refused 'standard input:1:32769: the matrix is too large; allowed: up to 16384 rows'
verdict 'refused: an endless row'
"$tool" plan --matrix /dev/zero >out 2>err
status=$?
refused '/dev/zero:1:1: a zero byte'
verdict 'refused: endless zero bytes'

good='1 2\n3 4\n'
# shellcheck disable=SC2059
printf "$good" >good.csv
refuses 'missing.csv: No such file or directory' plan --matrix missing.csv
refuses '.: Is a directory' plan --matrix .
refuses 'no traffic is given; allowed: --matrix FILE or --pattern NAME' plan
refuses 'both kinds of traffic' plan --matrix good.csv --pattern random
refuses 'missing.csv: No such file or directory' plan --pattern file:missing.csv
refuses ': No such file or directory' plan --pattern file:
# shellcheck disable=SC2059
printf '1 2\n3 x\n' >bad.csv
refuses 'bad.csv:2:3: "x" is not a number' sim --pattern file:bad.csv
printf '0 0\n0 0\n' >zero.csv
refuses 'zero.csv:1:1: the matrix is all zero; --mean needs one that is not' plan --pattern file:zero.csv --mean 1
refuses 'good.csv:1:1: the matrix is 2 x 2; allowed: 3 x 3 (servers) or 6 x 6 (ranks)' \
    plan --pattern file:good.csv --servers 3 --lanes 2
refuses '--mean: the sum over all pairs of ranks exceeds 2^62' plan --pattern file:good.csv --mean 4096000t
refuses '--pattern "file:good.csv" is not a pattern' bench --pattern file:good.csv
refuses '--servers "0": allowed: 1 to 16384' plan --matrix good.csv --servers 0
refuses '--servers "-1": allowed: 1 to 16384' plan --matrix good.csv --servers -1
refuses '--servers "two": allowed' plan --matrix good.csv --servers two
refuses '--lanes "0": allowed' plan --matrix good.csv --lanes 0
refuses '--lanes 2 needs --servers N' plan --matrix good.csv --lanes 2
refuses '20000 ranks are too many; allowed: up to 16384' plan --pattern random --servers 5000 --lanes 4
refuses '--pattern needs --servers' plan --pattern random
refuses '--pattern "zipf" needs a number' plan --pattern zipf --servers 2
refuses '--pattern "nonsense" is not a pattern' plan --pattern nonsense --servers 2
refuses '--pattern "moe:5" has a number out of range' plan --pattern moe:5 --servers 2
refuses '--servers "2x" does not describe servers' plan --pattern random --servers 2x
refuses '--servers "2x" does not describe servers' plan --pattern random --nodes 2x
refuses '--servers "4294967296x4294967296" does not describe servers' plan --pattern random --servers 4294967296x4294967296
refuses '--mean "1q": allowed' plan --pattern random --servers 2 --mean 1q
refuses '--mean "4t4": allowed' plan --pattern random --servers 2 --mean 4t4
refuses '--mean: the sum over all pairs of ranks exceeds 2^62' plan --pattern random --servers 4 --mean 524288t
refuses '--seed "18446744073709551616": allowed' plan --pattern random --servers 2 --seed 18446744073709551616
refuses '--decompose "nearest": allowed: auto, compact, openshop, birkhoff, best' plan --matrix good.csv --decompose nearest
refuses '--balance "best": allowed: minmove, equalize, greedy, rowcol' plan --matrix good.csv --balance best
refuses '--algorithm "host": allowed: auto, staged, pipe2d, direct' plan --matrix good.csv --algorithm host
refuses '--format "xml": allowed: text, json' plan --matrix good.csv --format xml
refuses '--mtm-threshold "0.5": allowed: 1.000 to 1000.000' plan --matrix good.csv --mtm-threshold 0.5
refuses 'unknown option "--matrx"; see fastsched plan --help' plan --matrx good.csv
refuses 'unknown option "-m"' plan -m good.csv
refuses 'unexpected argument "good.csv"' plan good.csv
refuses 'unexpected argument "good.csv"' plan --pattern random --servers 2 -- good.csv
refuses '--matrix needs a value: FILE' plan --matrix
refuses '--verify takes no value' program --verify=yes
refuses 'unknown command "plam"; allowed: compare, plan, program' plam
refuses 'program needs --rank R or --rank all' program --matrix good.csv
refuses '--rank "2": allowed: 0 to 1, or all' program --matrix good.csv --rank 2
refuses '--rank "x": allowed: 0 to 1, or all' program --matrix good.csv --rank x
refuses '--chunk "0": allowed' program --matrix good.csv --rank 0 --chunk 0
refuses 'staging_limit is 65536 and chunk is 65536 bytes; allowed' program --matrix good.csv --rank 0 --staging-limit 64k
refuses '--servers "1": allowed: 2 to' bench --servers 8,1
refuses '--pattern "zopf:1" is not a pattern' bench --pattern random,zopf:1
refuses '--decompose "nearest": allowed' bench --decompose nearest
refuses '--repeat "0": allowed' bench --repeat 0
refuses '--changed "101": allowed' bench --changed 101

refuses '--scale-out "0gbit": allowed' sim --matrix good.csv --scale-out 0gbit
refuses '--scale-up "fast": allowed' sim --matrix good.csv --scale-up fast
refuses '--topology "torus": allowed: switch, mesh' sim --matrix good.csv --topology torus
refuses '--alpha "-1": allowed' sim --matrix good.csv --alpha -1
refuses 'no traffic is given' sim
refuses 'an exchange needs --servers' sim --algorithm bundles
refuses '2097152 ranks are too many; allowed: up to 1048576' sim --algorithm bundles --servers 8192 --lanes 256
refuses '--radix "1": allowed: auto, 2 to 4294967295' sim --algorithm bundles --servers 2 --radix 1
refuses '--radix "best": allowed: auto, 2 to' sim --algorithm bundles --servers 2 --radix best
refuses '--batch "0": allowed: 1 to 1024' sim --algorithm direct --level loggp --servers 2 --batch 0
refuses '--level loggp knows only --algorithm bundles, direct and spreadout' sim --level loggp --algorithm staged --servers 2
refuses '--algorithm bundles needs --level loggp' sim --algorithm bundles --level ranks --pattern random --servers 2
refuses '--mean: the sum over all pairs' sim --level loggp --algorithm direct --servers 32x32 --mean 4194304t
refuses '--repeat draws a pattern again' sim --pattern file:good.csv --servers 4 --repeat 2
refuses 'no traffic is given' sim --servers 4 --repeat 2
refuses 'no such file: No such file' sim --matrix 'no such file' --servers 4 --arrival exp:1 --repeat 2
refuses '--repeat reads the matrix "-" for each run' sim --matrix - --servers 4 --arrival exp:1 --repeat 2
refuses '--pattern: the list is empty' bench --pattern ''
refuses '--level loggp knows no --svg, --count-scheduling or --repeat' sim --algorithm bundles --servers 2 --repeat 2
for when in '' sometimes:1 uniform uniform:x uniform:101 uniform:0.1234 late:1 late:x:1 exp:-1; do
    refuses "--arrival \"$when\": allowed: uniform:F, late:RANK:F or exp:F, with F from 0 to 100" \
        sim --pattern random --servers 4x4 --arrival "$when"
done
refuses '--arrival "late:16:0.5": there is no rank 16; allowed: 0 to 15' \
    sim --pattern random --servers 4x4 --arrival late:16:0.5
refuses '--arrival supports only --algorithm staged, not pipe2d' \
    sim --pattern random --servers 4x4 --algorithm pipe2d --arrival exp:1
refuses '--arrival knows no --svg' sim --pattern random --servers 4x4 --arrival exp:1 --svg a.svg
refuses '--level loggp knows no --arrival' sim --servers 4x4 --level loggp --arrival exp:1
refuses '--agreement needs --arrival' sim --pattern random --servers 4x4 --agreement 5
refuses '--early-chunk needs --arrival' sim --pattern random --servers 4x4 --early-chunk 64k
refuses '--early-chunk "1": allowed: 64 to' sim --pattern random --servers 4x4 --arrival exp:1 --early-chunk 1
refuses '--agreement "x": allowed: 0.000 to' sim --pattern random --servers 4x4 --arrival exp:1 --agreement x
refuses '--ranks "0": allowed' stragglar --ranks 0
refuses '--straggler "8": allowed with --ranks 8: 0 to 7' stragglar --ranks 8 --straggler 8
refuses '--algorithm "best": allowed: stragglar, ring' stragglar --algorithm best
for late in 8 3,3 3: :5 3:x '' 3, -1; do
    refuses "--late \"$late\": allowed: up to 64 different ranks, 0 to 7" stragglar --late "$late"
done
for servers in 4 4x 0x4 4x0 x4 4x300; do
    refuses "--servers \"$servers\": allowed: servers and ranks of each" stragglar --servers $servers
done
refuses '--late with 1025 ranks: allowed: up to 1024' stragglar --ranks 1025 --late 1
refuses '--algorithm stream: allowed with 2 to 128 ranks' stragglar --ranks 4 --late 1,2,3 --algorithm stream
refuses '--algorithm stream: allowed with 2 to 128 ranks' stragglar --ranks 129 --algorithm stream

refuses 'unexpected argument "sim"; allowed: help COMMAND' help plan sim
refuses 'unknown command "nope"; allowed: compare' help nope
refuses '--mean "1Kb": allowed: 0 to 4611686018427387904, with an optional suffix' plan --pattern random --servers 2 --mean 1Kb

run
{ ends 2 && silent out && said err 'Usage: fastsched'; } >why
verdict 'no command: how to use it, on stderr'

# ---- accepted ----

# OPTION... -- LINE...: simulated ways, to the tenth of a microsecond.
simulates() {
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # options are words
    run stragglar --summary --verify $options
    { ends 0 && silent err; } >why
    for line; do
        said out "$line" >>why
    done
    verdict "simulated:$options"
}
simulates --ranks 8 --late 3:4200,7:4200 --algorithm stream -- \
    'stream, 8 ranks, straggler 3 7' '20 early and 31 late rounds; 24 chunks' \
    'stream                         3085.0       1.35x' \
    'stragglar                      4446.5       0.94x'
simulates --servers 4x4 --late 5:30000 --rate 400gbit -- \
    'stragglar, 4 servers, straggler 1' \
    'stragglar                      9539.8       1.05x' \
    'ring                          10038.0       1.00x' \
    'ring-of-ranks                 37608.6       0.27x' \
    'hierarchical                  33227.6       0.30x'

# KEY OPTIONS: a number of a simulated small call.
small() {
    key=$1
    shift
    "$tool" sim --level loggp "$@" --format json | sed -n 's/^ *"'"$key"'": \([0-9.]*\).*/\1/p'
}
shape='--servers 32x40 --lanes 1 --mean 8 --scale-out 200gbit'
# shellcheck disable=SC2086
{
    direct=$(small time_us $shape --algorithm direct) bundles=$(small time_us $shape --algorithm bundles)
    awk "BEGIN { exit !($bundles > 0 && $direct >= 3.84 * $bundles) }" ||
        echo "direct takes $direct us, bundles $bundles us"
    [ "$(small messages $shape --algorithm bundles)" = 992 ] || echo 'not 992 messages'
} >why
verdict 'small: 32 x 40 ranks, bundles at least 3.84 times as fast'
time=$(small time_us --servers 128x96 --lanes 1 --mean 8 --scale-out 200gbit)
awk "BEGIN { exit !(\"$time\" != \"\" && $time < 5000) }" >why 2>&1 || echo "$time us" >>why
verdict 'small: 128 x 96 ranks, bundles below 5 ms'
{
    [ "$(small radix --servers 1024 --mean 8 --radix 7)" = 7 ] || echo 'not the radix that was asked for'
    [ "$(small header_bytes --servers 16 --mean 8)" = $((16 * 15 * 16 * 8)) ] || echo 'not a row to each server'
    [ "$(small header_bytes --servers 16 --mean 8 --uniform)" = 0 ] || echo 'headers of MPI_Alltoall'
    [ "$(small wire_bytes --servers 4x2 --algorithm direct)" = $((8 * 6 * 1048576)) ] || echo 'not 1 MiB a pair'
} >why
verdict 'small: radix, headers'
run sim --algorithm bundles --servers 1024x64 --lanes 8 --mean 8
{ ends 0 && silent err && said out '1024 servers, 65536 ranks' && said out 'bundles, radix'; } >why
verdict 'small: 65,536 ranks'

# KEY OPTIONS: a number of a simulated call of ranks that enter apart.
apart() {
    key=$1
    shift
    "$tool" sim --mean 64m --servers 4x4 "$@" --format json | sed -n 's/^ *"'"$key"'": \([0-9.]*\).*/\1/p'
}

# LEAST MOST KEY OPTIONS: is it between these?
between() {
    least=$1 most=$2
    shift 2
    is=$(apart "$@")
    awk "BEGIN { exit !(\"$is\" != \"\" && $least <= \"$is\" + 0 && \"$is\" + 0 <= $most) }" || echo "$*: $is"
}
late='--pattern balanced --arrival late:5:0.5'
# shellcheck disable=SC2086
{
    between 1.125 1.126 entry_bound_over_optimal $late
    between 1.5 1.51 early_off_over_optimal $late
    between 1 1.01 early_off_from_last_over_optimal $late
    between 1.1 1.25 early_on_over_optimal $late
    between 40 40 agreement_us $late --alpha 20
    between 7 7 agreement_us $late --agreement 7
    between 0 0 last_entry_us $late --arrival late:5:0
    between 70000 70000 early_chunk $late --early-chunk 70000
    between 1.1 1.25 entry_bound_over_optimal --pattern zipf:0.8 --arrival uniform:0.4 --repeat 3
} >why
verdict 'entries apart: bounds and times'
run sim --pattern random --mean 1k --servers 1025 --level lanes --arrival uniform:0.3
{ ends 0 && silent err && said out 'early off ' && said out 'early on         does not apply'; } >why
verdict 'entries apart: early does not apply to 1,025 ranks'
run sim --pattern zipf:0.8 --servers 4x4 --arrival exp:0.2
{ ends 0 && silent err && said out 'entries          exp:0.2; agreements take 20 us' && said out 'early on '; } >why
verdict 'entries apart: text'

# INPUT: one matrix, written in another way.
run_with '0 10\n20 0\n' plan --matrix - --format json --decompose spreadout
grep -v plan_us out >expected
same() {
    run_with "$1" plan --matrix - --format json --decompose spreadout
    { ends 0 && silent err; } >why
    grep -v plan_us out | cmp -s - expected || echo 'another plan' >>why
    verdict "the same matrix: $1"
}
same '0,10\n20,0'
same '0, 10\r\n20, 0\r\n'
same '\t0\t10\t\n\n 20 0 '
same '# bytes\n0 10 # first\n\n20 0\n# end'
same '\357\273\2770,10\n20,0\n'
same '0 1e1\n2.0E+01 0.000\n'
same '0 10.000000\n200e-1 0\n'
same '0e5 0000010\n20 0\n'

run_with '4611686018427387904 0\n0 0\n' plan --matrix -
{ ends 0 && silent err; } >why
verdict 'a sum of just 2^62'

# An N x N matrix is spread over the pairs of ranks, the first get the rest.
run_with '0 5\n0 0\n' program --matrix - --servers 2 --lanes 2 --rank 0
{ ends 0 && said out '{"name": "send", "bytes": 3}'; } >why
run_with '0 5\n0 0\n' program --matrix - --servers 2 --lanes 2 --rank 1
{ ends 0 && said out '{"name": "send", "bytes": 2}'; } >>why
verdict 'an N x N matrix is spread over the ranks'

# As a pattern it is the same, and scaled if --mean is given.
printf '0 10\n20 0\n' >file.csv
run plan --pattern file:file.csv --format json --decompose spreadout
{ ends 0 && silent err; } >why
grep -v plan_us out | cmp -s - expected || echo 'another plan' >>why
verdict 'the pattern of a file'
run plan --pattern file:file.csv --mean 90 --format json
{ ends 0 && said out '"lower_bound": 240,'; } >why
run plan --pattern file:file.csv --mean 90 --servers 2 --lanes 2 --format json
{ ends 0 && said out '"lower_bound": 480,'; } >>why
verdict 'the pattern of a file, scaled'

commands=$("$tool" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ -n "$commands" ] || fail 'the help lists commands'
for how in --help -h; do
    for command in '' $commands; do
        # shellcheck disable=SC2086
        run $command $how
        { ends 0 && silent err && said out 'Usage: fastsched'; } >why
        verdict "$command $how"
    done
done
for command in $commands; do
    run "$command" --help
    mv out expected.help
    run help "$command"
    { ends 0 && silent err && diff expected.help out; } >why
    verdict "help $command"
done
run program --help
{ ends 0 && said out 'messages that a rank requests from one sender (8)'; } >why
verdict 'the help knows the defaults'
run --version
{ ends 0 && silent err && said out 'fastsched '; } >why
verdict '--version'

# Every option is in the manual.
page=${FS_SRCDIR:-$root}/man/fastsched.1
for command in $commands; do
    run "$command" --help
    grep -o '^  --[a-z-]*' out | sort -u | while read -r option; do
        grep -qF -e "$(printf '%s' "$option" | sed 's/-/\\-/g')" "$page" ||
            echo "the manual lacks $option"
    done >why
    verdict "the manual knows the options of $command"
done

# ---- matrices ----

run matrix --pattern moe --servers 4+2 --seed 7
cp out moe.txt
run plan --matrix moe.txt --servers 4+2 --format json
grep -v plan_us out >expected
run plan --pattern moe --servers 4+2 --seed 7 --format json
{ ends 0 && grep -v plan_us out | diff expected -; } >why
verdict 'a matrix is read as it was written'
cat >golden.ucc <<'END'
[format]
version = 1.0
description = UCC Collective Pattern File

[collective]
type = ALLTOALLV
team_size = 2
datatype = UINT8
flags = COUNT_32BIT
counts = {
    1,2
    3,4
}
END
run matrix --matrix good.csv --format ucc
{ ends 0 && silent err && diff golden.ucc out; } >why
verdict 'a pattern file of UCC'
run matrix --pattern random --servers 40x2 --format ucc
{
    ends 0 && silent err
    awk '/^counts/ { on = 1; next } /^}/ { on = 0 } on { n += split($0, a, ","); if (length($0) >= 200) { print "too long: " $0 } }
        END { if (n != 6400) { print n " counts" } }' out
} >why
verdict 'a pattern file of UCC has short lines'
printf '0 4294967296\n0 0\n' >large.csv
refuses 'rank 0 sends 4294967296 bytes to rank 1; allowed by --format ucc: up to 4294967295' matrix --matrix large.csv --format ucc

# ---- golden text ----

cat >four.csv <<'END'
# from server 0, 1, 2, 3
0, 9, 1, 3
4, 0, 2, 5
8, 1, 0, 1
1, 1, 8, 0
END

cat >golden.text <<'END'
servers          4, lanes 1, ranks 4
between servers  44 bytes (44 B)
inside servers   0 bytes (0 B)
MTM              1.181
algorithm        native (below min_bytes)
balance          minmove; 0.0% of the bytes gathered, 0.0% redistributed
decompose        spreadout, 3 stages, found in - us
without balance  13 bytes at least (13 B)
lower bound      13 bytes per lane (13 B)
total            25 bytes per lane (25 B)
efficiency       52.00%

stage  bytes per lane               bytes  pairs
    0               9                  13  0>1 1>2 2>3 3>0
    1               8                  15  0>2 1>3 2>0 3>1
    2               8                  16  0>3 1>0 2>1 3>2

Destination of each server over time
0  1111111111111111111111111112222....................3333333333...............
1  2222222....................3333333333333333........0000000000000............
2  3333.......................0000000000000000000000000111.....................
3  0000.......................1111....................2222222222222222222222222
                                         ^ lower bound
END
golden() { # NAME OPTION...
    name=$1
    shift
    run "$@"
    { ends 0 && silent err; } >why
    sed -e 's/found in [0-9]* us/found in - us/' -e 's/"plan_us": [0-9.]*/"plan_us": 0/' out >got
    diff "golden.$name" got >>why
    verdict "golden $name: $*"
}

cat >golden.json <<'END'
{
  "servers": 4,
  "lanes": 1,
  "ports": 1,
  "algorithm": "native",
  "balance": "minmove",
  "decompose": "spreadout",
  "mtm": 1.181,
  "lower_bound": 13,
  "total": 25,
  "efficiency": 0.520000,
  "plan_us": 0,
  "moved_gather": 0,
  "moved_redistribute": 0,
  "stages": [
    {"bytes": 9, "pairs": [[0, 1, 9], [1, 2, 2], [2, 3, 1], [3, 0, 1]]},
    {"bytes": 8, "pairs": [[0, 2, 1], [1, 3, 5], [2, 0, 8], [3, 1, 1]]},
    {"bytes": 8, "pairs": [[0, 3, 3], [1, 0, 4], [2, 1, 1], [3, 2, 8]]}
  ]
}
END
cat >golden.lanes <<'END'
{
  "servers": 3,
  "lanes": [2, 1, 2],
  "ports": [2, 1, 2],
  "algorithm": "staged",
  "balance": "minmove",
  "decompose": "birkhoff",
  "mtm": 5.000,
  "lower_bound": 7,
  "total": 7,
  "efficiency": 1.000000,
  "plan_us": 0,
  "moved_gather": 6,
  "moved_redistribute": 7,
  "stages": [
    {"bytes": 7, "pairs": [[0, 2, 7], [0, 2, 6]]}
  ]
}
END
cat >golden.program <<'END'
{
  "ranks": 2,
  "rank": 0,
  "buffers": [
    {"name": "send", "bytes": 3},
    {"name": "recv", "bytes": 4},
    {"name": "staging", "bytes": 0}
  ],
  "ops": [
    {"id": 0, "kind": "send", "peer": 1, "tag": 0, "buffer": "send", "offset": 1, "to_buffer": null, "to_offset": null, "length": 2, "after": []},
    {"id": 1, "kind": "recv", "peer": 1, "tag": 0, "buffer": "recv", "offset": 1, "to_buffer": "recv", "to_offset": 1, "length": 3, "after": []},
    {"id": 2, "kind": "copy", "peer": null, "tag": null, "buffer": "send", "offset": 0, "to_buffer": "recv", "to_offset": 0, "length": 1, "after": []}
  ]
}
END

golden text plan --matrix four.csv --decompose spreadout
golden json plan --matrix four.csv --decompose spreadout --format json
cat >uneven.csv <<'END'
0 0 0 0 13
0 0 0 0 0
0 0 0 0 0
0 0 0 0 0
0 0 0 0 0
END
golden lanes plan --matrix uneven.csv --servers 2+1+2 --algorithm staged --decompose birkhoff --format json
golden program program --matrix good.csv --rank 0 --verify

# ---- JSON and XML that others can read ----

json() { # OPTION...
    run "$@"
    { ends 0 && silent err; } >why
    "$python" -m json.tool out >/dev/null 2>>why
    verdict "valid JSON: $*"
}
if [ -n "$python" ]; then
    for how in auto compact openshop birkhoff best hierarchical spreadout; do
        json plan --pattern moe --servers 6 --lanes 3 --decompose $how --format json
    done
    for pattern in balanced random zipf:0.8 lognormal:1 hotspot:2 intrahost moe moe:0.18 pencil adversarial sparse:2; do
        json plan --pattern $pattern --servers 4+4+2+1 --format json
        json program --pattern $pattern --servers 4+4+2+1 --rank all --verify
    done
    for algorithm in staged pipe2d direct all-at-once relay; do
        json sim --pattern zipf:0.8 --servers 3 --lanes 2 --algorithm $algorithm --format json
    done
    for servers in 1x4 3x2 4+4+2+1; do
        json sim --pattern zipf:0.8 --servers $servers --arrival uniform:0.5 --format json
        json sim --pattern zipf:0.8 --servers $servers --arrival late:1:50 --format json
    done
    json sim --pattern random --mean 1k --servers 1025 --level lanes --arrival uniform:0.3 --format json
    json sim --pattern random --servers 3x2 --lanes 1 --arrival uniform:0.3 --format json
    for algorithm in bundles direct spreadout; do
        json sim --level loggp --servers 3 --lanes 2 --mean 8 --algorithm $algorithm --format json
        json sim --level loggp --servers 4+4+2+1 --pattern zipf:0.8 --mean 64 --algorithm $algorithm --format json
    done
    for late in 2 2:5 1:7.5,0:3; do
        json stragglar --ranks 5 --late $late --algorithm stream --verify --format json
        json stragglar --servers 4x3 --late $late --verify --format json
        json stragglar --servers 4x3 --late $late --algorithm hierarchical --verify --format json
    done
    for ranks in 2 3 4 5 6 7 8 9 16; do
        for algorithm in stragglar ring broadcast all-pairs stream hierarchical; do
            json stragglar --ranks $ranks --straggler 1 --algorithm $algorithm --verify --format json
        done
    done
    json plan --pattern random --servers 1 --format json
    json plan --pattern random --servers 3 --mean 0 --format json
    json bench --servers 2 --lanes 1 --repeat 1 --pattern balanced --format json
    json bench --servers 64 --lanes 1 --repeat 1 --pattern moe --changed 1 --format json
    run bench --servers 2,3 --lanes 2 --repeat 3 --decompose birkhoff,openshop --format json
    { ends 0 && silent err; } >why
    [ "$(wc -l <out)" = 8 ] || echo 'not 8 lines' >>why
    while read -r line; do
        printf '%s\n' "$line" | "$python" -m json.tool >/dev/null 2>>why
    done <out
    verdict 'bench: an object a line'
    run plan --pattern moe --servers 5 --lanes 4 --svg chart.svg
    { ends 0 && silent err; } >why
    "$python" -c 'import sys, xml.dom.minidom as m; t = m.parse("chart.svg").documentElement.tagName; sys.exit(t != "svg")' 2>>why ||
        echo 'not an SVG' >>why
    said chart.svg 'lower bound' >>why
    verdict 'an SVG with the lower bound in it'
fi

if [ -n "$python" ]; then
    for command in plan sim; do
        run $command --pattern moe --servers 2x2 --svg -
        { ends 0 && silent err && [ "$(head -c 5 out)" = '<?xml' ] && [ "$(tail -n 1 out)" = '</svg>' ]; } >why ||
            echo 'not an SVG alone' >>why
        verdict "$command: an SVG on standard output"
    done
    [ ! -e ./- ] || fail 'a file called -'
    run sim --pattern moe --servers 40x4 --algorithm spreadout --svg chart.svg
    { ends 0 && said chart.svg 'The busiest 32 of 40 servers'; } >why
    [ "$(wc -c <chart.svg)" -lt 500000 ] || echo "$(wc -c <chart.svg) bytes" >>why
    verdict 'an SVG of many ranks is one of servers, and small'
    run plan --matrix good.csv --svg no/such/directory.svg
    { ends 1 && silent out && said err 'no/such/directory.svg: No such file'; } >why
    verdict 'an SVG that cannot be written'
    run sim --pattern random --servers 9 --topology hybrid-cube --svg none.svg
    { ends 2 && silent out && said err 'fastsched: --topology hybrid-cube does not fit'; } >why
    [ "$(wc -l <err)" = 1 ] && [ ! -e none.svg ] || echo 'more than that' >>why
    verdict 'a simulation that cannot be is not drawn'
    run sim --pattern random --servers 2 --lanes 2 --repeat 2 --svg sim.svg
    { ends 0 && silent err && said sim.svg 'Simulated exchange' && said sim.svg 'rank 3 NIC sends'; } >why
    verdict 'an SVG of a simulation'
    run sim --pattern random --servers 3 --level lanes --svg sim.svg
    { ends 0 && silent err && said sim.svg 'server 2 NICs send' && said sim.svg 'scale-up ports'; } >why
    verdict 'an SVG of servers'
fi
PATH=$scratch "$tool" plan --matrix good.csv --svg none.svg >out 2>err
status=$?
{ ends 1 && silent out && said err 'fastsched: --svg needs python3, which is not in PATH; install it'; } >why
verdict 'an SVG without python3'
PATH=$scratch "$tool" plan --matrix good.csv >out 2>err
status=$?
{ ends 0 && silent err && said out 'Destination of each server'; } >why
verdict 'nothing else needs python3'
if [ -w /dev/full ]; then
    "$tool" plan --matrix good.csv >/dev/full 2>err
    status=$?
    { ends 1 && said err 'cannot write to standard output'; } >why
    verdict 'a full disk is noticed'
fi

# The bench draws the traffic that plan draws.
run bench --servers 8 --lanes 4 --pattern zipf:0.8 --decompose spreadout --repeat 1 --format json
bench=$(sed 's/.*"total_over_lb": \([0-9.]*\).*/\1/' out)
run plan --servers 8 --lanes 4 --pattern zipf:0.8 --decompose spreadout --format json
awk -v bench="$bench" '
    /"lower_bound"/ { bound = $2 + 0 }
    /"total"/ { total = $2 + 0 }
    END {
        off = total / bound / bench
        if (off < 0.999 || off > 1.02) { print "plan " total / bound ", bench " bench }
    }' out >why
verdict 'plan and bench agree on the total'

# ---- tuning: what jobs have found ----

refuses 'tuning needs a file' tuning
refuses 'there is no file none' tuning none
printf 'hello\n' >site
refuses 'tuning file site: line 1: no JSON object' tuning site
entry='{"fastsched_tuning": 1, "layout": "4x4", "lanes": 4, "transport": "ucx", "mpi": "An MPI\u000a", "mtm_band": 1, "collective": "alltoallv",'
{
    echo "$entry"' "bytes_log2": 20, "skew_band": 0, "choice": "staged", "calls": 12, "native_ns_per_mib": 500, "staged_ns_per_mib": 250}'
    echo "$entry"' "bytes_log2": 9, "skew_band": 2, "choice": "native"}'
    echo '{"fastsched_tuning": 2}'
} >site
run tuning site
{ ends 0 && silent err; } >why
cat >wanted <<'EOT'
servers 4x4, lanes 4, transport ucx, An MPI\x0a
  collective    bytes  MTM servers choice              calls         native        bundles bundles_coarse         staged  staged_coarse         pipe2d          eager
  alltoallv      512+   2+ hot     native                  0              -              -              -              -              -              -              -
  alltoallv       1m+   2+ even    staged                 12           2.00              -              -           1.00              -              -              -

lines of another version: 1
EOT
diff wanted out >>why
verdict 'what is in a tuning file'

# ---- topo: a server that this machine need not be ----

# Drivers that hwloc loads and unloads may leak; a sanitizer would blame us.
export ASAN_OPTIONS=detect_leaks=0
run topo
case $status in
1)
    { silent out && said err 'no hwloc'; } >why
    verdict 'topo, built without hwloc'
    ;;
*)
    { ends 0 && said out 'lane 0'; } >why
    verdict 'topo'
    HWLOC_XMLFILE=${FS_SRCDIR:-$root}/tests/cli/server.xml "$tool" topo --format json >out 2>err
    status=$?
    { ends 0 && silent err; } >why
    diff "${FS_SRCDIR:-$root}/tests/cli/server.json" out >>why
    verdict 'topo of a server with two usable NICs and three GPUs'
    ;;
esac

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
