/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request: one operation of a communicator, from its call to its end, in steps
 * that can be taken one by one.
 *
 * One that is posted with a plan, a persistent call, runs it at once.
 *
 * The requests of a communicator are in a queue, in the order of their calls,
 * which is the same on all ranks; only the first one makes progress. A thread
 * that progresses the net also progresses the requests of all its
 * communicators. A blocking call is a request that is posted and waited for; a
 * nonblocking one is posted, and says when it is done.
 */
#ifndef FS_REQUEST_H
#define FS_REQUEST_H

#include "base/fs_arith.h"
#include "comm/fs_comm.h"
#include "coll/fs_collective.h"
#include "coll/fs_watchdog.h"

typedef enum fs_step {
    FS_STEP_BEGIN,   /* first in the queue: send our control message */
    FS_STEP_EARLY,   /* exchange with those who are here until all are */
    FS_STEP_SUMMARY, /* receive those of all ranks, decide and plan */
    FS_STEP_AGREE,   /* could all ranks plan? */
    FS_STEP_RUN,     /* the program */
    FS_STEP_REPORT,  /* for parameter verbose or the tuner: send our time */
    FS_STEP_SLOWEST, /* and receive that of the slowest rank */
    FS_STEP_DRAIN,   /* the last that goes early is still on its way */
    FS_STEP_LAST,    /* after an error: notify the peers */
    FS_STEP_DONE
} fs_step_t;

struct fs_request {
    fs_comm_t             *comm;
    const fs_collective_t *collective;
    const fs_call_t *call; /* borrowed until DONE; once it has begun early,
                                    what is left of it */
    /* Of a nonblocking call: it is DONE and out of the queue. Under the net's lock,
     * and must only take notes; the request may be freed from then on. NULL: the
     * call is blocking. */
    void (*done)(fs_request_t *request);
    fs_request_t *next;        /* in the queue */
    uint64_t      call_number; /* of all calls, for the trace */
    uint32_t      number;      /* in the order of calls, on the wire */
    fs_step_t     step;
    fs_status_t   status; /* once DONE */
    bool          ran; /* here; if not, the native algorithm serves the call */
    uint32_t      n_calls; /* that it serves: several, if it is a frame */
    bool          again;   /* its summary has been started before, as that of
                              another frame */
    bool          is_prepared;
    bool
        untouched; /* it has ended without a message: the communicator was lost */
    bool is_early; /* it has begun early */
    bool
        plans_only; /* nothing is to run: DONE when all ranks agree on a choice,
                        and on its plan if it has one */
    bool
        repeats; /* the native algorithm serves it to compare, or eager messages,
                        though some has come in bundles */
    const fs_vote_t  *report;      /* what REPORT says; NULL: the call's time */
    fs_watchdog_t     watchdog;    /* of the step */
    uint64_t          started_ns;  /* of the program */
    uint64_t          deadline_ns; /* after an error; 0: none yet */
    uint64_t          flags;       /* of all ranks, in the summary */
    uint64_t          counts_key;  /* of counts, layouts and bundles */
    uint64_t          key;         /* of these and the algorithm */
    uint64_t          offered;     /* digest of this rank's parts of bundles */
    fs_traffic_t      rest;        /* what is not in bundles: to be planned */
    fs_choice_t       untuned; /* by size and skew, before the tuner chooses */
    fs_cached_plan_t *plan;    /* this is a user of it; NULL: none yet */
    fs_outcome_t      outcome;
};

/* Flags of a vote: set in the result if any rank sets them. */
enum {
    FS_FLAG_DECLINE   = 1, /* this rank cannot run the call */
    FS_FLAG_PREPARES  = 2, /* it has to prepare the call, which may fail */
    FS_FLAG_REFUSES   = 4, /* nobody can run the call, see FS_CONSENT_NO */
    FS_FLAG_NO_NATIVE = 8, /* the MPI cannot, see FS_CONSENT_OURS */
    FS_FLAG_CONFIRMS =
        16, /* its peers have to confirm arrival, fs_net_t.local_arrives */
    FS_FLAG_NONBLOCKING =
        32, /* the MPI's own algorithm would have had to be chosen in the call: it
               takes its place in the order of the communicator's collectives when
               it starts */
    FS_FLAG_UNLIKE =
        64 /* it has left a call to the MPI unseen that was not like those that
              were seen */
};

