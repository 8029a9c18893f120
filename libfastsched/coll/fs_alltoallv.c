/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoallv: the vote of each rank in the summary, what all conclude from
 * the votes, and the plan that follows.
 *
 *   select    an algorithm, by size and skew            fs_select.c
 *   recall    the plan of a call with the same counts   fs_plan_cache.c
 *   tuner     the native algorithm where it is faster   fs_tuner.c
 *
 * Conclusions depend only on the summary and on earlier conclusions, so they
 * are the same on every rank.
 */
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "comm/fs_params.h"
#include "coll/fs_request.h"
#include "sched/model/fs_topo.h"
#include "sched/plan/fs_plan.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t consent_flags[] = {
    [FS_CONSENT_YES]    = 0,
    [FS_CONSENT_NATIVE] = FS_FLAG_DECLINE,
    [FS_CONSENT_OURS]   = FS_FLAG_NO_NATIVE,
    [FS_CONSENT_NO]     = FS_FLAG_REFUSES,
};

/* A forced algorithm has no bundles, and bypasses the tuner. */
static bool is_auto(const fs_comm_t *comm)
{
    return comm->params.algorithm == FS_ALGORITHM_AUTO;
}

static uint64_t bundle_limit(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return is_auto(comm) || comm->params.algorithm == FS_ALG_BUNDLES
               ? UINT64_MAX
               : 0;
}

static fs_vote_t make_vote(const fs_request_t *request)
{
    const fs_comm_t   *comm   = request->comm;
    const fs_call_t   *call   = request->call;
    const fs_counts_t *counts = call->counts;
    /* A plan depends on the counts, on which ranks have to pack and on what is
     * in bundles: sum[0] is the key of all. There is no rank n_ranks, so no
     * count has this digest. */
    uint64_t  layout = fs_digest_pair(comm->rank, comm->topo->n_ranks,
                                      (uint64_t)fs_call_sends_packed(call) << 1 |
                                          fs_call_receives_packed(call));
    fs_vote_t vote   = {
          .max_inter = fs_u64_max(counts->sent_inter, counts->received_inter),
          .max_ns    = comm->last.run.ns,
          .min_ns    = comm->last.summary_ns,
          .sum       = {counts->send_digest + layout + request->offered,
                        counts->received_digest + layout + request->offered}};

    vote.flags |= call->prepare != NULL || !fs_exec_fits(comm->exec, call)
                      ? FS_FLAG_PREPARES
                      : 0;
    vote.flags |= consent_flags[call->device.consent];
    vote.flags |= comm->net->local_arrives ? 0 : FS_FLAG_CONFIRMS;
    return vote;
}

/* ---- what all conclude ---- */

/* Bytes between servers and their sums. False: too many. */
static bool sum_traffic(const fs_comm_t *comm, uint64_t *bytes,
                        uint64_t max_inter, fs_traffic_t *traffic)
{
    *traffic = (fs_traffic_t){.n_servers = comm->topo->n_servers,
                              .bytes     = bytes,
                              .max_inter = max_inter};
    return fs_traffic_sum(traffic) == FS_OK;
}

/* Where some pairs are in bundles the native algorithm would do the whole call
 * again: min_bytes is not for the rest of it. */
static fs_choice_t choose(const fs_request_t *request)
{
    const fs_comm_t *comm   = request->comm;
    fs_plan_params_t params = fs_params_plan(&comm->params);
    uint64_t         all    = request->outcome.traffic.inter_bytes;

    if (!(request->flags & FS_VOTE_REST)) {
        return (fs_choice_t){FS_ALG_BUNDLES, false, "small"};
    }
    if (request->rest.inter_bytes == 0 && all > 0) {
        return (fs_choice_t){FS_ALG_DIRECT, false,
                             "small between servers, the rest inside"};
    }
    if (request->rest.inter_bytes < all) {
        params.min_bytes = 0;
    }
    return fs_select(comm->topo, &request->rest, &params);
}

/* Has there been a call like this one? */
static fs_choice_t recall_or_choose(fs_request_t    *request,
                                    const fs_vote_t *vote)
{
    fs_comm_t    *comm    = request->comm;
    fs_outcome_t *outcome = &request->outcome;

    request->key      = fs_digest_add(vote->sum[0], vote->max_inter);
    request->plan     = fs_plan_cache_find(&comm->cache, request->key);
    outcome->recalled = request->plan != NULL;
    if (outcome->recalled) {
        ++comm->stats.cache_hits;
        outcome->traffic       = request->plan->traffic;
        outcome->traffic.bytes = fs_control_matrix(comm->control);
        outcome->bound         = request->plan->bound;
        return request->plan->choice;
    }
    if (!sum_traffic(comm, fs_control_matrix(comm->control), vote->max_inter,
                     &outcome->traffic) ||
        !sum_traffic(comm, fs_control_rest(comm->control), vote->max_inter,
                     &request->rest)) {
        return fs_comm_leave("too many bytes");
    }
    outcome->bound = fs_traffic_lower_bound(comm->topo, &outcome->traffic);
    return choose(request);
}

