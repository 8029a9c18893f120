/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bundles between servers, message by message.
 *
 * A phase is posted first, all servers' messages in order; then each lane's rank
 * takes its own in. In step with fs_sim_direct.c, a server that is like all
 * others stands for all: what it sends to the z-th server after it, it receives
 * at that time from the z-th server before it.
 */
#include "sched/plan/fs_radix.h"
#include "sim/fs_sim_blocks.h"

#include <stdlib.h>
#include <string.h>

#define NS 1e9

typedef struct arrival {
    double   time;
    uint32_t lane;
} arrival_t;

typedef struct lane {
    double busy; /* its rank's processor, until then */
    double out;  /* its NIC's sending side */
    double in;
} lane_t;

typedef struct server {
    double     ready;   /* all that is needed to send is there */
    uint32_t   n_new;   /* messages of this phase */
    lane_t    *lanes;   /* [max_lanes] */
    arrival_t *arrived; /* [max_new] */
} server_t;

typedef struct bundles {
    const fs_sim_blocks_t *blocks;
    const fs_sim_loggp_t  *params;
    const fs_topo_t       *topo;
    uint64_t              *sums;   /* [n x n]; NULL: all alike */
    uint64_t               bundle; /* if all alike */
    bool                   alike;
    uint32_t               n_servers;
    uint32_t               n; /* servers that are followed */
    uint32_t               max_lanes;
    uint32_t               sum_bytes;
    server_t              *servers; /* [n] */
    lane_t                *lanes;   /* [n x max_lanes] */
    arrival_t             *arrived; /* [n x max_new] */
    double                *moved;   /* [2][n] bytes that the busiest rank
                                         of a server sends, receives */
    fs_sim_small_t         result;
} bundles_t;

/* ---- the traffic ---- */

static fs_status_t add_rank(bundles_t *b, uint32_t r, uint64_t *sent_p,
                            uint64_t *received_p)
{
    uint32_t  n_ranks = b->topo->n_ranks;
    uint64_t *row     = b->sums + (size_t)b->topo->server[r] * b->n_servers;

    *sent_p = *received_p = 0;
    for (uint32_t k = 0; k < n_ranks; ++k) {
        uint64_t  bytes = fs_sim_block(b->blocks, r, k);
        uint64_t *sum   = &row[b->topo->server[k]];

        if (!fs_u64_add(*sent_p, bytes, sent_p) ||
            !fs_u64_add(*received_p, fs_sim_block(b->blocks, k, r),
                        received_p) ||
            !fs_u64_add(*sum, bytes, sum)) {
            return FS_ERR_OVERFLOW;
        }
    }
    return FS_OK;
}

static fs_status_t add_ranks(bundles_t *b)
{
    double *sent = b->moved, *received = b->moved + b->n;

    for (uint32_t r = 0; r < b->topo->n_ranks; ++r) {
        uint32_t    u = b->topo->server[r];
        uint64_t    s, t;
        fs_status_t status = add_rank(b, r, &s, &t);

        if (status != FS_OK) {
            return status;
        }
        sent[u]     = fs_sim_later(sent[u], (double)s);
        received[u] = fs_sim_later(received[u], (double)t);
    }
    return FS_OK;
}

/* One rank is like another. */
static fs_status_t take_one(bundles_t *b)
{
    uint64_t m = fs_topo_n_local(b->topo, 0), all;

    if (!fs_u64_mul(m * m, b->blocks->bytes, &b->bundle) ||
        !fs_u64_mul(b->bundle, b->n_servers, &all)) {
        return FS_ERR_OVERFLOW;
    }
    b->moved[0] = b->moved[1] = (double)b->blocks->bytes * b->topo->n_ranks;
    return FS_OK;
}

static uint64_t sum_of(const bundles_t *b, fs_radix_bundle_t bundle)
{
    return b->alike
               ? b->bundle
               : b->sums[(size_t)bundle.origin * b->n_servers + bundle.target];
}

/* Of the busiest row or column, the mean. */
static fs_status_t find_bundle_bytes(const bundles_t *b, uint64_t *mean_p)
{
    uint32_t n    = b->n_servers;
    uint64_t most = 0;

    *mean_p = b->bundle;
    if (b->alike || n < 2) {
        return FS_OK;
    }
    for (uint32_t u = 0; u < n; ++u) {
        uint64_t row = 0, column = 0;

        for (uint32_t w = 0; w < n; ++w) {
            if (w != u &&
                (!fs_u64_add(row, b->sums[(size_t)u * n + w], &row) ||
                 !fs_u64_add(column, b->sums[(size_t)w * n + u], &column))) {
                return FS_ERR_OVERFLOW;
            }
        }
        most = fs_u64_max(most, fs_u64_max(row, column));
    }
    *mean_p = fs_u64_div_up(most, n - 1);
    return FS_OK;
}

/* ---- the radix ---- */

