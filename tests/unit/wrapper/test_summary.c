/* SPDX-License-Identifier: BSD-3-Clause */
/* The last lines of a job, from known sums. */
#include "wrapper/fs_summary.h"

#include "comm/fs_comm.h"
#include "fs_test_util.h"
#include "sched/model/fs_topo.h"

#include <stdio.h>
#include <string.h>

#define MS(_ms) ((uint64_t)(_ms)*1000000)

enum { N_RANKS = 4 };

static char         said[4096];
static fs_summary_t summary;
static fs_comm_t    ours;
static uint64_t     n_last[N_RANKS];

static void say(const char *line)
{
    size_t used = strlen(said);

    snprintf(said + used, sizeof(said) - used, "%s\n", line);
}

/* Two servers of two ranks and two NICs each. */
static void set_up(void)
{
    const uint32_t labels[N_RANKS] = {0, 0, 1, 1};

    memset(&summary, 0, sizeof(summary));
    memset(&ours, 0, sizeof(ours));
    memset(n_last, 0, sizeof(n_last));
    said[0]               = '\0';
    ours.params.tuner     = 1;
    ours.params.algorithm = FS_ALGORITHM_AUTO;
    ck_assert_int_eq(fs_topo_create(N_RANKS, labels, 2, &ours.topo), FS_OK);
    ck_assert_int_eq(fs_account_init(&ours.account, 2), FS_OK);
    ours.entries = (fs_entries_t){.n_ranks = N_RANKS, .n_last = n_last};
}

static void tear_down(void)
{
    fs_account_fini(&ours.account);
    fs_topo_destroy(ours.topo);
}

static void call(fs_alg_t alg, const char *reason, uint64_t ms)
{
    const fs_outcome_t outcome = {.entered_ns = 5,
                                  .choice     = {alg, false, reason},
                                  .traffic    = {.inter_bytes = 400},
                                  .bound      = 150,
                                  .line       = 3};

    fs_comm_count(&ours, &outcome, 5 + MS(ms));
}

static void entries(uint64_t apart_ms, uint32_t last)
{
    fs_entries_add(&ours.entries, MS(apart_ms) + 1, fs_entries_word(1, last));
}

static void all_is_said(void)
{
    fs_summary_add(&summary, &ours, "A");
    fs_summary_say(&summary, say);
}

static void ck_said(const char *line)
{
    ck_assert_msg(strstr(said, line) != NULL, "no \"%s\" in:\n%s", line, said);
}

static void ck_silent(const char *words)
{
    ck_assert_msg(strstr(said, words) == NULL, "\"%s\" in:\n%s", words, said);
}

START_TEST(nothing_is_known)
{
    fs_summary_say(&summary, say);
    ck_assert_str_eq(said, "");
}
END_TEST

/* 150 of 400 / 4 bytes per NIC: one and a half times the mean. */
START_TEST(times_and_the_busiest_server)
{
    call(FS_ALG_STAGED, "skewed", 1000);
    call(FS_ALG_NATIVE, "below min_bytes", 500);
    call(FS_ALG_NATIVE, "too many bytes", 125);
    call(FS_ALG_NATIVE, "below min_bytes", 125);
    all_is_said();
    ck_assert_str_eq(
        said,
        "summary: time in blocking calls on this rank 1.750000 s: the MPI's "
        "own algorithm 0.750000 s, staged 1.000000 s\n"
        "summary: left to the MPI: 3 calls, most often (2) because: below "
        "min_bytes\n"
        "summary: gain over the MPI's own algorithm: not measured, because "
        "the tuner has not timed both\n"
        "summary: busiest server of A: 1, that of rank 2, by what it receives, "
        "in 4 of 4 calls; the busiest NICs have 1.50 times the mean\n");
}
END_TEST

START_TEST(a_late_rank)
{
    call(FS_ALG_STAGED, "skewed", 1000);
    entries(500, 3);
    entries(400, 3);
    entries(300, 1);
    all_is_said();
    ck_said("summary: ranks of A enter a call 0.400000 s apart, at most "
            "0.500000 s; last most often: rank 3 (2 of 3 calls)\n");
    ck_said("summary: advice: rank 3 of A keeps the others waiting, 0.400000 s "
            "a call: give it less work");
}
END_TEST

