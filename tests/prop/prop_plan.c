/* SPDX-License-Identifier: BSD-3-Clause */
/* Any call on any small cluster, every algorithm: the programs of all ranks,
 * proved by fs_plan_check(), equal whoever makes them. */
#include "fs_test_util.h"
#include "sched/balance/fs_balance.h"
#include "sched/plan/fs_plan_check.h"
#include "sched/papers/fs_papers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 50 }; /* cases of one test: a process each would take longer */

/* How a rank's buffers lie; each rank of a call has its own. */
typedef struct layout {
    bool send_packed;
    bool recv_packed;
} layout_t;

/* All plans of one call. */
typedef struct play {
    fs_test_case_t tc;
    layout_t      *layouts;
    fs_plan_t    **plans;
    uint64_t       seed;
} play_t;

static void play_init(play_t *play, uint64_t seed)
{
    memset(play, 0, sizeof(*play));
    fs_test_case_init(&play->tc, seed);
    play->seed    = seed;
    play->layouts = fs_test_alloc(play->tc.n_ranks, sizeof(*play->layouts));
    play->plans   = fs_test_alloc(play->tc.n_ranks, sizeof(*play->plans));
    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        play->layouts[r].send_packed = fs_rng_below(&play->tc.rng, 2) == 0;
        play->layouts[r].recv_packed = fs_rng_below(&play->tc.rng, 2) == 0;
    }
}

static void play_fini(play_t *play)
{
    free(play->layouts);
    free(play->plans);
    fs_test_case_fini(&play->tc);
}

static const char *name_of(const play_t *play)
{
    static char name[200];

    snprintf(name, sizeof(name),
             "seed %llu, %s, balance %d, %s, %u ranks, %u servers, chunk %llu, "
             "window %u",
             (unsigned long long)play->seed,
             fs_alg_name(play->tc.params.algorithm),
             (int)play->tc.params.balance,
             fs_decompose_name(play->tc.params.decompose), play->tc.n_ranks,
             fs_topo_n_servers(play->tc.topo),
             (unsigned long long)play->tc.params.chunk, play->tc.params.window);
    return name;
}

static fs_plan_t *plan_of(const play_t *play, uint32_t r)
{
    fs_plan_t  *plan   = NULL;
    fs_status_t status = fs_test_plan(&play->tc, r,
                                      play->layouts[r].send_packed,
                                      play->layouts[r].recv_packed, &plan);

    ck_assert_msg(status == FS_OK, "%s: rank %u: %s", name_of(play), r,
                  fs_strerror(status));
    return plan;
}

static bool same_plan(const fs_plan_t *a, const fs_plan_t *b)
{
    return a->n_ops == b->n_ops && a->n_next == b->n_next &&
           a->staging_bytes == b->staging_bytes && a->digest == b->digest &&
           a->moved_gather == b->moved_gather &&
           a->moved_redist == b->moved_redist &&
           (a->n_ops == 0 ||
            memcmp(a->ops, b->ops, a->n_ops * sizeof(*a->ops)) == 0) &&
           (a->n_next == 0 ||
            memcmp(a->next, b->next, a->n_next * sizeof(*a->next)) == 0);
}

/* The programs of the call as its parameters are now. */
static void prove(play_t *play)
{
    uint32_t    n        = play->tc.n_ranks;
    uint32_t    again    = (uint32_t)fs_rng_below(&play->tc.rng, n);
    char        why[200] = "";
    fs_status_t status;
    fs_plan_t  *twin;

    for (uint32_t r = 0; r < n; ++r) {
        play->plans[r] = plan_of(play, r);
    }
    status = fs_plan_check(play->tc.topo, &play->tc.params, play->tc.counts,
                           play->plans, why, sizeof(why));
    ck_assert_msg(status == FS_OK, "%s: %s", name_of(play), why);
    twin = plan_of(play, again);
    ck_assert_msg(same_plan(twin, play->plans[again]), "%s: two plans",
                  name_of(play));
    fs_plan_destroy(twin);
}

