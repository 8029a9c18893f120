/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is last, by what ranks say of their waits. No clock runs here. */
#include "policy/fs_entries.h"
#include "fs_test_util.h"

#define N 5

static fs_entries_t e;
static uint64_t     n_last[N];

static void set_up(void)
{
    e = (fs_entries_t){.n_ranks = N, .n_last = n_last};
    for (uint32_t r = 0; r < N; ++r) {
        n_last[r] = 0;
    }
}

/* As votes are combined. */
static void call(const uint64_t waited[N])
{
    uint64_t most = 0, least = 0;

    for (uint32_t r = 0; r < N; ++r) {
        uint64_t word = fs_entries_word(waited[r], r);

        most  = waited[r] > most ? waited[r] : most;
        least = word != 0 && (least == 0 || word < least) ? word : least;
    }
    fs_entries_add(&e, most, least);
}

START_TEST(who_waits_least_is_last)
{
    call((const uint64_t[N]){900, 700, 100, 800, 300});
    ck_assert(e.is_known);
    ck_assert_uint_eq(e.last, 2);
    ck_assert_uint_eq(e.apart_ns, 800);
    call((const uint64_t[N]){50, 40, 60, 45, 41});
    ck_assert_uint_eq(e.last, 1);
    ck_assert_uint_eq(e.apart_ns, 20);
    call((const uint64_t[N]){9, 8, 5, 8, 7});
    ck_assert_uint_eq(e.n_calls, 3);
    ck_assert_uint_eq(e.sum_ns, 800 + 20 + 4);
    ck_assert_uint_eq(e.max_ns, 800);
    ck_assert_uint_eq(n_last[2], 2);
    ck_assert_uint_eq(n_last[1], 1);
    ck_assert_uint_eq(fs_entries_latest(&e), 2);
}
END_TEST

START_TEST(equal_waits)
{
    call((const uint64_t[N]){7, 7, 7, 7, 7});
    ck_assert_uint_eq(e.last, 0);
    ck_assert_uint_eq(e.apart_ns, 0);
}
END_TEST

/* A rank that does not know says nothing; if nobody knows, it is no call. */
START_TEST(unknown)
{
    call((const uint64_t[N]){0, 0, 40, 0, 90});
    ck_assert_uint_eq(e.last, 2);
    ck_assert_uint_eq(e.apart_ns, 50);
    call((const uint64_t[N]){0});
    ck_assert(!e.is_known);
    ck_assert_uint_eq(e.n_calls, 1);
}
END_TEST

/* No message may make us write elsewhere. */
START_TEST(no_such_rank)
{
    fs_entries_add(&e, 9, fs_entries_word(5, N));
    ck_assert_uint_eq(e.n_calls, 1);
    ck_assert_uint_eq(fs_entries_latest(&e), 0);
}
END_TEST

/* Waits of more than a word has room for, and nobody who counts. */
START_TEST(limits)
{
    uint64_t hour = UINT64_C(3600) * 1000000000;

    e.n_ranks = 0;
    call((const uint64_t[N]){hour, hour, hour, hour / 60, hour});
    ck_assert_uint_eq(e.last, 3);
    ck_assert_uint_eq(e.apart_ns, hour - hour / 60);
    ck_assert_uint_eq(fs_entries_latest(&e), 0);
    ck_assert_uint_ne(fs_entries_word(UINT64_MAX, 0), 0);
    ck_assert_uint_eq(fs_entries_word(0, 3), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("entries");
    TCase *tcase = tcase_create("entries");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, who_waits_least_is_last);
    tcase_add_test(tcase, equal_waits);
    tcase_add_test(tcase, unknown);
    tcase_add_test(tcase, no_such_rank);
    tcase_add_test(tcase, limits);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
