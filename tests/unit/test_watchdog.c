/* SPDX-License-Identifier: BSD-3-Clause */
/* When the watchdog barks; what fs_coll does then is in test_coll.c. */
#include "exec/fs_watchdog.h"
#include "fs_test_util.h"

enum { LIMIT = 1000, START = 77000 };

static fs_watchdog_t dog;

static void set_up(void)
{
    fs_watchdog_start(&dog, LIMIT, START);
}

/* Looks at one moment after the start. */
static fs_watchdog_word_t look(uint64_t events, uint64_t after)
{
    return fs_watchdog_look(&dog, events, START + after);
}

START_TEST(silence_is_told_once)
{
    dog.beat_ns = UINT64_MAX;
    ck_assert_int_eq(look(0, LIMIT - 1), FS_WATCHDOG_FINE);
    ck_assert_int_eq(look(0, LIMIT), FS_WATCHDOG_STALL);
    ck_assert_int_eq(look(0, 2 * LIMIT), FS_WATCHDOG_FINE);
}
END_TEST

/* Silence counts from the last look that saw something. */
START_TEST(any_event_breaks_silence)
{
    dog.beat_ns = UINT64_MAX;
    ck_assert_int_eq(look(1, LIMIT - 1), FS_WATCHDOG_FINE);
    ck_assert_int_eq(look(1, 2 * LIMIT - 2), FS_WATCHDOG_FINE);
    ck_assert_int_eq(look(2, 9 * LIMIT), FS_WATCHDOG_FINE);
    ck_assert_int_eq(look(2, 10 * LIMIT), FS_WATCHDOG_STALL);
}
END_TEST

/* A net has a past: what it counted before the wait is no sign of life, but it
 * is not silence either. */
START_TEST(old_events_do_no_harm)
{
    dog.beat_ns = UINT64_MAX;
    ck_assert_int_eq(look(12345, 1), FS_WATCHDOG_FINE);
    ck_assert_int_eq(look(12345, LIMIT), FS_WATCHDOG_FINE);
    ck_assert_int_eq(look(12345, LIMIT + 1), FS_WATCHDOG_STALL);
}
END_TEST

/* Others must hear of us well before they lose patience, at any rate of looks:
 * no two beats are further apart than half the limit. */
START_TEST(beats_come_in_time)
{
    uint64_t last = 0;

    for (uint64_t t = 1; t < 20 * LIMIT; t += 7) {
        if (look(t, t) == FS_WATCHDOG_BEAT) {
            ck_assert_uint_ge(t - last, LIMIT / FS_WATCHDOG_BEATS);
            ck_assert_uint_le(t - last, LIMIT / 2);
            last = t;
        }
    }
    ck_assert_uint_ge(last, 19 * LIMIT);
}
END_TEST

START_TEST(off_is_off)
{
    fs_watchdog_start(&dog, 0, START);
    ck_assert_int_eq(look(0, 0), FS_WATCHDOG_FINE);
    ck_assert_int_eq(look(0, UINT64_MAX / 2), FS_WATCHDOG_FINE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("watchdog");
    TCase *tcase = tcase_create("watchdog");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, silence_is_told_once);
    tcase_add_test(tcase, any_event_breaks_silence);
    tcase_add_test(tcase, old_events_do_no_harm);
    tcase_add_test(tcase, beats_come_in_time);
    tcase_add_test(tcase, off_is_off);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