START_TEST(late_ranks)
{
    call(FS_ALG_STAGED, "skewed", 1000);
    entries(500, 3);
    entries(400, 2);
    all_is_said();
    ck_said("summary: advice: ranks of A wait for others that come later");
}
END_TEST

START_TEST(ranks_that_come_together_are_no_advice)
{
    call(FS_ALG_STAGED, "skewed", 1000);
    entries(100, 3);
    entries(100, 3);
    all_is_said();
    ck_said("last most often: rank 3");
    ck_silent("advice");
}
END_TEST

/* A class of two calls of 1 MiB per lane, and one of which the MPI's own time is not
 * known. */
static void tune(uint64_t native_ms, uint64_t staged_ms)
{
    const fs_tuner_question_t asked[] = {
        {FS_TUNER_PROBE, FS_CANDIDATE_NATIVE, 1, 1 << 20, false, true},
        {FS_TUNER_FOUND, FS_CANDIDATE_STAGED, 1, 1 << 20, false, true},
        {FS_TUNER_FOUND, FS_CANDIDATE_STAGED, 2, 1 << 20, false, true}};
    const uint64_t none[FS_N_CANDIDATES] = {0};

    fs_tuner_seed(&ours.tuner, 1, FS_CANDIDATE_STAGED, none);
    fs_tuner_seed(&ours.tuner, 2, FS_CANDIDATE_STAGED, none);
    fs_tuner_update(&ours.tuner, &asked[0], MS(native_ms));
    fs_tuner_update(&ours.tuner, &asked[1], MS(staged_ms));
    fs_tuner_update(&ours.tuner, &asked[2], MS(staged_ms));
}

START_TEST(a_gain)
{
    call(FS_ALG_STAGED, "skewed", 1000);
    tune(300, 100);
    all_is_said();
    ck_said("summary: gain over the MPI's own algorithm: 2 calls took 0.400000 "
            "s, all by its own they would have taken about 0.600000 s (1.50x); "
            "1 other calls: not measured\n");
    ck_silent("advice");
}
END_TEST

START_TEST(no_gain)
{
    call(FS_ALG_STAGED, "skewed", 1000);
    tune(100, 100);
    all_is_said();
    ck_said("(1.00x)");
    ck_said("summary: advice: fast gains little or nothing in these calls");
}
END_TEST

START_TEST(a_forced_algorithm)
{
    static char exec; /* only whether there is one counts */

    ours.exec             = (void *)&exec;
    ours.params.algorithm = FS_ALG_STAGED;
    call(FS_ALG_STAGED, "forced by parameter", 1000);
    all_is_said();
    ck_said("summary: advice: with algorithm auto and tuner 1");
}
END_TEST

/* Times, gains and reasons add up; the lines about one communicator are of the one
 * with the most time. */
START_TEST(several_communicators)
{
    call(FS_ALG_NATIVE, "below min_bytes", 100);
    tune(300, 100);
    fs_summary_add(&summary, &ours, "A");
    fs_summary_add(&summary, &ours, "B");
    call(FS_ALG_STAGED, "skewed", 1000);
    fs_summary_add(&summary, &ours, "C");
    fs_summary_say(&summary, say);
    ck_said("rank 1.300000 s: the MPI's own algorithm 0.300000 s, staged "
            "1.000000 s\n");
    ck_said(
        "left to the MPI: 3 calls, most often (3) because: below min_bytes\n");
    ck_said("6 calls took 1.200000 s, all by its own they would have taken "
            "about 1.800000 s");
    ck_said("busiest server of C: 1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("summary");
    TCase *tcase = tcase_create("summary");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, nothing_is_known);
    tcase_add_test(tcase, times_and_the_busiest_server);
    tcase_add_test(tcase, a_late_rank);
    tcase_add_test(tcase, late_ranks);
    tcase_add_test(tcase, ranks_that_come_together_are_no_advice);
    tcase_add_test(tcase, a_gain);
    tcase_add_test(tcase, no_gain);
    tcase_add_test(tcase, a_forced_algorithm);
    tcase_add_test(tcase, several_communicators);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
