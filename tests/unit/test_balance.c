/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles become lane streams: whatever the tile, no byte is lost, sent twice or
 * put on a lane that is full; and minmove earns its name. */
#include "sched/fs_balance.h"
#include "sched/fs_rng.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LOCAL = 12, MAX_BLOCKS = MAX_LOCAL * MAX_LOCAL, ROUNDS = 60 };

/* A tile and the memory it points to. */
typedef struct case_ {
    fs_tile_t tile;
    uint64_t  bytes[MAX_BLOCKS];
    uint32_t  src_proxy[MAX_LOCAL];
    uint32_t  dst_proxy[MAX_LOCAL];
} case_t;

static uint32_t below(fs_rng_t *rng, uint32_t bound)
{
    return (uint32_t)fs_rng_below(rng, bound);
}

/* ---- what must hold of any streams ---- */

static int by_block(const void *a, const void *b)
{
    const fs_segment_t *x = a, *y = b;

    if (x->src_local != y->src_local) {
        return x->src_local < y->src_local ? -1 : 1;
    }
    if (x->dst_local != y->dst_local) {
        return x->dst_local < y->dst_local ? -1 : 1;
    }
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Sorted by block and offset, the segments tile every block from 0 on: each
 * byte is in exactly one of them. */
static void check_cover(const fs_tile_t *tile, const fs_streams_t *streams)
{
    uint32_t      n = streams->first[streams->n_lanes], k = 0;
    fs_segment_t *sorted = malloc((n + 1) * sizeof(*sorted));

    MUST(sorted != NULL);
    memcpy(sorted, streams->segments, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_block);
    for (uint32_t i = 0; i < tile->n_src; ++i) {
        for (uint32_t j = 0; j < tile->n_dst; ++j) {
            uint64_t at = 0;

            for (;
                 k < n && sorted[k].src_local == i && sorted[k].dst_local == j;
                 ++k) {
                MUST(sorted[k].offset == at);
                at += sorted[k].len_bytes;
            }
            MUST(at == tile->bytes[i * tile->n_dst + j]);
        }
    }
    MUST(k == n); /* none of a block that is not there */
    free(sorted);
}

/* What is redistributed travels before what is not; in each half, what has not
 * to be gathered first: moves hide behind the wire at both ends. */
static unsigned turn(const fs_tile_t *tile, uint32_t lane,
                     const fs_segment_t *segment)
{
    bool gather = segment->src_local != tile->src_proxy[lane];
    bool redist = segment->dst_local != tile->dst_proxy[lane];

    return (redist ? 0 : 2) + (gather ? 1 : 0);
}

static void check_lane(const fs_tile_t *tile, const fs_streams_t *streams,
                       uint32_t lane, uint64_t capacity)
{
    uint64_t pos  = 0;
    unsigned last = 0;

    MUST(streams->first[lane] <= streams->first[lane + 1]);
    for (uint32_t k = streams->first[lane]; k < streams->first[lane + 1]; ++k) {
        const fs_segment_t *segment = &streams->segments[k];

        MUST(segment->len_bytes != 0);
        MUST(segment->pos == pos);
        MUST(turn(tile, lane, segment) >= last);
        last = turn(tile, lane, segment);
        pos += segment->len_bytes;
    }
    MUST(pos <= capacity);
}

static uint64_t total_of(const fs_tile_t *tile)
{
    uint64_t total = 0;

    for (uint32_t b = 0; b < tile->n_src * tile->n_dst; ++b) {
        total += tile->bytes[b];
    }
    return total;
}

static void check_streams(const fs_tile_t *tile, const fs_streams_t *streams)
{
    uint64_t capacity = fs_balance_capacity(total_of(tile), tile->n_lanes);

    MUST(streams->n_lanes == tile->n_lanes);
    MUST(streams->first[0] == 0);
    for (uint32_t lane = 0; lane < tile->n_lanes; ++lane) {
        check_lane(tile, streams, lane, capacity);
    }
    check_cover(tile, streams);
}

/* Bytes that are gathered, plus bytes that are redistributed. */
static uint64_t moved(const fs_tile_t *tile, const fs_streams_t *streams)
{
    uint64_t sum = 0;

    for (uint32_t lane = 0; lane < tile->n_lanes; ++lane) {
        for (uint32_t k = streams->first[lane]; k < streams->first[lane + 1];
             ++k) {
            const fs_segment_t *s = &streams->segments[k];

            if (s->src_local != tile->src_proxy[lane]) {
                sum += s->len_bytes;
            }
            if (s->dst_local != tile->dst_proxy[lane]) {
                sum += s->len_bytes;
            }
        }
    }
    return sum;
}

/* Equal streams from equal tiles: both servers cut the same, so nothing may
 * depend on addresses or on what was in memory. */
static void check_equal(const fs_streams_t *a, const fs_streams_t *b)
{
    uint32_t n = a->first[a->n_lanes];

    MUST(memcmp(a->first, b->first, (a->n_lanes + 1) * sizeof(uint32_t)) == 0);
    for (uint32_t k = 0; k < n; ++k) {
        const fs_segment_t *x = &a->segments[k], *y = &b->segments[k];

        MUST(by_block(x, y) == 0);
        MUST(x->len_bytes == y->len_bytes);
        MUST(x->pos == y->pos);
    }
}

/* Balance, check everything; returns the bytes moved. */
static uint64_t balance(fs_balance_t mode, const fs_tile_t *tile)
{
    fs_arena_t   arena = {0};
    fs_streams_t once, again;
    uint64_t     bytes;

    MUST(fs_balance_tile(mode, tile, &arena, &once) == FS_OK);
    MUST(fs_balance_tile(mode, tile, &arena, &again) == FS_OK);
    check_streams(tile, &once);
    check_equal(&once, &again);
    bytes = moved(tile, &once);
    fs_arena_fini(&arena);
    return bytes;
}

/* ---- random tiles ---- */

typedef enum shape {
    UNIFORM,
    TINY,
    ZERO_LINES,
    ONE_HOT,
    HOT_ROW,
    MIXED,
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
    case ONE_HOT:
    case EMPTY:
    case SHAPES:
        break;
    }
    return 0;
}

