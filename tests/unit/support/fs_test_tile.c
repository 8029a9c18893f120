/* SPDX-License-Identifier: BSD-3-Clause */
#include "fs_test_tile.h"

#include <stdlib.h>
#include <string.h>

static uint32_t below(fs_rng_t *rng, uint32_t bound)
{
    return (uint32_t)fs_rng_below(rng, bound);
}

uint64_t fs_test_tile_total(const fs_tile_t *tile)
{
    uint64_t total = 0;

    for (uint32_t b = 0; b < tile->n_src * tile->n_dst; ++b) {
        total += tile->bytes[b];
    }
    return total;
}

/* ---- what must hold of any streams ---- */

static int by_block(const void *a, const void *b)
{
    const fs_extent_t *x = a, *y = b;

    if (x->src_local != y->src_local) {
        return x->src_local < y->src_local ? -1 : 1;
    }
    if (x->dst_local != y->dst_local) {
        return x->dst_local < y->dst_local ? -1 : 1;
    }
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static fs_extent_t *sorted_copy(const fs_streams_t *streams,
                                int (*order)(const void *, const void *))
{
    uint32_t     n      = streams->first[streams->n_lanes];
    fs_extent_t *sorted = fs_test_alloc((size_t)n + 1, sizeof(*sorted));

    memcpy(sorted, streams->extents, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), order);
    return sorted;
}

/* Sorted by block and offset, the extents tile every block from 0 on: each
 * byte is in exactly one of them. */
static void check_cover(const fs_tile_t *tile, const fs_streams_t *streams)
{
    uint32_t     n = streams->first[streams->n_lanes], k = 0;
    fs_extent_t *sorted = sorted_copy(streams, by_block);

    for (uint32_t i = 0; i < tile->n_src; ++i) {
        for (uint32_t j = 0; j < tile->n_dst; ++j) {
            uint64_t at = 0;

            for (;
                 k < n && sorted[k].src_local == i && sorted[k].dst_local == j;
                 ++k) {
                ck_assert(sorted[k].offset == at);
                at += sorted[k].len_bytes;
            }
            ck_assert(at == tile->bytes[i * tile->n_dst + j]);
        }
    }
    ck_assert(k == n); /* none of a block that is not there */
    free(sorted);
}

static int by_receiver(const void *a, const void *b)
{
    const fs_extent_t *x = a, *y = b;

    if (x->dst_lane != y->dst_lane) {
        return x->dst_lane < y->dst_lane ? -1 : 1;
    }
    return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/* No receiving lane hears two senders at a time. */
static void check_receivers(const fs_streams_t *streams)
{
    uint32_t     n      = streams->first[streams->n_lanes];
    fs_extent_t *sorted = sorted_copy(streams, by_receiver);

    for (uint32_t k = 0; k < n; ++k) {
        ck_assert(sorted[k].dst_lane < streams->n_lanes);
        ck_assert(k == 0 || sorted[k - 1].dst_lane < sorted[k].dst_lane ||
                  sorted[k - 1].pos + sorted[k - 1].len_bytes <= sorted[k].pos);
    }
    free(sorted);
}

/* Streams in order; merged peer transfer but for rowcol, without gaps. */
static void check_lanes(fs_balance_t how, const fs_tile_t *tile,
                        const fs_streams_t *streams)
{
    uint64_t longest =
        fs_balance_longest(how, fs_test_tile_total(tile), tile->n_lanes);

    ck_assert(streams->n_lanes == tile->n_lanes);
    ck_assert(streams->first[0] == 0);
    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        uint64_t end = 0;

        ck_assert(streams->first[l] <= streams->first[l + 1]);
        for (uint32_t k = streams->first[l]; k < streams->first[l + 1]; ++k) {
            const fs_extent_t *s = &streams->extents[k];

            ck_assert(s->len_bytes != 0);
            ck_assert(s->pos >= end);
            ck_assert(how == FS_BALANCE_ROWCOL || s->pos == end);
            ck_assert(how == FS_BALANCE_ROWCOL || s->dst_lane == l);
            end = s->pos + s->len_bytes;
        }
        ck_assert(end <= longest);
        ck_assert(streams->end == NULL ? how == FS_BALANCE_ROWCOL
                                       : streams->end[l] == end);
    }
}

