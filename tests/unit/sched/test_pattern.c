/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic patterns: sums are exact, shapes are what the names promise, and no
 * platform draws another matrix. */
#include "sched/model/fs_pattern.h"

#include "base/fs_digest.h"
#include "sched/model/fs_rng.h"
#include "fs_test_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANKS 64
#define MEAN      1000003 /* a prime: nothing divides by accident */

static uint64_t matrix[MAX_RANKS * MAX_RANKS];
static uint64_t other[MAX_RANKS * MAX_RANKS];

/* 4+4+2+1, and labels that are neither dense nor in order. */
static const uint32_t uneven[11] = {9, 9, 9, 9, 2, 2, 2, 2, 7, 7, 0};

static const char *const all[] = {
    "balanced",   "random",      "zipf:0",      "zipf:0.8",
    "zipf:4",     "lognormal:1", "lognormal:4", "hotspot:2",
    "hotspot:99", "intrahost",   "moe",         "moe:0.18",
    "pencil",     "adversarial", "sparse:2",    "sparse:99",
};
#define N_ALL ((int)(sizeof(all) / sizeof(all[0])))

static fs_pattern_t parse(const char *text)
{
    fs_pattern_t pattern  = {FS_PATTERN_BALANCED, 0};
    char         why[400] = "";

    ck_assert_msg(fs_pattern_parse(text, &pattern, why, sizeof(why)) == FS_OK,
                  "%s: %s", text, why);
    return pattern;
}

static void fill(const char *text, uint32_t n, const uint32_t *server_of,
                 uint64_t mean, uint64_t seed, uint64_t *bytes)
{
    fs_pattern_t pattern = parse(text);

    ck_assert_int_eq(fs_pattern_fill(&pattern, n, server_of, mean, seed, bytes),
                     FS_OK);
}

/* n ranks on servers of n_local consecutive ranks. */
static const uint32_t *even(uint32_t n, uint32_t n_local)
{
    static uint32_t server_of[MAX_RANKS];

    for (uint32_t r = 0; r < n; ++r) {
        server_of[r] = r / n_local;
    }
    return server_of;
}

static uint64_t row_sum(const uint64_t *bytes, uint32_t n, uint32_t src)
{
    uint64_t sum = 0;

    for (uint32_t dst = 0; dst < n; ++dst) {
        sum += bytes[src * n + dst];
    }
    return sum;
}

static uint64_t total(const uint64_t *bytes, uint32_t n)
{
    uint64_t sum = 0;

    for (uint32_t src = 0; src < n; ++src) {
        sum += row_sum(bytes, n, src);
    }
    return sum;
}

static uint64_t digest(const uint64_t *bytes, uint32_t n)
{
    uint64_t d = 0;

    for (uint32_t i = 0; i < n * n; ++i) {
        d = fs_digest_add(d, bytes[i]);
    }
    return d;
}

START_TEST(mean_is_exact)
{
    static const uint64_t means[] = {0, 1, 17, MEAN, UINT64_C(1) << 40};

    for (size_t m = 0; m < sizeof(means) / sizeof(means[0]); ++m) {
        for (uint64_t seed = 0; seed < 5; ++seed) {
            fill(all[_i], 11, uneven, means[m], seed, matrix);
            ck_assert_uint_eq(total(matrix, 11), 121 * means[m]);
            fill(all[_i], 16, even(16, 4), means[m], seed, matrix);
            ck_assert_uint_eq(total(matrix, 16), 256 * means[m]);
        }
    }
}
END_TEST

START_TEST(one_rank_keeps_all)
{
    uint32_t server = 5;

    for (uint64_t seed = 0; seed < 20; ++seed) {
        fill(all[_i], 1, &server, MEAN, seed, matrix);
        ck_assert_uint_eq(matrix[0], MEAN);
    }
}
END_TEST

START_TEST(one_server_is_fine)
{
    fill(all[_i], 8, even(8, 8), MEAN, 1, matrix);
    ck_assert_uint_eq(total(matrix, 8), 64 * (uint64_t)MEAN);
}
END_TEST

START_TEST(same_seed_same_matrix)
{
    bool fixed = strcmp(all[_i], "balanced") == 0 ||
                 strcmp(all[_i], "zipf:0") == 0 ||
                 strcmp(all[_i], "hotspot:99") == 0;

    fill(all[_i], 11, uneven, MEAN, 7, matrix);
    fill(all[_i], 11, uneven, MEAN, 7, other);
    ck_assert(memcmp(matrix, other, 121 * sizeof(matrix[0])) == 0);
    fill(all[_i], 11, uneven, MEAN, 8, other);
    ck_assert((memcmp(matrix, other, 121 * sizeof(matrix[0])) == 0) == fixed);
}
END_TEST

