/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One communicator: its blocking MPI_Alltoallv is a request that is posted and
 * waited for, unless small calls in a row let it go to the native algorithm unasked
 * (fs_backoff.h).
 */
#include "comm/fs_comm.h"

#include "base/fs_clock.h"
#include "coll/fs_request.h"
#include "sched/model/fs_topo.h"

bool fs_coll_active(const fs_coll_t *coll)
{
    return coll->params.check || coll->params.verbose > 0 ||
           (coll->topo->n_servers > 1 &&
            coll->params.algorithm != FS_ALGORITHM_OFF);
}

const fs_topo_t *fs_coll_topo(const fs_coll_t *coll)
{
    return coll->topo;
}

unsigned fs_coll_mem_kinds(const fs_coll_t *coll)
{
    fs_accel_direct_t direct = coll->params.accel_direct;

    return coll->net == NULL || direct == FS_ACCEL_DIRECT_NEVER ||
                   (direct == FS_ACCEL_DIRECT_AUTO && !coll->net->rdma)
               ? 0
               : coll->net->mem_kinds;
}

/* To the host's algorithm, and why. */
fs_choice_t fs_coll_leave(const char *reason)
{
    return (fs_choice_t){FS_ALG_HOST, false, reason};
}

static bool is_lost(const fs_coll_t *coll)
{
    return coll->dead ||
           (coll->exec != NULL && fs_exec_lost_peer(coll->exec) != FS_NO_RANK);
}

bool fs_coll_skip(fs_coll_t *coll, const fs_counts_t *counts)
{
    if (is_lost(coll) || !fs_quiet_skips(&coll->quiet, counts->sent_bytes)) {
        return false;
    }
    coll->outcome =
        (fs_outcome_t){.entered_ns = fs_now_ns(),
                       .choice     = fs_coll_leave("summary skipped, parameter skip")};
    ++coll->stats.calls;
    ++coll->stats.skipped;
    return true;
}

static fs_status_t check(fs_coll_t *coll, const fs_call_t *call)
{
    if (!coll->params.check) {
        return FS_OK;
    }
    if (coll->trace != NULL) {
        fs_trace_enter(coll->trace, FS_TRACE_CHECK);
    }
    return fs_coll_check_counts(coll, call);
}

/* Why no request is needed; NULL: one is. */
static const char *why_native(const fs_coll_t *coll)
{
    return coll->topo->n_servers < 2                    ? "one server"
           : coll->params.algorithm == FS_ALGORITHM_OFF ? "algorithm is off"
                                                        : NULL;
}

/* After an error of the network the plan is in use for good. */
static fs_status_t serve(fs_request_t *request)
{
    fs_coll_t  *coll   = request->coll;
    fs_status_t status = check(coll, request->call);
    const char *why    = why_native(coll);

    if (status != FS_OK) {
        return status;
    }
    if (why != NULL) {
        request->outcome.choice = fs_coll_leave(why);
        return FS_OK;
    }
    fs_request_post(request, FS_STEP_BEGIN);
    return fs_request_wait(request);
}

fs_status_t fs_coll_alltoallv(fs_coll_t *coll, const fs_call_t *call, bool *ran)
{
    fs_request_t request;
    fs_status_t  status;

    *ran = false;
    if (coll->dead) {
        return FS_ERR_TRANSPORT;
    }
    ++coll->stats.calls;
    fs_request_init(&request, coll, &fs_alltoallv, call);
    if (coll->trace != NULL) {
        fs_trace_begin(coll->trace, coll->stats.calls);
    }
    status        = serve(&request);
    *ran          = request.ran;
    coll->outcome = request.outcome;
    if (coll->trace != NULL) {
        fs_trace_end(coll->trace, status);
    }
    if (coll->dead) {
        fs_coll_write_trace(coll); /* there may be no later */
    } else {
        fs_request_fini(&request);
    }
    return status;
}

/* How long did it take the slowest rank? */
static fs_status_t find_slowest(fs_coll_t *coll, uint64_t now_ns)
{
    fs_request_t request;
    fs_status_t  status;

    coll->outcome.slowest_ns = now_ns - coll->outcome.entered_ns;
    if (coll->meta == NULL) {
        return FS_OK;
    }
    fs_request_init(&request, coll, &fs_alltoallv, NULL);
    request.outcome = coll->outcome;
    fs_request_post(&request, FS_STEP_REPORT);
    status        = fs_request_wait(&request);
    coll->outcome = request.outcome;
    return status;
}

fs_status_t fs_coll_host_done(fs_coll_t *coll)
{
    const fs_outcome_t *outcome = &coll->outcome;
    uint64_t            now_ns  = fs_now_ns();

    if (outcome->question.turn == FS_GUARD_LOOK) {
        coll->last = (fs_last_call_t){
            .question   = outcome->question,
            .run        = {.ns = now_ns - outcome->decided_ns},
            .summary_ns = outcome->decided_ns - outcome->entered_ns};
    }
    return coll->params.verbose > 0 ? find_slowest(coll, now_ns) : FS_OK;
}
