/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI's own messages for libfastsched (parameter transport).
 *
 * Straight to the PML, as the algorithms of coll/base do. Negative tags keep
 * clear of the application's, wildcards included; ours are taken, once for each
 * communicator, from those of nonblocking collectives, of which there are 2^30
 * (2^24 with pml/ucx) before Open MPI starts again from the first.
 */
#include "coll_fast.h"

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"

enum { N_TAGS = 1 << 20 };

/* Every rank must do so between the same two collectives. */
void mca_coll_fast_reserve_tags(mca_coll_fast_module_t *module)
{
    module->first_tag = ompi_coll_base_nbc_reserve_tags(module->comm, N_TAGS);
}

/* Tags fall: what is reserved goes from first_tag down. */
static int own_tag(const mca_coll_fast_module_t *module, uint32_t tag)
{
    return module->first_tag - (int) tag;
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
    int rc = MCA_PML_CALL(isend(buf, len_bytes, MPI_BYTE, (int) peer, own_tag(module, tag),
                                MCA_PML_BASE_SEND_STANDARD, module->comm, &request));

    *request_p = request;
    return status_of(rc);
}

static fs_status_t p2p_irecv(void *ctx, void *buf, uint64_t len_bytes, uint32_t peer, uint32_t tag,
                             void **request_p)
{
    mca_coll_fast_module_t *module = ctx;
    ompi_request_t *request = NULL;
    int source = FS_ANY_PEER == peer ? MPI_ANY_SOURCE : (int) peer;
    int rc = MCA_PML_CALL(
        irecv(buf, len_bytes, MPI_BYTE, source, own_tag(module, tag), module->comm, &request));

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

const fs_host_p2p_t mca_coll_fast_p2p = {
    .n_tags = N_TAGS,
    .isend = p2p_isend,
    .irecv = p2p_irecv,
    .test = p2p_test,
    .cancel = p2p_cancel,
};
