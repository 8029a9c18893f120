/* SPDX-License-Identifier: BSD-3-Clause */
/* Lower bounds of ranks and servers, against the papers' numbers and against
 * sums made the slow way. */
#include "fastsched.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST (UINT64_C(1) << 62)

static fs_topo_t *topo_of(const char *text, uint32_t n_ranks, uint32_t lanes)
{
    uint32_t   server_of[64];
    char       why[200];
    fs_topo_t *topo = NULL;

    ck_assert_int_eq(fs_topo_parse(text, n_ranks, server_of, why, sizeof(why)),
                     FS_OK);
    ck_assert_int_eq(fs_topo_create(n_ranks, server_of, lanes, &topo), FS_OK);
    return topo;
}

static fs_bounds_t bounds_of(const fs_topo_t *topo, const uint64_t *bytes)
{
    fs_bounds_t b;

    memset(&b, 0xff, sizeof(b));
    ck_assert_int_eq(fs_bounds(topo, bytes, &b), FS_OK);
    return b;
}

/* ---- numbers of the papers ---- */

/* FAST Fig. 7 and §4.1: in the tile from B to A, row sums and column sums are
 * 8 and 4, which leaves one number free; 6 is what balancing makes of them. */
START_TEST(fast_figure_7)
{
    uint64_t   a         = 4 + (uint64_t)_i;
    uint64_t   bytes[16] = {[8]  = a,
                            [9]  = 8 - a, /* B0 to A0, A1 */
                            [12] = 8 - a,
                            [13] = a - 4};
    fs_topo_t *topo      = topo_of("2x2", 4, 0);

    fs_bounds_t b = bounds_of(topo, bytes);

    ck_assert_uint_eq(b.rank_send, 8);
    ck_assert_uint_eq(b.rank_recv, 8);
    ck_assert_uint_eq(b.rank, 8);
    ck_assert_uint_eq(b.server, 6);
    ck_assert_uint_eq(b.busiest_rank, 0); /* A0 receives 8, before B0 sends 8 */
    ck_assert_uint_eq(b.busiest_server, 0);
    fs_topo_destroy(topo);
}
END_TEST

/* FAST Fig. 10 and §4.2: 10 for B1 as a sender and B0 as a receiver; balanced,
 * 8 for A and C as senders and A and B as receivers. The text gives no matrix;
 * this one has all these numbers. */
START_TEST(fast_figure_10)
{
    static const uint64_t bytes[36] = {
        /* A0 */ 0, 0, 5, 1, 1, 1, /* A1 */ 0, 0, 2, 2, 3, 1,
        /* B0 */ 0, 2, 0, 0, 0, 0, /* B1 */ 2, 2, 0, 0, 3, 3,
        /* C0 */ 4, 1, 2, 2, 0, 0, /* C1 */ 1, 4, 1, 1, 0, 0,
    };
    fs_topo_t  *topo = topo_of("3x2", 6, 0);
    fs_bounds_t b    = bounds_of(topo, bytes);

    ck_assert_uint_eq(b.rank_send, 10);
    ck_assert_uint_eq(b.rank_recv, 10);
    ck_assert_uint_eq(b.busiest_rank, 2);
    ck_assert_uint_eq(b.server_send, 8);
    ck_assert_uint_eq(b.server_recv, 8);
    ck_assert_uint_eq(b.server, 8);
    fs_topo_destroy(topo);
}
END_TEST

/* DHBvN §III-C: three servers of two NICs, all blocks between them full of
 * ones. Nothing is left to balance: four slots either way. */
START_TEST(dhbvn_example)
{
    uint64_t    bytes[36];
    fs_topo_t  *topo = topo_of("3x2", 6, 0);
    fs_bounds_t b;

    for (uint32_t k = 0; k < 36; ++k) {
        bytes[k] = k / 6 / 2 != k % 6 / 2;
    }
    b = bounds_of(topo, bytes);
    ck_assert_uint_eq(b.flat, 4);
    ck_assert_uint_eq(b.rank, 4);
    ck_assert_uint_eq(b.server, 4);
    fs_topo_destroy(topo);
}
END_TEST

