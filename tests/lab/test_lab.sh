#!/usr/bin/env bash
# Tests of the lab, in TAP. Exit status: 0 all passed, 1 not, 77 a lab cannot be made here.
# shellcheck disable=SC2016,SC2317 # text for shells on the servers; functions called by traps
set -uo pipefail

here=$(dirname "$(realpath "$0")")
lab=$here/lab
a=test$$a # two labs: a has 2 servers of 2 ranks, b 3 + 1
b=test$$b
target=$a # whose NICs are looked at
work=$(mktemp -d) || exit 1
straggler=stray$$ # a program name that nobody else has
count=0
failures=0
declare -A counter

finish() {
    "$lab" down --name "$a"
    "$lab" down --name "$b"
    rm -rf "$work"
}

report() { # STATUS WHAT
    ((++count))
    if (($1 == 0)); then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        sed 's/^/# /' "$work/output"
        ((++failures))
    fi
}

skip() { # WHAT WHY
    ((++count))
    echo "ok $count - $1 # SKIP $2"
}

# Runs a command, its output into $work/output and $output. Through a pipe: a daemon that kept it open would hang us.
try() {
    "$@" 2>&1 </dev/null | cat >"$work/output"
    status=${PIPESTATUS[0]}
    output=$(<"$work/output")
    return 0
}

# ---- wrong arguments: exit 2, and a message with what was given and what is allowed ---------------------------------

refuses() { # VALUE ALLOWED ARGUMENTS...
    local value=$1 allowed=$2
    shift 2
    try "$lab" "$@"
    [[ $status == 2 && $output == *"$value"* && $output == *"$allowed"* ]]
    report $? "refuses: lab $*"
}

test_arguments() {
    refuses dance 'up run exec status down' dance
    refuses 50 'kbit, mbit or gbit' up --servers 2 --ranks 2 --rate 50
    refuses 0 '1 to 250' up --servers 0 --ranks 2 --rate 50mbit
    refuses two '1 to 250' up --servers 2 --ranks two --rate 50mbit
    refuses 4+x '4+4+2+1' up --layout 4+x --rate 50mbit
    refuses --layout 'one or the other' up --layout 2+2 --servers 2 --rate 50mbit
    refuses lots 'b, kb or mb' up --servers 2 --ranks 2 --rate 50mbit --switch-queue lots
    refuses 4kb '10240b or more' up --servers 2 --ranks 2 --rate 50mbit --burst 4kb
    refuses 2kb '2740b or more' up --servers 2 --ranks 2 --rate 50mbit --mtu 1500 --switch-queue 2kb
    refuses 9001 '576 to 9000' up --servers 2 --ranks 2 --rate 50mbit --mtu 9001
    refuses a/b 'letters, digits' up --servers 2 --ranks 2 --rate 50mbit --name a/b
    refuses --rate 'such as' up --servers 2 --ranks 2
    refuses --colour 'lab --help' up --servers 2 --ranks 2 --rate 50mbit --colour red
    refuses lam 'ompi mpich' run --mpi lam -- true
    refuses spiral 'block cyclic' run --mpi ompi --map spiral -- true
    refuses soon '1 to 1000000' run --mpi ompi --timeout soon -- true
    refuses 1X=2 VAR=VALUE run --mpi ompi -x 1X=2 -- true
    refuses -- 'a command' run --mpi ompi true
    refuses --verbose 'lab --help' down --verbose
}

# ---- the host -------------------------------------------------------------------------------------------------------

# All of the host that a lab might change. Counters that move by themselves are left out.
snapshot() {
    ip -o -d link | sort
    ip -br addr
    ip route show table all
    ip rule
    sysctl -a 2>/dev/null | grep '^net\.' | grep -vE 'nf_conntrack_count|random|_jiffies'
    cat /etc/hosts
    sort /proc/self/mounts
}

# ---- each rank uses its own NIC only --------------------------------------------------------------------------------

