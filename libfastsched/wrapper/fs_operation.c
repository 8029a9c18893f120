/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nonblocking call of an MPI: described and posted in the call, ended by whoever
 * progresses the network.
 */
#include "base/fs_strbuf.h"
#include "coll/fs_request.h"
#include "wrapper/fs_buffers.h"
#include "wrapper/fs_count.h"
#include "wrapper/fs_report.h"

#include <stdlib.h>

struct fs_operation {
    fs_request_t              request; /* first */
    fs_wrapper_comm_t        *comm;
    const fs_wrapper_calls_t *calls;
    void                     *ctx;
    fs_buffers_t              buffers;
    char                      error[512];
    fs_operation_t           *next; /* of those that have ended */
};

/* ---- start ---- */

/* In the order of their ends. */
static void note_end(fs_request_t *request)
{
    fs_operation_t  *op    = (fs_operation_t *)request;
    fs_operation_t **at    = &op->comm->wrapper->ended;
    fs_strbuf_t      error = {op->error, sizeof(op->error), 0};

    if (request->status != FS_OK) {
        fs_strbuf_add(&error, "%s", fs_comm_error(request->comm));
    }
    fs_request_fini(request); /* the communicator may be freed before it ends */
    while (*at != NULL) {
        at = &(*at)->next;
    }
    __atomic_store_n(at, op, __ATOMIC_RELEASE);
}

static fs_status_t make_operation(fs_wrapper_comm_t        *comm,
                                  const fs_wrapper_calls_t *calls, void *ctx,
                                  fs_operation_t **op_p)
{
    fs_operation_t *op = malloc(sizeof(*op));

    if (op == NULL) {
        return FS_ERR_NOMEM;
    }
    *op = (fs_operation_t){.comm = comm, .calls = calls, .ctx = ctx};
    if (fs_buffers_init(&op->buffers, comm->n_ranks, comm->rank) != FS_OK) {
        free(op);
        return FS_ERR_NOMEM;
    }
    *op_p = op;
    return FS_OK;
}

static void free_operation(fs_operation_t *op)
{
    fs_buffers_fini(&op->buffers);
    free(op);
}

bool fs_wrapper_takes_nonblocking(const fs_wrapper_comm_t *comm)
{
    fs_wrapper_count(&comm->wrapper->calls, 1);
    return comm->ours != NULL && fs_comm_serves_nonblocking(comm->ours);
}

fs_status_t fs_wrapper_start(fs_wrapper_comm_t        *comm,
                             const fs_wrapper_calls_t *calls, void *ctx,
                             fs_operation_t **operation_p)
{
    fs_call_device_t device = {.staged = false};
    fs_operation_t  *op     = NULL;
    fs_status_t      status;

    *operation_p = NULL;
    status       = comm->ours->dead ? FS_ERR_TRANSPORT
                                    : make_operation(comm, calls, ctx, &op);
    if (status != FS_OK) {
        fs_report_failure(comm, calls,
                          status == FS_ERR_TRANSPORT ? fs_comm_error(comm->ours)
                                                     : fs_strerror(status));
        return status;
    }
    fs_counts_begin(&op->buffers.counts, fs_comm_topo(comm->ours));
    if (!calls->describe(ctx, &op->buffers)) {
        free_operation(op);
        return FS_OK;
    }
    if (comm->wrapper->net->helper != NULL) { /* which cannot pack */
        op->buffers.send_whole = !op->buffers.send_contiguous;
        op->buffers.recv_whole = !op->buffers.recv_contiguous;
    }
    if (fs_wrapper_has_accel(comm->wrapper) &&
        fs_buffers_find(&op->buffers, comm->wrapper)) {
        fs_report_failure(
            op->comm, op->calls,
            "a buffer is on a device, and the communicator was set up "
            "before there was one");
        device.consent = FS_CONSENT_NO;
    }
    fs_buffers_begin(&op->buffers, calls, ctx, device);
    if (comm->wrapper->net->helper != NULL) {
        status = fs_buffers_prepare(&op->buffers);
        if (status != FS_OK) { /* then no rank goes on */
            fs_report_failure(op->comm, op->calls, fs_strerror(status));
            op->buffers.call.device.consent = FS_CONSENT_NO;
        }
    }
    *operation_p = op;
    fs_comm_post(&op->request, comm->ours, calls->collective, &op->buffers.call,
                 note_end);
    return FS_OK;
}

/* ---- end ---- */

fs_operation_t *fs_wrapper_next_ended(fs_wrapper_t *wrapper)
{
    fs_operation_t *op = __atomic_load_n(&wrapper->ended, __ATOMIC_ACQUIRE);

    if (op == NULL) {
        return NULL;
    }
    fs_net_lock(wrapper->net);
    op = wrapper->ended;
    if (op != NULL) {
        __atomic_store_n(&wrapper->ended, op->next, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&wrapper->net->lock);
    return op;
}

int fs_wrapper_end(fs_operation_t *op, void **ctx_p)
{
    fs_request_t *request  = &op->request;
    fs_status_t   status   = request->status;
    bool          all_done = fs_buffers_are_free(status);
    fs_status_t   end = fs_buffers_end(&op->buffers, request->ran, all_done);
    int           rc  = 0;

    *ctx_p = op->ctx;
    if (status != FS_OK) {
        fs_report_failure(op->comm, op->calls, op->error);
        rc = op->calls->raise(op->ctx, status);
    } else if (end != FS_OK) {
        fs_report_failure(op->comm, op->calls, fs_strerror(end));
        rc = op->calls->raise(op->ctx, end);
    } else {
        fs_wrapper_count_outcome(op->comm->wrapper, &request->outcome);
    }
    if (all_done) {
        free_operation(op);
    }
    return rc;
}
