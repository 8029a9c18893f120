/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two ABIs that this library is compiled for, and all that differs: MPICH's, and, with
 * FS_MPI_ABI, that of the MPI 5 standard (chapter "Application Binary Interface"), where
 * handles are pointers, those of the standard itself below 4096.
 */
#ifndef MPICH_FAST_ABI_H
#define MPICH_FAST_ABI_H

#include <stdbool.h>
#include <stdint.h>

#ifdef FS_MPI_ABI

#    include <mpi_abi.h>

#    define MPICH_FAST_NAME      "libfastsched_mpi_abi"
#    define MPICH_FAST_ABI       "the ABI of the MPI 5 standard"
#    define MPICH_FAST_LIBRARIES "libmpi_abi.so.1", "libmpi_abi.so.0"

static inline bool mpich_fast_is_of_program(MPI_Op op)
{
    return (uintptr_t) op >= 4096;
}

static inline void *mpich_fast_from_request(MPI_Request request)
{
    return request;
}

#else

#    include <mpi.h>

#    define MPICH_FAST_NAME      "libmpich_coll_fast"
#    define MPICH_FAST_ABI       "MPICH's ABI"
#    define MPICH_FAST_LIBRARIES "libmpich.so.12", "libmpi.so.12"

/* By the bits that say so in every MPI of this ABI. */
static inline bool mpich_fast_is_of_program(MPI_Op op)
{
    enum { KIND_SHIFT = 30, FIRST_OWN_KIND = 2 };

    return ((unsigned) op >> KIND_SHIFT) >= FIRST_OWN_KIND;
}

static inline void *mpich_fast_from_request(MPI_Request request)
{
    return (void *) (uintptr_t) (unsigned) request;
}

#endif

#endif