/* Do calls begin early now? The same on all ranks at the same call. */
static inline bool fs_comm_begins_early(const fs_comm_t *comm)
{
    return comm->early != NULL && comm->params.algorithm != FS_ALGORITHM_OFF &&
           (comm->params.early == FS_EARLY_ON || comm->apart.left > 0);
}

/* What should serve it, as far as the calls before tell. */
static inline fs_forecast_t *fs_request_forecast(const fs_request_t *request)
{
    return &request->comm->forecast[request->collective->tuned];
}

/* Are its bundles coarse? The same on all ranks in the same collective. */
static inline bool fs_request_is_coarse(const fs_request_t *request)
{
    const fs_forecast_t *forecast = fs_request_forecast(request);

    return forecast->known &&
           forecast->candidate == FS_CANDIDATE_BUNDLES_COARSE;
}

static inline bool fs_request_is_nonblocking(const fs_request_t *request)
{
    return request->done != NULL;
}

/* Of its counts, for fs_unseen.h. */
static inline uint64_t fs_request_own_bytes(const fs_request_t *request)
{
    const fs_counts_t *counts = request->call->counts;

    return fs_u64_max(counts->sent_inter, counts->received_inter);
}

/* From its entry until all had entered, and this rank knew. */
static inline uint64_t fs_outcome_waited_ns(const fs_outcome_t *outcome)
{
    return (outcome->gathered_ns != 0 ? outcome->gathered_ns
                                      : outcome->decided_ns) -
           outcome->entered_ns;
}

/* What the next summary will say of it. The program's own time is in that of a
 * nonblocking call: of its stages nothing is learned. */
static inline fs_last_call_t fs_last_call_of(const fs_outcome_t *outcome,
                                             bool                is_nonblocking,
                                             fs_timed_run_t      run)
{
    bool early = outcome->whole_inter != 0;

    run.rounds = is_nonblocking ? 0 : run.rounds;
    return (fs_last_call_t){
        .is_nonblocking = is_nonblocking,
        .is_early       = early,
        .is_eager       = outcome->timed,
        .max_inter = early ? outcome->whole_inter : outcome->traffic.max_inter,
        .question  = outcome->question,
        .run       = run,
        .round_ns  = outcome->decided_ns -
                    (early ? outcome->gathered_ns : outcome->entered_ns),
        .waited_ns = fs_outcome_waited_ns(outcome)};
}

/* Does the call end with a round, so that all know how long it took? The same on all
 * ranks. */
static inline bool fs_outcome_closes(const fs_outcome_t *outcome)
{
    return outcome->timed || (outcome->question.reason != FS_TUNER_NONE &&
                              outcome->question.closes);
}

/* That round, which began at ended_ns, is over. Whoever entered last saw the least of
 * the whole, whoever ended last the least of the round: their difference is the time from
 * the last entry to the last end. The most of the whole, which an eager call that was
 * not seen has for the time that it waited, began with the first entry. */
static inline void fs_last_call_close(fs_last_call_t     *last,
                                      const fs_outcome_t *outcome,
                                      uint64_t ended_ns, uint64_t now_ns)
{
    last->round_ns = now_ns - ended_ns;
    last->whole_ns = now_ns - outcome->entered_ns - outcome->plan_ns;
    if (last->is_eager) {
        last->waited_ns = last->whole_ns;
    }
}

/* A new operation; call is borrowed. */
void fs_request_init(fs_request_t *request, fs_comm_t *comm,
                     const fs_collective_t *collective, const fs_call_t *call);

/* Put it at the end of the queue; its first step is BEGIN, REPORT or LAST. The
 * communicator has a network. */
void fs_request_post(fs_request_t *request, fs_step_t step);

/* Progress the net until it is DONE. Returns its status. */
fs_status_t fs_request_wait(fs_request_t *request);

/* Progress the net until the queue is empty. */
void fs_request_wait_all(fs_comm_t *comm);

/* Release what it holds. */
void fs_request_fini(fs_request_t *request);

/* ---- what the collectives use of the steps: fs_request_plan.c, fs_request_end.c ---- */

/* The plan of an earlier call with its key, if there is one. */
void fs_request_recall(fs_request_t *request);

/* What this rank says of its buffers: flags of a vote. */
uint64_t fs_request_consent(const fs_request_t *request);

/* fs_call_t.prepare, once. */
fs_status_t fs_request_prepare(fs_request_t *request);

/* After it has failed outside the queue, which is empty: the communicator is lost, and its
 * peers are notified. Returns the status. */
fs_status_t fs_request_give_up(fs_request_t *request, fs_status_t status);

#endif
