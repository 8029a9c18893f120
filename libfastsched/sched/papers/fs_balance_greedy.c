/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SABRE Algorithm 1: blocks by size, the largest first, each to the lane whose
 * receiver it is for, so that it needs no redistribution. If it does not fit
 * there it goes to the emptiest lane, and if it does not fit there either, that
 * lane takes what it can and the rest is the next block. Lanes may go 5% beyond
 * an equal share (alpha = 1.05), which saves splits.
 *
 * Where the paper leaves a choice: the lowest index among equals; a destination
 * that serves no lane prefers none. Streams are ordered like those of minmove.
 */
#include "sched/papers/fs_papers.h"

#include <stdlib.h>

typedef struct block {
    uint64_t bytes;
    uint32_t i;
    uint32_t j;
} block_t;

static int larger_first(const void *a, const void *b)
{
    const block_t *x = a, *y = b;

    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    if (x->i != y->i) {
        return x->i < y->i ? -1 : 1;
    }
    return x->j < y->j ? -1 : x->j > y->j;
}

static uint32_t emptiest_lane(const fs_fill_t *fill)
{
    uint32_t best = 0;

    for (uint32_t l = 1; l < fill->tile->n_lanes; ++l) {
        if (fill->room[l] > fill->room[best]) {
            best = l;
        }
    }
    return best;
}

static void put_block(fs_fill_t *fill, const block_t *b)
{
    uint64_t *done   = &fill->done[(size_t)b->i * fill->tile->n_dst + b->j];
    uint32_t  prefer = fill->dst_lane[b->j];

    while (*done != b->bytes) {
        if (prefer != FS_NO_LANE && fill->room[prefer] >= b->bytes - *done) {
            fs_fill_put(fill, b->i, b->j, prefer);
        } else {
            fs_fill_put(fill, b->i, b->j, emptiest_lane(fill));
        }
    }
}

static fs_status_t cut(const fs_tile_t *tile, uint64_t total,
                       const fs_viewer_t *viewer, fs_arena_t *arena,
                       fs_streams_t *streams)
{
    size_t   n = (size_t)tile->n_src * tile->n_dst, b = 0;
    uint64_t longest =
        fs_balance_longest(FS_BALANCE_GREEDY, total, tile->n_lanes);
    block_t    *blocks = fs_arena_calloc(arena, n, sizeof(*blocks));
    fs_fill_t   fill;
    fs_status_t status = fs_fill_init(&fill, tile, total, longest, arena);

    (void)viewer;
    if (status != FS_OK || blocks == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < tile->n_src; ++i) {
        for (uint32_t j = 0; j < tile->n_dst; ++j, ++b) {
            blocks[b] = (block_t){tile->bytes[b], i, j};
        }
    }
    qsort(blocks, n, sizeof(*blocks), larger_first);
    for (b = 0; b < n; ++b) {
        put_block(&fill, &blocks[b]);
    }
    return fs_fill_finish(&fill, fs_fill_by_moves, FS_FILL_MOVES, arena,
                          streams);
}

const fs_balance_mode_t fs_balance_greedy = {.cut = cut, .slack = 20};
