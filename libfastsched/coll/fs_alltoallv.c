/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoallv, MPI_Alltoallw and MPI_Alltoall: the vote of each rank in the
 * summary, what all conclude from the votes, and the plan that follows.
 *
 *   bundles   small blocks, before anything is known    fs_control.h
 *   select    the algorithms that can serve the rest    fs_select.c
 *   estimate  what they should take                     fs_estimate.c
 *   tuner     the fastest at calls of this class        fs_tuner.c
 *   times     what the last call took                   fs_times.c
 *   recall    the plan of a call with the same counts   fs_plan_cache.c
 *   unseen    calls that the MPI gets without a summary fs_unseen.c
 *
 * Which pairs of servers go in bundles has to be known before the class of the
 * call is: it is taken to be the one that came after such a call before, or that of
 * the last one. Where that was wrong the call is served with what has been bundled,
 * and tells the tuner nothing unless that suits its own class. Only to compare may
 * what has come in bundles be sent again.
 *
 * Conclusions depend only on the summary and on earlier conclusions, so they
 * are the same on every rank.
 */
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "coll/fs_chunks.h"
#include "coll/fs_eager.h"
#include "coll/fs_estimate.h"
#include "coll/fs_frame_request.h"
#include "coll/fs_request.h"
#include "coll/fs_times.h"
#include "comm/fs_wish.h"
#include "sched/model/fs_topo.h"
#include "sched/plan/fs_plan.h"

#include <stdlib.h>
#include <string.h>

enum {
    TINY = 4096, /* bytes of a pair that goes in a bundle while others are
                     staged */
    MOST_TRIED =
        64 /* servers, for which a persistent call compares all schedules:
                       a tenth of a second at most */
};

static const fs_alg_t algs[] = {
    [FS_CANDIDATE_NATIVE]         = FS_ALG_NATIVE,
    [FS_CANDIDATE_BUNDLES]        = FS_ALG_BUNDLES,
    [FS_CANDIDATE_BUNDLES_COARSE] = FS_ALG_BUNDLES,
    [FS_CANDIDATE_STAGED]         = FS_ALG_STAGED,
    [FS_CANDIDATE_COARSE]         = FS_ALG_STAGED,
    [FS_CANDIDATE_PIPE2D]         = FS_ALG_PIPE2D,
    [FS_CANDIDATE_EAGER]          = FS_ALG_EAGER,
};

static const uint64_t limits[] = {
    [FS_CANDIDATE_NATIVE]         = 0,
    [FS_CANDIDATE_BUNDLES]        = UINT64_MAX,
    [FS_CANDIDATE_BUNDLES_COARSE] = UINT64_MAX,
    [FS_CANDIDATE_STAGED]         = TINY,
    [FS_CANDIDATE_COARSE]         = TINY,
    [FS_CANDIDATE_PIPE2D]         = TINY,
    [FS_CANDIDATE_EAGER]          = 0,
};

/* Where nothing is known, what a stage costs is the limit: bundles that go out at
 * once, in no order, keep the rest waiting. */
static uint64_t bundle_limit(const fs_request_t *request)
{
    const fs_comm_t     *comm     = request->comm;
    const fs_forecast_t *forecast = fs_request_forecast(request);
    bool                 left     = fs_unseen_can(forecast->candidate);

    if (request->plans_only) {
        return 0;
    }
    if (fs_comm_is_auto(comm)) {
        return fs_comm_is_tuned(comm) && forecast->known &&
                       !(left && fs_request_is_nonblocking(request))
                   ? limits[forecast->candidate]
                   : comm->params.stage_cost;
    }
    return comm->params.algorithm == FS_ALG_BUNDLES ? UINT64_MAX : 0;
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
          .max_inter  = fs_u64_max(counts->sent_inter, counts->received_inter),
          .max_ns     = comm->last.run.ns,
          .min_ns     = comm->last.round_ns,
          .whole_ns   = comm->last.whole_ns,
          .max_waited = comm->last.waited_ns,
          .last       = fs_entries_word(comm->last.waited_ns, comm->rank),
          .posted     = fs_frame_posted(request),
          .sum        = {counts->send_digest + layout + request->offered,
                         counts->received_digest + layout + request->offered}};

    vote.flags |= call->prepare != NULL || !fs_exec_fits(comm->exec, NULL, call)
                      ? FS_FLAG_PREPARES
                      : 0;
    vote.flags |= fs_request_consent(request);
    vote.flags |= comm->net->local_arrives ? 0 : FS_FLAG_CONFIRMS;
    vote.flags |= comm->unseen.unlike ? FS_FLAG_UNLIKE : 0;
    vote.flags |= fs_request_is_nonblocking(request)
                      ? FS_FLAG_NONBLOCKING
                      : fs_wish_flags(request->comm);
    return vote;
}

