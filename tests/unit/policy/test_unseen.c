/* SPDX-License-Identifier: BSD-3-Clause */
/* Which calls go to the MPI without a summary. */
#include "policy/fs_unseen.h"
#include "fs_test_util.h"

#include <string.h>

enum { SMALL = 1000, LARGE = 100000 };

static fs_unseen_t unseen;

static void set_up(void)
{
    memset(&unseen, 0, sizeof(unseen));
}

/* Some call; is it seen? Large ones are not the native algorithm's. */
static bool call_of(fs_tuned_t tuned, uint64_t bytes, bool counts)
{
    fs_seen_t seen = {.tuned     = tuned,
                      .settled   = bytes < LARGE,
                      .counts    = counts,
                      .own_bytes = bytes};

    if (fs_unseen_take(&unseen, tuned, bytes)) {
        return false;
    }
    seen.unlike = unseen.unlike;
    fs_unseen_note(&unseen, &seen);
    return true;
}

static bool call(uint64_t bytes)
{
    return call_of(FS_TUNED_ALLTOALLV, bytes, true);
}

/* n calls, those that are seen as a capital letter. */
static const char *calls(unsigned n, uint64_t bytes)
{
    static char text[256];

    for (unsigned k = 0; k < n; ++k) {
        text[k] = call(bytes) ? 'S' : '.';
    }
    text[n] = '\0';
    return text;
}

START_TEST(ever_fewer_are_seen)
{
    ck_assert_str_eq(calls(16, SMALL), "SS.S...S.......S");
    ck_assert_str_eq(calls(32, SMALL), "...............S...............S");
    ck_assert_uint_eq(unseen.n_taken, 11 + 30); /* nobody has asked for it */
}
END_TEST

START_TEST(all_are_seen_where_a_summary_is_short)
{
    for (int k = 0; k < 100; ++k) {
        ck_assert(call_of(FS_TUNED_ALLTOALLV, SMALL, false));
    }
}
END_TEST

/* Others are seen, and from then on it begins anew. */
START_TEST(another_choice_begins_anew)
{
    ck_assert_str_eq(calls(8, SMALL), "SS.S...S");
    unseen.left = 0;
    ck_assert_str_eq(calls(3, LARGE), "SSS");
    ck_assert_str_eq(calls(8, SMALL), "SS.S...S");
}
END_TEST

START_TEST(another_collective_is_seen)
{
    ck_assert_str_eq(calls(8, SMALL), "SS.S...S");
    ck_assert(call_of(FS_TUNED_ALLTOALL, SMALL, true));
    ck_assert_str_eq(calls(8, SMALL), "SS.S...S");
}
END_TEST

/* Counts that differ by less than two are the same. */
START_TEST(what_is_noticed)
{
    calls(8, SMALL);
    calls(1, SMALL * 2);
    ck_assert(!unseen.unlike);
    calls(1, SMALL / 2);
    ck_assert(!unseen.unlike);
    calls(1, 2 * SMALL + 2);
    ck_assert(unseen.unlike);
    set_up();
    calls(8, SMALL);
    calls(1, SMALL / 2 - 2);
    ck_assert(unseen.unlike);
    calls(6, SMALL);
    ck_assert_str_eq(calls(1, SMALL), "S"); /* which tells all */
    ck_assert(!unseen.unlike);
    ck_assert_str_eq(calls(6, SMALL), "SSSS.S");
}
END_TEST

/* A large call at intervals: the few that are missed do not come again. */
START_TEST(few_large_ones_are_missed)
{
    for (unsigned interval = 2; interval < 70; ++interval) {
        unsigned n_missed = 0, n_late = 0;

        set_up();
        for (unsigned k = 1; k < 4000; ++k) {
            bool missed = !call(k % interval == 0 ? LARGE : SMALL);

            missed = missed && k % interval == 0;
            n_missed += missed;
            n_late += missed && k > 1000;
        }
        ck_assert_uint_le(n_missed, 4);
        ck_assert_uint_eq(n_late, 0);
    }
}
END_TEST

START_TEST(patience_has_an_end)
{
    fs_seen_t seen = {.settled = true, .counts = true, .unlike = true};

    for (int k = 0; k < 100; ++k) {
        fs_unseen_note(&unseen, &seen);
        ck_assert(!fs_unseen_take(&unseen, FS_TUNED_ALLTOALLV, 0));
    }
    ck_assert_uint_ge(unseen.factor, FS_UNSEEN_PATIENCE_MOST);
    ck_assert_uint_lt(unseen.factor, 8 * FS_UNSEEN_PATIENCE_MOST);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unseen");
    TCase *tcase = tcase_create("unseen");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, ever_fewer_are_seen);
    tcase_add_test(tcase, all_are_seen_where_a_summary_is_short);
    tcase_add_test(tcase, another_choice_begins_anew);
    tcase_add_test(tcase, another_collective_is_seen);
    tcase_add_test(tcase, what_is_noticed);
    tcase_add_test(tcase, few_large_ones_are_missed);
    tcase_add_test(tcase, patience_has_an_end);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
