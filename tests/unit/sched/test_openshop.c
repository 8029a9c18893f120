/* SPDX-License-Identifier: BSD-3-Clause */
/* Open-shop schedules of matrices that leave nobody time to lose: rows and
 * columns all have one sum, and pairs differ. */
#include "fastsched.h"
#include "fs_test_util.h"
#include "prop/schedule_check.h"

#include <string.h>

enum { MAX_SERVERS = 64, ROUNDS = 3, WEIGHTS = 4 };

static uint32_t n;
static uint64_t matrix[MAX_SERVERS * MAX_SERVERS];

static fs_schedule_t *schedule(void)
{
    fs_schedule_t *s = NULL;
    const char    *problem;

    ck_assert_int_eq(fs_schedule_create(FS_DECOMPOSE_OPENSHOP, 0, n, matrix,
                                        FS_ALL_SERVERS, &s),
                     FS_OK);
    problem = schedule_problem(s, FS_DECOMPOSE_OPENSHOP, n, matrix);
    ck_assert_msg(problem == NULL, "N %u: %s", n, problem);
    return s;
}

static void check_close(const char *what, uint64_t seed)
{
    fs_schedule_t *s = schedule();

    ck_assert_msg(within(s, 105), "%s, seed %llu, N %u: bound %llu, total %llu",
                  what, (unsigned long long)seed, n,
                  (unsigned long long)s->lower_bound,
                  (unsigned long long)s->total);
    fs_schedule_destroy(s);
}

/* ---- matrices ---- */

/* Nobody sends to itself. */
static void draw_permutation(fs_rng_t *rng, uint32_t *to)
{
    bool again = true;

    while (again) {
        again = false;
        for (uint32_t i = 0; i < n; ++i) {
            uint32_t k = (uint32_t)fs_rng_below(rng, i + 1);

            to[i] = to[k];
            to[k] = i;
        }
        for (uint32_t i = 0; i < n; ++i) {
            again = again || to[i] == i;
        }
    }
}

static uint64_t draw_weight(fs_rng_t *rng, uint32_t kind)
{
    static const uint64_t most[WEIGHTS] = {1, 10, 1000000, 0};

    return 1 + fs_rng_below(rng, kind + 1 < WEIGHTS
                                     ? most[kind]
                                     : UINT64_C(2) << fs_rng_below(rng, 24));
}

static void sum_permutations(fs_rng_t *rng, uint32_t count, uint32_t weights)
{
    uint32_t to[MAX_SERVERS];

    memset(matrix, 0, sizeof(matrix));
    for (uint32_t k = 0; k < count; ++k) {
        uint64_t bytes = draw_weight(rng, weights);

        draw_permutation(rng, to);
        for (uint32_t i = 0; i < n; ++i) {
            matrix[i * n + to[i]] += bytes;
        }
    }
}

static uint64_t line_sum(uint32_t i, uint32_t step, uint32_t stride)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < n; ++k) {
        sum += matrix[i * stride + k * step];
    }
    return sum;
}

/* Raise pairs until all lines have the sum of the busiest. */
static void equal_lines(void)
{
    uint64_t bound = 0;

    for (uint32_t i = 0; i < n; ++i) {
        bound = fs_u64_max(bound, line_sum(i, 1, n));
        bound = fs_u64_max(bound, line_sum(i, n, 1));
    }
    for (uint32_t d = 1; d < n; ++d) {
        for (uint32_t i = 0; i < n; ++i) {
            uint32_t j = (i + d) % n;

            matrix[i * n + j] += fs_u64_min(bound - line_sum(i, 1, n),
                                            bound - line_sum(j, n, 1));
        }
    }
}

/* A sixth of the pairs, or sizes that differ by millions. */
static void draw_sparse(fs_rng_t *rng, bool sparse)
{
    for (uint32_t k = 0; k < n * n; ++k) {
        uint64_t skewed = UINT64_C(1) << fs_rng_below(rng, 25);
        bool     rare   = fs_rng_below(rng, 6) == 0;

        matrix[k] = sparse ? rare * fs_rng_below(rng, 4000000) : skewed;
        matrix[k] = k % (n + 1) == 0 ? 0 : matrix[k];
    }
}

/* ---- properties ---- */

/* Few permutations and many, equal weights and skewed ones. */
START_TEST(sums_of_permutations)
{
    const uint32_t counts[] = {2, (uint32_t)_i / 2 + 1, (uint32_t)_i,
                               2 * (uint32_t)_i, 3 * (uint32_t)_i};
    fs_rng_t       rng;

    n = (uint32_t)_i;
    fs_rng_init(&rng, n);
    for (uint32_t c = 0; c < 5; ++c) {
        for (uint32_t weights = 0; weights < WEIGHTS; ++weights) {
            for (uint32_t k = 0; k < (n < 32 ? ROUNDS : 1); ++k) {
                sum_permutations(&rng, counts[c], weights);
                check_close("permutations", n);
            }
        }
    }
}
END_TEST

START_TEST(sparse_and_skewed)
{
    fs_rng_t rng;

    n = (uint32_t)_i;
    fs_rng_init(&rng, 1000 + n);
    for (uint32_t k = 0; k < 2 * ROUNDS; ++k) {
        draw_sparse(&rng, k % 2 == 0);
        equal_lines();
        check_close("equal lines", n);
    }
}
END_TEST

/* Every matrix of three servers with pairs of 0 to 3. */
START_TEST(three_servers)
{
    n = 3;
    for (uint32_t code = 0; code < 1 << 12; ++code) {
        for (uint32_t k = 0, rest = code; k < 9; ++k) {
            matrix[k] = k % 4 == 0 ? 0 : 100 * (rest & 3);
            rest >>= k % 4 == 0 ? 0 : 2;
        }
        check_close("code", code);
    }
}
END_TEST

static void draw_sums_of_64(fs_rng_t *rng)
{
    for (uint32_t k = 0; k < n * n; ++k) {
        matrix[k] = 0;
        for (uint32_t m = 0; m < 64; ++m) {
            matrix[k] += fs_rng_below(rng, 2000001);
        }
    }
    for (uint32_t i = 0; i < n; ++i) {
        matrix[i * (n + 1)] = 0;
    }
}

/* Sums of 64 messages are nearly equal, and a rotation from some distance is
 * fair: no pair is cut. */
START_TEST(another_turn)
{
    fs_rng_t rng;

    n = 40 + (uint32_t)_i;
    fs_rng_init(&rng, 2000 + n);
    for (uint32_t k = 0; k < 2 * ROUNDS; ++k) {
        fs_schedule_t *s;

        draw_sums_of_64(&rng);
        s = schedule();
        ck_assert(within(s, 105));
        ck_assert_uint_eq(most_parts(s), 1);
        fs_schedule_destroy(s);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("openshop");
    TCase *tcase = tcase_create("equal lines");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, sums_of_permutations, 2, MAX_SERVERS + 1);
    tcase_add_loop_test(tcase, sparse_and_skewed, 2, MAX_SERVERS + 1);
    tcase_add_test(tcase, three_servers);
    tcase_add_loop_test(tcase, another_turn, 0, 24);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
