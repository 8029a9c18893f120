#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Fails when the manual and the code say different things:
#
#   functions    a public function without a page of section 3, or a page that
#                names what no public header has
#   prototypes   code in a page of section 3 that is not in a header, up to
#                white space and comments; lists (FS_ALG_MAP) are enums there
#   words        a parameter, or a word of a list that users type, is missing
#   layers       fastsched(7) and docs/internals.md list different folders, or in another order
#   examples     one that does not compile or, with a build, prints something
#                else than the page says
#   fastsched.1  a command or an option that --help prints is missing
#   lint         what mandoc warns of, if it is installed
#
# Sources in FS_SRCDIR; the build in FS_BUILDDIR, if there is one.
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
src=${FS_SRCDIR:-$(dirname "$here")}
build=${FS_BUILDDIR:-$src}
man=$src/man

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

complain() {
    echo "check_man: $*" >&2
    : >"$work/failed" # not a variable: it would stay in a pipe's shell
}

# WHAT: complain about the lines of stdin, if there are any.
complain_of() {
    lines=$(sort -u | sed 's/^/  /')
    [ -z "$lines" ] || complain "$1:
$lines"
}

# The public headers without comments, on one line.
headers() {
    cat "$src"/libfastsched/fastsched*.h | tr '\n' ' ' |
        sed 's|/\*[^*]*\*\**\([^/*][^*]*\*\**\)*/||g'
}

# Words of the library's name space.
words() { grep -oE '\b(fs_[a-z0-9_]+|FS_[A-Z0-9_]+)\b' | sort -u; }

# ---- functions ----

FS_SRCDIR=$src sh "$here/check_layers.sh" --map |
    sed -n 's/^ *\(fs_[a-z0-9_]*\);.*/\1/p' | sort -u >"$work/declared"
for page in "$man"/*.3; do
    name=${page##*/}
    echo "${name%.3}"
done | sort >"$work/pages"
sh "$man/aliases.sh" "$man"/*.3 >"$work/aliases"
{ cat "$work/pages" && cut -d ' ' -f 1 "$work/aliases"; } | sort >"$work/named"

uniq -d "$work/named" | complain_of 'has two pages'
comm -23 "$work/declared" "$work/named" | complain_of 'has no page'
cut -d ' ' -f 1 "$work/aliases" | sort | comm -23 - "$work/declared" |
    complain_of 'has a page, but no header declares it'

headers | words | sort -u - "$work/pages" >"$work/known"
for page in "$man"/*.[0-9]; do
    sed -e '/^\.TH/d' -e 's/\\f[BIRP]//g' "$page" | words | comm -23 - "$work/known" |
        complain_of "${page##*/} names what no public header has"
    grep -qF "${page##*/}" "$man/Makefile.am" || complain "man/Makefile.am does not name ${page##*/}"
done

# ---- prototypes and types ----

