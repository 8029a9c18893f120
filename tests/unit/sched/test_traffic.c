/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of the server matrix, the lower bound and the skew that follow. */
#include "sched/model/fs_traffic.h"
#include "sched/model/fs_rng.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST (UINT64_C(1) << 62)

enum { MAX_SERVERS = 12, MAX_LOCAL = 6 };

static uint64_t matrix[MAX_SERVERS * MAX_SERVERS];

static fs_topo_t *create(uint32_t n, const uint32_t *server_of, uint32_t lanes)
{
    fs_topo_t *topo = NULL;

    ck_assert_int_eq(fs_topo_create(n, server_of, lanes, &topo), FS_OK);
    return topo;
}

/* n_servers servers of n_local consecutive ranks. */
static fs_topo_t *even(uint32_t n_servers, uint32_t n_local)
{
    uint32_t label[256];

    for (uint32_t r = 0; r < n_servers * n_local; ++r) {
        label[r] = r / n_local;
    }
    return create(n_servers * n_local, label, 0);
}

static fs_traffic_t clear(uint32_t n_servers)
{
    memset(matrix, 0, sizeof(matrix));
    return (fs_traffic_t){.n_servers = n_servers, .bytes = matrix};
}

/* ---- sums ---- */

START_TEST(sums_by_hand)
{
    static const uint64_t bytes[] = {1,      20,      300,      4000,     50000,
                                     600000, 7000000, 80000000, 900000000};
    fs_traffic_t          traffic = clear(3);

    memcpy(matrix, bytes, sizeof(bytes));
    ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
    ck_assert_uint_eq(traffic.total_bytes, 987654321);
    ck_assert_uint_eq(traffic.inter_bytes, 87604320);
}
END_TEST

START_TEST(zero_traffic)
{
    fs_topo_t   *topo    = even(3, 2);
    fs_traffic_t traffic = clear(3);

    ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
    ck_assert_uint_eq(traffic.total_bytes, 0);
    ck_assert_uint_eq(traffic.inter_bytes, 0);
    ck_assert_uint_eq(fs_traffic_lower_bound(topo, &traffic), 0);
    ck_assert_uint_eq(fs_traffic_mtm_milli(topo, &traffic), 0);
    fs_topo_destroy(topo);
}
END_TEST

/* Bytes that stay inside servers cost the slow network nothing. */
START_TEST(diagonal_is_free)
{
    fs_topo_t   *topo    = even(3, 2);
    fs_traffic_t traffic = clear(3);

    matrix[0] = matrix[4] = matrix[8] = 1000000;
    ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
    ck_assert_uint_eq(traffic.total_bytes, 3000000);
    ck_assert_uint_eq(traffic.inter_bytes, 0);
    ck_assert_uint_eq(fs_traffic_lower_bound(topo, &traffic), 0);
    ck_assert_uint_eq(fs_traffic_mtm_milli(topo, &traffic), 0);
    fs_topo_destroy(topo);
}
END_TEST

static fs_status_t sum_of(uint64_t a, uint64_t b, uint64_t c)
{
    fs_traffic_t traffic = clear(2);
    fs_status_t  status;

    matrix[0] = a; /* the diagonal counts towards the limit, too */
    matrix[1] = b;
    matrix[2] = c;
    status    = fs_traffic_sum(&traffic);
    ck_assert(status != FS_OK || traffic.total_bytes == a + b + c);
    ck_assert(status != FS_OK || traffic.inter_bytes == b + c);
    return status;
}

