/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoallv: what each rank says in the summary, what all conclude from what
 * they hear, and the plan that follows.
 *
 *   select    by size and skew                            fs_select.c
 *   recall    or as last time, if the counts are the same fs_plan_cache.c
 *   guard     unless the host is faster at such calls     fs_tuner.c
 *   quiet     and is it worth while to ask again?         fs_backoff.c
 *
 * Conclusions come from the summary and from what was concluded before, so they
 * are the same on every rank.
 */
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "comm/fs_params.h"
#include "coll/fs_request.h"
#include "sched/model/fs_topo.h"

static const uint64_t consent_flags[] = {
    [FS_CONSENT_YES]  = 0,
    [FS_CONSENT_HOST] = FS_FLAG_DECLINE,
    [FS_CONSENT_OURS] = FS_FLAG_NO_HOST,
    [FS_CONSENT_NO]   = FS_FLAG_REFUSES,
};

static fs_meta_word_t word(const fs_request_t *request)
{
    const fs_coll_t   *coll   = request->coll;
    const fs_call_t   *call   = request->call;
    const fs_counts_t *counts = call->counts;
    /* A plan follows from the counts and from who has to pack: sum[0] is the key
     * of both. There is no rank n_ranks, so no count looks like this. */
    uint64_t       layout = fs_digest_pair(coll->rank, coll->topo->n_ranks,
                                           (uint64_t)fs_call_sends_packed(call) << 1 |
                                               fs_call_receives_packed(call));
    fs_meta_word_t word   = {
          .max_inter = fs_u64_max(counts->sent_inter, counts->received_inter),
          .max_ns    = coll->last.run.ns,
          .min_ns    = coll->last.summary_ns,
          .sum       = {counts->send_digest + layout,
                        counts->received_digest + layout}};

    word.flags |= call->prepare != NULL || !fs_exec_fits(coll->exec, call)
                      ? FS_FLAG_PREPARES
                      : 0;
    word.flags |= consent_flags[call->device.consent];
    word.flags |= coll->quiet.missed ? FS_FLAG_MISSED : 0;
    word.flags |= coll->net->local_arrives ? 0 : FS_FLAG_CONFIRMS;
    return word;
}

/* ---- what all conclude ---- */

static fs_choice_t choose(fs_request_t *request, uint64_t max_inter)
{
    const fs_coll_t *coll   = request->coll;
    fs_plan_params_t params = fs_params_plan(&coll->params);

    request->outcome.traffic =
        (fs_traffic_t){.n_servers = coll->topo->n_servers,
                       .bytes     = fs_meta_matrix(coll->meta),
                       .max_inter = max_inter};
    if (fs_traffic_sum(&request->outcome.traffic) != FS_OK) {
        return fs_coll_leave("too many bytes");
    }
    request->outcome.bound =
        fs_traffic_lower_bound(coll->topo, &request->outcome.traffic);
    return fs_select(coll->topo, &request->outcome.traffic, &params);
}

/* Has there been a call like this one? */
static fs_choice_t recall_or_choose(fs_request_t         *request,
                                    const fs_meta_word_t *word)
{
    fs_coll_t *coll         = request->coll;
    bool       counts_agree = word->sum[0] == word->sum[1];

    request->key = fs_digest_add(word->sum[0], word->max_inter);
    request->plan =
        counts_agree ? fs_plan_cache_find(&coll->cache, request->key) : NULL;
    request->outcome.recalled = request->plan != NULL;
    if (request->outcome.recalled) {
        ++coll->stats.cache_hits;
        request->outcome.traffic       = request->plan->traffic;
        request->outcome.traffic.bytes = fs_meta_matrix(coll->meta);
        request->outcome.bound         = request->plan->bound;
        return request->plan->choice;
    }
    fs_choice_t choice = choose(request, word->max_inter);

    return counts_agree
               ? choice
               : fs_coll_leave("send and receive counts differ, see check");
}

