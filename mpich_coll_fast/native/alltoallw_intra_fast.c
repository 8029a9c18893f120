/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: included at the end of
 * alltoallw_intra_scattered.c.
 */
#include "fast_glue.h"

static int fast_decline_alltoallw(const mpich_fast_native_args_t * args, MPIR_Comm * comm_ptr,
                                  FAST_ERRFLAG errflag)
{
    if (args->sendbuf == MPI_IN_PLACE)
        return MPIR_Alltoallw_intra_pairwise_sendrecv_replace(args->sendbuf, args->sendcounts,
                                                              args->sdispls, args->sendtypes,
                                                              args->recvbuf, args->recvcounts,
                                                              args->rdispls, args->recvtypes,
                                                              comm_ptr, errflag);
    return MPIR_Alltoallw_intra_scattered(args->sendbuf, args->sendcounts, args->sdispls,
                                          args->sendtypes, args->recvbuf, args->recvcounts,
                                          args->rdispls, args->recvtypes, comm_ptr, errflag);
}

/* Algorithm: MPIR_Alltoallv_intra_fast with a datatype for each block
 *
 * Restrictions: none
 */
int MPIR_Alltoallw_intra_fast(const void *sendbuf, const MPI_Aint sendcounts[],
                              const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                              void *recvbuf, const MPI_Aint recvcounts[],
                              const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                              MPIR_Comm * comm_ptr, FAST_ERRFLAG errflag)
{
    fast_call_t call = {.comm_ptr = comm_ptr,
        .errflag = errflag,
        .decline = fast_decline_alltoallw
    };
    mpich_fast_native_args_t args = {.sendbuf = sendbuf,
        .sendcounts = sendcounts,
        .sdispls = sdispls,
        .sendtypes = sendtypes,
        .recvbuf = recvbuf,
        .recvcounts = recvcounts,
        .rdispls = rdispls,
        .recvtypes = recvtypes
    };

    return MPII_Coll_fast_serve(&args, &call);
}
