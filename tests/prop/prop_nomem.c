/* SPDX-License-Identifier: BSD-3-Clause */
/* Every allocation of every call of the scheduler fails once: an error, nothing
 * leaked (ASan looks), nothing half made. The linker puts our allocators in the
 * place of the library's. */
#include "fs_test_util.h"
#include "sched/decompose/fs_replan.h"
#include "sched/balance/fs_balance.h"
#include "sched/model/fs_pattern.h"
#include "sched/plan/fs_plan_check.h"
#include "sched/allreduce/fs_straggler_plan.h"
#include "sched/allreduce/fs_straggler.h"
#include "sched/papers/fs_frame.h"
#include "sched/papers/fs_hierarchy.h"
#include "sched/papers/fs_papers.h"

#include <stdlib.h>
#include <string.h>

/* ---- allocators that fail on demand ---- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t elem_bytes);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t elem_bytes);
void *__wrap_realloc(void *p, size_t n);

static uint32_t fail_at; /* the allocation that will fail; 0: none */
static uint32_t n_allocs;

static bool fails(void)
{
    return fail_at != 0 && ++n_allocs == fail_at;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t elem_bytes)
{
    return fails() ? NULL : __real_calloc(n, elem_bytes);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

/* ---- calls: assertions that hold do not allocate (fs_test_util.h) ---- */

typedef struct stage {
    fs_test_case_t  tc;
    fs_plan_t     **plans; /* made before anything fails */
    fs_decompose_t  how;   /* which schedule */
    const char     *pattern;
    uint32_t        n; /* ranks of an allreduce */
    fs_straggler_t *schedule;
    fs_reduction_t  reduction;
    uint64_t       *matrix; /* [n_ranks x n_ranks] room */
    uint64_t       *send;   /* the rows of rank 0's server */
    uint64_t       *recv;
    bool            packed;
} stage_t;

typedef fs_status_t call_t(stage_t *st);

static fs_status_t call_topo(stage_t *st)
{
    static const uint32_t server_of[] = {7, 7, 3, 3, 3};
    fs_topo_t            *topo        = NULL;
    fs_status_t           status      = fs_topo_create(5, server_of, 2, &topo);

    (void)st;
    ck_assert((status == FS_OK) == (topo != NULL));
    fs_topo_destroy(topo);
    return status;
}

static fs_status_t call_bounds(stage_t *st)
{
    fs_bounds_t bounds;

    return fs_bounds(st->tc.topo, st->tc.counts, &bounds);
}

static fs_status_t call_frames(stage_t *st)
{
    size_t       n = (size_t)st->tc.n_ranks * st->tc.n_ranks;
    fs_frames_t *frames;
    fs_frame_t   frame;
    uint64_t     length, n_posted = 0;
    fs_status_t  status = fs_frames_create(n, &frames);

    if (status != FS_OK) {
        return status;
    }
    for (int k = 0; k < 20 && status == FS_OK; ++k) {
        status = fs_frames_post(frames, st->tc.counts);
        n_posted += status == FS_OK;
    }
    ck_assert(fs_frames_n_waiting(frames) == n_posted);
    fs_frames_close(frames, UINT64_MAX, &frame);
    if (status == FS_OK) {
        status = fs_frame_length(st->tc.topo, frame.bytes, true, &length);
    }
    fs_frames_destroy(frames);
    return status;
}

static fs_status_t call_pattern(stage_t *st)
{
    uint32_t     server_of[64];
    char         why[200];
    fs_pattern_t pattern;

    for (uint32_t r = 0; r < st->tc.n_ranks; ++r) {
        server_of[r] = fs_topo_server(st->tc.topo, r);
    }
    if (fs_pattern_parse(st->pattern, &pattern, why, sizeof(why)) != FS_OK) {
        return FS_ERR_INVAL;
    }
    return fs_pattern_fill(&pattern, st->tc.n_ranks, server_of, 1000, 1,
                           st->matrix);
}

/* Ranks as servers: large enough for every method to do something. */
static fs_status_t call_schedule(stage_t *st)
{
    fs_schedule_t *schedule = NULL;
    fs_status_t    status   = fs_schedule_create(st->how, 1000, st->tc.n_ranks,
                                                 st->tc.counts, FS_ALL_SERVERS,
                                                 &schedule);

    ck_assert((status == FS_OK) == (schedule != NULL));
    fs_schedule_destroy(schedule);
    return status;
}

/* The third call of alike matrices uses the schedule of the second. */
static fs_status_t call_replan(stage_t *st)
{
    static uint64_t matrix[64 * 64];
    fs_replan_t     replan = {0};
    fs_status_t     status = FS_OK;

    for (uint32_t k = 0; k < 64 * 64; ++k) {
        matrix[k] = 1000 + k % 997;
    }
    for (uint32_t k = 0; k < 3 && status == FS_OK; ++k) {
        fs_schedule_t *schedule = NULL;

        matrix[1] += k;
        status = fs_schedule_update(&replan, FS_DECOMPOSE_OPENSHOP, 0, 64,
                                    matrix, FS_ALL_SERVERS, &schedule);
        ck_assert((status == FS_OK) == (schedule != NULL));
        ck_assert(status == FS_OK || replan.sample == NULL);
        fs_schedule_destroy(schedule);
    }
    (void)st;
    ck_assert(status != FS_OK || replan.kept.n == 64);
    fs_replan_clear(&replan);
    return status;
}

static fs_status_t call_hierarchy(stage_t *st)
{
    fs_hierarchy_t *hierarchy = NULL;
    fs_status_t     status =
        fs_hierarchy_create(st->tc.topo, st->packed, st->tc.counts, &hierarchy);

    ck_assert((status == FS_OK) == (hierarchy != NULL));
    fs_hierarchy_destroy(hierarchy);
    return status;
}

static fs_status_t call_moves(stage_t *st)
{
    uint64_t gather, redist;

    return fs_balance_moves(st->tc.topo, st->tc.params.balance, st->tc.counts,
                            &gather, &redist);
}

static fs_status_t call_straggler(stage_t *st)
{
    fs_straggler_t *schedule = NULL;
    char            why[200];
    fs_status_t     status =
        fs_straggler_create(FS_STRAGGLER_STRAGGLAR, st->n, 1, &schedule);

    ck_assert((status == FS_OK) == (schedule != NULL));
    if (status == FS_OK) {
        status = fs_straggler_check(schedule, why, sizeof(why));
    }
    fs_straggler_destroy(schedule);
    return status;
}

static fs_status_t call_straggler_stream(stage_t *st)
{
    const uint32_t  late[]   = {2, 0};
    fs_straggler_t *schedule = NULL;
    fs_status_t     status =
        fs_straggler_create_stream(st->n, late, 2, 3, &schedule);

    ck_assert((status == FS_OK) == (schedule != NULL));
    fs_straggler_destroy(schedule);
    return status;
}

static fs_status_t call_reduction(stage_t *st)
{
    fs_plan_t  *plan   = NULL;
    fs_status_t status = fs_reduction_plan(
        st->schedule, st->tc.topo, &st->tc.params, &st->reduction, 0, &plan);

    ck_assert((status == FS_OK) == (plan != NULL));
    fs_plan_destroy(plan);
    return status;
}

static fs_status_t call_reduction_check(stage_t *st)
{
    char why[200];

    return fs_reduction_check(st->tc.topo, &st->tc.params, &st->reduction,
                              st->plans, why, sizeof(why));
}

static fs_status_t call_plan(stage_t *st)
{
    fs_local_traffic_t local = {st->send, st->recv, st->packed, st->packed};
    fs_plan_t         *plan  = NULL;
    fs_status_t status = fs_plan_create(st->tc.params.algorithm, st->tc.topo,
                                        &st->tc.traffic, &st->tc.params, 0,
                                        &local, &plan);

    ck_assert((status == FS_OK) == (plan != NULL));
    fs_plan_destroy(plan);
    return status;
}

static fs_status_t call_check(stage_t *st)
{
    char why[200];

    return fs_plan_check(st->tc.topo, &st->tc.params, st->tc.counts, st->plans,
                         why, sizeof(why));
}

/* ---- the loop ---- */

static void stage_init(stage_t *st, uint64_t seed)
{
    size_t cells;

    memset(st, 0, sizeof(*st));
    fs_test_case_init(&st->tc, seed);
    while (st->tc.n_ranks < 9 || st->tc.traffic.inter_bytes == 0) {
        fs_test_case_fini(&st->tc);
        fs_test_case_init(&st->tc, ++seed);
    }
    cells      = (size_t)st->tc.n_ranks * st->tc.n_ranks;
    st->matrix = fs_test_alloc(cells, sizeof(*st->matrix));
    st->send   = fs_test_alloc(cells, sizeof(*st->send));
    st->recv   = fs_test_alloc(cells, sizeof(*st->recv));
    fs_test_local_rows(st->tc.topo, st->tc.counts, 0, st->send, st->recv);
    st->packed = seed % 2 == 0;
}

static void stage_fini(stage_t *st)
{
    fs_test_case_fini(&st->tc);
    free(st->matrix);
    free(st->send);
    free(st->recv);
}

/* The first allocation fails, then the second, until the call succeeds. Returns
 * how many have failed. */
static uint32_t run(stage_t *st, call_t *call, const char *name)
{
    fs_status_t status = FS_ERR_NOMEM;
    uint32_t    k;

    for (k = 1; status != FS_OK && k < 100000; ++k) {
        n_allocs = 0;
        fail_at  = k;
        status   = call(st);
        fail_at  = 0;
        ck_assert_msg(status == FS_OK || status == FS_ERR_NOMEM, "%s, %u: %s",
                      name, k, fs_strerror(status));
    }
    ck_assert_msg(status == FS_OK, "%s: %u failures", name, k - 1);
    return k - 2; /* the last call had all it wanted */
}

START_TEST(small_calls)
{
    static const char *patterns[] = {
        "balanced",  "random", "zipf:0.8", "lognormal:1", "hotspot:2",
        "intrahost", "moe",    "pencil",   "adversarial", "sparse:2"};
    stage_t st;

    stage_init(&st, 1);
    ck_assert_uint_gt(run(&st, call_topo, "topo"), 0);
    ck_assert_uint_gt(run(&st, call_bounds, "bounds"), 0);
    ck_assert_uint_gt(run(&st, call_frames, "frames"), 3);
    for (size_t k = 0; k < sizeof(patterns) / sizeof(patterns[0]); ++k) {
        st.pattern = patterns[k];
        run(&st, call_pattern, st.pattern);
    }
    stage_fini(&st);
}
END_TEST

START_TEST(schedules)
{
    stage_t st;

    stage_init(&st, 100 * (uint64_t)_i);
    for (int how = 0; how < FS_N_ALL_DECOMPOSITIONS; ++how) {
        st.how = (fs_decompose_t)how;
        ck_assert_uint_gt(run(&st, call_schedule, fs_decompose_name(st.how)),
                          0);
    }
    ck_assert_uint_gt(run(&st, call_replan, "replan"), 5);
    stage_fini(&st);
}
END_TEST

START_TEST(stragglers)
{
    static const uint32_t n[] = {8, 14, 9}; /* each has its own generator */
    stage_t               st;

    stage_init(&st, 7);
    st.n = n[_i];
    ck_assert_uint_gt(run(&st, call_straggler, "stragglar"), 3);
    ck_assert_uint_gt(run(&st, call_straggler_stream, "stream"), 3);
    stage_fini(&st);
}
END_TEST

START_TEST(matrices_of_ranks)
{
    stage_t st;

    stage_init(&st, 300 + 100 * (uint64_t)_i);
    st.packed = _i % 2 == 0;
    ck_assert_uint_gt(run(&st, call_hierarchy, "hierarchy"), 3);
    for (int mode = 0; mode < FS_N_ALL_BALANCES; ++mode) {
        st.tc.params.balance = (fs_balance_t)mode;
        ck_assert_uint_gt(run(&st, call_moves, "moves"), 0);
    }
    stage_fini(&st);
}
END_TEST

START_TEST(plans)
{
    stage_t st;

    stage_init(&st, 500 + 100 * (uint64_t)_i);
    for (int alg = FS_ALG_NATIVE + 1; alg < FS_ALG_BUNDLES; ++alg) {
        st.tc.params.algorithm = (fs_alg_t)alg;
        for (int mode = 0; mode < FS_N_ALL_BALANCES; ++mode) {
            st.tc.params.balance = (fs_balance_t)mode;
            st.tc.params.decompose =
                (fs_decompose_t)(_i % FS_N_ALL_DECOMPOSITIONS);
            ck_assert_uint_gt(run(&st, call_plan, fs_alg_name((fs_alg_t)alg)),
                              3);
        }
    }
    stage_fini(&st);
}
END_TEST

START_TEST(checks)
{
    stage_t st;

    stage_init(&st, 900 + 100 * (uint64_t)_i);
    st.plans = fs_test_alloc(st.tc.n_ranks, sizeof(*st.plans));
    for (uint32_t r = 0; r < st.tc.n_ranks; ++r) {
        ck_assert_int_eq(
            fs_test_plan(&st.tc, r, st.packed, st.packed, &st.plans[r]), FS_OK);
    }
    ck_assert_uint_gt(run(&st, call_check, "check"), 3);
    for (uint32_t r = 0; r < st.tc.n_ranks; ++r) {
        fs_plan_destroy(st.plans[r]);
    }
    free(st.plans);
    stage_fini(&st);
}
END_TEST

/* In place and not: the second has a vector that is there from the start. */
START_TEST(reductions)
{
    stage_t  st;
    uint32_t n;

    stage_init(&st, 1100);
    n            = st.tc.n_ranks;
    st.reduction = (fs_reduction_t){2000, 8, _i != 0, 0};
    st.plans     = fs_test_alloc(n, sizeof(*st.plans));
    ck_assert_int_eq(
        fs_straggler_create(FS_STRAGGLER_STRAGGLAR, n, 1, &st.schedule), FS_OK);
    for (uint32_t r = 0; r < n; ++r) {
        ck_assert_int_eq(fs_reduction_plan(st.schedule, st.tc.topo,
                                           &st.tc.params, &st.reduction, r,
                                           &st.plans[r]),
                         FS_OK);
    }
    ck_assert_uint_gt(run(&st, call_reduction, "reduction"), 5);
    ck_assert_uint_gt(run(&st, call_reduction_check, "its check"), 10);
    for (uint32_t r = 0; r < n; ++r) {
        fs_plan_destroy(st.plans[r]);
    }
    fs_straggler_destroy(st.schedule);
    free(st.plans);
    stage_fini(&st);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prop_nomem");
    TCase *tcase = tcase_create("prop_nomem");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, small_calls);
    tcase_add_loop_test(tcase, schedules, 0, 6);
    tcase_add_loop_test(tcase, matrices_of_ranks, 0, 6);
    tcase_add_loop_test(tcase, stragglers, 0, 3);
    tcase_add_loop_test(tcase, plans, 0, 12);
    tcase_add_loop_test(tcase, checks, 0, 4);
    tcase_add_loop_test(tcase, reductions, 0, 2);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
