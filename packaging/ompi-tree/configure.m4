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
                [AS_HELP_STRING([--with-fastsched(=DIR)],
                                [Build coll/fast: skewed all-to-all exchanges, by libfastsched_wrapper])])

    m4_define([fastsched_pkgconfig_module], [libfastsched_wrapper])
    OAC_CHECK_PACKAGE([fastsched],
                      [coll_fast],
                      [wrapper/fs_wrapper.h],
                      [fastsched_wrapper],
                      [fs_wrapper_open],
                      [coll_fast_happy="yes"],
                      [coll_fast_happy="no"])

    AS_IF([test "$coll_fast_happy" = "yes"],
          [coll_fast_WRAPPER_EXTRA_LDFLAGS="$coll_fast_LDFLAGS"
           coll_fast_WRAPPER_EXTRA_LIBS="$coll_fast_LIBS"
           $1],
          [AS_IF([test -n "$with_fastsched" && test "$with_fastsched" != "no"],
                 [AC_MSG_ERROR([fastsched support requested but not found.  Aborting])])
           $2])

    OPAL_SUMMARY_ADD([Miscellaneous], [fastsched], [], [$coll_fast_happy])

    AC_SUBST([coll_fast_CPPFLAGS])
    AC_SUBST([coll_fast_LDFLAGS])
    AC_SUBST([coll_fast_LIBS])
])dnl
