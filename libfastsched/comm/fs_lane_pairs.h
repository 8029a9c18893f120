/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each pair of servers has as many lanes as the smaller one of them. One of these sends
 * the heads of the pair, and bundles that are not cut. Pairs are spread by what they
 * carry, and bundles are cut where a lane still has much more than the others.
 */
#ifndef FS_LANE_PAIRS_H
#define FS_LANE_PAIRS_H

#include "fastsched.h"

/* Bundles of so many bytes are cut in any pair; and of one that is cut each lane has so
 * much or nothing, as a message costs, too. That is for slow networks; of coarse
 * bundles these and cut_bytes below are so many times as much. */
enum {
    FS_LANE_CUT_BYTES   = 5000,
    FS_LANE_RANGE_BYTES = 1000,
    FS_LANE_COARSE      = 16
};

/* Of a server with another one. */
typedef struct fs_lane_pair {
    uint32_t n_lanes;
    uint32_t head;      /* the place of its lane: fs_topo_place() */
    uint64_t cut_bytes; /* bundles of that length or more are cut among lanes */
} fs_lane_pair_t;

/* pairs: [N] those of a server, equal at both ends. *least_cut_p: the least cut_bytes of
 * any two servers, equal on all ranks; UINT64_MAX: no pair has several lanes. FS_OK,
 * FS_ERR_NOMEM. */
fs_status_t fs_lane_pairs(const fs_topo_t *topo, uint32_t server,
                          fs_lane_pair_t *pairs, uint64_t *least_cut_p);

#endif
