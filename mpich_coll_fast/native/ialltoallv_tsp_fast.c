/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: included at the end of
 * ialltoallv_tsp_scattered.c.
 */
#include "fast_glue.h"

/* Algorithm: MPIR_Alltoallv_intra_fast as a schedule, nonblocking or persistent
 *
 * Restrictions: none
 */
int MPIR_TSP_Ialltoallv_sched_intra_fast(const void *sendbuf, const MPI_Aint sendcounts[],
                                         const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                         void *recvbuf, const MPI_Aint recvcounts[],
                                         const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                         MPIR_Comm * comm, MPIR_TSP_sched_t sched)
{
    mpich_fast_native_args_t args = {.sendbuf = sendbuf,
        .sendcounts = sendcounts,
        .sdispls = sdispls,
        .sendtype = sendtype,
        .recvbuf = recvbuf,
        .recvcounts = recvcounts,
        .rdispls = rdispls,
        .recvtype = recvtype
    };
    bool declined = false;
    int mpi_errno = MPII_Coll_fast_sched(&args, comm, sched, &declined);

    if (!declined)
        return mpi_errno;
    if (sendbuf == MPI_IN_PLACE)
        return MPIR_TSP_Ialltoallv_sched_intra_inplace(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                       recvcounts, rdispls, recvtype, comm, sched);
    return MPIR_TSP_Ialltoallv_sched_intra_blocked(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                                   recvcounts, rdispls, recvtype, comm,
                                                   MPIR_CVAR_ALLTOALL_THROTTLE, sched);
}
