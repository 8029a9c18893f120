/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: included at the end of
 * alltoall_intra_scattered.c.
 */
#include "fast_glue.h"

/* The rules of maint/tuning/coll/mpir/generic.json, with the limits of Ialltoall's. */
static int fast_decline_alltoall(const mpich_fast_native_args_t * args, MPIR_Comm * comm_ptr,
                                 FAST_ERRFLAG errflag)
{
    int (*algorithm) (const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                      void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                      MPIR_Comm * comm_ptr, FAST_ERRFLAG errflag);
    MPI_Aint block_bytes = 0;

    if (args->sendbuf != MPI_IN_PLACE) {
        MPIR_Datatype_get_size_macro(args->sendtype, block_bytes);
        block_bytes *= *args->sendcounts;
    }
    if (args->sendbuf == MPI_IN_PLACE)
        algorithm = MPIR_Alltoall_intra_pairwise_sendrecv_replace;
    else if (block_bytes <= MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE && comm_ptr->local_size >= 8)
        algorithm = MPIR_Alltoall_intra_brucks;
    else if (block_bytes <= MPIR_CVAR_ALLTOALL_MEDIUM_MSG_SIZE)
        algorithm = MPIR_Alltoall_intra_scattered;
    else
        algorithm = MPIR_Alltoall_intra_pairwise;
    return algorithm(args->sendbuf, *args->sendcounts, args->sendtype, args->recvbuf,
                     *args->recvcounts, args->recvtype, comm_ptr, errflag);
}

/* Algorithm: MPIR_Alltoallv_intra_fast of blocks that are all alike
 *
 * Restrictions: none
 */
int MPIR_Alltoall_intra_fast(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                             MPIR_Comm * comm_ptr, FAST_ERRFLAG errflag)
{
    fast_call_t call = {.comm_ptr = comm_ptr,
        .errflag = errflag,
        .decline = fast_decline_alltoall
    };
    mpich_fast_native_args_t args = {.sendbuf = sendbuf,
        .sendcounts = &sendcount,
        .sendtype = sendtype,
        .recvbuf = recvbuf,
        .recvcounts = &recvcount,
        .recvtype = recvtype,
        .even = true
    };

    return MPII_Coll_fast_serve(&args, &call);
}
