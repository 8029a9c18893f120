/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce, with small and large counts. Ours only with parameter allreduce, and
 * then vectors from a size on, of types and operations that all ranks know to be ours.
 */
#include "mpich_fast.h"

#include "coll/fs_collective.h"
#include "wrapper/fs_reducible.h"

typedef struct call {
    const mpich_fast_reduce_args_t *args;
    MPI_Count size; /* of an element */
} call_t;

static int native(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift)
{
    const call_t *c = ctx;
    mpich_fast_reduce_args_t args = *c->args;

    if (0 != send_shift) {
        args.sendbuf = (const char *) args.sendbuf + send_shift;
    }
    args.recvbuf = (char *) args.recvbuf + recv_shift;
    return args.by_mpi(&args);
}

static int raise_error(void *ctx, fs_status_t status)
{
    return mpich_fast_raise((MPI_Comm) ((const call_t *) ctx)->args->comm, status);
}

static bool describe(void *ctx, fs_buffers_t *b)
{
    const call_t *c = ctx;
    const mpich_fast_reduce_args_t *a = c->args;

    if (a->sendbuf == a->recvbuf) {
        return false; /* the MPI refuses that */
    }
    fs_buffers_reduce(b, MPI_IN_PLACE == a->sendbuf ? NULL : a->sendbuf, a->recvbuf,
                      (uint64_t) a->count, (uint32_t) c->size);
    return true;
}

/* Few elements at a time. */
static fs_status_t reduce(void *ctx, const void *src, void *dst, uint64_t len)
{
    const call_t *c = ctx;
    int n = (int) (len / (uint64_t) c->size);

    return MPI_SUCCESS
                   == mpi.Reduce_local(src, dst, n, (MPI_Datatype) c->args->type,
                                       (MPI_Op) c->args->op)
               ? FS_OK
               : FS_ERR_NATIVE;
}

static const fs_wrapper_calls_t allreduce = {.name = "MPI_Allreduce",
                                             .collective = &fs_allreduce,
                                             .describe = describe,
                                             .reduce = reduce,
                                             .native = native,
                                             .raise = raise_error};

static bool is_commutative_of_program(MPI_Op op)
{
    int commutes = 0;

    if (mpich_fast_is_of_program(op)) {
        mpi.Op_commutative(op, &commutes);
    }
    return commutes != 0;
}

/* The same on all ranks. */
static bool is_ours(call_t *c)
{
    const fs_params_t *params = &mpich_fast_wrapper.params;
    const mpich_fast_reduce_args_t *a = c->args;
    MPI_Datatype type = (MPI_Datatype) a->type;

    /* MPICH says what is wrong with such calls. */
    if (a->count <= 0 || MPI_DATATYPE_NULL == type || NULL == a->recvbuf
        || MPI_IN_PLACE == a->recvbuf || NULL == a->sendbuf) {
        return false;
    }
    mpi.Type_size_x(type, &c->size);
    return (uint64_t) (a->count * c->size) >= params->allreduce_min
           && fs_is_reducible(params->allreduce, (MPI_Op) a->op, type,
                              is_commutative_of_program((MPI_Op) a->op));
}

int mpich_fast_serve_allreduce(const mpich_fast_reduce_args_t *args)
{
    call_t call = {.args = args};
    mpich_fast_comm_t *state = NULL;
    int mpi_errno = MPI_SUCCESS;

    if (!mpich_fast_start(false) || FS_ALLREDUCE_OFF == mpich_fast_wrapper.params.allreduce
        || MPI_COMM_NULL == (MPI_Comm) args->comm || !is_ours(&call)) {
        return args->by_mpi(args);
    }
    mpi_errno = mpich_fast_comm_get((MPI_Comm) args->comm, &state);
    if (MPI_SUCCESS != mpi_errno) {
        return mpi_errno;
    }
    return NULL != state && state->counts ? fs_wrapper_serve(&state->shared, &allreduce, &call)
                                          : args->by_mpi(args);
}
