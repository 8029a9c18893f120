/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles become lane streams: whatever the tile and the mode, no byte is lost,
 * sent twice or put on a lane that is full, and lanes meet one to one. */
#include "fs_test_tile.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT = 128 * 64 }; /* so many bytes that capacities are whole lines */

/* ---- any tile ---- */

START_TEST(prop_random_tiles)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 60; ++k) {
        fs_test_tile_t t;

        fs_test_tile_random(&rng, FS_TEST_MAX_LOCAL, &t);
        for (int how = 0; how < FS_TEST_N_BALANCE; ++how) {
            fs_test_balance((fs_balance_t)how, &t.tile, NULL, NULL);
        }
    }
}
END_TEST

/* Lanes that share ranks at one end or both: as between 4 lanes and 1, or 4 and
 * 3. */
START_TEST(prop_shared_lanes)
{
    static const uint32_t ends[][3] = {{4, 1, 4},  {1, 3, 3},  {4, 2, 4},
                                       {2, 6, 6},  {4, 3, 12}, {2, 3, 6},
                                       {6, 4, 12}, {5, 2, 10}};

    for (uint64_t k = 0; k < 200; ++k) {
        const uint32_t *end;
        fs_test_tile_t  t;
        fs_rng_t        rng;

        fs_rng_init(&rng, (uint64_t)_i * 1000 + k);
        end = ends[fs_rng_below(&rng, 8)];
        do {
            fs_test_tile_random(&rng, FS_TEST_MAX_LOCAL, &t);
        } while (t.tile.n_src < end[0] || t.tile.n_dst < end[1]);
        t.tile.n_lanes = end[2];
        t.tile.shared  = true;
        for (uint32_t l = 0; l < end[2]; ++l) {
            t.src_proxy[l] = l % end[0];
            t.dst_proxy[l] = l % end[1];
        }
        fs_test_balance(FS_BALANCE_MINMOVE, &t.tile, NULL, NULL);
    }
}
END_TEST

/* Everything is for the one rank of a small server: it moves only to make lanes
 * equal. */
START_TEST(shared_lanes_move_little)
{
    static const uint64_t bytes[]     = {100, 300, 200, 200};
    static const uint32_t src_proxy[] = {0, 1, 2, 3},
                          dst_proxy[] = {0, 0, 0, 0};
    const fs_tile_t tile = {4, 1, bytes, 4, src_proxy, dst_proxy, true};
    uint64_t        gather, redist;

    fs_test_balance(FS_BALANCE_MINMOVE, &tile, &gather, &redist);
    ck_assert_uint_eq(gather, 100);
    ck_assert_uint_eq(redist, 0);
}
END_TEST

/* On every tile: rowcol moves least, and of the modes with merged peer transfer
 * at the same capacity, minmove. */
START_TEST(prop_who_moves_less)
{
    fs_rng_t rng;

    fs_rng_init(&rng, 1000 + (uint64_t)_i);
    for (int k = 0; k < 100; ++k) {
        fs_test_tile_t t;
        uint64_t       minmove, equalize, rowcol, spare;

        fs_test_tile_random(&rng, FS_TEST_MAX_LOCAL, &t);
        /* Whole cache lines may cost rowcol this much. */
        spare    = 2 * (uint64_t)FS_BALANCE_ALIGN * t.tile.n_lanes;
        minmove  = fs_test_balance(FS_BALANCE_MINMOVE, &t.tile, NULL, NULL);
        equalize = fs_test_balance(FS_BALANCE_EQUALIZE, &t.tile, NULL, NULL);
        rowcol   = fs_test_balance(FS_BALANCE_ROWCOL, &t.tile, NULL, NULL);
        ck_assert(minmove <= equalize);
        ck_assert(rowcol <= minmove + spare);
    }
}
END_TEST

/* ---- rowcol: DHBvN Theorem 5 ---- */

static uint64_t row_sum(const fs_tile_t *tile, uint32_t i)
{
    uint64_t sum = 0;

    for (uint32_t j = 0; j < tile->n_dst; ++j) {
        sum += tile->bytes[i * tile->n_dst + j];
    }
    return sum;
}

