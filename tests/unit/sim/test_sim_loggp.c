/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small calls, simulated: against pen and paper, against the slow way where
 * there is a short cut, and against what the model says.
 */
#include "fs_test_util.h"
#include "sim/fs_sim_loggp.h"

#include <math.h>
#include <stdlib.h>

#define US 1e-6

/* A round number for each cost, so that sums tell them apart. */
static const fs_sim_loggp_t costs = {.overhead   = 0.5 * US,
                                     .latency    = 1.0 * US,
                                     .latency_up = 0.3 * US,
                                     .gap        = 0.05 * US,
                                     .rate_out   = 25e9,
                                     .rate_copy  = 5e9,
                                     .block      = 0.02 * US,
                                     .sync       = 0.1 * US};

static fs_topo_t *servers(uint32_t n_servers, uint32_t n_local, uint32_t lanes)
{
    uint32_t   n     = n_servers * n_local;
    uint32_t  *label = fs_test_alloc(n, sizeof(*label));
    fs_topo_t *topo;

    for (uint32_t r = 0; r < n; ++r) {
        label[r] = r / n_local;
    }
    ck_assert_int_eq(fs_topo_create(n, label, lanes, &topo), FS_OK);
    free(label);
    return topo;
}

static fs_sim_small_t direct(const fs_topo_t *topo, const uint64_t *pairs,
                             uint64_t bytes, uint32_t batch)
{
    fs_sim_small_t r = {0};

    ck_assert_int_eq(fs_sim_direct(&(fs_sim_blocks_t){topo, pairs, bytes},
                                   &costs, batch, &r),
                     FS_OK);
    return r;
}

static fs_sim_small_t bundles(const fs_topo_t *topo, const uint64_t *pairs,
                              uint64_t bytes, uint32_t radix, uint32_t sum)
{
    fs_sim_small_t r = {0};

    ck_assert_int_eq(fs_sim_bundles(&(fs_sim_blocks_t){topo, pairs, bytes},
                                    &costs, radix, sum, &r),
                     FS_OK);
    return r;
}

static void same_time(double a, double b)
{
    ck_assert_msg(fabs(a - b) <= 1e-9 * fabs(b), "%.9g us, %.9g us expected",
                  a / US, b / US);
}

static void same(const fs_sim_small_t *a, const fs_sim_small_t *b)
{
    same_time(a->time, b->time);
    same_time(a->network, b->network);
    ck_assert_uint_eq(a->radix, b->radix);
    ck_assert_uint_eq(a->n_phases, b->n_phases);
    ck_assert_uint_eq(a->n_messages, b->n_messages);
    ck_assert_uint_eq(a->wire_bytes, b->wire_bytes);
    ck_assert_uint_eq(a->header_bytes, b->header_bytes);
}

/* ---- pen and paper ---- */

START_TEST(two_ranks_directly)
{
    fs_topo_t     *topo = servers(2, 1, 0);
    fs_sim_small_t r    = direct(topo, NULL, 25000, 1);

    /* The own block takes 5 us; o, 1 us of bytes, L, o. */
    same_time(r.time, (5 + 0.5 + 1 + 1 + 0.5) * US);
    ck_assert_uint_eq(r.n_messages, 2);
    ck_assert_uint_eq(r.wire_bytes, 50000);
    fs_topo_destroy(topo);

    topo = servers(1, 2, 0);
    r    = direct(topo, NULL, 5000, 1);
    same_time(r.time, (1 + (0.5 + 1) + 0.3 + (0.5 + 1)) * US);
    ck_assert_uint_eq(r.n_messages, 0);
    fs_topo_destroy(topo);
}
END_TEST

/* 1 x 5 ranks of one byte: batches of 2 steps. A batch is two sends, then two
 * messages that have long been there. */
