#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# packaging/ompi-tree/make-patch: on skeletons of Open MPI's source trees, its patch applies as it is, adds the
# files of ompi_coll_fast and no others, and these compile with the headers that --enable-wrapper-library
# installs, and no others of ours. What is no tree for it is refused.
set -u
export LC_ALL=C

src=${FS_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${FS_BUILDDIR:-$src}
make_patch=$src/packaging/ompi-tree/make-patch
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0

command -v patch >/dev/null || { echo 'skipped: no patch' && exit 77; }

complain() {
    echo "test_make_patch: $*" >&2
    failed=1
}

# MAJOR MINOR: what make-patch reads of a tree; the pages of docs from 5.0 on.
skeleton() {
    tree=$work/open-mpi-$1.$2
    mkdir -p "$tree/ompi/mca/coll"
    printf 'major=%d\nminor=%d\nrelease=3\n' "$1" "$2" >"$tree/VERSION"
    : >"$tree/ompi/mca/coll/coll.h"
    [ "$1" -ge 5 ] || return 0
    docs=$tree/docs/tuning-apps/collectives
    mkdir -p "$docs"
    printf 'Collectives\n===========\n\n.. toctree::\n\n   hcoll\n   ucc\n   xhc\n' >"$docs/index.rst"
    # shellcheck disable=SC2016 # no commands
    printf ' - ``ucc``: component\n   for collective operations. See :doc:`ucc` for more details.\n - ``xhc``\n' \
        >"$docs/components.rst"
}

# MAJOR MINOR
applies() {
    skeleton "$1" "$2"
    cp -r "$tree" "$tree.before"
    "$make_patch" "$tree" --version 1.2.3-4-gabc >"$work/patch" || { complain "$1.$2: exit status $?" && return; }
    diff -r "$tree.before" "$tree" >&2 || complain "$1.$2: the tree was written to"
    patch -d "$tree" -p1 --fuzz=0 --no-backup-if-mismatch <"$work/patch" >"$work/said" 2>&1 ||
        complain "$1.$2: $(cat "$work/said")"
    ! grep -q offset "$work/said" || complain "$1.$2: $(cat "$work/said")"
    component=$tree/ompi/mca/coll/fast

    (cd "$src/ompi_coll_fast" && ls coll_fast*.[ch] && printf '%s\n' Makefile.am configure.m4 owner.txt) |
        sort >"$work/wanted"
    find "$component" -type f -printf '%P\n' | sort | diff "$work/wanted" - >&2 || complain "$1.$2: files"
    sed -n '/^sources =/,/[^\\]$/p' "$component/Makefile.am" | grep -oE 'coll_fast[a-z0-9_]*\.[ch]' | sort >"$work/built"
    grep coll_fast "$work/wanted" | diff - "$work/built" >&2 || complain "$1.$2: the sources of Makefile.am"
    ! grep -nE '@[a-z]+@' "$component"/* >&2 || complain "$1.$2: a place was not filled in"
    grep -qF -e '-DFAST_MAJOR=1 -DFAST_MINOR=2 -DFAST_RELEASE=3' "$component/Makefile.am" ||
        complain "$1.$2: the version in Makefile.am"
    [ "$1" -lt 5 ] || {
        [ "$(sed -n '/   ucc/{n;p;}' "$docs/index.rst")" = '   fast' ] || complain "$1.$2: index.rst has no fast"
        grep -q ':doc:.fast.' "$docs/components.rst" || complain "$1.$2: components.rst has no fast"
        [ -s "$docs/fast.rst" ] || complain "$1.$2: no fast.rst"
    }

    "$make_patch" "$tree" --version 1.2.3 >/dev/null 2>"$work/said" &&
        complain "$1.$2: a tree that has the component was taken"
    grep -q 'has ompi/mca/coll/fast already' "$work/said" || complain "$1.$2: $(cat "$work/said")"
}

applies 4 1
[ "$(grep -c OAC_ "$component/configure.m4")" = 0 ] || complain '4.1 has no OAC'
grep -q 'lib@OMPI_LIBMPI_NAME@' "$component/Makefile.am" || complain '4.1: the library is not libmpi'
applies 5 0
applies 6 1
grep -q OAC_CHECK_PACKAGE "$component/configure.m4" || complain '6.1: not by OAC_CHECK_PACKAGE'
grep -q libopen_mpi "$component/Makefile.am" || complain '6.1: the library is not libopen_mpi'

# ---- refused ----

# TEXT TREE OPTION...
is_refused() {
    text=$1
    shift
    "$make_patch" "$@" >"$work/patch" 2>"$work/said" && complain "not refused: $*"
    [ ! -s "$work/patch" ] || complain "a patch all the same: $*"
    grep -qF -e "$text" "$work/said" || complain "$*: $(cat "$work/said")"
}

is_refused 'is no source tree of Open MPI' "$work" --version 1.2.3
skeleton 4 0
is_refused 'Open MPI 4.0; the component is for 4.1 and later' "$tree" --version 1.2.3
skeleton 5 1
is_refused 'does not begin with three numbers' "$tree" --version main
printf 'hcoll\n' >"$docs/index.rst"
is_refused 'index.rst: 0 lines instead of one are: ucc' "$tree" --version 1.2.3

# ---- it compiles with what is installed ----

if [ -e "$build/ompi_coll_fast/mca_coll_fast.la" ]; then
    flags=$(sed -n 's/^OMPI_CPPFLAGS = //p' "$build/ompi_coll_fast/Makefile")
    installed=$work/include
    mkdir -p "$installed/fastsched"
    cp "$src"/libfastsched/fastsched*.h "$installed"
    sed -n '/^nobase_wrapper_HEADERS/,/[^\\]$/p' "$src/libfastsched/Makefile.am" | grep -oE '[a-z]+/fs_[a-z_]+\.h' |
        (cd "$src/libfastsched" && xargs cp --parents -t "$installed/fastsched")
    for file in "$work"/open-mpi-4.1/ompi/mca/coll/fast/*.c; do
        # shellcheck disable=SC2086 # flags
        ${CC:-cc} -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -I"$installed/fastsched" -I"$installed" \
            -I"$src/ompi_coll_fast/compat" -DFS_VERSION='"1.2.3"' -DFAST_MAJOR=1 -DFAST_MINOR=2 -DFAST_RELEASE=3 \
            $flags "$file" >"$work/said" 2>&1 || complain "$(basename "$file"): $(head -n 20 "$work/said")"
    done
else
    echo 'not compiled: this build is without Open MPI'
fi

[ $failed = 0 ] && echo 'test_make_patch: ok'
exit $failed
