# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by ompi_job.sh and mpich_job.sh: what scripts that run jobs have in
# common. Takes the build directory from FS_BUILDDIR (make check) or from the
# first argument.

# shellcheck disable=SC2034 # for those who source this
src=${FS_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${FS_BUILDDIR:-${1:-$PWD}}

# Jobs know which algorithm serves their calls. Of one that begins early it serves
# what is left, that is, now and then, nothing.
export OMPI_MCA_coll_fast_early=off FASTSCHED_EARLY=off

skip() {
    printf '%s: skipped: %s\n' "${0##*/}" "$*"
    exit 77
}

failed=0
n_cases=0

# TEXT COMMAND...: one case. The command leaves the job's output in
# $scratch/out, and prints what it does not like.
case_of() {
    text=$1
    shift
    n_cases=$((n_cases + 1))
    began=$(date +%s)
    : >"$scratch/out"
    if "$@" >"$scratch/why"; then
        printf 'ok %4d s  %s\n' $(($(date +%s) - began)) "$text"
        return
    fi
    failed=$((failed + 1))
    printf 'FAILED  %s\n' "$text"
    sed 's/^/    /' "$scratch/why"
    echo '    the job said:'
    grep -v '\] \[ *[0-9]*\] ' "$scratch/out" | tail -n 20 | sed 's/^/      /'
}

# For such commands: $status is that of the job.
ends_well() {
    [ "$status" = 0 ] || { echo "exit status $status" && return 1; }
}

# A job that timeout had to end has not.
ends_badly() {
    case $status in
    0) echo 'exit status 0' ;;
    124) echo "no end after $limit s" ;;
    *) return 0 ;;
    esac
    return 1
}

# N TEXT: so many lines of the output have the text in them.
said() {
    lines=$(grep -c -F -e "$2" "$scratch/out")
    [ "$lines" = "$1" ] && return
    echo "$lines lines instead of $1 with: $2"
    return 1
}

# Before the command of a job in scripts whose ranks keep all cores busy: such jobs take
# longer two at a time than one after the other.
turn=
in_turn() { turn="flock -o $build"; }

# Before what tests only what both MPIs share, such as the schedule: under one of them.
once() { case $program in "$build"/tests/mpich/*) ;; *) "$@" ;; esac; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
