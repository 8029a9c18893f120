/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules from the one before: valid, hardly longer, and the same on all
 * ranks. */
#include "sched/decompose/fs_replan.h"

#include "fs_test_util.h"
#include "prop/schedule_check.h"
#include "sched/decompose/fs_schedule.h"
#include "sched/model/fs_pattern.h"

#include <string.h>

enum { MAX_SERVERS = 130, COST = 100000, CALLS = 8, MEAN = 1000000 };

static uint32_t    n;
static uint64_t    matrix[MAX_SERVERS * MAX_SERVERS];
static uint64_t    base[MAX_SERVERS * MAX_SERVERS];
static fs_replan_t replan, twin;

static const char *const patterns[] = {"random", "zipf:0.8",    "moe",
                                       "pencil", "lognormal:2", "sparse:9"};

static void draw(const char *name, uint32_t n_servers, uint64_t seed)
{
    uint32_t     server_of[MAX_SERVERS];
    fs_pattern_t pattern;
    char         why[256];

    n = n_servers;
    for (uint32_t i = 0; i < n; ++i) {
        server_of[i] = i;
    }
    ck_assert_int_eq(fs_pattern_parse(name, &pattern, why, sizeof(why)), FS_OK);
    ck_assert_int_eq(
        fs_pattern_fill(&pattern, n, server_of, MEAN, seed, matrix), FS_OK);
    memcpy(base, matrix, sizeof(base));
}

static void setup(void)
{
    memset(&replan, 0, sizeof(replan));
    memset(&twin, 0, sizeof(twin));
}

static void teardown(void)
{
    fs_replan_clear(&replan);
    fs_replan_clear(&twin);
}

static fs_schedule_t *update(fs_replan_t *from, uint32_t only)
{
    fs_schedule_t *s = NULL;

    ck_assert_int_eq(
        fs_schedule_update(from, FS_DECOMPOSE_AUTO, COST, n, matrix, only, &s),
        FS_OK);
    return s;
}

static uint64_t digest_of(const fs_schedule_t *s)
{
    uint64_t sum = 0;

    for (size_t k = 0; k < s->n_transfers; ++k) {
        sum += fs_transfer_digest(&s->transfers[k]);
    }
    return fs_digest_add(fs_digest_add(sum, s->total), s->n_stages);
}

/* This call's schedule; the twin is a rank of server 1. */
static fs_schedule_t *check(const char *what)
{
    fs_schedule_t *all  = update(&replan, FS_ALL_SERVERS);
    fs_schedule_t *own  = update(&twin, 1);
    const char *problem = schedule_problem(all, FS_DECOMPOSE_AUTO, n, matrix);

    problem = problem == NULL ? part_problem(own, all, 1) : problem;
    ck_assert_msg(problem == NULL, "%s, N %u: %s", what, n, problem);
    ck_assert_uint_eq(all->digest, digest_of(all));
    fs_schedule_destroy(own);
    return all;
}

/* Is it the schedule of this matrix alone? */
static bool is_new(const fs_schedule_t *s)
{
    fs_schedule_t *plain = update(NULL, FS_ALL_SERVERS);
    bool           same  = plain->digest == s->digest;

    fs_schedule_destroy(plain);
    return same;
}

/* Of the first matrix, one cell in `part` has another value: none, twice as much,
 * half, or that of another pair. */
static void change(fs_rng_t *rng, uint32_t part)
{
    memcpy(matrix, base, sizeof(matrix));
    for (uint32_t k = 0; k < n * n; ++k) {
        if (fs_rng_below(rng, part) == 0) {
            const uint64_t now[] = {0, 2 * base[k], base[k] / 2,
                                    base[fs_rng_below(rng, n * n)]};

            matrix[k] = now[fs_rng_below(rng, 4)];
        }
    }
}

/* ---- tests ---- */

/* Returns how many calls were not planned anew. */
static uint32_t check_calls(const char *pattern, uint32_t n_servers,
                            uint32_t part)
{
    fs_schedule_t *first, *s;
    fs_rng_t       rng;
    uint32_t       n_updated = 0;

    fs_rng_init(&rng, n_servers);
    draw(pattern, n_servers, 1);
    first = check(pattern);
    fs_schedule_destroy(check(pattern));
    for (uint32_t k = 0; k < CALLS; ++k) {
        change(&rng, part);
        s = check(pattern);
        if (!is_new(s)) {
            ++n_updated;
            /* 1/64, as the one that is kept may be a later one. */
            ck_assert_msg((double)s->total * (double)first->lower_bound <=
                              (double)s->lower_bound * (double)first->total *
                                  (1 + 1. / 64),
                          "%s: %llu, bound %llu", pattern,
                          (unsigned long long)s->total,
                          (unsigned long long)s->lower_bound);
        }
        fs_schedule_destroy(s);
    }
    fs_schedule_destroy(first);
    return n_updated;
}

