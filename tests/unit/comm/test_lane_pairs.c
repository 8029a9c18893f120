/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends of a pair of servers know the same lane, and no lane has too much. */
#include "comm/fs_lane_pairs.h"
#include "fs_test_util.h"
#include "sched/model/fs_rng.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

enum { MAX_SERVERS = 24, MAX_LOCAL = 16 };

/* Of all servers: [N x N]; *least_p, of which all know the same. */
static fs_lane_pair_t *all_pairs(const fs_topo_t *topo, uint64_t *least_p)
{
    uint32_t        n     = fs_topo_n_servers(topo);
    fs_lane_pair_t *pairs = fs_test_alloc((size_t)n * n, sizeof(*pairs));

    for (uint32_t u = 0; u < n; ++u) {
        uint64_t least;

        ck_assert(fs_lane_pairs(topo, u, pairs + (size_t)u * n, &least) ==
                  FS_OK);
        ck_assert(u == 0 || least == *least_p);
        *least_p = least;
    }
    return pairs;
}

START_TEST(prop_both_ends_agree)
{
    fs_rng_t        rng;
    fs_topo_t      *topo;
    fs_lane_pair_t *pairs;
    uint32_t        n;
    uint64_t        least = UINT64_MAX, told;

    fs_rng_init(&rng, (uint64_t)_i);
    topo  = fs_test_topo_random(&rng, MAX_SERVERS, MAX_LOCAL);
    pairs = all_pairs(topo, &told);
    n     = fs_topo_n_servers(topo);
    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t v = 0; v < n; ++v) {
            const fs_lane_pair_t *here  = &pairs[u * n + v];
            const fs_lane_pair_t *there = &pairs[v * n + u];

            if (u != v) {
                ck_assert_uint_eq(here->n_lanes,
                                  fs_topo_tile_lanes(topo, u, v));
                ck_assert_uint_lt(here->head, here->n_lanes);
                ck_assert_uint_eq(here->head, there->head);
                ck_assert_uint_ge(here->cut_bytes, FS_LANE_RANGE_BYTES);
                ck_assert_uint_le(here->cut_bytes, FS_LANE_CUT_BYTES);
                ck_assert_uint_eq(here->cut_bytes, there->cut_bytes);
            }
            if (u != v && here->n_lanes > 1 && here->cut_bytes < least) {
                least = here->cut_bytes;
            }
        }
    }
    ck_assert_uint_eq(told, least);
    free(pairs);
    fs_topo_destroy(topo);
}
END_TEST

/* Blocks of the lane of server u that has most. */
static uint64_t most_of(const fs_topo_t *topo, const fs_lane_pair_t *pairs,
                        uint32_t u)
{
    uint32_t n                 = fs_topo_n_servers(topo);
    uint64_t blocks[MAX_LOCAL] = {0}, most = 0;

    for (uint32_t v = 0; v < n; ++v) {
        for (uint32_t k = 0; k < fs_topo_n_lanes(topo, u) && u != v; ++k) {
            if (fs_topo_place(topo, u, k, v) == pairs[u * n + v].head) {
                blocks[k] += (uint64_t)fs_topo_n_local(topo, u) *
                             fs_topo_n_local(topo, v);
                most = blocks[k] > most ? blocks[k] : most;
            }
        }
    }
    return most;
}

/* Blocks of the fullest lane, the least that there can be; and from where
 * on the bundle of servers 0 and 1 is cut. */
static const struct {
    const char *text;
    uint32_t    n_ranks;
    uint64_t    most;
    uint64_t    cut_bytes;
} layouts[] = {
    {"2x16", 32, 256, 2000},   {"2x4", 8, 16, 2500},
    {"4x4", 16, 16, 5000},     {"8x2", 16, 16, 3750},
    {"4x16", 64, 256, 2307},   {"5x4", 20, 32, 1875},
    {"4+4+2+1", 11, 16, 3333}, {"4+4+1+2", 11, 16, 3333},
    {"16x16", 256, 256, 5000}, {"9x1", 9, 8, 5000},
    {"32x8", 256, 256, 5000},  {"70x2", 140, 140, 5000},
};

START_TEST(lanes_have_like_loads)
{
    uint32_t        server_of[256];
    char            why[200];
    fs_topo_t      *topo;
    fs_lane_pair_t *pairs;
    uint64_t        most = 0, here, least;

    ck_assert(fs_topo_parse(layouts[_i].text, layouts[_i].n_ranks, server_of,
                            why, sizeof(why)) == FS_OK);
    ck_assert(fs_topo_create(layouts[_i].n_ranks, server_of, 0, &topo) ==
              FS_OK);
    pairs = all_pairs(topo, &least);
    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        here = most_of(topo, pairs, u);
        most = here > most ? here : most;
    }
    ck_assert_uint_eq(most, layouts[_i].most);
    ck_assert_uint_eq(pairs[1].cut_bytes, layouts[_i].cut_bytes);
    free(pairs);
    fs_topo_destroy(topo);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lane_pairs");
    TCase *tcase = tcase_create("lane_pairs");

    tcase_add_loop_test(tcase, prop_both_ends_agree, 0, 100);
    tcase_add_loop_test(tcase, lanes_have_like_loads, 0,
                        sizeof(layouts) / sizeof(layouts[0]));
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