static uint32_t least_lanes(const fs_topo_t *topo)
{
    uint32_t least = topo->n_lanes[0];

    for (uint32_t s = 1; s < topo->n_servers; ++s) {
        least = fs_u32_min(least, topo->n_lanes[s]);
    }
    return least;
}

static uint64_t ns(double seconds)
{
    return (uint64_t)(seconds * NS + 0.5);
}

static fs_status_t set_radix(bundles_t *b, uint32_t radix)
{
    const fs_sim_loggp_t *p    = b->params;
    fs_radix_cost_t       cost = {
              .overhead_ns = ns(p->overhead),
              .latency_ns  = ns(p->latency),
              .gap_ns      = ns(p->gap),
              .rate        = (uint64_t)p->rate_out,
              .rate_copy   = (uint64_t)p->rate_copy,
              .block_ns    = ns(p->block),
              .sync_ns     = ns(p->sync),
    };
    fs_radix_load_t load   = {.n_servers = b->n_servers,
                              .n_lanes   = least_lanes(b->topo),
                              .row_bytes = (uint64_t)b->n_servers * b->sum_bytes};
    fs_status_t     status = find_bundle_bytes(b, &load.bundle_bytes);

    if (status == FS_OK) {
        b->result.radix = radix == 0 ? fs_radix_choose(&cost, &load) : radix;
        b->result.model =
            (double)fs_radix_time_ns(&cost, &load, b->result.radix) / NS;
    }
    return status;
}

/* ---- memory ---- */

/* Messages that a server gets in one phase, parts counted each. */
static uint32_t most_in_phase(const bundles_t *b)
{
    return fs_u32_max(fs_u32_min(b->result.radix, b->n_servers), b->max_lanes);
}

static fs_status_t alloc_traffic(bundles_t *b)
{
    size_t n = b->n_servers;

    b->moved = calloc(2 * (size_t)b->n, sizeof(*b->moved));
    if (!b->alike) {
        b->sums = calloc(n * n, sizeof(*b->sums));
    }
    return b->moved == NULL || (!b->alike && b->sums == NULL) ? FS_ERR_NOMEM
                                                              : FS_OK;
}

static fs_status_t alloc_servers(bundles_t *b)
{
    size_t n = b->n, most = most_in_phase(b);

    b->servers = calloc(n, sizeof(*b->servers));
    b->lanes   = calloc(n * b->max_lanes, sizeof(*b->lanes));
    b->arrived = calloc(n * most, sizeof(*b->arrived));
    if (b->servers == NULL || b->lanes == NULL || b->arrived == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t u = 0; u < n; ++u) {
        b->servers[u].lanes   = b->lanes + u * b->max_lanes;
        b->servers[u].arrived = b->arrived + u * most;
    }
    return FS_OK;
}

static void fini(bundles_t *b)
{
    free(b->sums);
    free(b->moved);
    free(b->servers);
    free(b->lanes);
    free(b->arrived);
}

/* ---- inside ---- */

static double copy_blocks(const bundles_t *b, double bytes)
{
    return b->topo->n_ranks * b->params->block + bytes / b->params->rate_copy;
}

static double synchronise(const bundles_t *b, uint32_t server)
{
    return fs_topo_n_local(b->topo, server) * b->params->sync;
}

static void set_ready(bundles_t *b, server_t *server, double time)
{
    server->ready = time;
    for (uint32_t k = 0; k < b->max_lanes; ++k) {
        server->lanes[k].busy = time;
    }
}

static void copy_in(bundles_t *b)
{
    for (uint32_t u = 0; u < b->n; ++u) {
        double time = copy_blocks(b, b->moved[u]) + synchronise(b, u);

        set_ready(b, &b->servers[u], time);
        b->result.copy_in = fs_sim_later(b->result.copy_in, time);
    }
}

static void copy_out(bundles_t *b)
{
    for (uint32_t u = 0; u < b->n; ++u) {
        double ready = b->servers[u].ready;

        b->result.network = fs_sim_later(b->result.network, ready);
        b->result.time    = fs_sim_later(b->result.time,
                                         ready + synchronise(b, u) +
                                             copy_blocks(b, b->moved[b->n + u]));
    }
    b->result.copy_out = b->result.time - b->result.network;
    b->result.network -= b->result.copy_in;
}

/* ---- between servers ---- */

/* Payload of a message, and of it what must be copied together. */
static void weigh(const bundles_t *b, const fs_radix_message_t *m, uint32_t u,
                  double *bytes_p, double *forwarded_p)
{
    *bytes_p = *forwarded_p = 0;
    if (b->alike) {
        *bytes_p     = (double)b->bundle * m->n_bundles;
        *forwarded_p = (double)b->bundle * m->n_forwarded;
        return;
    }
    for (uint32_t k = 0; k < m->n_bundles; ++k) {
        fs_radix_bundle_t bundle =
            fs_radix_bundle(b->n_servers, b->result.radix, m, u, k);
        double bytes = (double)sum_of(b, bundle);

        *bytes_p += bytes;
        *forwarded_p += bundle.origin == u ? 0 : bytes;
    }
}

