/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/fs_sim_blocks.h"

#include <stddef.h>

bool fs_sim_all_alike(const fs_sim_blocks_t *blocks)
{
    const fs_topo_t *topo = blocks->topo;
    uint32_t         m    = fs_topo_n_local(topo, 0);

    if (blocks->rank_bytes != NULL) {
        return false;
    }
    for (uint32_t s = 0; s < topo->n_servers; ++s) {
        const uint32_t *ranks = fs_topo_ranks(topo, s);

        if (fs_topo_n_local(topo, s) != m || !fs_in_a_row(ranks, m) ||
            topo->n_lanes[s] != topo->n_lanes[0]) {
            return false;
        }
        for (uint32_t k = 0; k < topo->n_lanes[s]; ++k) {
            if (fs_topo_proxy(topo, s, k) != fs_topo_proxy(topo, 0, k)) {
                return false;
            }
        }
    }
    return true;
}

/* NaN is not in any range. */
static bool is_time(double seconds)
{
    return seconds >= 0 && seconds <= 1e6;
}

static bool is_rate(double rate)
{
    return rate >= 1 && rate <= 1e18;
}

bool fs_sim_loggp_fits(const fs_sim_loggp_t *p)
{
    return is_time(p->overhead) && is_time(p->latency) &&
           is_time(p->latency_up) && is_time(p->gap) && is_time(p->block) &&
           is_time(p->sync) && is_rate(p->rate_out) && is_rate(p->rate_copy);
}
