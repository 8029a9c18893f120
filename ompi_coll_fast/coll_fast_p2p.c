/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI's own messages for libfastsched (parameter transport).
 *
 * On a communicator of our own, of the same ranks: one receive is always posted
 * for messages of any rank, and on the user's communicator Open MPI's nonblocking
 * collectives would in time use each tag there is (of which pml/ucx has 2^24).
 * Straight to the PML, as the algorithms of coll/base do.
 */
#include "coll_fast.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"

enum { N_TAGS = 1 << 20 };

/* A split, as it copies no attributes. */
static fs_status_t p2p_open(void *ctx)
{
    mca_coll_fast_module_t *module = ctx;
    int rc = ompi_comm_split(module->comm, 0, ompi_comm_rank(module->comm), &module->own, false);

    return OMPI_SUCCESS == rc ? FS_OK : FS_ERR_NATIVE;
}

void mca_coll_fast_close_p2p(mca_coll_fast_module_t *module)
{
    if (NULL != module->own) {
        (void) ompi_comm_free(&module->own);
    }
    module->own = NULL;
}

static fs_status_t status_of(int rc)
{
    switch (rc) {
    case MPI_SUCCESS:
        return FS_OK;
    case MPI_ERR_TRUNCATE:
        return FS_ERR_TRUNCATE;
    case OMPI_ERR_OUT_OF_RESOURCE:
    case MPI_ERR_NO_MEM:
        return FS_ERR_NOMEM;
    default:
        return FS_ERR_TRANSPORT;
    }
}

static fs_status_t p2p_isend(void *ctx, const void *buf, uint64_t len_bytes, uint32_t peer,
                             uint32_t tag, void **request_p)
{
    mca_coll_fast_module_t *module = ctx;
    ompi_request_t *request = NULL;
    int rc = MCA_PML_CALL(isend(buf, len_bytes, MPI_BYTE, (int) peer, (int) tag,
                                MCA_PML_BASE_SEND_STANDARD, module->own, &request));

    *request_p = request;
    return status_of(rc);
}

static fs_status_t p2p_irecv(void *ctx, void *buf, uint64_t len_bytes, uint32_t peer, uint32_t tag,
                             void **request_p)
{
    mca_coll_fast_module_t *module = ctx;
    ompi_request_t *request = NULL;
    int source = FS_ANY_PEER == peer ? MPI_ANY_SOURCE : (int) peer;
    int rc =
        MCA_PML_CALL(irecv(buf, len_bytes, MPI_BYTE, source, (int) tag, module->own, &request));

    *request_p = request;
    return status_of(rc);
}

static fs_status_t p2p_test(void *ctx, void *request, uint64_t *len_p)
{
    ompi_request_t *req = request;
    fs_status_t status;

    (void) ctx;
    if (!REQUEST_COMPLETE(req)) {
        return FS_INPROGRESS;
    }
    opal_atomic_rmb(); /* the bytes were there before the word that says so */
    status = req->req_status._cancelled ? FS_ERR_TRANSPORT : status_of(req->req_status.MPI_ERROR);
    if (NULL != len_p) {
        *len_p = req->req_status._ucount;
    }
    (void) ompi_request_free(&req);
    return status;
}

static void p2p_cancel(void *ctx, void *request)
{
    (void) ctx;
    (void) ompi_request_cancel(request);
}

const fs_native_p2p_t mca_coll_fast_p2p = {
    .n_tags = N_TAGS,
    .open = p2p_open,
    .isend = p2p_isend,
    .irecv = p2p_irecv,
    .test = p2p_test,
    .cancel = p2p_cancel,
};