/* One part, by one lane. */
static void send_part(bundles_t *b, server_t *from, server_t *to, uint32_t k,
                      double bytes, double copy)
{
    lane_t *src = &from->lanes[k], *dst = &to->lanes[k];
    double  wire = fs_sim_on_wire(b->params, bytes), left;

    src->busy += copy + b->params->overhead;
    left     = fs_sim_later(src->out, src->busy);
    src->out = left + wire;
    dst->in  = fs_sim_later(dst->in, left + b->params->latency) + wire;
    to->arrived[to->n_new++] = (arrival_t){dst->in, k};
}

/* index: of the message in its phase. */
static void send_message(bundles_t *b, const fs_radix_message_t *m,
                         uint32_t index, uint32_t u)
{
    uint32_t w       = (uint32_t)(((uint64_t)u + m->hop) % b->n_servers);
    uint32_t n_lanes = fs_topo_tile_lanes(b->topo, u, w);
    uint32_t parts   = fs_radix_parts(m, n_lanes);
    uint64_t header  = (uint64_t)m->n_rows * b->n_servers * b->sum_bytes;
    double   bytes, forwarded, copy;

    weigh(b, m, u, &bytes, &forwarded);
    copy = m->n_forwarded * b->params->block + forwarded / b->params->rate_copy;
    b->result.n_messages += parts;
    b->result.wire_bytes += (uint64_t)bytes + header;
    b->result.header_bytes += header;
    for (uint32_t k = 0; k < parts; ++k) {
        send_part(b, &b->servers[u % b->n], &b->servers[w % b->n],
                  (uint32_t)(((uint64_t)index * parts + k) % n_lanes),
                  (bytes + (double)header) / parts, copy / parts);
    }
}

/* The lanes' ranks take in what came, then wait for each other. */
static void end_phase(bundles_t *b, bool last)
{
    for (uint32_t u = 0; u < b->n; ++u) {
        server_t *server = &b->servers[u];
        uint32_t  lanes  = b->topo->n_lanes[u];
        double    ready  = server->ready;

        for (uint32_t k = 0; k < server->n_new; ++k) {
            double *busy = &server->lanes[server->arrived[k].lane].busy;

            *busy = fs_sim_later(*busy, server->arrived[k].time) +
                    b->params->overhead;
        }
        for (uint32_t k = 0; k < lanes; ++k) {
            ready = fs_sim_later(ready, server->lanes[k].busy);
        }
        set_ready(b, server,
                  ready + (last || lanes < 2 ? 0 : lanes * b->params->sync));
        server->n_new = 0;
    }
    ++b->result.n_phases;
}

static void send_all(bundles_t *b)
{
    fs_radix_message_t m     = {0};
    uint32_t           index = 0, phase = 0;

    while (fs_radix_next(b->n_servers, b->result.radix, &m)) {
        if (m.phase != phase) {
            end_phase(b, false);
            phase = m.phase;
            index = 0;
        }
        for (uint32_t u = 0; u < b->n; ++u) {
            send_message(b, &m, index, u);
        }
        ++index;
    }
    if (index > 0) {
        end_phase(b, true);
    }
    b->result.n_messages *= b->n_servers / b->n;
    b->result.wire_bytes *= b->n_servers / b->n;
    b->result.header_bytes *= b->n_servers / b->n;
}

/* ---- all of it ---- */

static fs_status_t run(bundles_t *b, uint32_t radix)
{
    fs_status_t status = alloc_traffic(b);

    if (status == FS_OK) {
        status = b->alike ? take_one(b) : add_ranks(b);
    }
    if (status == FS_OK) {
        status = set_radix(b, radix);
    }
    if (status == FS_OK) {
        status = alloc_servers(b);
    }
    if (status == FS_OK) {
        copy_in(b);
        send_all(b);
        copy_out(b);
    }
    return status;
}

fs_status_t fs_sim_bundles(const fs_sim_blocks_t *blocks,
                           const fs_sim_loggp_t *params, uint32_t radix,
                           uint32_t sum_bytes, fs_sim_small_t *result_p)
{
    bundles_t   b = {.blocks    = blocks,
                     .params    = params,
                     .topo      = blocks->topo,
                     .sum_bytes = sum_bytes};
    fs_status_t status;

    if (radix == 1 || !fs_sim_loggp_fits(params)) {
        return FS_ERR_INVAL;
    }
    b.n_servers = blocks->topo->n_servers;
    b.alike     = fs_sim_all_alike(blocks);
    b.n         = b.alike ? 1 : b.n_servers;
    for (uint32_t s = 0; s < b.n_servers; ++s) {
        b.max_lanes = fs_u32_max(b.max_lanes, blocks->topo->n_lanes[s]);
    }
    status = run(&b, radix);
    if (status == FS_OK) {
        *result_p = b.result;
    }
    fini(&b);
    return status;
}
