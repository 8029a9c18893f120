#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Other programs find the installed library: with CMake, and with pkg-config. It is
# installed in a place that configure knew nothing of.
set -eu

src=$FS_SRCDIR/tests/consume
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
# As deep below the prefix as configured: CMake's file looks for it from there.
makefile=$FS_BUILDDIR/libfastsched/Makefile
libdir=$(sed -n 's/^libdir = //p' "$makefile")
configured=$(sed -n 's/^prefix = //p' "$makefile")
case $libdir in
*'}'/*) lib=$prefix/${libdir#*\}/} ;;
"$configured"/*) lib=$prefix/${libdir#"$configured"/} ;;
*) lib=$prefix/lib ;;
esac
export LC_ALL=C

# It was configured with a sanitizer or for coverage, and so would programs have to be.
if grep -qE '^FS_LDFLAGS = .*(-fsanitize|--coverage)' "$FS_BUILDDIR/libfastsched/Makefile"; then
    echo "skipped: the library is instrumented"
    exit 77
fi

make -s -C "$FS_BUILDDIR/libfastsched" install prefix="$prefix" exec_prefix="$prefix" libdir="$lib" \
    includedir="$prefix/include" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }

pkg-config --version >/dev/null || exit 77
PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # flags
${CC:-cc} "$src/consume.c" -o "$work/by_pkg_config" \
    $(pkg-config --define-variable=prefix="$prefix" --define-variable=libdir="$lib" \
        --define-variable=includedir="$prefix/include" --cflags --libs libfastsched)
LD_LIBRARY_PATH=$lib "$work/by_pkg_config"

command -v cmake >/dev/null || { echo "with CMake: skipped, it is not installed" && exit 77; }
{ cmake -S "$src" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$work/build"; } \
    >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
"$work/build/consume"

# Before 1.0 another minor version is another interface.
sed 's/fastsched 0.1/fastsched 0.0.9/' "$src/CMakeLists.txt" >"$work/CMakeLists.txt"
cp "$src/consume.c" "$work"
if cmake -S "$work" -B "$work/other" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1; then
    echo "CMake took 0.1 for 0.0.9"
    exit 1
fi
grep -q 'compatible with requested version "0.0.9"' "$work/log" || { cat "$work/log" && exit 1; }
