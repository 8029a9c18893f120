/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoallv, MPI_Alltoallw and MPI_Alltoall: the vote of each rank in the
 * summary, what all conclude from the votes, and the plan that follows.
 *
 *   bundles   small blocks, before anything is known    fs_control.h
 *   select    the algorithms that can serve the rest    fs_select.c
 *   cost      their costs by the model                  fs_cost.c
 *   tuner     the fastest at calls of this class        fs_tuner.c
 *   recall    the plan of a call with the same counts   fs_plan_cache.c
 *   unseen    calls that the MPI gets without a summary fs_unseen.c
 *
 * Which pairs of servers go in bundles has to be known before the class of the
 * call is: it is taken to be that of the last one. Where that was wrong the call is
 * served with what has been bundled, and tells the tuner nothing.
 *
 * Conclusions depend only on the summary and on earlier conclusions, so they
 * are the same on every rank.
 */
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "comm/fs_params.h"
#include "comm/fs_wish.h"
#include "coll/fs_eager.h"
#include "coll/fs_frame_request.h"
#include "coll/fs_request.h"
#include "sched/model/fs_ports.h"
#include "sched/model/fs_topo.h"
#include "sched/plan/fs_cost.h"
#include "sched/plan/fs_plan.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Chunks of a stage: with fewer a receiver sees too late that it ends, and the
     * next one does not follow at once. */
    FEWEST = 6,
    FINEST = 4096, /* a chunk: in a shorter one start-up counts */
    COARSE = 4,    /* chunks of FS_CANDIDATE_COARSE, in chunks */
    ALIGN  = 64,
    /* Bytes of a stage that a NIC's queue holds; into how many chunks it is cut then, and
     * how many of them are on their way to a lane. */
    QUEUE        = 192 << 10,
    FEWEST_SHORT = 4,
    SHORT_WINDOW = 2,
    TINY = 4096, /* bytes of a pair that goes in a bundle while others are
                     staged */
    MOST_TRIED =
        64 /* servers, for which a persistent call compares all schedules:
                       a tenth of a second at most */
};

static const fs_alg_t algs[] = {
    [FS_CANDIDATE_NATIVE]  = FS_ALG_NATIVE,
    [FS_CANDIDATE_BUNDLES] = FS_ALG_BUNDLES,
    [FS_CANDIDATE_STAGED]  = FS_ALG_STAGED,
    [FS_CANDIDATE_COARSE]  = FS_ALG_STAGED,
    [FS_CANDIDATE_PIPE2D]  = FS_ALG_PIPE2D,
    [FS_CANDIDATE_EAGER]   = FS_ALG_EAGER,
};

static const uint64_t limits[] = {
    [FS_CANDIDATE_NATIVE] = 0,    [FS_CANDIDATE_BUNDLES] = UINT64_MAX,
    [FS_CANDIDATE_STAGED] = TINY, [FS_CANDIDATE_COARSE] = TINY,
    [FS_CANDIDATE_PIPE2D] = TINY, [FS_CANDIDATE_EAGER] = 0,
};

/* Can the MPI's messages begin it without a summary? */
static bool is_left(fs_candidate_t candidate)
{
    return candidate == FS_CANDIDATE_NATIVE || candidate == FS_CANDIDATE_EAGER;
}

/* A forced algorithm has no bundles, and bypasses the tuner. */
static bool is_auto(const fs_comm_t *comm)
{
    return comm->params.algorithm == FS_ALGORITHM_AUTO;
}

static bool is_tuned(const fs_comm_t *comm)
{
    return is_auto(comm) && comm->params.tuner;
}

/* Where nothing is known, what a stage costs is the limit: bundles that go out at
 * once, in no order, keep the rest waiting. */
