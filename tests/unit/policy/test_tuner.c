/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuner: what follows from which times. No clock runs here. */
#include "policy/fs_tuner.h"
#include "fs_test_util.h"

#include <string.h>

enum { CLASS = 77, OTHER = 78, BOUND = 1 << 20 };

static fs_tuner_t tuner;

static void set_up(void)
{
    memset(&tuner, 0, sizeof(tuner));
}

/* One call of a class: ours takes ours_ns and a summary, the host's host_ns. */
static fs_tuner_turn_t call_of(uint32_t of_class, uint64_t bound,
                               uint64_t ours_ns, uint64_t extra_ns,
                               uint64_t host_ns)
{
    fs_tuner_question_t question = fs_tuner_next(&tuner, of_class, bound);
    bool                ours     = question.turn == FS_TUNER_OURS;

    fs_tuner_update(&tuner, &question, ours ? ours_ns : host_ns, extra_ns);
    return question.turn;
}

static fs_tuner_turn_t call(uint32_t of_class, uint64_t ours_ns,
                            uint64_t host_ns)
{
    return call_of(of_class, BOUND, ours_ns, 0, host_ns);
}

/* n calls; how many of them were lent to the host. */
static uint32_t calls(uint32_t n, uint32_t of_class, uint64_t ours_ns,
                      uint64_t host_ns)
{
    uint32_t lent = 0;

    for (uint32_t k = 0; k < n; ++k) {
        lent += call(of_class, ours_ns, host_ns) != FS_TUNER_OURS;
    }
    return lent;
}

static fs_tuner_state_t state_of(uint32_t of_class)
{
    return (fs_tuner_state_t)tuner.classes[of_class].state;
}

/* ---- classes ---- */

START_TEST(classes_by_powers_of_two)
{
    ck_assert_uint_eq(fs_tuner_class(1 << 20, 1000), 80);
    ck_assert_uint_eq(fs_tuner_class((1 << 21) - 1, 1999), 80);
    ck_assert_uint_eq(fs_tuner_class((1 << 20) - 1, 1000), 76);
    ck_assert_uint_eq(fs_tuner_class(1 << 21, 1000), 84);
    ck_assert_uint_eq(fs_tuner_class(1 << 20, 2000), 81);
    ck_assert_uint_eq(fs_tuner_class(1 << 20, 4000), 82);
    ck_assert_uint_eq(fs_tuner_class(1 << 20, 8000), 83);
    ck_assert_uint_eq(fs_tuner_class(1 << 20, UINT64_MAX), 83);
    ck_assert_uint_eq(fs_tuner_class(1, 0), 0);
    ck_assert_uint_lt(fs_tuner_class(UINT64_MAX, UINT64_MAX), FS_TUNER_CLASSES);
}
END_TEST

/* ---- verdicts ---- */

/* Where ours is twice as fast, two calls pay for it: the warm_up and a look;
 * in the next class one. */
START_TEST(few_looks_where_ours_is_faster)
{
    ck_assert_uint_eq(calls(FS_TUNER_RECHECK, CLASS, 100, 200), 2);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_OURS);
    ck_assert_uint_eq(calls(20, OTHER, 100, 200), 1);
    ck_assert_int_eq(state_of(OTHER), FS_TUNER_STATE_OURS);
    ck_assert_uint_eq(tuner.n_gone_back, 0);
}
END_TEST

START_TEST(the_first_two_are_ours)
{
    ck_assert_int_eq(call(CLASS, 1, 1), FS_TUNER_OURS);
    ck_assert_int_eq(call(CLASS, 1, 1), FS_TUNER_OURS);
    ck_assert_int_eq(call(CLASS, 1, 1), FS_TUNER_PROBE);
}
END_TEST

/* Never more than two of the first twenty calls of a class, whatever they
 * take. */
START_TEST(at_most_two_looks_in_twenty)
{
    static const uint64_t host[] = {0, 50, 94, 100, 106, 1000};

    for (size_t k = 0; k < sizeof(host) / sizeof(host[0]); ++k) {
        uint32_t looks = 0;

        set_up();
        for (uint32_t n = 0; n < 20; ++n) {
            looks += call(CLASS, 100, host[k]) == FS_TUNER_PROBE;
        }
        ck_assert_uint_le(looks, 2);
        ck_assert_uint_eq(tuner.n_probes, looks);
    }
}
END_TEST

START_TEST(slower_twice_goes_back)
{
    tuner.warmed_up = true;
    calls(3, CLASS, 100, 90);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_TRY);
    ck_assert_uint_eq(calls(4, CLASS, 100, 90), 0);
    calls(1, CLASS, 100, 90);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_NATIVE);
    ck_assert_uint_eq(tuner.n_gone_back, 1);
    ck_assert_uint_eq(calls(100, CLASS, 100, 90), 100);
    /* Other classes do not care. */
    ck_assert_int_eq(call(OTHER, 100, 90), FS_TUNER_OURS);
}
END_TEST

START_TEST(slower_once_stays)
{
    tuner.warmed_up = true;
    calls(3, CLASS, 100, 90);
    calls(5, CLASS, 100, 101);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_OURS);
}
END_TEST

/* Less than the margin is noise, whichever way it points: ours, but looked at
 * again soon. */