/* ---- by hand ---- */

/* Ranks 0, 2, 3 on server 0 with two lanes, 1 and 4 on server 1 with two, 5
 * alone with one. */
START_TEST(uneven_and_shuffled)
{
    static const uint64_t bytes[36] = {
        /* 0 */ 900, 1, 50, 60, 2,    4,
        /* 1 */ 10,  0, 0,  0,  7000, 0,
        /* 2 */ 0,   3, 0,  0,  0,    0,
        /* 3 */ 0,   0, 0,  0,  0,    8,
        /* 4 */ 0,   0, 0,  0,  0,    16384,
        /* 5 */ 0,   0, 5,  0,  0,    800,
    };
    fs_topo_t  *topo = topo_of("@0,1,0,0,1,2", 6, 2);
    fs_bounds_t b    = bounds_of(topo, bytes);

    ck_assert_uint_eq(b.flat, 16396);      /* received by 5 */
    ck_assert_uint_eq(b.rank_send, 16384); /* by 4 */
    ck_assert_uint_eq(b.rank_recv, 16396);
    ck_assert_uint_eq(b.rank, 16396);
    ck_assert_uint_eq(b.busiest_rank, 5);
    ck_assert_uint_eq(b.server_send, 8197); /* by server 1: 16394 over 2 */
    ck_assert_uint_eq(b.server_recv, 16396);
    ck_assert_uint_eq(b.server, 16396);
    ck_assert_uint_eq(b.busiest_server, 2);
    fs_topo_destroy(topo);
}
END_TEST

/* The rest of a division is a byte of somebody's. */
START_TEST(rounds_up)
{
    uint64_t    bytes[16] = {[2] = 1};
    fs_topo_t  *topo      = topo_of("2x2", 4, 0);
    fs_bounds_t b         = bounds_of(topo, bytes);

    ck_assert_uint_eq(b.server, 1);
    bytes[2] = 5;
    b        = bounds_of(topo, bytes);
    ck_assert_uint_eq(b.server, 3);
    ck_assert_uint_eq(b.rank, 5);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(inside_one_server)
{
    static const uint64_t bytes[9] = {7, 5, 1, 0, 0, 2, 0, 0, 9};
    fs_topo_t            *topo     = topo_of("1x3", 3, 0);
    fs_bounds_t           b        = bounds_of(topo, bytes);

    ck_assert_uint_eq(b.flat, 6); /* 0 sends 5 and 1; 7 and 9 go nowhere */
    ck_assert_uint_eq(b.rank, 0);
    ck_assert_uint_eq(b.server, 0);
    ck_assert_uint_eq(b.busiest_rank, 0);
    ck_assert_uint_eq(b.busiest_server, 0);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(sums_past_the_limit)
{
    uint64_t    bytes[16] = {0};
    fs_topo_t  *topo      = topo_of("2x2", 4, 0);
    fs_bounds_t b         = {.flat = 12345};

    for (uint32_t k = 0; k < 16; ++k) { /* the diagonal counts, too */
        bytes[k] = LARGEST;
        ck_assert_int_eq(fs_bounds(topo, bytes, &b), FS_OK);
        bytes[(k + 5) % 16] = 1;
        b.flat              = 12345;
        ck_assert_int_eq(fs_bounds(topo, bytes, &b), FS_ERR_OVERFLOW);
        bytes[(k + 5) % 16] = UINT64_MAX - LARGEST + 2; /* would wrap to 1 */
        ck_assert_int_eq(fs_bounds(topo, bytes, &b), FS_ERR_OVERFLOW);
        ck_assert_uint_eq(b.flat, 12345); /* outputs on success only */
        bytes[k] = bytes[(k + 5) % 16] = 0;
    }
    bytes[2] = LARGEST;
    b        = bounds_of(topo, bytes);
    ck_assert_uint_eq(b.rank, LARGEST);
    ck_assert_uint_eq(b.server, LARGEST / 2);
    fs_topo_destroy(topo);
}
END_TEST

/* ---- any cluster ---- */

typedef uint64_t (*line_fn_t)(const fs_test_case_t *tc, uint32_t rank,
                              uint32_t k);

static uint64_t sent(const fs_test_case_t *tc, uint32_t rank, uint32_t k)
{
    return tc->counts[(size_t)rank * tc->n_ranks + k];
}

static uint64_t received(const fs_test_case_t *tc, uint32_t rank, uint32_t k)
{
    return tc->counts[(size_t)k * tc->n_ranks + rank];
}

static uint64_t line(const fs_test_case_t *tc, line_fn_t bytes, uint32_t rank,
                     bool inside)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < tc->n_ranks; ++k) {
        bool same = fs_topo_server(tc->topo, rank) ==
                    fs_topo_server(tc->topo, k);

        sum += k == rank || (same && !inside) ? 0 : bytes(tc, rank, k);
    }
    return sum;
}

