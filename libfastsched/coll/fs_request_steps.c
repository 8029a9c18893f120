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
 * algorithm serves the call. A plan from the cache needs no agreement: what one
 * rank finds there all find.
 *
 * After an error of the network a rank gives the communicator up and notifies
 * its peers, which do the same: no rank waits for one that has given up.
 */
#include "coll/fs_request_steps.h"

#include "base/fs_arith.h"
#include "base/fs_clock.h"
#include "coll/fs_frame_request.h"
#include "coll/fs_request_watch.h"
#include "coll/fs_unbundle.h"
#include "comm/fs_params.h"
#include "sched/model/fs_topo.h"

#include <stdio.h>

enum { DRAIN_NS = 2000000000, LAST_NS = 500000000, PATIENCE_NS = 50000000 };

/* ---- ends ---- */

static fs_step_t end(fs_request_t *request, fs_status_t status)
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

/* The communicator is lost: set its error text and notify the peers. What a
 * program uses, its plan too, stays allocated: the network may still access
 * it. */
static fs_step_t lose(fs_request_t *request, fs_status_t status)
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

/* No data is where it should be: the native algorithm serves the call. If it cannot
 * use a rank's buffers on a device, or not any more, the call fails, as with
 * unequal counts; the communicator stays usable. */
static fs_step_t leave(fs_request_t *request)
{
    if (request->flags & (FS_FLAG_REFUSES | FS_FLAG_NO_NATIVE)) {
        snprintf(
            request->comm->error, sizeof(request->comm->error),
            "a rank's buffers are on a device, where the algorithm of this "
            "call cannot access them");
        return end(request, FS_ERR_UNSUPPORTED);
    }
    if (request->flags & FS_FLAG_NONBLOCKING) {
        snprintf(
            request->comm->error, sizeof(request->comm->error),
            "%s, and a nonblocking call cannot be left to the MPI any more",
            request->outcome.choice.reason);
        return end(request, FS_ERR_UNSUPPORTED);
    }
    return end(request, FS_OK);
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

/* ---- for the trace ---- */

static void enter(const fs_request_t *request, fs_trace_phase_t phase)
{
    if (request->comm->trace != NULL) {
        fs_trace_enter(request->comm->trace, phase);
    }
}

static void trace_decision(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    if (comm->trace != NULL) {
        fs_trace_decision(comm->trace, &request->outcome.choice,
                          request->outcome.traffic.inter_bytes,
                          request->outcome.bound);
    }
}

/* ---- control messages ---- */

/* FS_INPROGRESS until all votes are in. */
static fs_status_t progress_control(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return fs_exec_lost_peer(comm->exec) == FS_NO_RANK
               ? fs_control_progress(comm->control)
               : FS_ERR_PEER;
}

static fs_status_t progress_early(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return fs_exec_lost_peer(comm->exec) == FS_NO_RANK
               ? fs_early_progress(comm->early, fs_now_ns())
               : FS_ERR_PEER;
}

/* What goes early goes on in this step. */
static fs_step_t go_on_early(fs_request_t *request, fs_step_t step)
{
    fs_status_t status = request->is_early ? progress_early(request) : FS_OK;

    return status == FS_OK ? step : lose(request, status);
}

/* ---- plan ---- */

/* For a vote. */
uint64_t fs_request_consent(const fs_request_t *request)
{
    static const uint64_t flags[] = {
        [FS_CONSENT_YES]    = 0,
        [FS_CONSENT_NATIVE] = FS_FLAG_DECLINE,
        [FS_CONSENT_OURS]   = FS_FLAG_NO_NATIVE,
        [FS_CONSENT_NO]     = FS_FLAG_REFUSES | FS_FLAG_DECLINE,
    };

    return flags[request->call->device.consent];
}

/* Copies of the buffers, where they cannot be used as they are. */
fs_status_t fs_request_prepare(fs_request_t *request)
{
    const fs_call_t *call   = request->call;
    fs_status_t      status = FS_OK;

    if (call->device.consent == FS_CONSENT_NATIVE ||
        call->device.consent == FS_CONSENT_NO) {
        return FS_ERR_UNSUPPORTED; /* where no vote has told of it */
    }
    if (call->prepare != NULL && !request->is_prepared) {
        status               = call->prepare(call->owner);
        request->is_prepared = status == FS_OK;
        /* It has changed. Of a frame it is the first member's. */
        if (request->is_early && request->n_calls == 1) {
            request->call = fs_early_rest(request->comm->early);
        }
    }
    return status;
}

void fs_request_recall(fs_request_t *request)
{
    fs_comm_t *comm = request->comm;

    request->plan             = fs_plan_cache_find(&comm->cache, request->key);
    request->outcome.recalled = request->plan != NULL;
    comm->stats.cache_hits += request->outcome.recalled;
}

static fs_status_t make_plan(fs_request_t *request)
{
    fs_plan_t     *plan   = NULL;
    fs_schedule_t *lane   = NULL;
    fs_status_t    status = request->collective->plan(request, &plan, &lane);

    if (status == FS_OK) {
        request->plan = fs_cached_plan_create(plan);
        status        = request->plan == NULL ? FS_ERR_NOMEM : FS_OK;
    }
    if (status != FS_OK) {
        fs_plan_destroy(plan);
        fs_schedule_destroy(lane);
        return status;
    }
    request->plan->lane = lane;
    return FS_OK;
}

/* Everything that can fail on this rank alone. A plan that is recalled may
 * still have to be prepared for buffers like these. */
static fs_status_t get_ready(fs_request_t *request)
{
    const fs_call_t *call   = request->call;
    fs_status_t      status = request->plans_only ? FS_OK
                                                  : fs_request_prepare(request);

    if (status == FS_OK && !request->outcome.recalled) {
        status = make_plan(request);
    }
    return status != FS_OK || request->plans_only
               ? status
               : fs_exec_reserve(request->comm->exec, request->plan->plan,
                                 call);
}

/* Vote on the plan: all ranks must have one, with the same stages. The sum
 * of n equal digests is n times each of them. max_inter is the largest
 * plan's size. */
static fs_step_t ask(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_vote_t   mine   = {.flags = fs_request_consent(request)};
    fs_status_t status = get_ready(request);

    if (status == FS_OK) {
        mine.max_inter = fs_plan_cache_size(request->plan->plan);
        mine.sum[0]    = request->plan->plan->digest;
    } else {
        mine.flags |= FS_FLAG_DECLINE;
        fs_request_fini(request);
    }
    enter(request, FS_TRACE_AGREE);
    status = fs_control_start_agree(comm->control, &mine);
    return status == FS_OK ? FS_STEP_AGREE : lose(request, status);
}

static fs_step_t run(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = FS_OK;

    request->ran        = true;
    request->started_ns = fs_now_ns();
    if (request->is_early && !fs_request_is_nonblocking(request)) {
        comm->lull_ns = request->started_ns - request->outcome.gathered_ns;
    }
    enter(request, FS_TRACE_RUN);
    if (comm->trace != NULL && request->plan->lane != NULL) {
        fs_trace_planned(comm->trace, request->plan->lane);
    }
    if (request->flags & FS_VOTE_BUNDLED) {
        status = fs_unbundle(request);
    }
    if (status != FS_OK) {
        return lose(request, status);
    }
    fs_exec_start(comm->exec, request->plan->plan, request->call,
                  request->number, request->flags & FS_FLAG_CONFIRMS);
    return FS_STEP_RUN;
}

/* ---- begin ---- */

/* All ranks know how this call goes. It may not be left to the MPI. */
static fs_step_t begin_with_plan(fs_request_t *request)
{
    fs_status_t status = fs_request_prepare(request);

    request->outcome.decided_ns = request->outcome.entered_ns;
    trace_decision(request);
    return status == FS_OK ? run(request) : lose(request, status);
}

static fs_step_t summarise(fs_request_t *request)
{
    fs_comm_t             *comm       = request->comm;
    const fs_collective_t *collective = request->collective;
    bool                   uniform = collective->uniform && !request->is_early;
    fs_vote_t              vote;
    fs_status_t            status;

    enter(request, FS_TRACE_SUMMARY);
    request->offered = fs_control_offer(
        comm->control, request->call, collective->bundle_limit(request),
        fs_comm_predicts_coarse(comm),
        uniform ? request->call->counts->send_bytes[0] : 0);
    vote   = collective->vote(request);
    status = fs_control_start_summary(comm->control, &vote);
    return status == FS_OK ? FS_STEP_SUMMARY : lose(request, status);
}

/* ---- begin early ---- */

/* The same on all ranks. Where algorithms are to be compared it does not. */
static bool begins_early(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;
    bool compares = comm->explores && !fs_request_is_nonblocking(request) &&
                    comm->params.early != FS_EARLY_ON;

    return fs_comm_begins_early(comm) && !compares && !request->plans_only &&
           !request->again; /* it may have begun so before */
}

/* A round of votes says when all are here. */
static fs_step_t begin_early(fs_request_t *request)
{
    fs_comm_t  *comm = request->comm;
    fs_vote_t   vote = {.max_inter = fs_request_own_bytes(request)};
    fs_status_t status;

    enter(request, FS_TRACE_EARLY);
    request->is_early = true;
    ++comm->stats.early;
    fs_early_begin(comm->early, request->call, request->number,
                   comm->early_chunk,
                   fs_request_is_nonblocking(request) ? PATIENCE_NS : 0);
    status = fs_control_start_agree(comm->control, &vote);
    return status == FS_OK ? FS_STEP_EARLY : lose(request, status);
}

static fs_step_t exchange_early(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = progress_early(request);

    if (status == FS_OK && request->outcome.gathered_ns == 0) {
        status = progress_control(request);
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
        return lose(request, status);
    }
    if (request->outcome.gathered_ns == 0 ||
        !fs_early_is_settled(comm->early)) {
        return FS_STEP_EARLY;
    }
    request->call = fs_early_rest(comm->early);
    comm->stats.meta_bytes += fs_control_take_wire_bytes(comm->control);
    return summarise(request);
}

/* ---- conclude ---- */

/* The call is over. */
static fs_step_t finish(fs_request_t *request)
{
    if ((request->comm->params.verbose == 0 &&
         !fs_outcome_closes(&request->outcome)) ||
        fs_request_is_nonblocking(request)) {
        return end(request, FS_OK);
    }
    enter(request, FS_TRACE_REPORT);
    return FS_STEP_REPORT;
}

/* A plan that is recalled without a vote may have no memory yet where this call is, or
 * not any more: nobody else knows. */
static fs_status_t get_ready_alone(fs_request_t *request)
{
    fs_exec_t       *exec   = request->comm->exec;
    const fs_plan_t *plan   = request->plan->plan;
    fs_status_t      status = fs_request_prepare(request);

    return status != FS_OK || fs_exec_fits(exec, plan, request->call)
               ? status
               : fs_exec_reserve(exec, plan, request->call);
}

static fs_step_t take_plan(fs_request_t *request)
{
    bool alone = request->collective->vote == NULL && request->outcome.recalled;
    fs_status_t status = FS_OK;

    if (request->plans_only) {
        return end(request, FS_OK);
    }
    if (alone) {
        status = get_ready_alone(request);
    }
    return status == FS_OK ? run(request) : lose(request, status);
}

/* All blocks are in bundles: there is nothing to run. */
static fs_step_t take_bundles(fs_request_t *request)
{
    fs_comm_t          *comm    = request->comm;
    const fs_outcome_t *outcome = &request->outcome;
    fs_status_t         status;
    uint64_t            ended_ns;

    if (request->plans_only) {
        return end(request, FS_OK);
    }
    status = fs_unbundle(request);
    if (status != FS_OK) {
        return lose(request, status);
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

/* What has been decided. The executor keeps what it has reserved, so a recalled plan
 * can run at once. */
static fs_step_t act(fs_request_t *request)
{
    const fs_outcome_t *outcome = &request->outcome;

    trace_decision(request);
    if (outcome->status != FS_OK) { /* a blocking call finds out more */
        snprintf(request->comm->error, sizeof(request->comm->error), "%s",
                 outcome->choice.reason);
    }
    return outcome->status != FS_OK ? end(request, outcome->status)
           : outcome->choice.alg == FS_ALG_NATIVE  ? leave(request)
           : outcome->choice.alg == FS_ALG_EAGER   ? leave(request)
           : outcome->choice.alg == FS_ALG_BUNDLES ? take_bundles(request)
           : outcome->recalled && !(request->flags & FS_FLAG_PREPARES)
               ? take_plan(request)
               : ask(request);
}

static fs_step_t conclude(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = progress_control(request);

    if (status == FS_INPROGRESS) {
        return go_on_early(request, FS_STEP_SUMMARY);
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
        return lose(request, status);
    }
    request->flags = fs_control_vote(comm->control)->flags;
    if (request->flags & FS_FLAG_REFUSES) {
        return leave(request);
    }
    if (fs_frame_grows(request)) {
        return FS_STEP_BEGIN;
    }
    if (!fs_frame_pays(request)) {
        return end(request, FS_ERR_UNSUPPORTED);
    }
    enter(request, FS_TRACE_PLAN);
    request->outcome.summarised = true;
    request->collective->decide(request);
    return act(request);
}

/* ---- begin ---- */

/* All ranks know what all want. */
static fs_step_t decide_alone(fs_request_t *request)
{
    enter(request, FS_TRACE_PLAN);
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
           !request->plans_only && !comm->has_accel && !begins_early(request) &&
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
    trace_decision(request);
    return leave(request);
}

/* Ranks come apart: does it go eager? The same on all ranks. Not while the tuner waits
 * for the time of the last call. */
static bool goes_eager(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return comm->apart_eager.left > 0 && comm->may_be_eager &&
           !fs_request_is_nonblocking(request) && !request->plans_only &&
           comm->params.early != FS_EARLY_OFF && fs_comm_is_auto(comm) &&
           !comm->explores && !comm->last.question.closes &&
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
    trace_decision(request);
    return leave(request);
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
        return end(request, FS_ERR_TRANSPORT);
    }
    if (request->plan != NULL) {
        return begin_with_plan(request);
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
    return begins_early(request) ? begin_early(request) : summarise(request);
}

/* ---- agree ---- */

/* Keep a new plan for the next call with the same counts. What it needs has been
 * reserved. */
static void keep(fs_request_t *request, uint64_t size)
{
    fs_comm_t        *comm   = request->comm;
    fs_cached_plan_t *cached = request->plan;

    cached->key        = request->key;
    cached->counts_key = request->counts_key;
    cached->size       = size;
    cached->choice     = request->outcome.choice;
    cached->traffic    = request->outcome.traffic;
    cached->rest       = request->rest;
    cached->bound      = request->outcome.bound;
    cached->line       = request->outcome.line;
    cached->tuned      = request->outcome.tuned;
    fs_plan_cache_add(&comm->cache, comm->params.plan_cache, cached);
}

static fs_step_t compare_plans(fs_request_t *request)
{
    fs_comm_t       *comm   = request->comm;
    const fs_vote_t *all    = fs_control_vote(comm->control);
    fs_status_t      status = progress_control(request);
    uint64_t         digest;

    if (status == FS_INPROGRESS) {
        return go_on_early(request, FS_STEP_AGREE);
    }
    if (status != FS_OK) {
        return lose(request, status);
    }
    if (request->collective->vote == NULL) {
        request->outcome.gathered_ns = fs_now_ns(); /* all have entered */
    }
    request->flags |= all->flags & (FS_FLAG_REFUSES | FS_FLAG_NO_NATIVE);
    digest = request->plan != NULL ? request->plan->plan->digest : 0;
    if (all->flags & FS_FLAG_DECLINE ||
        all->sum[0] != digest * comm->topo->n_ranks) {
        request->outcome.choice.alg    = FS_ALG_NATIVE;
        request->outcome.choice.reason = "a rank could not plan";
        request->outcome.reduced_bytes = 0; /* not this algorithm's time */
        fs_replan_clear(&comm->replan); /* not equal on all ranks any more */
        return leave(request);
    }
    if (!request->outcome.recalled && !request->is_early &&
        !request->plans_only) {
        keep(request, all->max_inter);
    }
    return take_plan(request);
}

/* ---- run ---- */

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

static fs_step_t execute(fs_request_t *request)
{
    fs_status_t status = run_on(request);

    if (status == FS_INPROGRESS) {
        return go_on_early(request, FS_STEP_RUN);
    }
    if (status != FS_OK) {
        return lose(request, status);
    }
    count(request, fs_now_ns());
    return finish(request);
}

/* ---- how long it took the slowest rank ---- */

static fs_step_t report(fs_request_t *request)
{
    uint64_t    now_ns = fs_now_ns();
    fs_vote_t   time   = {.max_ns = now_ns - request->outcome.entered_ns};
    fs_status_t status = fs_control_start_agree(
        request->comm->control,
        request->report != NULL ? request->report : &time);

    request->outcome.ended_ns = now_ns;
    return status == FS_OK ? FS_STEP_SLOWEST : lose(request, status);
}

static fs_step_t collect_times(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = progress_control(request);

    if (status == FS_INPROGRESS) {
        return FS_STEP_SLOWEST;
    }
    if (status != FS_OK) {
        return lose(request, status);
    }
    request->outcome.slowest_ns = fs_control_vote(comm->control)->max_ns;
    if (fs_outcome_closes(&request->outcome)) {
        fs_last_call_close(&comm->last, &request->outcome,
                           request->outcome.ended_ns, fs_now_ns());
    }
    return end(request, FS_OK);
}

/* ---- the end of what has begun early ---- */

static fs_step_t drain(fs_request_t *request)
{
    fs_comm_t  *comm   = request->comm;
    fs_status_t status = progress_early(request);
    uint64_t    bytes;

    if (status != FS_OK) {
        return lose(request, status);
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

/* ---- after an error ---- */

/* Wait until the messages that we have given up are sent, and the network has given
 * up the buffers, for a short time. */
static fs_step_t notify_peers(fs_request_t *request)
{
    const fs_comm_t *comm  = request->comm;
    bool             waits = comm->transport->n_grants_out > 0 ||
                 (request->is_early && !fs_early_is_quiet(comm->early));

    return waits && fs_now_ns() < request->deadline_ns ? FS_STEP_LAST
                                                       : FS_STEP_DONE;
}

/* ---- step by step ---- */

/* Each returns the next step. */
static fs_step_t (*const steps[])(fs_request_t *request) = {
    [FS_STEP_BEGIN] = begin,           [FS_STEP_EARLY] = exchange_early,
    [FS_STEP_SUMMARY] = conclude,      [FS_STEP_AGREE] = compare_plans,
    [FS_STEP_RUN] = execute,           [FS_STEP_REPORT] = report,
    [FS_STEP_SLOWEST] = collect_times, [FS_STEP_DRAIN] = drain,
    [FS_STEP_LAST] = notify_peers,
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
        request->step = lose(request, FS_ERR_STALLED);
    }
}
