/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoallv, blocking. */
#include "coll_fast.h"

#include "coll/fs_collective.h"

/* A call in hand. */
typedef struct call {
    mca_coll_fast_module_t *module;
    const void *sbuf;
    FAST_COUNTS scounts;
    FAST_DISPLS sdispls;
    ompi_datatype_t *sdtype;
    void *rbuf;
    FAST_COUNTS rcounts;
    FAST_DISPLS rdispls;
    ompi_datatype_t *rdtype;
    mca_coll_fast_side_t send, recv;
} call_t;

/* ---- as bytes ---- */

/* In place the send arguments are undefined. */
static bool describe(void *ctx, fs_buffers_t *b)
{
    call_t *c = ctx;

    b->in_place = MPI_IN_PLACE == c->sbuf;
    mca_coll_fast_side(&c->recv, c->rbuf, c->rdtype);
    mca_coll_fast_side(&c->send, b->in_place ? c->rbuf : (void *) c->sbuf,
                       b->in_place ? c->rdtype : c->sdtype);
    c->recv.counts = c->rcounts;
    c->recv.displs = c->rdispls;
    c->send.counts = b->in_place ? c->rcounts : c->scounts;
    c->send.displs = b->in_place ? c->rdispls : c->sdispls;
    mca_coll_fast_describe(&c->send, &c->recv, b);
    return true;
}

static fs_status_t pack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes, void *dst)
{
    return mca_coll_fast_pack(&((call_t *) ctx)->send, block, offset, len_bytes, dst);
}

static fs_status_t unpack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes,
                          const void *src)
{
    return mca_coll_fast_unpack(&((call_t *) ctx)->recv, block, offset, len_bytes, src);
}

/* ---- by Open MPI ---- */

/* To what served the communicator before us. */
static int native(void *ctx, ptrdiff_t send_shift, ptrdiff_t recv_shift)
{
    const call_t *c = ctx;
    const mca_coll_fast_module_t *module = c->module;
    const void *sbuf = 0 == send_shift ? c->sbuf : (const char *) c->sbuf + send_shift;

    return module->native.alltoallv(sbuf, c->scounts, c->sdispls, c->sdtype,
                                    (char *) c->rbuf + recv_shift, c->rcounts, c->rdispls,
                                    c->rdtype, module->comm, module->native.alltoallv_module);
}

static int raise_error(void *ctx, fs_status_t status)
{
    (void) ctx;
    return mca_coll_fast_error(status);
}

static const fs_wrapper_calls_t alltoallv = {.name = "MPI_Alltoallv",
                                             .collective = &fs_alltoallv,
                                             .describe = describe,
                                             .pack = pack,
                                             .unpack = unpack,
                                             .native = native,
                                             .raise = raise_error};

int mca_coll_fast_alltoallv(const void *sbuf, FAST_COUNTS scounts, FAST_DISPLS sdispls,
                            ompi_datatype_t *sdtype, void *rbuf, FAST_COUNTS rcounts,
                            FAST_DISPLS rdispls, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *base)
{
    mca_coll_fast_module_t *module = (mca_coll_fast_module_t *) base;
    call_t call = {.module = module,
                   .sbuf = sbuf,
                   .scounts = scounts,
                   .sdispls = sdispls,
                   .sdtype = sdtype,
                   .rbuf = rbuf,
                   .rcounts = rcounts,
                   .rdispls = rdispls,
                   .rdtype = rdtype};
    int rc = module->is_set_up ? OMPI_SUCCESS : mca_coll_fast_setup(module);

    (void) comm;
    return OMPI_SUCCESS == rc ? fs_wrapper_serve(&module->shared, &alltoallv, &call) : rc;
}
