/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/plan/fs_cost.h"

#include "sched/model/fs_topo.h"

/* A: the largest row or column sum of bytes per lane. */
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
                         uint64_t alpha)
{
    return busiest_line(topo, traffic) + 2 * (fs_u128_t)topo->n_servers * alpha;
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

/* a over its ranks is above b over its ranks. */
static bool is_busier(uint64_t a, uint32_t ranks_a, uint64_t b,
                      uint32_t ranks_b)
{
    return (fs_u128_t)a * ranks_b > (fs_u128_t)b * ranks_a;
}

uint64_t fs_cost_server_skew_milli(const fs_topo_t    *topo,
                                   const fs_traffic_t *traffic)
{
    uint32_t n = topo->n_servers, n_ranks = 1;
    uint64_t most = 0;

    for (uint32_t u = 0; u < n; ++u) {
        uint32_t n_local = fs_topo_n_local(topo, u);
        uint64_t row = 0, col = 0;

        for (uint32_t w = 0; w < n; ++w) {
            row += w == u ? 0 : traffic->bytes[(size_t)u * n + w];
            col += w == u ? 0 : traffic->bytes[(size_t)w * n + u];
        }
        row = fs_u64_max(row, col);
        if (is_busier(row, n_local, most, n_ranks)) {
            most    = row;
            n_ranks = n_local;
        }
    }
    return most == 0 ? 0
                     : (uint64_t)((fs_u128_t)traffic->max_inter * n_ranks *
                                  1000 / most);
}
