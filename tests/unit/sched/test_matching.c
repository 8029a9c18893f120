/* SPDX-License-Identifier: BSD-3-Clause */
/* Perfect matchings: found exactly when there is one, and repaired without
 * harm when edges go. */
#include "sched/decompose/fs_matching.h"
#include "sched/model/fs_rng.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 6 };

/* Around the 64 bits of a word. */
static const uint32_t sizes[] = {1, 2, 63, 64, 65, 127, 128, 129, 130};
#define N_SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

static void init(fs_matching_t *m, uint32_t n, fs_arena_t *arena)
{
    *arena = (fs_arena_t){0};
    ck_assert(fs_matching_init(m, n, arena) == FS_OK);
}

static bool has_edge(const fs_matching_t *m, uint32_t row, uint32_t col)
{
    return m->edge[(size_t)row * m->n_words + col / 64] >> col % 64 & 1;
}

static void add_edge(fs_matching_t *m, uint32_t row, uint32_t col)
{
    m->edge[(size_t)row * m->n_words + col / 64] |= UINT64_C(1) << col % 64;
}

static void remove_edge(fs_matching_t *m, uint32_t row, uint32_t col)
{
    m->edge[(size_t)row * m->n_words + col / 64] &= ~(UINT64_C(1) << col % 64);
}

/* Partners are partners of each other, and there is an edge between them. */
static void check_valid(const fs_matching_t *m)
{
    for (uint32_t i = 0; i < m->n; ++i) {
        uint32_t col = m->col_of[i], row = m->row_of[i];

        ck_assert(col == FS_UNMATCHED || col < m->n);
        ck_assert(row == FS_UNMATCHED || row < m->n);
        ck_assert(col == FS_UNMATCHED || m->row_of[col] == i);
        ck_assert(row == FS_UNMATCHED || m->col_of[row] == i);
        ck_assert(col == FS_UNMATCHED || has_edge(m, i, col));
    }
}

static void check_perfect(const fs_matching_t *m)
{
    check_valid(m);
    for (uint32_t i = 0; i < m->n; ++i) {
        ck_assert(m->col_of[i] != FS_UNMATCHED);
    }
}

/* ---- against brute force ---- */

/* Rows as bit sets of columns. Can rows `row` to n - 1 share what is free? */
static bool exists(const uint32_t *rows, uint32_t n, uint32_t row,
                   uint32_t taken)
{
    if (row == n) {
        return true;
    }
    for (uint32_t col = 0; col < n; ++col) {
        uint32_t bit = 1u << col;

        if ((rows[row] & bit) && !(taken & bit) &&
            exists(rows, n, row + 1, taken | bit)) {
            return true;
        }
    }
    return false;
}

static void check_against_brute_force(fs_matching_t *m, const uint32_t *rows)
{
    bool perfect = fs_matching_repair(m);

    ck_assert(perfect == exists(rows, m->n, 0, 0));
    if (perfect) {
        check_perfect(m);
    } else {
        check_valid(m);
    }
}

/* A graph that loses and gains edges, one by one, until none is left. */
static void wear_down(fs_rng_t *rng, fs_matching_t *m, uint32_t *rows)
{
    for (int k = 0; k < 60; ++k) {
        uint32_t i = (uint32_t)fs_rng_below(rng, m->n);
        uint32_t j = (uint32_t)fs_rng_below(rng, m->n);

        if (fs_rng_below(rng, 5) == 0) {
            add_edge(m, i, j);
            rows[i] |= 1u << j;
        } else {
            remove_edge(m, i, j);
            rows[i] &= ~(1u << j);
        }
        check_against_brute_force(m, rows);
    }
}

START_TEST(prop_small_graphs)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 100; ++k) {
        uint32_t      n           = 1 + (uint32_t)fs_rng_below(&rng, SMALL);
        uint64_t      density     = 1 + fs_rng_below(&rng, 10);
        uint32_t      rows[SMALL] = {0};
        fs_arena_t    arena;
        fs_matching_t m;

        init(&m, n, &arena);
        for (uint32_t c = 0; c < n * n; ++c) {
            if (fs_rng_below(&rng, 10) < density) {
                add_edge(&m, c / n, c % n);
                rows[c / n] |= 1u << c % n;
            }
        }
        check_against_brute_force(&m, rows);
        wear_down(&rng, &m, rows);
        fs_arena_fini(&arena);
    }
}
END_TEST

/* ---- repair ---- */

/* Two random permutations: remove the pairs of the first, the second is left
 * to fall back on, and the repair never leaves a row out. */
START_TEST(prop_repair)
{
    uint32_t      n    = sizes[_i];
    uint32_t     *perm = malloc(n * sizeof(*perm));
    fs_arena_t    arena;
    fs_matching_t m;
    fs_rng_t      rng;

    ck_assert_ptr_nonnull(perm);
    fs_rng_init(&rng, (uint64_t)_i);
    init(&m, n, &arena);
    for (uint32_t i = 0; i < n; ++i) {
        perm[i] = i;
    }
    for (uint32_t i = n; i > 1; --i) {
        uint32_t j = (uint32_t)fs_rng_below(&rng, i), x = perm[i - 1];

        perm[i - 1] = perm[j];
        perm[j]     = x;
    }
    for (uint32_t i = 0; i < n; ++i) {
        add_edge(&m, i, i);
        add_edge(&m, i, perm[i]);
    }
    for (uint32_t i = 0; i < n; ++i) {
        ck_assert(fs_matching_repair(&m));
        check_perfect(&m);
        if (perm[i] != i) {
            remove_edge(&m, i, i);
        }
    }
    ck_assert(fs_matching_repair(&m));
    for (uint32_t i = 0; i < n; ++i) {
        ck_assert(m.col_of[i] == perm[i]);
    }
    fs_arena_fini(&arena);
    free(perm);
}
END_TEST

