/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigning blocks to lanes and sorting the extents into streams. */
#include "sched/balance/fs_balance_modes.h"

void fs_balance_lanes_of(uint32_t n_lanes, const uint32_t *proxy,
                         uint32_t n_local, uint32_t *lane_of)
{
    for (uint32_t i = 0; i < n_local; ++i) {
        lane_of[i] = FS_NO_LANE;
    }
    for (uint32_t l = 0; l < n_lanes; ++l) {
        lane_of[proxy[l]] = l;
    }
}

fs_status_t fs_fill_init(fs_fill_t *fill, const fs_tile_t *tile, uint64_t total,
                         uint64_t longest, fs_arena_t *arena)
{
    size_t blocks = (size_t)tile->n_src * tile->n_dst;
    size_t lanes  = tile->n_lanes;

    *fill = (fs_fill_t){
        .tile     = tile,
        .done     = fs_arena_calloc(arena, blocks, sizeof(*fill->done)),
        .room     = fs_arena_calloc(arena, lanes, sizeof(*fill->room)),
        .spare    = longest * lanes - total,
        .src_lane = fs_arena_calloc(arena, tile->n_src, sizeof(uint32_t)),
        .dst_lane = fs_arena_calloc(arena, tile->n_dst, sizeof(uint32_t)),
        /* A fs_fill_put() ends a block or closes a lane. */
        .extents =
            fs_arena_calloc(arena, blocks + lanes, sizeof(*fill->extents)),
    };
    if (fill->done == NULL || fill->room == NULL || fill->src_lane == NULL ||
        fill->dst_lane == NULL || fill->extents == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        fill->room[l] = longest;
    }
    fs_balance_lanes_of(tile->n_lanes, tile->src_proxy, tile->n_src,
                        fill->src_lane);
    fs_balance_lanes_of(tile->n_lanes, tile->dst_proxy, tile->n_dst,
                        fill->dst_lane);
    return FS_OK;
}

uint64_t fs_balance_split(uint64_t block_bytes, uint64_t begin, uint64_t room,
                          uint64_t *spare)
{
    uint64_t over = (begin + room) % FS_BALANCE_ALIGN;

    if (block_bytes < FS_BALANCE_LARGE || over >= room || over > *spare) {
        return room;
    }
    *spare -= over;
    return room - over;
}

void fs_fill_put(fs_fill_t *fill, uint32_t i, uint32_t j, uint32_t lane)
{
    size_t   block = (size_t)i * fill->tile->n_dst + j;
    uint64_t rest  = fill->tile->bytes[block] - fill->done[block];
    uint64_t room  = fill->room[lane];
    uint64_t len   = rest;

    if (rest > room) {
        len  = fs_balance_split(fill->tile->bytes[block], fill->done[block],
                                room, &fill->spare);
        room = len;
    }
    if (len == 0) {
        return;
    }
    fill->extents[fill->n_extents++] =
        (fs_extent_t){i, j, lane, fill->done[block], len, 0};
    fill->done[block] += len;
    fill->room[lane] = room - len;
}

uint32_t fs_fill_by_moves(const fs_tile_t *tile, const fs_extent_t *s)
{
    bool gather = s->src_local != tile->src_proxy[s->dst_lane];
    bool redist = s->dst_local != tile->dst_proxy[s->dst_lane];

    return gather ? (redist ? 1 : 3) : (redist ? 0 : 2);
}

/* Counting sort by lane and turn. */
fs_status_t fs_fill_finish(const fs_fill_t *fill, fs_fill_turn_t *turn,
                           uint32_t n_turns, fs_arena_t *arena,
                           fs_streams_t *streams)
{
    uint32_t  lanes = fill->tile->n_lanes, n = 0;
    size_t    n_keys = (size_t)lanes * n_turns;
    uint32_t *at     = fs_arena_calloc(arena, n_keys, sizeof(*at));
    uint32_t *first = fs_arena_calloc(arena, (size_t)lanes + 1, sizeof(*first));
    uint64_t *end   = fs_arena_calloc(arena, lanes, sizeof(*end));
    fs_extent_t *out = fs_arena_calloc(arena, fill->n_extents, sizeof(*out));

    if (at == NULL || first == NULL || end == NULL || out == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t k = 0; k < fill->n_extents; ++k) {
        const fs_extent_t *s = &fill->extents[k];

        ++at[(size_t)s->dst_lane * n_turns + turn(fill->tile, s)];
    }
    for (size_t key = 0; key < n_keys; ++key) {
        uint32_t here = at[key];

        at[key] = n;
        n += here;
    }
    for (uint32_t l = 0; l < lanes; ++l) {
        first[l] = at[(size_t)l * n_turns];
    }
    first[lanes] = n;
    for (uint32_t k = 0; k < fill->n_extents; ++k) {
        const fs_extent_t *s = &fill->extents[k];

        out[at[(size_t)s->dst_lane * n_turns + turn(fill->tile, s)]++] = *s;
    }
    for (uint32_t l = 0; l < lanes; ++l) {
        for (uint32_t k = first[l]; k < first[l + 1]; ++k) {
            out[k].pos = end[l];
            end[l] += out[k].len_bytes;
        }
    }
    *streams = (fs_streams_t){lanes, first, out, end};
    return FS_OK;
}
