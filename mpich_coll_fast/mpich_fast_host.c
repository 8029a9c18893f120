/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libfastsched asks of the MPI, on our own communicator: a gather,
 * progress, messages, and who is where.
 *
 * The MPI does not look at our network. So a call of ours leaves nothing
 * undone, and wherever we wait for the MPI we look at the network ourselves.
 */
#include "mpich_fast.h"

#include <limits.h>
#include <sched.h>

/* ---- gather, progress ---- */

static fs_status_t allgather(void *ctx, const void *in, size_t len, void *out)
{
    const mpich_fast_comm_t *state = ctx;
    MPI_Request request;
    int done = 0;

    if (len > INT_MAX
        || MPI_SUCCESS
               != mpi.Iallgather(in, (int) len, MPI_BYTE, out, (int) len, MPI_BYTE, state->own,
                                 &request)) {
        return FS_ERR_HOST;
    }
    while (!done) {
        if (MPI_SUCCESS != mpi.Test(&request, &done, MPI_STATUS_IGNORE)) {
            return FS_ERR_HOST;
        }
        if (!done) {
            if (NULL != mpich_fast_wrapper.net) {
                (void) fs_net_progress(mpich_fast_wrapper.net);
            }
            (void) sched_yield();
        }
    }
    return FS_OK;
}

/* A probe drives MPICH, if it is on a communicator of more than one rank. */
static void progress(void *ctx)
{
    const mpich_fast_comm_t *state = ctx;
    int flag;

    (void) mpi.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, state->own, &flag, MPI_STATUS_IGNORE);
    (void) sched_yield();
}

static fs_net_t *get_net(void *ctx)
{
    (void) ctx;
    return fs_wrapper_net(&mpich_fast_wrapper);
}

static const char *why_no_net(void *ctx)
{
    (void) ctx;
    return fs_wrapper_no_net(&mpich_fast_wrapper);
}

static fs_nics_t *get_nics(void *ctx)
{
    (void) ctx;
    return fs_wrapper_nics(&mpich_fast_wrapper);
}

static void warn(void *ctx, const char *line)
{
    (void) ctx;
    mpich_fast_say(line);
}

/* ---- messages (parameter transport) ---- */

static fs_status_t status_of(int mpi_errno)
{
    return MPI_SUCCESS == mpi_errno ? FS_OK : FS_ERR_TRANSPORT;
}

static void *from_request(MPI_Request request)
{
    return (void *) (uintptr_t) (unsigned) request;
}

static MPI_Request to_request(void *request)
{
    return (MPI_Request) (uintptr_t) request;
}

static fs_status_t p2p_isend(void *ctx, const void *buf, uint64_t len_bytes, uint32_t peer,
                             uint32_t tag, void **request_p)
{
    const mpich_fast_comm_t *state = ctx;
    MPI_Request request;
    int mpi_errno;

    if (len_bytes > INT_MAX) {
        return FS_ERR_OVERFLOW;
    }
    mpi_errno =
        mpi.Isend(buf, (int) len_bytes, MPI_BYTE, (int) peer, (int) tag, state->own, &request);
    *request_p = from_request(request);
    return status_of(mpi_errno);
}

static fs_status_t p2p_irecv(void *ctx, void *buf, uint64_t len_bytes, uint32_t peer, uint32_t tag,
                             void **request_p)
{
    const mpich_fast_comm_t *state = ctx;
    int source = FS_ANY_PEER == peer ? MPI_ANY_SOURCE : (int) peer;
    MPI_Request request;
    int mpi_errno;

    if (len_bytes > INT_MAX) {
        return FS_ERR_OVERFLOW;
    }
    mpi_errno = mpi.Irecv(buf, (int) len_bytes, MPI_BYTE, source, (int) tag, state->own, &request);
    *request_p = from_request(request);
    return status_of(mpi_errno);
}

static fs_status_t p2p_test(void *ctx, void *handle, uint64_t *len_p)
{
    MPI_Request request = to_request(handle);
    MPI_Status status;
    int done, len = 0, mpi_errno;

    (void) ctx;
    mpi_errno = mpi.Test(&request, &done, &status);
    if (MPI_SUCCESS != mpi_errno) {
        return MPI_ERR_TRUNCATE == mpi_errno ? FS_ERR_TRUNCATE : FS_ERR_TRANSPORT;
    }
    if (!done) {
        return FS_INPROGRESS;
    }
    if (NULL != len_p) {
        mpi.Get_count(&status, MPI_BYTE, &len);
        *len_p = (uint64_t) (len < 0 ? 0 : len);
    }
    return FS_OK;
}

static void p2p_cancel(void *ctx, void *handle)
{
    MPI_Request request = to_request(handle);

    (void) ctx;
    (void) mpi.Cancel(&request);
}

static const fs_host_p2p_t p2p = {
    .n_tags = 32768, /* of an own communicator */
    .isend = p2p_isend,
    .irecv = p2p_irecv,
    .test = p2p_test,
    .cancel = p2p_cancel,
};

fs_host_t mpich_fast_basic_host(void *ctx)
{
    return (fs_host_t){.ctx = ctx,
                       .net = get_net,
                       .why_no_net = why_no_net,
                       .nics = get_nics,
                       .warn = warn,
                       .mem_kinds = mpich_fast_wrapper.mem_kinds};
}

fs_host_t mpich_fast_host(mpich_fast_comm_t *state)
{
    fs_host_t host = mpich_fast_basic_host(state);

    host.allgather = allgather;
    host.progress = progress;
    host.p2p = &p2p;
    return host;
}

/* ---- who is where ---- */

int mpich_fast_server_label(const mpich_fast_comm_t *state, uint32_t *label_p)
{
    const uint32_t *world_server = mpich_fast_wrapper.world_server;
    int world_rank, lowest = state->rank, mpi_errno;
    MPI_Comm node;

    if (NULL != world_server) {
        mpi.Comm_rank(MPI_COMM_WORLD, &world_rank);
        *label_p = world_server[world_rank];
        return MPI_SUCCESS;
    }
    mpi_errno =
        mpi.Comm_split_type(state->own, MPI_COMM_TYPE_SHARED, state->rank, MPI_INFO_NULL, &node);
    if (MPI_SUCCESS == mpi_errno) {
        mpi_errno = mpi.Bcast(&lowest, 1, MPI_INT, 0, node);
        mpi.Comm_free(&node);
    }
    *label_p = (uint32_t) lowest;
    return mpi_errno;
}
