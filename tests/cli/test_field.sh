#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# fastsched-field without a cluster: what is refused, with the value; a measurement with a launcher that plays its
# part; the report. On servers: lab/test_field.sh.
#
#   test_field.sh [BUILD-DIRECTORY]
set -u
export LC_ALL=C

build=${1:-${FS_BUILDDIR:-.}}
tool=$build/libfastsched/fastsched
command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
man=${FS_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}/man/fastsched-field.1
# shellcheck source=tests/cli/command.sh
. "$(dirname "$0")/command.sh"
field=$(dirname "$tool")/fastsched-field # run() is for this command here
unset SLURM_JOB_NODELIST SLURM_TASKS_PER_NODE
run() {
    "$field" "$@" >out 2>err </dev/null
    status=$?
}

# WHAT IS-SAID OPTION...: refused, with status 2.
refuses() {
    what=$1 text=$2
    shift 2
    run "$@"
    { ends 2 && silent out && said err "$text"; } >why
    verdict "$what"
}

# ---- options and host files ----

refuses 'a time of zero' '0: must be a whole number from 1 to 600' --minutes 0
refuses 'two rounds' '2: must be a whole number from 3 to 99' --rounds 2
refuses 'a rate without unit' '100: must be a number above 0' --rate 100
refuses 'a rate of zero' '0gbit: must be a number above 0' --rate 0gbit
refuses 'a size range that runs down' '8k:1k: must be a size or MIN:MAX' --size 8k:1k
refuses 'a pattern that there is not' 'zip:0.8: must be a pattern' --pattern zip:0.8
refuses 'an MPI that there is not' "invalid choice: 'lam'" --mpi lam
refuses 'an abbreviation' 'unrecognized arguments: --min' --min 3
refuses 'an open quote' 'No closing quotation' --wrapper "numactl 'x"
refuses 'no servers' 'give --hosts FILE'
refuses 'no such host file' '--hosts nowhere: No such file' --hosts nowhere
hosts() { printf '%s\n' "$@" >hosts; }
hosts a
refuses 'one server' 'has 1 server; at least two' --hosts hosts
hosts 'a:2' '# b' 'a slots=2'
refuses 'a host twice' 'hosts:3: a is there twice' --hosts hosts
hosts a:0 b
refuses 'no ranks' 'hosts:1: 0: the ranks of a must be' --hosts hosts
hosts 'a slots=2' 'b cpus=2'
refuses 'another word' 'hosts:2: cpus=2: a line is HOST' --hosts hosts
"$field" --help | grep -oE '^  --[a-z-]+' | while read -r option; do
    sed 's/\\-/-/g; s/\\f.//g' "$man" | grep -qF -e "$option" || echo "the page lacks $option"
done >why
verdict 'fastsched-field.1 has every option'

# ---- a launcher that answers as FAKE says ----

mkdir bin
cat >bin/mpirun <<'END'
#!/bin/sh
# Lines that the ranks of two servers would print.
rank() { printf 'fastsched-field-probe\t%s\t%s\t%s\t8\t6.1\t0\t0\teth0=100000,ib0=-1\n' "$1" "$2" "${3:-fastsched 1.2}"; }
line() { # SECONDS ALGORITHM
    echo "{\"pattern\": \"zipf:0.8\", \"servers\": ${FAKE_SERVERS:-2}, \"avg_bytes_per_pair\": 1048576, \"time_s\": $1," \
        "\"lower_bound_s\": 0.4, \"valid\": true, \"algorithm\": \"$2\", \"memory\": \"host\", \"ceiling_mbit\": 50000}"
}
echo "$*" >>commands
case "$*" in
--version) echo 'mpirun (Open MPI) 9.8' ;;
*probe*) eval "$FAKE_PROBE" ;;
*coll_fast_algorithm*) line 1 "${FAKE_ALGORITHM:-direct}" ;;
*--ceiling*) line 1 native ;;
*"--mca coll fast"*) eval "${FAKE_FAST:-line 0.5 staged}" ;;
*coll_tuned*) line 0.9 native ;;
*) echo "node on server2" >&2 && eval "${FAKE_DEFAULT:-line 1.0 native}" ;;
esac
END
for name in osu_alltoallv_skew fastsched; do
    printf '#!/bin/sh\n' >"bin/$name"
