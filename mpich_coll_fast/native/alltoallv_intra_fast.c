/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: included at the end of
 * alltoallv_intra_scattered.c.
 */
#include "fast_glue.h"

static int fast_decline_alltoallv(const mpich_fast_native_args_t * args, MPIR_Comm * comm_ptr,
                                  FAST_ERRFLAG errflag)
{
    if (args->sendbuf == MPI_IN_PLACE)
        return MPIR_Alltoallv_intra_pairwise_sendrecv_replace(args->sendbuf, args->sendcounts,
                                                              args->sdispls, args->sendtype,
                                                              args->recvbuf, args->recvcounts,
                                                              args->rdispls, args->recvtype,
                                                              comm_ptr, errflag);
    return MPIR_Alltoallv_intra_scattered(args->sendbuf, args->sendcounts, args->sdispls,
                                          args->sendtype, args->recvbuf, args->recvcounts,
                                          args->rdispls, args->recvtype, comm_ptr, errflag);
}

/* Algorithm: balanced, incast-free stages between servers, by libmpich_coll_fast
 *
 * The library plans each call from the bytes of all ranks and moves them over
 * its own endpoints (UCX), so that at any time each NIC has one sender; see
 * mpich_coll_fast(7). It decides on every rank alike which calls are better
 * left alone, and those go to the algorithms that "auto" would have used.
 *
 * Restrictions: none
 */
int MPIR_Alltoallv_intra_fast(const void *sendbuf, const MPI_Aint * sendcounts,
                              const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                              const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                              MPI_Datatype recvtype, MPIR_Comm * comm_ptr, FAST_ERRFLAG errflag)
{
    fast_call_t call = {.comm_ptr = comm_ptr,
        .errflag = errflag,
        .decline = fast_decline_alltoallv
    };
    mpich_fast_native_args_t args = {.sendbuf = sendbuf,
        .sendcounts = sendcounts,
        .sdispls = sdispls,
        .sendtype = sendtype,
        .recvbuf = recvbuf,
        .recvcounts = recvcounts,
        .rdispls = rdispls,
        .recvtype = recvtype
    };

    return MPII_Coll_fast_serve(&args, &call);
}
