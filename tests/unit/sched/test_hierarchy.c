/* SPDX-License-Identifier: BSD-3-Clause */
/* Global subpermutations in two levels: the theorem, on any matrix. */
#include "fs_test_util.h"

#include "base/fs_arith.h"
#include "sched/balance/fs_balance.h"
#include "sched/papers/fs_hierarchy.h"

#include <stdlib.h>
#include <string.h>

/* The matrix that is sent: without what stays inside servers. */
static uint64_t *between_servers(const fs_topo_t *topo, const uint64_t *counts)
{
    uint32_t  n    = fs_topo_n_ranks(topo);
    uint64_t *sent = fs_test_alloc((size_t)n * n, sizeof(*sent));

    for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = 0; j < n; ++j) {
            if (fs_topo_server(topo, i) != fs_topo_server(topo, j)) {
                sent[i * n + j] = counts[i * n + j];
            }
        }
    }
    return sent;
}

/* The matrix after rowcol: what the ranks that serve lanes send each other. */
static uint64_t *balanced_matrix(const fs_topo_t *topo, const uint64_t *counts)
{
    uint32_t   n = fs_topo_n_ranks(topo), servers = fs_topo_n_servers(topo);
    fs_ports_t ports = fs_ports_one_each(topo);
    uint64_t  *sent  = fs_test_alloc((size_t)n * n, sizeof(*sent));

    for (uint32_t k = 0; k < servers * servers; ++k) {
        uint32_t     u = k / servers, w = k % servers;
        fs_arena_t   arena = {0};
        fs_tile_t    tile;
        fs_streams_t streams;

        if (u == w) {
            continue;
        }
        ck_assert(fs_tile_of_matrix(topo, &ports, counts, u, w, &arena,
                                    &tile) == FS_OK);
        ck_assert(fs_balance_tile(FS_BALANCE_ROWCOL, &tile, &arena, &streams) ==
                  FS_OK);
        for (uint32_t l = 0; l < tile.n_lanes; ++l) {
            uint32_t src = fs_topo_rank(topo, u, tile.src_proxy[l]);

            for (uint32_t s = streams.first[l]; s < streams.first[l + 1]; ++s) {
                const fs_extent_t *extent = &streams.extents[s];

                sent[src * n +
                     fs_topo_rank(topo, w, tile.dst_proxy[extent->dst_lane])] +=
                    extent->len_bytes;
            }
        }
        fs_arena_fini(&arena);
    }
    return sent;
}

/* Largest row or column sum of what server u sends server w. */
static uint64_t scale_of(const fs_topo_t *topo, const uint64_t *sent,
                         uint32_t u, uint32_t w)
{
    uint32_t n     = fs_topo_n_ranks(topo);
    uint64_t scale = 0;

    for (uint32_t i = 0; i < n; ++i) {
        uint64_t row = 0, col = 0;

        for (uint32_t j = 0; j < n; ++j) {
            if (fs_topo_server(topo, i) == u && fs_topo_server(topo, j) == w) {
                row += sent[i * n + j];
            }
            if (fs_topo_server(topo, j) == u && fs_topo_server(topo, i) == w) {
                col += sent[j * n + i];
            }
        }
        scale = fs_u64_max(scale, fs_u64_max(row, col));
    }
    return scale;
}

/* DHBvN equation 11. */
static uint64_t equation_11(const fs_topo_t *topo, const uint64_t *sent)
{
    uint32_t servers = fs_topo_n_servers(topo);
    uint64_t most    = 0;

    for (uint32_t u = 0; u < servers; ++u) {
        uint64_t row = 0, col = 0;

        for (uint32_t w = 0; w < servers; ++w) {
            row += u == w ? 0 : scale_of(topo, sent, u, w);
            col += u == w ? 0 : scale_of(topo, sent, w, u);
        }
        most = fs_u64_max(most, fs_u64_max(row, col));
    }
    return most;
}

/* No rank sends, or receives, two things at a time. Transfers come by start, so
 * a rank's next one starts when its last one has ended. */
static void check_one_to_one(const fs_hierarchy_t *h)
{
    uint64_t *sends_until = fs_test_alloc(h->n_ranks, sizeof(*sends_until));
    uint64_t *hears_until = fs_test_alloc(h->n_ranks, sizeof(*hears_until));

    for (size_t k = 0; k < h->n_transfers; ++k) {
        const fs_transfer_t *t = &h->transfers[k];

        ck_assert(t->bytes != 0);
        ck_assert(t->src < h->n_ranks && t->dst < h->n_ranks);
        ck_assert(k == 0 || t[-1].start < t->start ||
                  (t[-1].start == t->start && t[-1].src < t->src));
        ck_assert(t->start >= sends_until[t->src]);
        ck_assert(t->start >= hears_until[t->dst]);
        sends_until[t->src] = hears_until[t->dst] = t->start + t->bytes;
        ck_assert(t->start + t->bytes <= h->total);
    }
    free(sends_until);
    free(hears_until);
}

/* While a server sends to another, it sends to none else, and so for receiving:
 * at the start of each transfer, look at all that run. */
