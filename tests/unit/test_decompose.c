/* SPDX-License-Identifier: BSD-3-Clause */
/* The server matrix becomes stages that carry all of it, no two at one server
 * at a time, in the time of the busiest line: not a byte more. */
#include "sched/fs_decompose.h"
#include "sched/fs_rng.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SERVERS = 40, CELLS = MAX_SERVERS * MAX_SERVERS };

static uint64_t matrix[CELLS];
static uint64_t carried[CELLS];

/* ---- what must hold of any stages ---- */

static uint64_t largest_line(uint32_t n)
{
    uint64_t largest = 0;

    for (uint32_t i = 0; i < n; ++i) {
        uint64_t row = 0, col = 0;

        for (uint32_t j = 0; j < n; ++j) {
            row += i == j ? 0 : matrix[i * n + j];
            col += i == j ? 0 : matrix[j * n + i];
        }
        largest = row > largest ? row : largest;
        largest = col > largest ? col : largest;
    }
    return largest;
}

/* One-to-one, nobody to itself, nothing longer than the stage. */
static void check_stage(uint32_t n, const fs_stage_t *stage)
{
    bool taken[MAX_SERVERS] = {false};

    MUST(stage->weight != 0);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t j = stage->dst[i];

        MUST((j == FS_NO_SERVER) == (stage->bytes[i] == 0));
        if (j == FS_NO_SERVER) {
            continue;
        }
        MUST(j < n && j != i);
        MUST(!taken[j]);
        MUST(stage->bytes[i] <= stage->weight);
        taken[j] = true;
        carried[i * n + j] += stage->bytes[i];
    }
}

static void check_stages(uint32_t n, const fs_stages_t *stages)
{
    uint64_t total = 0;

    memset(carried, 0, sizeof(carried));
    for (uint32_t s = 0; s < stages->n; ++s) {
        check_stage(n, &stages->stage[s]);
        total += stages->stage[s].weight;
    }
    for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = 0; j < n; ++j) {
            MUST(carried[i * n + j] == (i == j ? 0 : matrix[i * n + j]));
        }
    }
    MUST(total == stages->total);
    MUST(total == largest_line(n));
    MUST(stages->n <= n * n - 2 * n + 2);
    MUST(n > 1 || stages->n == 0);
    MUST((stages->n == 0) == (total == 0));
}

static void check_equal(uint32_t n, const fs_stages_t *a, const fs_stages_t *b)
{
    MUST(a->n == b->n);
    MUST(a->total == b->total);
    for (uint32_t s = 0; s < a->n; ++s) {
        const fs_stage_t *x = &a->stage[s], *y = &b->stage[s];

        MUST(x->weight == y->weight);
        MUST(memcmp(x->dst, y->dst, n * sizeof(*x->dst)) == 0);
        MUST(memcmp(x->bytes, y->bytes, n * sizeof(*x->bytes)) == 0);
    }
}

/* Decompose, check everything; returns the number of stages. */
static uint32_t decompose(uint32_t n)
{
    fs_arena_t  arena = {0};
    fs_stages_t once, again;
    uint32_t    n_stages;

    MUST(fs_decompose(FS_DECOMPOSE_BIRKHOFF, n, matrix, &arena, &once) ==
         FS_OK);
    check_stages(n, &once);
    for (uint32_t i = 0; i < n; ++i) { /* nobody looks at the diagonal */
        matrix[i * n + i] ^= UINT64_C(0xdeadbeefcafe0000) + i;
    }
    MUST(fs_decompose(FS_DECOMPOSE_BIRKHOFF, n, matrix, &arena, &again) ==
         FS_OK);
    check_equal(n, &once, &again);
    n_stages = once.n;
    fs_arena_fini(&arena);
    return n_stages;
}

/* ---- random matrices ---- */

typedef enum shape {
    UNIFORM,
    SPARSE,
    TINY,
    WILD,
    ZERO_LINES,
    ONE_ENTRY,
    ALL_EQUAL,
    NEAR_LIMIT,
    SHAPES
} shape_t;

static uint64_t draw(fs_rng_t *rng, shape_t shape, uint32_t n)
{
    switch (shape) {
    case UNIFORM:
    case ZERO_LINES:
        return fs_rng_below(rng, 1000000);
    case SPARSE:
        return fs_rng_below(rng, 4) ? 0 : fs_rng_below(rng, 1000000);
    case TINY:
        return fs_rng_below(rng, 3);
    case WILD: /* any magnitude */
        return fs_rng_next(rng) >> (8 + fs_rng_below(rng, 56));
    case NEAR_LIMIT: /* lines come close to 2^61 and do not pass it */
        return (UINT64_C(1) << 61) / n - fs_rng_below(rng, 1000);
    case ALL_EQUAL:
        return 12345;
    case ONE_ENTRY:
    case SHAPES:
        break;
    }
    return 0;
}

static void clear_lines(fs_rng_t *rng, uint32_t n)
{
    for (uint32_t i = 0; i < n; ++i) {
        bool row = fs_rng_below(rng, 3) == 0, col = fs_rng_below(rng, 3) == 0;

        for (uint32_t j = 0; j < n; ++j) {
            matrix[i * n + j] = row ? 0 : matrix[i * n + j];
            matrix[j * n + i] = col ? 0 : matrix[j * n + i];
        }
    }
}

