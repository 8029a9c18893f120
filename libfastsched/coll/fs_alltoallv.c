/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoallv: the vote of each rank in the summary, what all conclude from
 * the votes, and the plan that follows.
 *
 *   select    an algorithm, by size and skew            fs_select.c
 *   recall    the plan of a call with the same counts   fs_plan_cache.c
 *   tuner     the native algorithm where it is faster   fs_tuner.c
 *   backoff   no summary for small calls in a row       fs_backoff.c
 *
 * Conclusions depend only on the summary and on earlier conclusions, so they
 * are the same on every rank.
 */
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "comm/fs_params.h"
#include "coll/fs_request.h"
#include "sched/model/fs_topo.h"

static const uint64_t consent_flags[] = {
    [FS_CONSENT_YES]    = 0,
    [FS_CONSENT_NATIVE] = FS_FLAG_DECLINE,
    [FS_CONSENT_OURS]   = FS_FLAG_NO_NATIVE,
    [FS_CONSENT_NO]     = FS_FLAG_REFUSES,
};

static fs_vote_t make_vote(const fs_request_t *request)
{
    const fs_comm_t   *comm   = request->comm;
    const fs_call_t   *call   = request->call;
    const fs_counts_t *counts = call->counts;
    /* A plan depends on the counts and on which ranks have to pack: sum[0]
     * is the key of both. There is no rank n_ranks, so no count has this
     * digest. */
    uint64_t  layout = fs_digest_pair(comm->rank, comm->topo->n_ranks,
                                      (uint64_t)fs_call_sends_packed(call) << 1 |
                                          fs_call_receives_packed(call));
    fs_vote_t vote   = {
          .max_inter = fs_u64_max(counts->sent_inter, counts->received_inter),
          .max_ns    = comm->last.run.ns,
          .min_ns    = comm->last.summary_ns,
          .sum       = {counts->send_digest + layout,
                        counts->received_digest + layout}};

    vote.flags |= call->prepare != NULL || !fs_exec_fits(comm->exec, call)
                      ? FS_FLAG_PREPARES
                      : 0;
    vote.flags |= consent_flags[call->device.consent];
    vote.flags |= comm->backoff.missed ? FS_FLAG_MISSED : 0;
    vote.flags |= comm->net->local_arrives ? 0 : FS_FLAG_CONFIRMS;
    return vote;
}

/* ---- what all conclude ---- */

static fs_choice_t choose(fs_request_t *request, uint64_t max_inter)
{
    const fs_comm_t *comm   = request->comm;
    fs_plan_params_t params = fs_params_plan(&comm->params);

    request->outcome.traffic =
        (fs_traffic_t){.n_servers = comm->topo->n_servers,
                       .bytes     = fs_control_matrix(comm->control),
                       .max_inter = max_inter};
    if (fs_traffic_sum(&request->outcome.traffic) != FS_OK) {
        return fs_comm_leave("too many bytes");
    }
    request->outcome.bound =
        fs_traffic_lower_bound(comm->topo, &request->outcome.traffic);
    return fs_select(comm->topo, &request->outcome.traffic, &params);
}

/* Has there been a call like this one? */
static fs_choice_t recall_or_choose(fs_request_t    *request,
                                    const fs_vote_t *vote)
{
    fs_comm_t *comm         = request->comm;
    bool       counts_agree = vote->sum[0] == vote->sum[1];

    request->key = fs_digest_add(vote->sum[0], vote->max_inter);
    request->plan =
        counts_agree ? fs_plan_cache_find(&comm->cache, request->key) : NULL;
    request->outcome.recalled = request->plan != NULL;
    if (request->outcome.recalled) {
        ++comm->stats.cache_hits;
        request->outcome.traffic       = request->plan->traffic;
        request->outcome.traffic.bytes = fs_control_matrix(comm->control);
        request->outcome.bound         = request->plan->bound;
        return request->plan->choice;
    }
    fs_choice_t choice = choose(request, vote->max_inter);

    return counts_agree
               ? choice
               : fs_comm_leave(
                     "send and receive counts differ, see parameter check");
}

/* A forced algorithm bypasses the tuner. */
static bool is_auto(const fs_comm_t *comm)
{
    return comm->params.algorithm == FS_ALGORITHM_AUTO;
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
        comm->params.tuner) {
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
    fs_comm_t        *comm = request->comm;
    const fs_vote_t  *vote = fs_control_vote(comm->control);
    fs_backoff_seen_t seen = {.missed     = vote->flags & FS_FLAG_MISSED,
                              .sent_bytes = request->call->counts->sent_bytes,
                              .min_bytes  = comm->params.min_bytes};
    uint32_t longest = is_auto(comm) && !comm->params.check ? comm->params.skip
                                                            : 0;

    apply_times(comm, vote);
    request->outcome.choice = recall_or_choose(request, vote);
    if (vote->flags & FS_FLAG_DECLINE) {
        request->outcome.choice =
            fs_comm_leave("a rank's buffer is accessible only to the MPI");
    }
    if (!(vote->flags & FS_FLAG_NO_NATIVE)) {
        apply_tuner(request);
    }
    seen.to_host = request->outcome.choice.alg == FS_ALG_NATIVE &&
                   request->outcome.question.turn != FS_TUNER_PROBE;
    fs_backoff_note(&comm->backoff, longest, &seen);
}

/* ---- the plan ---- */

static fs_status_t plan(const fs_request_t *request, fs_plan_t **plan_p)
{
    const fs_comm_t   *comm   = request->comm;
    fs_plan_params_t   params = fs_params_plan(&comm->params);
    fs_local_traffic_t local  = {
         .send        = fs_control_local_send(comm->control),
         .recv        = fs_control_local_recv(comm->control),
         .send_packed = fs_call_sends_packed(request->call),
         .recv_packed = fs_call_receives_packed(request->call),
    };

    return fs_plan_create(request->outcome.choice.alg, comm->topo,
                          &request->outcome.traffic, &params, comm->rank,
                          &local, plan_p);
}

const fs_collective_t fs_alltoallv = {
    .vote = make_vote, .decide = decide, .plan = plan};
