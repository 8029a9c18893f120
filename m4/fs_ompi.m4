dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl FS_OMPI: Open MPI and its internal headers. The compiler wrapper says where
dnl they are. Sets MPICC, MPIRUN, OMPI_CPPFLAGS, OMPI_LDFLAGS, OMPI_PMIX_LIBS, ompi_pkglibdir,
dnl and fs_have_ompi_devel next to fs_have_ompi.
dnl
dnl Open MPI 5.0 does not install all that its own headers include: the sources
dnl of the same version, unpacked, and those of PMIx have the rest.
AC_DEFUN([FS_OMPI], [
  AC_ARG_VAR([MPICC], [compiler wrapper of Open MPI])
  FS_WITH([ompi], [Open MPI with its internal (devel) headers])
  AC_ARG_WITH([ompi-src],
    [AS_HELP_STRING([--with-ompi-src=DIR],
      [unpacked sources of the very Open MPI that is installed, for headers that
       it did not install (needed for 5.0, and so are those of PMIx)])],
    [AS_IF([test ! -r "$with_ompi_src/opal/mca/threads/threads.h"],
      [AC_MSG_ERROR([--with-ompi-src=$with_ompi_src: no sources of Open MPI there])])])
  fs_have_ompi_devel=no
  fs_said_ompi_devel=$fs_said_ompi
  AS_IF([test "x$fs_want_ompi" != xno], [
    AS_CASE([$fs_want_ompi],
      [auto|yes], [fs_names="mpicc.openmpi mpicc"],
      [fs_names="$fs_want_ompi/bin/mpicc.openmpi $fs_want_ompi/bin/mpicc"])
    AS_IF([test -n "$MPICC"], [fs_names=$MPICC])
    AC_MSG_CHECKING([for the compiler wrapper of Open MPI])
    fs_found=no
    for fs_name in $fs_names; do
      fs_path=`command -v "$fs_name" 2>/dev/null` || continue
      fs_version=`"$fs_path" --showme:version 2>/dev/null |
                  sed -n 's/.*Open MPI \([[0-9][^ ]]*\).*/\1/p'`
      AS_IF([test -n "$fs_version"], [fs_found=$fs_path; break])
    done
    AC_MSG_RESULT([$fs_found])
    AS_IF([test "$fs_found" = no], [
      fs_said_ompi="none of $fs_names is Open MPI's (Debian: libopenmpi-dev)"
      fs_said_ompi_devel=$fs_said_ompi
    ], [
      MPICC=$fs_found
      fs_have_ompi=yes
      fs_said_ompi=$fs_version
      fs_bin=`AS_DIRNAME(["$MPICC"])`
      AC_PATH_PROGS([MPIRUN], [mpirun.openmpi mpirun], [mpirun],
                    [$fs_bin$PATH_SEPARATOR$PATH])
      AC_PATH_PROGS([OMPI_INFO], [ompi_info.openmpi ompi_info], [],
                    [$fs_bin$PATH_SEPARATOR$PATH])
      for fs_dir in `"$MPICC" --showme:incdirs`; do
        AS_IF([test "$fs_dir" != /usr/include],
              [OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $fs_dir"])
      done
      AS_IF([test -n "$with_ompi_src"], [
        fs_pmix=`pkg-config --cflags-only-I pmix 2>/dev/null |
                 sed 's/-I/-isystem /g'`
        OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $with_ompi_src $fs_pmix"])
      for fs_dir in `"$MPICC" --showme:libdirs`; do
        OMPI_LDFLAGS="$OMPI_LDFLAGS -L$fs_dir"
      done
      dnl From 5.0 on its macros for PMIx call PMIx themselves.
      AS_CASE([$fs_version], [4.*], [],
        [OMPI_PMIX_LIBS=`pkg-config --libs pmix 2>/dev/null || echo -lpmix`])
      FS_OMPI_DEVEL])])
  AC_SUBST([OMPI_PMIX_LIBS])
  AC_SUBST([OMPI_CPPFLAGS])
  AC_SUBST([OMPI_LDFLAGS])
  AC_SUBST([ompi_pkglibdir])
  FS_REQUIRED([ompi])])

dnl Devel headers are often incomplete: coll.h compiles where coll_base_util.h
dnl does not, so that is the one to try, with our stand-ins.
AC_DEFUN([FS_OMPI_DEVEL], [
  AC_MSG_CHECKING([for the internal headers of Open MPI $fs_said_ompi])
  fs_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS -I$srcdir/ompi_coll_fast/compat $OMPI_CPPFLAGS"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([
#include "ompi_config.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/coll/base/coll_base_util.h"
], [mca_coll_base_module_t *module = 0; (void) module;])],
    [fs_have_ompi_devel=yes],
    [fs_said_ompi_devel="its internal headers do not compile (config.log; \
Open MPI must be installed --with-devel-headers)"])
  AC_MSG_RESULT([$fs_have_ompi_devel])
  fs_save_LDFLAGS=$LDFLAGS fs_save_LIBS=$LIBS
  LDFLAGS="$LDFLAGS $OMPI_LDFLAGS" LIBS="-lmpi $LIBS"
  AC_MSG_CHECKING([for MPIX_C_FLOAT16 in Open MPI])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([
#include <mpi.h>
#include <mpi-ext.h>
], [MPI_Datatype type = MPIX_C_FLOAT16; return type == MPI_DATATYPE_NULL;])],
    [OMPI_CPPFLAGS="$OMPI_CPPFLAGS -DFAST_HAVE_FLOAT16"
     AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])])
  CPPFLAGS=$fs_save_CPPFLAGS LDFLAGS=$fs_save_LDFLAGS LIBS=$fs_save_LIBS
  AS_IF([test "x$OMPI_INFO" = x], [
    fs_have_ompi_devel=no
    fs_said_ompi_devel="ompi_info not found (Debian: openmpi-bin)"
  ], [
    ompi_pkglibdir=`"$OMPI_INFO" --path pkglibdir --parsable |
                    sed -n 's/^path:pkglibdir://p'`])
  AS_CASE([$fs_want_ompi:$fs_have_ompi_devel],
    [auto:*|*:yes], [],
    [fs_have_ompi=no
     fs_said_ompi=$fs_said_ompi_devel])])
