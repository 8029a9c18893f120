/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoallv, blocking, nonblocking and persistent. */
#include "coll_fast.h"

#include "coll/fs_collectives.h"

/* To what served the communicator before us. */
static int native(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift)
{
    const mca_coll_fast_call_t *c = ctx;
    const fast_native_t *native = &c->module->native;
    const void *sbuf = 0 == send_shift ? c->sbuf : (const char *) c->sbuf + send_shift;

    return native->alltoallv(sbuf, c->send.counts, c->send.displs, c->send.dtype,
                             c->recv.buf + recv_shift, c->recv.counts, c->recv.displs,
                             c->recv.dtype, c->module->comm, native->alltoallv_module);
}

static const fs_wrapper_calls_t alltoallv = FAST_CALLS("MPI_Alltoallv", fs_alltoallv, native);

static mca_coll_fast_call_t make_call(FAST_ALLTOALLV, mca_coll_base_module_t *module)
{
    (void) comm;
    return (mca_coll_fast_call_t){
        .module = (mca_coll_fast_module_t *) module,
        .sbuf = sbuf,
        .send = {.dtype = sdtype, .buf = (char *) sbuf, .counts = scounts, .displs = sdispls},
        .recv = {.dtype = rdtype, .buf = rbuf, .counts = rcounts, .displs = rdispls}};
}

int mca_coll_fast_alltoallv(FAST_ALLTOALLV, mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call =
        make_call(sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype, comm, module);

    return mca_coll_fast_serve(&alltoallv, &call);
}

static const fs_wrapper_calls_t ialltoallv = FAST_CALLS("MPI_Ialltoallv", fs_alltoallv, NULL);

int mca_coll_fast_ialltoallv(FAST_ALLTOALLV, ompi_request_t **request,
                             mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call =
        make_call(sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype, comm, module);
    const fast_native_t *native = &call.module->native;
    int rc = mca_coll_fast_start(&ialltoallv, &call, request);

    return OMPI_SUCCESS != rc || NULL != *request
               ? rc
               : native->ialltoallv(sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype,
                                    comm, request, native->ialltoallv_module);
}

static const fs_wrapper_calls_t alltoallv_init =
    FAST_CALLS("MPI_Alltoallv_init", fs_alltoallv, NULL);

int mca_coll_fast_alltoallv_init(FAST_ALLTOALLV, ompi_info_t *info, ompi_request_t **request,
                                 mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call =
        make_call(sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls, rdtype, comm, module);
    const fast_native_t *native = &call.module->native;
    int rc = mca_coll_fast_init(&alltoallv_init, &call, request);

    return OMPI_SUCCESS != rc || NULL != *request
               ? rc
               : native->alltoallv_init(sbuf, scounts, sdispls, sdtype, rbuf, rcounts, rdispls,
                                        rdtype, comm, info, request, native->alltoallv_init_module);
}
