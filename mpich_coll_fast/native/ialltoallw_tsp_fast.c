/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: included at the end of
 * ialltoallw_tsp_blocked.c.
 */
#include "fast_glue.h"

/* Algorithm: MPIR_Alltoallw_intra_fast as a schedule, nonblocking or persistent
 *
 * Restrictions: none
 */
int MPIR_TSP_Ialltoallw_sched_intra_fast(const void *sendbuf, const MPI_Aint sendcounts[],
                                         const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                         void *recvbuf, const MPI_Aint recvcounts[],
                                         const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                         MPIR_Comm * comm, MPIR_TSP_sched_t sched)
{
    mpich_fast_native_args_t args = {.sendbuf = sendbuf,
        .sendcounts = sendcounts,
        .sdispls = sdispls,
        .sendtypes = sendtypes,
        .recvbuf = recvbuf,
        .recvcounts = recvcounts,
        .rdispls = rdispls,
        .recvtypes = recvtypes
    };
    bool declined = false;
    int mpi_errno = MPII_Coll_fast_sched(&args, comm, sched, &declined);

    if (!declined)
        return mpi_errno;
    if (sendbuf == MPI_IN_PLACE)
        return MPIR_TSP_Ialltoallw_sched_intra_inplace(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                                       recvcounts, rdispls, recvtypes, comm, sched);
    return MPIR_TSP_Ialltoallw_sched_intra_blocked(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                                   recvcounts, rdispls, recvtypes, comm,
                                                   MPIR_CVAR_ALLTOALL_THROTTLE, sched);
}