START_TEST(sums_past_the_limit)
{
    ck_assert_int_eq(sum_of(0, LARGEST, 0), FS_OK);
    ck_assert_int_eq(sum_of(LARGEST, 0, 0), FS_OK);
    ck_assert_int_eq(sum_of(LARGEST / 2, LARGEST / 4, LARGEST / 4), FS_OK);
    ck_assert_int_eq(sum_of(0, LARGEST + 1, 0), FS_ERR_OVERFLOW);
    ck_assert_int_eq(sum_of(1, 0, LARGEST), FS_ERR_OVERFLOW);
    ck_assert_int_eq(sum_of(LARGEST, 1, 0), FS_ERR_OVERFLOW);
    ck_assert_int_eq(sum_of(LARGEST, LARGEST, 0), FS_ERR_OVERFLOW);
    ck_assert_int_eq(sum_of(UINT64_MAX, 0, 0), FS_ERR_OVERFLOW);
    /* would wrap to small numbers */
    ck_assert_int_eq(sum_of(1, UINT64_MAX, 0), FS_ERR_OVERFLOW);
    ck_assert_int_eq(sum_of(LARGEST, 0, UINT64_MAX), FS_ERR_OVERFLOW);
    ck_assert_int_eq(sum_of(1, 2, UINT64_MAX - 2), FS_ERR_OVERFLOW);
}
END_TEST

/* ---- lower bound ---- */

static fs_topo_t *random_topo(fs_rng_t *rng)
{
    uint32_t label[MAX_SERVERS * MAX_LOCAL];
    uint32_t n_servers = 1 + (uint32_t)fs_rng_below(rng, MAX_SERVERS);
    uint32_t n         = 0;

    for (uint32_t s = 0; s < n_servers; ++s) {
        uint32_t n_local = 1 + (uint32_t)fs_rng_below(rng, MAX_LOCAL);

        while (n_local-- > 0) {
            label[n++] = s;
        }
    }
    return create(n, label, (uint32_t)fs_rng_below(rng, MAX_LOCAL + 1));
}

/* Could every server send and receive its bytes if each lane carried at most
 * `bound` of them? */
static bool enough(const fs_topo_t *topo, fs_u128_t bound)
{
    uint32_t n = fs_topo_n_servers(topo);

    for (uint32_t u = 0; u < n; ++u) {
        fs_u128_t sent = 0, received = 0;

        for (uint32_t w = 0; w < n; ++w) {
            sent += u == w ? 0 : matrix[u * n + w];
            received += u == w ? 0 : matrix[w * n + u];
        }
        if (sent > bound * fs_topo_n_lanes(topo, u) ||
            received > bound * fs_topo_n_lanes(topo, u)) {
            return false;
        }
    }
    return true;
}

/* The bound is the least number that is enough. */
START_TEST(prop_lower_bound_is_tight)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 200; ++k) {
        fs_topo_t   *topo    = random_topo(&rng);
        uint32_t     n       = fs_topo_n_servers(topo);
        fs_traffic_t traffic = clear(n);
        uint64_t     mask    = UINT64_MAX >> (10 + fs_rng_below(&rng, 54));
        uint64_t     bound;

        for (uint32_t c = 0; c < n * n; ++c) {
            matrix[c] = fs_rng_below(&rng, 4) ? fs_rng_next(&rng) & mask : 0;
        }
        ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
        bound = fs_traffic_lower_bound(topo, &traffic);
        ck_assert_msg(enough(topo, bound), "seed %d, round %d", _i, k);
        ck_assert_msg(bound == 0 || !enough(topo, bound - 1),
                      "seed %d, round %d", _i, k);
        fs_topo_destroy(topo);
    }
}
END_TEST

/* Columns are summed up in blocks: the busiest receiver is in any of them. */
START_TEST(lower_bound_of_many_servers)
{
    enum { MANY = 1100 };
    uint32_t    *label   = calloc(MANY, sizeof(*label));
    uint64_t    *bytes   = calloc((size_t)MANY * MANY, sizeof(*bytes));
    fs_traffic_t traffic = {.n_servers = MANY, .bytes = bytes};
    fs_topo_t   *topo;

    for (uint32_t k = 0; k < MANY; ++k) {
        label[k] = k;
    }
    topo = create(MANY, label, 0);
    for (uint32_t w = 0; w < MANY; w += 37) {
        for (uint32_t u = 0; u < MANY; ++u) {
            bytes[(size_t)u * MANY + w] = 1 + w; /* to itself as well */
        }
        ck_assert_uint_eq(fs_traffic_lower_bound(topo, &traffic),
                          (uint64_t)(MANY - 1) * (1 + w));
        ck_assert_uint_eq(fs_traffic_busiest(topo, &traffic).cell, 1 + w);
    }
    fs_topo_destroy(topo);
    free(bytes);
    free(label);
}
END_TEST