static void clear_lines(fs_rng_t *rng, case_t *c)
{
    uint32_t i = below(rng, c->tile.n_src), j = below(rng, c->tile.n_dst);

    for (uint32_t k = 0; k < c->tile.n_dst; ++k) {
        c->bytes[i * c->tile.n_dst + k] = 0;
    }
    for (uint32_t k = 0; k < c->tile.n_src; ++k) {
        c->bytes[k * c->tile.n_dst + j] = 0;
    }
}

static void random_bytes(fs_rng_t *rng, case_t *c)
{
    shape_t  shape    = (shape_t)below(rng, SHAPES);
    uint64_t mean     = random_mean(rng);
    uint32_t n_blocks = c->tile.n_src * c->tile.n_dst;
    uint32_t hot      = below(rng, n_blocks);

    for (uint32_t b = 0; b < n_blocks; ++b) {
        c->bytes[b] = draw(rng, shape, mean);
    }
    if (shape == ZERO_LINES) {
        clear_lines(rng, c);
    }
    if (shape == ONE_HOT) {
        c->bytes[hot] = 1 + fs_rng_below(rng, n_blocks * mean);
    }
    for (uint32_t j = 0; shape == HOT_ROW && j < c->tile.n_dst; ++j) {
        c->bytes[hot / c->tile.n_dst * c->tile.n_dst + j] *= 20;
    }
}

