/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking and persistent calls of an MPI: described and posted in a call, ended
 * by whoever progresses the network.
 */
#include "accel/fs_accel.h"
#include "base/fs_strbuf.h"
#include "coll/fs_persistent.h"
#include "wrapper/fs_buffers.h"
#include "wrapper/fs_count.h"
#include "wrapper/fs_report.h"
#include "wrapper/fs_wrapper_record.h"

#include <stdlib.h>

struct fs_operation {
    fs_request_t              request; /* first */
    fs_wrapper_comm_t        *comm;
    const fs_wrapper_calls_t *calls;
    void                     *ctx;
    fs_buffers_t              buffers;
    fs_persistent_t           persistent; /* if it has a communicator */
    uint32_t                  recorded;   /* its number, if it is persistent */
    char                      error[512];
    fs_operation_t           *next; /* of those that have ended */
};

/* What reduces is not. */
static bool is_recorded(const fs_operation_t *op)
{
    return op->comm->record != NULL && op->calls->reduce == NULL;
}

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
    op->next = NULL;
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
    if (op != NULL) {
        fs_buffers_fini(&op->buffers);
        free(op);
    }
}

bool fs_wrapper_takes_nonblocking(const fs_wrapper_comm_t  *comm,
                                  const fs_wrapper_calls_t *calls, void *ctx)
{
    bool ours = comm->ours != NULL && fs_comm_serves_nonblocking(comm->ours);

    fs_wrapper_count(&comm->wrapper->calls, 1);
    if (ours) {
        __atomic_store_n(&comm->wrapper->spans_servers, true, __ATOMIC_RELAXED);
    } else if (comm->record != NULL) {
        fs_wrapper_record_call(comm, calls, ctx);
    }
    return ours;
}

/* Would that be done by somebody who must not, call by call? */
static bool packs_whole(const fs_wrapper_t *wrapper)
{
    return wrapper->packs_in_calls || wrapper->net->helper != NULL;
}

/* FS_ERR_INVAL: the MPI has to serve it, or to say what is wrong with its arguments. Else
 * as describe(). */
static fs_status_t describe(fs_operation_t *op, const fs_comm_t *comm)
{
    const fs_collective_t *collective = op->calls->collective;
    fs_status_t            status;

    fs_buffers_clear(&op->buffers, fs_comm_topo(comm));
    status = op->calls->describe(op->ctx, &op->buffers);
    return status == FS_OK && collective->takes != NULL &&
                   !collective->takes(comm, &op->buffers.reduction)
               ? FS_ERR_INVAL
               : status;
}

/* Sides that the MPI alone can pack where they are are packed by it, and memory of
 * the host for us: the call cannot be left to it. */
static void let_pack(fs_buffers_t *b, fs_call_device_t *device)
{
    b->send_contiguous &= !fs_mem_is_device(b->send_mem);
    b->recv_contiguous &= !fs_mem_is_device(b->recv_mem);
    *device = (fs_call_device_t){.staged = false};
}

/* A persistent call has its own: the communicator may be closed. */
static const fs_comm_t *comm_of(const fs_operation_t *op)
{
    return op->persistent.comm != NULL ? op->persistent.comm : op->comm->ours;
}

/* Where the buffers are. What cannot be used there is said, and makes the call fail. */
static fs_call_device_t find_device(fs_operation_t *op)
{
    fs_buffers_t    *b       = &op->buffers;
    fs_wrapper_t    *wrapper = op->comm->wrapper;
    fs_call_device_t device  = {.staged = false};
    char             why[256];

    if (fs_wrapper_has_accel(wrapper) && fs_buffers_find(b, wrapper)) {
        if (fs_buffers_for_call(b, wrapper, comm_of(op), &device, why,
                                sizeof(why)) != FS_OK) {
            fs_report_failure(op->comm, op->calls, why);
        }
        if (device.consent == FS_CONSENT_NATIVE && op->calls->reduce == NULL) {
            let_pack(b, &device);
        }
    }
    return device;
}

/* A described call becomes one of ours. */
static void begin(fs_operation_t *op)
{
    fs_buffers_t    *b      = &op->buffers;
    fs_call_device_t device = find_device(op);

    if (packs_whole(op->comm->wrapper)) {
        b->send_whole = !b->send_contiguous;
        b->recv_whole = !b->recv_contiguous;
    }
    fs_buffers_begin(b, op->calls, op->ctx, device);
}

