/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce schedules as programs: the checker proves them, they copy nothing,
 * and the simulator finds the times of the schedule. */
#include "sim/fs_sim.h"
#include "fs_test_group.h"

#include <math.h>
#include <string.h>

/* ---- proofs ---- */

/* Nothing; one; fewer than chunks; not a multiple of them; several
 * fragments. */
static void prove_sizes(fs_test_group_t *g, bool in_place)
{
    const uint64_t sizes[] = {0, 1, g->n - 2, g->n, 3 * g->n + 1,
                              /* 64 bytes are 5 elements of 12 */
                              12 * (g->n - 1) + 5};

    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); ++k) {
        fs_test_group_plan(g, sizes[k], k % 2 == 0 ? 8 : 12, in_place);
        fs_test_group_prove(g);
    }
}

START_TEST(every_straggler_is_proved)
{
    uint32_t n = (uint32_t)_i;

    for (uint32_t straggler = 0; straggler < n; ++straggler) {
        fs_test_group_t g;

        fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, n, straggler, 1);
        prove_sizes(&g, false);
        prove_sizes(&g, true);
        fs_test_group_fini(&g);
    }
}
END_TEST

START_TEST(every_stream_is_proved)
{
    uint32_t n = (uint32_t)_i;

    for (uint32_t straggler = 0; straggler < n; ++straggler) {
        fs_test_group_t g;

        fs_test_group_init_stream(&g, n, straggler, FS_STRAGGLER_PIECES, 1);
        prove_sizes(&g, false);
        prove_sizes(&g, true);
        fs_test_group_plan(&g, 100 * n, 8, straggler % 2 == 0);
        fs_test_group_prove(&g);
        fs_test_group_fini(&g);
    }
}
END_TEST

START_TEST(every_kind_is_proved)
{
    uint32_t n = (uint32_t)_i;

    for (int kind = 0; kind < FS_STRAGGLER_N_KINDS; ++kind) {
        for (uint32_t n_local = 1; n_local <= n; n_local += 2) {
            fs_test_group_t g;

            fs_test_group_init(&g, (fs_straggler_kind_t)kind, n, n / 2,
                               n_local);
            prove_sizes(&g, false);
            prove_sizes(&g, true);
            fs_test_group_fini(&g);
        }
    }
}
END_TEST

/* Servers of 2 to 5 ranks, each of them late; all kinds. */
START_TEST(two_tiers_are_proved)
{
    uint32_t n = (uint32_t)_i;

    for (uint32_t n_local = 2; n_local <= 5; ++n_local) {
        for (uint32_t straggler = 0; straggler < n; ++straggler) {
            for (int kind = 0; kind < FS_STRAGGLER_N_KINDS; ++kind) {
                fs_test_group_t g;

                fs_test_group_init_tiers(&g, (fs_straggler_kind_t)kind, n,
                                         straggler, n_local);
                prove_sizes(&g, false);
                prove_sizes(&g, true);
                g.params.staging_limit = 256; /* little */
                g.params.window        = 1;
                fs_test_group_plan(&g, 300, 8, true);
                fs_test_group_prove(&g);
                fs_test_group_fini(&g);
            }
        }
    }
}
END_TEST

START_TEST(streams_of_two_tiers_are_proved)
{
    uint32_t n = (uint32_t)_i;

    for (uint32_t n_local = 2; n_local <= 4; ++n_local) {
        for (uint32_t straggler = 0; straggler < n; ++straggler) {
            fs_test_group_t g;

            fs_test_group_init_stream(&g, n, straggler, FS_STRAGGLER_PIECES,
                                      n_local);
            prove_sizes(&g, straggler % 2 == 0);
            fs_test_group_plan(&g, 100 * g.n, 8, straggler % 2 != 0);
            fs_test_group_prove(&g);
            fs_test_group_fini(&g);
        }
    }
}
END_TEST

/* A schedule of servers needs servers that are alike. */
START_TEST(two_tiers_are_even)
{
    const uint32_t  servers[] = {0, 0, 1, 1, 2, 2, 3};
    fs_test_group_t g;
    fs_topo_t      *topo;

    fs_test_group_init_tiers(&g, FS_STRAGGLER_RING, 4, 0, 2);
    ck_assert(fs_topo_create(7, servers, 0, &topo) == FS_OK);
    fs_test_group_set_topo(&g, topo);
    g.reduction = (fs_reduction_t){10, 8, false, 0};
    ck_assert_int_eq(fs_reduction_plan(g.schedule, g.topo, &g.params,
                                       &g.reduction, 0, &g.plans[0]),
                     FS_ERR_INVAL);
    fs_test_group_fini(&g);
}
END_TEST

/* Longer than what a fragment is at least. */
START_TEST(long_elements)
{
    fs_test_group_t g;

    fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, 5, 1, 1);
    g.params.chunk = 20000;
    for (int in_place = 0; in_place <= 1; ++in_place) {
        fs_test_group_plan(&g, 11, 9000, in_place != 0);
        fs_test_group_prove(&g);
    }
    fs_test_group_fini(&g);
}
END_TEST

