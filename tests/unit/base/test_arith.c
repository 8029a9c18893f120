/* SPDX-License-Identifier: BSD-3-Clause */
/* The ground everything stands on: sums that say when they do not fit, memory
 * that never overlaps, digests that tell inputs apart. */
#include "base/fs_arena.h"
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "sched/model/fs_rng.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

/* Values around which carries, wraps and sign mistakes show. */
static const uint64_t edges[] = {
    0,
    1,
    2,
    3,
    127,
    128,
    UINT32_MAX - UINT64_C(1),
    UINT32_MAX,
    UINT32_MAX + UINT64_C(1),
    UINT32_MAX + UINT64_C(2),
    (UINT64_C(1) << 62) - 1,
    UINT64_C(1) << 62,
    (UINT64_C(1) << 63) - 1,
    UINT64_C(1) << 63,
    UINT64_MAX - 1,
    UINT64_MAX,
};
#define N_EDGES ((int)(sizeof(edges) / sizeof(edges[0])))

/* ---- arithmetic: against 128 bits ---- */

static void check_pair(uint64_t a, uint64_t b)
{
    fs_u128_t sum = (fs_u128_t)a + b, product = (fs_u128_t)a * b;
    uint64_t  result;
    bool      fits;

    fits = fs_u64_add(a, b, &result);
    ck_assert(fits == (sum <= UINT64_MAX));
    ck_assert(!fits || result == (uint64_t)sum);
    fits = fs_u64_mul(a, b, &result);
    ck_assert(fits == (product <= UINT64_MAX));
    ck_assert(!fits || result == (uint64_t)product);
    ck_assert(fs_u64_min(a, b) == (a < b ? a : b));
    ck_assert(fs_u64_max(a, b) == (a < b ? b : a));
    if (b != 0) {
        /* rounded up: the least q with q * b >= a */
        fs_u128_t q = fs_u64_div_up(a, b);

        ck_assert(q * b >= a);
        ck_assert(q == 0 || (q - 1) * b < a);
    }
}

START_TEST(edges_of_the_range)
{
    for (int k = 0; k < N_EDGES; ++k) {
        check_pair(edges[_i], edges[k]);
    }
}
END_TEST

START_TEST(random_pairs)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 20000; ++k) {
        unsigned a = (unsigned)fs_rng_below(&rng, 64);
        unsigned b = (unsigned)fs_rng_below(&rng, 64);

        check_pair(fs_rng_next(&rng) >> a, fs_rng_next(&rng) >> b);
    }
}
END_TEST

START_TEST(result_may_be_an_operand)
{
    uint64_t x = 40;

    ck_assert(fs_u64_add(x, 2, &x));
    ck_assert_uint_eq(x, 42);
    ck_assert(fs_u64_mul(x, x, &x));
    ck_assert_uint_eq(x, 1764);
}
END_TEST

START_TEST(small_minimum)
{
    ck_assert_uint_eq(fs_u32_min(3, 4), 3);
    ck_assert_uint_eq(fs_u32_min(4, 3), 3);
    ck_assert_uint_eq(fs_u32_min(UINT32_MAX, UINT32_MAX), UINT32_MAX);
    ck_assert_uint_eq(fs_u32_min(0, UINT32_MAX), 0);
}
END_TEST

/* ---- arena ---- */

enum { N_PIECES = 150 };

typedef struct piece {
    unsigned char *p;
    size_t         len;
} piece_t;

static bool all_are(const piece_t *piece, unsigned char value)
{
    for (size_t k = 0; k < piece->len; ++k) {
        if (piece->p[k] != value) {
            return false;
        }
    }
    return true;
}

/* Mostly small, some of about a block, some of many. */
static size_t random_len(fs_rng_t *rng)
{
    static const size_t bounds[] = {1, 17, 200, 17000, 100000};
    size_t              bound    = bounds[fs_rng_below(rng, 5)];

    return (size_t)fs_rng_below(rng, bound);
}

static void fill_arena(fs_rng_t *rng, fs_arena_t *arena, piece_t *pieces)
{
    for (int k = 0; k < N_PIECES; ++k) {
        piece_t *piece = &pieces[k];

        piece->len = random_len(rng);
        piece->p   = fs_arena_calloc(arena, piece->len, 1);
        ck_assert_ptr_nonnull(piece->p);
        ck_assert_uint_eq((uintptr_t)piece->p % _Alignof(max_align_t), 0);
        ck_assert_msg(all_are(piece, 0), "piece %d is not zero", k);
        memset(piece->p, 1 + k % 255, piece->len);
    }
}

/* Memory is zero, aligned, nobody else's; also after fini, when the allocator
 * hands out the same dirty blocks. */
START_TEST(pieces_are_apart)
{
    static piece_t pieces[N_PIECES];
    fs_arena_t     arena = {0};
    fs_rng_t       rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int round = 0; round < 3; ++round) {
        fill_arena(&rng, &arena, pieces);
        for (int k = 0; k < N_PIECES; ++k) {
            ck_assert_msg(all_are(&pieces[k], (unsigned char)(1 + k % 255)),
                          "seed %d: piece %d was overwritten", _i, k);
        }
        fs_arena_fini(&arena);
    }
}
END_TEST

