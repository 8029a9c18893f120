/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoall, blocking, nonblocking and persistent: MPI_Alltoallv of even blocks. */
#include "coll_fast.h"

#include "coll/fs_collectives.h"

/* To what served the communicator before us. */
static int native(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift)
{
    const mca_coll_fast_call_t *c = ctx;
    const fast_native_t *native = &c->module->native;
    const void *sbuf = 0 == send_shift ? c->sbuf : (const char *) c->sbuf + send_shift;

    return native->alltoall(sbuf, (FAST_ONE_COUNT) c->send.count, c->send.dtype,
                            c->recv.buf + recv_shift, (FAST_ONE_COUNT) c->recv.count, c->recv.dtype,
                            c->module->comm, native->alltoall_module);
}

static const fs_wrapper_calls_t alltoall = FAST_CALLS("MPI_Alltoall", fs_alltoall, native);

static mca_coll_fast_call_t make_call(FAST_ALLTOALL, mca_coll_base_module_t *module)
{
    (void) comm;
    return (mca_coll_fast_call_t){
        .module = (mca_coll_fast_module_t *) module,
        .sbuf = sbuf,
        .send = {.dtype = sdtype, .buf = (char *) sbuf, .even = true, .count = (size_t) scount},
        .recv = {.dtype = rdtype, .buf = rbuf, .even = true, .count = (size_t) rcount}};
}

int mca_coll_fast_alltoall(FAST_ALLTOALL, mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call = make_call(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, module);

    return mca_coll_fast_serve(&alltoall, &call);
}

static const fs_wrapper_calls_t ialltoall = FAST_CALLS("MPI_Ialltoall", fs_alltoall, NULL);

int mca_coll_fast_ialltoall(FAST_ALLTOALL, ompi_request_t **request, mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call = make_call(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, module);
    const fast_native_t *native = &call.module->native;
    int rc = mca_coll_fast_start(&ialltoall, &call, request);

    return OMPI_SUCCESS != rc || NULL != *request
               ? rc
               : native->ialltoall(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, request,
                                   native->ialltoall_module);
}

static const fs_wrapper_calls_t alltoall_init = FAST_CALLS("MPI_Alltoall_init", fs_alltoall, NULL);

int mca_coll_fast_alltoall_init(FAST_ALLTOALL, ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call = make_call(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, module);
    const fast_native_t *native = &call.module->native;
    int rc = mca_coll_fast_init(&alltoall_init, &call, request);

    return OMPI_SUCCESS != rc || NULL != *request
               ? rc
               : native->alltoall_init(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, info,
                                       request, native->alltoall_init_module);
}