static uint64_t bundle_limit(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;
    bool             left = is_left(comm->predicted);

    if (request->plans_only) {
        return 0;
    }
    if (is_auto(comm)) {
        return is_tuned(comm) && comm->predicts &&
                       !(left && fs_request_is_nonblocking(request))
                   ? limits[comm->predicted]
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

static fs_plan_params_t select_params(const fs_comm_t *comm)
{
    fs_plan_params_t params = fs_params_plan(&comm->params);

    if (is_tuned(comm) && comm->params.min_bytes == FS_MIN_BYTES_AUTO) {
        params.min_bytes = 0; /* it is the tuner that decides */
    }
    return params;
}

/* The longest chunk of a short stage; 0: there are none, as the NICs are fast, or
 * nothing is known of them. */
static uint64_t short_chunk(const fs_comm_t *comm)
{
    return comm->quarter < comm->params.chunk ? comm->quarter : 0;
}

/* The messages of a call: short enough for its stages, if there are several; and no
 * longer than the call, since staging memory is made of them.
 *
 * A short stage would be in the queue of its sender's NIC as soon as it is granted.
 * Behind it would wait, if the NIC is slow, the grants for which the next stages of
 * others wait. So most of it is left with the sender: what is on its way is what a
 * NIC sends in half a millisecond, which hides the time that a grant takes. */
static fs_plan_params_t cut(const fs_request_t *request, bool coarse)
{
    const fs_comm_t *comm     = request->comm;
    fs_plan_params_t params   = fs_params_plan(&comm->params);
    uint64_t         bound    = request->outcome.bound;
    uint32_t         n_stages = fs_ports_most_peers(comm->topo);
    bool is_short = n_stages > 1 && bound <= (uint64_t)n_stages * QUEUE &&
                    short_chunk(comm) > 0;
    uint64_t n_chunks = n_stages == 1 ? 1
                        : is_short    ? n_stages * FEWEST_SHORT
                                      : n_stages * FEWEST;
    uint64_t chunk    = fs_u64_div_up(bound, n_chunks * ALIGN) * ALIGN;

    chunk = fs_u64_min(chunk, is_short ? short_chunk(comm) : params.chunk);
    params.chunk = fs_u64_min(fs_u64_max(chunk, FINEST), params.chunk);
    if (coarse) {
        params.chunk *= COARSE;
    } else if (is_short) {
        params.window = fs_u32_min(SHORT_WINDOW, params.window);
    }
    return params;
}

/* For the tuner, a byte as a nanosecond: it finds the factor. */
static uint64_t as_ns(fs_u128_t cost)
{
    return cost >= FS_TUNER_UNKNOWN ? FS_TUNER_UNKNOWN - 1
                                    : fs_u64_max((uint64_t)cost, 1);
}

/* Are there perhaps blocks that the MPI would not send at once anyway, as some may be
 * four times as long as the mean of their rank, and not too many for a rank's memory? */
static bool may_be_eager(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;
    uint64_t         most = request->outcome.traffic.max_inter;

    return fs_eager_can(comm) && !comm->has_rdma && most <= FS_EAGER_MOST &&
           4 * most > (uint64_t)FS_EAGER_PIECE * (comm->topo->n_ranks - 1);
}

/* Late ranks aside, would it take little more than a schedule does? */
static bool pays_eager(const fs_request_t *request)
{
    const fs_comm_t    *comm    = request->comm;
    const fs_outcome_t *outcome = &request->outcome;
    const fs_traffic_t *traffic = &outcome->traffic;
    uint64_t            alpha   = comm->params.stage_cost;

    return traffic->inter_bytes > 0 && may_be_eager(request) &&
           fs_cost_native(comm->topo, traffic, outcome->bound, alpha) * 4 <=
               fs_cost_staged(comm->topo, traffic, outcome->bound, alpha) * 5;
}

/* What each candidate should take. A threshold that the user has set forces: the
 * native algorithm is not the first guess above it, and between staged and pipe2d
 * there is no choice. */
static void estimate(const fs_request_t *request, const fs_busiest_t *busiest,
                     uint64_t ns[FS_N_CANDIDATES])
{
    const fs_comm_t    *comm    = request->comm;
    const fs_outcome_t *outcome = &request->outcome;
    const fs_topo_t    *topo    = comm->topo;
    const fs_traffic_t *traffic = &outcome->traffic;
    fs_plan_params_t    params  = select_params(comm);
    uint64_t            alpha   = params.stage_cost;
    uint64_t            chunk   = cut(request, false).chunk;
    bool     forced = comm->params.mtm_threshold != FS_MTM_THRESHOLD_AUTO;
    uint64_t staged =
        as_ns(fs_cost_staged(topo, traffic, outcome->bound, alpha));

    ns[FS_CANDIDATE_NATIVE] =
        comm->params.min_bytes == FS_MIN_BYTES_AUTO
            ? as_ns(fs_cost_native(topo, traffic, outcome->bound, alpha))
            : FS_TUNER_UNKNOWN;
    ns[FS_CANDIDATE_EAGER] = comm->params.min_bytes == FS_MIN_BYTES_AUTO &&
                                     may_be_eager(request)
                                 ? ns[FS_CANDIDATE_NATIVE]
                                 : 0;
    ns[FS_CANDIDATE_BUNDLES] =
        busiest->cell <= fs_control_bundle_max(comm->control)
            ? as_ns(fs_cost_bundles(outcome->bound, alpha))
            : 0;
    if (!forced || outcome->choice.alg == FS_ALG_STAGED) {
        ns[FS_CANDIDATE_STAGED] = staged;
    }
    /* Where a lane's bytes are a chunk at most, it is the same. The first of them
     * takes longer through staging. */
    if (ns[FS_CANDIDATE_STAGED] != 0 && outcome->bound > chunk &&
        params.staging_limit / chunk / COARSE >=
            FS_STAGING_RINGS * FS_STAGING_MIN_SLOTS) {
        ns[FS_CANDIDATE_COARSE] =
            as_ns((fs_u128_t)staged + (COARSE - 1) * (fs_u128_t)chunk);
    }
    if (fs_select_can(topo, &params, FS_ALG_PIPE2D) &&
        (!forced || outcome->choice.alg == FS_ALG_PIPE2D)) {
        ns[FS_CANDIDATE_PIPE2D] =
            as_ns(fs_cost_pipe2d(topo, traffic, outcome->bound, alpha));
    }
}

static void describe(fs_request_t *request, const fs_busiest_t *busiest)
{
    fs_outcome_t       *outcome  = &request->outcome;
    const fs_topo_t    *topo     = request->comm->topo;
    const fs_traffic_t *traffic  = &outcome->traffic;
    uint32_t            of_class = fs_tuner_class(
                   traffic->inter_bytes, fs_traffic_mtm_milli(topo, traffic),
                   fs_cost_server_skew_milli(traffic, busiest));

    outcome->tuned = (fs_tuner_call_t){
        .of_class = fs_tuner_class_for(request->collective->tuned, of_class),
        .bound    = outcome->bound};
    estimate(request, busiest, outcome->tuned.estimate);
}

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
    fs_plan_params_t params = select_params(comm);
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
    outcome->choice = choose(request);
    if (is_tuned(comm) && outcome->traffic.inter_bytes > 0) {
        describe(request, &busiest);
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
    outcome->choice        = cached->choice;
    outcome->tuned         = cached->tuned;
    request->rest          = cached->rest;
    request->rest.bytes    = fs_control_rest(request->comm->control);
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

static bool is_coarse(const fs_outcome_t *outcome)
{
    return outcome->question.reason != FS_TUNER_NONE &&
           outcome->question.candidate == FS_CANDIDATE_COARSE;
}

/* Has the call been offered to bundles as this candidate wants it? */
static bool suits(const fs_request_t *request, fs_candidate_t candidate)
{
    uint64_t limit   = bundle_limit(request);
    uint64_t bundled = request->outcome.traffic.inter_bytes -
                       request->rest.inter_bytes;

    switch (candidate) {
    case FS_CANDIDATE_NATIVE:
    case FS_CANDIDATE_EAGER:
        return bundled == 0;
    case FS_CANDIDATE_BUNDLES:
        return limit == limits[candidate] || !(request->flags & FS_VOTE_REST);
    case FS_CANDIDATE_STAGED:
    case FS_CANDIDATE_COARSE:
    case FS_CANDIDATE_PIPE2D:
        return request->rest.inter_bytes > 0 &&
               (limit <= limits[candidate] || bundled == 0);
    }
    return false;
}

/* Where all that was bundled is not all, the choice is about the rest. */
static void take_candidate(fs_request_t *request)
{
    static const char *const reasons[][2] = {
        [FS_TUNER_GUESS] = {"guess of the tuner",
                            "guess of the tuner, coarse chunks"},
        [FS_TUNER_PROBE] = {"probe of the tuner",
                            "probe of the tuner, coarse chunks"},
        [FS_TUNER_FOUND] = {"faster according to the tuner",
                            "faster according to the tuner, coarse chunks"},
    };
    fs_outcome_t *outcome = &request->outcome;

    if (request->plans_only ||
        outcome->question.candidate != FS_CANDIDATE_BUNDLES) {
        outcome->choice.alg = algs[outcome->question.candidate];
    }
    outcome->choice.reason =
        reasons[outcome->question.reason][is_coarse(outcome)];
}

/* What the tuner wants to know; if this call is not prepared for it, the next one is
 * asked. */
static fs_tuner_question_t compare(const fs_request_t    *request,
                                   const fs_tuner_call_t *call)
{
    fs_tuner_t         *tuner    = &request->comm->tuner;
    fs_tuner_question_t question = fs_tuner_next(tuner, call);

    if (!suits(request, question.candidate)) {
        fs_tuner_withdraw(tuner, &question);
        question = fs_tuner_best(tuner, call);
    }
    return question;
}

static void apply_tuner(fs_request_t *request)
{
    fs_comm_t       *comm    = request->comm;
    fs_outcome_t    *outcome = &request->outcome;
    fs_tuner_call_t  call    = outcome->tuned;
    const fs_vote_t *vote    = fs_control_vote(comm->control);

    if (!is_tuned(comm) || outcome->choice.alg == FS_ALG_NATIVE ||
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
                            ? fs_tuner_best(&comm->tuner, &call)
                            : compare(request, &call);
    if (request->plans_only || suits(request, outcome->question.candidate)) {
        take_candidate(request);
    } else {
        outcome->question.reason = FS_TUNER_NONE;
    }
    comm->stats.tuner_probes += outcome->question.reason == FS_TUNER_PROBE;
}

/* The next call will be like this one. Of one that has begun early only the rest is
 * known. */
static void predict(const fs_request_t *request)
{
    fs_comm_t          *comm    = request->comm;
    const fs_outcome_t *outcome = &request->outcome;
    fs_tuner_question_t next;

    if (outcome->tuned.bound > 0 && !request->is_early) {
        next            = fs_tuner_peek(&comm->tuner, outcome->tuned.of_class);
        comm->predicts  = next.reason != FS_TUNER_NONE;
        comm->explores  = comm->predicts && next.reason != FS_TUNER_FOUND;
        comm->predicted = next.candidate;
    }
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
        fs_digest_add(request->counts_key,
                      (uint64_t)outcome->choice.alg << 1 | is_coarse(outcome));
    fs_request_recall(request);
}

/* What a call that was closed took, from the last entry to the last end. The native
 * algorithm is settled on without summaries, and each rank begins it when it has
 * learned the result of this one: what counts is the longest time of a rank in it. From
 * the last of them it would seem too fast where ranks share cores, since those that
 * knew first have sent what they have by then. */
static uint64_t exact_time(const fs_vote_t *vote, fs_candidate_t candidate)
{
    return is_left(candidate)              ? vote->max_ns
           : vote->whole_ns > vote->min_ns ? vote->whole_ns - vote->min_ns
                                           : 1;
}

/* About: bundles have come during the summary, from the servers that were ready
 * first a part of the time before. 0: nobody knows. */
static uint64_t rough_time(const fs_vote_t *vote, fs_candidate_t candidate)
{
    uint64_t ns = vote->max_ns;

    return ns == 0 || is_left(candidate) || fs_u64_add(ns, vote->min_ns, &ns)
               ? ns
               : UINT64_MAX;
}

static void tell_tuner(fs_comm_t *comm, const fs_vote_t *vote)
{
    const fs_tuner_question_t *question = &comm->last.question;

    if (vote->whole_ns != 0) {
        fs_tuner_update(&comm->tuner, question,
                        exact_time(vote, question->candidate));
    } else {
        fs_tuner_hear(&comm->tuner, question,
                      rough_time(vote, question->candidate));
    }
}

/* What a call took that has gone eager since then. */
static void time_eager(fs_comm_t *comm, const fs_vote_t *vote)
{
    uint64_t bytes    = comm->apart.usual_bytes;
    uint64_t first_ns = vote->max_waited -
                        fs_u64_min(vote->min_ns, vote->max_waited);

    if (vote->flags & FS_FLAG_UNLIKE) {
        fs_apart_eager_note(&comm->apart_eager, false);
        return;
    }
    fs_apart_eager_timed(&comm->apart_eager,
                         bytes > 0 ? fs_apart_price(first_ns, bytes) : 0,
                         comm->apart.usual);
}

/* While ranks compute in a nonblocking call nothing of theirs moves: they come apart if
 * some compute longer. */
static void expect(fs_comm_t *comm, const fs_vote_t *vote)
{
    const fs_last_call_t *last    = &comm->last;
    uint64_t              settled = last->is_early ? vote->min_ns : 0;
    fs_apart_call_t       call    = {
                 .early    = last->is_early,
                 .computes = last->is_nonblocking,
                 .bytes    = last->max_inter,
                 .round_ns = vote->min_ns,
                 .run_ns   = vote->max_ns,
                 .apart_ns = fs_entries_apart(vote->max_waited, vote->last),
                 .after_ns = fs_entries_time(vote->last) + settled + vote->max_ns};

    if (last->is_eager) {
        time_eager(comm, vote);
        return;
    }
    fs_apart_note(&comm->apart, &call);
    if (call.bytes > 0) {
        fs_apart_eager_note(&comm->apart_eager,
                            fs_apart_counts(&call, FS_APART_EAGER_PART) &&
                                comm->may_be_eager && !call.computes &&
                                !(vote->flags & FS_FLAG_UNLIKE));
    }
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

/* Has this run been faster than all before it, so that chunks are others? */
static bool learn_quarter(fs_comm_t *comm, const fs_timed_run_t *run)
{
    uint64_t before = short_chunk(comm);

    comm->quarter = fs_u64_max(comm->quarter, fs_calibration_quarter(run));
    return short_chunk(comm) != before;
}

/* What the last run says of the network. Plans made by what was known before are
 * stale. */
static void calibrate(fs_comm_t *comm, const fs_timed_run_t *run)
{
    bool costs = fs_calibration_update(&comm->calibration, run,
                                       &comm->params.stage_cost);

    if (learn_quarter(comm, run) || costs) {
        fs_plan_cache_clear(&comm->cache);
    }
}

/* Times of the last call. */
static void apply_times(fs_comm_t *comm, const fs_vote_t *vote)
{
    fs_timed_run_t run = comm->last.run;

    expect(comm, vote);
    if (!comm->last.is_nonblocking && !comm->last.is_eager) {
        fs_entries_add(&comm->entries, vote->max_waited, vote->last);
    }
    tell_tuner(comm, vote);
    comm->stats.tuner_gone_back = comm->tuner.n_native;
    run.ns                      = vote->max_ns;
    if (comm->params.calibrate) {
        calibrate(comm, &run);
    }
    comm->stats.stage_cost = comm->params.stage_cost;
    comm->last             = (fs_last_call_t){0};
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
                   is_left(served);
    fs_seen_t seen = {.tuned     = request->collective->tuned,
                      .settled   = settled,
                      .served    = served,
                      .counts    = settled && round_counts(comm, outcome, vote),
                      .unlike    = vote->flags & FS_FLAG_UNLIKE,
                      .own_bytes = fs_request_own_bytes(request)};

    fs_unseen_note(&comm->unseen, &seen);
}

static void decide(fs_request_t *request)
{
    fs_comm_t       *comm = request->comm;
    const fs_vote_t *vote = fs_control_vote(comm->control);

    apply_times(comm, vote);
    if (vote->sum[0] != vote->sum[1] ||
        (vote->flags & FS_VOTE_ROWS && vote->flags & FS_VOTE_UNIFORM)) {
        request->outcome.choice =
            fs_comm_leave("send and receive counts differ");
        request->outcome.status = FS_ERR_MISMATCH;
        return;
    }
    find_out(request, vote);
    choose_early_chunk(request);
    apply_tuner(request);
    find_plan(request);
    predict(request);
    if (request->is_early) {
        fs_unseen_heed(&comm->unseen, vote->flags & FS_FLAG_UNLIKE);
    } else {
        comm->may_be_eager = pays_eager(request);
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
    fs_comm_t         *comm   = request->comm;
    fs_plan_params_t   params = cut(request, is_coarse(&request->outcome));
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
