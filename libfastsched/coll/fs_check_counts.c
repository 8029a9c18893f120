/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameter check: does every rank expect what is sent to it?
 *
 * For debugging: P x P counts cross the network, by the MPI's allgather,
 * so that a call whose counts disagree ends with the names of the two ranks
 * instead of a hang or a truncated message.
 */
#include "coll/fs_check_counts.h"

#include "sched/model/fs_topo.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct disagreement {
    uint32_t found;
    uint32_t src;
    uint64_t sent;
    uint64_t expected;
} disagreement_t;

/* The lowest sender whose count for this rank is not what this rank expects.
 * counts is [n_ranks x n_ranks]: every rank's send_bytes. */
static disagreement_t find_disagreement(const fs_comm_t *comm,
                                        const fs_call_t *call,
                                        const uint64_t  *counts)
{
    size_t n = comm->topo->n_ranks;

    for (uint32_t r = 0; r < n; ++r) {
        uint64_t sent     = counts[r * n + comm->rank];
        uint64_t expected = call->counts->recv_bytes[r];

        if (sent != expected) {
            return (disagreement_t){1, r, sent, expected};
        }
    }
    return (disagreement_t){0};
}

/* counts [n_ranks x n_ranks] and all [n_ranks] are room for what is gathered. */
static fs_status_t compare(fs_comm_t *comm, const fs_call_t *call,
                           uint64_t *counts, disagreement_t *all)
{
    const fs_native_t *native = &comm->native;
    size_t             n      = comm->topo->n_ranks;
    fs_status_t        status = native->allgather(
               native->ctx, call->counts->send_bytes, n * sizeof(*counts), counts);
    disagreement_t mine;

    if (status == FS_OK) {
        mine   = find_disagreement(comm, call, counts);
        status = native->allgather(native->ctx, &mine, sizeof(mine), all);
    }
    for (uint32_t r = 0; r < n && status == FS_OK; ++r) {
        if (all[r].found) {
            snprintf(comm->error, sizeof(comm->error),
                     "call %llu: rank %u sends %llu bytes to rank %u, which "
                     "expects %llu (server %u to server %u)",
                     (unsigned long long)comm->n_calls, all[r].src,
                     (unsigned long long)all[r].sent, r,
                     (unsigned long long)all[r].expected,
                     fs_topo_server(comm->topo, all[r].src),
                     fs_topo_server(comm->topo, r));
            status = FS_ERR_MISMATCH;
        }
    }
    return status;
}

fs_status_t fs_comm_check_counts(fs_comm_t *comm, const fs_call_t *call)
{
    const fs_native_t *native = &comm->native;
    size_t             n      = comm->topo->n_ranks;
    uint64_t          *counts = calloc(n * n, sizeof(*counts));
    disagreement_t    *all    = calloc(n, sizeof(*all));
    fs_status_t        status = native->agree(
               native->ctx, counts == NULL || all == NULL ? FS_ERR_NOMEM : FS_OK);

    if (status == FS_OK) {
        status = compare(comm, call, counts, all);
    } else {
        snprintf(comm->error, sizeof(comm->error),
                 "a rank has no memory for all counts, see parameter check");
    }
    free(counts);
    free(all);
    return status;
}
