/* SPDX-License-Identifier: BSD-3-Clause */
/* A request begins before all ranks have entered: fs_early.c. */
#include "coll/fs_request_state.h"

#include "base/fs_clock.h"

enum { PATIENCE_NS = 50000000 };

static fs_status_t progress_early(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return fs_exec_lost_peer(comm->exec) == FS_NO_RANK
               ? fs_early_progress(comm->early, fs_now_ns())
               : FS_ERR_PEER;
}

fs_step_t fs_step_go_on_early(fs_request_t *request, fs_step_t step)
{
    fs_status_t status = request->is_early ? progress_early(request) : FS_OK;

    return status == FS_OK ? step : fs_step_lose(request, status);
}

bool fs_step_begins_early(const fs_request_t *request)
{
    const fs_comm_t *comm     = request->comm;
    bool             compares = fs_request_forecast(request)->explores &&
                    !fs_request_is_nonblocking(request) &&
                    comm->params.early != FS_EARLY_ON;

    return fs_comm_begins_early(comm) && !compares && !request->plans_only &&
           !request->again; /* it may have begun so before */
}

fs_step_t fs_step_begin_early(fs_request_t *request)
{
    fs_comm_t  *comm = request->comm;
    fs_vote_t   vote = {.max_inter = fs_request_own_bytes(request)};
    fs_status_t status;

    fs_step_trace(request, FS_TRACE_EARLY);
    request->is_early = true;
    ++comm->stats.early;
    fs_early_begin(comm->early, request->call, request->number,
                   comm->early_chunk,
                   fs_request_is_nonblocking(request) ? PATIENCE_NS : 0);
    status = fs_control_start_agree(comm->control, &vote);
    return status == FS_OK ? FS_STEP_EARLY : fs_step_lose(request, status);
}

fs_step_t fs_step_exchange_early(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = progress_early(request);

    if (status == FS_OK && request->outcome.gathered_ns == 0) {
        status = fs_step_progress_control(request);
        if (status == FS_OK) {
            request->outcome.gathered_ns = fs_now_ns();
            request->outcome.whole_inter =
                fs_control_vote(comm->control)->max_inter;
            fs_early_close(comm->early,
                           request->outcome.gathered_ns -
                               request->outcome.entered_ns,
                           comm->lull_ns);
            status = fs_early_progress(comm->early, fs_now_ns());
        }
    }
    if (status != FS_OK && status != FS_INPROGRESS) {
        return fs_step_lose(request, status);
    }
    if (request->outcome.gathered_ns == 0 ||
        !fs_early_is_settled(comm->early)) {
        return FS_STEP_EARLY;
    }
    request->call = fs_early_rest(comm->early);
    comm->stats.meta_bytes += fs_control_take_wire_bytes(comm->control);
    return fs_step_summarise(request);
}

fs_step_t fs_step_drain(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = progress_early(request);
    uint64_t    bytes;

    if (status != FS_OK) {
        return fs_step_lose(request, status);
    }
    /* Our last words tell senders that all has arrived. */
    if (!fs_early_is_over(comm->early) || comm->transport->n_grants_out > 0) {
        return FS_STEP_DRAIN;
    }
    bytes = fs_early_take_bytes(comm->early);
    comm->stats.early_bytes += bytes;
    if (comm->trace != NULL) {
        fs_trace_early(comm->trace, bytes);
    }
    return FS_STEP_DONE;
}
