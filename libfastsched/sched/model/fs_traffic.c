/* SPDX-License-Identifier: BSD-3-Clause */
/* The N x N server matrix, its sums, and what follows from them. */
#include "sched/model/fs_traffic.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <string.h>

enum { BLOCK = 1024 /* servers whose lines are summed up at a time */ };

/* Servers from first to before end. */
typedef struct block {
    uint32_t first, end;
    uint64_t sent[BLOCK]; /* to others */
    uint64_t received[BLOCK];
} block_t;

/* The sums of a matrix with cells so large that they might not fit. */
static fs_status_t sum_large(fs_traffic_t *traffic)
{
    uint32_t n     = traffic->n_servers;
    uint64_t total = 0, inter = 0;

    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            uint64_t bytes = traffic->bytes[(size_t)u * n + w];

            if (!fs_u64_add(total, bytes, &total) || total > FS_MAX_BYTES) {
                return FS_ERR_OVERFLOW;
            }
            inter += u == w ? 0 : bytes;
        }
    }
    traffic->total_bytes = total;
    traffic->inter_bytes = inter;
    return FS_OK;
}

fs_status_t fs_traffic_sum(fs_traffic_t *traffic)
{
    size_t   n     = traffic->n_servers;
    uint64_t total = 0, inside = 0, any = 0;

    for (size_t k = 0; k < n * n; ++k) {
        total += traffic->bytes[k];
        any |= traffic->bytes[k];
    }
    if (any != 0 && any > FS_MAX_BYTES / n / n) {
        return sum_large(traffic);
    }
    for (size_t u = 0; u < n; ++u) {
        inside += traffic->bytes[u * n + u];
    }
    traffic->total_bytes = total;
    traffic->inter_bytes = total - inside;
    return FS_OK;
}

static uint64_t sum_row(const uint64_t *row, uint32_t n, uint64_t *largest)
{
    uint64_t sum = 0;

    for (uint32_t w = 0; w < n; ++w) {
        sum += row[w];
        *largest = fs_u64_max(*largest, row[w]);
    }
    return sum;
}

/* The lines of a block, and the largest cell of its rows. Row by row: a walk down
 * one column of a large matrix would miss the cache at every step. */
static void sum_block(const fs_traffic_t *traffic, block_t *block,
                      uint64_t *largest)
{
    uint32_t n = traffic->n_servers, first = block->first, end = block->end;

    memset(block->received, 0, (end - first) * sizeof(block->received[0]));
    for (uint32_t u = 0; u < n; ++u) {
        const uint64_t *row = traffic->bytes + (size_t)u * n;

        for (uint32_t w = first; w < end; ++w) {
            block->received[w - first] += row[w];
        }
        if (u >= first && u < end) {
            block->sent[u - first] = sum_row(row, n, largest) - row[u];
            block->received[u - first] -= row[u]; /* may wrap, and back */
        }
    }
}

/* bytes of n_ranks are more for each than those of the busiest server. */
static bool is_busier(uint64_t bytes, uint32_t n_ranks,
                      const fs_busiest_t *busiest)
{
    return (fs_u128_t)bytes * busiest->n_ranks >
           (fs_u128_t)busiest->bytes * n_ranks;
}

static void look_at_server(const fs_topo_t *topo, uint32_t u, uint64_t sent,
                           uint64_t received, fs_busiest_t *busiest)
{
    uint32_t n_ranks  = fs_topo_n_local(topo, u);
    uint64_t bytes    = fs_u64_max(sent, received);
    uint64_t per_lane = fs_u64_div_up(bytes, topo->n_lanes[u]);

    if (per_lane > busiest->per_lane) {
        busiest->per_lane = per_lane;
        busiest->line     = 2 * u + (received > sent);
    }
    if (busiest->bytes == 0 ? bytes > 0 : is_busier(bytes, n_ranks, busiest)) {
        busiest->bytes   = bytes;
        busiest->n_ranks = n_ranks;
    }
}

fs_busiest_t fs_traffic_busiest(const fs_topo_t    *topo,
                                const fs_traffic_t *traffic)
{
    uint32_t     n       = traffic->n_servers;
    fs_busiest_t busiest = {0};
    block_t      block;

    for (block.first = 0; block.first < n; block.first = block.end) {
        block.end = fs_u32_min(n, block.first + BLOCK);
        sum_block(traffic, &block, &busiest.cell);
        for (uint32_t u = block.first; u < block.end; ++u) {
            look_at_server(topo, u, block.sent[u - block.first],
                           block.received[u - block.first], &busiest);
        }
    }
    return busiest;
}

uint64_t fs_traffic_lower_bound(const fs_topo_t    *topo,
                                const fs_traffic_t *traffic)
{
    return fs_traffic_busiest(topo, traffic).per_lane;
}

uint64_t fs_traffic_mtm_milli(const fs_topo_t    *topo,
                              const fs_traffic_t *traffic)
{
    if (traffic->inter_bytes == 0) {
        return 0;
    }
    return (uint64_t)((fs_u128_t)traffic->max_inter * topo->n_ranks * 1000 /
                      traffic->inter_bytes);
}
