/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files about one communicator share. */
#ifndef FS_COMM_H
#define FS_COMM_H

#include "accel/fs_accel.h"
#include "policy/fs_account.h"
#include "policy/fs_apart.h"
#include "policy/fs_apart_eager.h"
#include "policy/fs_calibration.h"
#include "comm/fs_control.h"
#include "engine/fs_early.h"
#include "policy/fs_entries.h"
#include "engine/fs_exec.h"
#include "policy/fs_late.h"
#include "policy/fs_tuner.h"
#include "policy/fs_tuning.h"
#include "policy/fs_unseen.h"
#include "policy/fs_plan_cache.h"
#include "net/fs_shm.h"
#include "net/fs_transport.h"
#include "sched/decompose/fs_replan.h"

typedef struct fs_request       fs_request_t;
typedef struct fs_frame_request fs_frame_request_t;

/* The decision on a call, and its times. */
typedef struct fs_outcome {
    uint64_t     entered_ns;
    uint64_t     gathered_ns; /* all have entered; 0: not known apart */
    uint64_t     decided_ns;  /* the summary is over */
    uint64_t     native_ns;   /* the native algorithm begins; 0: at once then */
    uint64_t     slowest_ns;  /* with parameter verbose only */
    bool         summarised;  /* what follows is known */
    fs_status_t  status;      /* of the decision */
    bool         recalled;    /* the plan comes from an earlier call */
    bool         plan_lasts;  /* it is new, and calls seem to be alike */
    uint64_t     plan_ns;     /* what it took then, which later calls save */
    uint64_t     ended_ns;    /* if it is closed: before that */
    fs_choice_t  choice;
    fs_traffic_t traffic;
    uint64_t     bound;       /* fs_traffic_lower_bound() */
    uint64_t     whole_inter; /* traffic.max_inter with what has gone early;
                                        0: nothing has */
    uint32_t     line;        /* whose it is, fs_busiest_t */
    bool timed; /* it goes eager without a summary, and its time counts */
    fs_tuner_call_t     tuned; /* what the tuner has to know of it */
    fs_tuner_question_t question;
    fs_decompose_t      decompose; /* of a plan that ran, like n_stages */
    uint32_t            n_stages;
    uint32_t            straggler;     /* of FS_ALG_STRAGGLAR */
    bool                streams;       /* likewise: in finer pieces */
    uint64_t            reduced_bytes; /* of an allreduce whose time counts */
} fs_outcome_t;

/* What should serve the next call of a collective; equal on all ranks. */
typedef struct fs_forecast {
    bool               known;
    bool               explores; /* it is to be compared */
    fs_candidate_t     candidate;
    uint32_t           of_class; /* what it should be of */
    fs_tuner_history_t history;
    uint64_t           inter_bytes, bound; /* of the last one */
} fs_forecast_t;

/* What the next summary reports about a call: times on this rank, 0 if unknown,
 * and the tuner's question that they answer. */
typedef struct fs_last_call {
    bool     is_nonblocking; /* the same on all ranks, like the next two */
    bool     is_early;
    bool     is_eager;  /* without a summary, and timed */
    uint64_t max_inter; /* largest volume of a rank between servers */
    fs_tuner_question_t question;
    fs_timed_run_t      run; /* from the end of the summary on */
    uint64_t round_ns; /* of its summary; if it was closed, of that round */
    uint64_t
        whole_ns; /* if it was closed: of all, that round too, but plan_ns */
    uint64_t
        waited_ns; /* until all had entered, and it knew; of one that is_eager:
                           whole_ns */
} fs_last_call_t;

