#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Fails when an include crosses base < sched < accel < net < trace < engine < policy < comm < coll < wrapper, when base/, sched/ or sim/
# could look at anything but their arguments, when a unit test is in no layer's
# folder, or when a library exports more or less than its headers declare.
#
#   check_layers.sh           check the sources in FS_SRCDIR and, if it is
#                             there, the build in FS_BUILDDIR
#   check_layers.sh --map     print libfastsched.map as the headers want it
set -u
export LC_ALL=C

src=${FS_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
build=${FS_BUILDDIR:-$src}
lib=$src/libfastsched
failed=0

complain() {
    echo "check_layers: $*" >&2
    failed=1
}

# Every include of the files given, as: FILE "name" or FILE <name>
includes() {
    for file in "$@"; do
        [ -f "$file" ] || continue
        sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\(["<][^">]*[">]\).*/\1/p' "$file" |
            while read -r name; do echo "${file#"$src"/} $name"; done
    done
}

# LAYER ALLOWED-PATTERN FILE...: includes outside the pattern are complaints.
allow() {
    layer=$1 allowed=$2
    shift 2
    crossing=$(includes "$@" | grep -vE "^[^ ]+ ($allowed)$")
    [ -z "$crossing" ] || complain "$layer may not include:
$crossing"
}

# HEADER...: what they declare: fs_NAME( outside comments, directives and
# inline functions.
declared_in() {
    sed -e 's|//.*||' -e '/^[[:space:]]*#/d' "$@" | tr '\n' ' ' |
        sed -e 's|/\*[^*]*\*\**\([^/*][^*]*\*\**\)*/||g' -e 's/static inline[^{]*{[^}]*}//g' |
        grep -oE '\bfs_[a-z0-9_]+ *\(' | tr -d ' (' | grep -v '_t$' | sort -u
}

declared() { declared_in "$lib"/fastsched*.h; }

# LIBRARY
in_map_of() { sed -n 's/^ *\(fs_[a-z0-9_]*\);.*/\1/p' "$lib/$1.map" | sort -u; }
in_map() { in_map_of libfastsched; }

# What a shared library defines for others, but for the name of its version.
exported() { ${NM:-nm} -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort -u; }

# WHAT LEFT RIGHT: complain about lines of LEFT that RIGHT lacks.
lacks() {
    missing=$(printf '%s\n' "$2" | while read -r name; do
        [ -z "$name" ] || printf '%s\n' "$3" | grep -qx "$name" || echo "  $name"
    done)
    [ -z "$missing" ] || complain "$1:
$missing"
}

if [ "${1-}" = --map ]; then
    sed -n '1,/global:/p' "$lib/libfastsched.map"
    declared | sed 's/.*/        &;/'
    printf '    local:\n        *;\n};\n'
    exit 0
fi

# ---- includes ----

pure='<(assert|inttypes|limits|stdalign|stdarg|stdbool|stddef|stdint|stdio|stdlib|string).h>'
base='"(base/)?fs_(arena|arith|assert|bits|clock|digest|grow|json|matrix|minima|quote|status|strbuf|thread|value).h"|"fastsched.h"'

# FOLDER...: the headers in them.
in_folders() { printf '"(%s)/fs_[a-z_0-9]*.h"' "$(echo "$*" | tr ' ' '|')"; }

# FOLDER MORE FOLDER...: it may include itself, base, these folders, and headers of the pattern MORE.
layer() {
    folder=$1 more=$2
    shift 2
    allow "$folder" "$base|$more|$(in_folders "$folder" "$@")" "$lib/$folder"/*.[ch]
}

sched='sched/model sched/balance sched/decompose sched/plan sched/allreduce'
anything='<[a-z_/]*.h>'
public='"fastsched(_accel|_exec)?.h"'

allow base "$pure|$base" "$lib"/base/fs_[!clt]*.[ch]
allow fs_clock.h '<(stdint|time).h>' "$lib"/base/fs_clock.h
allow fs_thread.h '<(pthread|signal).h>' "$lib"/base/fs_thread.h
allow fs_library "$pure|<dlfcn.h>|\"base/fs_library.h\"" "$lib"/base/fs_library.[ch]
layer sched/model "$pure"
layer sched/balance "$pure" sched/model
layer sched/decompose "$pure" sched/model
layer sched/plan "$pure" sched/model sched/balance sched/decompose
layer sched/allreduce "$pure" sched/model sched/plan
layer sched/papers "$pure" sched/model sched/balance sched/decompose
# It runs the early exchange itself.
layer sim "$pure|\"(engine/fs_early|net/fs_transport).h\"" sched/model sched/balance sched/plan
allow 'a public header' "$pure|$public" "$lib"/fastsched*.h
layer accel "$pure|<(dlfcn|pthread).h>|\"base/fs_library.h\"|\"fastsched_accel.h\""
layer net "$anything|\"base/fs_library.h\"|$public|\"fastsched_ucx.h\"" sched/model accel
layer trace "$anything|$public" sched/model sched/plan
layer engine "$pure|$public" sched/model sched/plan accel net trace
layer policy "$pure|$public|<(errno|fcntl|sys/file|sys/stat|time|unistd).h>"
# shellcheck disable=SC2086 # words
layer comm "$anything|$public" $sched accel net trace engine policy
# shellcheck disable=SC2086
layer coll "$anything|$public" $sched accel net trace engine policy comm
# shellcheck disable=SC2086
layer wrapper "$anything|$public" $sched accel net trace engine policy comm coll

for file in "$lib"/[!t]*/*.[ch] "$lib"/trace/*.[ch] "$lib"/fastsched*.h; do
    case $file in
    */fs_transport_ucx.c | */net/fs_ucx*.[ch] | */fastsched_ucx.h) outside='mpi|ompi|opal|cuda|hip' ;;
    *) outside='mpi|ompi|opal|ucp|uct|ucs|cuda|hip' ;;
    esac
    crossing=$(includes "$file" | grep -E " [<\"]($outside)([/._].*)?[>\"]$")
    [ -z "$crossing" ] || complain "only the UCX files and the wrappers may include:
$crossing"
done

crossing=$(includes "$lib"/*/*.[ch] "$lib"/*/*/*.[ch] "$lib"/*.h | grep -E '(coll_fast|osu_|\.\.)')
[ -z "$crossing" ] || complain "libfastsched may not know its users:
$crossing"

# What is not installed and whose header is a contract.
contracts='sched/[a-z]*/fs_(arrival|balance|pattern|plan|plan_check|ports|replan|straggler(_plan)?|hierarchy)|sim/fs_sim(_early|_loggp)?|net/fs_hwloc|trace/fs_recording(_kinds)?|policy/fs_tun(er|ing)'
crossing=$(includes "$lib"/tools/*.[ch] | grep -E ' "' | grep -vE " \"(tools/fs_[a-z_]*|base/fs_[a-z]*|fastsched(_[a-z]+)?|$contracts)\.h\"$")
[ -z "$crossing" ] || complain "the command may not know of the library:
$crossing"

# ---- one name, one type: a file may include any two headers ----

twice=$(cat "$lib"/*.h "$lib"/*/*.h "$lib"/*/*/*.h |
    sed -nE 's/^(\}|typedef [^(]*[ *(]+) *(fs_[a-z0-9_]+_t)( *;|\)? *\().*/\2/p' | sort | uniq -d)
[ -z "$twice" ] || complain "a type with two definitions:
$twice"

# ---- a unit test is in the folder of a layer; elsewhere it includes public headers only ----

layers='base sched sim accel net trace engine policy comm coll wrapper tools'
for folder in "$src"/tests/unit/*/; do
    folder=$(basename "$folder")
    echo " $layers support " | grep -qF " $folder " || complain "tests/unit/$folder is no layer of libfastsched"
done
for name in $layers; do
    ls "$src/tests/unit/$name"/test_*.c >/dev/null 2>&1 || complain "libfastsched/$name has no test in tests/unit/$name"
done
allow 'a unit test of no layer' "$anything|$public" "$src"/tests/unit/*.c

# ---- every file is built and distributed ----

for file in "$lib"/*/*.[ch] "$lib"/*/*/*.[ch] "$lib"/*.h $(find "$lib/tools/python" -name '*.py'); do
    file=${file#"$lib"/}
    grep -qF "$file" "$lib/Makefile.am" || complain "libfastsched/Makefile.am does not name $file"
done
for file in "$src"/tests/unit/*.c "$src"/tests/unit/*/*.[ch]; do
    file=${file#"$src"/tests/}
    grep -qE "(^|[[:space:]])(${file%.c}|$file)([[:space:]]|\$)" "$src/tests/Makefile.am" ||
        complain "tests/Makefile.am does not name $file"
done

# ---- base, sched and sim are pure: nothing but their arguments; JSON goes into a file that is one ----

impure='getenv|secure_getenv|clock.*|time|gettimeofday|nanosleep|usleep|rand.*|random|drand48|getpid|gethostname'
impure="$impure|printf|fprintf|vprintf|puts|fopen|open|read|write|pthread_.*|exit"
checked=0
for object in "$build"/libfastsched/base/.libs/*.o "$build"/libfastsched/sched/*/.libs/*.o \
    "$build"/libfastsched/sim/.libs/*.o; do
    [ -f "$object" ] || continue
    [ "${object##*/}" != fs_json.o ] || continue
    checked=$((checked + 1))
    calls=$(${NM:-nm} -u "$object" | awk '{ print $2 }' | sed 's/@.*//' | grep -xE "$impure")
    [ -z "$calls" ] || complain "${object#"$build"/} is not pure, it calls:
$calls"
done

# Objects are where libtool puts them.
[ $checked -gt 0 ] || [ ! -e "$build/libfastsched/libfastsched_core.la" ] ||
    complain "no objects in $build/libfastsched"

# ---- exported symbols ----

lacks 'declared in a public header but not in libfastsched.map' "$(declared)" "$(in_map)"
lacks 'in libfastsched.map but in no public header' "$(in_map)" "$(declared)"

# OPTION LIBRARY: what readelf says about it to $elf.
read_elf() {
    elf=$(${READELF:-readelf} "$1" "$2") || complain "${READELF:-readelf} does not read ${2##*/}"
}

# LIBRARY NAME...: complain about libraries that it needs and that are not named. A plugin
# that misses one makes every process of every job say so.
needs_only() {
    library=$1
    shift
    read_elf -d "$library"
    needed=$(echo "$elf" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' | sort -u)
    lacks "${library##*/} may not need" "$needed" "$(printf '%s\n' "$@")"
}

# What a program calls so cannot come between our own calls.
calls_itself() {
    read_elf -rW "$1"
    calls=$(echo "$elf" | grep -oE ' fs_[a-z0-9_]+' | sort -u)
    [ -z "$calls" ] || complain "${1##*/} lets others define what it calls itself:
$calls"
}

# What only the command, the figures and the tests use: see libfastsched/Makefile.am.
papers=$(${NM:-nm} --defined-only "$build"/libfastsched/sched/papers/.libs/*.o 2>/dev/null |
    awk '$2 == "T" && $3 !~ /^fs_papers_/ { print $3 }')
without_papers() {
    found=$(${NM:-nm} "$1" | awk '{ print $NF }' | grep -xF -e "$papers")
    [ -z "$found" ] || complain "${1##*/} contains what is in sched/papers:
$found"
}

system='libc libdl libpthread librt libm ld-linux-x86-64 ld-linux-aarch64'
library=$build/libfastsched/.libs/libfastsched.so
if [ -e "$library" ]; then
    lacks 'exported by libfastsched.so but not in its map' "$(exported "$library")" "$(in_map)"
    calls_itself "$library"
    without_papers "$library"
    # Without UCX, what its header declares is not there.
    if [ -f "$build/libfastsched/net/fs_ucx_api.lo" ]; then
        lacks 'in libfastsched.map but not defined' "$(in_map)" "$(exported "$library")"
    fi
fi

# For a component in Open MPI's own tree: see packaging/ompi-tree.
wrapper_headers=$(sed -n '/^nobase_wrapper_HEADERS/,/[^\\]$/p' "$lib/Makefile.am" | grep -oE '[a-z]+/fs_[a-z_]+\.h')
# shellcheck disable=SC2086 # words
declared_with=$(cd "$lib" && declared && declared_in $wrapper_headers &&
    sed -n '/^extern/,/;/p' coll/fs_collectives.h | grep -oE '\bfs_[a-z_]+[,;]' | tr -d ',;')
lacks 'in libfastsched_wrapper.map but in no header that is installed with it' \
    "$(in_map_of libfastsched_wrapper)" "$declared_with"
library=$build/libfastsched/.libs/libfastsched_wrapper.so
if [ -e "$library" ]; then
    lacks 'exported by libfastsched_wrapper.so but not in its map' "$(exported "$library")" "$(in_map_of libfastsched_wrapper)"
    lacks 'in libfastsched_wrapper.map but not defined' "$(in_map_of libfastsched_wrapper)" "$(exported "$library")"
    calls_itself "$library"
    without_papers "$library"
fi

component=$build/ompi_coll_fast/.libs/mca_coll_fast.so
if [ -e "$component" ]; then
    called=$(${NM:-nm} -u "$build"/ompi_coll_fast/.libs/coll_fast*.o | awk '$2 ~ /^fs_/ { print $2 }' | sort -u)
    lacks 'called by ompi_coll_fast but not in libfastsched_wrapper.map' "$called" "$(in_map_of libfastsched_wrapper)"
    lacks 'in libfastsched_wrapper.map but not called by ompi_coll_fast' "$(in_map_of libfastsched_wrapper)" "$called"
    lacks 'exported by mca_coll_fast.so' "$(exported "$component")" mca_coll_fast_component
    calls_itself "$component"
    without_papers "$component"
    # shellcheck disable=SC2086
    needs_only "$component" libmpi libopen-pal libpmix $system
fi

library=$build/mpich_coll_fast/.libs/libmpich_coll_fast.so
if [ -e "$library" ]; then
    calls_itself "$library"
    without_papers "$library"
    # shellcheck disable=SC2086
    needs_only "$library" $system
fi

[ $failed -eq 0 ] && echo "check_layers: ok"
exit $failed