static uint64_t col_sum(const fs_tile_t *tile, uint32_t j)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < tile->n_src; ++i) {
        sum += tile->bytes[i * tile->n_dst + j];
    }
    return sum;
}

/* What lines have beyond the capacity; ranks without a lane may keep nothing,
 * so it is the total less what the others keep. */
static uint64_t beyond(const fs_tile_t *tile, const uint32_t *proxy,
                       uint64_t (*line_sum)(const fs_tile_t *, uint32_t))
{
    uint64_t total    = fs_test_tile_total(tile);
    uint64_t capacity = fs_balance_capacity(total, tile->n_lanes);

    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        uint64_t sum = line_sum(tile, proxy[l]);

        total -= sum < capacity ? sum : capacity;
    }
    return total;
}

/* It moves exactly the imbalance, never a byte more than cache lines cost. */
START_TEST(prop_rowcol_moves_the_imbalance)
{
    fs_rng_t rng;

    fs_rng_init(&rng, 2000 + (uint64_t)_i);
    for (int k = 0; k < 100; ++k) {
        fs_test_tile_t t;
        uint64_t       gather, redist, rows, cols, spare;

        fs_test_tile_random(&rng, FS_TEST_MAX_LOCAL, &t);
        fs_test_balance(FS_BALANCE_ROWCOL, &t.tile, &gather, &redist);
        rows = beyond(&t.tile, t.tile.src_proxy, row_sum);
        cols = beyond(&t.tile, t.tile.dst_proxy, col_sum);
        spare =
            fs_balance_capacity(fs_test_tile_total(&t.tile), t.tile.n_lanes) *
                t.tile.n_lanes -
            fs_test_tile_total(&t.tile);
        ck_assert(gather >= rows && gather <= rows + spare);
        ck_assert(redist >= cols && redist <= cols + spare);
    }
}
END_TEST

/* ---- capacity ---- */

START_TEST(capacity_by_hand)
{
    ck_assert_uint_eq(fs_balance_capacity(0, 3), 0);
    ck_assert_uint_eq(fs_balance_capacity(14, 1), 14);
    ck_assert_uint_eq(fs_balance_capacity(14, 4), 4);
    ck_assert_uint_eq(fs_balance_capacity(8191, 1), 8191);
    ck_assert_uint_eq(fs_balance_capacity(8192, 1), 8192);
    ck_assert_uint_eq(fs_balance_capacity(8193, 1), 8320);
    ck_assert_uint_eq(fs_balance_capacity(2 * 8192 - 1, 2), 8192);
    ck_assert_uint_eq(fs_balance_capacity(UINT64_C(1) << 62, 4), UINT64_C(1)
                                                                     << 60);
    ck_assert_uint_eq(fs_balance_longest(FS_BALANCE_MINMOVE, 800, 2), 400);
    ck_assert_uint_eq(fs_balance_longest(FS_BALANCE_GREEDY, 800, 2), 420);
    ck_assert_uint_eq(fs_balance_longest(FS_BALANCE_GREEDY, 38, 2), 19);
}
END_TEST

/* The least that holds the total, but for whole cache lines: a 64th at most. */
START_TEST(prop_capacity_is_tight)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 10000; ++k) {
        uint64_t total = fs_rng_next(&rng) >> (2 + fs_rng_below(&rng, 62));
        uint32_t lanes = 1 + (uint32_t)fs_rng_below(&rng, 64);
        uint64_t share = total / lanes + (total % lanes != 0);
        uint64_t c     = fs_balance_capacity(total, lanes);

        ck_assert(c == share || c % FS_BALANCE_ALIGN == 0);
        ck_assert(c >= share && c - share < FS_BALANCE_ALIGN);
        ck_assert(c - share <= share / 64);
    }
}
END_TEST

/* ---- tiles by hand ---- */

static const uint32_t in_order[] = {0, 1, 2, 3};

static uint64_t lane_sum(const fs_streams_t *streams, uint32_t lane)
{
    uint64_t sum = 0;

    for (uint32_t k = streams->first[lane]; k < streams->first[lane + 1]; ++k) {
        sum += streams->extents[k].len_bytes;
    }
    return sum;
}

/* FAST, figure 7: rows of 8 and 4 become lanes of 6 and 6, and 2 units move to
 * the other row. */
