/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers on a device: our turn takes them there, the MPI's gets shadows where it needs them. */
#include "coll_fast.h"

struct fast_device {
    fs_buffers_t buffers;
    const fs_blocks_t *blocks;
    bool complained;
};

static int complain(const mca_coll_fast_module_t *module, struct fast_device *device,
                    fs_status_t status, const char *why)
{
    if (!device->complained) {
        mca_coll_fast_complain("MPI_Alltoallv fails on %s: rank %d: %s", module->comm->c_name,
                               ompi_comm_rank(module->comm), why);
    }
    device->complained = true;
    return mca_coll_fast_error(status);
}

fs_call_device_t mca_coll_fast_on_device(mca_coll_fast_module_t *module, const fast_args_t *args)
{
    fs_call_device_t for_call = {.staged = false};
    char why[256];
    fs_status_t status;

    if (NULL != args->device) {
        status = fs_buffers_for_coll(&args->device->buffers, &mca_coll_fast_component.wrapper,
                                     module->coll, &for_call, why, sizeof(why));
        if (FS_OK != status) {
            (void) complain(module, args->device, status, why);
        }
    }
    return for_call;
}

static int run_with_shadows(mca_coll_fast_module_t *module, const fast_args_t *args,
                            mca_coll_fast_next_fn_t *next)
{
    const fs_wrapper_t *w = &mca_coll_fast_component.wrapper;
    struct fast_device *device = args->device;
    fs_shadows_t shadows = {.send.memory = NULL};
    fast_args_t here = *args;
    char why[256];
    fs_status_t status =
        fs_shadows_begin(&shadows, &device->buffers, w, device->blocks, why, sizeof(why));
    int rc;

    if (FS_OK != status) {
        (void) fs_shadows_end(&shadows, w, device->blocks, false, true);
        return complain(module, device, status, why);
    }
    if (!device->buffers.in_place) {
        here.sbuf = (const char *) here.sbuf + shadows.send.shift;
    }
    here.rbuf = (char *) here.rbuf + shadows.recv.shift;
    rc = next(module, &here);
    status = fs_shadows_end(&shadows, w, device->blocks, OMPI_SUCCESS == rc, OMPI_SUCCESS == rc);
    return FS_OK == status ? rc : complain(module, device, status, fs_strerror(status));
}

int mca_coll_fast_by_host(mca_coll_fast_module_t *module, const fast_args_t *args,
                          mca_coll_fast_next_fn_t *next)
{
    return NULL == args->device ? next(module, args) : run_with_shadows(module, args, next);
}

int mca_coll_fast_look_for_device(mca_coll_fast_module_t *module, const fast_args_t *args,
                                  mca_coll_fast_next_fn_t *next)
{
    struct fast_device device = {.complained = false};
    fast_args_t here = *args;

    if (NULL == module->looked) {
        module->looked = mca_coll_fast_scratch_new(ompi_comm_size(module->comm));
    }
    if (NULL == module->looked) {
        return complain(module, &device, FS_ERR_NOMEM, fs_strerror(FS_ERR_NOMEM));
    }
    device.blocks = mca_coll_fast_describe(module->looked, args, &device.buffers);
    if (fs_buffers_find(&device.buffers, &mca_coll_fast_component.wrapper, device.blocks)) {
        here.device = &device;
    }
    return next(module, &here);
}
