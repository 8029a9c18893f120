/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoall, blocking: MPI_Alltoallv of even blocks. */
#include "coll_fast.h"

#include "coll/fs_collective.h"

/* A call in hand. */
typedef struct call {
    mca_coll_fast_module_t *module;
    const void *sbuf;
    FAST_ONE_COUNT scount;
    ompi_datatype_t *sdtype;
    void *rbuf;
    FAST_ONE_COUNT rcount;
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
    c->send.even = c->recv.even = true;
    c->recv.count = (size_t) c->rcount;
    c->send.count = (size_t) (b->in_place ? c->rcount : c->scount);
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

    return module->native.alltoall(sbuf, c->scount, c->sdtype, (char *) c->rbuf + recv_shift,
                                   c->rcount, c->rdtype, module->comm,
                                   module->native.alltoall_module);
}

static int raise_error(void *ctx, fs_status_t status)
{
    (void) ctx;
    return mca_coll_fast_error(status);
}

static const fs_wrapper_calls_t alltoall = {.name = "MPI_Alltoall",
                                            .collective = &fs_alltoallv,
                                            .describe = describe,
                                            .pack = pack,
                                            .unpack = unpack,
                                            .native = native,
                                            .raise = raise_error};

int mca_coll_fast_alltoall(const void *sbuf, FAST_ONE_COUNT scount, ompi_datatype_t *sdtype,
                           void *rbuf, FAST_ONE_COUNT rcount, ompi_datatype_t *rdtype,
                           ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_fast_module_t *module = (mca_coll_fast_module_t *) base;
    call_t call = {.module = module,
                   .sbuf = sbuf,
                   .scount = scount,
                   .sdtype = sdtype,
                   .rbuf = rbuf,
                   .rcount = rcount,
                   .rdtype = rdtype};
    int rc = module->is_set_up ? OMPI_SUCCESS : mca_coll_fast_setup(module);

    (void) comm;
    return OMPI_SUCCESS == rc ? fs_wrapper_serve(&module->shared, &alltoall, &call) : rc;
}