START_TEST(rows_of_8_and_4)
{
    static const uint64_t bytes[] = {5 * UNIT, 3 * UNIT, 1 * UNIT, 3 * UNIT};
    const fs_tile_t       tile    = {2, 2, bytes, 2, in_order, in_order, false};
    fs_arena_t            arena   = {0};
    fs_streams_t          streams;
    uint64_t              gather, redist;

    ck_assert_int_eq(fs_balance_tile((fs_balance_t)_i, &tile, &arena, &streams),
                     FS_OK);
    fs_test_check_streams((fs_balance_t)_i, &tile, &streams);
    fs_streams_moves(&tile, &streams, &gather, &redist);
    ck_assert_uint_le(lane_sum(&streams, 0), 6 * UNIT + 6 * UNIT / 20);
    ck_assert_uint_le(lane_sum(&streams, 1), 6 * UNIT + 6 * UNIT / 20);
    if (_i == FS_BALANCE_EQUALIZE || _i == FS_BALANCE_ROWCOL) {
        ck_assert_uint_eq(gather, 2 * UNIT);
    }
    if (_i == FS_BALANCE_ROWCOL) { /* columns are 6 and 6 already */
        ck_assert_uint_eq(redist, 0);
    }
    fs_arena_fini(&arena);
}
END_TEST

/* Equal blocks from each rank to its namesake: nothing has to move, whether or
 * not the blocks are whole cache lines. */
START_TEST(diagonal_moves_nothing)
{
    static const uint64_t sizes[] = {1, 127, 128, 129, 1000003};

    for (int k = 0; k < 5; ++k) {
        uint64_t  bytes[16] = {0};
        fs_tile_t tile      = {4, 4, bytes, 4, in_order, in_order, false};

        bytes[0] = bytes[5] = bytes[10] = bytes[15] = sizes[k];
        ck_assert_uint_eq(fs_test_balance((fs_balance_t)_i, &tile, NULL, NULL),
                          0);
    }
}
END_TEST

/* All to all, all equal: with rowcol nothing has to move, and lane l meets every
 * other lane in turn; with peers each byte moves once but for the diagonal. */
START_TEST(equal_blocks)
{
    uint64_t  bytes[16];
    fs_tile_t tile = {4, 4, bytes, 4, in_order, in_order, false};

    for (int b = 0; b < 16; ++b) {
        bytes[b] = 1000;
    }
    ck_assert_uint_eq(fs_test_balance(FS_BALANCE_ROWCOL, &tile, NULL, NULL), 0);
    ck_assert_uint_eq(fs_test_balance(FS_BALANCE_MINMOVE, &tile, NULL, NULL),
                      12000);
    ck_assert_uint_eq(fs_test_balance(FS_BALANCE_EQUALIZE, &tile, NULL, NULL),
                      12000);
    ck_assert_uint_eq(fs_test_balance(FS_BALANCE_GREEDY, &tile, NULL, NULL),
                      12000);
}
END_TEST

/* One block of 4 lanes: each lane gets a quarter, and moving is unavoidable,
 * twice for each lane but those that begin or end it. */
START_TEST(hot_block_uses_all_lanes)
{
    uint64_t     bytes[16] = {0};
    fs_tile_t    tile      = {4, 4, bytes, 4, in_order, in_order, false};
    fs_arena_t   arena     = {0};
    fs_streams_t streams;
    uint64_t     gather, redist;

    bytes[1 * 4 + 2] = 4 * UNIT;
    ck_assert_int_eq(fs_balance_tile((fs_balance_t)_i, &tile, &arena, &streams),
                     FS_OK);
    fs_test_check_streams((fs_balance_t)_i, &tile, &streams);
    fs_streams_moves(&tile, &streams, &gather, &redist);
    if (_i != FS_BALANCE_GREEDY) {
        for (uint32_t lane = 0; lane < 4; ++lane) {
            ck_assert_uint_eq(lane_sum(&streams, lane), UNIT);
            ck_assert_uint_eq(streams.extents[lane].offset % FS_BALANCE_ALIGN,
                              0);
        }
        ck_assert_uint_eq(gather, 3 * UNIT);
        ck_assert_uint_eq(redist, 3 * UNIT);
    }
    fs_arena_fini(&arena);
}
END_TEST

