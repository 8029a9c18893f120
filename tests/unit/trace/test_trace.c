/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces are written where they can be, and when there is something to write.
 * That what is told comes back from the files is for python/test_told.py. */
#include "trace/fs_trace.h"
#include "fs_test_util.h"
#include "sched/plan/fs_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHY = 1500, EARLY_BYTES = 77 };

static char dir[256];

static void make_dir(void)
{
    snprintf(dir, sizeof(dir), "/tmp/fs_trace_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

/* ---- what is told ---- */

/* Rank r of two, each a server: copies, then sends to the other and receives.
 * One has spawned the other: both are rank 10 of their MPI_COMM_WORLD. */
static const fs_op_t ops[] = {
    {.kind = FS_OP_COPY, .n_next = 1, .len_bytes = 100, .dst = {2, 0, 0}},
    {.kind      = FS_OP_SEND,
     .channel   = FS_CH_WIRE,
     .n_after   = 1,
     .len_bytes = 100,
     .src       = {2, 0, 0}},
    {.kind      = FS_OP_RECV,
     .channel   = FS_CH_WIRE,
     .len_bytes = 50,
     .dst       = {1, 0, 0}},
};

enum { N_OPS = sizeof(ops) / sizeof(ops[0]), COPY = 0, SEND, RECV };

typedef struct pair {
    fs_topo_t  *topo;
    fs_trace_t *trace[2];
    fs_op_t     ops[2][N_OPS];
    fs_plan_t   plan[2];
} pair_t;

static void create(pair_t *pair, size_t max_events)
{
    static const uint32_t servers[] = {0, 1};
    char                  why[WHY];

    memset(pair, 0, sizeof(*pair));
    ck_assert_int_eq(fs_topo_create(2, servers, 0, &pair->topo), FS_OK);
    for (uint32_t r = 0; r < 2; ++r) {
        fs_trace_origin_t origin = {.dir        = dir,
                                    .comm_name  = "a \"b\"/c",
                                    .comm_id    = 0xabc,
                                    .topo       = pair->topo,
                                    .rank       = r,
                                    .world_rank = 10,
                                    .rate       = 1000000,
                                    .max_events = max_events};

        ck_assert_int_eq(
            fs_trace_create(&origin, &pair->trace[r], why, sizeof(why)), FS_OK);
        memcpy(pair->ops[r], ops, sizeof(ops));
        pair->ops[r][SEND].peer = pair->ops[r][RECV].peer = 1 - r;
        /* What one sends the other receives. */
        pair->ops[0][RECV].len_bytes = 100;
        pair->plan[r].n_ops          = N_OPS;
        pair->plan[r].ops            = pair->ops[r];
        pair->plan[r].decompose      = FS_DECOMPOSE_COMPACT;
        pair->plan[r].n_stages       = 1;
        pair->plan[r].total_per_lane = 100;
    }
    pair->ops[1][RECV].len_bytes = 100;
}

static void destroy(pair_t *pair)
{
    char why[WHY];

    for (uint32_t r = 0; r < 2; ++r) {
        ck_assert_int_eq(fs_trace_write(pair->trace[r], why, sizeof(why)),
                         FS_OK);
        fs_trace_destroy(pair->trace[r]);
    }
    fs_topo_destroy(pair->topo);
}

static void decide(fs_trace_t *trace)
{
    const fs_choice_t   choice  = {FS_ALG_STAGED, true, "test"};
    fs_transfer_t       both[2] = {{0, 1, 100, 0}, {1, 0, 100, 0}};
    const fs_schedule_t lane    = {.n_transfers = 2, .transfers = both};

    fs_trace_decision(trace, &choice, 200, 100);
    fs_trace_planned(trace, &lane);
}

/* A call of both ranks, one after the other as far as that goes. */
static void call(pair_t *pair, uint64_t number, uint64_t granted)
{
    static const void *const blocks[2];
    const fs_call_t          buffers = {.send_block = NULL,
                                        .recv_block = (void *const *)blocks};

    for (uint32_t r = 0; r < 2; ++r) {
        fs_trace_t *t = pair->trace[r];

        fs_trace_begin(t, number);
        fs_trace_enter(t, FS_TRACE_EARLY);
        fs_trace_early(t, EARLY_BYTES);
        fs_trace_enter(t, FS_TRACE_SUMMARY);
        fs_trace_enter(t, FS_TRACE_PLAN);
        decide(t);
        fs_trace_enter(t, FS_TRACE_RUN);
        fs_trace_run(t, &pair->plan[r], &buffers);
        fs_trace_post(t, COPY, 0);
        fs_trace_ended(t, COPY);
        fs_trace_ready(t, SEND, COPY);
        fs_trace_post(t, RECV, granted);
        fs_trace_grant(t, true, 1 - r, granted);
    }
    for (uint32_t r = 0; r < 2; ++r) {
        fs_trace_grant(pair->trace[r], false, 1 - r, granted);
        usleep(10); /* it waits for its turn */
        fs_trace_post(pair->trace[r], SEND, granted);
        fs_trace_ended(pair->trace[r], SEND);
    }
    for (uint32_t r = 0; r < 2; ++r) {
        fs_trace_ended(pair->trace[r], RECV);
        fs_trace_end(pair->trace[r], FS_OK);
    }
}

/* What a lane was to do: one thing at a time in each direction, from or to its
 * own server, and as long as the plan says. */
static void check_lane(const fs_test_case_t *tc, uint32_t rank)
{
    uint32_t   home    = fs_topo_server(tc->topo, rank);
    size_t     cells   = (size_t)fs_topo_n_local(tc->topo, home) * tc->n_ranks;
    uint64_t  *send    = fs_test_alloc(2 * cells, sizeof(*send));
    uint64_t   done[2] = {0, 0};
    fs_plan_t *plan;
    fs_schedule_t           *schedule;
    const fs_local_traffic_t local   = {send, send + cells, true, true};
    const fs_plan_request_t  request = {.topo    = tc->topo,
                                        .traffic = &tc->traffic,
                                        .params  = &tc->params,
                                        .rank    = rank,
                                        .local   = &local,
                                        .lane_p  = &schedule};

    fs_test_local_rows(tc->topo, tc->counts, rank, send, send + cells);
    ck_assert(fs_plan_make(&request, FS_ALG_STAGED, &plan) == FS_OK);
    ck_assert(plan->total_per_lane == schedule->total);
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        const fs_transfer_t *t     = &schedule->transfers[k];
        bool                 sends = t->src == home;

        ck_assert((t->src == home) != (t->dst == home));
        ck_assert(t->start >= done[sends]);
        done[sends] = t->start + t->bytes;
        ck_assert(done[sends] <= schedule->total);
    }
    ck_assert(fs_topo_lane(tc->topo, rank) != FS_NO_LANE ||
              schedule->n_transfers == 0);
    fs_schedule_destroy(schedule);
    fs_plan_destroy(plan);
    free(send);
}

START_TEST(a_lane_does_one_thing_at_a_time)
{
    fs_test_case_t tc;

    fs_test_case_init(&tc, (uint64_t)_i);
    for (uint32_t r = 0; r < tc.n_ranks; ++r) {
        check_lane(&tc, r);
    }
    fs_test_case_fini(&tc);
}
END_TEST

START_TEST(no_call_no_file)
{
    pair_t pair;

    make_dir();
    create(&pair, 0);
    destroy(&pair);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(a_directory_that_cannot_be_made)
{
    static const uint32_t server = 0;
    fs_trace_origin_t     origin = {.dir = "/dev/null/traces"};
    fs_topo_t            *topo;
    fs_trace_t           *trace = NULL;
    char                  why[WHY];

    ck_assert_int_eq(fs_topo_create(1, &server, 0, &topo), FS_OK);
    origin.topo = topo;
    ck_assert_int_eq(fs_trace_create(&origin, &trace, why, sizeof(why)),
                     FS_ERR_NATIVE);
    ck_assert_str_eq(why, "no trace: /dev/null/traces: Not a directory");
    ck_assert_ptr_null(trace);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(a_directory_that_went_away)
{
    pair_t pair;
    char   why[WHY] = "";

    make_dir();
    create(&pair, 0);
    call(&pair, 1, 1);
    ck_assert_int_eq(rmdir(dir), 0);
    ck_assert_int_eq(fs_trace_write(pair.trace[0], why, sizeof(why)),
                     FS_ERR_NATIVE);
    ck_assert_ptr_nonnull(strstr(why, "a--b--c-abc-rank0.json: No such file"));
    for (uint32_t r = 0; r < 2; ++r) {
        fs_trace_destroy(pair.trace[r]);
    }
    fs_topo_destroy(pair.topo);
}
END_TEST

/* Not a test: for python/test_told.py, which reads what is written here. */
static unsigned long write_calls, write_max_events;

START_TEST(write_for_others)
{
    pair_t pair;

    create(&pair, write_max_events);
    for (unsigned long k = 1; k <= write_calls; ++k) {
        call(&pair, k, k);
    }
    destroy(&pair);
}
END_TEST

/* test_trace; test_trace DIR CALLS MAX-EVENTS: write that there. */
int main(int argc, char **argv)
{
    Suite *suite = suite_create("trace");
    TCase *tcase = tcase_create("trace");

    if (argc == 4) {
        snprintf(dir, sizeof(dir), "%s", argv[1]);
        write_calls      = strtoul(argv[2], NULL, 10);
        write_max_events = strtoul(argv[3], NULL, 10);
        tcase_add_test(tcase, write_for_others);
    } else {
        tcase_add_loop_test(tcase, a_lane_does_one_thing_at_a_time, 0, 100);
        tcase_add_test(tcase, no_call_no_file);
        tcase_add_test(tcase, a_directory_that_cannot_be_made);
        tcase_add_test(tcase, a_directory_that_went_away);
    }
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
