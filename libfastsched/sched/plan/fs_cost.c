/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/plan/fs_cost.h"

#include "sched/model/fs_ports.h"
#include "sched/model/fs_topo.h"

/* A where lanes idle: the largest row or column sum of bytes per lane. */
static uint64_t busiest_line(const fs_topo_t *topo, const fs_traffic_t *traffic)
{
    uint32_t n    = topo->n_servers;
    uint64_t most = 0;

    for (uint32_t u = 0; u < n; ++u) {
        uint64_t row = 0, col = 0;

        for (uint32_t w = 0; w < n; ++w) {
            uint32_t lanes = fs_topo_tile_lanes(topo, u, w);

            if (w != u) {
                row += fs_u64_div_up(traffic->bytes[(size_t)u * n + w], lanes);
                col += fs_u64_div_up(traffic->bytes[(size_t)w * n + u], lanes);
            }
        }
        most = fs_u64_max(most, fs_u64_max(row, col));
    }
    return most;
}

fs_u128_t fs_cost_staged(const fs_topo_t *topo, const fs_traffic_t *traffic,
                         uint64_t bound, uint64_t alpha)
{
    uint64_t line = fs_ports_use_all_lanes(topo) ? bound
                                                 : busiest_line(topo, traffic);

    return line + 2 * (fs_u128_t)topo->n_servers * alpha;
}

fs_u128_t fs_cost_pipe2d(const fs_topo_t *topo, const fs_traffic_t *traffic,
                         uint64_t bound, uint64_t alpha)
{
    return (fs_u128_t)fs_u64_max(traffic->max_inter, bound) * 3 / 2 +
           2 * (fs_u128_t)(topo->n_servers - 1) * alpha;
}

fs_u128_t fs_cost_bundles(uint64_t bound, uint64_t alpha)
{
    return (fs_u128_t)bound + bound / 8 + alpha;
}

fs_u128_t fs_cost_native(const fs_topo_t *topo, const fs_traffic_t *traffic,
                         uint64_t bound, uint64_t alpha)
{
    fs_u128_t both = (fs_u128_t)bound + fs_u64_max(traffic->max_inter, bound);

    return both * 5 / 8 + 2 * (fs_u128_t)topo->n_servers * alpha - alpha / 4;
}

uint64_t fs_cost_server_skew_milli(const fs_traffic_t *traffic,
                                   const fs_busiest_t *busiest)
{
    return busiest->bytes == 0
               ? 0
               : (uint64_t)((fs_u128_t)traffic->max_inter * busiest->n_ranks *
                            1000 / busiest->bytes);
}