static void check_servers(const fs_topo_t *topo, const fs_hierarchy_t *h)
{
    for (size_t k = 0; k < h->n_transfers; ++k) {
        const fs_transfer_t *t = &h->transfers[k];
        uint32_t             u = fs_topo_server(topo, t->src);
        uint32_t             w = fs_topo_server(topo, t->dst);

        for (size_t m = k; m-- > 0 && k - m < 200;) {
            const fs_transfer_t *s = &h->transfers[m];

            if (s->start + s->bytes > t->start) {
                ck_assert((fs_topo_server(topo, s->src) == u) ==
                          (fs_topo_server(topo, s->dst) == w));
            }
        }
    }
}

/* All that is sent, and nothing else. */
static void check_sum(const fs_hierarchy_t *h, const uint64_t *sent)
{
    size_t    n   = h->n_ranks;
    uint64_t *sum = fs_test_alloc(n * n, sizeof(*sum));

    for (size_t k = 0; k < h->n_transfers; ++k) {
        sum[h->transfers[k].src * n + h->transfers[k].dst] +=
            h->transfers[k].bytes;
    }
    ck_assert(memcmp(sum, sent, n * n * sizeof(*sum)) == 0);
    free(sum);
}

static uint64_t largest_line(const uint64_t *sent, uint32_t n)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < n; ++i) {
        uint64_t row = 0, col = 0;

        for (uint32_t j = 0; j < n; ++j) {
            row += sent[i * n + j];
            col += sent[j * n + i];
        }
        most = fs_u64_max(most, fs_u64_max(row, col));
    }
    return most;
}

/* Theorem 4: a sum of subpermutations that is the matrix and as long as
 * equation 11 says. */
static void check_theorem(const fs_topo_t *topo, const uint64_t *counts,
                          bool balanced)
{
    uint64_t       *sent = balanced ? balanced_matrix(topo, counts)
                                    : between_servers(topo, counts);
    fs_hierarchy_t *h    = NULL;

    ck_assert(fs_hierarchy_create(topo, balanced, counts, &h) == FS_OK);
    ck_assert(h->n_ranks == fs_topo_n_ranks(topo));
    ck_assert(h->total == equation_11(topo, sent));
    ck_assert(h->lower_bound == largest_line(sent, h->n_ranks));
    ck_assert(h->lower_bound <= h->total);
    ck_assert((h->n_stages == 0) == (h->n_transfers == 0));
    ck_assert(h->n_stages <= h->total);
    check_one_to_one(h);
    check_servers(topo, h);
    check_sum(h, sent);
    fs_hierarchy_destroy(h);
    free(sent);
}

START_TEST(prop_theorem_4)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 25; ++k) {
        fs_topo_t *topo   = fs_test_topo_random(&rng, 5, 4);
        uint32_t   n      = fs_topo_n_ranks(topo);
        uint64_t  *counts = fs_test_alloc((size_t)n * n, sizeof(*counts));
        uint64_t   mean   = UINT64_C(1) << fs_rng_below(&rng, 40);

        fs_test_counts(&rng,
                       (fs_test_shape_t)fs_rng_below(&rng, FS_TEST_SHAPES),
                       mean, n, counts);
        check_theorem(topo, counts, true);
        check_theorem(topo, counts, false);
        free(counts);
        fs_topo_destroy(topo);
    }
}
END_TEST

/* ---- DHBvN §III-C ---- */

enum { SERVERS = 3, LANES = 2, RANKS = SERVERS * LANES };

static fs_topo_t *example_topo(void)
{
    static const uint32_t server_of[RANKS] = {0, 0, 1, 1, 2, 2};
    fs_topo_t            *topo             = NULL;

    ck_assert_int_eq(fs_topo_create(RANKS, server_of, 0, &topo), FS_OK);
    return topo;
}

static void fill_example(uint64_t bytes, uint64_t *counts)
{
    for (uint32_t i = 0; i < RANKS; ++i) {
        for (uint32_t j = 0; j < RANKS; ++j) {
            counts[i * RANKS + j] = i / LANES == j / LANES ? 77 : bytes;
        }
    }
}

/* Every block is all ones: two permutations of length 1. The scales are 2 off
 * the diagonal, 4 in a line, and so 4 global permutations make it, in each of
 * which all 6 lanes send. The balance changes nothing. */
START_TEST(example_of_the_paper)
{
    fs_topo_t      *topo = example_topo();
    uint64_t        counts[RANKS * RANKS];
    fs_hierarchy_t *h = NULL;

    fill_example(1, counts);
    ck_assert_int_eq(fs_hierarchy_create(topo, _i == 1, counts, &h), FS_OK);
    ck_assert_uint_eq(h->total, 4);
    ck_assert_uint_eq(h->lower_bound, 4);
    ck_assert_uint_eq(h->n_stages, 4);
    ck_assert_uint_eq(h->n_transfers, 4 * RANKS);
    for (size_t k = 0; k < h->n_transfers; ++k) {
        const fs_transfer_t *t = &h->transfers[k], *first = t - k % RANKS;

        ck_assert_uint_eq(t->bytes, 1);
        ck_assert_uint_eq(t->start, k / RANKS);
        ck_assert_uint_eq(t->src, k % RANKS);
        /* All servers are the same number of servers further. */
        ck_assert_uint_eq((t->dst / LANES + SERVERS - t->src / LANES) % SERVERS,
                          (first->dst / LANES + SERVERS - first->src / LANES) %
                              SERVERS);
    }
    fs_hierarchy_destroy(h);
    fs_topo_destroy(topo);
}
END_TEST

