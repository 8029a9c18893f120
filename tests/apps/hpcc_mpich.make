# SPDX-License-Identifier: BSD-3-Clause
# For make arch=mpich in the sources of HPC Challenge.
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir
RM = /bin/rm -f
TOUCH = touch
ARCH = $(arch)
TOPdir = ../../..
INCdir = $(TOPdir)/include
BINdir = $(TOPdir)/bin/$(ARCH)
LIBdir = $(TOPdir)/lib/$(ARCH)
HPLlib = $(LIBdir)/libhpl.a
LAlib = -lblas
F2CDEFS = -DAdd__ -DF77_INTEGER=int -DStringSunStyle
HPL_INCLUDES = -I$(INCdir) -I$(INCdir)/$(ARCH)
HPL_LIBS = $(HPLlib) $(LAlib) -lm
HPL_OPTS =
HPL_DEFS = $(F2CDEFS) $(HPL_INCLUDES)
CC = mpicc.mpich
CCNOOPT = $(HPL_DEFS)
CCFLAGS = $(HPL_DEFS) -O2 -w -fcommon -std=gnu99
LINKER = mpicc.mpich
LINKFLAGS =
ARCHIVER = ar
ARFLAGS = rc
RANLIB = echo
