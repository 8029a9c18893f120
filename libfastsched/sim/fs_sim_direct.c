/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank to rank, message by message.
 *
 * In step d rank r sends to r + d and receives from r - d, modulo the number of
 * ranks. So where all servers do the same, the message that a rank of server 0
 * receives left its sender when the sender's twin in server 0 sent one: the one
 * with the same position. It is enough to follow server 0.
 */
#include "sim/fs_sim_blocks.h"

#include <stdlib.h>

enum { MAX_BATCH = 1024 };

#define NO_MESSAGE (-1.0)

typedef struct exchange {
    const fs_sim_blocks_t *blocks;
    const fs_sim_loggp_t  *params;
    uint32_t               n_ranks;
    uint32_t               n;       /* ranks that are followed */
    uint32_t              *nic;     /* [n] */
    double                *busy;    /* [n] a rank's processor, until then */
    double                *left;    /* [n] this step's message, its first byte;
                                       NO_MESSAGE */
    double                *out;     /* [n] a NIC's sending side, until then */
    double                *in;      /* [n] */
    double                *arrived; /* [batch x n] NO_MESSAGE */
    fs_sim_small_t         result;
} exchange_t;

static bool is_inside(const exchange_t *x, uint32_t src, uint32_t dst)
{
    return x->blocks->topo->server[src] == x->blocks->topo->server[dst];
}

/* Sending and receiving inside a server copy the bytes. */
static double at_an_end(const exchange_t *x, bool inside, uint64_t bytes)
{
    return x->params->overhead +
           (inside ? (double)bytes / x->params->rate_copy : 0);
}

/* A NIC serves the ranks from its lane's to the next lane's. */
static void number_nics(exchange_t *x)
{
    const fs_topo_t *topo = x->blocks->topo;
    uint32_t         nic = 0, n_nics = 0;

    for (uint32_t s = 0; s < topo->n_servers; ++s) {
        const uint32_t *ranks = fs_topo_ranks(topo, s);

        for (uint32_t i = 0; i < fs_topo_n_local(topo, s); ++i) {
            if (i == 0 || topo->lane[ranks[i]] != FS_NO_LANE) {
                nic = n_nics++;
            }
            if (ranks[i] < x->n) {
                x->nic[ranks[i]] = nic;
            }
        }
    }
}

static void send(exchange_t *x, uint32_t src, uint32_t step)
{
    uint32_t dst    = (uint32_t)(((uint64_t)src + step) % x->n_ranks);
    uint64_t bytes  = fs_sim_block(x->blocks, src, dst);
    bool     inside = is_inside(x, src, dst);
    double  *out    = &x->out[x->nic[src]];

    x->left[src] = NO_MESSAGE;
    if (bytes == 0) {
        return;
    }
    x->busy[src] += at_an_end(x, inside, bytes);
    x->left[src] = x->busy[src];
    if (!inside) {
        x->left[src] = fs_sim_later(*out, x->busy[src]);
        *out         = x->left[src] + fs_sim_on_wire(x->params, (double)bytes);
        ++x->result.n_messages;
        x->result.wire_bytes += bytes;
    }
}

/* When the message of this step is there. */
static double deliver(exchange_t *x, uint32_t dst, uint32_t step)
{
    uint32_t src = (uint32_t)(((uint64_t)dst + x->n_ranks - step) % x->n_ranks);
    uint64_t bytes = fs_sim_block(x->blocks, src, dst);
    double   left  = x->left[src % x->n];
    double  *in    = &x->in[x->nic[dst]];

    if (bytes == 0) {
        return NO_MESSAGE;
    }
    if (is_inside(x, src, dst)) {
        return left + x->params->latency_up;
    }
    *in = fs_sim_later(*in, left + x->params->latency) +
          fs_sim_on_wire(x->params, (double)bytes);
    return *in;
}

static void receive(exchange_t *x, uint32_t dst, uint32_t step, double arrived)
{
    uint32_t src = (uint32_t)(((uint64_t)dst + x->n_ranks - step) % x->n_ranks);

    if (arrived >= 0) {
        x->busy[dst] = fs_sim_later(x->busy[dst], arrived) +
                       at_an_end(x, is_inside(x, src, dst),
                                 fs_sim_block(x->blocks, src, dst));
    }
}

static void run_batch(exchange_t *x, uint32_t first, uint32_t end)
{
    for (uint32_t step = first; step < end; ++step) {
        for (uint32_t r = 0; r < x->n; ++r) {
            send(x, r, step);
        }
        for (uint32_t r = 0; r < x->n; ++r) {
            x->arrived[(size_t)(step - first) * x->n + r] = deliver(x, r, step);
        }
    }
    for (uint32_t step = first; step < end; ++step) {
        for (uint32_t r = 0; r < x->n; ++r) {
            receive(x, r, step, x->arrived[(size_t)(step - first) * x->n + r]);
        }
    }
}

static void copy_own_blocks(exchange_t *x)
{
    for (uint32_t r = 0; r < x->n; ++r) {
        x->busy[r] = (double)fs_sim_block(x->blocks, r, r) /
                     x->params->rate_copy;
    }
}

static void sum_up(exchange_t *x)
{
    uint32_t copies = x->n_ranks / x->n;

    for (uint32_t r = 0; r < x->n; ++r) {
        x->result.time = fs_sim_later(x->result.time, x->busy[r]);
    }
    x->result.n_messages *= copies;
    x->result.wire_bytes *= copies;
}

fs_status_t fs_sim_direct(const fs_sim_blocks_t *blocks,
                          const fs_sim_loggp_t *params, uint32_t batch,
                          fs_sim_small_t *result_p)
{
    uint32_t   n_ranks = blocks->topo->n_ranks;
    exchange_t x = {.blocks = blocks, .params = params, .n_ranks = n_ranks};
    size_t     n;

    if (batch == 0 || batch > MAX_BATCH || !fs_sim_loggp_fits(params)) {
        return FS_ERR_INVAL;
    }
    n   = fs_sim_all_alike(blocks) ? fs_topo_n_local(blocks->topo, 0) : n_ranks;
    x.n = (uint32_t)n;
    x.nic  = calloc(n, sizeof(*x.nic));
    x.busy = calloc((4 + (size_t)batch) * n, sizeof(*x.busy));
    if (x.nic == NULL || x.busy == NULL) {
        free(x.nic);
        free(x.busy);
        return FS_ERR_NOMEM;
    }
    x.left    = x.busy + n;
    x.out     = x.left + n;
    x.in      = x.out + n;
    x.arrived = x.in + n;
    number_nics(&x);
    copy_own_blocks(&x);
    for (uint32_t step = 1; step < n_ranks; step += batch) {
        run_batch(&x, step, n_ranks - step < batch ? n_ranks : step + batch);
    }
    sum_up(&x);
    free(x.nic);
    free(x.busy);
    *result_p = x.result;
    return FS_OK;
}
