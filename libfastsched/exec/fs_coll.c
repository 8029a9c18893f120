/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One communicator: its blocking MPI_Alltoallv is a request that is posted and
 * waited for, unless small calls in a row let it go to the native algorithm unasked
 * (fs_quiet.h).
 */
#include "exec/fs_coll.h"

#include "exec/fs_clock.h"
#include "sched/fs_topo.h"

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

static fs_request_t *begin(fs_coll_t *coll, const fs_call_t *call)
{
    ++coll->stats.calls;
    fs_request_init(&coll->request, coll, &fs_alltoallv, call);
    return &coll->request;
}

bool fs_coll_skip(fs_coll_t *coll, const fs_counts_t *counts)
{
    if (is_lost(coll) || !fs_quiet_skips(&coll->quiet, counts->sent_bytes)) {
        return false;
    }
    begin(coll, NULL)->choice = fs_coll_leave("not asked, see skip");
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

static fs_status_t alltoallv(fs_coll_t *coll, const fs_call_t *call, bool *ran)
{
    fs_request_t *request = begin(coll, call);
    fs_status_t   status  = check(coll, call);

    *ran = false;
    if (status != FS_OK) {
        return status;
    }
    if (coll->topo->n_servers < 2 ||
        coll->params.algorithm == FS_ALGORITHM_OFF) {
        request->choice = fs_coll_leave(
            coll->topo->n_servers < 2 ? "one server" : "algorithm is off");
        return FS_OK;
    }
    fs_request_post(request, FS_STEP_BEGIN);
    status = fs_request_wait(request);
    *ran   = request->ran;
    return status;
}

fs_status_t fs_coll_alltoallv(fs_coll_t *coll, const fs_call_t *call, bool *ran)
{
    fs_status_t status;

    *ran = false;
    if (coll->dead) {
        return FS_ERR_TRANSPORT;
    }
    if (coll->trace != NULL) {
        fs_trace_begin(coll->trace, coll->stats.calls + 1);
    }
    status = alltoallv(coll, call, ran);
    if (coll->trace != NULL) {
        fs_trace_end(coll->trace, status);
    }
    if (coll->dead) {
        fs_coll_write_trace(coll); /* there may be no later */
    } else {
        fs_request_fini(&coll->request);
    }
    return status;
}

fs_status_t fs_coll_host_done(fs_coll_t *coll)
{
    fs_request_t *request = &coll->request;
    uint64_t      now     = fs_now_ns();

    if (request->question.turn == FS_GUARD_LOOK) {
        coll->last = (fs_last_call_t){.question = request->question,
                                      .run = {.ns = now - request->decided_ns},
                                      .summary_ns = request->decided_ns -
                                                    request->entered_ns};
    }
    if (coll->params.verbose == 0) {
        return FS_OK;
    }
    request->slowest_ns = now - request->entered_ns;
    if (coll->meta == NULL) {
        return FS_OK;
    }
    fs_request_post(request, FS_STEP_REPORT);
    return fs_request_wait(request);
}
