/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers on a device: the call goes on with copies on the host. */
#include "coll_fast.h"

static int complain(const mca_coll_fast_module_t *module, fs_status_t status, const char *why)
{
    mca_coll_fast_complain("MPI_Alltoallv fails on %s: rank %d: %s", module->comm->c_name,
                           ompi_comm_rank(module->comm), why);
    return mca_coll_fast_error(status);
}

static int run(mca_coll_fast_module_t *module, const fast_args_t *args, const fs_blocks_t *blocks,
               fs_shadows_t *shadows, mca_coll_fast_next_fn_t *next)
{
    const fs_wrapper_t *w = &mca_coll_fast_component.wrapper;
    fast_args_t here = *args;
    char why[256];
    fs_status_t status = fs_shadows_begin(shadows, w, blocks, why, sizeof(why));
    int rc;

    if (FS_OK != status) {
        (void) fs_shadows_end(shadows, w, blocks, false, true);
        return complain(module, status, why);
    }
    if (!shadows->in_place) {
        here.sbuf = (const char *) here.sbuf + shadows->send.shift;
    }
    here.rbuf = (char *) here.rbuf + shadows->recv.shift;
    rc = next(module, &here);
    status = fs_shadows_end(shadows, w, blocks, OMPI_SUCCESS == rc, OMPI_SUCCESS == rc);
    return FS_OK == status ? rc : complain(module, status, fs_strerror(status));
}

int mca_coll_fast_by_host(mca_coll_fast_module_t *module, const fast_args_t *args,
                          mca_coll_fast_next_fn_t *next)
{
    /* Says only where the blocks are. */
    struct fast_scratch *scratch = mca_coll_fast_scratch_new(ompi_comm_size(module->comm));
    fs_shadows_t shadows = {.in_place = MPI_IN_PLACE == args->sbuf};
    const fs_blocks_t *blocks;
    int rc;

    if (NULL == scratch) {
        return complain(module, FS_ERR_NOMEM, fs_strerror(FS_ERR_NOMEM));
    }
    blocks = mca_coll_fast_describe(scratch, args, &shadows);
    rc = fs_shadows_needed(&shadows, &mca_coll_fast_component.wrapper, blocks)
             ? run(module, args, blocks, &shadows, next)
             : next(module, args);
    mca_coll_fast_scratch_free(scratch);
    return rc;
}
