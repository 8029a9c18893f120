/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: included at the end of
 * ialltoall_tsp_scattered.c.
 */
#include "fast_glue.h"

/* Algorithm: MPIR_Alltoall_intra_fast as a schedule, nonblocking or persistent
 *
 * Restrictions: none
 */
int MPIR_TSP_Ialltoall_sched_intra_fast(const void *sendbuf, MPI_Aint sendcount,
                                        MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                        MPI_Datatype recvtype, MPIR_Comm * comm,
                                        MPIR_TSP_sched_t sched)
{
    mpich_fast_native_args_t args = {.sendbuf = sendbuf,
        .sendcounts = &sendcount,
        .sendtype = sendtype,
        .recvbuf = recvbuf,
        .recvcounts = &recvcount,
        .recvtype = recvtype,
        .even = true
    };
    bool declined = false;
    int mpi_errno = MPII_Coll_fast_sched(&args, comm, sched, &declined);

    if (!declined)
        return mpi_errno;
    return MPIR_TSP_Ialltoall_sched_intra_scattered(sendbuf, sendcount, sendtype, recvbuf,
                                                    recvcount, recvtype, comm,
                                                    MPIR_CVAR_IALLTOALL_SCATTERED_BATCH_SIZE,
                                                    MPIR_CVAR_IALLTOALL_SCATTERED_OUTSTANDING_TASKS,
                                                    sched);
}