/* The same a million times over: as many stages, each as much longer. */
START_TEST(stages_do_not_grow_with_bytes)
{
    fs_topo_t      *topo = example_topo();
    uint64_t        counts[RANKS * RANKS];
    fs_hierarchy_t *h = NULL;

    fill_example(1000000, counts);
    ck_assert_int_eq(fs_hierarchy_create(topo, false, counts, &h), FS_OK);
    ck_assert_uint_eq(h->total, 4000000);
    ck_assert_uint_eq(h->n_stages, 4);
    fs_hierarchy_destroy(h);
    fs_topo_destroy(topo);
}
END_TEST

/* All of each server pair's bytes from one rank to one rank (model NU): balance
 * makes it as short as there are lanes. */
START_TEST(balance_shortens_hot_spots)
{
    fs_topo_t      *topo                  = example_topo();
    uint64_t        counts[RANKS * RANKS] = {0};
    fs_hierarchy_t *plain = NULL, *balanced = NULL;

    for (uint32_t i = 0; i < RANKS; i += LANES) {
        for (uint32_t j = 0; j < RANKS; j += LANES) {
            counts[i * RANKS + j] = 1000;
        }
    }
    ck_assert_int_eq(fs_hierarchy_create(topo, false, counts, &plain), FS_OK);
    ck_assert_int_eq(fs_hierarchy_create(topo, true, counts, &balanced), FS_OK);
    ck_assert_uint_eq(plain->total, 2000);
    ck_assert_uint_eq(balanced->total, 1000);
    fs_hierarchy_destroy(plain);
    fs_hierarchy_destroy(balanced);
    fs_topo_destroy(topo);
}
END_TEST

/* One server, or nothing to send: nothing, but not an error. */
START_TEST(nothing_to_send)
{
    static const uint32_t server_of[] = {0, 0};
    static const uint64_t inside[]    = {1, 2, 3, 4};
    static const uint64_t none[RANKS * RANKS];
    fs_topo_t            *one = NULL, *three = example_topo();
    fs_hierarchy_t       *h = NULL;

    ck_assert_int_eq(fs_topo_create(2, server_of, 0, &one), FS_OK);
    for (int k = 0; k < 4; ++k) {
        ck_assert_int_eq(fs_hierarchy_create(k < 2 ? one : three, k % 2 == 1,
                                             k < 2 ? inside : none, &h),
                         FS_OK);
        ck_assert_uint_eq(h->total, 0);
        ck_assert_uint_eq(h->n_stages, 0);
        ck_assert_uint_eq(h->n_transfers, 0);
        fs_hierarchy_destroy(h);
    }
    fs_topo_destroy(one);
    fs_topo_destroy(three);
    fs_hierarchy_destroy(NULL);
}
END_TEST

/* Too much in a block, and too much in a line of scales. */
START_TEST(too_many_bytes)
{
    fs_topo_t      *topo                  = example_topo();
    uint64_t        counts[RANKS * RANKS] = {0};
    fs_hierarchy_t *h                     = NULL;

    counts[2] = UINT64_C(1) << 62;
    counts[3] = 1;
    ck_assert_int_eq(fs_hierarchy_create(topo, _i == 1, counts, &h),
                     FS_ERR_OVERFLOW);
    counts[3] = 0;
    counts[4] = UINT64_C(1) << 62;
    ck_assert_int_eq(fs_hierarchy_create(topo, false, counts, &h),
                     FS_ERR_OVERFLOW);
    ck_assert_ptr_null(h);
    /* Two lanes halve it. */
    ck_assert_int_eq(fs_hierarchy_create(topo, true, counts, &h), FS_OK);
    ck_assert_uint_eq(h->total, UINT64_C(1) << 62);
    fs_hierarchy_destroy(h);
    fs_topo_destroy(topo);
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("hierarchy");
    TCase *random = tcase_create("random");
    TCase *hand   = tcase_create("by hand");

    tcase_add_loop_test(random, prop_theorem_4, 0, 40);
    tcase_add_loop_test(hand, example_of_the_paper, 0, 2);
    tcase_add_test(hand, stages_do_not_grow_with_bytes);
    tcase_add_test(hand, balance_shortens_hot_spots);
    tcase_add_test(hand, nothing_to_send);
    tcase_add_loop_test(hand, too_many_bytes, 0, 2);
    suite_add_tcase(suite, random);
    suite_add_tcase(suite, hand);
    return fs_test_run(suite);
}
