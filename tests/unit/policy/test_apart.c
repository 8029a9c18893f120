/* SPDX-License-Identifier: BSD-3-Clause */
/* When calls begin early, by their times. No clock runs here. */
#include "policy/fs_apart.h"
#include "fs_test_util.h"

static fs_apart_t apart;

static void set_up(void)
{
    apart = (fs_apart_t){0};
}

/* A call of 1 MB that takes 10 ms, rounds of 0.1 ms. */
static fs_apart_call_t call_of(uint64_t apart_us, uint64_t after_us)
{
    return (fs_apart_call_t){.bytes    = 1000000,
                             .round_ns = 100000,
                             .run_ns   = 10000000,
                             .apart_ns = apart_us * 1000,
                             .after_ns = after_us * 1000};
}

static void plain(uint64_t apart_us, uint64_t after_us)
{
    fs_apart_call_t call = call_of(apart_us, after_us);

    fs_apart_note(&apart, &call);
}

static void early(uint64_t apart_us, uint64_t after_us)
{
    fs_apart_call_t call = call_of(apart_us, after_us);

    call.early = true;
    fs_apart_note(&apart, &call);
}

/* More than a quarter of 10 ms, and no longer after the next ones. */
START_TEST(the_next_calls_begin_early)
{
    plain(2500, 10000);
    ck_assert_uint_eq(apart.left, 0);
    plain(2501, 10000);
    ck_assert_uint_eq(apart.left, FS_APART_CALLS);
    early(2501, 8000);
    ck_assert_uint_eq(apart.left, FS_APART_CALLS);
    for (uint32_t k = FS_APART_CALLS; k > 0; --k) {
        early(0, 8000);
        ck_assert_uint_eq(apart.left, k - 1);
    }
    plain(0, 10000);
    ck_assert_uint_eq(apart.left, 0);
}
END_TEST

/* Less than 32 rounds. */
START_TEST(not_where_rounds_count)
{
    fs_apart_call_t call = call_of(9000, 10000);

    call.round_ns = 312499;
    fs_apart_note(&apart, &call);
    ck_assert_uint_eq(apart.left, FS_APART_CALLS);
    set_up();
    call.round_ns = 312500;
    fs_apart_note(&apart, &call);
    ck_assert_uint_eq(apart.left, 0);
}
END_TEST

START_TEST(not_where_it_gains_nothing)
{
    uint32_t rest = FS_APART_REST;

    plain(9000, 10000);
    for (int round = 0; round < 3; ++round, rest *= 2) {
        ck_assert_uint_eq(apart.left, FS_APART_CALLS);
        early(9000, 10001);
        ck_assert_uint_eq(apart.left, FS_APART_CALLS);
        early(9000, 10001);
        ck_assert_uint_eq(apart.left, 0);
        ck_assert_uint_eq(apart.rest, rest);
        for (uint32_t k = 1; k < rest; ++k) {
            plain(9000, 10000);
            ck_assert_uint_eq(apart.left, 0);
        }
        plain(9000, 10000);
    }
    early(9000, 9000); /* a gain: what was lost is forgotten */
    early(9000, 10001);
    ck_assert_uint_eq(apart.left, FS_APART_CALLS);
    early(9000, 10001);
    ck_assert_uint_eq(apart.rest, FS_APART_REST);
}
END_TEST

START_TEST(the_longest_rest)
{
    plain(9000, 10000);
    for (int k = 0; k < 40; ++k) {
        early(9000, 20000);
    }
    ck_assert_uint_eq(apart.rested, FS_APART_REST_MOST);
}
END_TEST

/* One slow call among the others is not what an early one is compared with. */
START_TEST(an_average)
{
    for (int k = 0; k < 20; ++k) {
        plain(0, 10000);
    }
    plain(9000, 30000);
    early(9000, 20000);
    early(9000, 20000);
    ck_assert_uint_gt(apart.rest, 0);
}
END_TEST

/* From the first entry on; those that begin early are no longer compared with the
 * others. */
START_TEST(the_usual_time)
{
    plain(2000, 10000);
    ck_assert_uint_eq(apart.usual, 12000);
    plain(6000, 10000);
    ck_assert_uint_eq(apart.usual, 13000);
    early(3000, 8000);
    ck_assert_uint_eq(apart.usual, 11000);
}
END_TEST

/* Calls of other sizes, times that nobody knows, ranks that compute. */
START_TEST(what_does_not_compare)
{
    fs_apart_call_t call = call_of(9000, 10000);

    plain(9000, 10000);
    call.early    = true;
    call.bytes    = 2000002;
    call.after_ns = 90000000;
    ck_assert_uint_eq(apart.left, FS_APART_CALLS);
    fs_apart_note(&apart, &call);
    ck_assert_uint_eq(apart.left, 0); /* the next one is compared with later */
    fs_apart_note(&apart, &call);
    ck_assert_uint_eq(apart.rest, 0);
    early(9000, 0);
    early(9000, 0);
    ck_assert_uint_eq(apart.rest, 0);
    call.bytes    = 1000000;
    call.computes = true;
    fs_apart_note(&apart, &call);
    fs_apart_note(&apart, &call);
    ck_assert_uint_eq(apart.rest, 0);
    ck_assert_uint_eq(apart.left, FS_APART_CALLS);
    call.bytes = 0;
    fs_apart_note(&apart, &call);
    ck_assert_uint_eq(apart.price, 10000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("apart");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, the_next_calls_begin_early);
    tcase_add_test(tcase, not_where_rounds_count);
    tcase_add_test(tcase, not_where_it_gains_nothing);
    tcase_add_test(tcase, the_longest_rest);
    tcase_add_test(tcase, an_average);
    tcase_add_test(tcase, the_usual_time);
    tcase_add_test(tcase, what_does_not_compare);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