/* ---- what is known of the call ---- */

/* Bytes between servers and their sums. False: too many. */
static bool sum_traffic(const fs_comm_t *comm, uint64_t *bytes,
                        uint64_t max_inter, fs_traffic_t *traffic)
{
    *traffic = (fs_traffic_t){.n_servers = comm->topo->n_servers,
                              .bytes     = bytes,
                              .max_inter = max_inter};
    return fs_traffic_sum(traffic) == FS_OK;
}

/* The native algorithm would come too late for it, or do again what is done. */
static bool is_ours(const fs_request_t *request)
{
    return fs_request_is_nonblocking(request) || request->is_early;
}

/* What would serve the rest, or all of it where nothing is in bundles. Where some is,
 * the native algorithm would do the whole call again: min_bytes is not for that. */
static fs_choice_t choose(const fs_request_t *request)
{
    const fs_comm_t *comm   = request->comm;
    fs_plan_params_t params = fs_estimate_params(comm);
    uint64_t         all    = request->outcome.traffic.inter_bytes;

    if (comm->params.algorithm == FS_ALGORITHM_OFF) {
        return fs_comm_leave("algorithm is off");
    }
    if (request->plans_only && comm->params.algorithm == FS_ALG_BUNDLES) {
        return (fs_choice_t){FS_ALG_BUNDLES, false, "forced by parameter"};
    }
    if (!(request->flags & FS_VOTE_REST) && !request->plans_only) {
        return (fs_choice_t){FS_ALG_BUNDLES, false, "small"};
    }
    if (request->rest.inter_bytes == 0 && (all > 0 || is_ours(request))) {
        return (fs_choice_t){FS_ALG_DIRECT, false,
                             all > 0 ? "small between servers, the rest inside"
                                     : "no bytes between servers"};
    }
    if (comm->params.algorithm == FS_ALG_EAGER && all > 0 &&
        !is_ours(request) && !request->plans_only && fs_eager_can(comm)) {
        return (fs_choice_t){FS_ALG_EAGER, false, "forced by parameter"};
    }
    if (request->rest.inter_bytes < all || is_ours(request)) {
        params.min_bytes = 0;
    }
    return fs_select(comm->topo, &request->rest, &params);
}

static void look_at_matrix(fs_request_t *request, uint64_t max_inter)
{
    const fs_comm_t *comm    = request->comm;
    fs_outcome_t    *outcome = &request->outcome;
    fs_busiest_t     busiest;

    if (!sum_traffic(comm, fs_control_matrix(comm->control), max_inter,
                     &outcome->traffic)) {
        outcome->choice = fs_comm_leave("too many bytes");
        return;
    }
    request->rest = outcome->traffic;
    if (request->flags & FS_VOTE_BUNDLED) { /* no more than all of it */
        (void)sum_traffic(comm, fs_control_rest(comm->control), max_inter,
                          &request->rest);
    }
    busiest         = fs_traffic_busiest(comm->topo, &outcome->traffic);
    outcome->bound  = busiest.per_lane;
    outcome->line   = busiest.line;
    outcome->choice = request->untuned = choose(request);
    if (fs_comm_is_tuned(comm) && outcome->traffic.inter_bytes > 0) {
        fs_estimate(request, &busiest);
    }
}

