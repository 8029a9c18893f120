/* SPDX-License-Identifier: BSD-3-Clause */
/* Any server matrix, any method: what every schedule must be, and what each
 * method promises. */
#include "fastsched.h"
#include "sched/model/fs_pattern.h"
#include "fs_test_util.h"
#include "sched/papers/fs_papers.h"
#include "schedule_check.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST (UINT64_C(1) << 62)

enum {
    MAX_SERVERS = 64,
    BATCH       = 25, /* cases of one test: a process each would take longer */
};

typedef enum shape {
    UNIFORM,
    ZIPF,
    LOGNORMAL,
    HOTSPOT,
    SPARSE,
    ZERO_LINES,
    ONE_PAIR,
    EQUAL,
    TINY,
    ONE_HOT_LINE, /* a row or column that is all there is, but for dust */
    SHIFTED,      /* a few whole diagonals */
    EQUAL_LINES,  /* all rows and columns have one sum: nobody may idle */
    HUGE_SUMS,    /* likewise, the largest sum that is allowed */
    EMPTY,
    SHAPES
} shape_t;

typedef struct matrix {
    fs_rng_t rng;
    uint64_t seed;
    shape_t  shape;
    uint32_t n;
    uint64_t bytes[MAX_SERVERS * MAX_SERVERS];
} matrix_t;

static uint64_t *cell(matrix_t *m, uint32_t i, uint32_t j)
{
    return &m->bytes[(size_t)i * m->n + j];
}

/* ---- cases ---- */

static void fill_pattern(matrix_t *m, const char *text, uint64_t mean)
{
    fs_pattern_t pattern;
    char         why[200];

    ck_assert_int_eq(fs_pattern_parse(text, &pattern, why, sizeof(why)), FS_OK);
    ck_assert_int_eq(
        fs_pattern_fill(&pattern, m->n, NULL, mean, m->seed, m->bytes), FS_OK);
}

static void fill_cells(matrix_t *m, uint64_t mean)
{
    for (uint32_t k = 0; k < m->n * m->n; ++k) {
        bool rare = fs_rng_below(&m->rng, 6) == 0;

        switch (m->shape) {
        case EQUAL:
            m->bytes[k] = mean;
            break;
        case TINY:
            m->bytes[k] = fs_rng_below(&m->rng, 3);
            break;
        case SPARSE:
            m->bytes[k] = rare ? fs_rng_below(&m->rng, 4 * mean) : 0;
            break;
        case ONE_HOT_LINE:
            m->bytes[k] = fs_rng_below(&m->rng, 2);
            break;
        default:
            m->bytes[k] = fs_rng_below(&m->rng, 2 * mean + 1);
            break;
        }
    }
}

static void zero_lines(matrix_t *m)
{
    for (uint32_t i = 0; i < m->n; ++i) {
        bool row = fs_rng_below(&m->rng, 3) == 0;
        bool col = fs_rng_below(&m->rng, 3) == 0;

        for (uint32_t j = 0; j < m->n; ++j) {
            *cell(m, i, j) = row ? 0 : *cell(m, i, j);
            *cell(m, j, i) = col ? 0 : *cell(m, j, i);
        }
    }
}

static void hot_line(matrix_t *m, uint64_t mean)
{
    uint32_t hot  = (uint32_t)fs_rng_below(&m->rng, m->n);
    bool     sent = fs_rng_below(&m->rng, 2) == 0;

    for (uint32_t j = 0; j < m->n; ++j) {
        *(sent ? cell(m, hot, j) : cell(m, j, hot)) =
            fs_rng_below(&m->rng, 9 * mean);
    }
}

static void shifted(matrix_t *m, uint64_t mean)
{
    memset(m->bytes, 0, sizeof(m->bytes));
    for (uint64_t k = 0; k < 3; ++k) {
        uint32_t d = (uint32_t)fs_rng_below(&m->rng, m->n);

        for (uint32_t i = 0; i < m->n; ++i) {
            *cell(m, i, (i + d) % m->n) += (k + 1) * mean;
        }
    }
}