START_TEST(a_batch_ends_before_the_next)
{
    fs_topo_t *topo = servers(5, 1, 0);
    double     copy = 1 / 5e9;

    same_time(direct(topo, NULL, 1, 4).time, copy + (4 + 4) * 0.5 * US);
    same_time(direct(topo, NULL, 1, 2).time,
              copy + 2 * ((0.5 + 0.05 + 1 + 0.5 + 0.5) * US));
    same_time(direct(topo, NULL, 1, 1).time,
              copy + 4 * ((0.5 + 0.05 + 1 + 0.5) * US));
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(ranks_share_a_nic)
{
    fs_topo_t     *one = servers(2, 40, 1), *all = servers(2, 40, 0);
    fs_sim_small_t slow = direct(one, NULL, 2500, 32);
    fs_sim_small_t fast = direct(all, NULL, 2500, 32);

    /* 40 x 40 messages of 0.1 us through one NIC */
    ck_assert(slow.time > 160 * US);
    ck_assert(fast.time < 130 * US);
    fs_topo_destroy(one);
    fs_topo_destroy(all);
}
END_TEST

START_TEST(two_servers_in_bundles)
{
    fs_topo_t     *topo = servers(2, 1, 0);
    fs_sim_small_t r    = bundles(topo, NULL, 2500, 2, 8);

    /* Two blocks in, one rank waits; a row of two sums between servers. */
    same_time(r.copy_in, (2 * 0.02 + 1 + 0.1) * US);
    same_time(r.network, (0.5 + 1 + 0.5) * US + 2516 / 25e9);
    same_time(r.copy_out, (0.1 + 2 * 0.02 + 1) * US);
    same_time(r.time, r.copy_in + r.network + r.copy_out);
    ck_assert_uint_eq(r.n_messages, 2);
    ck_assert_uint_eq(r.n_phases, 1);
    ck_assert_uint_eq(r.wire_bytes, 2 * 2516);
    ck_assert_uint_eq(r.header_bytes, 2 * 16);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(one_server_only_copies)
{
    fs_topo_t     *topo = servers(1, 10, 0);
    fs_sim_small_t r    = bundles(topo, NULL, 8, 0, 8);

    same_time(r.network, 0);
    same_time(r.time, 2 * ((10 * 0.02 + 10 * 0.1) * US + 80 / 5e9));
    ck_assert_uint_eq(r.n_messages, 0);
    fs_topo_destroy(topo);
}
END_TEST

/* ---- laws ---- */

static uint64_t *all_pairs(uint32_t n, uint64_t bytes)
{
    uint64_t *pairs = fs_test_alloc((size_t)n * n, sizeof(*pairs));

    for (size_t k = 0; k < (size_t)n * n; ++k) {
        pairs[k] = bytes;
    }
    return pairs;
}

/* What is simulated for one server is what all of them do. */
START_TEST(one_server_stands_for_all)
{
    static const uint32_t radices[] = {0, 2, 3, 4, 7, 100};
    uint32_t              n_servers = 1 + (uint32_t)_i;

    for (uint32_t lanes = 0; lanes <= 5; ++lanes) {
        fs_topo_t     *topo  = servers(n_servers, 5, lanes);
        uint64_t      *pairs = all_pairs(5 * n_servers, 300);
        fs_sim_small_t a, b;

        for (uint32_t batch = 1; batch < 100; batch *= 4) {
            a = direct(topo, NULL, 300, batch);
            b = direct(topo, pairs, 0, batch);
            same(&a, &b);
        }
        for (size_t k = 0; k < sizeof(radices) / sizeof(radices[0]); ++k) {
            a = bundles(topo, NULL, 300, radices[k], 8);
            b = bundles(topo, pairs, 0, radices[k], 8);
            same(&a, &b);
        }
        free(pairs);
        fs_topo_destroy(topo);
    }
}
END_TEST

static uint32_t hops(uint32_t distance, uint32_t radix)
{
    uint32_t count = 0;

    for (; distance > 0; distance /= radix) {
        count += distance % radix != 0;
    }
    return count;
}

/* Bytes cross as often as their distance has digits, each row N - 1 times. */
START_TEST(bytes_are_accounted_for)
{
    fs_rng_t   rng;
    fs_topo_t *topo;
    uint32_t   n, n_servers;
    uint64_t  *pairs;

    fs_rng_init(&rng, (uint64_t)_i);
    topo      = fs_test_topo_random(&rng, 12, 4);
    n         = fs_topo_n_ranks(topo);
    n_servers = fs_topo_n_servers(topo);
    pairs     = fs_test_alloc((size_t)n * n, sizeof(*pairs));
    fs_test_counts(&rng, (fs_test_shape_t)((uint32_t)_i % FS_TEST_SHAPES), 100,
                   n, pairs);
    for (uint32_t radix = 2; radix <= n_servers + 1; ++radix) {
        fs_sim_small_t r        = bundles(topo, pairs, 0, radix, 8);
        uint64_t       payload  = 0;
        uint64_t       expected = 8 * (uint64_t)n_servers * n_servers *
                            (n_servers - 1);

        for (uint32_t k = 0; k < n * n; ++k) {
            uint32_t u = fs_topo_server(topo, k / n);
            uint32_t w = fs_topo_server(topo, k % n);

            payload += pairs[k] * hops((w + n_servers - u) % n_servers, radix);
        }
        ck_assert_uint_eq(r.header_bytes, expected);
        ck_assert_uint_eq(r.wire_bytes - r.header_bytes, payload);
        ck_assert(r.time > 0 && r.time >= r.network);
    }
    free(pairs);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(empty_blocks_are_not_sent)
{
    fs_topo_t     *topo  = servers(3, 2, 1);
    uint64_t      *pairs = all_pairs(6, 0);
    fs_sim_small_t r     = direct(topo, pairs, 0, 4);

    ck_assert_uint_eq(r.n_messages, 0);
    same_time(r.time, 0);
    pairs[0 * 6 + 5] = 1;
    r                = direct(topo, pairs, 0, 4);
    ck_assert_uint_eq(r.n_messages, 1);
    same_time(r.time, (0.5 + 0.05 + 1 + 0.5) * US);
    free(pairs);
    fs_topo_destroy(topo);
}
END_TEST

/* ---- the model that ranks choose by ---- */

START_TEST(model_and_simulation_agree)
{
    static const uint32_t sizes[] = {2, 5, 16, 33, 100, 128};
    uint32_t              n       = sizes[_i];

    for (uint32_t lanes = 1; lanes <= 8; lanes *= 2) {
        fs_topo_t *topo = servers(n, 8, lanes);

        for (uint64_t bytes = 1; bytes < 10000; bytes *= 8) {
            for (uint32_t radix = 2; radix < 2 * n; radix *= 2) {
                fs_sim_small_t r = bundles(topo, NULL, bytes, radix, 8);

                ck_assert_msg(r.model > 0.9 * r.network &&
                                  r.model < 1.1 * r.network,
                              "N %u, lanes %u, %u bytes, radix %u: %.3f us by "
                              "the model, %.3f us simulated",
                              n, lanes, (unsigned)bytes, radix, r.model / US,
                              r.network / US);
            }
        }
        fs_topo_destroy(topo);
    }
}
END_TEST

/* The model's choice is within 5 % of what is best in the simulation. */
START_TEST(the_choice_is_good)
{
    static const uint64_t sizes[] = {1, 8, 64, 512};

    for (uint32_t n = 10; n <= 1000; n *= 10) {
        for (uint32_t lanes = 1; lanes <= 4; lanes *= 4) {
            fs_topo_t *topo = servers(n, 4, lanes);

            fs_sim_small_t chosen = bundles(topo, NULL, sizes[_i], 0, 0);

            for (uint32_t radix = 2; radix <= n; ++radix) {
                fs_sim_small_t r = bundles(topo, NULL, sizes[_i], radix, 0);

                ck_assert_msg(chosen.network < 1.05 * r.network,
                              "N %u, lanes %u: radix %u %.3f us, %u %.3f us", n,
                              lanes, chosen.radix, chosen.network / US, radix,
                              r.network / US);
            }
            fs_topo_destroy(topo);
        }
    }
}
END_TEST

/* ---- what it is for ---- */

START_TEST(bundles_beat_direct)
{
    /* MPICH's multi-leader alltoall reached 3.84 at this size (#3769). */
    fs_topo_t *topo = servers(32, 40, 1);

    ck_assert(direct(topo, NULL, 8, 32).time >
              3.84 * bundles(topo, NULL, 8, 0, 8).time);
    fs_topo_destroy(topo);
    topo = servers(128, 96, 1);
    ck_assert(bundles(topo, NULL, 8, 0, 8).time < 5000 * US);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(forwarding_helps_many_small_servers)
{
    fs_topo_t     *topo   = servers(1024, 4, 1);
    fs_sim_small_t chosen = bundles(topo, NULL, 8, 0, 0);

    ck_assert_uint_lt(chosen.radix, 1024);
    ck_assert(bundles(topo, NULL, 8, 1024, 0).time > 3 * chosen.time);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(numbers_out_of_range)
{
    fs_topo_t      *topo = servers(2, 2, 0);
    fs_sim_blocks_t all = {topo, NULL, 8}, huge = {topo, NULL, UINT64_MAX / 2};
    fs_sim_loggp_t  bad = costs;
    fs_sim_small_t  r;

    ck_assert_int_eq(fs_sim_direct(&all, &costs, 0, &r), FS_ERR_INVAL);
    ck_assert_int_eq(fs_sim_direct(&all, &costs, 1025, &r), FS_ERR_INVAL);
    ck_assert_int_eq(fs_sim_bundles(&all, &costs, 1, 8, &r), FS_ERR_INVAL);
    ck_assert_int_eq(fs_sim_bundles(&huge, &costs, 2, 8, &r), FS_ERR_OVERFLOW);
    bad.rate_out = 0;
    ck_assert_int_eq(fs_sim_bundles(&all, &bad, 2, 8, &r), FS_ERR_INVAL);
    bad     = costs;
    bad.gap = NAN;
    ck_assert_int_eq(fs_sim_direct(&all, &bad, 1, &r), FS_ERR_INVAL);
    fs_topo_destroy(topo);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_loggp");
    TCase *tcase = tcase_create("sim_loggp");

    tcase_add_test(tcase, two_ranks_directly);
    tcase_add_test(tcase, a_batch_ends_before_the_next);
    tcase_add_test(tcase, ranks_share_a_nic);
    tcase_add_test(tcase, two_servers_in_bundles);
    tcase_add_test(tcase, one_server_only_copies);
    tcase_add_loop_test(tcase, one_server_stands_for_all, 0, 9);
    tcase_add_loop_test(tcase, bytes_are_accounted_for, 0, 21);
    tcase_add_test(tcase, empty_blocks_are_not_sent);
    tcase_add_loop_test(tcase, model_and_simulation_agree, 0, 6);
    tcase_add_loop_test(tcase, the_choice_is_good, 0, 4);
    tcase_add_test(tcase, bundles_beat_direct);
    tcase_add_test(tcase, forwarding_helps_many_small_servers);
    tcase_add_test(tcase, numbers_out_of_range);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