/* A forced algorithm bypasses the tuner. */
static bool is_auto(const fs_coll_t *coll)
{
    return coll->params.algorithm == FS_ALGORITHM_AUTO;
}

static void heed_guard(fs_request_t *request)
{
    static const char *const reasons[] = {
        [FS_GUARD_LOOK] = "guard looks how long it takes",
        [FS_GUARD_HOST] = "guard found it faster",
    };
    fs_coll_t          *coll     = request->coll;
    fs_guard_question_t question = {FS_GUARD_OURS};
    uint64_t            mtm;

    if (request->outcome.choice.alg != FS_ALG_HOST && is_auto(coll) &&
        coll->params.guard) {
        mtm      = fs_traffic_mtm_milli(coll->topo, &request->outcome.traffic);
        question = fs_guard_next(
            &coll->guard,
            fs_guard_class(request->outcome.traffic.inter_bytes, mtm),
            request->outcome.bound);
    }
    if (question.turn != FS_GUARD_OURS) {
        request->outcome.choice.alg    = FS_ALG_HOST;
        request->outcome.choice.reason = reasons[question.turn];
    }
    coll->stats.guard_looks += question.turn == FS_GUARD_LOOK;
    request->outcome.question = question;
}

/* Times of the last call. Plans made with another stage_cost are no use. */
static void hear(fs_coll_t *coll, const fs_meta_word_t *word)
{
    fs_timed_run_t run = coll->last.run;

    fs_guard_hear(&coll->guard, &coll->last.question, word->max_ns,
                  word->min_ns);
    coll->stats.guard_gone_back = coll->guard.n_gone_back;
    run.ns                      = word->max_ns;
    if (coll->params.calibrate &&
        fs_calibration_hear(&coll->calibration, &run,
                            &coll->params.stage_cost)) {
        fs_plan_cache_clear(&coll->cache);
    }
    coll->stats.stage_cost = coll->params.stage_cost;
    coll->last             = (fs_last_call_t){0};
}

static void decide(fs_request_t *request)
{
    fs_coll_t            *coll = request->coll;
    const fs_meta_word_t *word = fs_meta_word(coll->meta);
    fs_quiet_seen_t       seen = {.missed     = word->flags & FS_FLAG_MISSED,
                                  .sent_bytes = request->call->counts->sent_bytes,
                                  .min_bytes = coll->params.min_bytes};
    uint32_t longest = is_auto(coll) && !coll->params.check ? coll->params.skip
                                                            : 0;

    hear(coll, word);
    request->outcome.choice = recall_or_choose(request, word);
    if (word->flags & FS_FLAG_DECLINE) {
        request->outcome.choice =
            fs_coll_leave("a rank's buffer is accessible only to the MPI");
    }
    if (!(word->flags & FS_FLAG_NO_HOST)) {
        heed_guard(request);
    }
    seen.to_host = request->outcome.choice.alg == FS_ALG_HOST &&
                   request->outcome.question.turn != FS_GUARD_LOOK;
    fs_quiet_note(&coll->quiet, longest, &seen);
}

/* ---- the plan ---- */

static fs_status_t plan(const fs_request_t *request, fs_plan_t **plan_p)
{
    const fs_coll_t   *coll   = request->coll;
    fs_plan_params_t   params = fs_params_plan(&coll->params);
    fs_local_traffic_t local  = {
         .send        = fs_meta_local_send(coll->meta),
         .recv        = fs_meta_local_recv(coll->meta),
         .send_packed = fs_call_sends_packed(request->call),
         .recv_packed = fs_call_receives_packed(request->call),
    };

    return fs_plan_create(request->outcome.choice.alg, coll->topo,
                          &request->outcome.traffic, &params, coll->rank,
                          &local, plan_p);
}

const fs_collective_t fs_alltoallv = {
    .name = "MPI_Alltoallv", .word = word, .decide = decide, .plan = plan};