START_TEST(one_rank_alone)
{
    fs_test_group_t g;

    fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, 1, 0, 1);
    fs_test_group_plan(&g, 100, 8, true);
    fs_test_group_prove(&g);
    ck_assert_uint_eq(g.plans[0]->n_ops, 0);
    fs_test_group_plan(&g, 100, 8, false);
    fs_test_group_prove(&g);
    ck_assert_uint_gt(g.plans[0]->n_ops, 0);
    fs_test_group_fini(&g);
}
END_TEST

/* Little memory makes programs wait, not hang; a window of one as well. */
START_TEST(little_staging)
{
    for (uint32_t slots = 1; slots <= 6; ++slots) {
        for (uint32_t window = 1; window <= 3; ++window) {
            fs_test_group_t g;

            fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, 11, 4, 1);
            g.params.staging_limit = 64 * slots;
            g.params.window        = window;
            fs_test_group_plan(&g, 700, 4, true);
            fs_test_group_prove(&g);
            for (uint32_t r = 0; r < g.n; ++r) {
                ck_assert(g.plans[r]->staging_bytes <= g.params.staging_limit);
            }
            fs_test_group_fini(&g);
        }
    }
}
END_TEST

/* ---- what it costs ---- */

static uint32_t count(const fs_plan_t *plan, fs_op_kind_t kind)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        n += plan->ops[k].kind == kind;
    }
    return n;
}

/* Each rank adds each of its chunks once, the punctual ones their own once more
 * and that of nobody else; no byte is copied, in place or not. */
START_TEST(nobody_copies)
{
    for (uint32_t n = 3; n <= 33; ++n) {
        for (int in_place = 0; in_place <= 1; ++in_place) {
            fs_test_group_t g;

            fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, n, n / 3, 1);
            fs_test_group_plan(&g, 8 * (n - 1), 8, in_place != 0);
            for (uint32_t r = 0; r < n; ++r) {
                ck_assert(count(g.plans[r], FS_OP_COPY) == 0);
                ck_assert(count(g.plans[r], FS_OP_REDUCE) == n - 1);
            }
            fs_test_group_fini(&g);
        }
    }
}
END_TEST

/* If the chunk that is exchanged has no room in staging, the punctual ranks copy
 * it, and the straggler still nothing. */
START_TEST(only_the_punctual_copy)
{
    fs_test_group_t g;

    fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, 9, 5, 1);
    g.params.staging_limit = 6 * 64; /* window and two */
    fs_test_group_plan(&g, 8 * 8 * 4, 8, true);
    fs_test_group_prove(&g);
    for (uint32_t r = 0; r < g.n; ++r) {
        ck_assert(count(g.plans[r], FS_OP_COPY) == (r == 5 ? 0 : 4));
    }
    g.params.staging_limit += 4 * 64;
    fs_test_group_plan(&g, 8 * 8 * 4, 8, true);
    fs_test_group_prove(&g);
    for (uint32_t r = 0; r < g.n; ++r) {
        ck_assert(count(g.plans[r], FS_OP_COPY) == 0);
    }
    fs_test_group_fini(&g);
}
END_TEST

static double simulate(fs_test_group_t *g, double rate, double alpha)
{
    fs_sim_params_t params = {
        .rate_out = rate, .rate_up = rate, .alpha_out = alpha};
    fs_sim_result_t result;
    fs_sim_t       *sim;

    ck_assert(fs_sim_create(g->topo, &params, &sim) == FS_OK);
    for (uint32_t r = 0; r < g->n; ++r) {
        ck_assert(fs_sim_add(sim, r, g->plans[r]) == FS_OK);
    }
    if (fs_sim_run(sim, &result, g->why, sizeof(g->why)) != FS_OK) {
        ck_abort_msg("%u ranks: %s", g->n, g->why);
    }
    fs_sim_destroy(sim);
    return result.time;
}

/* The bytes' time of a schedule: that of the rounds it has, and where those are
 * more than the fewest there can be, of the fewest: a pipeline does not idle. */
static void check_time(uint32_t n, uint32_t straggler, bool in_place)
{
    const double    rate = 1e9, chunk = 1e6, alpha = 1e-5;
    double          rounds, time, bytes_time;
    fs_test_group_t g;

    fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, n, straggler, 1);
    g.params.chunk = 1 << 18;
    fs_test_group_plan(&g, (uint64_t)chunk / 4 * (n - 1), 4, in_place);
    rounds = g.schedule->n_early + fs_straggler_min_rounds(n);
    time   = simulate(&g, rate, 0);
    if (fabs(time - rounds * chunk / rate) > 1e-9 * time) {
        ck_abort_msg("%u ranks, straggler %u: %g s, not %g", n, straggler, time,
                     rounds * chunk / rate);
    }
    ck_assert(g.plans[0]->n_stages == g.schedule->n_rounds);
    bytes_time = (double)g.plans[0]->total_per_lane / rate;
    ck_assert(fabs(bytes_time - g.schedule->n_rounds * chunk / rate) < 1e-9);
    time = simulate(&g, rate, alpha);
    ck_assert(time > rounds * chunk / rate);
    ck_assert(time < g.schedule->n_rounds * (chunk / rate + alpha));
    fs_test_group_fini(&g);
}

