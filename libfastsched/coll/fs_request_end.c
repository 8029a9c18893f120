/* SPDX-License-Identifier: BSD-3-Clause */
/* How a request ends: well, left to the MPI, or with the communicator. */
#include "coll/fs_request_state.h"

#include "base/fs_clock.h"
#include "coll/fs_request_watch.h"

#include <stdio.h>

enum { LAST_NS = 500000000 };

fs_step_t fs_step_end(fs_request_t *request, fs_status_t status)
{
    request->status = status;
    return request->is_early ? FS_STEP_DRAIN : FS_STEP_DONE;
}

/* Under the net's lock. What follows is step LAST. */
static void give_up(fs_request_t *request, fs_status_t status,
                    const char *where)
{
    fs_comm_t *comm = request->comm;

    fs_request_explain(request, status, where, comm->error,
                       sizeof(comm->error));
    comm->dead      = true;
    comm->net->lost = true;
    fs_exec_give_up(comm->exec);
    request->status      = status;
    request->deadline_ns = fs_now_ns() + LAST_NS;
}

fs_step_t fs_step_lose(fs_request_t *request, fs_status_t status)
{
    static const char *const where[] = {
        [FS_STEP_BEGIN]   = "start of the call",
        [FS_STEP_EARLY]   = "exchange before all ranks have entered",
        [FS_STEP_SUMMARY] = "summary exchange",
        [FS_STEP_AGREE]   = "agreement on the plan",
        [FS_STEP_RUN]     = "exchange",
        [FS_STEP_REPORT]  = "exchange of times",
        [FS_STEP_SLOWEST] = "exchange of times",
        [FS_STEP_DRAIN]   = "end of what has begun early",
    };
    fs_comm_t *comm = request->comm;

    give_up(request, status, where[request->step]);
    if (request->is_early) {
        fs_early_give_up(comm->early);
    }
    if (request->step == FS_STEP_RUN) {
        comm->lost_plan = request->plan;
        request->plan   = NULL;
    }
    return FS_STEP_LAST;
}

fs_step_t fs_step_leave(fs_request_t *request)
{
    if (request->flags & (FS_FLAG_REFUSES | FS_FLAG_NO_NATIVE)) {
        snprintf(request->comm->error, sizeof(request->comm->error),
                 "a rank cannot use its buffers in this call, because they are "
                 "on a device or for the reason that it gives");
        return fs_step_end(request, FS_ERR_UNSUPPORTED);
    }
    if (request->flags & FS_FLAG_NONBLOCKING) {
        snprintf(
            request->comm->error, sizeof(request->comm->error),
            "%s, and a nonblocking call cannot be left to the MPI any more",
            request->outcome.choice.reason);
        return fs_step_end(request, FS_ERR_UNSUPPORTED);
    }
    return fs_step_end(request, FS_OK);
}

fs_status_t fs_request_give_up(fs_request_t *request, fs_status_t status)
{
    fs_net_t *net = request->comm->net;

    fs_net_lock(net);
    give_up(request, status, "exchange by the MPI's own messages");
    pthread_mutex_unlock(&net->lock);
    fs_request_post(request, FS_STEP_LAST);
    return fs_request_wait(request);
}

fs_step_t fs_step_notify_peers(fs_request_t *request)
{
    const fs_comm_t *comm  = request->comm;
    bool             waits = comm->transport->n_grants_out > 0 ||
                 (request->is_early && !fs_early_is_quiet(comm->early));

    return waits && fs_now_ns() < request->deadline_ns ? FS_STEP_LAST
                                                       : FS_STEP_DONE;
}
