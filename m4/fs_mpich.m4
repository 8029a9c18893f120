dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl FS_MPICH: MPICH's mpi.h, and MPICH itself for the tests. The compiler wrapper
dnl says where they are. Sets MPICC_MPICH, MPIEXEC_MPICH, MPICH_CPPFLAGS and
dnl MPICH_LIBS. MPICH itself writes -Wl,-rpath -Wl,DIR, which libtool would take
dnl apart.
AC_DEFUN([FS_MPICH], [
  FS_WITH([mpich], [MPICH: the library that stands before it, its tests])
  AS_IF([test "x$fs_want_mpich" != xno], [
    AS_CASE([$fs_want_mpich], [auto|yes], [fs_path=$PATH],
            [fs_path=$fs_want_mpich/bin])
    AC_PATH_PROGS([MPICC_MPICH], [mpicc.mpich mpicc], [], [$fs_path])
    fs_said_mpich="no compiler wrapper of MPICH found (Debian: libmpich-dev)"
    fs_show=`"$MPICC_MPICH" -show 2>/dev/null | grep -e -lmpich -e -lmpi`
    AS_IF([test -n "$fs_show"], [
      fs_bin=`AS_DIRNAME(["$MPICC_MPICH"])`
      AC_PATH_PROGS([MPIEXEC_MPICH], [mpiexec.mpich mpiexec.hydra mpiexec], [],
                    [$fs_bin$PATH_SEPARATOR$PATH])
      for fs_word in $fs_show; do
        AS_CASE([$fs_word],
          [-I*], [MPICH_CPPFLAGS="$MPICH_CPPFLAGS $fs_word"],
          [-L*|-l*|-Wl,-rpath=*|-Wl,-rpath,*], [MPICH_LIBS="$MPICH_LIBS $fs_word"],
          [-Wl,/*], [MPICH_LIBS="$MPICH_LIBS -Wl,-rpath,${fs_word@%:@-Wl,}"])
      done
      FS_MPICH_HEADER])])
  AC_SUBST([MPICH_CPPFLAGS])
  AC_SUBST([MPICH_LIBS])
  FS_REQUIRED([mpich])])

dnl Open MPI's wrapper answers to -show as well.
AC_DEFUN([FS_MPICH_HEADER], [
  AC_MSG_CHECKING([for mpi.h of MPICH])
  fs_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $MPICH_CPPFLAGS"
  AC_COMPUTE_INT([fs_number], [MPICH_NUMVERSION], [#include <mpi.h>],
                 [fs_number=0])
  CPPFLAGS=$fs_save_CPPFLAGS
  AS_IF([test "$fs_number" -ge 40000000], [
    fs_have_mpich=yes
    fs_said_mpich="`expr $fs_number / 10000000`.`expr $fs_number / 100000 % 100`, $MPICC_MPICH"
  ], [fs_said_mpich="$MPICC_MPICH is not that of an MPICH from 4.0 on"])
  AC_MSG_RESULT([$fs_have_mpich])])
