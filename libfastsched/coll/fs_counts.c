/* SPDX-License-Identifier: BSD-3-Clause */
/* The one pass over the counts of a call. */
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "fastsched_exec.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

fs_status_t fs_counts_init(fs_counts_t *counts, uint32_t n_ranks, uint32_t rank)
{
    uint64_t *all = calloc(n_ranks, 3 * sizeof(*all));

    if (all == NULL) {
        return FS_ERR_NOMEM;
    }
    *counts = (fs_counts_t){.n_ranks    = n_ranks,
                            .rank       = rank,
                            .send_bytes = all,
                            .recv_bytes = all + n_ranks,
                            .row        = all + (size_t)2 * n_ranks};
    return FS_OK;
}

void fs_counts_fini(fs_counts_t *counts)
{
    free(counts->send_bytes);
    *counts = (fs_counts_t){0};
}

void fs_counts_begin(fs_counts_t *counts, const fs_topo_t *topo)
{
    uint32_t n_servers = topo != NULL ? topo->n_servers : 1;

    counts->server_of  = topo != NULL ? topo->server : NULL;
    counts->sent_bytes = counts->sent_inter = counts->received_inter = 0;
    counts->send_digest = counts->received_digest = 0;
    memset(counts->row, 0, n_servers * sizeof(*counts->row));
}

void fs_counts_add(fs_counts_t *counts, uint32_t peer, uint64_t send_bytes,
                   uint64_t recv_bytes)
{
    const uint32_t *server_of = counts->server_of;
    uint32_t        server    = server_of != NULL ? server_of[peer] : 0;
    uint64_t       *cell      = &counts->row[server];

    counts->send_bytes[peer] = send_bytes;
    counts->recv_bytes[peer] = recv_bytes;
    counts->sent_bytes += send_bytes;
    if (server_of == NULL) {
        return;
    }
    /* A sum that does not fit must look too large: fs_traffic_sum() refuses it. */
    if (!fs_u64_add(*cell, send_bytes, cell)) {
        *cell = UINT64_MAX;
    }
    if (server != server_of[counts->rank]) {
        counts->sent_inter += send_bytes;
        counts->received_inter += recv_bytes;
    }
    counts->send_digest += fs_digest_pair(counts->rank, peer, send_bytes);
    counts->received_digest += fs_digest_pair(peer, counts->rank, recv_bytes);
}
