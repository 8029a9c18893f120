/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   EARLY     if ranks come apart: begin     fs_early.c
 *   BEGIN     send our control message       fs_control.c
 *             or, if all ranks know all,     the collective
 *             decide as in SUMMARY
 *             or leave it to the MPI unseen  fs_unseen.c
 *   SUMMARY   all are here: decide           the collective
 *             copy out what is in bundles    fs_unbundle.c
 *             plan, or recall a plan         the collective, fs_plan_cache.c
 *   AGREE     all ranks have equal plans     fs_control.c
 *   RUN       the program                    fs_exec.c
 *
 * Up to AGREE any rank may be unable to go on; then no rank does, and the native
 * algorithm serves the call (but not a persistent one, nor one that has gone eager
 * or whose plan is recalled without a vote: there it is as an error of the
 * network). A plan from the cache needs no agreement: what one rank finds there all
 * find.
 *
 * After an error of the network a rank gives the communicator up and notifies
 * its peers, which do the same: no rank waits for one that has given up.
 */
#include "coll/fs_request_steps.h"

#include "base/fs_clock.h"
#include "coll/fs_frame_request.h"
#include "coll/fs_request_state.h"
#include "coll/fs_request_watch.h"

#include <stdio.h>

/* ---- control messages ---- */

fs_status_t fs_step_progress_control(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return fs_exec_lost_peer(comm->exec) == FS_NO_RANK
               ? fs_control_progress(comm->control)
               : FS_ERR_PEER;
}

fs_step_t fs_step_summarise(fs_request_t *request)
{
    fs_comm_t             *comm       = request->comm;
    const fs_collective_t *collective = request->collective;
    bool                   uniform = collective->uniform && !request->is_early;
    fs_vote_t              vote;
    fs_status_t            status;

    fs_step_trace(request, FS_TRACE_SUMMARY);
    request->offered = fs_control_offer(
        comm->control, request->call, collective->bundle_limit(request),
        fs_request_is_coarse(request),
        uniform ? request->call->counts->send_bytes[0] : 0);
    vote   = collective->vote(request);
    status = fs_control_start_summary(comm->control, &vote);
    return status == FS_OK ? FS_STEP_SUMMARY : fs_step_lose(request, status);
}

/* ---- conclude ---- */

/* What has been decided. The executor keeps what it has reserved, so a recalled plan
 * can run at once. */
static fs_step_t act(fs_request_t *request)
{
    const fs_outcome_t *outcome = &request->outcome;

    fs_step_trace_decision(request);
    if (outcome->status != FS_OK) { /* a blocking call finds out more */
        snprintf(request->comm->error, sizeof(request->comm->error), "%s",
                 outcome->choice.reason);
    }
    return outcome->status != FS_OK ? fs_step_end(request, outcome->status)
           : outcome->choice.alg == FS_ALG_NATIVE ? fs_step_leave(request)
           : outcome->choice.alg == FS_ALG_EAGER  ? fs_step_leave(request)
           : outcome->choice.alg == FS_ALG_BUNDLES
               ? fs_step_take_bundles(request)
           : outcome->recalled && !(request->flags & FS_FLAG_PREPARES)
               ? fs_step_take_plan(request)
               : fs_step_ask(request);
}

static fs_step_t conclude(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = fs_step_progress_control(request);

    if (status == FS_INPROGRESS) {
        return fs_step_go_on_early(request, FS_STEP_SUMMARY);
    }
    request->outcome.decided_ns = fs_now_ns();
    /* In a nonblocking call the program's own time is in it. */
    if (!fs_request_is_nonblocking(request)) {
        comm->stats.summary_ns += request->outcome.decided_ns -
                                  request->outcome.entered_ns;
        comm->stats.waited_ns += fs_outcome_waited_ns(&request->outcome);
    }
    comm->stats.meta_bytes += fs_control_take_wire_bytes(comm->control);
    if (status != FS_OK) {
        return fs_step_lose(request, status);
    }
    request->flags = fs_control_vote(comm->control)->flags;
    if (request->flags & FS_FLAG_REFUSES) {
        return fs_step_leave(request);
    }
    if (fs_frame_grows(request)) {
        return FS_STEP_BEGIN;
    }
    if (!fs_frame_pays(request)) {
        return fs_step_end(request, FS_ERR_UNSUPPORTED);
    }
    fs_step_trace(request, FS_TRACE_PLAN);
    request->outcome.summarised = true;
    request->collective->decide(request);
    return act(request);
}

/* ---- begin ---- */

/* All ranks know what all want. */
static fs_step_t decide_alone(fs_request_t *request)
{
    fs_step_trace(request, FS_TRACE_PLAN);
    request->outcome.decided_ns = request->outcome.entered_ns;
    request->collective->decide(request);
    return act(request);
}