/* Golden: if one of these changes, so do all published numbers. */
START_TEST(digests_are_golden)
{
    static const struct {
        const char *pattern;
        uint64_t    digest;
    } golden[] = {
        {"balanced", UINT64_C(0x9d7ab197fa811f8e)},
        {"random", UINT64_C(0x1bad0b3df7a1b68c)},
        {"zipf:0.8", UINT64_C(0xfbe4e5a3c1ea8086)},
        {"lognormal:1", UINT64_C(0x317776af4e34dfca)},
        {"hotspot:2", UINT64_C(0x3ab28e5ff1ad803c)},
        {"intrahost", UINT64_C(0x176419f0a8da0636)},
        {"moe", UINT64_C(0x913c0ead4c9f722f)},
        {"moe:1", UINT64_C(0x913c0ead4c9f722f)},
        {"pencil", UINT64_C(0xfd5c96322d682c0e)},
        {"adversarial", UINT64_C(0xd42a12629c035569)},
    };

    for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); ++i) {
        fill(golden[i].pattern, 16, even(16, 4), 1000000, 42, matrix);
        ck_assert_msg(digest(matrix, 16) == golden[i].digest, "%s: 0x%016llx",
                      golden[i].pattern,
                      (unsigned long long)digest(matrix, 16));
    }
}
END_TEST

START_TEST(sum_overflow_is_an_error)
{
    fs_pattern_t pattern = parse(all[_i]);

    ck_assert_int_eq(
        fs_pattern_fill(&pattern, 16, even(16, 4), UINT64_MAX / 256, 1, matrix),
        FS_OK);
    ck_assert_int_eq(fs_pattern_fill(&pattern, 16, even(16, 4),
                                     UINT64_MAX / 256 + 1, 1, matrix),
                     FS_ERR_OVERFLOW);
}
END_TEST

START_TEST(bad_arguments_are_errors)
{
    fs_pattern_t hot   = {FS_PATTERN_HOTSPOT, 0};
    fs_pattern_t zipf  = {FS_PATTERN_ZIPF, 4001};
    fs_pattern_t wild  = {(fs_pattern_kind_t)77, 0};
    fs_pattern_t hosts = {FS_PATTERN_INTRAHOST, 0};
    fs_pattern_t few   = {FS_PATTERN_SPARSE, 2};
    fs_pattern_t plain = {FS_PATTERN_BALANCED, 0};

    ck_assert_int_eq(fs_pattern_fill(&few, 4, NULL, 1, 1, matrix),
                     FS_ERR_INVAL);
    ck_assert_int_eq(fs_pattern_fill(&hot, 4, uneven, 1, 1, matrix),
                     FS_ERR_INVAL);
    ck_assert_int_eq(fs_pattern_fill(&zipf, 4, uneven, 1, 1, matrix),
                     FS_ERR_INVAL);
    ck_assert_int_eq(fs_pattern_fill(&wild, 4, uneven, 1, 1, matrix),
                     FS_ERR_INVAL);
    ck_assert_int_eq(fs_pattern_fill(&hosts, 4, NULL, 1, 1, matrix),
                     FS_ERR_INVAL);
    ck_assert_int_eq(fs_pattern_fill(&plain, 0, NULL, 1, 1, matrix),
                     FS_ERR_INVAL);
    ck_assert_int_eq(fs_pattern_fill(&plain, 4, NULL, 1, 1, matrix), FS_OK);
}
END_TEST

START_TEST(numbers_are_thousandths)
{
    ck_assert_uint_eq(parse("zipf:0.8").param, 800);
    ck_assert_uint_eq(parse("zipf:1").param, 1000);
    ck_assert_uint_eq(parse("zipf:0.125").param, 125);
    ck_assert_uint_eq(parse("lognormal:1.05").param, 1050);
    ck_assert_uint_eq(parse("lognormal:4.000").param, 4000);
    ck_assert_uint_eq(parse("hotspot:2").param, 2);
    ck_assert_int_eq(parse("moe").kind, FS_PATTERN_MOE);
    ck_assert_uint_eq(parse("moe").param, 1000);
    ck_assert_uint_eq(parse("moe:0.18").param, 180);
    ck_assert_uint_eq(parse("moe:0").param, 0);
    ck_assert_int_eq(parse("adversarial").kind, FS_PATTERN_ADVERSARIAL);
}
END_TEST

