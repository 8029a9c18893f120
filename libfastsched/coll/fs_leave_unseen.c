/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_leave_unseen.h"

#include "base/fs_arith.h"

/* The MPI can access the buffers of all where there are no accelerators. */
static bool may(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return !fs_request_is_nonblocking(request) && !request->plans_only &&
           !comm->has_accel && !fs_request_begins_early(request);
}

/* A call that is unlike the others has gone unseen: no time is worth that. */
static bool has_erred(const fs_comm_t *comm)
{
    return comm->unseen.factor > 1;
}

/* Not while the answer of another one is on its way. */
static bool is_timed(const fs_request_t *request)
{
    const fs_comm_t           *comm = request->comm;
    const fs_tuner_question_t *next = &comm->foreseen;
    const fs_tuner_question_t *last = &comm->last.question;

    return may(request) && comm->repeats && !has_erred(comm) &&
           next->reason != FS_TUNER_NONE && next->closes &&
           next->candidate == FS_CANDIDATE_NATIVE &&
           fs_tuner_tuned(comm->seen.of_class) == request->collective->tuned &&
           !(last->closes && last->candidate == FS_CANDIDATE_NATIVE);
}

static void ask(fs_request_t *request)
{
    fs_comm_t    *comm    = request->comm;
    fs_outcome_t *outcome = &request->outcome;

    fs_unseen_compare(&comm->unseen, fs_request_own_bytes(request));
    outcome->unseen_inter = request->call->counts->sent_inter;
    outcome->question     = fs_tuner_next(&comm->tuner, &comm->seen);
    outcome->choice       = fs_comm_leave("timed by the tuner, without a look");
}

bool fs_leave_unseen(fs_request_t *request)
{
    fs_comm_t    *comm    = request->comm;
    fs_outcome_t *outcome = &request->outcome;

    if (is_timed(request)) {
        ask(request);
    } else if (may(request) &&
               fs_unseen_take(&comm->unseen, request->collective->tuned,
                              fs_request_own_bytes(request))) {
        outcome->choice =
            fs_comm_leave("faster according to the tuner, without a look");
    } else {
        return false;
    }
    outcome->decided_ns = outcome->entered_ns;
    return true;
}

bool fs_unseen_should_time(const fs_request_t        *request,
                           const fs_tuner_question_t *question)
{
    const fs_comm_t *comm = request->comm;

    return question->closes && question->candidate == FS_CANDIDATE_NATIVE &&
           may(request) && !has_erred(comm) &&
           comm->seen.of_class == question->of_class;
}

/* The call that was seen had other counts. */
static uint64_t own_bound(const fs_comm_t *comm, uint64_t inter_bytes)
{
    fs_u128_t bound = (fs_u128_t)comm->seen.bound * inter_bytes /
                      fs_u64_max(comm->seen_bytes, 1);

    return bound > UINT64_MAX ? UINT64_MAX : fs_u64_max((uint64_t)bound, 1);
}

bool fs_unseen_counts(fs_comm_t *comm, const fs_vote_t *vote)
{
    fs_tuner_question_t *question = &comm->outcome.question;
    bool                 counts   = !(vote->flags & FS_FLAG_UNLIKE);

    if (!counts) {
        fs_tuner_withdraw(&comm->tuner, question);
        comm->repeats     = false;
        comm->unseen.left = 0;
    }
    fs_comm_learn(comm, vote);
    comm->foreseen  = fs_tuner_peek(&comm->tuner, comm->seen.of_class);
    question->bound = own_bound(comm, vote->sum[0]);
    comm->stats.tuner_probes += counts && question->reason == FS_TUNER_PROBE;
    return counts;
}
