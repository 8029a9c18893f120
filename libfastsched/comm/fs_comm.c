/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be asked of a communicator. */
#include "comm/fs_comm.h"

#include "sched/model/fs_topo.h"

bool fs_comm_active(const fs_comm_t *comm)
{
    return comm->params.check || comm->params.verbose > 0 ||
           (comm->topo->n_servers > 1 &&
            comm->params.algorithm != FS_ALGORITHM_OFF);
}

const fs_topo_t *fs_comm_topo(const fs_comm_t *comm)
{
    return comm->topo;
}

unsigned fs_comm_mem_kinds(const fs_comm_t *comm)
{
    fs_accel_direct_t direct = comm->params.accel_direct;

    return comm->net == NULL || direct == FS_ACCEL_DIRECT_NEVER ||
                   (direct == FS_ACCEL_DIRECT_AUTO && !comm->net->rdma)
               ? 0
               : comm->net->mem_kinds;
}

/* To the native algorithm, and why. */
fs_choice_t fs_comm_leave(const char *reason)
{
    return (fs_choice_t){FS_ALG_NATIVE, false, reason};
}

void fs_comm_count(fs_comm_t *comm, const fs_outcome_t *outcome,
                   uint64_t ended_ns)
{
    comm->stats.ns_by[outcome->choice.alg] += ended_ns - outcome->entered_ns;
    if (outcome->choice.alg == FS_ALG_NATIVE) {
        ++comm->stats.calls_by[FS_ALG_NATIVE];
        fs_account_leave(&comm->account, outcome->choice.reason);
    }
    if (outcome->bound > 0) {
        fs_account_add(&comm->account, outcome->line, outcome->bound,
                       outcome->traffic.inter_bytes);
    }
}

const char *fs_comm_error(const fs_comm_t *comm)
{
    return comm->error;
}

fs_alg_t fs_comm_last_alg(const fs_comm_t *comm)
{
    return comm->outcome.choice.alg;
}

static void get_entries(const fs_comm_t *comm, fs_comm_stats_t *stats)
{
    const fs_entries_t *entries = &comm->entries;

    stats->apart_calls  = entries->n_calls;
    stats->apart_ns     = entries->sum_ns;
    stats->apart_max_ns = entries->max_ns;
    if (entries->n_ranks > 0) {
        stats->last_rank  = fs_entries_latest(entries);
        stats->last_calls = entries->n_last[stats->last_rank];
    }
}

void fs_comm_get_stats(const fs_comm_t *comm, fs_comm_stats_t *stats_p)
{
    /* Without the lock, which the MPI_Op of a program that reads them may be under. */
    *stats_p         = comm->stats;
    stats_p->dropped = comm->net != NULL ? comm->net->n_dropped : 0;
    get_entries(comm, stats_p);
}