/* No bytes: lanes, but not an extent. */
START_TEST(empty_tile)
{
    static const uint64_t bytes[12];
    const fs_tile_t       tile = {3, 4, bytes, 2, in_order, in_order, false};

    ck_assert_uint_eq(fs_test_balance((fs_balance_t)_i, &tile, NULL, NULL), 0);
}
END_TEST

/* SABRE Algorithm 1. 100s go to their destination's lane, and so do the 10s:
 * 110 is within 5% of 110. No redistribution. */
START_TEST(greedy_prefers_the_destination)
{
    static const uint64_t bytes[] = {100, 10, 10, 100};
    const fs_tile_t       tile    = {2, 2, bytes, 2, in_order, in_order, false};
    uint64_t              gather, redist;

    fs_test_balance(FS_BALANCE_GREEDY, &tile, &gather, &redist);
    ck_assert_uint_eq(gather, 20);
    ck_assert_uint_eq(redist, 0);
}
END_TEST

/* An equal share is 200, alpha makes it 210. 300 fits nowhere: lane 0 takes 210
 * of it, the rest comes next and fits on lane 1, and then the 100 does. */
START_TEST(greedy_splits_the_largest)
{
    static const uint64_t bytes[] = {300, 0, 0, 100};
    const fs_tile_t       tile    = {2, 2, bytes, 2, in_order, in_order, false};
    fs_arena_t            arena   = {0};
    fs_streams_t          streams;

    ck_assert_int_eq(
        fs_balance_tile(FS_BALANCE_GREEDY, &tile, &arena, &streams), FS_OK);
    fs_test_check_streams(FS_BALANCE_GREEDY, &tile, &streams);
    ck_assert_uint_eq(streams.first[2], 3);
    ck_assert_uint_eq(lane_sum(&streams, 0), 210);
    ck_assert_uint_eq(lane_sum(&streams, 1), 190);
    ck_assert_uint_eq(streams.extents[1].offset, 210);
    fs_arena_fini(&arena);
}
END_TEST

/* Large blocks first leaves small ones to fill up with: 100 to lane 1, 90 to the
 * emptier lane 0, 10 on top of it, and nothing is split. */
START_TEST(greedy_begins_with_the_largest)
{
    static const uint64_t bytes[] = {10, 90, 0, 100};
    const fs_tile_t       tile    = {2, 2, bytes, 2, in_order, in_order, false};
    fs_arena_t            arena   = {0};
    fs_streams_t          streams;

    ck_assert_int_eq(
        fs_balance_tile(FS_BALANCE_GREEDY, &tile, &arena, &streams), FS_OK);
    fs_test_check_streams(FS_BALANCE_GREEDY, &tile, &streams);
    ck_assert_uint_eq(streams.first[2], 3);
    ck_assert_uint_eq(lane_sum(&streams, 0), 100);
    ck_assert_uint_eq(lane_sum(&streams, 1), 100);
    fs_arena_fini(&arena);
}
END_TEST

/* Splits of large blocks are between cache lines where a share is not a whole
 * number of them already. */
START_TEST(splits_keep_cache_lines)
{
    uint64_t     bytes[4] = {200 * UNIT + 77, 0, 0, 3 * UNIT + 5};
    fs_tile_t    tile     = {2, 2, bytes, 2, in_order, in_order, false};
    fs_arena_t   arena    = {0};
    fs_streams_t streams;

    ck_assert_int_eq(fs_balance_tile((fs_balance_t)_i, &tile, &arena, &streams),
                     FS_OK);
    fs_test_check_streams((fs_balance_t)_i, &tile, &streams);
    for (uint32_t k = 0; k < streams.first[2]; ++k) {
        ck_assert_uint_eq(streams.extents[k].offset % FS_BALANCE_ALIGN, 0);
    }
    fs_arena_fini(&arena);
}
END_TEST