# A paragraph of code: what is between two requests, without fonts, quotes and
# white space.
code_of() {
    awk '
        function end() { if (text != "") print text; text = "" }
        /^\.SH/ { examples = /EXAMPLE/; end(); next }
        /^\.(nf|EX)/ { code = 1; next }
        /^\.(fi|EE)/ { code = 0; end(); next }
        !code || examples || /#include/ { next }
        /^\.(B|I|BI|IB)? / { sub(/^\.[BI]*/, "") }
        /^\./ { end(); next }
        { gsub(/[ \t"]/, ""); gsub(/\\-/, "-"); text = text $0 }' "$1"
}

# OPTION...: headers on stdin as the compiler sees them.
expanded() { sed '/^ *# *include/d' | ${CC:-cc} -E -P "$@" -; }

{ headers && cat "$src"/libfastsched/fastsched*.h | expanded; } | tr -d '[:space:]"' | sed 's/,}/}/g' >"$work/headers"
for page in "$man"/*.3; do
    code_of "$page" | sed 's/,}/}/g' | while read -r text; do
        grep -qF -e "$text" "$work/headers" || echo "$text"
    done | complain_of "${page##*/} shows what is in no header"
done
while read -r name; do
    page=$(sed -n "s/^$name //p" "$work/aliases")
    page=$man/${page:-$name}.3
    [ ! -f "$page" ] || code_of "$page" | grep -q "$name(" || echo "$name"
done <"$work/declared" | complain_of 'has a page, which does not show it'

# ---- words ----

# LIST PAGE...
words_are_in() {
    list=$1
    shift
    { cat "$src"/libfastsched/fastsched*.h "$src"/libfastsched/*/*.h "$src"/libfastsched/*/*/*.h && echo "WORDS $list(WORD)"; } |
        expanded '-DWORD(value, word, ...)=word' | sed -n 's/^WORDS //p' | tr ' ' '\n' | tr -d '"' >"$work/list"
    ! grep -q WORD "$work/list" || complain "there is no $list"
    for name in "$@"; do
        page=$man/$name
        # Bold ones only: "direct" is a word of English, too.
        grep -E '^\.[BI]|\\fB' "$page" | sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g' >"$work/page"
        while read -r word; do
            grep -qwF -e "$word" "$work/page" || echo "$word"
        done <"$work/list" | complain_of "$name does not mention, of $list,"
    done
}

sed -nE 's/^    (\{\{"|CHOICE\()([a-z_]+).*/\2/p' "$src"/libfastsched/comm/fs_params.c >"$work/params"
[ -s "$work/params" ] || complain 'fs_params.c has no parameters'
while read -r name; do
    grep -q "^\.BR $name \" (" "$man"/coll_fast.7 || echo "$name"
done <"$work/params" | complain_of 'coll_fast.7 lacks a parameter'

words_are_in FS_STATUS_MAP fs_strerror.3 # their numbers
words_are_in FS_ALG_MAP coll_fast.7 fastsched.1
words_are_in FS_BALANCE_MAP fastsched.1
words_are_in FS_PAPERS_BALANCE_MAP fastsched.1
words_are_in FS_DECOMPOSE_MAP coll_fast.7 fastsched.1
words_are_in FS_PAPERS_DECOMPOSE_MAP fastsched.1
words_are_in FS_TRANSPORT_MAP coll_fast.7
words_are_in FS_ACCEL_DIRECT_MAP coll_fast.7
words_are_in FS_PATTERN_MAP fastsched.1
words_are_in FS_SIM_FABRIC_MAP fastsched.1
words_are_in FS_SIM_BASELINE_MAP fastsched.1
words_are_in FS_STRAGGLER_MAP fastsched.1

# ---- layers ----

sed -nE 's,^    (libfastsched[/a-z]*)  .*,\1,p' "$src/docs/internals.md" | uniq >"$work/layers"
[ -s "$work/layers" ] || complain 'docs/internals.md lists no layers'
sed -n '/^\.SH THE LAYERS/,/^\.SH SOURCES/s,^\.B \(libfastsched.*\),\1,p' "$man/fastsched.7" |
    diff "$work/layers" - >&2 || complain 'fastsched.7 and docs/internals.md list different layers'

# ---- examples ----

# Programs to DIR/PAGE.c, what they print, the block behind, to DIR/PAGE.out.
extract() {
    awk -v base="$work/$(basename "$1")" '
        /^\.SH/ { examples = /EXAMPLE/ }
        examples && /^\.(nf|EX)/ { file = base (n++ == 0 ? ".c" : ".out"); next }
        /^\.(fi|EE)/ { file = "" }
        file != "" { gsub(/\\-/, "-"); gsub(/\\e/, "\\"); print > file }' "$1"
}

library=$build/libfastsched/.libs
runs=no
if [ -e "$library/libfastsched.so" ]; then
    # With sanitizers the library wants more of a program than we know.
    ${NM:-nm} -D "$library/libfastsched.so" | grep -qE '__(asan|ubsan)_' || runs=yes
fi
for page in "$man"/*.3; do
    extract "$page"
    program=$work/$(basename "$page")
    [ -f "$program.c" ] || continue
    if ! ${CC:-cc} -Wall -Wextra -Werror -I"$src/libfastsched" -c -o "$program.o" "$program.c"; then
        complain "the example of ${page##*/} does not compile"
    elif [ $runs = yes ]; then
        ${CC:-cc} -o "$program" "$program.o" -L"$library" -lfastsched
        LD_LIBRARY_PATH=$library:${LD_LIBRARY_PATH-} "$program" >"$program.is"
        diff "$program.out" "$program.is" >&2 ||
            complain "the example of ${page##*/} prints something else"
    fi
done

# ---- fastsched.1 ----

command=$build/libfastsched/fastsched
page=$man/fastsched.1
if [ ! -f "$page" ]; then
    complain 'there is no man/fastsched.1'
elif [ -x "$command" ]; then
    sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g' "$page" >"$work/fastsched.1"
    "$command" --help | sed -n '/^  fastsched /q; s/^  \([a-z0-9]*\)  .*/\1/p' >"$work/commands"
    [ -s "$work/commands" ] || complain 'fastsched --help lists no commands'
    while read -r name; do
        echo "$name"
        "$command" "$name" --help </dev/null | grep -oE -- '--[a-z0-9-]*[a-z0-9]'
    done <"$work/commands" | sort -u | while read -r word; do
        grep -qE -e "(^|[^a-z0-9-])$word([^a-z0-9-]|\$)" "$work/fastsched.1" || echo "$word"
    done | complain_of 'fastsched.1 does not mention'
fi

# ---- lint ----

# Pages have no date: it would change with every build.
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$man"/*.[0-9] | grep -v 'missing date' | complain_of 'mandoc says'
fi

[ ! -e "$work/failed" ] || exit 1
echo "check_man: ok"