/* n_lanes different ranks of n, in any order. */
static void random_proxies(fs_rng_t *rng, uint32_t n, uint32_t n_lanes,
                           uint32_t *proxy)
{
    uint32_t rank[MAX_LOCAL];

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

static void random_case(fs_rng_t *rng, case_t *c)
{
    uint32_t n_src = 1 + below(rng, MAX_LOCAL);
    uint32_t n_dst = below(rng, 2) ? n_src : 1 + below(rng, MAX_LOCAL);
    uint32_t most  = n_src < n_dst ? n_src : n_dst;
    uint32_t lanes = below(rng, 2) ? most : 1 + below(rng, most);

    c->tile =
        (fs_tile_t){n_src, n_dst, c->bytes, lanes, c->src_proxy, c->dst_proxy};
    random_bytes(rng, c);
    if (below(rng, 4) == 0) {
        random_proxies(rng, n_src, lanes, c->src_proxy);
        random_proxies(rng, n_dst, lanes, c->dst_proxy);
    } else {
        spread_proxies(n_src, lanes, c->src_proxy);
        spread_proxies(n_dst, lanes, c->dst_proxy);
    }
}

/* Any tile: every byte travels once, lanes hold what they may, and over many
 * tiles minmove moves no more than equalize. (Not on each tile: it is
 * greedy.) */
START_TEST(prop_random_tiles)
{
    uint64_t minmove = 0, equalize = 0;
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < ROUNDS; ++k) {
        case_t c;

        random_case(&rng, &c);
        minmove += balance(FS_BALANCE_MINMOVE, &c.tile);
        equalize += balance(FS_BALANCE_EQUALIZE, &c.tile);
    }
    ck_assert_uint_le(minmove, equalize);
}
END_TEST

/* The same on tiles of like size, where one large tile cannot hide the rest. */
START_TEST(prop_minmove_moves_less)
{
    uint64_t minmove = 0, equalize = 0;
    fs_rng_t rng;

    fs_rng_init(&rng, 1000 + (uint64_t)_i);
    for (int k = 0; k < ROUNDS; ++k) {
        case_t c;

        random_case(&rng, &c);
        for (uint32_t b = 0; b < c.tile.n_src * c.tile.n_dst; ++b) {
            c.bytes[b] = fs_rng_below(&rng, 100000);
        }
        minmove += balance(FS_BALANCE_MINMOVE, &c.tile);
        equalize += balance(FS_BALANCE_EQUALIZE, &c.tile);
    }
    ck_assert_uint_lt(minmove, equalize);
}
END_TEST

/* ---- capacity ---- */

START_TEST(capacity_by_hand)
{
    ck_assert_uint_eq(fs_balance_capacity(0, 3), 0);
    ck_assert_uint_eq(fs_balance_capacity(1, 1), 128);
    ck_assert_uint_eq(fs_balance_capacity(128, 1), 128);
    ck_assert_uint_eq(fs_balance_capacity(129, 1), 256);
    ck_assert_uint_eq(fs_balance_capacity(256, 2), 128);
    ck_assert_uint_eq(fs_balance_capacity(257, 2), 256);
    ck_assert_uint_eq(fs_balance_capacity(12 * 128, 2), 6 * 128);
    ck_assert_uint_eq(fs_balance_capacity(UINT64_C(1) << 62, 4), UINT64_C(1)
                                                                     << 60);
}
END_TEST

/* The least multiple of the alignment with which all lanes hold the total. */
START_TEST(prop_capacity_is_tight)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 10000; ++k) {
        uint64_t total = fs_rng_next(&rng) >> (2 + below(&rng, 62));
        uint32_t lanes = 1 + below(&rng, 64);
        uint64_t c     = fs_balance_capacity(total, lanes);

        MUST(c % FS_BALANCE_ALIGN == 0);
        MUST((fs_u128_t)c * lanes >= total);
        MUST(c == 0 || (fs_u128_t)(c - FS_BALANCE_ALIGN) * lanes < total);
    }
}
END_TEST

/* ---- tiles by hand ---- */

static const uint32_t in_order[] = {0, 1, 2, 3};

static uint64_t lane_sum(const fs_streams_t *streams, uint32_t lane)
{
    uint64_t sum = 0;

    for (uint32_t k = streams->first[lane]; k < streams->first[lane + 1]; ++k) {
        sum += streams->segments[k].len_bytes;
    }
    return sum;
}

/* FAST, figure 7: rows of 8 and 4 become lanes of 6 and 6; with equalize the
 * long row gives away 2 and nothing else is gathered. */