read_counters() { # PREFIX for the keys of `counter`; of lab $target
    local server nic tx rx
    for server in node0 node1; do
        while read -r nic tx rx; do
            counter[$1/$server/$nic/tx]=$tx
            counter[$1/$server/$nic/rx]=$rx
        done < <("$lab" exec --name "$target" "$server" sh -c '
            cd /sys/class/net
            for n in nic*; do echo $n $(cat $n/statistics/tx_bytes $n/statistics/rx_bytes); done')
    done
}

# Each direction of each NIC has carried its bytes and at most a tenth more. One that should carry none may have 2 % of
# a message: acknowledgements, grants, the barrier.
check_counters() { # BYTES ENTRY..., an entry such as node0/nic1/tx for each time that a NIC must have carried BYTES
    local bytes=$1 key moved wanted entry bad=0
    shift
    for key in node{0,1}/nic{0,1}/{tx,rx}; do
        moved=$((counter[after/$key] - counter[before/$key]))
        wanted=0
        for entry; do
            [[ $entry != "$key" ]] || ((wanted += bytes))
        done
        echo "$key: $moved bytes, wanted $wanted" >>"$work/output"
        ((moved >= wanted && moved <= wanted * 11 / 10 + bytes / 50)) || bad=1
    done
    return $bad
}

test_nics() { # WHAT "PAIRS" "ENTRIES" [OPTIONS of run]
    local what=$1 bytes=4000000 pairs entries
    read -r -a pairs <<<"$2"
    read -r -a entries <<<"$3"
    shift 3
    read_counters before
    try "$lab" run --name "$target" --mpi ompi --timeout 30 "$@" -- "$work/pairs" $bytes "${pairs[@]}"
    read_counters after
    [[ $status == 0 ]] && check_counters $bytes "${entries[@]}"
    report $? "$what"
}

test_all_nics() {
    local all
    all=$(echo node{0,1}/nic{0,1}/{tx,rx})
    test_nics "rank 1 to 3: nic1 to nic1, nic0 idle" 1:3 "node0/nic1/tx node1/nic1/rx"
    test_nics "rank 3 to 0: nic1 to nic0" 3:0 "node1/nic1/tx node0/nic0/rx"
    test_nics "ranks 0 and 3 both ways, eager" "0:3 3:0" \
        "node0/nic0/tx node0/nic0/rx node1/nic1/tx node1/nic1/rx" -x UCX_RNDV_THRESH=inf
    test_nics "all NICs both ways at once" "0:2 1:3 2:0 3:1" "$all"
    test_nics "inside a server: no NIC" "0:1 1:0" ""
    test_nics "cyclic: rank 1 is the first of node1" 0:1 "node0/nic0/tx node1/nic0/rx" --map cyclic
    test_nics "Open MPI's own TCP" 1:2 "node0/nic1/tx node1/nic0/rx" --mca pml ob1 --mca btl tcp,self,vader
}

test_speed() {
    local seconds
    try "$lab" run --name "$a" --mpi ompi --timeout 60 -x UCX_RNDV_THRESH=inf -- "$work/pairs" 8000000 0:2 1:3 2:0 3:1
    seconds=$(grep -Ex '[0-9.]+' <<<"$output") && [[ $status == 0 ]]
    report $? "streams on all NICs, both ways"
    awk -v s="$seconds" 'BEGIN { printf "# they reached %.1f %% of 100 Mbit/s\n", 64 / s }'
}

# 4000 bytes leave each server; make check has the benchmark in PATH.
test_bound() {
    local what="the benchmark's lower bound counts NICs"
    if ! command -v osu_alltoallv_skew >/dev/null; then
        skip "$what" "osu_alltoallv_skew is not in PATH"
        return
    fi
    try "$lab" run --name "$a" --mpi ompi --timeout 30 -- \
        osu_alltoallv_skew -p balanced -m 1000:1000 -i 1 -x 0 --rate 8mbit --nics 1 --json
    [[ $status == 0 && $output == *'"nics": 1,'*'"lower_bound_s": 0.004,'* ]]
    report $? "$what"
}

test_congestion_control() {
    local wanted tries=100
    wanted=$("$lab" status --name "$a" | grep -oE 'cubic|reno')
    if [[ -z $wanted ]]; then
        skip "congestion control is the lab's" "this kernel has neither cubic nor reno for a route"
        return
    fi
    "$lab" run --name "$a" --mpi ompi --timeout 30 -- "$work/pairs" 20000000 0:2 3:1 >/dev/null &
    output=''
    until [[ $output == *ESTAB* ]] || ((tries-- == 0)); do
        try "$lab" exec --name "$a" node0 ss -tinH dst 10.98.0.0/16
    done
    wait $!
    [[ $output == *" $wanted "* && ! $output =~ [[:space:]](bbr|dctcp|vegas)[[:space:]] ]]
    report $? "congestion control on the data network is $wanted"
}

# ---- no process of a job survives -----------------------------------------------------------------------------------

stragglers() { pgrep -x "$straggler"; }

lab_is_clean() { # LAB: no process of a job, for our eyes and for the lab's
    ! stragglers >>"$work/output" && [[ $("$lab" status --name "$1" 2>&1) == *"processes of a job: 0;"* ]]
}

# Shell text of a job that leaves a process in the background, one in a session of its own, and ignores SIGTERM. None
# holds the job's output open: mpirun would wait for them.
stubborn="trap '' TERM
    $work/$straggler 300 >/dev/null 2>&1 &
    setsid $work/$straggler 300 >/dev/null 2>&1 &
    "

start_stubborn() { # starts it in the background and waits until all its processes run
    local tries=500
    env --default-signal=INT "$lab" run --name "$a" --mpi ompi -- sh -c "$stubborn wait" >"$work/output" 2>&1 &
    job=$!
    until (($(stragglers | wc -l) >= 8 || tries-- == 0)); do sleep 0.02; done
}

test_signal() { # SIGNAL STATUS
    start_stubborn
    kill -"$1" $job
    wait $job
    status=$?
    [[ $status == "$2" ]] && lab_is_clean "$a"
    report $? "SIG$1 to lab run: exit status $2, no process left"
}

test_endings() {
    local tries=500
    cp "$(command -v sleep)" "$work/$straggler"

    try "$lab" run --name "$a" --mpi ompi -- sh -c "$stubborn exit 0"
    [[ $status == 0 && $output == *"left behind"* ]] && lab_is_clean "$a"
    report $? "a job that leaves processes behind"

    try "$lab" run --name "$a" --mpi ompi -- sh -c 'exit 7'
    [[ $status == 7 ]] && lab_is_clean "$a"
    report $? "the exit status of the job"

    test_signal TERM 143
    test_signal INT 130

    try "$lab" run --name "$a" --mpi ompi --timeout 1 -- sh -c "$stubborn wait"
    [[ $status == 124 && $output =~ lab:\ [a-z_.0-9]+:\ "$work/$straggler" ]] && lab_is_clean "$a"
    report $? "a job that takes too long: exit status 124, what it waits for, no process left"

    start_stubborn
    kill -KILL $job
    wait $job 2>/dev/null
    try "$lab" run --name "$a" --mpi ompi -- true
    until lab_is_clean "$a" || ((tries-- == 0)); do sleep 0.02; done
    [[ $status == 0 ]] && lab_is_clean "$a"
    report $? "after a killed lab run the next one works, and nothing is left"
}

# ---- labs beside each other, and labs that crash --------------------------------------------------------------------

test_two_labs() {
    local job placed
    try "$lab" up --name "$b" --layout 3+1 --rate 200mbit --nics 2
    report "$status" "a second lab"

    "$lab" run --name "$a" --mpi ompi --timeout 30 -- "$work/pairs" 10000000 0:2 2:0 >"$work/first" 2>&1 &
    job=$!
    try "$lab" run --name "$b" --mpi ompi --timeout 30 -- "$work/pairs" 10000000 0:3 3:1
    wait $job && [[ $status == 0 ]]
    report $? "a job in each at the same time"

    try "$lab" run --name "$b" --mpi ompi -- \
        sh -c 'echo $OMPI_COMM_WORLD_RANK $(hostname) $LAB_NIC of $(ls /sys/class/net)'
    placed=$(printf '%s of ctl lo nic0 nic1\n' '0 node0 nic0' '1 node0 nic1' '2 node0 nic1' '3 node1 nic0')
    [[ $(sort "$work/output") == "$placed" ]]
    report $? "uneven servers, more ranks than NICs"

    target=$b
    test_nics "ranks 1 and 2 share nic1" "3:0 3:1 3:2" \
        "node1/nic0/tx node1/nic0/tx node1/nic0/tx node0/nic0/rx node0/nic1/rx node0/nic1/rx"
    target=$a

    start_stubborn
    try "$lab" run --name "$a" --mpi ompi -- true
    kill "$job"
    wait "$job"
    [[ $status == 1 && $output == *"running a job already"* ]]
    report $? "one job at a time in a lab"

    try "$lab" up --name "$a" --servers 1 --ranks 1 --rate 1gbit
    [[ $status == 1 && $output == *"up already"* ]]
    report $? "a name that is taken"
}

processes_of_up() { pgrep -f "_init $1 "; }

test_crashes() {
    local pid tries=500
    read -r pid _ <"/run/fastsched-lab/$b/head.pid"
    kill -KILL "$pid"
    while [[ -e /proc/$pid && $tries -gt 0 ]]; do sleep 0.02; ((tries--)); done
    try "$lab" run --name "$b" --mpi ompi -- true
    [[ $status == 1 && $output == *broken*"lab down"* ]]
    report $? "a lab whose processes died is recognised"

    try "$lab" up --name "$b" --servers 1 --ranks 1 --rate 1gbit
    [[ $status == 0 && $output == *"is up"* ]]
    report $? "and can be made again"

    "$lab" run --name "$b" --mpi ompi -- sleep 60 >/dev/null 2>&1 &
    pid=$!
    tries=500
    until "$lab" status --name "$b" | grep -q 'processes of a job: [1-9]' || ((tries-- == 0)); do sleep 0.02; done
    try "$lab" down --name "$b"
    wait $pid
    [[ $tries -ge 0 && $status == 0 && ! -e /run/fastsched-lab/$b ]] && ! processes_of_up "$b" >>"$work/output"
    report $? "down ends the job as well"

    end_up_early TERM
    echo "up ended with $status" >"$work/output"
    [[ $status == 143 && ! -e /run/fastsched-lab/$b ]] && ! processes_of_up "$b" >>"$work/output"
    report $? "an interrupted up leaves nothing"

    end_up_early KILL
    try "$lab" down --name "$b"
    tries=100 # a child of the killed one may be about to end
    while processes_of_up "$b" >/dev/null && ((tries-- > 0)); do sleep 0.02; done
    [[ $status == 0 && ! -e /run/fastsched-lab/$b ]] && ! processes_of_up "$b" >>"$work/output"
    report $? "down removes what a killed up leaves"

    sh -c 'while :; do sleep 1; done' "$lab _init $b head" &
    pid=$!
    mkdir "/run/fastsched-lab/$b" # as a killed up leaves it
    try "$lab" down --name "$b"
    [[ $status == 0 && ! -e /run/fastsched-lab/$b ]] && kill $pid 2>>"$work/output"
    report $? "down ends nobody who only has its words in an argument"
    wait $pid 2>/dev/null
}

end_up_early() { # SIGNAL
    local pid tries=500
    "$lab" up --name "$b" --servers 8 --ranks 8 --rate 1gbit >/dev/null 2>&1 &
    pid=$!
    until processes_of_up "$b" >/dev/null || ((tries-- == 0)); do sleep 0.01; done
    kill -"$1" $pid
    wait $pid 2>/dev/null
    status=$?
}

test_mpich() {
    local what="a job of MPICH, on its own NICs"
    if ! command -v mpicc.mpich mpiexec.hydra >/dev/null; then
        skip "$what" "MPICH is not installed"
        return
    fi
    try mpicc.mpich -O2 -w -o "$work/pairs_mpich" "$here/pairs.c"
    [[ $status == 0 ]] || { report 1 "$what"; return; }
    read_counters before
    try "$lab" run --name "$a" --mpi mpich --timeout 30 -- "$work/pairs_mpich" 4000000 0:3
    read_counters after
    [[ $status == 0 ]] && check_counters 4000000 node0/nic0/tx node1/nic1/rx && lab_is_clean "$a"
    report $? "$what"
}

test_down() {
    try "$lab" down --name "$a"
    [[ $status == 0 && ! -e /run/fastsched-lab/$a ]] && ! processes_of_up "$a" >>"$work/output"
    report $? "down"
    try "$lab" down --name "$a"
    report "$status" "down once more"
    snapshot >"$work/after"
    try diff "$work/before" "$work/after"
    report "$status" "the host is as before: links, addresses, routes, rules, sysctls, /etc/hosts, mounts"
}

trap 'rm -rf "$work"' EXIT
test_arguments
try mpicc.openmpi -O2 -Wall -o "$work/pairs" "$here/pairs.c"
if [[ $status != 0 ]]; then
    echo "1..0 # SKIP cannot compile for Open MPI: $output"
    exit 77
fi
snapshot >"$work/before"
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
try "$lab" up --name "$a" --servers 2 --ranks 2 --rate 100mbit
if [[ $status == 77 ]]; then
    trap 'rm -rf "$work"' EXIT
    echo "1..0 # SKIP $output"
    exit $((failures ? 1 : 77))
fi
report "$status" "up"
test_all_nics
test_speed
test_bound
test_congestion_control
test_endings
test_two_labs
test_crashes
test_mpich
test_down
echo "1..$count"
exit $((failures > 0))