/* A call with these counts has had a plan. */
static void recall(fs_request_t *request, const fs_cached_plan_t *cached)
{
    fs_outcome_t *outcome = &request->outcome;

    outcome->traffic       = cached->traffic;
    outcome->traffic.bytes = fs_control_matrix(request->comm->control);
    outcome->bound         = cached->bound;
    outcome->line          = cached->line;
    outcome->tuned         = cached->tuned;
    request->rest          = cached->rest;
    request->rest.bytes    = fs_control_rest(request->comm->control);
    outcome->choice = request->untuned = cached->untuned;
}

static void find_out(fs_request_t *request, const fs_vote_t *vote)
{
    const fs_cached_plan_t *alike;
    uint64_t                key = fs_digest_add(vote->sum[0], vote->max_inter);

    key = fs_digest_add(key, bundle_limit(request));
    request->counts_key =
        fs_digest_add(key, (uint64_t)request->collective->tuned << 1 |
                               fs_request_is_nonblocking(request));
    alike = fs_plan_cache_alike(&request->comm->cache, request->counts_key);
    if (alike != NULL) {
        recall(request, alike);
    } else {
        look_at_matrix(request, vote->max_inter);
    }
    if (vote->flags & FS_FLAG_DECLINE) {
        request->outcome.choice =
            fs_comm_leave("a rank's buffer is accessible only to the MPI");
    }
}

/* ---- what all conclude ---- */

static bool has_coarse_chunks(const fs_outcome_t *outcome)
{
    return outcome->question.reason != FS_TUNER_NONE &&
           outcome->question.candidate == FS_CANDIDATE_COARSE;
}

/* Are its bundles coarse, and would they be others if they were not? */
static bool has_coarse_bundles(const fs_request_t *request)
{
    return fs_request_is_coarse(request) &&
           request->outcome.tuned.estimate[FS_CANDIDATE_BUNDLES_COARSE] != 0;
}

/* It sends what bundles have left, however much that is. */
static bool is_planned(fs_candidate_t candidate)
{
    return algs[candidate] == FS_ALG_STAGED || algs[candidate] == FS_ALG_PIPE2D;
}

/* Has the call been offered to bundles as this candidate wants it? */
static bool suits(const fs_request_t *request, fs_candidate_t candidate)
{
    uint64_t limit   = bundle_limit(request);
    uint64_t bundled = request->outcome.traffic.inter_bytes -
                       request->rest.inter_bytes;

    if (request->plans_only) {
        return true; /* it has not been offered at all */
    }
    if (fs_unseen_can(candidate)) {
        return bundled == 0;
    }
    if (is_planned(candidate)) {
        return request->rest.inter_bytes > 0 &&
               (limit <= limits[candidate] || bundled == 0);
    }
    return (limit == limits[candidate] || !(request->flags & FS_VOTE_REST)) &&
           has_coarse_bundles(request) ==
               (candidate == FS_CANDIDATE_BUNDLES_COARSE);
}

/* Where all that was bundled is not all, the choice is about the rest. */
static void take_candidate(fs_request_t *request)
{
    enum { PLAIN, CHUNKS, BUNDLES };
    static const char *const reasons[][3] = {
        [FS_TUNER_GUESS] = {"guess of the tuner",
                            "guess of the tuner, coarse chunks",
                            "guess of the tuner, coarse bundles"},
        [FS_TUNER_PROBE] = {"probe of the tuner",
                            "probe of the tuner, coarse chunks",
                            "probe of the tuner, coarse bundles"},
        [FS_TUNER_FOUND] = {"faster according to the tuner",
                            "faster according to the tuner, coarse chunks",
                            "faster according to the tuner, coarse bundles"},
    };
    fs_outcome_t  *outcome   = &request->outcome;
    fs_candidate_t candidate = outcome->question.candidate;
    int            how       = candidate == FS_CANDIDATE_COARSE ? CHUNKS
                               : candidate == FS_CANDIDATE_BUNDLES_COARSE ? BUNDLES
                                                                          : PLAIN;

    if (request->plans_only || algs[candidate] != FS_ALG_BUNDLES) {
        outcome->choice.alg = algs[candidate];
    }
    outcome->choice.reason = reasons[outcome->question.reason][how];
}

