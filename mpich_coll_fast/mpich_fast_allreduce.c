/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce and MPI_Iallreduce, with small and large counts. Ours only with
 * parameter allreduce, and then vectors from a size on, of types and operations that all
 * ranks know to be ours.
 */
#include "mpich_fast.h"

/* MPIX_BFLOAT16 as in mpi.h of MPICH 5.0.1, and of Intel MPI 2021.19; neither has another type of
 * the other number. */
#define FS_BFLOAT_TYPES \
    {(MPI_Datatype) 0x4c00024c, FS_KIND_BFLOAT}, {(MPI_Datatype) 0x4c000247, FS_KIND_BFLOAT},

#include "wrapper/fs_reducible.h"

static MPI_Datatype type_of(const mpich_fast_args_t *a)
{
    return mpich_fast_engine->name((MPI_Datatype) a->recvtype);
}

static uint64_t element_bytes(const mpich_fast_args_t *a)
{
    return (uint64_t) mpich_fast_engine->size((MPI_Datatype) a->recvtype);
}

fs_status_t mpich_fast_describe_reduction(void *ctx, fs_buffers_t *b)
{
    const mpich_fast_args_t *a = ((const mpich_fast_call_t *) ctx)->args;
    uint32_t size = (uint32_t) element_bytes(a);

    if (a->sendbuf == a->recvbuf) {
        return FS_ERR_INVAL; /* the MPI refuses that */
    }
    fs_buffers_reduce(b, MPI_IN_PLACE == a->sendbuf ? NULL : a->sendbuf, a->recvbuf,
                      (uint64_t) a->count, size,
                      fs_device_how_of((MPI_Op) a->op, type_of(a), size));
    return FS_OK;
}

/* Few elements at a time. */
fs_status_t mpich_fast_reduce(void *ctx, const void *src, void *dst, uint64_t len)
{
    const mpich_fast_args_t *a = ((const mpich_fast_call_t *) ctx)->args;
    int n = (int) (len / element_bytes(a));

    return MPI_SUCCESS
                   == mpich_fast_engine->reduce(src, dst, n, (MPI_Datatype) a->recvtype,
                                                (MPI_Op) a->op)
               ? FS_OK
               : FS_ERR_NATIVE;
}

/* One of the program may be freed while a nonblocking call needs it. */
static bool is_commutative_of_program(MPI_Op op, bool blocking)
{
    return blocking && mpich_fast_is_of_program(op) && mpich_fast_engine->commutes(op);
}

bool mpich_fast_takes_reduction(const mpich_fast_args_t *a, bool blocking)
{
    const fs_params_t *params = &mpich_fast_wrapper.params;
    MPI_Datatype type = type_of(a);
    MPI_Op op = (MPI_Op) a->op;

    /* MPICH says what is wrong with such calls. */
    if (a->count <= 0 || MPI_DATATYPE_NULL == type || NULL == a->recvbuf
        || MPI_IN_PLACE == a->recvbuf || NULL == a->sendbuf) {
        return false;
    }
    return 0 != fs_kind_of_type(type)
           && (uint64_t) a->count * element_bytes(a) >= params->allreduce_min
           && fs_is_reducible(params->allreduce, op, type, is_commutative_of_program(op, blocking));
}

int mpich_fast_serve_allreduce(const mpich_fast_args_t *args)
{
    bool blocking = NULL == args->request;

    if (!mpich_fast_start(false) || FS_ALLREDUCE_OFF == mpich_fast_wrapper.params.allreduce
        || MPI_COMM_NULL == (MPI_Comm) args->comm || !mpich_fast_takes_reduction(args, blocking)) {
        return args->by_mpi(args);
    }
    return blocking ? mpich_fast_serve(args) : mpich_fast_serve_nonblocking(args);
}
