#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Traps of a cluster in use: the component is missing, another one, or not
# chosen on some ranks; a directory is missing; another Open MPI runs; nothing
# is served. The right bytes and at most one line, never a hang. One line per
# case.
#
#   test_traps.sh [BUILD-DIRECTORY]
set -u

# shellcheck source=tests/mpi/ompi_job.sh
. "$(dirname "$0")/ompi_job.sh"
need_ompi mpi/mpi_mismatch
limit=30
here=$build/tests/mpi
component=$build/ompi_coll_fast/.libs/mca_coll_fast.so

# OPTION...: a job; its exit status to $status, what it prints to $scratch/out.
job() {
    mpi_run "$@" >"$scratch/out" 2>&1
    status=$?
    case $status in
    124 | 137) echo "no end after $limit s" && return 1 ;;
    esac
}

# RANKS NAME VALUE COMMAND...: with NAME=VALUE on the ranks in 0,1,...
with=$scratch/with
cat >"$with" <<'EOF2'
#!/bin/sh
case ,$1, in *,"$OMPI_COMM_WORLD_RANK",*) export "$2=$3" ;; esac
shift 3
exec "$@"
EOF2
chmod +x "$with"

always='--mca coll_fast_algorithm staged --mca coll_fast_min_bytes 0
    --mca coll_fast_servers 2x2'
raised="$always --mca coll_fast_priority 90"
named="$always --mca coll fast"

# ---- some ranks do not come to our alltoallv ----

# OPTIONS RANKS NAME VALUE TEXT...: all bytes are right, on communicators of all
# ranks and of some, and one line of ours says TEXT.
left_alone() {
    options=$1 ranks=$2 name=$3 value=$4
    shift 4
    # shellcheck disable=SC2086 # options have no blanks
    job -np 4 $options "$with" "$ranks" "$name" "$value" "$program" --none &&
        ends_well && said 4 ': ok' && said 1 'coll fast: ' &&
        said 1 "not used on MPI_COMM_WORLD: $1" || return
    # shellcheck disable=SC2086
    job -np 4 $options "$with" "$ranks" "$name" "$value" "$here/mpi_alltoallv" \
        --servers 2x2 --expect any ragged split dup never-freed nonblocking &&
        ends_well && said 1 'coll fast: ' && said 1 ' cases on 4 ranks: ok'
}

missing() { echo "rank $1 ($(hostname)) does not have the component"; }
path=OMPI_MCA_mca_base_component_path

case_of 'missing on ranks 2 and 3' left_alone "$raised" 2,3 $path \
    SYS_DEFAULT:USER_DEFAULT "$(missing 2)"
case_of 'missing on ranks 0 and 1' left_alone "$raised" 0,1 $path \
    SYS_DEFAULT:USER_DEFAULT "$(missing 0)"
case_of 'ranks 1 and 3 have ^fast' left_alone "$raised" 1,3 OMPI_MCA_coll \
    ^fast "$(missing 1)"
case_of 'rank 3 has a list without it' left_alone "$raised" 3 OMPI_MCA_coll \
    tuned,libnbc,basic,self,inter "$(missing 3)"
case_of 'a priority on ranks 0 and 3 only' left_alone "$always" 0,3 \
    OMPI_MCA_coll_fast_priority 90 "$(missing 1)"
export OMPI_MCA_coll_fast_priority=90
case_of 'a low priority on rank 2' left_alone "$always" 2 \
    OMPI_MCA_coll_fast_priority 20 'priority is "above all others" on rank 0'
case_of 'a low priority on ranks 0 and 1' left_alone "$always" 0,1 \
    OMPI_MCA_coll_fast_priority 20 'priority is "above all others" on rank 2'
unset OMPI_MCA_coll_fast_priority
case_of 'another component is above it on rank 1' left_alone "$raised" 1 \
    OMPI_MCA_coll_tuned_priority 95 'priority is "above all others" on rank 0'
case_of 'a parameter on rank 2' left_alone "$named" 2 OMPI_MCA_coll_fast_chunk \
    1m 'chunk is "64k" on rank 0 and "1m" on rank 2'

# The same library and another word for its version.
other_version() {
    mkdir "$scratch/other" &&
        LC_ALL=C sed "s/$version/$twisted/g" "$component" \
            >"$scratch/other/mca_coll_fast.so" &&
        left_alone "$named" 3 $path "SYS_DEFAULT:$scratch/other:USER_DEFAULT" \
            "version is \"$version\" on rank 0 and \"$twisted\" on rank 3"
}