static fs_tuner_question_t best(const fs_request_t    *request,
                                const fs_tuner_call_t *call)
{
    fs_tuner_question_t question;
    uint32_t            candidates = 0;

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        bool possible =
            suits(request, (fs_candidate_t)c) ||
            (is_planned((fs_candidate_t)c) && request->rest.inter_bytes > 0);

        candidates |= (uint32_t)possible << c;
    }
    question = fs_tuner_best(&request->comm->tuner, call, candidates);
    if (question.reason == FS_TUNER_FOUND &&
        !suits(request, question.candidate)) {
        question.reason = FS_TUNER_GUESS; /* its time tells nothing */
    }
    return question;
}

/* To compare these all may be sent again, whatever has come in bundles. */
static bool can_repeat(const fs_tuner_question_t *question)
{
    return question->reason != FS_TUNER_FOUND &&
           fs_unseen_can(question->candidate);
}

/* What the tuner wants to know. If this call is not prepared for it the next one is
 * asked, a few times; then it is repeated, or nobody is asked. */
static fs_tuner_question_t compare(const fs_request_t    *request,
                                   const fs_tuner_call_t *call)
{
    fs_tuner_t         *tuner    = &request->comm->tuner;
    fs_tuner_question_t question = fs_tuner_next(tuner, call);

    return suits(request, question.candidate) ||
                   (!fs_tuner_withdraw(tuner, &question) &&
                    can_repeat(&question))
               ? question
               : best(request, call);
}

static void apply_tuner(fs_request_t *request)
{
    fs_comm_t       *comm    = request->comm;
    fs_outcome_t    *outcome = &request->outcome;
    fs_tuner_call_t  call    = outcome->tuned;
    const fs_vote_t *vote    = fs_control_vote(comm->control);

    if (!fs_comm_is_tuned(comm) || outcome->choice.alg == FS_ALG_NATIVE ||
        outcome->traffic.inter_bytes == 0 ||
        fs_request_is_nonblocking(request)) {
        return;
    }
    if (vote->flags & FS_FLAG_NO_NATIVE || request->is_early) {
        call.estimate[FS_CANDIDATE_NATIVE] = 0;
    }
    if (vote->flags & FS_FLAG_NO_NATIVE || request->plans_only ||
        request->is_early || !fs_eager_can(comm)) {
        call.estimate[FS_CANDIDATE_EAGER] = 0;
    }
    outcome->question = request->plans_only || request->is_early
                            ? best(request, &call)
                            : compare(request, &call);
    if (outcome->question.reason != FS_TUNER_NONE) {
        take_candidate(request);
        request->repeats = fs_unseen_can(outcome->question.candidate) &&
                           !suits(request, outcome->question.candidate);
    }
    comm->stats.tuner_probes += outcome->question.reason == FS_TUNER_PROBE;
}

/* What does not change from call to call has its plan made once: that is not what a
 * candidate takes. */
static void note_alike(fs_request_t *request)
{
    fs_outcome_t  *outcome  = &request->outcome;
    fs_forecast_t *forecast = fs_request_forecast(request);
    uint64_t       bytes    = outcome->traffic.inter_bytes;

    outcome->plan_lasts = !outcome->recalled && !request->is_early &&
                          outcome->question.reason != FS_TUNER_NONE &&
                          is_planned(outcome->question.candidate) &&
                          bytes == forecast->inter_bytes &&
                          outcome->bound == forecast->bound;
    forecast->inter_bytes = bytes;
    forecast->bound       = outcome->bound;
}

