/* SPDX-License-Identifier: BSD-3-Clause */
/* minmove moves the fewest bytes there are: against every assignment of tiny
 * tiles, and against a lower bound of any. Neither shares an idea with it. */
#include "fs_test_tile.h"

#include "base/fs_arith.h"

#include <stdlib.h>
#include <string.h>

/* ---- every assignment ---- */

enum { TINY_LANES = 3, TINY_CAPACITY = 5, TINY_STATES = 6 * 6 * 6 };

/* Moves of a byte of block (i, j) on a lane. */
static uint64_t moves_on(const fs_tile_t *tile, uint32_t i, uint32_t j,
                         uint32_t lane)
{
    return (uint64_t)(tile->src_proxy[lane] != i) +
           (tile->dst_proxy[lane] != j);
}

/* Assign one byte of block (i, j) onto every filling of the lanes: cost[] is
 * the fewest moves with which a filling can be reached. */
static void assign_byte(const fs_tile_t *tile, uint64_t capacity, uint32_t i,
                        uint32_t j, uint64_t *cost)
{
    uint64_t next[TINY_STATES];

    for (uint32_t s = 0; s < TINY_STATES; ++s) {
        uint32_t power = 1;

        next[s] = UINT64_MAX;
        for (uint32_t l = 0; l < tile->n_lanes; ++l) {
            uint32_t fill = s / power % (TINY_CAPACITY + 1);

            if (fill != 0 && fill <= capacity &&
                cost[s - power] != UINT64_MAX) {
                next[s] = fs_u64_min(next[s],
                                     cost[s - power] + moves_on(tile, i, j, l));
            }
            power *= TINY_CAPACITY + 1;
        }
    }
    memcpy(cost, next, sizeof(next));
}

static uint64_t fewest_moves(const fs_tile_t *tile)
{
    uint64_t cost[TINY_STATES], best = UINT64_MAX;
    uint64_t capacity =
        fs_balance_capacity(fs_test_tile_total(tile), tile->n_lanes);

    for (uint32_t s = 0; s < TINY_STATES; ++s) {
        cost[s] = s == 0 ? 0 : UINT64_MAX;
    }
    for (uint32_t b = 0; b < tile->n_src * tile->n_dst; ++b) {
        for (uint64_t k = 0; k < tile->bytes[b]; ++k) {
            assign_byte(tile, capacity, b / tile->n_dst, b % tile->n_dst, cost);
        }
    }
    for (uint32_t s = 0; s < TINY_STATES; ++s) {
        best = fs_u64_min(best, cost[s]);
    }
    return best;
}

/* Up to 3 lanes, 4 ranks and 15 bytes. */
START_TEST(prop_no_assignment_moves_less)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 150; ++k) {
        fs_test_tile_t t;
        uint32_t       n_blocks, left;

        do {
            fs_test_tile_random(&rng, 4, &t);
        } while (t.tile.n_lanes > TINY_LANES);
        n_blocks = t.tile.n_src * t.tile.n_dst;
        left = (uint32_t)fs_rng_below(&rng, TINY_CAPACITY * t.tile.n_lanes + 1);
        memset(t.bytes, 0, sizeof(t.bytes));
        while (left != 0) {
            uint32_t here = 1 + (uint32_t)fs_rng_below(&rng, left);

            t.bytes[fs_rng_below(&rng, n_blocks)] += here;
            left -= here;
        }
        ck_assert(fs_test_balance(FS_BALANCE_MINMOVE, &t.tile, NULL, NULL) ==
                  fewest_moves(&t.tile));
    }
}
END_TEST

/* ---- a lower bound ---- */

static bool serves(const uint32_t *proxy, uint32_t lanes, uint32_t rank)
{
    for (uint32_t l = 0; l < 32; ++l) {
        if ((lanes >> l & 1) != 0 && proxy[l] == rank) {
            return true;
        }
    }
    return false;
}

static bool is_shared(const fs_tile_t *tile, uint32_t i, uint32_t j)
{
    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        if (tile->src_proxy[l] == i && tile->dst_proxy[l] == j) {
            return true;
        }
    }
    return false;
}

