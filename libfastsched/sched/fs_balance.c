/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Balance inside the server before the slow link (FAST §4.1).
 *
 * The blocks of a tile are dealt to lanes of equal capacity. A byte whose
 * source is not the lane's sender has to be gathered first, one whose
 * destination is not the lane's receiver has to be redistributed afterwards:
 * two moves at most. Each mode is a sequence of passes over the blocks; a pass
 * puts as much of a block as fits on the lanes it likes, and leaves the rest to
 * the next pass. The last pass takes any lane with room, and there always is
 * room: the capacities add up to at least the tile.
 *
 *   minmove   no move (lane of both ends), one move (lane of either end, the
 *             emptier one), two moves.
 *   equalize  own row first, surplus of long rows to short ones: merged peer
 *             transfer, as FAST describes it.
 *
 * Limits: greedy, so minmove can move a little more than a flow computation
 * would.
 */
#include "sched/fs_balance.h"

#include "base/fs_arith.h"
#include "base/fs_assert.h"

enum { NONE = UINT32_MAX };

typedef struct deal {
    const fs_tile_t *tile;
    uint64_t         capacity;
    uint64_t        *done;      /* [n_src x n_dst] bytes already dealt */
    uint64_t        *fill;      /* [n_lanes] */
    uint32_t        *src_lane;  /* [n_src] the lane a rank sends, or NONE */
    uint32_t        *dst_lane;  /* [n_dst] */
    uint32_t         next_open; /* no lane below it has room */
    uint32_t         n_segments;
    fs_segment_t    *segments; /* pos holds the lane until sort_streams() */
} deal_t;

uint64_t fs_balance_capacity(uint64_t total_bytes, uint32_t n_lanes)
{
    uint64_t share = fs_u64_div_up(total_bytes, n_lanes);

    return fs_u64_div_up(share, FS_BALANCE_ALIGN) * FS_BALANCE_ALIGN;
}

/* Put what fits of a block on a lane. */
static void put(deal_t *deal, uint32_t i, uint32_t j, uint32_t lane)
{
    size_t   block = (size_t)i * deal->tile->n_dst + j;
    uint64_t len;

    if (lane == NONE) {
        return;
    }
    len = fs_u64_min(deal->tile->bytes[block] - deal->done[block],
                     deal->capacity - deal->fill[lane]);
    if (len == 0) {
        return;
    }
    deal->segments[deal->n_segments++] =
        (fs_segment_t){i, j, deal->done[block], len, lane};
    deal->done[block] += len;
    deal->fill[lane] += len;
}

static void pass_no_move(deal_t *deal, uint32_t i, uint32_t j)
{
    if (deal->src_lane[i] == deal->dst_lane[j]) {
        put(deal, i, j, deal->src_lane[i]);
    }
}

static void pass_one_move(deal_t *deal, uint32_t i, uint32_t j)
{
    uint32_t a = deal->src_lane[i], b = deal->dst_lane[j];

    if (a != NONE && b != NONE && deal->fill[b] < deal->fill[a]) {
        put(deal, i, j, b);
        put(deal, i, j, a);
    } else {
        put(deal, i, j, a);
        put(deal, i, j, b);
    }
}

static void pass_own_row(deal_t *deal, uint32_t i, uint32_t j)
{
    put(deal, i, j, deal->src_lane[i]);
}

static void pass_any_lane(deal_t *deal, uint32_t i, uint32_t j)
{
    size_t block = (size_t)i * deal->tile->n_dst + j;

    while (deal->done[block] < deal->tile->bytes[block]) {
        fs_assert(deal->next_open < deal->tile->n_lanes);
        if (deal->fill[deal->next_open] == deal->capacity) {
            ++deal->next_open;
        } else {
            put(deal, i, j, deal->next_open);
        }
    }
}

/* Visit the blocks with something left, rows in order, each row from its
 * diagonal on: neighbours start at different columns. */
static void run_pass(deal_t *deal, void (*pass)(deal_t *, uint32_t, uint32_t))
{
    const fs_tile_t *tile = deal->tile;

    for (uint32_t i = 0; i < tile->n_src; ++i) {
        for (uint32_t d = 0; d < tile->n_dst; ++d) {
            uint32_t j     = (i + d) % tile->n_dst;
            size_t   block = (size_t)i * tile->n_dst + j;

            if (deal->done[block] < tile->bytes[block]) {
                pass(deal, i, j);
            }
        }
    }
}