START_TEST(times_are_those_of_the_schedule)
{
    for (uint32_t n = 3; n <= 33; ++n) {
        check_time(n, n - 1, true);
        check_time(n, n / 2, false);
    }
}
END_TEST

/* ---- arguments ---- */

static fs_status_t try(const fs_test_group_t *g, uint32_t rank)
{
    fs_plan_t  *plan   = NULL;
    fs_status_t status = fs_reduction_plan(g->schedule, g->topo, &g->params,
                                           &g->reduction, rank, &plan);

    ck_assert((status == FS_OK) == (plan != NULL));
    fs_plan_destroy(plan);
    return status;
}

START_TEST(bad_arguments)
{
    fs_test_group_t g, other;

    fs_test_group_init(&g, FS_STRAGGLER_RING, 4, 0, 1);
    g.reduction = (fs_reduction_t){.n_elems = 100, .elem_bytes = 8};
    ck_assert_int_eq(try(&g, 3), FS_OK);
    ck_assert_int_eq(try(&g, 4), FS_ERR_INVAL);
    g.reduction.elem_bytes = 0;
    ck_assert_int_eq(try(&g, 0), FS_ERR_INVAL);
    g.reduction.elem_bytes = 65; /* longer than a message */
    ck_assert_int_eq(try(&g, 0), FS_ERR_INVAL);
    g.reduction.elem_bytes = 8;
    g.params.window        = 0;
    ck_assert_int_eq(try(&g, 0), FS_ERR_INVAL);
    g.params.window        = 1;
    g.params.staging_limit = 63;
    ck_assert_int_eq(try(&g, 0), FS_ERR_INVAL);
    g.params.staging_limit = 64;
    ck_assert_int_eq(try(&g, 0), FS_OK);
    g.reduction.n_elems = (UINT64_C(1) << 59) + 1;
    ck_assert_int_eq(try(&g, 0), FS_ERR_OVERFLOW);
    g.reduction.n_elems = UINT64_MAX / 4;
    ck_assert_int_eq(try(&g, 0), FS_ERR_OVERFLOW);
    g.reduction.n_elems = 100;
    fs_test_group_init(&other, FS_STRAGGLER_RING, 5, 0, 1);
    other.reduction = g.reduction;
    fs_topo_destroy(other.topo);
    other.topo = g.topo;
    ck_assert_int_eq(try(&other, 0), FS_ERR_INVAL);
    g.topo = NULL;
    fs_test_group_fini(&other);
    fs_test_group_fini(&g);
}
END_TEST

/* Whatever the plan depends on is in its digest. */
START_TEST(digests)
{
    fs_test_group_t g;
    uint64_t        first;

    fs_test_group_init(&g, FS_STRAGGLER_STRAGGLAR, 6, 2, 1);
    fs_test_group_plan(&g, 100, 8, false);
    first = g.plans[0]->digest;
    ck_assert_uint_eq(g.plans[5]->digest, first);
    fs_test_group_plan(&g, 100, 8, true);
    ck_assert_uint_ne(g.plans[0]->digest, first);
    fs_test_group_plan(&g, 101, 8, false);
    ck_assert_uint_ne(g.plans[0]->digest, first);
    fs_test_group_plan(&g, 100, 4, false);
    ck_assert_uint_ne(g.plans[0]->digest, first);
    g.params.chunk = 128;
    fs_test_group_plan(&g, 100, 8, false);
    ck_assert_uint_ne(g.plans[0]->digest, first);
    g.params.chunk = 64;
    fs_straggler_destroy(g.schedule);
    ck_assert_int_eq(
        fs_straggler_create(FS_STRAGGLER_STRAGGLAR, 6, 3, &g.schedule), FS_OK);
    fs_test_group_plan(&g, 100, 8, false);
    ck_assert_uint_ne(g.plans[0]->digest, first);
    fs_test_group_fini(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("straggler_plan");
    TCase *tcase = tcase_create("straggler_plan");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, every_straggler_is_proved, 2,
                        FS_TEST_GROUP_ALL + 1);
    tcase_add_loop_test(tcase, every_stream_is_proved, 4, 17);
    tcase_add_loop_test(tcase, every_kind_is_proved, 2, 14);
    tcase_add_loop_test(tcase, two_tiers_are_proved, 2, 10);
    tcase_add_loop_test(tcase, streams_of_two_tiers_are_proved, 3, 10);
    tcase_add_test(tcase, two_tiers_are_even);
    tcase_add_test(tcase, long_elements);
    tcase_add_test(tcase, one_rank_alone);
    tcase_add_test(tcase, little_staging);
    tcase_add_test(tcase, nobody_copies);
    tcase_add_test(tcase, only_the_punctual_copy);
    tcase_add_test(tcase, times_are_those_of_the_schedule);
    tcase_add_test(tcase, bad_arguments);
    tcase_add_test(tcase, digests);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