START_TEST(bad_text_says_why)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "is not a pattern"},
        {"zip", "is not a pattern"},
        {"zipff:1", "is not a pattern"},
        {"Random", "is not a pattern"},
        {"random ", "is not a pattern"},
        {"moe:", "at most three decimals"},
        {"moe:4.001", "out of range"},
        {"moe2", "is not a pattern"},
        {"file:x", "is not a pattern"},
        {"random:", "takes no number"},
        {"zipf", "needs a number after a colon"},
        {"zipf:", "at most three decimals"},
        {"zipf:x", "at most three decimals"},
        {"zipf:-1", "at most three decimals"},
        {"zipf:1.", "at most three decimals"},
        {"zipf:.5", "at most three decimals"},
        {"zipf:1.2.3", "at most three decimals"},
        {"zipf:0.1234", "at most three decimals"},
        {"zipf:0,8", "at most three decimals"},
        {"zipf:99999999999999999999", "at most three decimals"},
        {"zipf:4.001", "out of range"},
        {"hotspot:1.5", "whole number"},
        {"hotspot:0", "out of range"},
        {"sparse:0", "out of range"},
        {"hotspot:4294967296", "whole number"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        fs_pattern_t pattern  = {FS_PATTERN_MOE, 5};
        char         why[400] = "";
        char         quoted[64];

        snprintf(quoted, sizeof(quoted), "\"%s\"", bad[i].text);
        ck_assert_int_eq(
            fs_pattern_parse(bad[i].text, &pattern, why, sizeof(why)),
            FS_ERR_INVAL);
        ck_assert_msg(strstr(why, quoted) == why, "%s", why);
        ck_assert_msg(strstr(why, bad[i].says) != NULL, "%s", why);
        ck_assert_msg(strstr(why, "allowed: balanced") != NULL, "%s", why);
        ck_assert_int_eq(pattern.kind, FS_PATTERN_MOE); /* untouched */
        ck_assert_uint_eq(pattern.param, 5);
    }
}
END_TEST

START_TEST(balanced_is_flat)
{
    fill("balanced", 11, NULL, MEAN, 3, matrix);
    for (int i = 0; i < 121; ++i) {
        ck_assert_uint_eq(matrix[i], MEAN);
    }
}
END_TEST

START_TEST(random_is_uniform)
{
    uint64_t below = 0;

    fill("random", 64, NULL, 1000000, 3, matrix);
    for (int i = 0; i < 4096; ++i) {
        ck_assert_uint_le(matrix[i], 2100000); /* the drawn mean varies */
        below += matrix[i] < 500000;
    }
    ck_assert_uint_ge(below, 900); /* a quarter is 1024 */
    ck_assert_uint_le(below, 1150);
}
END_TEST

static int descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

/* Sorted, the sizes are k^-S: at S = 1 the k-th is the first over k. */
START_TEST(zipf_has_a_heavy_tail)
{
    fill("zipf:1", 64, NULL, 1000000, 3, matrix);
    qsort(matrix, 4096, sizeof(matrix[0]), descending);
    for (uint64_t k = 2; k <= 4096; ++k) {
        uint64_t expected = matrix[0] / k;

        ck_assert_uint_ge(matrix[k - 1] + 2 + expected / 100000, expected);
        ck_assert_uint_le(matrix[k - 1], expected + 2 + expected / 100000);
    }
}
END_TEST

START_TEST(zipf_skew_grows_with_s)
{
    static const char *const steps[] = {"zipf:0.2", "zipf:0.4", "zipf:0.8",
                                        "zipf:1.2", "zipf:3"};
    uint64_t                 last    = 1000000;

    for (int i = 0; i < 5; ++i) {
        fill(steps[i], 16, NULL, 1000000, 3, matrix);
        qsort(matrix, 256, sizeof(matrix[0]), descending);
        ck_assert_uint_gt(matrix[0], last);
        last = matrix[0];
    }
}
END_TEST

/* exp(SIGMA * normal): median over mean is exp(-SIGMA^2 / 2), 0.607 at 1. */
START_TEST(lognormal_median)
{
    fill("lognormal:1", 64, NULL, 1000000, 3, matrix);
    qsort(matrix, 4096, sizeof(matrix[0]), descending);
    ck_assert_uint_ge(matrix[2048], 560000);
    ck_assert_uint_le(matrix[2048], 650000);
}
END_TEST

