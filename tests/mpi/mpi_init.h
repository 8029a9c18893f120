/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent collectives, by the name that the MPI has for them; not set where it has
 * none. Open MPI 5.0, which says that it is MPI 3, has those of MPI 4. */
#ifndef MPI_INIT_H
#define MPI_INIT_H

#include <mpi.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define ALLTOALLV_INIT MPI_Alltoallv_init
#define ALLTOALLW_INIT MPI_Alltoallw_init
#define ALLTOALL_INIT  MPI_Alltoall_init
#define ALLREDUCE_INIT MPI_Allreduce_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define ALLTOALLV_INIT MPIX_Alltoallv_init
#define ALLTOALLW_INIT MPIX_Alltoallw_init
#define ALLTOALL_INIT  MPIX_Alltoall_init
#define ALLREDUCE_INIT MPIX_Allreduce_init
#endif

#endif
