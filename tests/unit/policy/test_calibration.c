/* SPDX-License-Identifier: BSD-3-Clause */
/* What times tell about the cost of a message. No clock runs here. */
#include "policy/fs_calibration.h"
#include "fs_test_util.h"

#include <string.h>

#define KIB   UINT64_C(1024)
#define MIB   (KIB * KIB)
#define GUESS (64 * KIB)

static fs_calibration_t c;
static uint64_t         alpha;

static void set_up(void)
{
    memset(&c, 0, sizeof(c));
    alpha = GUESS;
}

static bool run(uint64_t bytes, uint64_t rounds, uint64_t ns)
{
    return fs_calibration_update(&c, &(fs_timed_run_t){bytes, rounds, ns},
                                 &alpha);
}

/* As the model has it: a byte takes 2 ns. */
static uint64_t model_ns(uint64_t bytes, uint64_t rounds, uint64_t true_alpha)
{
    return 2 * (bytes + rounds * true_alpha);
}

static const uint64_t truths[] = {4 * KIB,  10 * KIB,  63 * KIB,
                                  64 * KIB, 200 * KIB, MIB};
#define N_TRUTHS ((int)(sizeof(truths) / sizeof(truths[0])))

START_TEST(finds_the_truth)
{
    uint64_t truth = truths[_i];
    bool     found = false;

    for (uint64_t k = 1; k <= FS_CALIBRATION_RUNS; ++k) {
        uint64_t few = k * 10 * KIB, many = 100 * MIB + k;

        ck_assert(!found);
        ck_assert(!run(few, 5, model_ns(few, 5, truth)));
        found = run(many, 7, model_ns(many, 7, truth));
    }
    ck_assert(found);
    ck_assert_uint_ge(alpha, truth - truth / 50);
    ck_assert_uint_le(alpha, truth + truth / 50);
    /* Once is enough. */
    for (int k = 0; k < 20; ++k) {
        ck_assert(!run(k % 2 ? KIB : 100 * MIB, 3, 1000000000));
    }
}
END_TEST

/* Whatever disturbs a run makes it slower; the quickest counts. */
START_TEST(slow_runs_do_not_count)
{
    for (uint64_t k = 0; k < FS_CALIBRATION_RUNS; ++k) {
        uint64_t slow = k == 2 ? 0 : (k + 1) * 50000000;

        run(50 * KIB, 5, model_ns(50 * KIB, 5, 100 * KIB) + slow);
        run(100 * MIB, 7, model_ns(100 * MIB, 7, 100 * KIB) + slow);
    }
    ck_assert_uint_ge(alpha, 98 * KIB);
    ck_assert_uint_le(alpha, 102 * KIB);
}
END_TEST

START_TEST(calls_that_are_alike_teach_nothing)
{
    for (int k = 0; k < 100; ++k) {
        ck_assert(!run(100 * MIB, 7, 1000000));
        ck_assert(!run(7 * GUESS * 10, 7, 1000000)); /* neither kind */
    }
    ck_assert_uint_eq(alpha, GUESS);
}
END_TEST

/* No schedule, no time. */
START_TEST(what_is_not_known)
{
    for (int k = 0; k < 20; ++k) {
        ck_assert(!run(0, 5, 1000));
        ck_assert(!run(KIB, 0, 1000));
        ck_assert(!run(k % 2 ? KIB : 100 * MIB, 5, 0));
        ck_assert(!run(0, 0, 1000));
    }
    ck_assert_uint_eq(c.n[0] + c.n[1], 0);
}
END_TEST

/* Times that fit no model: within the range, whatever they are. */
START_TEST(nonsense_stays_in_range)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 100 && !c.done; ++k) {
        uint64_t shift = fs_rng_below(&rng, 64);

        run(fs_rng_next(&rng) >> fs_rng_below(&rng, 64),
            1 + fs_rng_below(&rng, 1 << 20), fs_rng_next(&rng) >> shift);
    }
    ck_assert_uint_ge(alpha, GUESS / FS_CALIBRATION_RANGE);
    ck_assert_uint_le(alpha, GUESS * FS_CALIBRATION_RANGE);
}
END_TEST

/* A cost of nothing stays nothing: nobody measures in units of it. */
START_TEST(zero_stays_zero)
{
    alpha = 0;
    for (int k = 0; k < 20; ++k) {
        ck_assert(!run(k % 2 ? 1 : 100 * MIB, 5, 1000));
    }
    ck_assert_uint_eq(alpha, 0);
}
END_TEST

static const struct {
    fs_timed_run_t run;
    uint64_t       quarter;
} quarters[] = {
    {{6250000, 6, 1000000000}, 2048},    /* 50 Mbit/s: 1563 bytes */
    {{125000000, 6, 1000000000}, 32768}, /* 1 Gbit/s: 31250 */
    {{131072000, 6, 1000000000}, 32768}, /* just so much */
    {{300000000, 6, 1000000000}, 131072},
    {{UINT64_MAX, 1, 1}, UINT64_C(1) << 62}, /* and no overflow */
    {{6250000, 0, 1000000000}, 0},           /* not staged */
    {{0, 6, 1000000000}, 0},
    {{6250000, 6, 0}, 0},
};
#define N_QUARTERS ((int)(sizeof(quarters) / sizeof(quarters[0])))

START_TEST(quarter_of_a_millisecond)
{
    ck_assert_uint_eq(fs_calibration_quarter(&quarters[_i].run),
                      quarters[_i].quarter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calibration");
    TCase *tcase = tcase_create("calibration");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_loop_test(tcase, finds_the_truth, 0, N_TRUTHS);
    tcase_add_test(tcase, slow_runs_do_not_count);
    tcase_add_test(tcase, calls_that_are_alike_teach_nothing);
    tcase_add_test(tcase, what_is_not_known);
    tcase_add_loop_test(tcase, nonsense_stays_in_range, 0, 200);
    tcase_add_test(tcase, zero_stays_zero);
    tcase_add_loop_test(tcase, quarter_of_a_millisecond, 0, N_QUARTERS);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