/* What is redistributed travels before what is not; in each half, what has not
 * to be gathered first: moves hide behind the wire at both ends. */
static uint32_t move_turn(const fs_tile_t *tile, const fs_extent_t *extent)
{
    bool gather = extent->src_local != tile->src_proxy[extent->dst_lane];
    bool redist = extent->dst_local != tile->dst_proxy[extent->dst_lane];

    return (redist ? 0 : 2) + (gather ? 1 : 0);
}

/* Destinations once around, the receiver itself last: together they lie. */
static uint32_t destination_turn(const fs_tile_t   *tile,
                                 const fs_extent_t *extent)
{
    return (extent->dst_local + 2 * tile->n_dst -
            tile->dst_proxy[extent->dst_lane] - 1) %
           tile->n_dst;
}

static void check_order(fs_balance_t how, const fs_tile_t *tile,
                        const fs_streams_t *streams)
{
    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        uint32_t last = 0;

        for (uint32_t k = streams->first[l]; k < streams->first[l + 1]; ++k) {
            const fs_extent_t *s    = &streams->extents[k];
            uint32_t           turn = how == FS_BALANCE_EQUALIZE
                                          ? destination_turn(tile, s)
                                          : move_turn(tile, s);

            ck_assert(turn >= last);
            last = turn;
        }
    }
}

void fs_test_check_streams(fs_balance_t how, const fs_tile_t *tile,
                           const fs_streams_t *streams)
{
    check_lanes(how, tile, streams);
    check_cover(tile, streams);
    check_receivers(streams);
    if (how != FS_BALANCE_ROWCOL) {
        check_order(how, tile, streams);
    }
}

/* Equal streams from equal tiles: both servers cut the same, so nothing may
 * depend on addresses or on what was in memory. */
static void check_equal(const fs_streams_t *a, const fs_streams_t *b)
{
    uint32_t n = a->first[a->n_lanes];

    ck_assert(memcmp(a->first, b->first, (a->n_lanes + 1) * sizeof(uint32_t)) ==
              0);
    for (uint32_t k = 0; k < n; ++k) {
        const fs_extent_t *x = &a->extents[k], *y = &b->extents[k];

        ck_assert(by_block(x, y) == 0);
        ck_assert(x->dst_lane == y->dst_lane);
        ck_assert(x->len_bytes == y->len_bytes);
        ck_assert(x->pos == y->pos);
    }
}

uint64_t fs_test_balance(fs_balance_t how, const fs_tile_t *tile,
                         uint64_t *gather_p, uint64_t *redist_p)
{
    fs_test_tile_t other = {.tile = *tile};
    fs_arena_t     arena = {0}, other_arena = {0};
    fs_streams_t   once, again;
    uint64_t       gather, redist;

    memcpy(other.bytes, tile->bytes, (size_t)tile->n_src * tile->n_dst * 8);
    other.tile.bytes = other.bytes;
    ck_assert(fs_balance_tile(how, tile, &arena, &once) == FS_OK);
    ck_assert(fs_arena_calloc(&other_arena, 1000, 1) != NULL);
    ck_assert(fs_balance_tile(how, &other.tile, &other_arena, &again) == FS_OK);
    fs_test_check_streams(how, tile, &once);
    check_equal(&once, &again);
    fs_streams_moves(tile, &once, &gather, &redist);
    fs_arena_fini(&arena);
    fs_arena_fini(&other_arena);
    if (gather_p != NULL) {
        *gather_p = gather;
        *redist_p = redist;
    }
    return gather + redist;
}

/* ---- random tiles ---- */

typedef enum shape {
    UNIFORM,
    TINY,
    ZERO_LINES,
    ONE_HOT,
    HOT_ROW,
    MIXED,
    SPARSE,
    HUGE, /* totals near 2^62, the most there is */
    EMPTY,
    SHAPES
} shape_t;

/* Mean block sizes from a byte to totals near 2^40. */
static uint64_t random_mean(fs_rng_t *rng)
{
    return UINT64_C(1) << fs_rng_below(rng, 34);
}