static uint64_t line_sum(const matrix_t *m, uint32_t i, bool row)
{
    uint64_t sum = 0;

    for (uint32_t j = 0; j < m->n; ++j) {
        size_t at = row ? (size_t)i * m->n + j : (size_t)j * m->n + i;

        sum += j == i ? 0 : m->bytes[at];
    }
    return sum;
}

static uint64_t bound_of(const matrix_t *m)
{
    uint64_t bound = 0;

    for (uint32_t i = 0; i < m->n; ++i) {
        bound = fs_u64_max(bound, line_sum(m, i, true));
        bound = fs_u64_max(bound, line_sum(m, i, false));
    }
    return bound;
}

/* Raise pairs until all lines have the sum of the busiest. */
static void equal_lines(matrix_t *m)
{
    uint64_t bound = bound_of(m);

    for (uint32_t d = 1; d < m->n; ++d) {
        for (uint32_t i = 0; i < m->n; ++i) {
            uint32_t j = (i + d) % m->n;

            *cell(m, i, j) += fs_u64_min(bound - line_sum(m, i, true),
                                         bound - line_sum(m, j, false));
        }
    }
}

/* Scale so that the busiest line has the largest sum that is planned. */
static void make_huge(matrix_t *m)
{
    uint64_t bound = fs_u64_max(1, bound_of(m)), factor = LARGEST / bound;
    uint64_t rest = LARGEST - bound * factor;

    for (uint32_t k = 0; k < m->n * m->n; ++k) {
        m->bytes[k] *= factor;
    }
    equal_lines(m);
    for (uint32_t i = 0; m->n > 1 && i < m->n; ++i) {
        *cell(m, i, (i + 1) % m->n) += rest;
    }
}

/* Bytes per lane of tiles between servers with unlike numbers of lanes. */
static void over_lanes(matrix_t *m)
{
    uint64_t lanes[MAX_SERVERS];

    for (uint32_t i = 0; i < m->n; ++i) {
        lanes[i] = 1 + fs_rng_below(&m->rng, 8);
    }
    for (uint32_t i = 0; i < m->n; ++i) {
        for (uint32_t j = 0; j < m->n; ++j) {
            *cell(m, i, j) =
                fs_u64_div_up(*cell(m, i, j), fs_u64_min(lanes[i], lanes[j]));
        }
    }
}

static void matrix_init(matrix_t *m, uint64_t seed)
{
    static const uint64_t means[] = {1, 5, 100, 4096, 1000003, 1ull << 30};
    uint64_t              mean;

    memset(m, 0, sizeof(*m));
    fs_rng_init(&m->rng, seed);
    m->seed  = seed;
    m->shape = (shape_t)(seed % SHAPES);
    m->n     = 1 + (uint32_t)fs_rng_below(
                       &m->rng, fs_rng_below(&m->rng, 3) == 0 ? MAX_SERVERS : 12);
    mean = means[fs_rng_below(&m->rng, 6)];
    switch (m->shape) {
    case ZIPF:
        fill_pattern(m, seed % 2 == 0 ? "zipf:0.8" : "zipf:1.2", mean);
        break;
    case LOGNORMAL:
        fill_pattern(m, "lognormal:1.5", mean);
        break;
    case HOTSPOT:
        fill_pattern(m, "hotspot:2", mean);
        break;
    case ONE_PAIR:
        m->bytes[fs_rng_below(&m->rng, (uint64_t)m->n * m->n)] = mean;
        break;
    case EMPTY:
        break;
    default:
        fill_cells(m, mean);
        break;
    }
    if (m->shape == ZERO_LINES) {
        zero_lines(m);
    } else if (m->shape == ONE_HOT_LINE) {
        hot_line(m, mean);
    } else if (m->shape == SHIFTED) {
        shifted(m, mean);
    }
    if (fs_rng_below(&m->rng, 3) == 0) {
        over_lanes(m);
    }
    if (m->shape == EQUAL_LINES) {
        equal_lines(m);
    } else if (m->shape == HUGE_SUMS) {
        make_huge(m);
    }
}

/* ---- properties ---- */

