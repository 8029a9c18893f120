/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls without a summary: what follows from which calls. */
#include "policy/fs_backoff.h"
#include "fs_test_util.h"

enum { LONGEST = 64, MIN_BYTES = 1000, SMALL = 8, LARGE = 5000 };

/* One call: was there a summary? Small ones go to the host. */
static bool asked(fs_backoff_t *quiet, uint64_t bytes)
{
    fs_backoff_seen_t seen = {.to_host    = bytes < MIN_BYTES,
                              .missed     = quiet->missed,
                              .sent_bytes = bytes,
                              .min_bytes  = MIN_BYTES};

    if (fs_backoff_skips(quiet, bytes)) {
        return false;
    }
    fs_backoff_note(quiet, LONGEST, &seen);
    return true;
}

static uint32_t n_asked(fs_backoff_t *quiet, uint32_t n, uint64_t bytes)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < n; ++k) {
        count += asked(quiet, bytes);
    }
    return count;
}

START_TEST(runs_grow)
{
    fs_backoff_t quiet = {0};

    ck_assert_uint_eq(n_asked(&quiet, 8, SMALL), 8);
    for (uint32_t run = 8; run <= 64; run *= 2) {
        ck_assert_uint_eq(n_asked(&quiet, run, SMALL), 0);
        ck_assert_uint_eq(n_asked(&quiet, 1, SMALL), 1);
    }
    ck_assert_uint_eq(n_asked(&quiet, 65 * 100, SMALL), 100);
    /* A large call when there is a summary: all over again. */
    ck_assert_uint_eq(n_asked(&quiet, 64, SMALL), 0);
    ck_assert(asked(&quiet, LARGE));
    ck_assert_uint_eq(n_asked(&quiet, 8, SMALL), 8);
    ck_assert_uint_eq(n_asked(&quiet, 8, SMALL), 0);
    ck_assert_uint_eq(n_asked(&quiet, 1, SMALL), 1);
}
END_TEST

START_TEST(a_large_call_ends_the_streak)
{
    fs_backoff_t quiet = {0};

    for (int k = 0; k < 20; ++k) {
        ck_assert_uint_eq(n_asked(&quiet, 7, SMALL), 7);
        ck_assert_uint_eq(n_asked(&quiet, 1, LARGE), 1);
    }
    ck_assert_uint_eq(n_asked(&quiet, 8, SMALL), 8);
    ck_assert(!asked(&quiet, SMALL));
}
END_TEST

START_TEST(skip_may_be_off)
{
    fs_backoff_t      quiet = {0};
    fs_backoff_seen_t seen  = {.to_host = true};

    for (int k = 0; k < 100; ++k) {
        ck_assert(!fs_backoff_skips(&quiet, 0));
        fs_backoff_note(&quiet, 0, &seen);
    }
    for (int k = 0; k < 5; ++k) { /* a limit below the first run */
        fs_backoff_note(&quiet, 1, &seen);
        ck_assert(fs_backoff_skips(&quiet, 0));
        ck_assert(!fs_backoff_skips(&quiet, 0));
    }
}
END_TEST

/* A large call every n calls: in the long run all are asked about. */
START_TEST(large_calls_at_intervals)
{
    fs_backoff_t quiet = {0};
    uint32_t     every = 9 + (uint32_t)_i * 7, missed = 0;

    for (uint32_t k = 1; k <= 100 * every; ++k) {
        missed += k % every == 0 && !asked(&quiet, LARGE);
        if (k % every != 0) {
            asked(&quiet, SMALL);
        }
    }
    ck_assert_uint_le(missed, 12);
}
END_TEST

/* Calls that go to the host though they are large: they are as usual. */
START_TEST(large_calls_of_a_streak)
{
    fs_backoff_t      quiet = {0};
    fs_backoff_seen_t seen  = {
         .to_host = true, .sent_bytes = 1 << 20, .min_bytes = MIN_BYTES};

    for (int k = 0; k < 8; ++k) {
        fs_backoff_note(&quiet, LONGEST, &seen);
    }
    ck_assert(fs_backoff_skips(&quiet, 1 << 21));
    ck_assert(!quiet.missed);
    ck_assert(fs_backoff_skips(&quiet, (1 << 21) + 1));
    ck_assert(quiet.missed);
    seen.sent_bytes = UINT64_MAX;
    fs_backoff_note(&quiet, LONGEST, &seen);
    ck_assert(!quiet.missed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backoff");
    TCase *tcase = tcase_create("backoff");

    tcase_add_test(tcase, runs_grow);
    tcase_add_test(tcase, a_large_call_ends_the_streak);
    tcase_add_test(tcase, skip_may_be_off);
    tcase_add_loop_test(tcase, large_calls_at_intervals, 0, 12);
    tcase_add_test(tcase, large_calls_of_a_streak);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
