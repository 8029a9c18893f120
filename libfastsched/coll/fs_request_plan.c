/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a request: made or recalled, agreed on, and kept. */
#include "coll/fs_request_state.h"

#include "base/fs_clock.h"
#include "sched/model/fs_topo.h"

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

fs_step_t fs_step_ask(fs_request_t *request)
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
    fs_step_trace(request, FS_TRACE_AGREE);
    status = fs_control_start_agree(comm->control, &mine);
    return status == FS_OK ? FS_STEP_AGREE : fs_step_lose(request, status);
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

fs_step_t fs_step_begin_with_plan(fs_request_t *request)
{
    fs_status_t status = get_ready_alone(request);

    request->outcome.decided_ns = request->outcome.entered_ns;
    fs_step_trace_decision(request);
    return status == FS_OK ? fs_step_run(request)
                           : fs_step_lose(request, status);
}

fs_step_t fs_step_take_plan(fs_request_t *request)
{
    bool alone = request->collective->vote == NULL && request->outcome.recalled;
    fs_status_t status = FS_OK;

    if (request->plans_only) {
        return fs_step_end(request, FS_OK);
    }
    if (alone) {
        status = get_ready_alone(request);
    }
    return status == FS_OK ? fs_step_run(request)
                           : fs_step_lose(request, status);
}

/* Keep a new plan for the next call with the same counts. What it needs has been
 * reserved. */
static void keep(fs_request_t *request, uint64_t size)
{
    fs_comm_t        *comm   = request->comm;
    fs_cached_plan_t *cached = request->plan;

    cached->key        = request->key;
    cached->counts_key = request->counts_key;
    cached->size       = size;
    cached->untuned    = request->untuned;
    cached->traffic    = request->outcome.traffic;
    cached->rest       = request->rest;
    cached->bound      = request->outcome.bound;
    cached->line       = request->outcome.line;
    cached->tuned      = request->outcome.tuned;
    fs_plan_cache_add(&comm->cache, comm->params.plan_cache, cached);
}

fs_step_t fs_step_compare_plans(fs_request_t *request)
{
    fs_comm_t       *comm   = request->comm;
    const fs_vote_t *all    = fs_control_vote(comm->control);
    fs_status_t      status = fs_step_progress_control(request);
    uint64_t         digest;

    if (status == FS_INPROGRESS) {
        return fs_step_go_on_early(request, FS_STEP_AGREE);
    }
    if (status != FS_OK) {
        return fs_step_lose(request, status);
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
        return fs_step_leave(request);
    }
    if (!request->outcome.recalled && !request->is_early &&
        !request->plans_only) {
        keep(request, all->max_inter);
    }
    return fs_step_take_plan(request);
}