/* Bytes that move once, at most, given a set of lanes: what those lanes take
 * beside the blocks that need not move, and all blocks with a lane not in the
 * set. The least of it over all sets is the most that can move once (a minimum
 * cut is a maximum flow). */
static uint64_t cut(const fs_tile_t *tile, uint64_t capacity, uint32_t set)
{
    uint32_t all = (UINT32_C(1) << tile->n_lanes) - 1;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < tile->n_src; ++i) {
        for (uint32_t j = 0; j < tile->n_dst; ++j) {
            if (!is_shared(tile, i, j) &&
                (serves(tile->src_proxy, all & ~set, i) ||
                 serves(tile->dst_proxy, all & ~set, j))) {
                sum += tile->bytes[i * tile->n_dst + j];
            }
        }
    }
    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        uint64_t shared =
            tile->bytes[tile->src_proxy[l] * tile->n_dst + tile->dst_proxy[l]];

        if ((set >> l & 1) != 0) {
            sum += capacity - fs_u64_min(shared, capacity);
        }
    }
    return sum;
}

/* Everything moves twice but what need not move and what can move once. */
static uint64_t least_moves(const fs_tile_t *tile)
{
    uint64_t total = fs_test_tile_total(tile), still = 0, once = total;
    uint64_t capacity = fs_balance_capacity(total, tile->n_lanes);

    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        still += fs_u64_min(
            capacity,
            tile->bytes[tile->src_proxy[l] * tile->n_dst + tile->dst_proxy[l]]);
    }
    for (uint32_t set = 0; set >> tile->n_lanes == 0; ++set) {
        once = fs_u64_min(once, cut(tile, capacity, set));
    }
    return 2 * (total - still) - once;
}

/* Tiles of any shape and size. */
START_TEST(prop_reaches_the_bound)
{
    fs_rng_t rng;

    fs_rng_init(&rng, 500 + (uint64_t)_i);
    for (int k = 0; k < 40; ++k) {
        fs_test_tile_t t;

        fs_test_tile_random(&rng, 7, &t);
        ck_assert(fs_test_balance(FS_BALANCE_MINMOVE, &t.tile, NULL, NULL) ==
                  least_moves(&t.tile));
    }
}
END_TEST

/* ---- extents ---- */

/* Few of them: blocks go whole, and are cut about once a lane. */
START_TEST(prop_few_extents)
{
    fs_rng_t rng;
    uint32_t n = 0;

    fs_rng_init(&rng, 900 + (uint64_t)_i);
    for (int k = 0; k < 100; ++k) {
        static const uint32_t proxy[] = {0, 1, 2, 3, 4, 5, 6, 7};
        uint64_t              bytes[64];
        fs_tile_t             tile  = {8, 8, bytes, 8, proxy, proxy, false};
        fs_arena_t            arena = {0};
        fs_streams_t          streams;

        for (int b = 0; b < 64; ++b) {
            bytes[b] = 1 + fs_rng_below(&rng, 1000000);
        }
        ck_assert(fs_balance_tile(FS_BALANCE_MINMOVE, &tile, &arena,
                                  &streams) == FS_OK);
        n += streams.first[8];
        fs_arena_fini(&arena);
    }
    ck_assert_uint_le(n, 100 * (64 + 8));
}
END_TEST

/* ---- views ---- */

/* Of lane l, the extents of all that concern a viewer are those it sees. */
static void check_view(const fs_tile_t *tile, const fs_viewer_t *viewer,
                       const fs_streams_t *all, const fs_streams_t *seen,
                       uint32_t l)
{
    const uint32_t *proxy = viewer->outgoing ? tile->src_proxy
                                             : tile->dst_proxy;
    uint32_t        at    = seen->first[l];

    ck_assert(seen->end[l] == all->end[l]);
    for (uint32_t k = all->first[l]; k < all->first[l + 1]; ++k) {
        const fs_extent_t *s = &all->extents[k], *t = &seen->extents[at];
        uint32_t local = viewer->outgoing ? s->src_local : s->dst_local;

        if (at < seen->first[l + 1] && t->pos == s->pos) {
            ck_assert(t->src_local == s->src_local &&
                      t->dst_local == s->dst_local);
            ck_assert(t->dst_lane == s->dst_lane && t->offset == s->offset);
            ck_assert(t->len_bytes == s->len_bytes);
            ++at;
        } else {
            ck_assert(local != viewer->local && proxy[l] != viewer->local);
        }
    }
    ck_assert(at == seen->first[l + 1]);
}