START_TEST(lower_bound_by_hand)
{
    static const uint32_t label[] = {0, 0, 0, 0, 1, 1, 2};
    fs_topo_t            *topo    = create(7, label, 0); /* 4, 2, 1 lanes */
    fs_traffic_t          traffic = clear(3);
    fs_busiest_t          busiest;

    matrix[1] = 400; /* 0 to 1: 100 a lane sent, 200 a lane received */
    ck_assert_uint_eq(fs_traffic_lower_bound(topo, &traffic), 200);
    matrix[2] = 201; /* 0 to 2: one lane receives */
    ck_assert_uint_eq(fs_traffic_lower_bound(topo, &traffic), 201);
    matrix[3] = 403; /* 1 to 0: rounded up */
    ck_assert_uint_eq(fs_traffic_lower_bound(topo, &traffic), 202);
    matrix[4] = 404; /* inside a server: the largest cell, no line */
    busiest   = fs_traffic_busiest(topo, &traffic);
    ck_assert_uint_eq(busiest.per_lane, 202);
    ck_assert_uint_eq(busiest.cell, 404);
    ck_assert_uint_eq(busiest.bytes, 403); /* of 2 ranks, not 601 of 4 */
    ck_assert_uint_eq(busiest.n_ranks, 2);
    matrix[1] = LARGEST - 604; /* all sums are 2^62 and below */
    ck_assert_uint_eq(fs_traffic_lower_bound(topo, &traffic),
                      (LARGEST - 604) / 2);
    fs_topo_destroy(topo);
}
END_TEST

/* ---- skew ---- */

static const struct {
    uint32_t n_servers, n_local;
    uint64_t max_inter, inter_bytes, milli;
} mtm[] = {
    {2, 2, 100, 400, 1000}, /* all ranks alike */
    {2, 2, 400, 400, 4000}, /* one rank does it all */
    {4, 4, 55, 400, 2200},  /* SABRE's threshold */
    {4, 4, 54, 400, 2160},
    {2, 2, 1, 7, 571}, /* 571.4, rounded down */
    {2, 2, 5, 3, 6666},
    {1, 2, 0, 0, 0},
    {2, 2, 7, 0, 0}, /* nothing is sent: no division by zero */
    {2, 2, 0, 5, 0},
    /* products past 64 bits */
    {2, 2, LARGEST, LARGEST, 4000},
    {8, 32, LARGEST / 2, LARGEST, 128000},
    {8, 32, LARGEST - 1, LARGEST, 255999},
};
#define N_MTM ((int)(sizeof(mtm) / sizeof(mtm[0])))

START_TEST(mtm_by_hand)
{
    fs_topo_t   *topo    = even(mtm[_i].n_servers, mtm[_i].n_local);
    fs_traffic_t traffic = {.n_servers   = mtm[_i].n_servers,
                            .bytes       = matrix,
                            .inter_bytes = mtm[_i].inter_bytes,
                            .max_inter   = mtm[_i].max_inter};

    ck_assert_uint_eq(fs_traffic_mtm_milli(topo, &traffic), mtm[_i].milli);
    fs_topo_destroy(topo);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("traffic");
    TCase *tcase = tcase_create("traffic");

    tcase_add_test(tcase, sums_by_hand);
    tcase_add_test(tcase, zero_traffic);
    tcase_add_test(tcase, diagonal_is_free);
    tcase_add_test(tcase, sums_past_the_limit);
    tcase_add_loop_test(tcase, prop_lower_bound_is_tight, 0, 20);
    tcase_add_test(tcase, lower_bound_by_hand);
    tcase_add_test(tcase, lower_bound_of_many_servers);
    tcase_add_loop_test(tcase, mtm_by_hand, 0, N_MTM);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