/* Before it is posted. What has failed, or fails here, the others hear in their calls. */
static void get_ready(fs_operation_t *op, fs_status_t status)
{
    begin(op);
    if (status == FS_OK && packs_whole(op->comm->wrapper) &&
        op->buffers.call.device.consent != FS_CONSENT_NO) {
        status = fs_buffers_prepare(&op->buffers);
    }
    if (status != FS_OK) {
        fs_report_failure(op->comm, op->calls,
                          status == FS_ERR_UNSUPPORTED
                              ? "only the MPI's own algorithm can pack its data"
                              : fs_strerror(status));
        op->buffers.call.device.consent = FS_CONSENT_NO;
    }
}

fs_status_t fs_wrapper_start(fs_wrapper_comm_t        *comm,
                             const fs_wrapper_calls_t *calls, void *ctx,
                             fs_operation_t **operation_p)
{
    fs_operation_t *op     = NULL;
    fs_status_t     status = comm->ours->dead
                                 ? FS_ERR_TRANSPORT
                                 : make_operation(comm, calls, ctx, &op);

    *operation_p = NULL;
    if (status != FS_OK) {
        fs_report_failure(comm, calls,
                          status == FS_ERR_TRANSPORT ? fs_comm_error(comm->ours)
                                                     : fs_strerror(status));
        return status;
    }
    status = describe(op, comm->ours);
    if (status == FS_ERR_INVAL) {
        free_operation(op);
        return FS_OK;
    }
    if (is_recorded(op)) {
        fs_wrapper_record_described(comm, calls, &op->buffers.counts);
    }
    get_ready(op, status);
    *operation_p = op;
    fs_request_init(&op->request, comm->ours, calls->collective,
                    &op->buffers.call);
    fs_comm_post(&op->request, note_end);
    return FS_OK;
}

bool fs_wrapper_is_idle(const fs_wrapper_comm_t *comm)
{
    bool idle = true;

    if (comm->ours != NULL && comm->ours->net != NULL) {
        fs_net_lock(comm->ours->net);
        idle = comm->ours->first == NULL;
        pthread_mutex_unlock(&comm->ours->net->lock);
    }
    return idle;
}

/* ---- persistent ---- */

fs_status_t fs_wrapper_init_persistent(fs_wrapper_comm_t        *comm,
                                       const fs_wrapper_calls_t *calls,
                                       void *ctx, fs_operation_t **operation_p)
{
    fs_operation_t *op     = NULL;
    fs_status_t     status = ctx != NULL ? make_operation(comm, calls, ctx, &op)
                                         : FS_ERR_NOMEM;
    fs_persistent_t persistent;

    *operation_p = NULL;
    if (status == FS_OK) {
        status = describe(op, comm->ours);
        begin(op);
    }
    status = fs_persistent_init(&persistent, comm->ours, status,
                                calls->collective,
                                op != NULL ? &op->buffers.call : NULL);
    if (persistent.comm != NULL) {
        op->persistent = persistent;
        *operation_p   = op;
        if (is_recorded(op)) {
            op->recorded =
                fs_wrapper_record_init(comm, calls, &op->buffers.counts);
        }
        if (comm->ours->params.verbose > 0 && comm->rank == 0) {
            fs_report_call(comm);
        }
        return FS_OK;
    }
    if (status != FS_OK) {
        fs_report_failure(comm, calls, fs_comm_error(comm->ours));
    } else if (comm->record != NULL && ctx != NULL) {
        fs_wrapper_record_call(comm, calls, ctx);
    }
    free_operation(op);
    return status;
}

void fs_wrapper_start_persistent(fs_operation_t *op)
{
    const fs_buffers_t *b = &op->buffers;

    fs_wrapper_count(&op->comm->wrapper->calls, 1);
    if (is_recorded(op)) {
        fs_wrapper_record_start(op->comm, op->recorded);
    }
    if (b->in_place || b->send_whole || b->recv_whole) {
        (void)describe(op, op->persistent.comm); /* they were in copies */
    }
    get_ready(op, FS_OK);
    fs_persistent_start(&op->persistent, &op->request, &op->buffers.call,
                        note_end);
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
    bool          all_done = request->untouched || fs_buffers_are_free(status);
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
        fs_wrapper_count_outcome(op->comm, &request->outcome, false);
    }
    if (op->persistent.comm != NULL) {
        fs_net_lock(op->comm->wrapper->net);
        fs_persistent_give_stats(&op->persistent, op->comm->ours);
        pthread_mutex_unlock(&op->comm->wrapper->net->lock);
    } else if (all_done) {
        free_operation(op);
    }
    return rc;
}

void fs_wrapper_free_persistent(fs_operation_t *op)
{
    bool dead = op->persistent.comm->dead;

    fs_persistent_fini(&op->persistent);
    if (!dead) {
        free_operation(op);
    }
}