done
chmod +x bin/*
PATH=$scratch/bin:$PATH
good='rank 0 n1; rank 1 n1; rank 3 n2; rank 2 n2'
export FAKE_PROBE FAKE_ALGORITHM FAKE_SERVERS FAKE_FAST FAKE_DEFAULT
FAKE_PROBE=$good FAKE_ALGORITHM='' FAKE_SERVERS='' FAKE_FAST='' FAKE_DEFAULT=''
hosts server1:2 'server2 slots=2'

# WHAT IS-SAID PROBE: a check fails, with status 1.
fails() {
    FAKE_PROBE=$3
    run --hosts hosts --mpi ompi --check
    { ends 1 && silent out && said err "$2"; } >why
    verdict "$1"
    FAKE_PROBE=$good
}

fails 'a rank that does not answer' '3 of 4 ranks answered' 'rank 0 n1; rank 1 n1; rank 2 n2'
fails 'all on one server' 'all 4 ranks are on n1' 'rank 0 n1; rank 1 n1; rank 2 n1; rank 3 n1'
fails 'ranks elsewhere' 'asked for 2+2, server by server; got 3 on n1, 1 on n2' \
    'rank 0 n1; rank 1 n1; rank 2 n1; rank 3 n2'
fails 'ranks in turn' 'got 1 on n1, 1 on n2, 1 on n1' 'rank 0 n1; rank 1 n2; rank 2 n1; rank 3 n2'
fails 'two versions' 'fastsched 1.2 on n1, fastsched 1.3 on n2' \
    'rank 0 n1; rank 1 n1; rank 2 n2; rank 3 n2 "fastsched 1.3"'
fails 'no benchmark' 'fastsched 1.2 without osu_alltoallv_skew on n1' \
    "$(echo "$good" | sed 's/n[12]/& "fastsched 1.2 without osu_alltoallv_skew"/g')"
fails 'a launcher that fails' 'cannot start a job on the servers: exit status 7: no route' 'echo no route >&2; exit 7'
FAKE_ALGORITHM=native
fails 'fast does not serve' 'fast does not serve it: is it installed' "$good"
FAKE_ALGORITHM='' FAKE_SERVERS=4
fails 'servers that the benchmark sees' 'the benchmark sees 4 servers, asked for 2' "$good"
FAKE_SERVERS=''
run --hosts hosts --mpi ompi --device cuda --check
{ ends 1 && said err '--device cuda: not on every server'; } >why
verdict 'GPUs that are not there'
mv bin/mpirun bin/mpirun.lam
printf '#!/bin/sh\necho LAM\n' | tee bin/mpirun >bin/mpirun.openmpi
chmod +x bin/mpirun bin/mpirun.openmpi
refuses 'an mpirun of another MPI' '--mpi ompi: not in PATH: mpirun of Open MPI' --hosts hosts --mpi ompi
mv bin/mpirun.lam bin/mpirun

# ---- in a Slurm job ----

cat >bin/scontrol <<'END'
#!/bin/sh
[ "$*" = 'show hostnames a[1-2]' ] || exit 1
echo a1 && echo a2
END
chmod +x bin/scontrol
# WHAT NODES TASKS STATUS IS-SAID
in_slurm() {
    SLURM_JOB_NODELIST=$2 SLURM_TASKS_PER_NODE=$3 run --mpi ompi --check
    { ends "$4" && said err "$5"; } >why
    verdict "$1"
}
in_slurm 'servers of a job' 'a[1-2]' '2(x2)' 0 '2 servers, 4 ranks'
in_slurm 'tasks of other servers' 'a[1-2]' '2(x2),1' 2 'SLURM_TASKS_PER_NODE is for 3 servers'
in_slurm 'tasks that are no numbers' 'a[1-2]' 'x' 2 'SLURM_TASKS_PER_NODE=x: must be as in 2(x3),1'
in_slurm 'a scontrol that fails' 'b[1-2]' '2(x2)' 2 'scontrol show hostnames b[1-2]: no names'

# ---- a measurement ----

measure() { run --hosts hosts --mpi ompi --pattern zipf:0.8 --size 1m --output r "$@"; }
: >commands
measure
{
    ends 0 && silent out
    said r.md '| zipf:0.8 | 1 MiB | pairwise | 900 ms | 500 ms | 1.80 (1.80 to 1.80) | 1.25 | staged |'
    said r.md '| eager | 50 Gbit/s | 50 Gbit/s | 50 Gbit/s |'
    said r.md '- 2 of 2 ranks, 8 CPUs, Linux 6.1; NICs: eth0 100 Gbit/s, ib0 of unknown rate'
    said r.md '1 rows fast is at least 5 % faster in 1,'
    said commands '--host server1:2,server2:2 -n 4 '
    ! grep -e server1 -e n1 r.md r.json
} >why
verdict 'a measurement'
"$field" --report r.json >again 2>&1
cmp r.md again >why
verdict 'the same report from its JSON'
# Of a round, three jobs: fast, default, pairwise, and the next round backwards.
sed -n 's/.*--mca coll fast.*-p .*/fast/p; s/.*coll_tuned_use.*-p .*/pairwise/p; /--mca/!s/.* -p .*/default/p' commands |
    tr '\n' ' ' >order
{ said order 'fast default pairwise pairwise default fast fast default pairwise'; } >why
verdict 'settings in turn'

FAKE_DEFAULT='exit 3'
measure
{
    ends 1 && said err '3 jobs failed'
    said r.md '- zipf:0.8 1m, default: exit status 3: node on server-1'
    said r.md '| pairwise | 900 ms |'
} >why
verdict 'a setting that fails'
FAKE_DEFAULT='' FAKE_FAST='sleep 70'
# A minute has 7.5 seconds here.
python3 -I -B -c "import sys; sys.path.insert(0, '$(dirname "$tool")/tools/python')
from fastsched import main; from fastsched.field import command, measure
command.Deadline = lambda seconds: measure.Deadline(seconds / 8)
sys.exit(main.main(['field'] + sys.argv[1:]))" \
    --hosts hosts --pattern zipf:0.8 --size 1m --output r --minutes 1 --rate 100gbit >out 2>err
status=$?
FAKE_FAST=''
{
    ends 0 && said r.md '- zipf:0.8 1m: the time was over before its last round'
    said r.md 'Nothing was measured both with and without fast.'
    said r.md '100 Gbit/s (given)'
    said r.md 'ended: not all rows fit.'
} >why
verdict 'the time is kept'
measure --rate 1kbit
{ ends 0 && said r.md '- zipf:0.8 1m: needs '; } >why
verdict 'a row that does not fit'

# ---- what is no report ----

refuses 'a report that is not there' 'nowhere.json: No such file' --report nowhere.json
echo '{' >bad.json
refuses 'no JSON' 'bad.json: not JSON' --report bad.json
echo '{"format": "other"}' >bad.json
refuses 'another format' 'must be "fastsched-field 1"' --report bad.json
echo '{"format": "fastsched-field 1", "lines": [{}]}' >bad.json
refuses 'a damaged report' 'a damaged report: KeyError' --report bad.json

[ "$failed" = 0 ] || exit 1
echo 'test_field: ok'