/* None of these reaches malloc(): the sizes do not fit in size_t. */
START_TEST(sizes_that_do_not_fit)
{
    fs_arena_t arena = {0};
    char      *p;

    for (int round = 0; round < 2; ++round) {
        ck_assert_ptr_null(fs_arena_calloc(&arena, SIZE_MAX / 2 + 1, 2));
        ck_assert_ptr_null(fs_arena_calloc(&arena, 8, SIZE_MAX / 8 + 1));
        ck_assert_ptr_null(fs_arena_calloc(&arena, SIZE_MAX, 1));
        ck_assert_ptr_null(fs_arena_calloc(&arena, 1, SIZE_MAX - 15));
        ck_assert_ptr_null(fs_arena_calloc(&arena, 1, SIZE_MAX - 16));
        p = fs_arena_calloc(&arena, 100, 1); /* a refusal breaks nothing */
        ck_assert_ptr_nonnull(p);
        memset(p, 1, 100);
    }
    fs_arena_fini(&arena);
}
END_TEST

/* n = 0 is no failure: callers compare with NULL. */
START_TEST(nothing_is_not_out_of_memory)
{
    fs_arena_t arena = {0};

    ck_assert_ptr_nonnull(fs_arena_calloc(&arena, 0, 8));
    ck_assert_ptr_nonnull(fs_arena_calloc(&arena, 8, 0));
    fs_arena_fini(&arena);
    fs_arena_fini(&arena); /* twice is fine */
}
END_TEST

/* ---- digests ---- */

/* The first outputs of splitmix64 from seed 0, as published. */
START_TEST(mix_is_splitmix64)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);

    ck_assert(fs_mix64(step) == UINT64_C(0xe220a8397b1dcdaf));
    ck_assert(fs_mix64(2 * step) == UINT64_C(0x6e789e6aa1b965f4));
    ck_assert(fs_digest_add(0, 0) == UINT64_C(0xe220a8397b1dcdaf));
}
END_TEST

/* Flipping bit _i of the word moves about half of the digest. */
START_TEST(every_bit_counts)
{
    fs_rng_t rng;
    int      moved = 0;

    fs_rng_init(&rng, 1);
    for (int k = 0; k < 100; ++k) {
        uint64_t d = fs_rng_next(&rng), w = fs_rng_next(&rng);
        uint64_t flip = fs_digest_add(d, w) ^
                        fs_digest_add(d, w ^ UINT64_C(1) << _i);

        ck_assert(flip != 0);
        moved += __builtin_popcountll(flip);
    }
    ck_assert_int_ge(moved, 2800);
    ck_assert_int_le(moved, 3600);
}
END_TEST

START_TEST(order_matters)
{
    uint64_t ab = fs_digest_add(fs_digest_add(0, 1), 2);
    uint64_t ba = fs_digest_add(fs_digest_add(0, 2), 1);

    ck_assert(ab != ba);
    ck_assert(fs_digest_add(0, 0) != 0);
    ck_assert(fs_digest_add(ab, 0) != ab); /* zeros are absorbed too */
}
END_TEST

/* The sum over a matrix differs from that of its transpose, of the matrix with
 * two counts exchanged, and with one count off by one. */
START_TEST(pair_sums_find_mistakes)
{
    uint64_t sum = 0, transposed = 0, swapped = 0, off = 0;
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (uint32_t s = 0; s < 16; ++s) {
        for (uint32_t d = 0; d < 16; ++d) {
            uint64_t bytes = fs_rng_below(&rng, 1000) + 2000 * (s * 16 + d);
            bool     first = s == 0 && d == 0;

            sum += fs_digest_pair(s, d, bytes);
            transposed += fs_digest_pair(d, s, bytes);
            swapped += fs_digest_pair(s, d ^ 1, bytes);
            off += fs_digest_pair(s, d, bytes + first);
        }
    }
    ck_assert(sum != transposed);
    ck_assert(sum != swapped);
    ck_assert(sum != off);
}
END_TEST

/* ---- status ---- */

START_TEST(every_status_has_a_text)
{
#define X(_name, _value, _text)      \
    ck_assert_int_eq(_name, _value); \
    ck_assert_str_eq(fs_strerror(_name), _text);
    FS_STATUS_MAP(X)
#undef X
    ck_assert_str_eq(fs_strerror((fs_status_t)-77), "unknown status");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arith");
    TCase *tcase = tcase_create("base");

    tcase_add_loop_test(tcase, edges_of_the_range, 0, N_EDGES);
    tcase_add_loop_test(tcase, random_pairs, 0, 4);
    tcase_add_test(tcase, result_may_be_an_operand);
    tcase_add_test(tcase, small_minimum);
    tcase_add_loop_test(tcase, pieces_are_apart, 0, 4);
    tcase_add_test(tcase, sizes_that_do_not_fit);
    tcase_add_test(tcase, nothing_is_not_out_of_memory);
    tcase_add_test(tcase, mix_is_splitmix64);
    tcase_add_loop_test(tcase, every_bit_counts, 0, 64);
    tcase_add_test(tcase, order_matters);
    tcase_add_loop_test(tcase, pair_sums_find_mistakes, 0, 8);
    tcase_add_test(tcase, every_status_has_a_text);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