/* Every rank sees what concerns it, and where. Returns how many extents
 * that are. */
static uint32_t check_views(const fs_tile_t *tile, bool outgoing)
{
    uint32_t     n = outgoing ? tile->n_src : tile->n_dst, n_seen = 0;
    fs_arena_t   arena = {0};
    fs_streams_t all, seen;

    ck_assert(fs_balance_tile(FS_BALANCE_MINMOVE, tile, &arena, &all) == FS_OK);
    for (uint32_t local = 0; local < n; ++local) {
        fs_viewer_t viewer = {local, outgoing};

        ck_assert(fs_balance_view(FS_BALANCE_MINMOVE, tile, &viewer, &arena,
                                  &seen) == FS_OK);
        for (uint32_t l = 0; l < tile->n_lanes; ++l) {
            check_view(tile, &viewer, &all, &seen, l);
        }
        n_seen += seen.first[tile->n_lanes];
    }
    fs_arena_fini(&arena);
    return n_seen;
}

START_TEST(prop_views)
{
    fs_rng_t rng;

    fs_rng_init(&rng, 1300 + (uint64_t)_i);
    for (int k = 0; k < 100; ++k) {
        fs_test_tile_t t;

        fs_test_tile_random(&rng, 9, &t);
        check_views(&t.tile, true);
        check_views(&t.tile, false);
    }
}
END_TEST

/* Equal blocks between 8 ranks, none cut: each sees the 8 of its own lane, and 56
 * that lie on the lane of their other end are seen from there. */
START_TEST(views_are_small)
{
    static const uint32_t proxy[] = {0, 1, 2, 3, 4, 5, 6, 7};
    uint64_t              bytes[64];
    fs_tile_t             tile = {8, 8, bytes, 8, proxy, proxy, false};

    for (int b = 0; b < 64; ++b) {
        bytes[b] = 1000;
    }
    ck_assert_uint_eq(check_views(&tile, true) + check_views(&tile, false),
                      2 * 64 + 56);
}
END_TEST

/* More lanes than a word has bits. */
START_TEST(many_lanes)
{
    enum { N = 70 };

    uint64_t    *bytes = fs_test_alloc(N * N, sizeof(*bytes));
    uint32_t     proxy[N];
    fs_tile_t    tile  = {N, N, bytes, N, proxy, proxy, false};
    fs_arena_t   arena = {0};
    fs_streams_t streams;
    uint64_t     gather, redist;

    /* A chain: each rank has bytes for the next one, the first has most. Lanes
     * fill up from the far end only if every lane passes on what it can. */
    for (uint32_t i = 0; i < N; ++i) {
        proxy[i] = i;
        if (i + 1 < N) {
            bytes[i * N + i + 1] = i == 0 ? 100 + N - 1 : 100;
        }
    }
    ck_assert_int_eq(
        fs_balance_tile(FS_BALANCE_MINMOVE, &tile, &arena, &streams), FS_OK);
    fs_test_check_streams(FS_BALANCE_MINMOVE, &tile, &streams);
    fs_streams_moves(&tile, &streams, &gather, &redist);
    /* 70 lanes of 100: every byte can stay with one of its ends. */
    ck_assert_uint_eq(gather + redist, fs_test_tile_total(&tile));
    fs_arena_fini(&arena);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("balance_minmove");
    TCase *tcase = tcase_create("minmove");

    tcase_add_loop_test(tcase, prop_no_assignment_moves_less, 0, 20);
    tcase_add_loop_test(tcase, prop_reaches_the_bound, 0, 50);
    tcase_add_loop_test(tcase, prop_few_extents, 0, 4);
    tcase_add_loop_test(tcase, prop_views, 0, 20);
    tcase_add_test(tcase, views_are_small);
    tcase_add_test(tcase, many_lanes);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
