/* SPDX-License-Identifier: BSD-3-Clause */
/* When the watchdog barks; what fs_comm does then is in test_comm.c. */
#include "coll/fs_watchdog.h"
#include "fs_test_util.h"

enum { LIMIT = 1000, START = 77000, STEP = LIMIT / 20 };

static fs_watchdog_t dog;

static void set_up(void)
{
    fs_watchdog_start(&dog, LIMIT, START);
}

/* Looks at one moment after the start. */
static fs_watchdog_verdict_t look(uint64_t events, uint64_t after)
{
    return fs_watchdog_check(&dog, events, START + after);
}

/* A process that runs looks often: so long nothing happens, and nothing is told. */
static void stays_quiet(uint64_t events, uint64_t from, uint64_t to)
{
    for (uint64_t t = from; t < to; t += STEP) {
        ck_assert_int_eq(look(events, t), FS_WATCHDOG_FINE);
    }
}

START_TEST(silence_is_told_once)
{
    dog.beat_ns = UINT64_MAX;
    stays_quiet(0, 0, LIMIT);
    ck_assert_int_eq(look(0, LIMIT), FS_WATCHDOG_STALL);
    stays_quiet(0, LIMIT, 3 * LIMIT);
}
END_TEST

/* Silence counts from the last look that saw something. */
START_TEST(any_event_breaks_silence)
{
    dog.beat_ns = UINT64_MAX;
    stays_quiet(0, 0, LIMIT);
    stays_quiet(1, LIMIT - 1, 2 * LIMIT - 1);
    stays_quiet(2, 2 * LIMIT - 2, 3 * LIMIT - 2);
    ck_assert_int_eq(look(2, 3 * LIMIT - 2), FS_WATCHDOG_STALL);
}
END_TEST

/* A net has a past: what it counted before the wait is no sign of life, but it
 * is not silence either. */
START_TEST(old_events_do_no_harm)
{
    dog.beat_ns = UINT64_MAX;
    stays_quiet(12345, 1, LIMIT + 1);
    ck_assert_int_eq(look(12345, LIMIT + 1), FS_WATCHDOG_STALL);
}
END_TEST

/* Suspended, however long and from whenever on: what is left of the patience
 * lasts for several looks. */
START_TEST(a_suspended_process_is_not_silent)
{
    uint64_t ran = (uint64_t)_i * STEP;

    dog.beat_ns = UINT64_MAX;
    stays_quiet(0, 0, ran + 1);
    ck_assert_int_eq(look(0, ran + 1000 * LIMIT), FS_WATCHDOG_FINE);
    ck_assert_int_eq(look(0, ran + 1000 * LIMIT + 1), FS_WATCHDOG_FINE);
    ck_assert_int_eq(look(1, ran + 1000 * LIMIT + 2), FS_WATCHDOG_FINE);
}
END_TEST

/* But one that hardly ever runs has no endless patience. */
START_TEST(rare_looks_find_silence)
{
    dog.beat_ns = UINT64_MAX;
    for (uint64_t k = 1; k < FS_WATCHDOG_CHECKS; ++k) {
        ck_assert_int_eq(look(0, 100 * k * LIMIT), FS_WATCHDOG_FINE);
    }
    ck_assert_int_eq(look(0, 100 * FS_WATCHDOG_CHECKS * LIMIT),
                     FS_WATCHDOG_STALL);
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
    tcase_add_loop_test(tcase, a_suspended_process_is_not_silent, 0,
                        LIMIT / STEP - 2);
    tcase_add_test(tcase, rare_looks_find_silence);
    tcase_add_test(tcase, beats_come_in_time);
    tcase_add_test(tcase, off_is_off);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
