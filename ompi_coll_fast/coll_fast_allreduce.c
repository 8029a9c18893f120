/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce. Ours only with parameter allreduce, and then vectors from a size on, of
 * types and operations that all ranks know to be ours: the others go on as if we were
 * not there.
 */
#include "coll_fast.h"

#include "coll/fs_collective.h"
#include "wrapper/fs_reducible.h"

typedef struct call {
    mca_coll_fast_module_t *module;
    const void *sbuf; /* may be MPI_IN_PLACE */
    void *rbuf;
    FAST_ONE_COUNT count;
    ompi_datatype_t *dtype;
    ompi_op_t *op;
} call_t;

static int native(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift)
{
    const call_t *c = ctx;
    const fast_native_t *native = &c->module->native;
    const void *sbuf = 0 == send_shift ? c->sbuf : (const char *) c->sbuf + send_shift;

    return native->allreduce(sbuf, (char *) c->rbuf + recv_shift, c->count, c->dtype, c->op,
                             c->module->comm, native->allreduce_module);
}

static bool describe(void *ctx, fs_buffers_t *b)
{
    const call_t *c = ctx;
    size_t size;

    if (c->sbuf == c->rbuf) {
        return false; /* no MPI allows that */
    }
    ompi_datatype_type_size(c->dtype, &size);
    fs_buffers_reduce(b, MPI_IN_PLACE == c->sbuf ? NULL : c->sbuf, c->rbuf, (uint64_t) c->count,
                      (uint32_t) size);
    return true;
}

/* Few elements at a time. */
static fs_status_t reduce(void *ctx, const void *src, void *dst, uint64_t len)
{
    const call_t *c = ctx;
    size_t size;

    ompi_datatype_type_size(c->dtype, &size);
    ompi_op_reduce(c->op, (void *) (uintptr_t) src, dst, (int) (len / size), c->dtype);
    return FS_OK;
}

static const fs_wrapper_calls_t allreduce = {.name = "MPI_Allreduce",
                                             .collective = &fs_allreduce,
                                             .describe = describe,
                                             .reduce = reduce,
                                             .native = native,
                                             .raise = mca_coll_fast_raise};

/* The same on all ranks. */
static bool is_ours(const call_t *c)
{
    const fs_params_t *params = &mca_coll_fast_component.wrapper.params;
    size_t size;

    ompi_datatype_type_size(c->dtype, &size);
    if (c->count * size < params->allreduce_min) {
        return false;
    }
    if (!ompi_op_is_intrinsic(c->op)) {
        return fs_is_reducible(params->allreduce, c->op, c->dtype, ompi_op_is_commute(c->op));
    }
    return fs_is_reducible(params->allreduce, c->op, c->dtype, false)
           && NULL != c->op->o_func.intrinsic.fns[ompi_op_ddt_map[c->dtype->id]];
}

int mca_coll_fast_allreduce(FAST_ALLREDUCE, mca_coll_base_module_t *module)
{
    call_t call = {.module = (mca_coll_fast_module_t *) module,
                   .sbuf = sbuf,
                   .rbuf = rbuf,
                   .count = count,
                   .dtype = dtype,
                   .op = op};
    int rc;

    (void) comm;
    if (!is_ours(&call)) {
        return native(&call, 0, 0);
    }
    rc = mca_coll_fast_set_up(call.module);
    return OMPI_SUCCESS == rc ? fs_wrapper_serve(&call.module->shared, &allreduce, &call) : rc;
}