static void drop(play_t *play)
{
    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        fs_plan_destroy(play->plans[r]);
    }
}

/* A lane cannot send faster than its bytes allow, so no total is below the
 * bound of the servers. However uneven they are, it is reached, but for what
 * compact may lose, and a byte for each pair of lanes. */
static void check_total(const play_t *play)
{
    const fs_plan_t *plan = play->plans[0];
    uint64_t bound = fs_traffic_lower_bound(play->tc.topo, &play->tc.traffic);
    uint64_t pairs = (uint64_t)play->tc.n_ranks * play->tc.n_ranks;

    if ((plan->decompose == FS_DECOMPOSE_COMPACT ||
         plan->decompose == FS_DECOMPOSE_BIRKHOFF) &&
        play->tc.params.balance != FS_BALANCE_ROWCOL) {
        ck_assert_msg(plan->total_per_lane <= bound + bound / 50 + 2 * pairs,
                      "%s: %llu per lane, bound %llu", name_of(play),
                      (unsigned long long)plan->total_per_lane,
                      (unsigned long long)bound);
    }
    ck_assert_msg(play->plans[0]->total_per_lane >= bound,
                  "%s: %llu per lane, bound %llu", name_of(play),
                  (unsigned long long)play->plans[0]->total_per_lane,
                  (unsigned long long)bound);
}

/* Programs move inside servers what their balance says, and a byte at most once
 * before the wire and once after it. */
static void check_moves(const play_t *play)
{
    const fs_plan_params_t *params = &play->tc.params;
    uint64_t     gather = 0, redist = 0, inter = play->tc.traffic.inter_bytes;
    fs_balance_t how = params->decompose == FS_DECOMPOSE_HIERARCHICAL
                           ? FS_BALANCE_ROWCOL /* as DHBvN has it */
                           : params->balance;

    ck_assert_int_eq(
        fs_balance_moves(play->tc.topo, how, play->tc.counts, &gather, &redist),
        FS_OK);
    ck_assert_uint_le(gather, inter);
    ck_assert_uint_le(redist, inter);
    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        gather -= play->plans[r]->moved_gather;
        redist -= play->plans[r]->moved_redist;
    }
    ck_assert_msg(gather == 0 && redist == 0,
                  "%s: %lld to gather and %lld to redistribute are not moved",
                  name_of(play), (long long)gather, (long long)redist);
}

static uint64_t moved(const play_t *play)
{
    uint64_t bytes = 0;

    for (uint32_t r = 0; r < play->tc.n_ranks; ++r) {
        bytes += play->plans[r]->moved_gather + play->plans[r]->moved_redist;
    }
    return bytes;
}

/* Balanced in every way. */
START_TEST(prop_staged)
{
    for (uint64_t k = 0; k < BATCH; ++k) {
        play_t play;

        play_init(&play, (uint64_t)_i * BATCH + k);
        play.tc.params.algorithm = FS_ALG_STAGED;
        for (int mode = 0; mode < FS_N_ALL_BALANCES; ++mode) {
            play.tc.params.balance   = (fs_balance_t)mode;
            play.tc.params.decompose = (fs_decompose_t)fs_rng_below(
                &play.tc.rng, FS_N_ALL_DECOMPOSITIONS);
            prove(&play);
            check_total(&play);
            check_moves(&play);
            drop(&play);
        }
        play_fini(&play);
    }
}
END_TEST

START_TEST(prop_pipe2d)
{
    for (uint64_t k = 0; k < BATCH; ++k) {
        play_t play;

        play_init(&play, 100000 + (uint64_t)_i * BATCH + k);
        play.tc.params.algorithm = FS_ALG_PIPE2D;
        prove(&play);
        drop(&play);
        play_fini(&play);
    }
}
END_TEST