START_TEST(hotspot_shares)
{
    uint32_t n_hot = 0;

    fill("hotspot:2", 16, NULL, 1400, 9, matrix);
    for (uint32_t src = 0; src < 16; ++src) {
        ck_assert_uint_eq(row_sum(matrix, 16, src), 16 * 1400);
    }
    for (uint32_t dst = 0; dst < 16; ++dst) {
        bool hot = matrix[dst] > 1400; /* 5600 each, or 800 each */

        n_hot += hot;
        for (uint32_t src = 0; src < 16; ++src) {
            ck_assert_uint_eq(matrix[src * 16 + dst], hot ? 5600 : 800);
        }
    }
    ck_assert_uint_eq(n_hot, 2);
}
END_TEST

/* Cells used by one pair of servers, and their bytes. */
static uint32_t tile(const uint64_t *bytes, uint32_t n, const uint32_t *server,
                     uint32_t u, uint32_t w, uint64_t *sum_p)
{
    uint32_t used = 0;

    *sum_p = 0;
    for (uint32_t src = 0; src < n; ++src) {
        for (uint32_t dst = 0; dst < n; ++dst) {
            if (server[src] == u && server[dst] == w) {
                *sum_p += bytes[src * n + dst];
                used += bytes[src * n + dst] != 0;
            }
        }
    }
    return used;
}

static void check_tiles(const char *pattern)
{
    static const uint32_t labels[] = {9, 2, 7, 0};

    fill(pattern, 11, uneven, 1600, 5, matrix);
    for (int u = 0; u < 4; ++u) {
        for (int w = 0; w < 4; ++w) {
            uint64_t sum;

            ck_assert_uint_eq(
                tile(matrix, 11, uneven, labels[u], labels[w], &sum), 1);
            ck_assert_uint_eq(sum, 1600 * 121 / 16);
        }
    }
}

START_TEST(intrahost_is_one_pair_a_tile)
{
    check_tiles("intrahost");
}
END_TEST

START_TEST(adversarial_is_one_holder_one_taker)
{
    uint32_t senders = 0, receivers = 0;

    check_tiles("adversarial");
    for (uint32_t r = 0; r < 11; ++r) {
        uint64_t sent = row_sum(matrix, 11, r), received = 0;

        for (uint32_t src = 0; src < 11; ++src) {
            received += matrix[src * 11 + r];
        }
        senders += sent != 0;
        receivers += received != 0;
        /* only rank 10, alone on its server, may be both */
        ck_assert(sent == 0 || received == 0 || r == 10);
    }
    ck_assert_uint_eq(senders, 4);
    ck_assert_uint_eq(receivers, 4);
}
END_TEST

/* Two senders to each server and two receivers, the same whatever the seed. */
START_TEST(sparse_has_few_partners)
{
    const uint32_t *server = even(32, 4);
    uint32_t        senders[8];

    for (uint64_t seed = 0; seed < 5; ++seed) {
        fill("sparse:2", 32, server, MEAN, seed, seed == 0 ? matrix : other);
        memset(senders, 0, sizeof(senders));
        for (uint32_t u = 0; u < 8; ++u) {
            uint32_t receivers = 0;

            for (uint32_t w = 0; w < 8; ++w) {
                uint64_t now, first;

                tile(seed == 0 ? matrix : other, 32, server, u, w, &now);
                tile(matrix, 32, server, u, w, &first);
                ck_assert((now > 0) == (first > 0));
                ck_assert(u != w || now == 0);
                receivers += now > 0;
                senders[w] += now > 0;
            }
            ck_assert_uint_eq(receivers, 2);
        }
        for (uint32_t w = 0; w < 8; ++w) {
            ck_assert_uint_eq(senders[w], 2);
        }
    }
}
END_TEST

START_TEST(moe_rows_are_equal_columns_are_not)
{
    uint64_t least = UINT64_MAX, most = 0;

    fill("moe", 16, NULL, 100000, 11, matrix);
    for (uint32_t r = 0; r < 16; ++r) {
        uint64_t received = 0;

        ck_assert_uint_eq(row_sum(matrix, 16, r), 1600000);
        for (uint32_t src = 0; src < 16; ++src) {
            received += matrix[src * 16 + r];
        }
        least = received < least ? received : least;
        most  = received > most ? received : most;
    }
    ck_assert_uint_ge(most, 2 * least);
    /* top-2 without repetition: nobody gets more than half */
    ck_assert_uint_le(most, 16 * 800000);
}
END_TEST

/* Most over mean of what ranks receive. */
static double most_over_mean(const char *pattern)
{
    uint64_t most = 0;

    fill(pattern, 16, NULL, 100000, 11, matrix);
    for (uint32_t r = 0; r < 16; ++r) {
        uint64_t received = 0;

        for (uint32_t src = 0; src < 16; ++src) {
            received += matrix[src * 16 + r];
        }
        most = received > most ? received : most;
    }
    return (double)most / 1600000;
}

