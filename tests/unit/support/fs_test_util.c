/* SPDX-License-Identifier: BSD-3-Clause */
#include "fs_test_util.h"

#include "sched/model/fs_ports.h"
#include "sched/model/fs_topo.h"
#include "sched/papers/fs_papers.h"

#include <stdlib.h>

void *fs_test_alloc(size_t n, size_t elem_bytes)
{
    void *p = calloc(n + (n == 0), elem_bytes);

    ck_assert_ptr_nonnull(p);
    return p;
}

/* Any order of the ranks: Fisher and Yates. */
static void shuffle(fs_rng_t *rng, uint32_t *a, uint32_t n)
{
    for (uint32_t i = n; i > 1; --i) {
        uint32_t j = (uint32_t)fs_rng_below(rng, i);
        uint32_t x = a[i - 1];

        a[i - 1] = a[j];
        a[j]     = x;
    }
}

/* As NICs may have it: some of the ranks of each server, in order. rng is a
 * copy, so that what is drawn after does not change. */
static void random_proxies(fs_rng_t rng, fs_topo_t *topo)
{
    for (uint32_t s = 0; s < fs_topo_n_servers(topo); ++s) {
        uint32_t  n = fs_topo_n_local(topo, s), n_lanes = 0;
        uint32_t *proxy = fs_test_alloc(n, sizeof(*proxy));

        for (uint32_t i = 0; i < n; ++i) {
            if (fs_rng_below(&rng, 2) == 0 || (i == n - 1 && n_lanes == 0)) {
                proxy[n_lanes++] = i;
            }
        }
        fs_topo_set_lanes(topo, s, n_lanes, proxy);
        free(proxy);
    }
    fs_ports_set_width(topo);
}

fs_topo_t *fs_test_topo_random(fs_rng_t *rng, uint32_t max_servers,
                               uint32_t max_local)
{
    uint32_t   n_servers = 1 + (uint32_t)fs_rng_below(rng, max_servers);
    uint32_t  *label     = fs_test_alloc((size_t)max_servers * max_local, 4);
    uint32_t   even      = 1 + (uint32_t)fs_rng_below(rng, max_local);
    bool       uneven    = fs_rng_below(rng, 3) != 0;
    uint32_t   lanes     = (uint32_t)fs_rng_below(rng, max_local + 1);
    uint32_t   n         = 0;
    fs_topo_t *topo      = NULL;

    for (uint32_t s = 0; s < n_servers; ++s) {
        uint32_t m = uneven ? 1 + (uint32_t)fs_rng_below(rng, max_local) : even;

        while (m-- > 0) {
            label[n++] = 1000003 * (n_servers - s); /* labels are any number */
        }
    }
    if (fs_rng_below(rng, 2) == 0) {
        shuffle(rng, label, n);
    }
    ck_assert_int_eq(fs_topo_create(n, label, lanes, &topo), FS_OK);
    if (lanes % 4 == 3) {
        random_proxies(*rng, topo);
    }
    free(label);
    return topo;
}

static uint64_t draw(fs_rng_t *rng, fs_test_shape_t shape, uint64_t mean)
{
    switch (shape) {
    case FS_TEST_UNIFORM:
    case FS_TEST_ZERO_ROWS:
        return fs_rng_below(rng, 2 * mean + 1);
    case FS_TEST_SKEWED:
        return fs_rng_below(rng, 8) == 0 ? fs_rng_below(rng, 12 * mean + 1)
                                         : fs_rng_below(rng, mean / 8 + 2);
    case FS_TEST_BALANCED:
        return mean;
    case FS_TEST_TINY:
        return fs_rng_below(rng, 3);
    case FS_TEST_ONE_PAIR:
    case FS_TEST_EMPTY:
    case FS_TEST_SHAPES:
        break;
    }
    return 0;
}

static void clear_lines(fs_rng_t *rng, uint32_t n, uint64_t *counts)
{
    for (uint32_t r = 0; r < n; ++r) {
        bool row = fs_rng_below(rng, 3) == 0, col = fs_rng_below(rng, 3) == 0;

        for (uint32_t k = 0; k < n; ++k) {
            if (row) {
                counts[(size_t)r * n + k] = 0;
            }
            if (col) {
                counts[(size_t)k * n + r] = 0;
            }
        }
    }
}

void fs_test_counts(fs_rng_t *rng, fs_test_shape_t shape, uint64_t mean_bytes,
                    uint32_t n_ranks, uint64_t *counts)
{
    size_t cells = (size_t)n_ranks * n_ranks;

    for (size_t k = 0; k < cells; ++k) {
        counts[k] = draw(rng, shape, mean_bytes);
    }
    if (shape == FS_TEST_ZERO_ROWS) {
        clear_lines(rng, n_ranks, counts);
    }
    if (shape == FS_TEST_ONE_PAIR) {
        counts[fs_rng_below(rng, cells)] = 1 +
                                           fs_rng_below(rng, 20 * mean_bytes);
    }
}

static uint64_t busiest_rank(const fs_topo_t *topo, const uint64_t *counts)
{
    uint32_t n    = fs_topo_n_ranks(topo);
    uint64_t most = 0;

    for (uint32_t r = 0; r < n; ++r) {
        uint64_t sent = 0, received = 0;

        for (uint32_t k = 0; k < n; ++k) {
            if (fs_topo_server(topo, r) != fs_topo_server(topo, k)) {
                sent += counts[(size_t)r * n + k];
                received += counts[(size_t)k * n + r];
            }
        }
        most = fs_u64_max(most, fs_u64_max(sent, received));
    }
    return most;
}

