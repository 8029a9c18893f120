/* SPDX-License-Identifier: BSD-3-Clause */
/* The N x N server matrix, its sums, and what follows from them. */
#include "fastsched.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

fs_status_t fs_traffic_sum(fs_traffic_t *traffic)
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

uint64_t fs_traffic_lower_bound(const fs_topo_t    *topo,
                                const fs_traffic_t *traffic)
{
    uint32_t n     = traffic->n_servers;
    uint64_t bound = 0;

    for (uint32_t u = 0; u < n; ++u) {
        uint64_t sent = 0, received = 0;

        for (uint32_t w = 0; w < n; ++w) {
            if (w != u) {
                sent += traffic->bytes[(size_t)u * n + w];
                received += traffic->bytes[(size_t)w * n + u];
            }
        }
        bound = fs_u64_max(
            bound, fs_u64_div_up(fs_u64_max(sent, received), topo->n_lanes[u]));
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
