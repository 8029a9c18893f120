# -*- shell-script -*-
#
@header@

# MCA_ompi_coll_fast_CONFIG([action-if-can-compile],
#                           [action-if-cant-compile])
# ------------------------------------------------
# UCX and hwloc are libfastsched's affair: it finds them at run time.
AC_DEFUN([MCA_ompi_coll_fast_CONFIG],[
    AC_CONFIG_FILES([ompi/mca/coll/fast/Makefile])

    AC_ARG_WITH([fastsched],
                [AC_HELP_STRING([--with-fastsched(=DIR)],
                                [Build coll/fast: skewed all-to-all exchanges, by libfastsched_wrapper])])

    coll_fast_save_path=$PKG_CONFIG_PATH
    AS_CASE([$with_fastsched],
            [""|yes|no], [],
            [for dir in "$with_fastsched"/lib "$with_fastsched"/lib64 "$with_fastsched"/lib/*; do
                 AS_IF([test -f "$dir/pkgconfig/libfastsched_wrapper.pc"],
                       [PKG_CONFIG_PATH=$dir/pkgconfig])
             done
             export PKG_CONFIG_PATH])
    coll_fast_happy="no"
    AS_IF([test "$with_fastsched" != "no"],
          [PKG_CHECK_MODULES([coll_fast], [libfastsched_wrapper],
                             [coll_fast_happy="yes"],
                             [coll_fast_happy="no"])])
    PKG_CONFIG_PATH=$coll_fast_save_path

    AS_IF([test "$coll_fast_happy" = "yes"],
          [$1],
          [AS_IF([test -n "$with_fastsched" && test "$with_fastsched" != "no"],
                 [AC_MSG_ERROR([fastsched support requested but not found.  Aborting])])
           $2])

    OPAL_SUMMARY_ADD([[Miscellaneous]], [[fastsched]], [coll_fast], [$coll_fast_happy])

    AC_SUBST([coll_fast_CPPFLAGS], [$coll_fast_CFLAGS])
    AC_SUBST([coll_fast_LDFLAGS])
])dnl