/* The next call of this collective will be like this one, or like what came after such
 * calls. Of one that has begun early only the rest is known. Where the class has changed
 * in no order that is known, it may change again: the next call is not prepared for a
 * probe then, which would have to wait, and leave another call without its bundles. */
static void predict(const fs_request_t *request)
{
    fs_tuner_t         *tuner     = &request->comm->tuner;
    fs_forecast_t      *forecast  = fs_request_forecast(request);
    uint32_t            of_class  = request->outcome.tuned.of_class;
    bool                was_right = of_class == forecast->of_class;
    fs_tuner_question_t next;

    if (request->outcome.tuned.bound == 0 || request->is_early) {
        return;
    }
    forecast->of_class  = fs_tuner_follow(tuner, &forecast->history, of_class);
    next                = fs_tuner_peek(tuner, forecast->of_class);
    forecast->known     = next.reason != FS_TUNER_NONE;
    forecast->explores  = forecast->known && next.reason != FS_TUNER_FOUND;
    forecast->candidate = forecast->explores && !was_right &&
                                  forecast->of_class == of_class
                              ? fs_tuner_choice(tuner, forecast->of_class)
                              : next.candidate;
}

/* Has there been a plan for this? */
static void find_plan(fs_request_t *request)
{
    const fs_outcome_t *outcome = &request->outcome;

    if (outcome->choice.alg == FS_ALG_NATIVE ||
        outcome->choice.alg == FS_ALG_EAGER ||
        outcome->choice.alg == FS_ALG_BUNDLES) {
        return;
    }
    request->key =
        fs_digest_add(request->counts_key, (uint64_t)outcome->choice.alg << 1 |
                                               has_coarse_chunks(outcome));
    fs_request_recall(request);
}

/* For the next call that begins early. */
static void choose_early_chunk(const fs_request_t *request)
{
    fs_comm_t *comm = request->comm;

    if (request->outcome.bound > 0 && !request->is_early) {
        comm->early_chunk =
            fs_early_chunk(request->outcome.bound, comm->params.chunk);
    }
}

/* Does a round take so much of this call's time that it counts? */
static bool round_counts(const fs_comm_t *comm, const fs_outcome_t *outcome,
                         const fs_vote_t *vote)
{
    const fs_tuner_class_t *class =
        fs_tuner_find(&comm->tuner, outcome->tuned.of_class);
    uint64_t price =
        class == NULL ? 0 : fs_tuner_price(class, outcome->question.candidate);

    return price != 0 && (fs_u128_t)vote->min_ns * FS_UNSEEN_PART >
                             ((fs_u128_t)price * outcome->tuned.bound) >> 20;
}

/* Calls after this one may go without a summary. */
static void note_seen(const fs_request_t *request, const fs_vote_t *vote)
{
    fs_comm_t          *comm    = request->comm;
    const fs_outcome_t *outcome = &request->outcome;
    fs_candidate_t      served  = outcome->question.candidate;
    bool                settled = outcome->question.reason == FS_TUNER_FOUND &&
                   fs_unseen_can(served);
    fs_seen_t seen = {.tuned     = request->collective->tuned,
                      .of_class  = outcome->tuned.of_class,
                      .settled   = settled,
                      .served    = served,
                      .counts    = settled && round_counts(comm, outcome, vote),
                      .unlike    = vote->flags & FS_FLAG_UNLIKE,
                      .own_bytes = fs_request_own_bytes(request)};

    fs_unseen_note(&comm->unseen, &seen);
}

/* Those that went unseen before this call. */
static void count_unseen(fs_comm_t *comm)
{
    if (comm->unseen.n_taken > 0) {
        fs_tuner_count(&comm->tuner, comm->unseen.of_class,
                       comm->unseen.n_taken);
        comm->unseen.n_taken = 0;
    }
}

