/* SPDX-License-Identifier: BSD-3-Clause */
/* A tile becomes lane streams. */
#ifndef FS_BALANCE_H
#define FS_BALANCE_H

#include "base/fs_arena.h"
#include "fastsched.h"

/* Lane capacities are multiples of this, so that splits of large blocks keep
 * cache lines whole (FLASH §5). */
enum { FS_BALANCE_ALIGN = 128 };

/* Bytes of block (src_local, dst_local) that travel on a lane. */
typedef struct fs_segment {
    uint32_t src_local;
    uint32_t dst_local;
    uint64_t offset;    /* in the block, bytes */
    uint64_t len_bytes; /* never 0 */
    uint64_t pos;       /* in the lane stream, bytes */
} fs_segment_t;

/* The streams of one tile, all lanes. Lane l holds segments first[l] to
 * first[l + 1] - 1, in the order in which they travel. */
typedef struct fs_streams {
    uint32_t      n_lanes;
    uint32_t     *first; /* [n_lanes + 1] */
    fs_segment_t *segments;
} fs_streams_t;

/* The tile from one server to another. */
typedef struct fs_tile {
    uint32_t        n_src; /* ranks of the sending server */
    uint32_t        n_dst;
    const uint64_t *bytes; /* [n_src x n_dst] */
    uint32_t        n_lanes;
    const uint32_t *src_proxy; /* [n_lanes] local index that sends a lane */
    const uint32_t *dst_proxy; /* [n_lanes] local index that receives it */
} fs_tile_t;

/* Bytes a lane may carry when total bytes share n_lanes lanes. */
uint64_t fs_balance_capacity(uint64_t total_bytes, uint32_t n_lanes);

/*
 * Cut a tile into lane streams, none longer than the capacity, every byte of
 * the tile in exactly one. Both servers of a tile call this with equal
 * arguments and get equal streams.
 *
 * Memory comes from arena and lives as long. FS_OK, FS_ERR_NOMEM.
 * Cost: O(B log B) for B = n_src * n_dst blocks.
 */
fs_status_t fs_balance_tile(fs_balance_t mode, const fs_tile_t *tile,
                            fs_arena_t *arena, fs_streams_t *streams_p);

#endif
