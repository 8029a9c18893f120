/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call should take, by hand: two servers of two ranks, or more. */
#include "sched/plan/fs_cost.h"
#include "fs_test_util.h"

enum { ALPHA = 65536 };

static fs_topo_t *topo;
static uint64_t   bytes[9];

static fs_traffic_t traffic;

/* Servers of so many ranks each; their bytes are to be set. */
static void make(uint32_t n_ranks, const uint32_t *labels)
{
    ck_assert_int_eq(fs_topo_create(n_ranks, labels, 0, &topo), FS_OK);
    traffic =
        (fs_traffic_t){.n_servers = fs_topo_n_servers(topo), .bytes = bytes};
    for (int k = 0; k < 9; ++k) {
        bytes[k] = 0;
    }
}

static void two_by_two(uint64_t there, uint64_t back, uint64_t max_inter)
{
    static const uint32_t labels[] = {0, 0, 1, 1};

    make(4, labels);
    bytes[1]          = there;
    bytes[2]          = back;
    traffic.max_inter = max_inter;
    ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
}

static void tear_down(void)
{
    fs_topo_destroy(topo);
    topo = NULL;
}

static uint64_t native(uint64_t alpha)
{
    return (uint64_t)fs_cost_native(
        topo, &traffic, fs_traffic_lower_bound(topo, &traffic), alpha);
}

static uint64_t staged(uint64_t alpha)
{
    return (uint64_t)fs_cost_staged(
        topo, &traffic, fs_traffic_lower_bound(topo, &traffic), alpha);
}

static uint64_t server_skew(void)
{
    fs_busiest_t busiest = fs_traffic_busiest(topo, &traffic);

    return fs_cost_server_skew_milli(&traffic, &busiest);
}

START_TEST(by_hand)
{
    two_by_two(8000, 6000, 4000);
    ck_assert_uint_eq(fs_traffic_lower_bound(topo, &traffic), 4000);
    ck_assert_uint_eq(staged(100), 4000 + 4 * 100);
    ck_assert_uint_eq((uint64_t)fs_cost_pipe2d(topo, &traffic, 4000, 100),
                      6000 + 2 * 100);
    ck_assert_uint_eq(native(100), 5000 + 4 * 100 - 25);
    traffic.max_inter = 8000;
    ck_assert_uint_eq(staged(100), 4000 + 4 * 100);
    ck_assert_uint_eq((uint64_t)fs_cost_pipe2d(topo, &traffic, 4000, 100),
                      12000 + 2 * 100);
    ck_assert_uint_eq(native(100), 7500 + 4 * 100 - 25);
}
END_TEST

/* Balanced traffic is for the native algorithm up to alpha bytes of a lane, skewed
 * traffic up to less. */
START_TEST(where_they_meet)
{
    two_by_two(2 * ALPHA - 64, 2 * ALPHA - 64, ALPHA - 32);
    ck_assert_uint_lt(native(ALPHA), staged(ALPHA));
    tear_down();
    two_by_two(2 * ALPHA + 64, 2 * ALPHA + 64, ALPHA + 32);
    ck_assert_uint_gt(native(ALPHA), staged(ALPHA));
    tear_down();
    two_by_two(ALPHA, ALPHA, ALPHA);
    ck_assert_uint_gt(native(ALPHA), staged(ALPHA));
}
END_TEST

/* No call is so small that one of them is not worth a try. */
START_TEST(small_calls_are_close)
{
    two_by_two(16, 16, 8);
    ck_assert_uint_lt(native(ALPHA), staged(ALPHA));
    ck_assert_uint_lt(staged(ALPHA), 2 * native(ALPHA));
}
END_TEST

START_TEST(nothing_wraps)
{
    fs_u128_t most = (fs_u128_t)UINT64_MAX * 2;

    two_by_two(FS_MAX_BYTES / 2, FS_MAX_BYTES / 2, FS_MAX_BYTES / 2);
    ck_assert(fs_cost_staged(topo, &traffic, FS_MAX_BYTES, UINT64_MAX) > most);
    ck_assert(fs_cost_pipe2d(topo, &traffic, FS_MAX_BYTES, UINT64_MAX) > most);
    ck_assert(fs_cost_native(topo, &traffic, FS_MAX_BYTES, UINT64_MAX) > most);
    ck_assert_uint_eq(native(0), FS_MAX_BYTES / 32 * 15);
}
END_TEST

START_TEST(skew_inside_servers)
{
    static const uint32_t uneven[] = {0, 0, 0, 1, 2};

    two_by_two(8000, 2000, 4000);
    ck_assert_uint_eq(server_skew(), 1000);
    traffic.max_inter = 8000;
    ck_assert_uint_eq(server_skew(), 2000);
    tear_down();
    two_by_two(0, 0, 0);
    ck_assert_uint_eq(server_skew(), 0);
    tear_down();
    /* 9000 of three ranks, 5500 of one: this is the busiest. */
    make(5, uneven);
    bytes[0 * 3 + 1]  = 4000;
    bytes[0 * 3 + 2]  = 5000;
    bytes[1 * 3 + 2]  = 500;
    traffic.max_inter = 5500;
    ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
    ck_assert_uint_eq(server_skew(), 1000);
    /* Three lanes against one. */
    ck_assert_uint_eq(fs_traffic_busiest(topo, &traffic).per_lane, 5500);
    ck_assert_uint_eq(fs_traffic_busiest(topo, &traffic).line, 2 * 2 + 1);
    bytes[0 * 3 + 1] = 14000;
    ck_assert_uint_eq(fs_traffic_busiest(topo, &traffic).line, 2 * 1 + 1);
    bytes[0 * 3 + 1] = 0;
    bytes[0 * 3 + 2] = 15000;
    bytes[1 * 3 + 0] = 60000;
    ck_assert_uint_eq(fs_traffic_busiest(topo, &traffic).line, 2 * 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost");
    TCase *tcase = tcase_create("cost");

    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_test(tcase, by_hand);
    tcase_add_test(tcase, where_they_meet);
    tcase_add_test(tcase, small_calls_are_close);
    tcase_add_test(tcase, nothing_wraps);
    tcase_add_test(tcase, skew_inside_servers);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
