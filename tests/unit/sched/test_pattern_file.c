/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of files become those of all pairs of ranks: nothing is lost, and
 * the proportions stay. */
#include "sched/model/fs_pattern.h"

#include "fs_test_util.h"

#include <string.h>

enum { N = 11 };

static uint64_t matrix[N * N];
static uint64_t other[N * N];

/* 4+4+2+1, and labels that are neither dense nor in order. */
static const uint32_t uneven[N] = {9, 9, 9, 9, 2, 2, 2, 2, 7, 7, 0};

static void fill(const char *text, uint64_t mean)
{
    fs_pattern_t pattern;
    char         why[400];

    ck_assert_int_eq(fs_pattern_parse(text, &pattern, why, sizeof(why)), FS_OK);
    ck_assert_int_eq(fs_pattern_fill(&pattern, N, uneven, mean, 3, matrix),
                     FS_OK);
}

static uint64_t total(const uint64_t *bytes)
{
    uint64_t sum = 0;

    for (int k = 0; k < N * N; ++k) {
        sum += bytes[k];
    }
    return sum;
}

START_TEST(path_is_what_follows_file)
{
    ck_assert_str_eq(fs_pattern_path("file:a:b"), "a:b");
    ck_assert_str_eq(fs_pattern_path("file:"), "");
    ck_assert_ptr_null(fs_pattern_path("files"));
    ck_assert_ptr_null(fs_pattern_path("moe"));
}
END_TEST

static fs_topo_t *uneven_topo(void)
{
    fs_topo_t *topo;

    ck_assert_int_eq(fs_topo_create(11, uneven, 0, &topo), FS_OK);
    return topo;
}

START_TEST(ranks_stay_as_they_are)
{
    fs_topo_t *topo   = uneven_topo();
    char       why[1] = "";

    fill("random", 1000003);
    ck_assert_int_eq(
        fs_pattern_spread(topo, 11, matrix, other, why, sizeof(why)), FS_OK);
    ck_assert(memcmp(matrix, other, 121 * sizeof(matrix[0])) == 0);
    fs_topo_destroy(topo);
}
END_TEST

/* Tiles keep their sums; in a tile nobody has two bytes more than another, and
 * who has one more comes first. */
START_TEST(servers_are_spread_over_ranks)
{
    static const uint64_t rows[16] = {5,  17, 3, 1000003, 0, 1,  2, 9,
                                      16, 7,  4, 3,       8, 77, 6, 1};
    static const uint32_t first[]  = {0, 4, 8, 10, 11};
    fs_topo_t            *topo     = uneven_topo();
    char                  why[100] = "";

    ck_assert_int_eq(fs_pattern_spread(topo, 4, rows, matrix, why, sizeof(why)),
                     FS_OK);
    for (uint32_t u = 0; u < 4; ++u) {
        for (uint32_t w = 0; w < 4; ++w) {
            uint64_t left = rows[u * 4 + w];
            uint64_t n = (first[u + 1] - first[u]) * (first[w + 1] - first[w]);
            uint64_t more = left % n;

            for (uint32_t i = first[u]; i < first[u + 1]; ++i) {
                for (uint32_t j = first[w]; j < first[w + 1]; ++j) {
                    ck_assert_uint_eq(matrix[i * 11 + j],
                                      rows[u * 4 + w] / n + (more > 0));
                    more -= more > 0;
                    left -= matrix[i * 11 + j];
                }
            }
            ck_assert_uint_eq(left, 0);
        }
    }
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(other_shapes_are_refused)
{
    static const uint64_t rows[144] = {0};
    fs_topo_t            *topo      = uneven_topo();
    char                  why[100]  = "";

    ck_assert_int_eq(
        fs_pattern_spread(topo, 12, rows, matrix, why, sizeof(why)),
        FS_ERR_INVAL);
    ck_assert_str_eq(why, "the matrix is 12 x 12; allowed: 4 x 4 (servers) or "
                          "11 x 11 (ranks)");
    ck_assert_int_eq(fs_pattern_spread(topo, 3, rows, matrix, why, 4),
                     FS_ERR_INVAL);
    ck_assert_str_eq(why, "the");
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(scaling_is_exact)
{
    fill("zipf:0.8", 1000);
    memcpy(other, matrix, 121 * sizeof(matrix[0]));
    ck_assert_int_eq(fs_pattern_scale(11, 7000, matrix), FS_OK);
    ck_assert_uint_eq(total(matrix), 121 * 7000);
    for (int i = 0; i < 121; ++i) {
        ck_assert_uint_ge(matrix[i] + 1, 7 * other[i]);
        ck_assert_uint_le(matrix[i], 7 * other[i] + 1);
    }
    ck_assert_int_eq(fs_pattern_scale(11, UINT64_MAX / 100, matrix),
                     FS_ERR_OVERFLOW);
    memset(matrix, 0, sizeof(matrix));
    ck_assert_int_eq(fs_pattern_scale(11, 7000, matrix), FS_ERR_INVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pattern file");
    TCase *tc    = tcase_create("matrices of files");

    tcase_add_test(tc, path_is_what_follows_file);
    tcase_add_test(tc, ranks_stay_as_they_are);
    tcase_add_test(tc, servers_are_spread_over_ranks);
    tcase_add_test(tc, other_shapes_are_refused);
    tcase_add_test(tc, scaling_is_exact);
    suite_add_tcase(suite, tc);
    return fs_test_run(suite);
}
