/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_leave_unseen.h"

/* The MPI can access the buffers of all where there are no accelerators. */
static bool may(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return !fs_request_is_nonblocking(request) && !request->plans_only &&
           !comm->has_accel && !fs_comm_begins_early(comm);
}

/* Not where calls that are unlike follow each other. */
static bool may_time(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    return may(request) && comm->repeats && comm->unseen.factor <= 1;
}

static bool is_timed(const fs_request_t *request)
{
    const fs_comm_t           *comm = request->comm;
    const fs_tuner_question_t *next = &comm->foreseen;

    return may_time(request) && next->reason != FS_TUNER_NONE && next->closes &&
           next->candidate == FS_CANDIDATE_NATIVE &&
           comm->seen_tuned == request->collective->tuned;
}

static void ask(fs_request_t *request)
{
    fs_comm_t    *comm    = request->comm;
    fs_outcome_t *outcome = &request->outcome;

    fs_unseen_compare(&comm->unseen, fs_request_own_bytes(request));
    outcome->question = fs_tuner_next(&comm->tuner, &comm->seen);
    outcome->choice   = fs_comm_leave("timed by the tuner, without a look");
    comm->stats.tuner_probes += outcome->question.reason == FS_TUNER_PROBE;
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

bool fs_unseen_should_time(const fs_request_t *request)
{
    return request->outcome.question.candidate == FS_CANDIDATE_NATIVE &&
           may_time(request);
}

bool fs_unseen_counts(fs_comm_t *comm, const fs_vote_t *vote)
{
    fs_net_lock(comm->net); /* a helper may be planning */
    fs_comm_learn(comm, vote);
    if (vote->flags & FS_FLAG_UNLIKE) {
        fs_tuner_withdraw(&comm->tuner, &comm->outcome.question);
        comm->repeats = false;
    }
    comm->foreseen = fs_tuner_peek(&comm->tuner, comm->seen.of_class);
    pthread_mutex_unlock(&comm->net->lock);
    return !(vote->flags & FS_FLAG_UNLIKE);
}