static uint64_t draw(fs_rng_t *rng, shape_t shape, uint64_t mean)
{
    switch (shape) {
    case UNIFORM:
    case ZERO_LINES:
    case HOT_ROW:
        return fs_rng_below(rng, 2 * mean + 1);
    case TINY:
        return fs_rng_below(rng, 3);
    case MIXED:
        return fs_rng_below(rng, 2) ? fs_rng_next(rng) >> (30 + below(rng, 34))
                                    : 0;
    case SPARSE:
        return fs_rng_below(rng, 6) ? 0 : fs_rng_below(rng, 2 * mean + 1);
    case ONE_HOT:
    case HUGE:
    case EMPTY:
    case SHAPES:
        break;
    }
    return 0;
}

static void clear_lines(fs_rng_t *rng, fs_test_tile_t *t)
{
    uint32_t i = below(rng, t->tile.n_src), j = below(rng, t->tile.n_dst);

    for (uint32_t k = 0; k < t->tile.n_dst; ++k) {
        t->bytes[i * t->tile.n_dst + k] = 0;
    }
    for (uint32_t k = 0; k < t->tile.n_src; ++k) {
        t->bytes[k * t->tile.n_dst + j] = 0;
    }
}

/* Blocks that add up to 2^62, in shares from nothing to almost all. */
static void fill_huge(fs_rng_t *rng, uint32_t n_blocks, uint64_t *bytes)
{
    uint64_t left = UINT64_C(1) << 62;

    for (uint32_t b = 0; b < n_blocks; ++b) {
        bytes[b] = fs_rng_below(rng, left / (1 + below(rng, 8)) + 1);
        left -= bytes[b];
    }
    bytes[below(rng, n_blocks)] += left;
}

static void random_bytes(fs_rng_t *rng, fs_test_tile_t *t)
{
    shape_t  shape    = (shape_t)below(rng, SHAPES);
    uint64_t mean     = random_mean(rng);
    uint32_t n_blocks = t->tile.n_src * t->tile.n_dst;
    uint32_t hot      = below(rng, n_blocks);

    for (uint32_t b = 0; b < n_blocks; ++b) {
        t->bytes[b] = draw(rng, shape, mean);
    }
    if (shape == ZERO_LINES) {
        clear_lines(rng, t);
    }
    if (shape == ONE_HOT) {
        t->bytes[hot] = 1 + fs_rng_below(rng, n_blocks * mean);
    }
    if (shape == HUGE) {
        fill_huge(rng, n_blocks, t->bytes);
    }
    for (uint32_t j = 0; shape == HOT_ROW && j < t->tile.n_dst; ++j) {
        t->bytes[hot / t->tile.n_dst * t->tile.n_dst + j] *= 20;
    }
}

/* n_lanes different ranks of n, in any order. */
static void random_proxies(fs_rng_t *rng, uint32_t n, uint32_t n_lanes,
                           uint32_t *proxy)
{
    uint32_t rank[FS_TEST_MAX_LOCAL];

    for (uint32_t i = 0; i < n; ++i) {
        rank[i] = i;
    }
    for (uint32_t l = 0; l < n_lanes; ++l) {
        uint32_t pick = l + below(rng, n - l);

        proxy[l]   = rank[pick];
        rank[pick] = rank[l];
    }
}

/* As a topology spreads them: lanes in order over the ranks. */
static void spread_proxies(uint32_t n, uint32_t n_lanes, uint32_t *proxy)
{
    for (uint32_t l = 0; l < n_lanes; ++l) {
        proxy[l] = l * n / n_lanes;
    }
}

void fs_test_tile_random(fs_rng_t *rng, uint32_t max_local, fs_test_tile_t *t)
{
    uint32_t n_src = 1 + below(rng, max_local);
    uint32_t n_dst = below(rng, 2) ? n_src : 1 + below(rng, max_local);
    uint32_t most  = n_src < n_dst ? n_src : n_dst;
    uint32_t lanes = below(rng, 2) ? most : 1 + below(rng, most);

    t->tile = (fs_tile_t){n_src,        n_dst,        t->bytes, lanes,
                          t->src_proxy, t->dst_proxy, false};
    random_bytes(rng, t);
    if (below(rng, 4) == 0) {
        random_proxies(rng, n_src, lanes, t->src_proxy);
        random_proxies(rng, n_dst, lanes, t->dst_proxy);
    } else {
        spread_proxies(n_src, lanes, t->src_proxy);
        spread_proxies(n_dst, lanes, t->dst_proxy);
    }
}
