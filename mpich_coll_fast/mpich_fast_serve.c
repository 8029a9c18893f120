/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoallv, MPI_Alltoallw, MPI_Alltoall and MPI_Allreduce, with small and large counts,
 * blocking. */
#include "mpich_fast.h"

#include "coll/fs_collectives.h"

static int native(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift)
{
    const mpich_fast_call_t *call = ctx;
    mpich_fast_args_t args = *call->args;

    if (0 != send_shift) {
        args.sendbuf = (const char *) args.sendbuf + send_shift;
    }
    args.recvbuf = (char *) args.recvbuf + recv_shift;
    return args.by_mpi(&args);
}

static int raise_error(void *ctx, fs_status_t status)
{
    return mpich_fast_raise(((const mpich_fast_call_t *) ctx)->comm, status);
}

#define CALLS(_name, _collective)                                                   \
    {                                                                               \
        .name = _name, .collective = &_collective, .describe = mpich_fast_describe, \
        .pack = mpich_fast_pack, .unpack = mpich_fast_unpack, .native = native,     \
        .raise = raise_error                                                        \
    }

static const fs_wrapper_calls_t alltoallv = CALLS("MPI_Alltoallv", fs_alltoallv);
static const fs_wrapper_calls_t alltoallw = CALLS("MPI_Alltoallw", fs_alltoallw);
static const fs_wrapper_calls_t alltoall = CALLS("MPI_Alltoall", fs_alltoall);
static const fs_wrapper_calls_t allreduce = {.name = "MPI_Allreduce",
                                             .collective = &fs_allreduce,
                                             .describe = mpich_fast_describe_reduction,
                                             .reduce = mpich_fast_reduce,
                                             .native = native,
                                             .raise = raise_error};

int mpich_fast_serve_on(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    mpich_fast_call_t call = {.args = args, .comm = state->comm};

    return fs_wrapper_serve(&state->shared,
                            args->reduces             ? &allreduce
                            : args->even              ? &alltoall
                            : NULL != args->recvtypes ? &alltoallw
                                                      : &alltoallv,
                            &call);
}

int mpich_fast_serve(const mpich_fast_args_t *args)
{
    mpich_fast_comm_t *state = NULL;
    int mpi_errno = MPI_SUCCESS;

    if (mpich_fast_start(false) && MPI_COMM_NULL != (MPI_Comm) args->comm) {
        mpi_errno = mpich_fast_comm_get((MPI_Comm) args->comm, &state);
    }
    if (MPI_SUCCESS != mpi_errno) {
        return mpi_errno;
    }
    return NULL != state && state->counts ? mpich_fast_serve_on(state, args) : args->by_mpi(args);
}