START_TEST(names)
{
    static const uint64_t bytes[1];
    const fs_tile_t       tile  = {1, 1, bytes, 1, in_order, in_order, false};
    fs_arena_t            arena = {0};
    fs_streams_t          streams;

    ck_assert_str_eq(fs_balance_name(FS_BALANCE_MINMOVE), "minmove");
    ck_assert_str_eq(fs_balance_name(FS_BALANCE_EQUALIZE), "equalize");
    ck_assert_str_eq(fs_balance_name(FS_BALANCE_GREEDY), "greedy");
    ck_assert_str_eq(fs_balance_name(FS_BALANCE_ROWCOL), "rowcol");
    ck_assert_str_eq(fs_balance_name((fs_balance_t)99), "unknown");
    ck_assert_int_eq(fs_balance_tile((fs_balance_t)99, &tile, &arena, &streams),
                     FS_ERR_INVAL);
}
END_TEST

/* ---- whole matrices ---- */

/* 2 servers of 2: what tiles A to B (figure 7 again) and B to A move, and
 * nothing of what stays inside. */
START_TEST(moves_of_a_matrix)
{
    static const uint32_t server_of[] = {0, 0, 1, 1};
    static const uint64_t bytes[]     = {9, 9, 5, 3, /* row of rank 0 */
                                         9, 9, 1, 3, /* */
                                         2, 0, 9, 9, /* */
                                         0, 2, 9, 9};
    fs_topo_t            *topo        = NULL;
    uint64_t              gather, redist;

    ck_assert_int_eq(fs_topo_create(4, server_of, 0, &topo), FS_OK);
    ck_assert_int_eq(
        fs_balance_moves(topo, FS_BALANCE_ROWCOL, bytes, &gather, &redist),
        FS_OK);
    ck_assert_uint_eq(gather, 2);
    ck_assert_uint_eq(redist, 0);
    ck_assert_int_eq(
        fs_balance_moves(topo, FS_BALANCE_MINMOVE, bytes, &gather, &redist),
        FS_OK);
    ck_assert_uint_eq(gather + redist, 4);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(moves_of_bad_input)
{
    static const uint32_t server_of[] = {0, 0, 1};
    static const uint64_t bytes[] = {0, 0, UINT64_C(1) << 62, 0, 0, 1, 0, 0, 0};
    fs_topo_t            *topo    = NULL;
    static const uint64_t none[9];
    uint64_t              gather = 7, redist = 8;

    ck_assert_int_eq(fs_topo_create(3, server_of, 0, &topo), FS_OK);
    ck_assert_int_eq(
        fs_balance_moves(topo, FS_BALANCE_MINMOVE, bytes, &gather, &redist),
        FS_ERR_OVERFLOW);
    ck_assert_int_eq(
        fs_balance_moves(topo, (fs_balance_t)99, none, &gather, &redist),
        FS_ERR_INVAL);
    ck_assert_uint_eq(gather, 7);
    ck_assert_uint_eq(redist, 8);
    fs_topo_destroy(topo);
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("balance");
    TCase *random = tcase_create("random");
    TCase *hand   = tcase_create("by hand");
    int    n      = FS_TEST_N_BALANCE;

    tcase_add_loop_test(random, prop_random_tiles, 0, 50);
    tcase_add_loop_test(random, prop_shared_lanes, 0, 4);
    tcase_add_loop_test(random, prop_who_moves_less, 0, 20);
    tcase_add_loop_test(random, prop_rowcol_moves_the_imbalance, 0, 10);
    tcase_add_loop_test(random, prop_capacity_is_tight, 0, 4);
    tcase_add_test(hand, capacity_by_hand);
    tcase_add_test(hand, shared_lanes_move_little);
    tcase_add_loop_test(hand, rows_of_8_and_4, 0, n);
    tcase_add_loop_test(hand, diagonal_moves_nothing, 0, n);
    tcase_add_test(hand, equal_blocks);
    tcase_add_loop_test(hand, hot_block_uses_all_lanes, 0, n);
    tcase_add_loop_test(hand, empty_tile, 0, n);
    tcase_add_test(hand, greedy_prefers_the_destination);
    tcase_add_test(hand, greedy_splits_the_largest);
    tcase_add_test(hand, greedy_begins_with_the_largest);
    tcase_add_loop_test(hand, splits_keep_cache_lines, 0, n);
    tcase_add_test(hand, names);
    tcase_add_test(hand, moves_of_a_matrix);
    tcase_add_test(hand, moves_of_bad_input);
    suite_add_tcase(suite, random);
    suite_add_tcase(suite, hand);
    return fs_test_run(suite);
}
