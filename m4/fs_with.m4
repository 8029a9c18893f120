dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl A part that configure looks for sets three shell variables:
dnl   fs_have_X  yes or no     fs_said_X  its version, or why it is not there
dnl   fs_want_X  auto, yes (it must be there), no, or the directory it is in

dnl FS_WITH(X, WHAT): the options --with-X[=DIR] and --without-X, with - for _ in X.
AC_DEFUN([FS_WITH], [
  AC_ARG_WITH(m4_translit([[$1]], [_], [-]),
    [AS_HELP_STRING([--with-]m4_translit([[$1]], [_], [-])[@<:@=DIR@:>@],
      [$2 @<:@default: if found@:>@])],
    [fs_want_$1=$withval], [fs_want_$1=auto])
  fs_have_$1=no
  fs_said_$1="switched off by --without-$1"])

dnl FS_REQUIRED(X): stop if X was asked for and is not there.
AC_DEFUN([FS_REQUIRED], [
  AS_CASE([$fs_have_$1:$fs_want_$1],
    [no:auto|no:no|yes:*], [],
    [AC_MSG_ERROR([--with-$1=$fs_want_$1 was given, but: $fs_said_$1])])])

dnl FS_PKG(X, VAR, WHAT, MODULE, MIN-VERSION, DEBIAN-PACKAGE): a part that
dnl pkg-config knows. Sets VAR_CFLAGS, VAR_LIBS and VAR_LIBDIR.
AC_DEFUN([FS_PKG], [
  FS_WITH([$1], [$3])
  AS_IF([test "x$fs_want_$1" != xno], [
    fs_save_path=$PKG_CONFIG_PATH
    fs_place=
    AS_CASE([$fs_want_$1], [auto|yes], [], [
      fs_place=" in $fs_want_$1"
      PKG_CONFIG_PATH=
      for fs_dir in "$fs_want_$1"/lib/pkgconfig "$fs_want_$1"/lib64/pkgconfig \
                    "$fs_want_$1"/lib/*/pkgconfig; do
        AS_IF([test -f "$fs_dir/$4.pc"], [PKG_CONFIG_PATH=$fs_dir])
      done])
    export PKG_CONFIG_PATH
    fs_said_$1="pkg-config finds no $4 >= $5$fs_place (Debian: $6)"
    AS_IF([test -z "$fs_place" || test -n "$PKG_CONFIG_PATH"], [
      PKG_CHECK_MODULES([$2], [$4 >= $5],
        [fs_have_$1=yes
         fs_said_$1=`$PKG_CONFIG --modversion $4`
         $2_LIBDIR=`$PKG_CONFIG --variable=libdir $4`],
        [:])])
    PKG_CONFIG_PATH=$fs_save_path])
  AC_SUBST([$2_LIBDIR])
  FS_REQUIRED([$1])])

dnl FS_HEADER(X, WHAT, HEADER, VERSION-MACRO, DEFAULT-DIRS, PROLOGUE): a part
dnl that is a header. Sets fs_dir_X, the directory to put after -I, or nothing.
AC_DEFUN([FS_HEADER], [
  FS_WITH([$1], [$2])
  fs_dir_$1=
  AS_IF([test "x$fs_want_$1" != xno], [
    AC_MSG_CHECKING([for $3])
    fs_said_$1="$3 not found"
    AS_CASE([$fs_want_$1],
      [auto|yes], [fs_dirs="- $5"], [fs_dirs=$fs_want_$1/include])
    fs_save_CPPFLAGS=$CPPFLAGS
    for fs_dir in $fs_dirs; do
      AS_IF([test "$fs_dir" = -], [CPPFLAGS=$fs_save_CPPFLAGS],
            [CPPFLAGS="$fs_save_CPPFLAGS -I$fs_dir"])
      AC_COMPUTE_INT([fs_version], [$4], [
$6
#include <$3>
], [fs_version=])
      AS_IF([test -n "$fs_version"], [
        fs_have_$1=yes
        fs_said_$1=$fs_version
        AS_IF([test "$fs_dir" != -], [fs_dir_$1=$fs_dir])
        break])
    done
    CPPFLAGS=$fs_save_CPPFLAGS
    AC_MSG_RESULT([$fs_have_$1])])
  FS_REQUIRED([$1])])