fs_traffic_t fs_test_traffic(const fs_topo_t *topo, const uint64_t *counts)
{
    uint32_t     n = fs_topo_n_ranks(topo), s = fs_topo_n_servers(topo);
    fs_traffic_t traffic = {.n_servers = s,
                            .bytes     = fs_test_alloc((size_t)s * s, 8),
                            .max_inter = busiest_rank(topo, counts)};

    for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = 0; j < n; ++j) {
            traffic.bytes[(size_t)fs_topo_server(topo, i) * s +
                          fs_topo_server(topo, j)] += counts[(size_t)i * n + j];
        }
    }
    ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
    return traffic;
}

void fs_test_traffic_fini(fs_traffic_t *traffic)
{
    free(traffic->bytes);
    traffic->bytes = NULL;
}

static fs_plan_params_t random_params(fs_rng_t *rng)
{
    /* Half of all cases staged: it has the most to choose from. */
    static const fs_alg_t algs[]   = {FS_ALG_STAGED, FS_ALG_MAP(FS_LIST_VALUE)};
    static const uint64_t chunks[] = {64, 100, 256, 1000, 4096};
    uint64_t              chunk    = chunks[fs_rng_below(rng, 5)];
    uint64_t              slots    = fs_rng_below(rng, 2) == 0
                                         ? 12 /* the least that is allowed */
                                         : 12 + fs_rng_below(rng, 200);

    return (fs_plan_params_t){
        .algorithm = algs[fs_rng_below(rng, sizeof(algs) / sizeof(algs[0]))],
        .force_algorithm = true,
        .balance         = (fs_balance_t)fs_rng_below(rng, FS_N_ALL_BALANCES),
        .decompose = (fs_decompose_t)fs_rng_below(rng, FS_N_ALL_DECOMPOSITIONS),
        .chunk     = chunk,
        .window    = 1 + (uint32_t)fs_rng_below(rng, 8),
        .staging_limit = chunk * slots,
        .stage_cost    = fs_rng_below(rng, 4 * chunk),
    };
}

void fs_test_case_init(fs_test_case_t *tc, uint64_t seed)
{
    *tc = (fs_test_case_t){0};
    fs_rng_init(&tc->rng, seed);
    tc->topo    = fs_test_topo_random(&tc->rng, 5, 4);
    tc->n_ranks = fs_topo_n_ranks(tc->topo);
    tc->counts  = fs_test_alloc((size_t)tc->n_ranks * tc->n_ranks, 8);
    tc->params  = random_params(&tc->rng);
    fs_test_case_redraw(tc);
}

void fs_test_case_redraw(fs_test_case_t *tc)
{
    fs_test_shape_t shape =
        (fs_test_shape_t)fs_rng_below(&tc->rng, FS_TEST_SHAPES);
    uint64_t mean = 1 + fs_rng_below(&tc->rng, 4 * tc->params.chunk);

    fs_test_counts(&tc->rng, shape, mean, tc->n_ranks, tc->counts);
    fs_test_traffic_fini(&tc->traffic);
    tc->traffic = fs_test_traffic(tc->topo, tc->counts);
}

void fs_test_case_fini(fs_test_case_t *tc)
{
    fs_topo_destroy(tc->topo);
    fs_test_traffic_fini(&tc->traffic);
    free(tc->counts);
}

void fs_test_local_rows(const fs_topo_t *topo, const uint64_t *counts,
                        uint32_t rank, uint64_t *send, uint64_t *recv)
{
    uint32_t n = fs_topo_n_ranks(topo), server = fs_topo_server(topo, rank);

    for (uint32_t i = 0; i < fs_topo_n_local(topo, server); ++i) {
        uint32_t r = fs_topo_rank(topo, server, i);

        for (uint32_t k = 0; k < n; ++k) {
            send[(size_t)i * n + k] = counts[(size_t)r * n + k];
            recv[(size_t)i * n + k] = counts[(size_t)k * n + r];
        }
    }
}

fs_counts_t fs_test_call_counts(const fs_topo_t *topo, uint32_t rank,
                                const uint64_t *send, const uint64_t *recv)
{
    fs_counts_t counts;

    ck_assert_int_eq(fs_counts_init(&counts, topo->n_ranks, rank), FS_OK);
    fs_counts_begin(&counts, topo);
    for (uint32_t r = 0; r < topo->n_ranks; ++r) {
        fs_counts_add(&counts, r, send[r], recv[r]);
    }
    return counts;
}

fs_status_t fs_test_plan(const fs_test_case_t *tc, uint32_t rank,
                         bool send_packed, bool recv_packed, fs_plan_t **plan_p)
{
    uint32_t    server = fs_topo_server(tc->topo, rank);
    size_t      cells = (size_t)fs_topo_n_local(tc->topo, server) * tc->n_ranks;
    uint64_t   *send  = fs_test_alloc(2 * cells, sizeof(*send));
    uint64_t   *recv  = send + cells;
    fs_status_t status;

    fs_local_traffic_t local = {send, recv, send_packed, recv_packed};

    *plan_p = NULL;
    fs_test_local_rows(tc->topo, tc->counts, rank, send, recv);
    status = fs_plan_create(tc->params.algorithm, tc->topo, &tc->traffic,
                            &tc->params, rank, &local, plan_p);
    free(send);
    return status;
}

int fs_test_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int      failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

uint32_t fs_test_log2_up(uint32_t n)
{
    uint32_t k = 0;

    while ((UINT64_C(1) << k) < n) {
        ++k;
    }
    return k;
}