static fs_schedule_t *schedule_of(const matrix_t *m, fs_decompose_t how,
                                  uint32_t only)
{
    fs_schedule_t *s = NULL;

    ck_assert_int_eq(fs_schedule_create(how, 100000, m->n, m->bytes, only, &s),
                     FS_OK);
    return s;
}

static void claim(const matrix_t *m, const fs_schedule_t *s,
                  const char *problem)
{
    ck_assert_msg(
        problem == NULL,
        "seed %llu, shape %d, N %u, %s: bound %llu, total %llu, "
        "%u stages, %zu transfers: %s",
        (unsigned long long)m->seed, (int)m->shape, m->n,
        fs_decompose_name(s->decompose), (unsigned long long)s->lower_bound,
        (unsigned long long)s->total, s->n_stages, s->n_transfers, problem);
}

START_TEST(prop_schedules)
{
    static matrix_t m;

    for (uint64_t k = 0; k < BATCH; ++k) {
        matrix_init(&m, (uint64_t)_i * BATCH + k);
        for (int how = 0; how < FS_N_ALL_DECOMPOSITIONS; ++how) {
            uint32_t       only = (uint32_t)fs_rng_below(&m.rng, m.n);
            fs_schedule_t *all, *part;

            if (how == FS_DECOMPOSE_SPREADOUT && m.shape == HUGE_SUMS) {
                continue; /* the diagonals may pass 2^64 */
            }
            all  = schedule_of(&m, (fs_decompose_t)how, FS_ALL_SERVERS);
            part = schedule_of(&m, (fs_decompose_t)how, only);

            claim(&m, all,
                  schedule_problem(all, (fs_decompose_t)how, m.n, m.bytes));
            claim(&m, part, part_problem(part, all, only));
            fs_schedule_destroy(all);
            fs_schedule_destroy(part);
        }
    }
}
END_TEST

/* The same bytes again, the same digest; one byte more, another. */
START_TEST(prop_digests)
{
    static matrix_t m;

    for (uint64_t k = 0; k < BATCH; ++k) {
        matrix_init(&m, 100000 + (uint64_t)_i * BATCH + k);
        if (m.n == 1 || m.shape == HUGE_SUMS) {
            continue;
        }
        for (int how = 0; how < FS_N_ALL_DECOMPOSITIONS; ++how) {
            fs_schedule_t *a, *b, *c;
            uint32_t       i = (uint32_t)fs_rng_below(&m.rng, m.n);

            a = schedule_of(&m, (fs_decompose_t)how, FS_ALL_SERVERS);
            b = schedule_of(&m, (fs_decompose_t)how, FS_ALL_SERVERS);
            ++*cell(&m, i, (i + 1) % m.n);
            c = schedule_of(&m, (fs_decompose_t)how, FS_ALL_SERVERS);
            --*cell(&m, i, (i + 1) % m.n);
            *cell(&m, i, i) += 9; /* of no concern to the slow network */
            claim(&m, a,
                  a->digest == b->digest && a->n_transfers == b->n_transfers &&
                          memcmp(a->transfers, b->transfers,
                                 a->n_transfers * sizeof(*a->transfers)) == 0
                      ? NULL
                      : "made again, it is another");
            claim(&m, a, a->digest != c->digest ? NULL : "a byte is no matter");
            fs_schedule_destroy(b);
            b = schedule_of(&m, (fs_decompose_t)how, FS_ALL_SERVERS);
            claim(&m, a, a->digest == b->digest ? NULL : "the diagonal");
            fs_schedule_destroy(a);
            fs_schedule_destroy(b);
            fs_schedule_destroy(c);
        }
    }
}
END_TEST

/* Large random and skewed matrices. */
START_TEST(prop_openshop_is_close)
{
    static const char *patterns[] = {"random", "zipf:0.4", "zipf:0.8",
                                     "zipf:1.2"};
    static matrix_t    m;
    fs_schedule_t     *s;

    memset(&m, 0, sizeof(m));
    m.seed = (uint64_t)_i;
    m.n    = 40 + (uint32_t)_i % 25;
    fill_pattern(&m, patterns[_i % 4], 1000000);
    s = schedule_of(&m, FS_DECOMPOSE_OPENSHOP, FS_ALL_SERVERS);
    claim(&m, s, within(s, 105) ? NULL : "more than 5% above the bound");
    claim(&m, s, most_parts(s) == 1 ? NULL : "pairs are cut");
    fs_schedule_destroy(s);
}
END_TEST

