/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers on a device: our turn takes them there, the MPI's gets shadows where it needs them. */
#include "mpich_fast.h"

struct mpich_fast_device {
    fs_buffers_t buffers;
    const fs_blocks_t *blocks;
    bool complained;
};

static void say(const mpich_fast_comm_t *state, struct mpich_fast_device *device, const char *why)
{
    if (!device->complained) {
        mpich_fast_say_last("MPI_Alltoallv fails on %s: rank %d: %s", state->name, state->rank,
                            why);
    }
    device->complained = true;
}

static int complain(const mpich_fast_comm_t *state, struct mpich_fast_device *device,
                    fs_status_t status, const char *why)
{
    say(state, device, why);
    return mpich_fast_raise(state->comm, status);
}

fs_call_device_t mpich_fast_on_device(const mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    fs_call_device_t for_call = {.staged = false};
    char why[256];

    if (NULL != args->device
        && FS_OK
               != fs_buffers_for_coll(&args->device->buffers, &mpich_fast_wrapper, state->coll,
                                      &for_call, why, sizeof(why))) {
        say(state, args->device, why);
    }
    return for_call;
}

static int run_with_shadows(mpich_fast_comm_t *state, const mpich_fast_args_t *args,
                            mpich_fast_next_t *next)
{
    const fs_wrapper_t *w = &mpich_fast_wrapper;
    struct mpich_fast_device *device = args->device;
    fs_shadows_t shadows = {.send.memory = NULL};
    mpich_fast_args_t here = *args;
    char why[256];
    fs_status_t status =
        fs_shadows_begin(&shadows, &device->buffers, w, device->blocks, why, sizeof(why));
    int mpi_errno;

    if (FS_OK != status) {
        (void) fs_shadows_end(&shadows, w, device->blocks, false, true);
        return complain(state, device, status, why);
    }
    if (!device->buffers.in_place) {
        here.sendbuf = (const char *) here.sendbuf + shadows.send.shift;
    }
    here.recvbuf = (char *) here.recvbuf + shadows.recv.shift;
    mpi_errno = next(state, &here);
    status = fs_shadows_end(&shadows, w, device->blocks, MPI_SUCCESS == mpi_errno,
                            MPI_SUCCESS == mpi_errno);
    return FS_OK == status ? mpi_errno : complain(state, device, status, fs_strerror(status));
}

int mpich_fast_by_host(mpich_fast_comm_t *state, const mpich_fast_args_t *args,
                       mpich_fast_next_t *next)
{
    return NULL == args->device ? next(state, args) : run_with_shadows(state, args, next);
}

int mpich_fast_look_for_device(mpich_fast_comm_t *state, const mpich_fast_args_t *args,
                               mpich_fast_next_t *next)
{
    mpich_fast_call_t *call = &state->looked;
    struct mpich_fast_device device = {.blocks = &call->blocks};
    mpich_fast_args_t here = *args;

    if (0 == call->blocks.n_ranks
        && FS_OK != fs_blocks_init(&call->blocks, (uint32_t) state->size)) {
        return complain(state, &device, FS_ERR_NOMEM, fs_strerror(FS_ERR_NOMEM));
    }
    (void) mpich_fast_call_begin(call, args, (fs_call_device_t){.staged = false});
    device.buffers.in_place = MPI_IN_PLACE == args->sendbuf;
    device.buffers.send_contiguous = call->send.contiguous;
    device.buffers.recv_contiguous = call->recv.contiguous;
    if (fs_buffers_find(&device.buffers, &mpich_fast_wrapper, &call->blocks)) {
        here.device = &device;
    }
    return next(state, &here);
}