struct fs_comm {
    fs_task_t task; /* first; on the net's list while the queue is not empty */
    fs_request_t       *first; /* of the queue */
    uint32_t            n_requests;
    fs_frame_request_t *frame;   /* NULL: none yet */
    uint64_t            n_calls; /* for traces and messages */
    fs_outcome_t        outcome; /* of the last blocking call */
    fs_net_t           *net;
    fs_net_t           *own_net; /* the same, if it serves this one alone */
    fs_native_t         native;
    fs_params_t         params;
    fs_topo_t          *topo;
    fs_transport_t     *transport;
    fs_shm_t            shm; /* memory of control */
    fs_control_t       *control;
    fs_exec_t          *exec;
    fs_early_t         *early; /* NULL: nothing moves before all have entered */
    fs_trace_t         *trace; /* NULL: off */
    uint32_t            rank;
    uint32_t            world_rank; /* fs_member_t, for a trace */
    bool                is_awaited; /* fs_request_wait_all() */
    bool                waits_only; /* nobody progresses it between calls */
    bool                dead;
    bool                has_accel;                /* some rank */
    bool                has_rdma;                 /* likewise, its network */
    bool                eager_open, eager_failed; /* fs_eager_open() */
    fs_cached_plan_t   *lost_plan; /* of the program that died with it */
    char                error[512];
    fs_comm_stats_t     stats;
    /* Of all ranks, [n_ranks], for the report; NULL without parameter stats,
     * and on one server. */
    fs_comm_stats_t *all_stats;
    uint64_t id; /* the same on all ranks, another for each communicator */
    /* From call to call; equal on every rank. */
    fs_plan_cache_t  cache;
    fs_replan_t      replan;
    fs_tuner_t       tuner;
    fs_calibration_t calibration; /* of params.stage_cost */
    uint64_t       quarter; /* fs_calibration_quarter() of the best run, or 0 */
    fs_last_call_t last;
    fs_unseen_t    unseen;
    fs_entries_t   entries;
    fs_account_t   account;
    fs_late_t      late;                 /* of allreduces */
    fs_forecast_t  forecast[FS_N_TUNED]; /* the next call of each */
    /* Up to the request of this number they go in no frame; frames before it that did
     * not pay, one after the other. */
    uint32_t         alone_until, n_dissolved;
    fs_plan_params_t wired; /* by which its peers were chosen */
    uint64_t wishes; /* of all ranks, at the last blocking call: fs_wish.h */
    uint32_t
         n_unlike; /* such calls in a row after which nothing could change */
    bool looked;   /* what follows is known: */
    uint32_t         looked_at; /* this algorithm */
    bool             can_run;   /* fs_comm_is_wired_for() */
    fs_apart_t       apart;
    fs_apart_eager_t apart_eager;
    bool       may_be_eager; /* the last call that was seen, and all like it */
    fs_tuned_t seen;         /* its collective; */
    uint64_t   seen_bytes;   /* of this rank, fs_request_own_bytes() */
    uint64_t   early_chunk;  /* of calls that begin early */
    uint64_t
        lull_ns; /* in the last of them, from the last entry to the plan; of
                         this rank */
};

/* Kinds of device memory that messages of this communicator may be in, as the
 * network and parameter accel_direct allow: bits 1 << fs_mem_kind_t. Local. */
unsigned fs_comm_mem_kinds(const fs_comm_t *comm);

/* The tuner of a new communicator gets the results that rank 0 has from parameter
 * tuning. Collective, with a network. FS_OK; FS_ERR_NOMEM, FS_ERR_NATIVE on all
 * ranks. */
fs_status_t fs_comm_get_tuning(fs_comm_t *comm);

/* Add the results of its tuner. FS_OK, or as fs_tuning_add(). */
fs_status_t fs_comm_put_tuning(const fs_comm_t *comm, fs_tuning_t *learned);

/* Has this rank the peers that it needs for another value of parameter algorithm? Looks
 * at all ranks. */
bool fs_comm_is_wired_for(const fs_comm_t *comm, uint32_t algorithm);

/* A blocking call has ended like this. */
void fs_comm_count(fs_comm_t *comm, const fs_outcome_t *outcome,
                   uint64_t ended_ns);

/* The native algorithm, for this reason. */
fs_choice_t fs_comm_leave(const char *reason);

/* Write the trace, if there is one; a failure becomes a warning. */
void fs_comm_write_trace(fs_comm_t *comm);

/* A forced algorithm has no bundles, and bypasses the tuner. */
static inline bool fs_comm_is_auto(const fs_comm_t *comm)
{
    return comm->params.algorithm == FS_ALGORITHM_AUTO;
}

static inline bool fs_comm_is_tuned(const fs_comm_t *comm)
{
    return fs_comm_is_auto(comm) && comm->params.tuner;
}

#endif