/* At any N, with at most four messages per pair. */
START_TEST(prop_openshop_cuts_where_it_pays)
{
    static const char *patterns[] = {"random", "zipf:0.4", "zipf:0.8",
                                     "lognormal:1"};
    static matrix_t    m;
    fs_schedule_t     *s;

    memset(&m, 0, sizeof(m));
    m.seed = (uint64_t)_i;
    m.n    = 2 + (uint32_t)_i % 40;
    fill_pattern(&m, patterns[_i % 4], 1000000);
    s = schedule_of(&m, FS_DECOMPOSE_OPENSHOP, FS_ALL_SERVERS);
    claim(&m, s, within(s, 105) ? NULL : "more than 5% above the bound");
    claim(&m, s, most_parts(s) <= 4 ? NULL : "cut into more than 4");
    fs_schedule_destroy(s);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(sums_past_the_limit)
{
    static const uint64_t large[] = {LARGEST + 1, UINT64_C(1) << 63,
                                     UINT64_MAX};
    static matrix_t       m;

    for (uint64_t k = 0; k < BATCH; ++k) {
        uint32_t i, j;

        matrix_init(&m, 200000 + (uint64_t)_i * BATCH + k);
        if (m.n < 3) {
            continue;
        }
        i = (uint32_t)fs_rng_below(&m.rng, m.n);
        j = (i + 1 + (uint32_t)fs_rng_below(&m.rng, m.n - 1)) % m.n;
        for (int how = 0; how < FS_N_ALL_DECOMPOSITIONS; ++how) {
            fs_schedule_t *s    = NULL;
            uint64_t       kept = *cell(&m, i, j), other;
            uint32_t r = (j + 1) % m.n == i ? (j + 2) % m.n : (j + 1) % m.n;

            for (int x = 0; x < 3; ++x) {
                *cell(&m, i, j) = large[x];
                ck_assert_int_eq(fs_schedule_create((fs_decompose_t)how, 0, m.n,
                                                    m.bytes, FS_ALL_SERVERS,
                                                    &s),
                                 FS_ERR_OVERFLOW);
            }
            /* Two that are allowed, one row: together they are not. */
            other           = *cell(&m, i, r);
            *cell(&m, i, j) = LARGEST;
            *cell(&m, i, r) = fs_u64_max(1, other);
            ck_assert_int_eq(
                fs_schedule_create((fs_decompose_t)how, 0, m.n, m.bytes, i, &s),
                FS_ERR_OVERFLOW);
            ck_assert_ptr_null(s);
            *cell(&m, i, r) = other;
            *cell(&m, i, j) = kept;
        }
    }
}
END_TEST

START_TEST(nonsense_is_refused)
{
    const uint64_t bytes[1] = {5};
    fs_schedule_t *s        = NULL;

    ck_assert_int_eq(fs_schedule_create((fs_decompose_t)FS_N_ALL_DECOMPOSITIONS,
                                        0, 1, bytes, FS_ALL_SERVERS, &s),
                     FS_ERR_INVAL);
    ck_assert_int_eq(
        fs_schedule_create(FS_DECOMPOSE_AUTO, 0, 0, bytes, FS_ALL_SERVERS, &s),
        FS_ERR_INVAL);
    ck_assert_ptr_null(s);
    ck_assert_str_eq(fs_decompose_name((fs_decompose_t)FS_N_ALL_DECOMPOSITIONS),
                     "unknown");
    fs_schedule_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prop_schedule");
    TCase *tcase = tcase_create("prop_schedule");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, prop_schedules, 0, 100);
    tcase_add_loop_test(tcase, prop_digests, 0, 20);
    tcase_add_loop_test(tcase, prop_openshop_is_close, 0, 50);
    tcase_add_loop_test(tcase, prop_openshop_cuts_where_it_pays, 0, 160);
    tcase_add_loop_test(tcase, sums_past_the_limit, 0, 4);
    tcase_add_test(tcase, nonsense_is_refused);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
