/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoallw, blocking, nonblocking and persistent: MPI_Alltoallv with a datatype for each
 * block. */
#include "coll_fast.h"

#include "coll/fs_collectives.h"

/* To what served the communicator before us. */
static int native(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift)
{
    const mca_coll_fast_call_t *c = ctx;
    const fast_native_t *native = &c->module->native;
    const void *sbuf = 0 == send_shift ? c->sbuf : (const char *) c->sbuf + send_shift;

    return native->alltoallw(sbuf, c->send.counts, c->send.displs, c->send.dtypes,
                             c->recv.buf + recv_shift, c->recv.counts, c->recv.displs,
                             c->recv.dtypes, c->module->comm, native->alltoallw_module);
}

static const fs_wrapper_calls_t alltoallw = FAST_CALLS("MPI_Alltoallw", fs_alltoallw, native);

static mca_coll_fast_call_t make_call(FAST_ALLTOALLW, mca_coll_base_module_t *module)
{
    (void) comm;
    return (mca_coll_fast_call_t){
        .module = (mca_coll_fast_module_t *) module,
        .sbuf = sbuf,
        .send = {.dtypes = sdtypes, .buf = (char *) sbuf, .counts = scounts, .displs = sdispls},
        .recv = {.dtypes = rdtypes, .buf = rbuf, .counts = rcounts, .displs = rdispls}};
}

int mca_coll_fast_alltoallw(FAST_ALLTOALLW, mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call =
        make_call(sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes, comm, module);

    return mca_coll_fast_serve(&alltoallw, &call);
}

static const fs_wrapper_calls_t ialltoallw = FAST_CALLS("MPI_Ialltoallw", fs_alltoallw, NULL);

int mca_coll_fast_ialltoallw(FAST_ALLTOALLW, ompi_request_t **request,
                             mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call =
        make_call(sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes, comm, module);
    const fast_native_t *native = &call.module->native;
    int rc = mca_coll_fast_start(&ialltoallw, &call, request);

    return OMPI_SUCCESS != rc || NULL != *request
               ? rc
               : native->ialltoallw(sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls,
                                    rdtypes, comm, request, native->ialltoallw_module);
}

static const fs_wrapper_calls_t alltoallw_init =
    FAST_CALLS("MPI_Alltoallw_init", fs_alltoallw, NULL);

int mca_coll_fast_alltoallw_init(FAST_ALLTOALLW, ompi_info_t *info, ompi_request_t **request,
                                 mca_coll_base_module_t *module)
{
    mca_coll_fast_call_t call =
        make_call(sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls, rdtypes, comm, module);
    const fast_native_t *native = &call.module->native;
    int rc = mca_coll_fast_init(&alltoallw_init, &call, request);

    return OMPI_SUCCESS != rc || NULL != *request
               ? rc
               : native->alltoallw_init(sbuf, scounts, sdispls, sdtypes, rbuf, rcounts, rdispls,
                                        rdtypes, comm, info, request,
                                        native->alltoallw_init_module);
}
