/* SPDX-License-Identifier: BSD-3-Clause */
/* What the simulations of small calls share. */
#ifndef FS_SIM_BLOCKS_H
#define FS_SIM_BLOCKS_H

#include "sched/model/fs_topo.h"
#include "sim/fs_sim_loggp.h"

static inline uint64_t fs_sim_block(const fs_sim_blocks_t *blocks, uint32_t src,
                                    uint32_t dst)
{
    return blocks->rank_bytes == NULL
               ? blocks->bytes
               : blocks->rank_bytes[(size_t)src * blocks->topo->n_ranks + dst];
}

/* Are all pairs alike, and each server the next ranks in a row, as many? Then
 * what server 0 does at a time, all others do. */
bool fs_sim_all_alike(const fs_sim_blocks_t *blocks);

/* Are these numbers that can be calculated with? */
bool fs_sim_loggp_fits(const fs_sim_loggp_t *params);

/* The later one. */
static inline double fs_sim_later(double a, double b)
{
    return a > b ? a : b;
}

/* How long a lane is taken up by a message. */
static inline double fs_sim_on_wire(const fs_sim_loggp_t *params, double bytes)
{
    return fs_sim_later(params->gap, bytes / params->rate_out);
}

#endif