version=$(sed -n 's/^PACKAGE_VERSION = //p' "$build/Makefile")
twisted=9.${version#*.} # its end may be the end of other words, too
case_of 'another version on rank 3' other_version

# ---- a directory of the path is missing ----

# PATH OPTION...
with_path() {
    (
        export "$path=$1"
        shift
        job -np 2 "$@" "$program" --none && ends_well && said 2 ': ok' &&
            said 0 'coll fast'
    )
}

documented() {
    # shellcheck disable=SC2016
    if grep -q '/lib/openmpi:SYS_DEFAULT' "$src/README" "$src"/docs/*.md "$src/quickstart" \
        "$src/man/coll_fast.7"; then
        echo 'a page has our directory in front of SYS_DEFAULT'
        return 1
    fi
    with_path "SYS_DEFAULT:$scratch/nowhere:USER_DEFAULT" &&
        with_path "SYS_DEFAULT:$scratch/nowhere:USER_DEFAULT" \
            --mca coll_fast_priority 90
}

case_of 'no such directory: Open MPI works as ever' documented

# ---- --mca coll fast: only what we serve is another one ----

who() {
    job -np 4 "$@" "$here/mpi_inside" --who && ends_well &&
        grep '^\(world\|half\|self\) ' "$scratch/out"
}

only_ours() {
    who "$@" >"$scratch/without" &&
        who --mca coll fast "$@" >"$scratch/with_it" || return
    diff "$scratch/without" "$scratch/with_it" | grep '^[<>]' |
        sed 's/mca_coll_\(tuned\|basic\|libnbc\)\|libmpi/mca_coll_ANY/; s/ANY\.so.*/ANY.so/' |
        sort >"$scratch/changed"
    for comm in world half; do
        for name in alltoall alltoallv alltoallw; do
            for what in $name i$name; do
                echo "< $comm $what: mca_coll_ANY.so"
                echo "> $comm $what: mca_coll_fast.so"
            done
        done
    done | sort >"$scratch/wanted"
    diff "$scratch/wanted" "$scratch/changed"
}

case_of 'coll fast: the alltoalls are ours, all else as ever' only_ours
case_of 'coll fast: the same, where sm serves most' only_ours \
    --mca coll_sm_priority 40

# What Open MPI has loaded and asked, without us.
considered() {
    job -np 2 --mca coll_base_verbose 20 "$@" "$program" --none && ends_well &&
        sed -n 's/.*\(coll:base:comm_select: .*\)/\1/p; s/.*\(coll:find_available: .*\)/\1/p' \
            "$scratch/out" | grep -vw fast | sort
}

all_considered() {
    considered >"$scratch/without" &&
        considered --mca coll fast >"$scratch/with_it" &&
        diff "$scratch/without" "$scratch/with_it" &&
        [ "$(grep -c 'is available' "$scratch/with_it")" -gt 4 ]
}

case_of 'coll fast: all components are asked as ever' all_considered

above() {
    who "$@" | grep -q '^world alltoallv: mca_coll_fast.so' && return
    echo 'alltoallv is not ours'
    return 1
}

case_of 'coll fast: another component has 95' above --mca coll fast \
    --mca coll_tuned_priority 95
case_of 'coll fast: a fallback of names' above --mca coll fast \
    --mca coll_fast_fallback tuned,libnbc,basic,inter,self

# ---- asked for, and nothing to show ----

# N WORDS OPTION...: the last of N lines of ours says why it was not used.
unused() {
    n_lines=$1 words=$2
    shift 2
    job -np 4 --mca coll_fast_verbose 1 "$@" && ends_well &&
        said "$n_lines" 'coll fast: ' && said 1 "summary: not used: $words"
}

case_of 'a low priority: who serves instead' unused 1 \
    'MPI_Alltoallv is served by ' \
    --mca coll_fast_priority 20 "$program" --none
case_of 'one server' unused 2 'no call on a communicator that spans servers' \
    --mca coll fast "$program" --none
case_of 'no call' unused 1 'no call of MPI_Alltoallv' --mca coll fast \
    "$here/mpi_inside" --who

unknown() {
    job -np 4 "$@" --mca coll_fast_windo 8 "$program" --none && ends_well &&
        said 1 'coll fast: unknown parameter OMPI_MCA_coll_fast_windo'
}

case_of 'coll_fast_windo: one line about it' unknown --mca coll fast

# ---- another Open MPI than it was built for ----

other_series() {
    "${CC:-cc}" -shared -fPIC -o "$scratch/other_series.so" \
        "$src/tests/mpi/other_series.c" &&
        job -np 4 -x LD_PRELOAD="$scratch/other_series.so" "$@" "$program" \
            --none && ends_well && said 4 ': ok' && said 1 'coll fast: ' &&
        said 1 'not used: the component is for Open MPI ' &&
        said 1 'and this is 9.8.7'
}

# shellcheck disable=SC2086
case_of 'another series of Open MPI' other_series $named
# shellcheck disable=SC2086
case_of 'another series of Open MPI, and a priority' other_series $raised

# ---- tags, where messages are Open MPI's ----

tags() {
    # shellcheck disable=SC2086
    job -np 4 $named --mca coll_fast_transport mpi "$@" "$here/mpi_inside" \
        --tags && ends_well && said 4 ': ok' && said 0 WRONG
}

case_of 'nonblocking collectives have used all tags' tags
case_of 'the same with pml ob1' tags --mca pml ob1

echo "$n_cases cases, $failed failed"
[ $failed = 0 ]
