/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpich_fast_native_host.h"

#include <sched.h>

const mpich_fast_services_t *mpich_fast_services;

static fs_status_t status_of(int error_class)
{
    return MPI_SUCCESS == error_class        ? FS_OK
           : MPI_ERR_TRUNCATE == error_class ? FS_ERR_TRUNCATE
                                             : FS_ERR_TRANSPORT;
}

static fs_status_t allgather(void *ctx, const void *in, size_t len, void *out)
{
    return MPI_SUCCESS == mpich_fast_services->allgather(ctx, in, (ptrdiff_t) len, out)
               ? FS_OK
               : FS_ERR_NATIVE;
}

static fs_status_t agree(void *ctx, fs_status_t mine)
{
    int worst;

    return MPI_SUCCESS == mpich_fast_services->least(ctx, mine, &worst) ? (fs_status_t) worst
                                                                        : FS_ERR_NATIVE;
}

static void progress(void *ctx)
{
    (void) ctx;
    mpich_fast_services->progress();
    (void) sched_yield();
}

static fs_status_t p2p_open(void *ctx)
{
    return status_of(mpich_fast_services->open(ctx));
}

static fs_status_t p2p_isend(void *ctx, const void *buf, uint64_t len_bytes, uint32_t peer,
                             uint32_t tag, void **request_p)
{
    return status_of(mpich_fast_services->isend(ctx, buf, (ptrdiff_t) len_bytes, (int) peer,
                                                (int) tag, request_p));
}

static fs_status_t p2p_irecv(void *ctx, void *buf, uint64_t len_bytes, uint32_t peer, uint32_t tag,
                             void **request_p)
{
    return status_of(mpich_fast_services->irecv(ctx, buf, (ptrdiff_t) len_bytes,
                                                FS_ANY_PEER == peer ? -1 : (int) peer, (int) tag,
                                                request_p));
}

static fs_status_t p2p_test(void *ctx, void *request, uint64_t *len_p)
{
    bool done = false;
    ptrdiff_t len = 0;
    fs_status_t status = status_of(mpich_fast_services->test(request, &done, &len));

    (void) ctx;
    if (FS_OK == status && !done) {
        return FS_INPROGRESS;
    }
    if (NULL != len_p) {
        *len_p = (uint64_t) len;
    }
    return status;
}

static void p2p_cancel(void *ctx, void *request)
{
    (void) ctx;
    mpich_fast_services->cancel(request);
}

static const fs_native_p2p_t p2p = {
    .n_tags = 32768, /* of an own communicator */
    .open = p2p_open,
    .isend = p2p_isend,
    .irecv = p2p_irecv,
    .test = p2p_test,
    .cancel = p2p_cancel,
};

fs_native_t mpich_fast_native_host(void *comm)
{
    fs_native_t native = fs_wrapper_native(&mpich_fast_wrapper, comm);

    native.allgather = allgather;
    native.agree = agree;
    native.progress = progress;
    native.p2p = &p2p;
    return native;
}

/* ---- datatypes ---- */

static MPI_Count type_size(MPI_Datatype type)
{
    mpich_fast_native_type_t t;

    mpich_fast_services->describe(type, &t);
    return t.size;
}

static void describe(MPI_Datatype type, mpich_fast_layout_t *layout)
{
    mpich_fast_native_type_t t;

    mpich_fast_services->describe(type, &t);
    *layout = (mpich_fast_layout_t){t.size, t.extent, t.true_lb};
}

static bool is_dense(MPI_Datatype type)
{
    mpich_fast_native_type_t t;

    mpich_fast_services->describe(type, &t);
    return t.contiguous;
}

static int pack(const void *from, int n, MPI_Datatype type, void *packed, MPI_Count len)
{
    return mpich_fast_services->pack(from, n, type, packed, len);
}

static int unpack(const void *packed, MPI_Count len, void *to, int n, MPI_Datatype type)
{
    return mpich_fast_services->unpack(packed, len, to, n, type);
}

static bool packs_large(void)
{
    return true;
}

static MPI_Datatype name(MPI_Datatype type)
{
    return mpich_fast_services->name_of(type);
}

static int reduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op)
{
    return mpich_fast_services->reduce(from, to, n, type, op);
}

static bool commutes(MPI_Op op)
{
    return mpich_fast_services->commutes(op);
}

/* The same handle, in use once more. */
static int hold(MPI_Datatype type, MPI_Datatype *own_p)
{
    mpich_fast_services->hold(type);
    *own_p = type;
    return MPI_SUCCESS;
}

static void release(MPI_Datatype *own)
{
    mpich_fast_services->release(*own);
}

const mpich_fast_engine_t mpich_fast_native_engine = {
    .size = type_size,
    .name = name,
    .describe = describe,
    .is_dense = is_dense,
    .pack = pack,
    .unpack = unpack,
    .packs_large = packs_large,
    .reduce = reduce,
    .commutes = commutes,
    .hold = hold,
    .release = release,
};
