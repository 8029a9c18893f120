/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts and bundles: what is put in comes out, and rubbish is no bundle. */
#include "comm/fs_bundle.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 40, MAX_BYTES = 70000 };

typedef struct sender {
    uint64_t bytes[MAX_RANKS]; /* to each rank */
    char     part[MAX_BYTES + 4 + 2 * MAX_RANKS];
    uint32_t len;
} sender_t;

static char byte_of(uint32_t src, uint32_t dst, uint64_t k)
{
    return (char)(src * 61 + dst * 17 + k * 7 + (k >> 8));
}

/* To every other rank, backwards: positions are not ranks. */
static uint32_t rank_at(uint32_t n, uint32_t k)
{
    return 2 * (n - 1 - k);
}

static void fill(sender_t *s, uint32_t src, uint32_t n)
{
    uint32_t ranks[MAX_RANKS / 2];
    char    *at;

    for (uint32_t k = 0; k < n; ++k) {
        ranks[k] = rank_at(n, k);
    }
    s->len = fs_part_len(s->bytes, ranks, n);
    if (s->len == 0 || s->len == FS_PART_NONE) {
        return;
    }
    at = fs_part_begin(s->part, s->bytes, ranks, n);
    for (uint32_t k = 0; k < n; ++k) {
        for (uint64_t i = 0; i < s->bytes[ranks[k]]; ++i) {
            *at++ = byte_of(src, k, i);
        }
    }
    ck_assert_ptr_eq(at, s->part + s->len);
}

static void check(fs_bytes_t part, const sender_t *s, uint32_t src, uint32_t n)
{
    fs_bytes_t block;

    for (uint32_t k = 0; k < n; ++k) {
        ck_assert(fs_part_find(part, n, k, &block));
        ck_assert_uint_eq(block.len, s->bytes[rank_at(n, k)]);
        for (uint64_t i = 0; i < block.len; ++i) {
            ck_assert(block.at[i] == byte_of(src, k, i));
        }
    }
}

static void draw(fs_rng_t *rng, sender_t *s, uint32_t n)
{
    uint64_t most = 1 + fs_rng_below(rng, 2000);
    uint64_t each = fs_rng_below(rng, 3) == 0 ? fs_rng_below(rng, most) : most;

    for (uint32_t k = 0; k < n; ++k) {
        s->bytes[rank_at(n, k)] =
            each < most ? each : fs_rng_below(rng, 2) * fs_rng_below(rng, most);
    }
}

/* Cut anywhere into ranges, as lanes send them. */
static void copy_in_ranges(fs_rng_t *rng, const fs_bytes_t *pieces, uint32_t n,
                           uint64_t len, char *bundle)
{
    for (uint64_t from = 0, range; from < len; from += range) {
        range = 1 + fs_rng_below(rng, len - from);
        fs_bundle_copy(pieces, n, from, range, bundle + from);
    }
}

START_TEST(prop_what_goes_in_comes_out)
{
    fs_rng_t   rng;
    sender_t  *senders = fs_test_alloc(MAX_RANKS, sizeof(*senders));
    fs_bytes_t pieces[1 + MAX_RANKS], bundle = {NULL, 0}, part;
    uint32_t   ends[MAX_RANKS], n_src, n_dst;
    char      *memory;

    fs_rng_init(&rng, (uint64_t)_i);
    n_src     = 1 + (uint32_t)fs_rng_below(&rng, MAX_RANKS);
    n_dst     = 1 + (uint32_t)fs_rng_below(&rng, MAX_RANKS / 2);
    pieces[0] = (fs_bytes_t){(const char *)ends, fs_bundle_ends_len(n_src)};
    for (uint32_t s = 0; s < n_src; ++s) {
        draw(&rng, &senders[s], n_dst);
        fill(&senders[s], s, n_dst);
        bundle.len += senders[s].len;
        ends[s]       = (uint32_t)bundle.len;
        pieces[1 + s] = (fs_bytes_t){senders[s].part, senders[s].len};
    }
    bundle.len += pieces[0].len;
    memory = fs_test_alloc(bundle.len + 1, 1); /* at an odd address */
    copy_in_ranges(&rng, pieces, 1 + n_src, bundle.len, memory + 1);
    bundle.at = memory + 1;
    for (uint32_t s = 0; s < n_src; ++s) {
        ck_assert(fs_bundle_find(bundle, n_src, s, &part));
        check(part, &senders[s], s, n_dst);
    }
    free(memory);
    free(senders);
}
END_TEST

static const struct {
    uint32_t n;
    uint64_t bytes[3]; /* by rank: 0, 2, 4 */
    uint32_t len;
} lens[] = {
    {1, {0}, 0},
    {3, {0, 0, 0}, 0},
    {1, {7}, 4 + 7},
    {2, {8, 8}, 4 + 16},
    {2, {8, 9}, 4 + 4 + 17},
    {3, {0, 0, 1}, 4 + 6 + 1},
    {2, {0, 65535}, 4 + 4 + 65535},
    {2, {1, 65535}, FS_PART_NONE}, /* 16 bits do not count it */
    {2, {40000, 40000}, 4 + 80000},
    {1, {FS_PART_MAX}, 4 + (1 << 30)},
    {1, {FS_PART_MAX + 1}, FS_PART_NONE},
    {3, {UINT64_MAX, UINT64_MAX, 3}, FS_PART_NONE},
    {2, {UINT64_MAX, UINT64_MAX}, FS_PART_NONE},
};

START_TEST(lengths_are_known)
{
    static const uint32_t ranks[]  = {0, 2, 4};
    uint64_t              bytes[5] = {0};

    for (uint32_t k = 0; k < lens[_i].n; ++k) {
        bytes[ranks[k]] = lens[_i].bytes[k];
    }
    ck_assert_uint_eq(fs_part_len(bytes, ranks, lens[_i].n), lens[_i].len);
}
END_TEST

/* Whatever it is, nothing outside of it is read (ASan) or returned. */
START_TEST(rubbish_is_no_bundle)
{
    fs_rng_t   rng;
    fs_bytes_t bundle, part, block;
    char      *memory;

    fs_rng_init(&rng, (uint64_t)_i);
    bundle.len = fs_rng_below(&rng, 60);
    memory     = malloc(bundle.len + (bundle.len == 0));
    for (uint64_t k = 0; k < bundle.len; ++k) {
        memory[k] = (char)(fs_rng_below(&rng, 3) == 0 ? fs_rng_below(&rng, 256)
                                                      : fs_rng_below(&rng, 2));
    }
    bundle.at = memory;
    for (uint32_t k = 0; k < 6; ++k) {
        if (!fs_bundle_find(bundle, 6, k, &part)) {
            continue;
        }
        ck_assert(part.len <= bundle.len);
        for (uint32_t i = 0; i < 5; ++i) {
            if (fs_part_find(part, 5, i, &block) && block.len > 0) {
                ck_assert(block.at >= memory &&
                          block.at + block.len <= memory + bundle.len);
            }
        }
    }
    free(memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bundle");
    TCase *tcase = tcase_create("bundle");

    tcase_add_loop_test(tcase, prop_what_goes_in_comes_out, 0, 100);
    tcase_add_loop_test(tcase, lengths_are_known, 0,
                        sizeof(lens) / sizeof(lens[0]));
    tcase_add_loop_test(tcase, rubbish_is_no_bundle, 0, 500);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
