/* SPDX-License-Identifier: BSD-3-Clause */
/* The N x N server matrix, its sums, and what follows from them. */
#include "fastsched.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

enum { BLOCK = 256 /* columns that are summed up at a time */ };

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

/* The largest share of a lane of what servers send to others. */
static uint64_t most_sent(const fs_topo_t *topo, const fs_traffic_t *traffic)
{
    uint32_t n    = traffic->n_servers;
    uint64_t most = 0;

    for (uint32_t u = 0; u < n; ++u) {
        const uint64_t *row = traffic->bytes + (size_t)u * n;
        uint64_t        sum = 0;

        for (uint32_t w = 0; w < n; ++w) {
            sum += row[w];
        }
        most = fs_u64_max(most, fs_u64_div_up(sum - row[u], topo->n_lanes[u]));
    }
    return most;
}

/* Likewise received, by servers from first to before end. Row by row: a walk
 * down one column of a large matrix would miss the cache at every step. */
static uint64_t most_received(const fs_topo_t    *topo,
                              const fs_traffic_t *traffic, uint32_t first,
                              uint32_t end)
{
    size_t   n          = traffic->n_servers;
    uint64_t sum[BLOCK] = {0}, most = 0;

    for (size_t u = 0; u < n; ++u) {
        for (uint32_t w = first; w < end; ++w) {
            sum[w - first] += traffic->bytes[u * n + w];
        }
    }
    for (uint32_t w = first; w < end; ++w) {
        uint64_t received = sum[w - first] - traffic->bytes[w * n + w];

        most = fs_u64_max(most, fs_u64_div_up(received, topo->n_lanes[w]));
    }
    return most;
}

uint64_t fs_traffic_lower_bound(const fs_topo_t    *topo,
                                const fs_traffic_t *traffic)
{
    uint32_t n     = traffic->n_servers;
    uint64_t bound = most_sent(topo, traffic);

    for (uint32_t first = 0; first < n; first += BLOCK) {
        uint32_t end = fs_u32_min(n, first + BLOCK);

        bound = fs_u64_max(bound, most_received(topo, traffic, first, end));
    }
    return bound;
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