static uint64_t busiest(const fs_test_case_t *tc, line_fn_t bytes, bool inside)
{
    uint64_t most = 0;

    for (uint32_t r = 0; r < tc->n_ranks; ++r) {
        most = fs_u64_max(most, line(tc, bytes, r, inside));
    }
    return most;
}

static uint64_t busiest_server(const fs_test_case_t *tc, line_fn_t bytes)
{
    uint64_t most = 0;

    for (uint32_t u = 0; u < fs_topo_n_servers(tc->topo); ++u) {
        uint64_t lanes = fs_topo_n_lanes(tc->topo, u), sum = 0;

        for (uint32_t i = 0; i < fs_topo_n_local(tc->topo, u); ++i) {
            sum += line(tc, bytes, fs_topo_rank(tc->topo, u, i), false);
        }
        most = fs_u64_max(most, (sum + lanes - 1) / lanes);
    }
    return most;
}

START_TEST(prop_as_the_slow_way)
{
    fs_test_case_t tc;
    fs_bounds_t    b;
    bool           all_lanes = true;

    fs_test_case_init(&tc, (uint64_t)_i);
    b = bounds_of(tc.topo, tc.counts);
    ck_assert_uint_eq(b.rank_send, busiest(&tc, sent, false));
    ck_assert_uint_eq(b.rank_recv, busiest(&tc, received, false));
    ck_assert_uint_eq(b.rank, fs_u64_max(b.rank_send, b.rank_recv));
    ck_assert_uint_eq(b.flat, fs_u64_max(busiest(&tc, sent, true),
                                         busiest(&tc, received, true)));
    ck_assert_uint_eq(b.server_send, busiest_server(&tc, sent));
    ck_assert_uint_eq(b.server_recv, busiest_server(&tc, received));
    ck_assert_uint_eq(b.server, fs_u64_max(b.server_send, b.server_recv));
    ck_assert_uint_eq(b.server, fs_traffic_lower_bound(tc.topo, &tc.traffic));
    ck_assert_uint_eq(b.rank, tc.traffic.max_inter);
    ck_assert_uint_eq(b.rank,
                      fs_u64_max(line(&tc, sent, b.busiest_rank, false),
                                 line(&tc, received, b.busiest_rank, false)));
    for (uint32_t u = 0; u < fs_topo_n_servers(tc.topo); ++u) {
        all_lanes &= fs_topo_n_lanes(tc.topo, u) == fs_topo_n_local(tc.topo, u);
    }
    ck_assert(b.server <= b.rank || !all_lanes); /* DHBvN eq. 6 */
    ck_assert_uint_le(b.rank, b.flat);
    fs_test_case_fini(&tc);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bound");
    TCase *tcase = tcase_create("bound");

    tcase_add_loop_test(tcase, fast_figure_7, 0, 5);
    tcase_add_test(tcase, fast_figure_10);
    tcase_add_test(tcase, dhbvn_example);
    tcase_add_test(tcase, uneven_and_shuffled);
    tcase_add_test(tcase, rounds_up);
    tcase_add_test(tcase, inside_one_server);
    tcase_add_test(tcase, sums_past_the_limit);
    tcase_add_loop_test(tcase, prop_as_the_slow_way, 0, 400);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
