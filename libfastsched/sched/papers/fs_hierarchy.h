/* SPDX-License-Identifier: BSD-3-Clause */
/* DHBvN's permutations of ranks, in two levels. */
#ifndef FS_HIERARCHY_H
#define FS_HIERARCHY_H

#include "fastsched.h"

/** Who sends to whom and when, rank by rank. At any time a rank sends to at most
 *  one rank and receives from at most one. Read-only; everything lives in one
 *  block. */
typedef struct fs_hierarchy {
    uint32_t       n_ranks;
    size_t         n_stages;    /**< subpermutations of ranks: times in which
                                     none changes its partner */
    uint64_t       lower_bound; /**< the busiest rank's bytes, sent or received,
                                     as balanced */
    uint64_t       total;       /**< length of all stages, DHBvN equation 11 */
    size_t         n_transfers;
    fs_transfer_t *transfers; /**< src and dst are ranks; by start, then src. A
                                   transfer may last several stages, and end
                                   before its last one does. */
} fs_hierarchy_t;

/**
 * Turn a matrix of ranks into global subpermutations, in two levels (DHBvN
 * Theorem 4): blocks between servers first, then the servers.
 *
 * @param[in]  topo         Servers may be uneven.
 * @param[in]  balanced     Balance blocks first (FS_BALANCE_ROWCOL): then
 *                          transfers are between the ranks that serve lanes.
 *                          Otherwise every rank has a lane of its own, whatever
 *                          topo says.
 * @param[in]  rank_bytes   [n_ranks x n_ranks] row-major, [src][dst], bytes.
 *                          Blocks inside a server are ignored. Read during the
 *                          call only.
 * @param[out] hierarchy_p  Set on FS_OK only; fs_hierarchy_destroy() frees it.
 * @return FS_OK; FS_ERR_OVERFLOW (a block, or a server's line of scales, passes
 *         2^62); FS_ERR_NOMEM
 *
 * Cost: for N servers of M ranks, N^2 decompositions of M x M and one of N x N
 * (see fs_schedule_create()): 3 ms for 8 x 8 and 0.1 s for 40 x 8, three times
 * that if balanced. Memory: 24 bytes a transfer, of which there are about 3 M^2
 * a block, twice as many if balanced.
 */
fs_status_t fs_hierarchy_create(const fs_topo_t *topo, bool balanced,
                                const uint64_t  *rank_bytes,
                                fs_hierarchy_t **hierarchy_p);

/** NULL is fine. */
void fs_hierarchy_destroy(fs_hierarchy_t *hierarchy);

#endif
