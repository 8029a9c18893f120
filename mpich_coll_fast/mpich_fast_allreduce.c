/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce and MPI_Iallreduce, with small and large counts. Ours only with
 * parameter allreduce, and then vectors from a size on, of types and operations that all
 * ranks know to be ours.
 */
#include "mpich_fast.h"

#include "wrapper/fs_reducible.h"

static uint64_t element_bytes(const mpich_fast_args_t *a)
{
    MPI_Count size = 0;

    mpi.Type_size_x((MPI_Datatype) a->recvtype, &size);
    return (uint64_t) size;
}

bool mpich_fast_describe_reduction(void *ctx, fs_buffers_t *b)
{
    const mpich_fast_args_t *a = ((const mpich_fast_call_t *) ctx)->args;

    if (a->sendbuf == a->recvbuf) {
        return false; /* the MPI refuses that */
    }
    fs_buffers_reduce(b, MPI_IN_PLACE == a->sendbuf ? NULL : a->sendbuf, a->recvbuf,
                      (uint64_t) a->count, (uint32_t) element_bytes(a));
    return true;
}

/* Few elements at a time. */
fs_status_t mpich_fast_reduce(void *ctx, const void *src, void *dst, uint64_t len)
{
    const mpich_fast_args_t *a = ((const mpich_fast_call_t *) ctx)->args;
    int n = (int) (len / element_bytes(a));

    return MPI_SUCCESS == mpi.Reduce_local(src, dst, n, (MPI_Datatype) a->recvtype, (MPI_Op) a->op)
               ? FS_OK
               : FS_ERR_NATIVE;
}

/* One of the program may be freed while a nonblocking call needs it. */
static bool is_commutative_of_program(const mpich_fast_args_t *a)
{
    int commutes = 0;

    if (NULL == a->request && mpich_fast_is_of_program((MPI_Op) a->op)) {
        mpi.Op_commutative((MPI_Op) a->op, &commutes);
    }
    return commutes != 0;
}

/* The same on all ranks. */
static bool is_ours(const mpich_fast_args_t *a)
{
    const fs_params_t *params = &mpich_fast_wrapper.params;
    MPI_Datatype type = (MPI_Datatype) a->recvtype;

    /* MPICH says what is wrong with such calls. */
    if (a->count <= 0 || MPI_DATATYPE_NULL == type || NULL == a->recvbuf
        || MPI_IN_PLACE == a->recvbuf || NULL == a->sendbuf) {
        return false;
    }
    return 0 != fs_kind_of_type(type)
           && (uint64_t) a->count * element_bytes(a) >= params->allreduce_min
           && fs_is_reducible(params->allreduce, (MPI_Op) a->op, type,
                              is_commutative_of_program(a));
}

int mpich_fast_serve_allreduce(const mpich_fast_args_t *args)
{
    if (!mpich_fast_start(false) || FS_ALLREDUCE_OFF == mpich_fast_wrapper.params.allreduce
        || MPI_COMM_NULL == (MPI_Comm) args->comm || !is_ours(args)) {
        return args->by_mpi(args);
    }
    return NULL == args->request ? mpich_fast_serve(args) : mpich_fast_serve_nonblocking(args);
}
