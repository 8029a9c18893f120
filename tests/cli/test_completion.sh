#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Completion offers what the command accepts: every option of every command's
# help, its words, and by way of bash and zsh, where they are installed.
#
#   test_completion.sh [BUILD-DIRECTORY]
set -u
export LC_ALL=C

tool=${1:-${FS_BUILDDIR:-.}}/libfastsched/fastsched
[ -x "$tool" ] || { echo "$tool is not there"; exit 1; }
tool=$(cd "$(dirname "$tool")" && pwd)/fastsched
root=$(cd "$(dirname "$0")/../.." && pwd)
scripts=${FS_SRCDIR:-$root}/libfastsched/tools/completion
failed=0

# EXPECTED WORD...: lines, as one line of words.
offers() {
    expected=$1
    shift
    is=$("$tool" complete "$@" 2>&1 | tr '\n' ' ')
    [ "$is" = "$expected" ] && return
    failed=$((failed + 1))
    printf 'FAILED  %s\n    offers %s\n    not %s\n' "$*" "$is" "$expected"
}

commands=$("$tool" --help | sed -n '/^  fastsched /q; s/^  \([a-z]*\)  .*/\1/p')
offers "$(echo "$commands" | tr '\n' ' ')help " ''
offers "$(echo "$commands" | tr '\n' ' ')" help ''
offers 'trace tuning topo ' t
offers 'nccl ucc ' matrix --format ''
for command in $commands; do
    options=$("$tool" help "$command" | grep -oE '^  --[a-z0-9-]+' | grep -v -e --help | tr -d ' ' | tr '\n' ' ')
    offers "$options" "$command" -
done
offers '--scale-out --scale-up ' sim --pattern moe --scale
offers 'text json ' compare x.csv --format ''
offers 'json ' sim --format j
offers 'json ' sim --format = j
offers 'text json ' sim --format =
offers '' plan --matrix ''
offers '' trace ''

# SHELL PROGRAM
through() {
    command -v "$1" >/dev/null || { echo "skip $1: not installed" && return; }
    is=$(PATH=$(dirname "$tool"):$PATH "$1" -c "$2" 2>&1)
    [ "$is" = '--scale-out --scale-up' ] && return
    failed=$((failed + 1))
    printf 'FAILED  %s: %s\n' "$1" "$is"
}
through bash "COMP_WORDS=(fastsched sim --scale) COMP_CWORD=2
. '$scripts/bash/fastsched'; _fastsched; echo \"\${COMPREPLY[*]}\""
through zsh "words=(fastsched sim --scale) CURRENT=3
compadd() { shift; echo \${(P)1}; }; . '$scripts/zsh/_fastsched'"

[ $failed = 0 ] || { echo "$failed failed"; exit 1; }
