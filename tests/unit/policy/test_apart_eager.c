/* SPDX-License-Identifier: BSD-3-Clause */
/* When calls of ranks that come apart go eager, by their times. No clock runs here. */
#include "policy/fs_apart_eager.h"
#include "fs_test_util.h"

enum { USUAL = 10000, LESS = USUAL - 1, AS_MUCH = USUAL };

static fs_apart_eager_t eager;

static void set_up(void)
{
    eager = (fs_apart_eager_t){0};
}

static void see(uint32_t n, bool apart)
{
    while (n-- > 0) {
        fs_apart_eager_note(&eager, apart);
    }
}

/* All that may go, and the last is timed. */
static void go(uint64_t price)
{
    while (eager.left > 0) {
        bool is_last = eager.left == 1;

        ck_assert_int_eq(fs_apart_eager_take(&eager), is_last);
    }
    fs_apart_eager_timed(&eager, price, USUAL);
}

/* The first, that no loss counts, has been. */
static void warm_up(void)
{
    see(FS_APART_EAGER_FIRST, true);
    go(AS_MUCH);
}

START_TEST(one_is_tried)
{
    see(FS_APART_EAGER_FIRST - 1, true);
    see(1, false);
    see(FS_APART_EAGER_FIRST - 1, true);
    ck_assert_uint_eq(eager.left, 0);
    see(1, true);
    ck_assert_uint_eq(eager.left, 1);
    see(1, false);
    ck_assert_uint_eq(eager.left, 0);
}
END_TEST

START_TEST(longer_runs)
{
    const uint32_t runs[] = {1, 1, 7, 15, 31, 63, 63};

    warm_up();
    for (unsigned k = 0; k < sizeof(runs) / sizeof(runs[0]); ++k) {
        see(1, true);
        ck_assert_uint_eq(eager.left, runs[k]);
        go(LESS);
        ck_assert_uint_eq(eager.left, 0);
    }
}
END_TEST

START_TEST(the_first_is_not_lost)
{
    warm_up();
    see(1, true);
    ck_assert_uint_eq(eager.left, 1);
    go(AS_MUCH);
    ck_assert_uint_eq(eager.rest, 0);
    set_up();
    see(FS_APART_EAGER_FIRST, true);
    go(LESS);
    ck_assert_uint_eq(eager.n_won, 1);
}
END_TEST

START_TEST(a_rest_that_doubles)
{
    uint32_t rest = FS_APART_EAGER_REST;

    warm_up();
    for (int round = 0; round < 3; ++round, rest *= 2) {
        for (int k = 0; k < FS_APART_EAGER_LOST; ++k) {
            see(1, true);
            ck_assert_uint_eq(eager.left, 1);
            go(AS_MUCH);
        }
        ck_assert_uint_eq(eager.rest, rest);
        see(rest - 1, true);
        ck_assert_uint_eq(eager.left, 0);
    }
    see(1, true);
    go(LESS);
    ck_assert_uint_eq(eager.rested, 0);
}
END_TEST

START_TEST(the_longest_rest)
{
    warm_up();
    for (int k = 0; k < 40; ++k) {
        eager.rest = 0;
        see(1, true);
        go(AS_MUCH);
    }
    ck_assert_uint_eq(eager.rested, FS_APART_EAGER_REST_MOST);
}
END_TEST

/* A loss ends long runs; ranks that once did not come apart make them shorter, and
 * twice end them. */
START_TEST(back_to_trials)
{
    warm_up();
    for (int k = 0; k < 4; ++k) {
        see(1, true);
        go(LESS);
    }
    ck_assert_uint_eq(eager.run, 15);
    see(1, false);
    see(1, true);
    ck_assert_uint_eq(eager.left, 1);
    go(LESS);
    see(1, true);
    ck_assert_uint_eq(eager.left, 15);
    go(2 * USUAL);
    see(1, true);
    ck_assert_uint_eq(eager.left, 1);
    go(1);
    see(1, true);
    ck_assert_uint_eq(eager.left, 15);
    for (int k = 0; k < FS_APART_EAGER_LOST; ++k) {
        go(2 * USUAL);
        ck_assert_uint_eq(eager.rest > 0, k > 0);
        see(1, true);
    }
    see(FS_APART_EAGER_REST, true);
    for (int k = 0; k < FS_APART_EAGER_TO_WIN; ++k) {
        ck_assert_uint_eq(eager.left, 1);
        go(LESS);
        see(1, true);
    }
    ck_assert_uint_eq(eager.left, FS_APART_EAGER_LEAST);
}
END_TEST

/* One slow call among fast ones is not lost. */
START_TEST(an_average)
{
    warm_up();
    for (int k = 0; k < 6; ++k) {
        see(1, true);
        go(USUAL / 2);
    }
    see(1, true);
    go(USUAL);
    ck_assert_uint_eq(eager.n_lost, 0);
    see(1, true);
    ck_assert_uint_gt(eager.left, 1);
}
END_TEST

START_TEST(times_that_nobody_knows)
{
    warm_up();
    see(1, true);
    go(0);
    fs_apart_eager_timed(&eager, USUAL * 2, 0);
    ck_assert_uint_eq(eager.n_lost + eager.n_won, 0);
    see(1, true);
    ck_assert_uint_eq(eager.left, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("apart_eager");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, one_is_tried);
    tcase_add_test(tcase, longer_runs);
    tcase_add_test(tcase, the_first_is_not_lost);
    tcase_add_test(tcase, a_rest_that_doubles);
    tcase_add_test(tcase, the_longest_rest);
    tcase_add_test(tcase, back_to_trials);
    tcase_add_test(tcase, an_average);
    tcase_add_test(tcase, times_that_nobody_knows);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
