/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI 4.1 does not install this header, though its op.h, which it does
 * install, includes it. These two conversions are all that op.h takes from it.
 */
#ifndef FAST_COMPAT_FINT_2_INT_H
#define FAST_COMPAT_FINT_2_INT_H

#define OMPI_FINT_2_INT(_fint) ((int)(_fint))
#define OMPI_INT_2_FINT(_int)  ((MPI_Fint)(_int))

#endif
