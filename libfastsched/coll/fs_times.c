/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_times.h"

#include "base/fs_arith.h"
#include "coll/fs_chunks.h"

/* What a call that was closed took, from the last entry to the last end. The native
 * algorithm is settled on without summaries, and each rank begins it when it has
 * learned the result of this one: what counts is the longest time of a rank in it. From
 * the last of them it would seem too fast where ranks share cores, since those that
 * knew first have sent what they have by then. */
static uint64_t exact_time(const fs_vote_t *vote, fs_candidate_t candidate)
{
    return fs_unseen_can(candidate)        ? vote->max_ns
           : vote->whole_ns > vote->min_ns ? vote->whole_ns - vote->min_ns
                                           : 1;
}

/* About: bundles have come during the summary, from the servers that were ready
 * first a part of the time before. 0: nobody knows. */
static uint64_t rough_time(const fs_vote_t *vote, fs_candidate_t candidate)
{
    uint64_t ns = vote->max_ns;

    return ns == 0 || fs_unseen_can(candidate) ||
                   fs_u64_add(ns, vote->min_ns, &ns)
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

/* Has this run been faster than all before it, so that chunks are others? */
static bool learn_quarter(fs_comm_t *comm, const fs_timed_run_t *run)
{
    uint64_t before = fs_chunks_short(comm);

    comm->quarter = fs_u64_max(comm->quarter, fs_calibration_quarter(run));
    return fs_chunks_short(comm) != before;
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

void fs_times_apply(fs_comm_t *comm, const fs_vote_t *vote)
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