static void random_matrix(fs_rng_t *rng, shape_t shape, uint32_t n)
{
    for (uint32_t c = 0; c < n * n; ++c) {
        matrix[c] = draw(rng, shape, n);
    }
    if (shape == ZERO_LINES) {
        clear_lines(rng, n);
    }
    if (shape == ONE_ENTRY) {
        matrix[fs_rng_below(rng, (uint64_t)n * n)] = fs_rng_next(rng) >> 3;
    }
}

/* Every shape of a size; _i is size and seed. */
START_TEST(prop_any_matrix)
{
    uint32_t n = (uint32_t)_i;
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (shape_t shape = UNIFORM; shape < SHAPES; ++shape) {
        random_matrix(&rng, shape, n);
        decompose(n);
    }
}
END_TEST

/* Small sizes many times: there the bound on the stages is tight. */
START_TEST(prop_small_matrices)
{
    fs_rng_t rng;

    fs_rng_init(&rng, 1000 + (uint64_t)_i);
    for (int k = 0; k < 300; ++k) {
        uint32_t n = 1 + (uint32_t)fs_rng_below(&rng, 7);

        random_matrix(&rng, (shape_t)fs_rng_below(&rng, SHAPES), n);
        decompose(n);
    }
}
END_TEST

/* ---- by hand ---- */

/* As FAST's figure 9: four servers, the busiest sends (and one receives) 14. */
START_TEST(four_servers_in_14)
{
    static const uint64_t bytes[16] = {
        99, 4,  2,  8,  /* 14 */
        3,  99, 1,  5,  /* 9 */
        6,  2,  99, 1,  /* 9 */
        1,  3,  4,  99, /* 8 */
        /* 10, 9, 7, 14 */
    };
    fs_arena_t  arena = {0};
    fs_stages_t stages;

    memcpy(matrix, bytes, sizeof(bytes));
    ck_assert_int_eq(
        fs_decompose(FS_DECOMPOSE_BIRKHOFF, 4, matrix, &arena, &stages), FS_OK);
    check_stages(4, &stages);
    ck_assert_uint_eq(stages.total, 14);
    ck_assert_uint_le(stages.n, 10);
    /* The busiest sender never pauses, nor does the busiest receiver. */
    for (uint32_t s = 0; s < stages.n; ++s) {
        uint64_t received = 0;

        for (uint32_t i = 0; i < 4; ++i) {
            received += stages.stage[s].dst[i] == 3 ? stages.stage[s].bytes[i]
                                                    : 0;
        }
        ck_assert_uint_eq(stages.stage[s].bytes[0], stages.stage[s].weight);
        ck_assert_uint_eq(received, stages.stage[s].weight);
    }
    fs_arena_fini(&arena);
}
END_TEST

/* Balanced traffic needs the N - 1 stages of a shift schedule, not one more. */
START_TEST(equal_counts_take_n_minus_1)
{
    uint32_t n = (uint32_t)_i;

    for (uint32_t c = 0; c < n * n; ++c) {
        matrix[c] = 1000;
    }
    ck_assert_uint_eq(decompose(n), n - 1);
}
END_TEST

START_TEST(one_pair_is_one_stage)
{
    for (uint32_t n = 2; n <= 9; ++n) {
        memset(matrix, 0, sizeof(matrix));
        matrix[n - 1] = UINT64_C(1) << 61; /* 0 to the last */
        ck_assert_uint_eq(decompose(n), 1);
    }
}
END_TEST

START_TEST(nothing_is_no_stage)
{
    for (uint32_t n = 1; n <= 9; ++n) {
        memset(matrix, 0, sizeof(matrix));
        ck_assert_uint_eq(decompose(n), 0);
    }
}
END_TEST

/* Sums of 2^62 in one line, the most a traffic may have. */
START_TEST(largest_sums)
{
    memset(matrix, 0, sizeof(matrix));
    matrix[1] = (UINT64_C(1) << 61) + 1;
    matrix[2] = (UINT64_C(1) << 61) - 1;
    ck_assert_uint_le(decompose(3), 5);

    memset(matrix, 0, sizeof(matrix));
    matrix[1] = UINT64_C(1) << 61;
    matrix[2] = (UINT64_C(1) << 61) - 1; /* 1 to 0 */
    ck_assert_uint_le(decompose(2), 2);
}
END_TEST

START_TEST(unknown_way_is_an_error)
{
    fs_arena_t  arena = {0};
    fs_stages_t stages;

    ck_assert_int_eq(
        fs_decompose((fs_decompose_t)77, 2, matrix, &arena, &stages),
        FS_ERR_INVAL);
    fs_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("decompose");
    TCase *random = tcase_create("random");
    TCase *hand   = tcase_create("by hand");

    tcase_add_loop_test(random, prop_any_matrix, 1, MAX_SERVERS + 1);
    tcase_add_loop_test(random, prop_small_matrices, 0, 10);
    tcase_add_test(hand, four_servers_in_14);
    tcase_add_loop_test(hand, equal_counts_take_n_minus_1, 1, MAX_SERVERS + 1);
    tcase_add_test(hand, one_pair_is_one_stage);
    tcase_add_test(hand, nothing_is_no_stage);
    tcase_add_test(hand, largest_sums);
    tcase_add_test(hand, unknown_way_is_an_error);
    suite_add_tcase(suite, random);
    suite_add_tcase(suite, hand);
    return fs_test_run(suite);
}
