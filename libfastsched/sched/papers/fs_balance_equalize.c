/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Equal row sums, then merged peer transfer (FAST §4.1, FLASH §4).
 *
 * Inside a stream the bytes for one destination lie together (FLASH §5), those
 * for the receiver itself last: they need no redistribution, so little remains
 * to be done when the last byte has landed.
 */
#include "sched/papers/fs_papers.h"

static uint32_t by_destination(const fs_tile_t *tile, const fs_extent_t *s)
{
    uint32_t last = tile->dst_proxy[s->dst_lane];

    return s->dst_local > last ? s->dst_local - last - 1
                               : s->dst_local + tile->n_dst - last - 1;
}

static fs_status_t cut(const fs_tile_t *tile, uint64_t total,
                       const fs_viewer_t *viewer, fs_arena_t *arena,
                       fs_streams_t *streams)
{
    uint64_t    capacity = fs_balance_capacity(total, tile->n_lanes);
    fs_fill_t   fill;
    fs_status_t status = fs_fill_init(&fill, tile, total, capacity, arena);

    (void)viewer;
    if (status != FS_OK) {
        return status;
    }
    fs_fill_rows(&fill);
    return fs_fill_finish(&fill, by_destination, tile->n_dst, arena, streams);
}

const fs_balance_mode_t fs_balance_equalize = {.cut = cut};