/* The first and the last row lose their partners and get each other's; the rows
 * in between never notice. */
START_TEST(repair_is_local)
{
    uint32_t      n = sizes[_i];
    fs_arena_t    arena;
    fs_matching_t m;

    init(&m, n, &arena);
    for (uint32_t i = 0; i < n; ++i) {
        add_edge(&m, i, i);
    }
    ck_assert(fs_matching_repair(&m));
    if (n >= 2) {
        add_edge(&m, 0, n - 1);
        add_edge(&m, n - 1, 0);
        remove_edge(&m, 0, 0);
        remove_edge(&m, n - 1, n - 1);
        ck_assert(fs_matching_repair(&m));
        check_perfect(&m);
        ck_assert_uint_eq(m.col_of[0], n - 1);
        ck_assert_uint_eq(m.col_of[n - 1], 0);
    }
    for (uint32_t i = 1; i + 1 < n; ++i) {
        ck_assert(m.col_of[i] == i);
    }
    fs_arena_fini(&arena);
}
END_TEST

START_TEST(removing_what_is_not_there)
{
    fs_arena_t    arena;
    fs_matching_t m;

    init(&m, 3, &arena);
    add_edge(&m, 0, 0);
    add_edge(&m, 1, 1);
    add_edge(&m, 2, 2);
    add_edge(&m, 2, 0);
    ck_assert(fs_matching_repair(&m));
    remove_edge(&m, 0, 1); /* never was an edge */
    remove_edge(&m, 2, 0); /* an edge, but not partners */
    check_perfect(&m);
    fs_arena_fini(&arena);
}
END_TEST

/* ---- sizes around a word ---- */

START_TEST(only_one_permutation)
{
    uint32_t      n = sizes[_i];
    fs_arena_t    arena;
    fs_matching_t m;

    init(&m, n, &arena);
    for (uint32_t i = 0; i < n; ++i) {
        add_edge(&m, i, n - 1 - i);
    }
    ck_assert(fs_matching_repair(&m));
    for (uint32_t i = 0; i < n; ++i) {
        ck_assert(m.col_of[i] == n - 1 - i);
    }
    fs_arena_fini(&arena);
}
END_TEST

/* Rows take their lower column; the last row has only column 0, so every row
 * has to move up: the longest augmenting path there is. */
START_TEST(longest_path)
{
    uint32_t      n = sizes[_i];
    fs_arena_t    arena;
    fs_matching_t m;

    init(&m, n, &arena);
    for (uint32_t i = 0; i + 1 < n; ++i) {
        add_edge(&m, i, i);
        add_edge(&m, i, i + 1);
    }
    add_edge(&m, n - 1, 0);
    ck_assert(fs_matching_repair(&m));
    check_perfect(&m);
    for (uint32_t i = 0; i < n; ++i) {
        ck_assert(m.col_of[i] == (i + 1) % n);
    }
    fs_arena_fini(&arena);
}
END_TEST

START_TEST(all_edges)
{
    uint32_t      n = sizes[_i];
    fs_arena_t    arena;
    fs_matching_t m;

    init(&m, n, &arena);
    for (uint32_t c = 0; c < n * n; ++c) {
        add_edge(&m, c / n, c % n);
    }
    ck_assert(fs_matching_repair(&m));
    check_perfect(&m);
    fs_arena_fini(&arena);
}
END_TEST

/* ---- Hall's condition ---- */

/* The last k rows see k - 1 columns together: no perfect matching; one more
 * column, and there is one. */
static void check_hall(uint32_t n, uint32_t k)
{
    fs_arena_t    arena;
    fs_matching_t m;

    init(&m, n, &arena);
    for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = 0; j < n; ++j) {
            if (i < n - k || j < k - 1) {
                add_edge(&m, i, j);
            }
        }
    }
    ck_assert(!fs_matching_repair(&m));
    check_valid(&m);
    ck_assert(!fs_matching_repair(&m)); /* asking again changes nothing */
    check_valid(&m);
    add_edge(&m, n - 1, k - 1);
    ck_assert(fs_matching_repair(&m));
    check_perfect(&m);
    fs_arena_fini(&arena);
}

START_TEST(too_few_columns)
{
    uint32_t n = sizes[_i];

    for (uint32_t k = 1; k <= n; k += 1 + n / 10) {
        check_hall(n, k);
    }
    check_hall(n, n);
}
END_TEST

/* A column that nobody sees. */
START_TEST(lonely_column)
{
    uint32_t      n = sizes[_i];
    fs_arena_t    arena;
    fs_matching_t m;

    init(&m, n, &arena);
    ck_assert(!fs_matching_repair(&m)); /* no edges at all */
    for (uint32_t c = 0; c < n * n; ++c) {
        if (c % n != n - 1) {
            add_edge(&m, c / n, c % n);
        }
    }
    ck_assert(!fs_matching_repair(&m));
    check_valid(&m);
    fs_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("matching");
    TCase *tcase = tcase_create("matching");

    tcase_add_loop_test(tcase, prop_small_graphs, 0, 20);
    tcase_add_loop_test(tcase, prop_repair, 0, N_SIZES);
    tcase_add_loop_test(tcase, repair_is_local, 0, N_SIZES);
    tcase_add_test(tcase, removing_what_is_not_there);
    tcase_add_loop_test(tcase, only_one_permutation, 0, N_SIZES);
    tcase_add_loop_test(tcase, longest_path, 0, N_SIZES);
    tcase_add_loop_test(tcase, all_edges, 0, N_SIZES);
    tcase_add_loop_test(tcase, too_few_columns, 0, N_SIZES);
    tcase_add_loop_test(tcase, lonely_column, 0, N_SIZES);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
