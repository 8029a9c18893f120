/* SPDX-License-Identifier: BSD-3-Clause */
/* A request moves its bytes, and the ranks learn how long that took. */
#include "coll/fs_request_state.h"

#include "base/fs_arith.h"
#include "base/fs_clock.h"
#include "coll/fs_unbundle.h"
#include "sched/model/fs_topo.h"

enum { DRAIN_NS = 2000000000 };

fs_step_t fs_step_run(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = FS_OK;

    request->ran        = true;
    request->started_ns = fs_now_ns();
    if (request->is_early && !fs_request_is_nonblocking(request)) {
        comm->lull_ns = request->started_ns - request->outcome.gathered_ns;
    }
    fs_step_trace(request, FS_TRACE_RUN);
    if (comm->trace != NULL && request->plan->lane != NULL) {
        fs_trace_planned(comm->trace, request->plan->lane);
    }
    if (request->flags & FS_VOTE_BUNDLED) {
        status = fs_unbundle(request);
    }
    if (status != FS_OK) {
        return fs_step_lose(request, status);
    }
    fs_exec_start(comm->exec, request->plan->plan, request->call,
                  request->number, request->flags & FS_FLAG_CONFIRMS);
    return FS_STEP_RUN;
}

/* The call is over. */
static fs_step_t finish(fs_request_t *request)
{
    if ((request->comm->params.verbose == 0 &&
         !fs_outcome_closes(&request->outcome)) ||
        fs_request_is_nonblocking(request)) {
        return fs_step_end(request, FS_OK);
    }
    fs_step_trace(request, FS_TRACE_REPORT);
    return FS_STEP_REPORT;
}

fs_step_t fs_step_take_bundles(fs_request_t *request)
{
    fs_comm_t          *comm    = request->comm;
    const fs_outcome_t *outcome = &request->outcome;
    fs_status_t         status;
    uint64_t            ended_ns;

    if (request->plans_only) {
        return fs_step_end(request, FS_OK);
    }
    status = fs_unbundle(request);
    if (status != FS_OK) {
        return fs_step_lose(request, status);
    }
    request->ran = true;
    ended_ns     = fs_now_ns();
    comm->stats.calls_by[FS_ALG_BUNDLES] += request->n_calls;
    comm->stats.inter_bytes += outcome->traffic.inter_bytes;
    comm->last =
        fs_last_call_of(outcome, fs_request_is_nonblocking(request),
                        (fs_timed_run_t){.ns = ended_ns - outcome->decided_ns});
    if (!comm->last.is_nonblocking) {
        comm->stats.run_ns += comm->last.run.ns;
        fs_comm_count(comm, outcome, ended_ns);
    }
    return finish(request);
}

/* After an error, give the network some time to release the buffers. */
static fs_status_t run_on(fs_request_t *request)
{
    fs_exec_t  *exec   = request->comm->exec;
    fs_status_t status = fs_exec_progress(exec), error = fs_exec_error(exec);

    if (status != FS_INPROGRESS || error == FS_OK) {
        return status;
    }
    if (request->deadline_ns == 0) {
        request->deadline_ns = fs_now_ns() + DRAIN_NS;
    }
    return fs_now_ns() < request->deadline_ns ? FS_INPROGRESS : error;
}

static void count(fs_request_t *request, uint64_t ended_ns)
{
    fs_comm_t       *comm  = request->comm;
    fs_comm_stats_t *stats = &comm->stats;
    const fs_plan_t *plan  = request->plan->plan;
    fs_timed_run_t   timed;

    stats->calls_by[plan->alg] += request->n_calls;
    stats->inter_bytes += request->outcome.traffic.inter_bytes;
    stats->moved_bytes += plan->moved_gather + plan->moved_redist;
    stats->peak_staging = fs_u64_max(stats->peak_staging, plan->staging_bytes);
    stats->peak_senders = fs_exec_peak_senders(comm->exec);
    stats->copy_ns      = fs_exec_copy_ns(comm->exec);
    request->outcome.plan_ns = request->outcome.plan_lasts
                                   ? request->started_ns -
                                         request->outcome.decided_ns
                                   : 0;
    /* Without stages the busiest server has about one round for each other
     * one. */
    request->outcome.decompose = plan->decompose;
    request->outcome.n_stages  = plan->n_stages;
    if (!fs_request_is_nonblocking(request)) {
        fs_comm_count(comm, &request->outcome, ended_ns);
    }
    if (request->collective->vote == NULL) {
        return; /* a summary told nobody when it began */
    }
    timed      = (fs_timed_run_t){plan->total_per_lane,
                             plan->n_stages > 0 ? plan->n_stages
                                                     : comm->topo->n_servers - 1,
                                  ended_ns - request->outcome.decided_ns};
    comm->last = fs_last_call_of(&request->outcome,
                                 fs_request_is_nonblocking(request), timed);
    if (!comm->last.is_nonblocking) {
        stats->plan_ns += request->started_ns - request->outcome.decided_ns;
        stats->run_ns += ended_ns - request->started_ns;
    }
}

fs_step_t fs_step_execute(fs_request_t *request)
{
    fs_status_t status = run_on(request);

    if (status == FS_INPROGRESS) {
        return fs_step_go_on_early(request, FS_STEP_RUN);
    }
    if (status != FS_OK) {
        return fs_step_lose(request, status);
    }
    count(request, fs_now_ns());
    return finish(request);
}

fs_step_t fs_step_report(fs_request_t *request)
{
    uint64_t    now_ns = fs_now_ns();
    fs_vote_t   time   = {.max_ns = now_ns - request->outcome.entered_ns};
    fs_status_t status = fs_control_start_agree(
        request->comm->control,
        request->report != NULL ? request->report : &time);

    request->outcome.ended_ns = now_ns;
    return status == FS_OK ? FS_STEP_SLOWEST : fs_step_lose(request, status);
}

fs_step_t fs_step_collect_times(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = fs_step_progress_control(request);

    if (status == FS_INPROGRESS) {
        return FS_STEP_SLOWEST;
    }
    if (status != FS_OK) {
        return fs_step_lose(request, status);
    }
    request->outcome.slowest_ns = fs_control_vote(comm->control)->max_ns;
    if (fs_outcome_closes(&request->outcome)) {
        fs_last_call_close(&comm->last, &request->outcome,
                           request->outcome.ended_ns, fs_now_ns());
    }
    return fs_step_end(request, FS_OK);
}