static void apply_tuner(fs_request_t *request)
{
    static const char *const reasons[] = {
        [FS_TUNER_PROBE]  = "probe of the tuner",
        [FS_TUNER_NATIVE] = "faster according to the tuner",
    };
    fs_comm_t          *comm     = request->comm;
    fs_tuner_question_t question = {FS_TUNER_OURS};
    uint64_t            mtm;

    if (request->outcome.choice.alg != FS_ALG_NATIVE && is_auto(comm) &&
        comm->params.tuner && request->outcome.traffic.inter_bytes > 0) {
        mtm      = fs_traffic_mtm_milli(comm->topo, &request->outcome.traffic);
        question = fs_tuner_next(
            &comm->tuner,
            fs_tuner_class(request->outcome.traffic.inter_bytes, mtm),
            request->outcome.bound);
    }
    if (question.turn != FS_TUNER_OURS) {
        request->outcome.choice.alg    = FS_ALG_NATIVE;
        request->outcome.choice.reason = reasons[question.turn];
    }
    comm->stats.tuner_probes += question.turn == FS_TUNER_PROBE;
    request->outcome.question = question;
}

/* Times of the last call. Plans made with another stage_cost are stale. */
static void apply_times(fs_comm_t *comm, const fs_vote_t *vote)
{
    fs_timed_run_t run = comm->last.run;

    fs_tuner_update(&comm->tuner, &comm->last.question, vote->max_ns,
                    vote->min_ns);
    comm->stats.tuner_gone_back = comm->tuner.n_gone_back;
    run.ns                      = vote->max_ns;
    if (comm->params.calibrate &&
        fs_calibration_update(&comm->calibration, &run,
                              &comm->params.stage_cost)) {
        fs_plan_cache_clear(&comm->cache);
    }
    comm->stats.stage_cost = comm->params.stage_cost;
    comm->last             = (fs_last_call_t){0};
}

static void decide(fs_request_t *request)
{
    fs_comm_t       *comm = request->comm;
    const fs_vote_t *vote = fs_control_vote(comm->control);

    apply_times(comm, vote);
    if (vote->sum[0] != vote->sum[1]) {
        request->outcome.choice =
            fs_comm_leave("send and receive counts differ");
        request->outcome.status = FS_ERR_MISMATCH;
        return;
    }
    request->outcome.choice = recall_or_choose(request, vote);
    if (vote->flags & FS_FLAG_DECLINE) {
        request->outcome.choice =
            fs_comm_leave("a rank's buffer is accessible only to the MPI");
    }
    if (!(vote->flags & FS_FLAG_NO_NATIVE)) {
        apply_tuner(request);
    }
}

/* ---- the plan ---- */

/* The counts of this server's ranks, [2][n_local][n_ranks], without what is in
 * bundles. NULL: out of memory. */
static uint64_t *planned_counts(const fs_comm_t *comm)
{
    const fs_topo_t    *topo    = comm->topo;
    const fs_control_t *control = comm->control;
    const uint64_t     *rest    = fs_control_rest(control);
    uint32_t            server  = topo->server[comm->rank];
    size_t              n = topo->n_servers, p = topo->n_ranks;
    size_t              len    = fs_topo_n_local(topo, server) * p;
    uint64_t           *counts = malloc(2 * len * sizeof(*counts));

    if (counts == NULL) {
        return NULL;
    }
    memcpy(counts, fs_control_local_send(control), len * sizeof(*counts));
    memcpy(counts + len, fs_control_local_recv(control), len * sizeof(*counts));
    for (size_t k = 0; k < len; ++k) {
        uint32_t peer = topo->server[k % p];

        counts[k]       = rest[server * n + peer] > 0 ? counts[k] : 0;
        counts[len + k] = rest[peer * n + server] > 0 ? counts[len + k] : 0;
    }
    return counts;
}

static fs_status_t plan(const fs_request_t *request, fs_plan_t **plan_p,
                        fs_schedule_t **lane_p)
{
    fs_comm_t         *comm   = request->comm;
    fs_plan_params_t   params = fs_params_plan(&comm->params);
    uint64_t          *counts = planned_counts(comm);
    fs_local_traffic_t local  = {
         .send        = counts,
         .send_packed = fs_call_sends_packed(request->call),
         .recv_packed = fs_call_receives_packed(request->call),
    };
    fs_plan_request_t wanted = {
        .topo    = comm->topo,
        .traffic = &request->rest,
        .params  = &params,
        .rank    = comm->rank,
        .local   = &local,
        .replan  = comm->params.plan_cache > 0 ? &comm->replan : NULL,
        .lane_p  = comm->trace != NULL ? lane_p : NULL,
    };
    fs_status_t status = FS_ERR_NOMEM;

    if (counts != NULL) {
        local.recv =
            counts +
            (size_t)comm->topo->n_ranks *
                fs_topo_n_local(comm->topo, comm->topo->server[comm->rank]);
        status = fs_plan_make(&wanted, request->outcome.choice.alg, plan_p);
        free(counts);
    }
    return status;
}

const fs_collective_t fs_alltoallv = {.bundle_limit = bundle_limit,
                                      .vote         = make_vote,
                                      .decide       = decide,
                                      .plan         = plan};