START_TEST(rows_of_8_and_4)
{
    enum { UNIT = FS_BALANCE_ALIGN };
    static const uint64_t bytes[] = {5 * UNIT, 3 * UNIT, 1 * UNIT, 3 * UNIT};
    const fs_tile_t       tile    = {2, 2, bytes, 2, in_order, in_order};
    fs_arena_t            arena   = {0};
    fs_streams_t          streams;
    uint64_t              gathered = 0;

    ck_assert_int_eq(fs_balance_tile((fs_balance_t)_i, &tile, &arena, &streams),
                     FS_OK);
    check_streams(&tile, &streams);
    ck_assert_uint_eq(lane_sum(&streams, 0), 6 * UNIT);
    ck_assert_uint_eq(lane_sum(&streams, 1), 6 * UNIT);
    for (uint32_t k = 0; k < streams.first[2]; ++k) {
        uint32_t lane = k >= streams.first[1];

        if (streams.segments[k].src_local != lane) {
            gathered += streams.segments[k].len_bytes;
        }
    }
    if (_i == FS_BALANCE_EQUALIZE) {
        ck_assert_uint_eq(gathered, 2 * UNIT);
    }
    fs_arena_fini(&arena);
}
END_TEST

/* Equal blocks from each rank to its namesake: nothing has to move, whether or
 * not the blocks are multiples of the alignment. */
START_TEST(diagonal_moves_nothing)
{
    static const uint64_t sizes[] = {1, 127, 128, 129, 1000003};

    for (int k = 0; k < 5; ++k) {
        uint64_t  bytes[16] = {0};
        fs_tile_t tile      = {4, 4, bytes, 4, in_order, in_order};

        bytes[0] = bytes[5] = bytes[10] = bytes[15] = sizes[k];
        ck_assert_uint_eq(balance((fs_balance_t)_i, &tile), 0);
    }
}
END_TEST

/* One block of 4 lanes: each lane gets a quarter, and moving is unavoidable,
 * twice for each lane but the one that begins or ends it. */
START_TEST(hot_block_uses_all_lanes)
{
    uint64_t     bytes[16] = {0};
    fs_tile_t    tile      = {4, 4, bytes, 4, in_order, in_order};
    fs_arena_t   arena     = {0};
    fs_streams_t streams;

    bytes[1 * 4 + 2] = 4 * 1280;
    ck_assert_int_eq(fs_balance_tile((fs_balance_t)_i, &tile, &arena, &streams),
                     FS_OK);
    check_streams(&tile, &streams);
    for (uint32_t lane = 0; lane < 4; ++lane) {
        ck_assert_uint_eq(lane_sum(&streams, lane), 1280);
    }
    ck_assert_uint_eq(moved(&tile, &streams), 6 * 1280);
    fs_arena_fini(&arena);
}
END_TEST

/* No bytes: lanes, but not a segment. */
START_TEST(empty_tile)
{
    static const uint64_t bytes[12];
    const fs_tile_t       tile = {3, 4, bytes, 2, in_order, in_order};

    ck_assert_uint_eq(balance((fs_balance_t)_i, &tile), 0);
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("balance");
    TCase *random = tcase_create("random");
    TCase *hand   = tcase_create("by hand");

    tcase_add_loop_test(random, prop_random_tiles, 0, 60);
    tcase_add_loop_test(random, prop_minmove_moves_less, 0, 20);
    tcase_add_loop_test(random, prop_capacity_is_tight, 0, 4);
    tcase_add_test(hand, capacity_by_hand);
    tcase_add_loop_test(hand, rows_of_8_and_4, 0, 2); /* both modes */
    tcase_add_loop_test(hand, diagonal_moves_nothing, 0, 2);
    tcase_add_loop_test(hand, hot_block_uses_all_lanes, 0, 2);
    tcase_add_loop_test(hand, empty_tile, 0, 2);
    suite_add_tcase(suite, random);
    suite_add_tcase(suite, hand);
    return fs_test_run(suite);
}