START_TEST(close_is_ours)
{
    tuner.warmed_up = true;
    ck_assert_uint_eq(calls(8 + FS_TUNER_SOON, CLASS, 104, 100), 2);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_OURS);
    ck_assert_uint_eq(calls(8, CLASS, 106, 100), 2);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_NATIVE);
    ck_assert_uint_eq(calls(FS_TUNER_RECHECK, OTHER, 106, 100),
                      FS_TUNER_RECHECK - 6);
    ck_assert_uint_eq(tuner.n_gone_back, 2);
}
END_TEST

/* The host's first call may have to connect: if it is slow that proves
 * nothing. */
START_TEST(the_warm_up_may_only_be_lost)
{
    calls(3, CLASS, 100, 100000);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_TRY);
    calls(21, CLASS, 100, 50);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_NATIVE);
    set_up();
    calls(8, CLASS, 100, 50);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_NATIVE);
}
END_TEST

/* Nor does our own first call, or a single call that something delayed. */
START_TEST(one_slow_call_of_ours_is_forgiven)
{
    tuner.warmed_up = true;
    call(CLASS, 100000, 0);
    call(CLASS, 100, 0);
    call(CLASS, 0, 150);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_OURS);
}
END_TEST

/* The summary, which only we need, counts as our time. */
START_TEST(the_summary_counts)
{
    tuner.warmed_up = true;
    for (int k = 0; k < 8; ++k) {
        call_of(CLASS, BOUND, 100, 20, 100);
    }
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_NATIVE);
}
END_TEST

/* Twice the bytes may take twice the time. */
START_TEST(sizes_differ)
{
    tuner.warmed_up = true;
    for (int k = 0; k < 3; ++k) {
        bool big = k == 2;

        call_of(CLASS, big ? 2 * BOUND : BOUND, 100, 0, big ? 220 : 100);
    }
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_OURS);
}
END_TEST

/* Times that no summary has told: no verdict, and not asked for ever. */
START_TEST(lost_times)
{
    for (int k = 0; k < 100; ++k) {
        call(CLASS, 0, 0);
    }
    ck_assert_uint_eq(tuner.n_probes, 3);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_OURS);
    /* Only looks are told: nothing of ours to compare with. */
    set_up();
    tuner.warmed_up = true;
    for (int k = 0; k < 100; ++k) {
        call(CLASS, 0, 1);
    }
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_OURS);
}
END_TEST

/* A question that nobody has put, and one that is answered late: the calls between
 * know nothing of it. */
START_TEST(questions_stand_alone)
{
    fs_tuner_question_t none = {FS_TUNER_OURS}, first, second;

    fs_tuner_update(&tuner, &none, 5, 5);
    ck_assert_uint_eq(fs_tuner_ours(&tuner.classes[0]), 0);
    first  = fs_tuner_next(&tuner, CLASS, BOUND);
    second = fs_tuner_next(&tuner, OTHER, BOUND);
    fs_tuner_update(&tuner, &first, 100, 0);
    ck_assert_uint_eq(fs_tuner_ours(&tuner.classes[CLASS]), 100);
    ck_assert_uint_eq(fs_tuner_ours(&tuner.classes[OTHER]), 0);
    fs_tuner_update(&tuner, &second, 200, 0);
    ck_assert_uint_eq(fs_tuner_ours(&tuner.classes[CLASS]), 100);
    ck_assert_uint_eq(fs_tuner_ours(&tuner.classes[OTHER]), 200);
}
END_TEST

/* Networks change. */
START_TEST(verdicts_are_looked_at_again)
{
    tuner.warmed_up = true;
    calls(8, CLASS, 100, 50);
    ck_assert_uint_eq(tuner.n_gone_back, 1);
    calls(FS_TUNER_RECHECK, CLASS, 100, 50);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_NATIVE);
    calls(3, CLASS, 100, 200);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_OURS);
    ck_assert_uint_eq(tuner.n_gone_back, 0);
    calls(FS_TUNER_RECHECK, CLASS, 100, 50);
    calls(8, CLASS, 100, 50);
    ck_assert_int_eq(state_of(CLASS), FS_TUNER_STATE_NATIVE);
}
END_TEST

START_TEST(extreme_times)
{
    tuner.warmed_up = true;
    for (int k = 0; k < 50; ++k) {
        call_of(FS_TUNER_CLASSES - 1, k % 2 ? 1 : UINT64_MAX, UINT64_MAX >> k,
                k % 3, UINT64_MAX >> k);
    }
    ck_assert_uint_le(tuner.n_gone_back, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tuner");
    TCase *tcase = tcase_create("tuner");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, classes_by_powers_of_two);
    tcase_add_test(tcase, few_looks_where_ours_is_faster);
    tcase_add_test(tcase, the_first_two_are_ours);
    tcase_add_test(tcase, at_most_two_looks_in_twenty);
    tcase_add_test(tcase, slower_twice_goes_back);
    tcase_add_test(tcase, slower_once_stays);
    tcase_add_test(tcase, close_is_ours);
    tcase_add_test(tcase, the_warm_up_may_only_be_lost);
    tcase_add_test(tcase, one_slow_call_of_ours_is_forgiven);
    tcase_add_test(tcase, the_summary_counts);
    tcase_add_test(tcase, sizes_differ);
    tcase_add_test(tcase, lost_times);
    tcase_add_test(tcase, questions_stand_alone);
    tcase_add_test(tcase, verdicts_are_looked_at_again);
    tcase_add_test(tcase, extreme_times);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
