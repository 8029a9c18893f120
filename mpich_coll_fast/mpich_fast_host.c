/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libfastsched asks of the MPI: a gather, progress, messages, and which
 * rank is where. All ranks are in MPI_Alltoallv, so that collective operations
 * of ours can go over the user's communicator. Only messages need one of their
 * own: MPICH has 2048, and the user may want them all.
 *
 * The MPI does not progress our network. So a call of ours leaves nothing
 * undone, and wherever we wait for the MPI we progress the network ourselves.
 */
#include "mpich_fast.h"

#include <limits.h>
#include <sched.h>

/* ---- gather, progress ---- */

static fs_status_t wait_for(MPI_Request request)
{
    fs_net_t *net;
    int done = 0;

    while (!done) {
        if (MPI_SUCCESS != mpi.Test(&request, &done, MPI_STATUS_IGNORE)) {
            return FS_ERR_NATIVE;
        }
        if (!done) {
            net = fs_wrapper_net(&mpich_fast_wrapper);
            if (NULL != net) {
                (void) fs_net_progress(net);
            }
            (void) sched_yield();
        }
    }
    return FS_OK;
}

static fs_status_t allgather(void *ctx, const void *in, size_t len, void *out)
{
    const mpich_fast_comm_t *state = ctx;
    MPI_Request request;

    return len <= INT_MAX
                   && MPI_SUCCESS
                          == mpi.Iallgather(in, (int) len, MPI_BYTE, out, (int) len, MPI_BYTE,
                                            state->comm, &request)
               ? wait_for(request)
               : FS_ERR_NATIVE;
}

static fs_status_t agree(void *ctx, fs_status_t mine)
{
    const mpich_fast_comm_t *state = ctx;
    MPI_Request request;
    int in = mine, worst;

    return MPI_SUCCESS == mpi.Iallreduce(&in, &worst, 1, MPI_INT, MPI_MIN, state->comm, &request)
                   && FS_OK == wait_for(request)
               ? (fs_status_t) worst
               : FS_ERR_NATIVE;
}

/* A test drives MPICH as long as the request has not ended, whatever has come in for the user. A
 * probe would not: it stops at the first message that it finds. */
static void progress(void *ctx)
{
    mpich_fast_comm_t *state = ctx;
    int done;

    (void) mpi.Test(&state->endless, &done, MPI_STATUS_IGNORE);
    (void) sched_yield();
}

static int on_query(void *extra, MPI_Status *status)
{
    (void) extra;
    (void) status;
    return MPI_SUCCESS;
}

static int on_request_free(void *extra)
{
    (void) extra;
    return MPI_SUCCESS;
}

static int on_cancel(void *extra, int complete)
{
    (void) extra;
    (void) complete;
    return MPI_SUCCESS;
}

bool mpich_fast_host_start(mpich_fast_comm_t *state)
{
    return MPI_SUCCESS
           == mpi.Grequest_start(on_query, on_request_free, on_cancel, NULL, &state->endless);
}

void mpich_fast_host_stop(mpich_fast_comm_t *state)
{
    if (MPI_REQUEST_NULL != state->endless) {
        mpi.Grequest_complete(state->endless);
        mpi.Request_free(&state->endless);
    }
}

/* ---- messages (parameter transport) ---- */

static fs_status_t status_of(int mpi_errno)
{
    return MPI_SUCCESS == mpi_errno ? FS_OK : FS_ERR_TRANSPORT;
}

static MPI_Request to_request(void *request)
{
    return (MPI_Request) (uintptr_t) request;
}

/* Same ranks, same order, no attributes copied. */
static fs_status_t p2p_open(void *ctx)
{
    mpich_fast_comm_t *state = ctx;
    MPI_Errhandler theirs = mpich_fast_silence(state->comm);
    int mpi_errno = mpi.Comm_split(state->comm, 0, (int) state->shared.rank, &state->own);

    mpich_fast_speak(state->comm, theirs);
    if (MPI_SUCCESS == mpi_errno) {
        mpi_errno = mpi.Comm_set_errhandler(state->own, MPI_ERRORS_RETURN);
    }
    return status_of(mpi_errno);
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
    *request_p = mpich_fast_from_request(request);
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
    *request_p = mpich_fast_from_request(request);
    return status_of(mpi_errno);
}

static fs_status_t p2p_test(void *ctx, void *handle, uint64_t *len_p)
{
    MPI_Request request = to_request(handle);
    MPI_Status status;
    int done, len = 0, mpi_errno, class;

    (void) ctx;
    mpi_errno = mpi.Test(&request, &done, &status);
    if (MPI_SUCCESS != mpi_errno) {
        mpi.Error_class(mpi_errno, &class);
        return MPI_ERR_TRUNCATE == class ? FS_ERR_TRUNCATE : FS_ERR_TRANSPORT;
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

static const fs_native_p2p_t p2p = {
    .n_tags = 32768, /* of an own communicator */
    .open = p2p_open,
    .isend = p2p_isend,
    .irecv = p2p_irecv,
    .test = p2p_test,
    .cancel = p2p_cancel,
};

fs_native_t mpich_fast_host(mpich_fast_comm_t *state)
{
    fs_native_t native = fs_wrapper_native(&mpich_fast_wrapper, state);

    native.allgather = allgather;
    native.agree = agree;
    native.progress = progress;
    native.p2p = &p2p;
    return native;
}

/* ---- servers ---- */

int mpich_fast_server_label(const mpich_fast_comm_t *state, uint32_t *label_p)
{
    const uint32_t *world_server = mpich_fast_wrapper.world_server;
    int world_rank, rank = (int) state->shared.rank, lowest = rank, mpi_errno;
    MPI_Comm node;

    if (NULL != world_server) {
        mpi.Comm_rank(MPI_COMM_WORLD, &world_rank);
        *label_p = world_server[world_rank];
        return MPI_SUCCESS;
    }
    mpi_errno = mpi.Comm_split_type(state->comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    if (MPI_SUCCESS == mpi_errno) {
        mpi_errno = mpi.Bcast(&lowest, 1, MPI_INT, 0, node);
        mpi.Comm_free(&node);
    }
    *label_p = (uint32_t) lowest;
    return mpi_errno;
}