/* Is it left to the MPI without a summary? The same on all ranks: the MPI can access the
 * buffers of all where there are no accelerators. */
static bool goes_unseen(fs_request_t *request)
{
    fs_comm_t *comm = request->comm;

    return comm->unseen.left > 0 && !fs_request_is_nonblocking(request) &&
           !request->plans_only && !comm->has_accel &&
           !fs_step_begins_early(request) &&
           fs_unseen_take(&comm->unseen, request->collective->tuned,
                          fs_request_own_bytes(request));
}

static fs_step_t leave_unseen(fs_request_t *request)
{
    request->outcome.decided_ns = request->outcome.entered_ns;
    request->outcome.choice =
        fs_comm_leave("faster according to the tuner, without a look");
    if (request->comm->unseen.served == FS_CANDIDATE_EAGER) {
        request->outcome.choice.alg = FS_ALG_EAGER;
    }
    fs_step_trace_decision(request);
    return fs_step_leave(request);
}

/* Ranks come apart: does it go eager? The same on all ranks. Not while the tuner waits
 * for the time of the last call. */
static bool goes_eager(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return comm->apart_eager.left > 0 && comm->may_be_eager &&
           !fs_request_is_nonblocking(request) && !request->plans_only &&
           comm->params.early != FS_EARLY_OFF && fs_comm_is_auto(comm) &&
           !fs_request_forecast(request)->explores &&
           !comm->last.question.closes &&
           request->collective->tuned == comm->seen;
}

/* A rank that notices that this call is not like those that were seen will say so. */
static fs_step_t go_eager(fs_request_t *request)
{
    fs_comm_t *comm = request->comm;

    comm->unseen.unlike |=
        !fs_u64_is_like(fs_request_own_bytes(request), comm->seen_bytes);
    request->outcome.timed      = fs_apart_eager_take(&comm->apart_eager);
    request->outcome.decided_ns = request->outcome.entered_ns;
    request->outcome.choice =
        (fs_choice_t){FS_ALG_EAGER, false, "ranks come apart, without a look"};
    fs_step_trace_decision(request);
    return fs_step_leave(request);
}

/* The first in the queue, which it has not been before. */
static void enter_queued(fs_request_t *request)
{
    fs_trace_t *trace = request->comm->trace;

    request->outcome.entered_ns = fs_now_ns();
    if (trace != NULL) {
        fs_trace_begin(trace, request->call_number);
    }
}

static fs_step_t begin(fs_request_t *request)
{
    fs_comm_t *comm = request->comm;

    if (fs_request_is_nonblocking(request) && !request->again) {
        enter_queued(request);
    }
    if (comm->dead) {
        request->untouched = true;
        return fs_step_end(request, FS_ERR_TRANSPORT);
    }
    if (request->plan != NULL) {
        return fs_step_begin_with_plan(request);
    }
    if (request->collective->vote == NULL) {
        return decide_alone(request);
    }
    if (goes_eager(request)) {
        return go_eager(request);
    }
    if (goes_unseen(request)) {
        return leave_unseen(request);
    }
    comm->seen       = request->collective->tuned;
    comm->seen_bytes = fs_request_own_bytes(request);
    return fs_step_begins_early(request) ? fs_step_begin_early(request)
                                         : fs_step_summarise(request);
}

/* ---- step by step ---- */

/* Each returns the next step. */
static fs_step_t (*const steps[])(fs_request_t *request) = {
    [FS_STEP_BEGIN]   = begin,
    [FS_STEP_EARLY]   = fs_step_exchange_early,
    [FS_STEP_SUMMARY] = conclude,
    [FS_STEP_AGREE]   = fs_step_compare_plans,
    [FS_STEP_RUN]     = fs_step_execute,
    [FS_STEP_REPORT]  = fs_step_report,
    [FS_STEP_SLOWEST] = fs_step_collect_times,
    [FS_STEP_DRAIN]   = fs_step_drain,
    [FS_STEP_LAST]    = fs_step_notify_peers,
};

/* Nobody may wait for a nonblocking call. */
static bool is_watched(const fs_request_t *request)
{
    return !fs_request_is_nonblocking(request) || request->comm->is_awaited;
}

void fs_request_move(fs_request_t *request, bool check_clock)
{
    fs_step_t before;

    do {
        before        = request->step;
        request->step = steps[before](request);
        if (request->step != before) {
            fs_request_watch_start(request);
        }
    } while (request->step != before && request->step != FS_STEP_DONE &&
             request->step != FS_STEP_BEGIN);
    if (check_clock && is_watched(request) && request->step < FS_STEP_LAST &&
        fs_request_watch(request) != FS_INPROGRESS) {
        request->step = fs_step_lose(request, FS_ERR_STALLED);
    }
}
