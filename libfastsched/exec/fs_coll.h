/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files about one communicator share. */
#ifndef FS_COLL_H
#define FS_COLL_H

#include "accel/fs_accel.h"
#include "exec/fs_calibration.h"
#include "exec/fs_exec.h"
#include "exec/fs_guard.h"
#include "exec/fs_meta.h"
#include "exec/fs_plan_cache.h"
#include "exec/fs_quiet.h"
#include "exec/fs_shm.h"
#include "exec/fs_transport.h"
#include "exec/fs_watchdog.h"

struct fs_coll {
    fs_net_t       *net;
    fs_net_t       *own_net; /* the same, if it serves this one alone */
    fs_host_t       host;
    fs_params_t     params;
    fs_topo_t      *topo;
    fs_transport_t *transport;
    fs_shm_t        shm; /* under meta */
    fs_meta_t      *meta;
    fs_exec_t      *exec;
    fs_trace_t     *trace; /* NULL: off */
    uint32_t        rank;
    bool            dead;
    uint64_t        drain_until_ns;
    fs_watchdog_t   watchdog; /* over the wait in hand */
    char            error[512];
    fs_coll_stats_t stats;
    /* Of all ranks, [n_ranks], for the farewell; NULL without parameter stats,
     * and on one server. */
    fs_coll_stats_t *all_stats;
    uint64_t id; /* the same on all ranks, another for each communicator */
    /* fs_wrapper.c: */
    const char *comm_name;
    fs_coll_t  *next; /* of those that have had no farewell yet */
    /* From call to call; equal on every rank but for what fs_quiet.h says. */
    fs_plan_cache_t  cache;
    fs_quiet_t       quiet;
    fs_guard_t       guard;
    fs_calibration_t calibration; /* of params.stage_cost */
    /* Times of the last call on this rank, for the next summary; 0: none. */
    uint64_t told_run_ns;
    uint64_t told_summary_ns;
    /* The call in hand, then the last one, for fs_coll_describe(). */
    uint64_t                entered_ns;
    uint64_t                decided_ns; /* the summary is over */
    bool                    summarised; /* what follows is of this call */
    fs_choice_t             choice;
    fs_traffic_t            traffic;
    uint64_t                bound;     /* fs_traffic_lower_bound() */
    uint64_t                key;       /* of counts and layouts */
    const fs_cached_plan_t *hit;       /* NULL: no such call before */
    bool                    prepares;  /* some rank has to prepare */
    bool                    confirms;  /* some rank's network needs it */
    bool                    looks;     /* the guard wants the host's time */
    fs_decompose_t          decompose; /* of a staged call, like n_stages */
    uint32_t                n_stages;
    uint64_t                slowest_ns; /* with parameter verbose only */
};

/* What ranks tell each other in flags; one is enough. */
enum {
    FS_FLAG_DECLINE  = 1,  /* this rank cannot run the call */
    FS_FLAG_PREPARES = 2,  /* it has to prepare the call, which may fail */
    FS_FLAG_MISSED   = 4,  /* it has seen a large call go without a summary */
    FS_FLAG_REFUSES  = 8,  /* nobody can run the call, see FS_CONSENT_NO */
    FS_FLAG_NO_HOST  = 16, /* the host cannot, see FS_CONSENT_OURS */
    FS_FLAG_CONFIRMS = 32  /* what it sends needs it, fs_net_t.local_arrives */
};

/* Kinds of device memory that messages of this communicator may be in, as the
 * network and parameter accel_direct allow: bits 1 << fs_mem_kind_t. Local. */
unsigned fs_coll_mem_kinds(const fs_coll_t *coll);

/* Can the network read and write the blocks where they are? */
static inline bool fs_call_sends_packed(const fs_call_t *call)
{
    return call->send_block != NULL &&
           !(call->device.staged && fs_mem_is_device(call->device.send_mem));
}

static inline bool fs_call_receives_packed(const fs_call_t *call)
{
    return call->recv_block != NULL &&
           !(call->device.staged && fs_mem_is_device(call->device.recv_mem));
}

/* What this rank has to say about its counts, and about the call before. */
fs_meta_word_t fs_coll_word(const fs_coll_t *coll, const fs_call_t *call);

/* After the summary: choice, and what belongs to it. */
void fs_coll_decide(fs_coll_t *coll, const fs_call_t *call);

/* To the host's algorithm, and why. */
fs_choice_t fs_coll_leave(const char *reason);

/* Compare all counts of a call, before anything moves (parameter check).
 * Collective. FS_OK; FS_ERR_MISMATCH on every rank, coll->error names the
 * pair; FS_ERR_NOMEM; FS_ERR_HOST. */
fs_status_t fs_coll_check_counts(fs_coll_t *coll, const fs_call_t *call);

/* Write the trace, if there is one; a failure is told to the host. */
void fs_coll_write_trace(fs_coll_t *coll);

#endif