/* Order inside a lane: first what is only redistributed, last what is only
 * gathered. Then no gather delays the first bytes and no redistribution follows
 * the last. */
static unsigned move_class(const fs_tile_t *tile, const fs_segment_t *segment)
{
    bool gather = segment->src_local != tile->src_proxy[segment->pos];
    bool redist = segment->dst_local != tile->dst_proxy[segment->pos];

    return gather ? (redist ? 1 : 3) : (redist ? 0 : 2);
}

/* Stable counting sort by (lane, class); dealing order inside. */
static void sort_streams(const deal_t *deal, uint32_t *count,
                         fs_streams_t *streams)
{
    const fs_tile_t *tile = deal->tile;
    uint32_t         k, n = 0;
    uint64_t         pos = 0;

    for (k = 0; k < deal->n_segments; ++k) {
        const fs_segment_t *s = &deal->segments[k];

        ++count[s->pos * 4 + move_class(tile, s)];
    }
    for (k = 0; k < tile->n_lanes * 4; ++k) {
        uint32_t here = count[k];

        if (k % 4 == 0) {
            streams->first[k / 4] = n;
        }
        count[k] = n;
        n += here;
    }
    streams->first[tile->n_lanes] = n;
    for (k = 0; k < deal->n_segments; ++k) {
        const fs_segment_t *s = &deal->segments[k];

        streams->segments[count[s->pos * 4 + move_class(tile, s)]++] = *s;
    }
    for (uint32_t lane = 0; lane < tile->n_lanes; ++lane) {
        for (pos = 0, k = streams->first[lane]; k < streams->first[lane + 1];
             ++k) {
            streams->segments[k].pos = pos;
            pos += streams->segments[k].len_bytes;
        }
    }
}

static void map_lanes(const fs_tile_t *tile, deal_t *deal)
{
    for (uint32_t i = 0; i < tile->n_src; ++i) {
        deal->src_lane[i] = NONE;
    }
    for (uint32_t j = 0; j < tile->n_dst; ++j) {
        deal->dst_lane[j] = NONE;
    }
    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        deal->src_lane[tile->src_proxy[l]] = l;
        deal->dst_lane[tile->dst_proxy[l]] = l;
    }
}

fs_status_t fs_balance_tile(fs_balance_t mode, const fs_tile_t *tile,
                            fs_arena_t *arena, fs_streams_t *streams_p)
{
    size_t       n_blocks = (size_t)tile->n_src * tile->n_dst;
    size_t       lanes    = tile->n_lanes;
    deal_t       deal     = {.tile = tile};
    fs_streams_t streams  = {.n_lanes = tile->n_lanes};
    uint32_t    *count    = fs_arena_calloc(arena, 4 * lanes, sizeof(*count));
    uint64_t     total    = 0;

    for (size_t b = 0; b < n_blocks; ++b) {
        total += tile->bytes[b];
    }
    deal.capacity = fs_balance_capacity(total, tile->n_lanes);
    deal.done     = fs_arena_calloc(arena, n_blocks, sizeof(*deal.done));
    deal.fill     = fs_arena_calloc(arena, lanes, sizeof(*deal.fill));
    deal.src_lane = fs_arena_calloc(arena, tile->n_src, sizeof(uint32_t));
    deal.dst_lane = fs_arena_calloc(arena, tile->n_dst, sizeof(uint32_t));
    /* A put() ends a block or fills a lane. */
    deal.segments =
        fs_arena_calloc(arena, n_blocks + lanes, sizeof(*deal.segments));
    streams.segments =
        fs_arena_calloc(arena, n_blocks + lanes, sizeof(*streams.segments));
    streams.first = fs_arena_calloc(arena, lanes + 1, sizeof(uint32_t));
    if (count == NULL || deal.done == NULL || deal.fill == NULL ||
        deal.src_lane == NULL || deal.dst_lane == NULL ||
        deal.segments == NULL || streams.segments == NULL ||
        streams.first == NULL) {
        return FS_ERR_NOMEM;
    }
    map_lanes(tile, &deal);
    switch (mode) {
    case FS_BALANCE_MINMOVE:
        run_pass(&deal, pass_no_move);
        run_pass(&deal, pass_one_move);
        break;
    case FS_BALANCE_EQUALIZE:
        run_pass(&deal, pass_own_row);
        break;
    }
    run_pass(&deal, pass_any_lane);
    sort_streams(&deal, count, &streams);
    *streams_p = streams;
    return FS_OK;
}
