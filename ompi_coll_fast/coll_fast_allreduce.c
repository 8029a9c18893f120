/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce, blocking, nonblocking and persistent. Ours only with parameter
 * allreduce, and then vectors from a size on, of types and operations that all ranks
 * know to be ours: the others go on as if we were not there.
 */
#include "coll_fast.h"

/* MPIX_C_FLOAT16: configure has found it, or this is Open MPI's tree. */
#if defined(FAST_HAVE_FLOAT16)
#    include "mpi-ext.h"
#elif defined(__has_include)
#    if __has_include("ompi/mpiext/shortfloat/c/mpiext_shortfloat_c.h")
#        include "ompi/mpiext/shortfloat/c/mpiext_shortfloat_c.h"
#    endif
#endif

#include "coll/fs_collectives.h"
#include "wrapper/fs_reducible.h"

/* To what served the communicator before us. */
static int native(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift)
{
    const mca_coll_fast_call_t *c = ctx;
    const fast_native_t *native = &c->module->native;
    const void *sbuf = 0 == send_shift ? c->sbuf : (const char *) c->sbuf + send_shift;

    return native->allreduce(sbuf, c->recv.buf + recv_shift, (FAST_ONE_COUNT) c->recv.count,
                             c->recv.dtype, c->op, c->module->comm, native->allreduce_module);
}

static fs_status_t describe(void *ctx, fs_buffers_t *b)
{
    const mca_coll_fast_call_t *c = ctx;
    size_t size;

    if (c->sbuf == c->recv.buf) {
        return FS_ERR_INVAL; /* no MPI allows that */
    }
    ompi_datatype_type_size(c->recv.dtype, &size);
    fs_buffers_reduce(b, MPI_IN_PLACE == c->sbuf ? NULL : c->sbuf, c->recv.buf, c->recv.count,
                      (uint32_t) size, fs_device_how_of(c->op, c->recv.dtype, size));
    return FS_OK;
}

/* Few elements at a time. */
static fs_status_t reduce(void *ctx, const void *src, void *dst, uint64_t len)
{
    const mca_coll_fast_call_t *c = ctx;
    size_t size;

    ompi_datatype_type_size(c->recv.dtype, &size);
    ompi_op_reduce(c->op, (void *) (uintptr_t) src, dst, (int) (len / size), c->recv.dtype);
    return FS_OK;
}

#define CALLS(_name, _native)                                                                 \
    {                                                                                         \
        .name = (_name), .collective = &fs_allreduce, .describe = describe, .reduce = reduce, \
        .native = (_native), .raise = mca_coll_fast_raise                                     \
    }

/* The same on all ranks. */
static bool is_ours(const mca_coll_fast_call_t *c)
{
    const fs_params_t *params = &mca_coll_fast_component.wrapper.params;
    ompi_datatype_t *dtype = c->recv.dtype;
    size_t size;

    ompi_datatype_type_size(dtype, &size);
    if (c->recv.count * size < params->allreduce_min) {
        return false;
    }
    if (!ompi_op_is_intrinsic(c->op)) {
        return fs_is_reducible(params->allreduce, c->op, dtype, ompi_op_is_commute(c->op));
    }
    return fs_is_reducible(params->allreduce, c->op, dtype, false)
           && NULL != c->op->o_func.intrinsic.fns[ompi_op_ddt_map[dtype->id]];
}

static mca_coll_fast_call_t make_call(FAST_ALLREDUCE, mca_coll_base_module_t *module)
{
    (void) comm;
    return (mca_coll_fast_call_t){
        .module = (mca_coll_fast_module_t *) module,
        .sbuf = sbuf,
        .recv = {.dtype = dtype, .buf = rbuf, .even = true, .count = (size_t) count},
        .op = op};
}

static const fs_wrapper_calls_t allreduce = CALLS("MPI_Allreduce", native);

int mca_coll_fast_allreduce(FAST_ALLREDUCE, mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call = make_call(sbuf, rbuf, count, dtype, op, comm, module);

    return is_ours(&call) ? mca_coll_fast_serve(&allreduce, &call) : native(&call, 0, 0);
}

static const fs_wrapper_calls_t iallreduce = CALLS("MPI_Iallreduce", NULL);

int mca_coll_fast_iallreduce(FAST_ALLREDUCE, ompi_request_t **request,
                             mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call = make_call(sbuf, rbuf, count, dtype, op, comm, module);
    const fast_native_t *native = &call.module->native;
    int rc = OMPI_SUCCESS;

    *request = NULL;
    if (is_ours(&call)) {
        rc = mca_coll_fast_start(&iallreduce, &call, request);
    }
    return OMPI_SUCCESS != rc || NULL != *request
               ? rc
               : native->iallreduce(sbuf, rbuf, count, dtype, op, comm, request,
                                    native->iallreduce_module);
}

static const fs_wrapper_calls_t allreduce_init = CALLS("MPI_Allreduce_init", NULL);

int mca_coll_fast_allreduce_init(FAST_ALLREDUCE, ompi_info_t *info, ompi_request_t **request,
                                 mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call = make_call(sbuf, rbuf, count, dtype, op, comm, module);
    const fast_native_t *native = &call.module->native;
    int rc = OMPI_SUCCESS;

    *request = NULL;
    if (is_ours(&call)) {
        rc = mca_coll_fast_init(&allreduce_init, &call, request);
    }
    return OMPI_SUCCESS != rc || NULL != *request
               ? rc
               : native->allreduce_init(sbuf, rbuf, count, dtype, op, comm, info, request,
                                        native->allreduce_init_module);
}