static void decide(fs_request_t *request)
{
    fs_comm_t       *comm = request->comm;
    const fs_vote_t *vote = fs_control_vote(comm->control);

    fs_times_apply(comm, vote);
    if (vote->sum[0] != vote->sum[1] ||
        (vote->flags & FS_VOTE_ROWS && vote->flags & FS_VOTE_UNIFORM)) {
        request->outcome.choice =
            fs_comm_leave("send and receive counts differ");
        request->outcome.status = FS_ERR_MISMATCH;
        return;
    }
    find_out(request, vote);
    choose_early_chunk(request);
    count_unseen(comm);
    apply_tuner(request);
    find_plan(request);
    note_alike(request);
    predict(request);
    if (request->is_early) {
        fs_unseen_heed(&comm->unseen, vote->flags & FS_FLAG_UNLIKE);
    } else {
        comm->may_be_eager = fs_estimate_pays_eager(request);
        note_seen(request, vote);
    }
}

/* ---- the plan ---- */

/* Of this server's ranks, in one direction. */
static size_t n_counts(const fs_comm_t *comm)
{
    const fs_topo_t *topo = comm->topo;

    return (size_t)topo->n_ranks *
           fs_topo_n_local(topo, topo->server[comm->rank]);
}

/* The counts of this server's ranks, [2][n_local][n_ranks], without what is in
 * bundles. NULL: out of memory. */
static uint64_t *planned_counts(const fs_comm_t *comm)
{
    const fs_topo_t    *topo    = comm->topo;
    const fs_control_t *control = comm->control;
    const uint64_t     *rest    = fs_control_rest(control);
    uint32_t            server  = topo->server[comm->rank];
    size_t              n = topo->n_servers, len = n_counts(comm);
    uint64_t           *counts = malloc(2 * len * sizeof(*counts));

    if (counts == NULL) {
        return NULL;
    }
    memcpy(counts, fs_control_local_send(control), len * sizeof(*counts));
    memcpy(counts + len, fs_control_local_recv(control), len * sizeof(*counts));
    for (size_t k = 0; k < len; ++k) {
        uint32_t peer = topo->server[k % topo->n_ranks];

        counts[k]       = rest[server * n + peer] > 0 ? counts[k] : 0;
        counts[len + k] = rest[peer * n + server] > 0 ? counts[len + k] : 0;
    }
    return counts;
}

static fs_status_t plan(const fs_request_t *request, fs_plan_t **plan_p,
                        fs_schedule_t **lane_p)
{
    fs_comm_t       *comm = request->comm;
    fs_plan_params_t params =
        fs_chunks_cut(request, has_coarse_chunks(&request->outcome));
    uint64_t          *counts = NULL;
    fs_local_traffic_t local  = {
         .send        = fs_control_local_send(comm->control),
         .recv        = fs_control_local_recv(comm->control),
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
    fs_status_t status;

    if (request->plans_only && params.decompose == FS_DECOMPOSE_AUTO &&
        comm->topo->n_servers <= MOST_TRIED) {
        params.decompose = FS_DECOMPOSE_BEST;
        wanted.replan    = NULL;
    }
    if (request->flags & FS_VOTE_BUNDLED) {
        counts = planned_counts(comm);
        if (counts == NULL) {
            return FS_ERR_NOMEM;
        }
        local.send = counts;
        local.recv = counts + n_counts(comm);
    }
    status = fs_plan_make(&wanted, request->outcome.choice.alg, plan_p);
    free(counts);
    return status;
}

#define COLLECTIVE(_tuned, _uniform)                                       \
    {                                                                      \
        .tuned = (_tuned), .uniform = (_uniform),                          \
        .bundle_limit = bundle_limit, .vote = make_vote, .decide = decide, \
        .plan = plan                                                       \
    }

const fs_collective_t fs_alltoallv = COLLECTIVE(FS_TUNED_ALLTOALLV, false);
const fs_collective_t fs_alltoallw = COLLECTIVE(FS_TUNED_ALLTOALLW, false);
const fs_collective_t fs_alltoall  = COLLECTIVE(FS_TUNED_ALLTOALL, true);
