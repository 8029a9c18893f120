/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Part of MPICH once native/insert has put it there: included at the end of
 * allreduce_intra_recursive_doubling.c.
 */
#include "fast_glue.h"

/* The rules of maint/tuning/coll/mpir/generic.json, but nothing within servers first. */
static int fast_decline_allreduce(const mpich_fast_native_args_t * args, MPIR_Comm * comm_ptr,
                                  FAST_ERRFLAG errflag)
{
    int (*algorithm) (const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                      MPI_Op op, MPIR_Comm * comm_ptr, FAST_ERRFLAG errflag);
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(args->recvtype, size);
    if (args->count * size <= 8 || !HANDLE_IS_BUILTIN(args->op) ||
        args->count < MPL_pof2(comm_ptr->local_size))
        algorithm = MPIR_Allreduce_intra_recursive_doubling;
    else
        algorithm = MPIR_Allreduce_intra_reduce_scatter_allgather;
    return algorithm(args->sendbuf, args->recvbuf, args->count, args->recvtype, args->op, comm_ptr,
                     errflag);
}

/* Algorithm: StragglAR where a rank is late, else a ring, by libmpich_coll_fast
 *
 * Restrictions: none. What the library does not reduce is for the algorithms above.
 */
int MPIR_Allreduce_intra_fast(const void *sendbuf, void *recvbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm_ptr,
                              FAST_ERRFLAG errflag)
{
    fast_call_t call = {.comm_ptr = comm_ptr,
        .errflag = errflag,
        .decline = fast_decline_allreduce
    };
    mpich_fast_native_args_t args = fast_reduction(sendbuf, recvbuf, count, datatype, op);

    return MPII_Coll_fast_serve(&args, &call);
}