/* Nothing is moved but what is sent. */
START_TEST(prop_direct)
{
    for (uint64_t k = 0; k < BATCH; ++k) {
        play_t play;

        play_init(&play, 200000 + (uint64_t)_i * BATCH + k);
        play.tc.params.algorithm = FS_ALG_DIRECT;
        prove(&play);
        ck_assert_uint_eq(moved(&play), 0);
        drop(&play);
        play_fini(&play);
    }
}
END_TEST

/* ---- sizes that small clusters do not have ---- */

static void use_cluster(play_t *play, uint32_t n_servers, uint32_t n_local,
                        uint32_t lanes)
{
    fs_test_case_t *tc        = &play->tc;
    uint32_t        n         = n_servers * n_local;
    uint32_t       *server_of = fs_test_alloc(n, sizeof(*server_of));

    for (uint32_t r = 0; r < n; ++r) {
        server_of[r] = r / n_local;
    }
    fs_topo_destroy(tc->topo);
    ck_assert_int_eq(fs_topo_create(n, server_of, lanes, &tc->topo), FS_OK);
    free(server_of);
    free(tc->counts);
    free(play->layouts);
    free(play->plans);
    tc->n_ranks   = n;
    tc->counts    = fs_test_alloc((size_t)n * n, sizeof(*tc->counts));
    play->layouts = fs_test_alloc(n, sizeof(*play->layouts));
    play->plans   = fs_test_alloc(n, sizeof(*play->plans));
    fs_test_case_redraw(tc);
}

static const struct {
    uint32_t n_servers, n_local, lanes;
} clusters[] = {{1, 8, 0},  {2, 16, 0}, {2, 16, 1}, {4, 8, 0},
                {16, 2, 0}, {24, 1, 0}, {8, 4, 3},  {3, 13, 5}};

enum { CLUSTERS = sizeof(clusters) / sizeof(clusters[0]) };

START_TEST(prop_larger_clusters)
{
    play_t play;

    play_init(&play, 300000 + (uint64_t)_i);
    use_cluster(&play, clusters[_i % CLUSTERS].n_servers,
                clusters[_i % CLUSTERS].n_local, clusters[_i % CLUSTERS].lanes);
    for (int alg = FS_ALG_NATIVE + 1; alg < FS_ALG_BUNDLES; ++alg) {
        play.tc.params.algorithm = (fs_alg_t)alg;
        prove(&play);
        drop(&play);
    }
    play_fini(&play);
}
END_TEST

/* ---- too much ---- */

/* Sums near 2^63 are refused before anything is planned. (Fewer bytes in too
 * many messages: test_plan.c.) */
START_TEST(prop_huge_sums)
{
    for (uint64_t k = 0; k < BATCH; ++k) {
        play_t        play;
        fs_traffic_t *traffic = &play.tc.traffic;
        fs_bounds_t   bounds;
        size_t        cell, cells;

        play_init(&play, 400000 + k);
        cells                = (size_t)play.tc.n_ranks * play.tc.n_ranks;
        cell                 = (size_t)fs_rng_below(&play.tc.rng, cells);
        play.tc.counts[cell] = (UINT64_C(1) << 63) -
                               fs_rng_below(&play.tc.rng, 1000);
        ck_assert_int_eq(fs_bounds(play.tc.topo, play.tc.counts, &bounds),
                         FS_ERR_OVERFLOW);
        cells = (size_t)traffic->n_servers * traffic->n_servers;
        traffic->bytes[fs_rng_below(&play.tc.rng, cells)] =
            play.tc.counts[cell];
        ck_assert_int_eq(fs_traffic_sum(traffic), FS_ERR_OVERFLOW);
        play_fini(&play);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prop_plan");
    TCase *tcase = tcase_create("prop_plan");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, prop_staged, 0, 10);
    tcase_add_loop_test(tcase, prop_pipe2d, 0, 10);
    tcase_add_loop_test(tcase, prop_direct, 0, 10);
    tcase_add_loop_test(tcase, prop_larger_clusters, 0, 4 * CLUSTERS);
    tcase_add_test(tcase, prop_huge_sums);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
