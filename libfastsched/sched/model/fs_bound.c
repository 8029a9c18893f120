/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lower bounds: an endpoint that has B bytes to send, or to receive, and one
 * port of bandwidth b cannot be done before B / b.
 *
 * Endpoints are ranks as long as each sends and receives its own bytes. Ranks
 * of a server that help each other are one endpoint with as many ports as it
 * has lanes. With as many lanes as ranks this is the mean of which the rank
 * bound is the maximum, so helping never raises the bound (DHBvN eq. 6).
 */
#include "fastsched.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

/* Bytes of one endpoint. */
typedef struct load {
    uint64_t sent;
    uint64_t received;
} load_t;

typedef struct loads {
    load_t *flat;   /* [n_ranks] to and from all others */
    load_t *rank;   /* [n_ranks] to and from other servers */
    load_t *server; /* [n_servers] to and from other servers */
} loads_t;

/* Every sum of loads is one of a part of the matrix: none passes the total. */
static void add_pair(const fs_topo_t *topo, uint32_t i, uint32_t j,
                     uint64_t bytes, loads_t *loads)
{
    uint32_t u = topo->server[i], w = topo->server[j];

    if (i == j) {
        return;
    }
    loads->flat[i].sent += bytes;
    loads->flat[j].received += bytes;
    if (u != w) {
        loads->rank[i].sent += bytes;
        loads->rank[j].received += bytes;
        loads->server[u].sent += bytes;
        loads->server[w].received += bytes;
    }
}

static fs_status_t add_all(const fs_topo_t *topo, const uint64_t *rank_bytes,
                           loads_t *loads)
{
    uint32_t n     = topo->n_ranks;
    uint64_t total = 0;

    for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = 0; j < n; ++j) {
            uint64_t bytes = rank_bytes[(size_t)i * n + j];

            if (!fs_u64_add(total, bytes, &total) || total > FS_MAX_BYTES) {
                return FS_ERR_OVERFLOW;
            }
            add_pair(topo, i, j, bytes, loads);
        }
    }
    return FS_OK;
}

/* Lowest index wins a tie. */
static void raise_to(uint64_t bytes, uint32_t who, uint64_t *most,
                     uint32_t *who_p)
{
    if (bytes > *most) {
        *most  = bytes;
        *who_p = who;
    }
}

static fs_bounds_t largest(const fs_topo_t *topo, const loads_t *loads)
{
    fs_bounds_t b = {0};

    for (uint32_t r = 0; r < topo->n_ranks; ++r) {
        const load_t *load = &loads->rank[r];

        b.flat = fs_u64_max(
            b.flat, fs_u64_max(loads->flat[r].sent, loads->flat[r].received));
        b.rank_send = fs_u64_max(b.rank_send, load->sent);
        b.rank_recv = fs_u64_max(b.rank_recv, load->received);
        raise_to(fs_u64_max(load->sent, load->received), r, &b.rank,
                 &b.busiest_rank);
    }
    for (uint32_t u = 0; u < topo->n_servers; ++u) {
        uint32_t lanes = topo->n_lanes[u];
        uint64_t sent  = fs_u64_div_up(loads->server[u].sent, lanes);
        uint64_t recvd = fs_u64_div_up(loads->server[u].received, lanes);

        b.server_send = fs_u64_max(b.server_send, sent);
        b.server_recv = fs_u64_max(b.server_recv, recvd);
        raise_to(fs_u64_max(sent, recvd), u, &b.server, &b.busiest_server);
    }
    return b;
}

fs_status_t fs_bounds(const fs_topo_t *topo, const uint64_t *rank_bytes,
                      fs_bounds_t *bounds_p)
{
    size_t      n     = topo->n_ranks;
    load_t     *block = calloc(2 * n + topo->n_servers, sizeof(*block));
    loads_t     loads = {block, block + n, block + 2 * n};
    fs_status_t status;

    if (block == NULL) {
        return FS_ERR_NOMEM;
    }
    status = add_all(topo, rank_bytes, &loads);
    if (status == FS_OK) {
        *bounds_p = largest(topo, &loads);
    }
    free(block);
    return status;
}
