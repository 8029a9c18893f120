/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes pass from lanes with too much to lanes with room. */
#ifndef FS_BALANCE_FLOW_H
#define FS_BALANCE_FLOW_H

#include "base/fs_arena.h"
#include "fastsched.h"

/* What lanes carry. A lane may have more than the capacity. */
typedef struct fs_lanes {
    uint32_t  n;
    uint64_t  capacity;
    uint64_t *fill;     /* [n] all it carries */
    uint64_t *movable;  /* [n x n] what lane a (row) carries and lane b might;
                           the diagonal is 0 */
    uint64_t  n_passes; /* how often bytes went from one lane to another */
} fs_lanes_t;

/*
 * Let lanes pass on what they have beyond the capacity until no more can be
 * passed, directly or over other lanes: what all of them have too much then is
 * the least possible.
 *
 * Memory comes from arena. FS_OK, FS_ERR_NOMEM.
 * Cost: O(n^2), and O(n^2) at worst for each path over several lanes.
 */
fs_status_t fs_lanes_level(fs_lanes_t *lanes, fs_arena_t *arena);

#endif
