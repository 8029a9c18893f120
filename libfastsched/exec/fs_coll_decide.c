/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What serves a call: what each rank says in the summary, and what all conclude
 * from what they hear.
 *
 *   select    by size and skew                            fs_select.c
 *   recall    or as last time, if the counts are the same fs_plan_cache.c
 *   guard     unless the host is faster at such calls     fs_guard.c
 *   quiet     and is it worth while to ask again?         fs_quiet.c
 *
 * Conclusions come from the summary and from what was concluded before, so they
 * are the same on every rank.
 */
#include "exec/fs_coll.h"

#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "exec/fs_params.h"
#include "sched/fs_topo.h"

fs_choice_t fs_coll_leave(const char *reason)
{
    return (fs_choice_t){FS_ALG_HOST, false, reason};
}

static const uint64_t consent_flags[] = {
    [FS_CONSENT_YES]  = 0,
    [FS_CONSENT_HOST] = FS_FLAG_DECLINE,
    [FS_CONSENT_OURS] = FS_FLAG_NO_HOST,
    [FS_CONSENT_NO]   = FS_FLAG_REFUSES,
};

/* What this rank has to say about its counts, and about the call before. */
fs_meta_word_t fs_coll_word(const fs_coll_t *coll, const fs_call_t *call)
{
    const fs_topo_t *topo = coll->topo;
    uint32_t         home = fs_topo_server(topo, coll->rank);
    uint64_t         sent = 0, received = 0, layout;
    fs_meta_word_t   word = {.max_ns = coll->told_run_ns,
                             .min_ns = coll->told_summary_ns};

    for (uint32_t r = 0; r < topo->n_ranks; ++r) {
        if (fs_topo_server(topo, r) != home) {
            sent += call->send_bytes[r];
            received += call->recv_bytes[r];
        }
        word.sum[0] += fs_digest_pair(coll->rank, r, call->send_bytes[r]);
        word.sum[1] += fs_digest_pair(r, coll->rank, call->recv_bytes[r]);
    }
    /* A plan follows from the counts and from who has to pack: sum[0] is the
     * key of both. There is no rank n_ranks, so no count looks like this. */
    layout = fs_digest_pair(coll->rank, topo->n_ranks,
                            (uint64_t)fs_call_sends_packed(call) << 1 |
                                fs_call_receives_packed(call));
    word.sum[0] += layout;
    word.sum[1] += layout;
    word.max_inter = fs_u64_max(sent, received);
    word.flags |= call->prepare != NULL || !fs_exec_fits(coll->exec, call)
                      ? FS_FLAG_PREPARES
                      : 0;
    word.flags |= consent_flags[call->device.consent];
    word.flags |= coll->quiet.missed ? FS_FLAG_MISSED : 0;
    word.flags |= coll->net->local_arrives ? 0 : FS_FLAG_CONFIRMS;
    return word;
}

/* ---- what all conclude ---- */

static fs_choice_t choose(fs_coll_t *coll, uint64_t max_inter)
{
    fs_plan_params_t params = fs_params_plan(&coll->params);

    coll->traffic = (fs_traffic_t){.n_servers = coll->topo->n_servers,
                                   .bytes     = fs_meta_matrix(coll->meta),
                                   .max_inter = max_inter};
    if (fs_traffic_sum(&coll->traffic) != FS_OK) {
        return fs_coll_leave("too many bytes");
    }
    coll->bound = fs_traffic_lower_bound(coll->topo, &coll->traffic);
    return fs_select(coll->topo, &coll->traffic, &params);
}

/* Has there been a call like this one? */
static fs_choice_t recall_or_choose(fs_coll_t *coll, const fs_meta_word_t *word)
{
    bool counts_agree = word->sum[0] == word->sum[1];

    coll->key = fs_digest_add(word->sum[0], word->max_inter);
    coll->hit = counts_agree ? fs_plan_cache_find(&coll->cache, coll->key)
                             : NULL;
    if (coll->hit != NULL) {
        ++coll->stats.cache_hits;
        coll->traffic       = coll->hit->traffic;
        coll->traffic.bytes = fs_meta_matrix(coll->meta);
        coll->bound         = coll->hit->bound;
        return coll->hit->choice;
    }
    fs_choice_t choice = choose(coll, word->max_inter);

    return counts_agree
               ? choice
               : fs_coll_leave("send and receive counts differ, see check");
}

/* Who is told what to run is not asked whether he likes it. */
static bool is_auto(const fs_coll_t *coll)
{
    return coll->params.algorithm == FS_ALGORITHM_AUTO;
}

static void heed_guard(fs_coll_t *coll)
{
    static const char *const reasons[] = {
        [FS_GUARD_LOOK] = "guard looks how long it takes",
        [FS_GUARD_HOST] = "guard found it faster",
    };
    fs_guard_turn_t turn;
    uint64_t        mtm;

    if (coll->choice.alg == FS_ALG_HOST || !is_auto(coll) ||
        !coll->params.guard) {
        return;
    }
    mtm  = fs_traffic_mtm_milli(coll->topo, &coll->traffic);
    turn = fs_guard_next(&coll->guard,
                         fs_guard_class(coll->traffic.inter_bytes, mtm),
                         coll->bound);
    if (turn != FS_GUARD_OURS) {
        coll->choice.alg    = FS_ALG_HOST;
        coll->choice.reason = reasons[turn];
    }
    coll->looks = turn == FS_GUARD_LOOK;
    coll->stats.guard_looks += coll->looks;
}

/* Times of the last call. Plans made with another stage_cost are no use. */
static void hear(fs_coll_t *coll, const fs_meta_word_t *word)
{
    fs_guard_hear(&coll->guard, word->max_ns, word->min_ns);
    coll->stats.guard_gone_back = coll->guard.n_gone_back;
    if (coll->params.calibrate &&
        fs_calibration_hear(&coll->calibration, word->max_ns,
                            &coll->params.stage_cost)) {
        fs_plan_cache_clear(&coll->cache);
    }
    coll->stats.stage_cost = coll->params.stage_cost;
}

void fs_coll_decide(fs_coll_t *coll, const fs_call_t *call)
{
    const fs_meta_word_t *word = fs_meta_word(coll->meta);
    fs_quiet_seen_t       seen = {.missed    = word->flags & FS_FLAG_MISSED,
                                  .min_bytes = coll->params.min_bytes};
    uint32_t longest = is_auto(coll) && !coll->params.check ? coll->params.skip
                                                            : 0;

    hear(coll, word);
    coll->prepares   = word->flags & FS_FLAG_PREPARES;
    coll->confirms   = word->flags & FS_FLAG_CONFIRMS;
    coll->choice     = recall_or_choose(coll, word);
    coll->summarised = true;
    if (word->flags & FS_FLAG_DECLINE) {
        coll->choice = fs_coll_leave("a rank's buffer is for the MPI alone");
    }
    if (!(word->flags & FS_FLAG_NO_HOST)) {
        heed_guard(coll);
    }
    for (uint32_t r = 0; r < coll->topo->n_ranks; ++r) {
        seen.sent_bytes += call->send_bytes[r];
    }
    seen.to_host = coll->choice.alg == FS_ALG_HOST && !coll->looks;
    fs_quiet_note(&coll->quiet, longest, &seen);
}
