/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers on a device: the call goes on with copies on the host. */
#include "mpich_fast.h"

static int complain(const mpich_fast_comm_t *state, fs_status_t status, const char *why)
{
    mpich_fast_say_last("MPI_Alltoallv fails on %s: rank %d: %s", state->name, state->rank, why);
    return mpich_fast_raise(state->comm, status);
}

static int run(mpich_fast_comm_t *state, const mpich_fast_args_t *args, const fs_blocks_t *blocks,
               fs_shadows_t *shadows, mpich_fast_next_t *next, bool *moved)
{
    const fs_wrapper_t *w = &mpich_fast_wrapper;
    mpich_fast_args_t here = *args;
    char why[256];
    fs_status_t status = fs_shadows_begin(shadows, w, blocks, why, sizeof(why));
    int mpi_errno;

    if (FS_OK != status) {
        (void) fs_shadows_end(shadows, w, blocks, false, true);
        return complain(state, status, why);
    }
    if (!shadows->in_place) {
        here.sendbuf = (const char *) here.sendbuf + shadows->send.shift;
    }
    here.recvbuf = (char *) here.recvbuf + shadows->recv.shift;
    mpi_errno = next(state, &here, moved);
    status = fs_shadows_end(shadows, w, blocks, *moved && MPI_SUCCESS == mpi_errno,
                            MPI_SUCCESS == mpi_errno);
    return FS_OK == status ? mpi_errno : complain(state, status, fs_strerror(status));
}

int mpich_fast_by_host(mpich_fast_comm_t *state, const mpich_fast_args_t *args,
                       mpich_fast_next_t *next, bool *moved)
{
    mpich_fast_call_t call = {.landing = NULL}; /* says only where the blocks are */
    fs_shadows_t shadows = {.in_place = MPI_IN_PLACE == args->sendbuf};
    int mpi_errno;

    *moved = false;
    if (FS_OK != fs_blocks_init(&call.blocks, (uint32_t) state->size)) {
        return complain(state, FS_ERR_NOMEM, fs_strerror(FS_ERR_NOMEM));
    }
    (void) mpich_fast_call_begin(&call, args);
    shadows.send_contiguous = call.send.contiguous;
    shadows.recv_contiguous = call.recv.contiguous;
    mpi_errno = fs_shadows_needed(&shadows, &mpich_fast_wrapper, &call.blocks)
                    ? run(state, args, &call.blocks, &shadows, next, moved)
                    : next(state, args, moved);
    fs_blocks_fini(&call.blocks);
    return mpi_errno;
}
