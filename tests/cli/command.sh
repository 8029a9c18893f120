# SPDX-License-Identifier: BSD-3-Clause
# For tests of a subcommand of the command, which source this: run() and what it said.
# Sets tool (absolute), scratch (the current directory from here on) and failed.
#
#   subcommand=NAME; . command.sh
# shellcheck shell=sh disable=SC2034,SC2154 # those of the test

[ -x "$tool" ] || { echo "$tool is not there"; exit 1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT INT TERM
tool=$(cd "$(dirname "$tool")" && pwd)/fastsched
cd "$scratch" || exit 1
failed=0

# WHAT: what was wrong is in $scratch/why.
verdict() {
    [ -s why ] || return 0
    failed=$((failed + 1))
    echo "FAILED  $1"
    sed 's/^/    /' why
}

run() {
    "$tool" "$subcommand" "$@" >out 2>err </dev/null
    status=$?
}

ends() { [ "$status" = "$1" ] || { echo "exit status $status instead of $1" && cat err; }; }
silent() { [ ! -s "$1" ] || { echo "on std$1:" && cat "$1"; }; }
said() { grep -qF -e "$2" "$1" || { echo "$1 lacks: $2" && cat "$1"; }; }
