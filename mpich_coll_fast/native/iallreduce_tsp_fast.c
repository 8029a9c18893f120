/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: included at the end of
 * iallreduce_tsp_ring.c.
 */
#include "fast_glue.h"

/* Algorithm: MPIR_Allreduce_intra_fast as a schedule, nonblocking or persistent
 *
 * Restrictions: none
 */
int MPIR_TSP_Iallreduce_sched_intra_fast(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                         MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                         MPIR_TSP_sched_t sched)
{
    enum { SHORT_BYTES = 2048 };        /* as in maint/tuning/coll/mpir/generic.json */
    mpich_fast_native_args_t args = fast_reduction(sendbuf, recvbuf, count, datatype, op);
    bool declined = false;
    int mpi_errno = MPII_Coll_fast_sched(&args, comm, sched, &declined);
    MPI_Aint size;

    if (!declined)
        return mpi_errno;
    MPIR_Datatype_get_size_macro(datatype, size);
    if (count * size <= SHORT_BYTES || !MPIR_Op_is_commutative(op))
        return MPIR_TSP_Iallreduce_sched_intra_recexch(sendbuf, recvbuf, count, datatype, op, comm,
                                                       MPIR_IALLREDUCE_RECEXCH_TYPE_MULTIPLE_BUFFER,
                                                       MPIR_CVAR_IALLREDUCE_RECEXCH_KVAL, sched);
    return MPIR_TSP_Iallreduce_sched_intra_recexch_reduce_scatter_recexch_allgatherv(sendbuf,
                                                                                     recvbuf, count,
                                                                                     datatype, op,
                                                                                     comm,
                                                                                     MPIR_CVAR_IALLREDUCE_RECEXCH_KVAL,
                                                                                     sched);
}