START_TEST(moe_skew_grows_with_sigma)
{
    double flat = most_over_mean("moe:0"), mild = most_over_mean("moe:0.18"),
           more = most_over_mean("moe:0.7");

    ck_assert_double_lt(flat, 1.05);
    ck_assert_double_lt(flat, mild);
    ck_assert_double_lt(mild, 1.5);
    ck_assert_double_lt(mild, more);
    ck_assert_double_lt(more, most_over_mean("moe"));
}
END_TEST

START_TEST(pencil_is_nearly_equal)
{
    uint64_t least = UINT64_MAX, most = 0;

    fill("pencil", 11, NULL, MEAN, 11, matrix);
    for (int i = 0; i < 121; ++i) {
        least = matrix[i] < least ? matrix[i] : least;
        most  = matrix[i] > most ? matrix[i] : most;
    }
    /* between 8 * 8 and 9 * 9 planes */
    ck_assert_uint_gt(most, least + 10);
    ck_assert_uint_le(most * 64, least * 81 + 200);
}
END_TEST

START_TEST(fixed_point_functions)
{
    ck_assert_uint_eq(fs_log2_q32(1), 0);
    ck_assert_uint_eq(fs_log2_q32(UINT64_C(1) << 63), UINT64_C(63) << 32);
    ck_assert_uint_eq(fs_log2_q32(3), UINT64_C(6807362105)); /* 1.58496.. */
    ck_assert_uint_eq(fs_exp2_q32(0, 32), UINT64_C(1) << 32);
    ck_assert_uint_eq(fs_exp2_q32(INT64_C(5) << 32, 20), 32u << 20);
    ck_assert_uint_eq(fs_exp2_q32(-(INT64_C(5) << 32), 20), 1u << 15);
    ck_assert_uint_eq(fs_exp2_q32(INT64_C(1) << 31, 32),
                      UINT64_C(6074000999)); /* sqrt(2) */
    ck_assert_uint_eq(fs_exp2_q32(-(INT64_C(1) << 31), 32),
                      UINT64_C(3037000499));
    ck_assert_uint_eq(fs_exp2_q32(-(INT64_C(200) << 32), 32), 0);
}
END_TEST

START_TEST(normal_has_mean_0_variance_1)
{
    fs_rng_t rng;
    int64_t  sum = 0, squares = 0;

    fs_rng_init(&rng, 1);
    for (int i = 0; i < 10000; ++i) {
        int64_t z = fs_rng_normal_q32(&rng) >> 16;

        sum += z;
        squares += z * z >> 16;
    }
    ck_assert_int_le(llabs(sum / 10000), 65536 / 30);
    ck_assert_int_ge(squares / 10000, 65536 * 95 / 100);
    ck_assert_int_le(squares / 10000, 65536 * 105 / 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pattern");
    TCase *each  = tcase_create("each pattern");
    TCase *shape = tcase_create("shapes");

    tcase_add_loop_test(each, mean_is_exact, 0, N_ALL);
    tcase_add_loop_test(each, one_rank_keeps_all, 0, N_ALL);
    tcase_add_loop_test(each, one_server_is_fine, 0, N_ALL);
    tcase_add_loop_test(each, same_seed_same_matrix, 0, N_ALL);
    tcase_add_loop_test(each, sum_overflow_is_an_error, 0, N_ALL);
    tcase_add_test(shape, digests_are_golden);
    tcase_add_test(shape, bad_arguments_are_errors);
    tcase_add_test(shape, numbers_are_thousandths);
    tcase_add_test(shape, bad_text_says_why);
    tcase_add_test(shape, balanced_is_flat);
    tcase_add_test(shape, random_is_uniform);
    tcase_add_test(shape, zipf_has_a_heavy_tail);
    tcase_add_test(shape, zipf_skew_grows_with_s);
    tcase_add_test(shape, lognormal_median);
    tcase_add_test(shape, hotspot_shares);
    tcase_add_test(shape, intrahost_is_one_pair_a_tile);
    tcase_add_test(shape, adversarial_is_one_holder_one_taker);
    tcase_add_test(shape, sparse_has_few_partners);
    tcase_add_test(shape, moe_rows_are_equal_columns_are_not);
    tcase_add_test(shape, moe_skew_grows_with_sigma);
    tcase_add_test(shape, pencil_is_nearly_equal);
    tcase_add_test(shape, fixed_point_functions);
    tcase_add_test(shape, normal_has_mean_0_variance_1);
    suite_add_tcase(suite, each);
    suite_add_tcase(suite, shape);
    return fs_test_run(suite);
}