START_TEST(few_cells_differ)
{
    static const uint32_t servers[] = {64, 65, 128, 130};

    for (uint32_t k = 0; k < 4; ++k) {
        uint32_t n_updated = check_calls(patterns[_i], servers[k], 200);

        teardown();
        setup();
        ck_assert_msg(n_updated > 0 || n < 128, "%s, N %u: never", patterns[_i],
                      n);
    }
}
END_TEST

START_TEST(many_cells_differ)
{
    ck_assert_uint_eq(check_calls("random", 64, 2), 0);
}
END_TEST

/* The first call, the second and so on, each of another matrix. */
START_TEST(unlike_matrices)
{
    for (uint64_t seed = 0; seed < CALLS; ++seed) {
        fs_schedule_t *s;

        draw("random", 100, seed);
        s = check("random");
        ck_assert(is_new(s));
        ck_assert_uint_eq(replan.kept.n, 0);
        fs_schedule_destroy(s);
    }
}
END_TEST

/* A pair without change keeps its time, the diagonal does not matter, and what
 * a pair has more is one message. */
START_TEST(one_cell_differs)
{
    fs_schedule_t *before, *after;

    draw("random", 128, 3);
    fs_schedule_destroy(check("first"));
    before = check("second");
    ck_assert(is_new(before));
    matrix[129] = 12345;
    matrix[1] += 1000;
    after = check("third");
    ck_assert(!is_new(after));
    ck_assert_uint_eq(after->n_transfers, before->n_transfers + 1);
    for (size_t k = 0, j = 0; k < before->n_transfers; ++k, ++j) {
        const fs_transfer_t *t = &before->transfers[k];

        j += after->transfers[j].bytes == 1000; /* the other message */
        ck_assert_uint_eq(after->transfers[j].start, t->start);
        ck_assert_uint_eq(after->transfers[j].src, t->src);
        ck_assert_uint_eq(after->transfers[j].bytes, t->bytes);
    }
    fs_schedule_destroy(before);
    fs_schedule_destroy(after);
}
END_TEST

START_TEST(few_servers)
{
    ck_assert_uint_eq(check_calls("random", 63, 200), 0);
    ck_assert_uint_eq(replan.n_sample, 0);
}
END_TEST

/* An error leaves nothing behind, so that ranks can start together again. */
START_TEST(sums_that_do_not_fit)
{
    fs_schedule_t *s = NULL;

    draw("random", 100, 1);
    fs_schedule_destroy(check("first"));
    fs_schedule_destroy(check("second"));
    ck_assert_uint_eq(replan.kept.n, n);
    matrix[7] = UINT64_C(1) << 62;
    ck_assert_int_eq(
        fs_schedule_update(&replan, FS_DECOMPOSE_AUTO, COST, n, matrix, 0, &s),
        FS_ERR_OVERFLOW);
    ck_assert_uint_eq(replan.kept.n, 0);
    ck_assert_ptr_null(replan.sample);
    matrix[7] = 0;
    s         = update(&replan, FS_ALL_SERVERS);
    ck_assert(is_new(s));
    fs_schedule_destroy(s);
}
END_TEST

/* Another method or another cost: a schedule that is kept is of no use. */
START_TEST(other_parameters)
{
    fs_schedule_t *s;

    draw("random", 128, 1);
    fs_schedule_destroy(check("first"));
    fs_schedule_destroy(check("second"));
    ck_assert_int_eq(fs_schedule_update(&replan, FS_DECOMPOSE_COMPACT, COST, n,
                                        matrix, FS_ALL_SERVERS, &s),
                     FS_OK);
    ck_assert_int_eq(s->decompose, FS_DECOMPOSE_COMPACT);
    ck_assert_uint_eq(replan.kept.n, 0); /* it has stages */
    fs_schedule_destroy(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replan");
    TCase *tests = tcase_create("replan");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, few_cells_differ, 0,
                        sizeof(patterns) / sizeof(patterns[0]));
    tcase_add_test(tests, many_cells_differ);
    tcase_add_test(tests, unlike_matrices);
    tcase_add_test(tests, one_cell_differs);
    tcase_add_test(tests, few_servers);
    tcase_add_test(tests, sums_that_do_not_fit);
    tcase_add_test(tests, other_parameters);
    suite_add_tcase(suite, tests);
    return fs_test_run(suite);
}
