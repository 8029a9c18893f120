/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces: what is told comes back from the file, what does not fit is counted,
 * clocks are aligned, and the critical path is the one that a hand finds. */
#include "exec/fs_trace.h"
#include "fs_test_util.h"
#include "sched/fs_plan.h"
#include "tools/fs_tool_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHY = 1500 };

static char dir[64];

static void make_dir(void)
{
    snprintf(dir, sizeof(dir), "/tmp/fs_trace_test.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

/* ---- what is told comes back ---- */

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

    make_dir();
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
    uint64_t               bytes[4] = {0, 100, 100, 0};
    fs_traffic_t           traffic  = {2, bytes, 200, 200, 100};
    const fs_choice_t      choice   = {FS_ALG_STAGED, true, "test"};
    const fs_plan_params_t params   = {.decompose = FS_DECOMPOSE_COMPACT};

    fs_trace_decision(trace, &choice, &traffic, &params);
    memset(bytes, 0xff, sizeof(bytes)); /* it was copied */
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

static fs_tool_traces_t read_back(void)
{
    fs_tool_traces_t traces;

    ck_assert_int_eq(fs_tool_traces_read(dir, &traces), 0);
    for (size_t k = 0; k < traces.n; ++k) {
        ck_assert_int_eq(fs_tool_trace_link(&traces.list[k]), 0);
    }
    return traces;
}

static void check_ops(const fs_tool_trace_t *trace, uint32_t number)
{
    for (uint32_t r = 0; r < 2; ++r) {
        fs_tool_trace_range_t range  = fs_tool_trace_ops_of(trace, number, r);
        const fs_tool_trace_op_t *op = &trace->ops[range.first];

        ck_assert_uint_eq(range.end - range.first, N_OPS);
        for (uint32_t k = 0; k < N_OPS; ++k) {
            ck_assert_uint_eq(op[k].op, k);
            ck_assert_uint_eq(op[k].kind, ops[k].kind);
            ck_assert_uint_eq(op[k].bytes, 100);
            ck_assert(op[k].ready <= op[k].post && op[k].post <= op[k].end);
        }
        ck_assert(op[COPY].packs && op[COPY].channel == FS_CH_LAST);
        ck_assert_uint_eq(op[COPY].by, FS_TOOL_NONE);
        ck_assert_uint_eq(op[SEND].by, COPY);
        ck_assert_uint_eq(op[SEND].peer, 1 - r);
        ck_assert_uint_eq(op[SEND].count, number);
        ck_assert_ptr_eq(
            &trace->ops[op[SEND].mate],
            &trace->ops[fs_tool_trace_ops_of(trace, number, 1 - r).first +
                        RECV]);
        ck_assert_uint_eq(trace->ops[op[SEND].mate].rank, 1 - r);
        ck_assert_uint_eq(trace->ops[op[SEND].mate].mate, range.first + SEND);
    }
}

/* Rank 1 gave before rank 0 got. */
static void check_grant(const fs_tool_trace_t *trace, uint32_t number)
{
    const fs_tool_trace_grant_t *given =
        fs_tool_trace_grant_of(trace, true, 1, 0, number);
    const fs_tool_trace_grant_t *got =
        fs_tool_trace_grant_of(trace, false, 0, 1, number);

    ck_assert(given != NULL && got != NULL);
    ck_assert(given->count == number && got->count == number);
    ck_assert(given->given && !got->given && given->time <= got->time);
    ck_assert_ptr_null(fs_tool_trace_grant_of(trace, true, 0, 0, number));
    ck_assert_ptr_null(fs_tool_trace_grant_of(trace, true, 1, 0, 3));
}

static void check_call(fs_tool_trace_t *trace, uint32_t number)
{
    fs_tool_trace_sum_t   sum;
    fs_tool_trace_step_t *steps;
    fs_tool_path_t        path;
    uint64_t              total = 0;

    fs_tool_trace_sum(trace, number, &sum);
    ck_assert(sum.ran && sum.n_ranks == 2 && sum.messages == 2);
    ck_assert_uint_eq(sum.unmatched, 0);
    ck_assert_uint_eq(sum.bytes, 200);
    ck_assert_uint_eq(sum.bound, 100);
    ck_assert_str_eq(sum.algorithm, "staged");
    ck_assert_str_eq(sum.decompose, "compact");
    ck_assert_str_eq(sum.status, "success");
    ck_assert_int_eq(fs_tool_trace_steps(trace, number, &steps), 1);
    ck_assert_uint_eq(steps[0].bytes, 100);
    ck_assert_uint_eq(steps[0].sent, 200);
    ck_assert_str_eq(steps[0].pairs, "0>1 1>0 ");
    free(steps);
    ck_assert_int_eq(fs_tool_path_find(trace, number, &path), 0);
    for (size_t k = 0; k < path.n; ++k) {
        ck_assert(k == 0 || path.hops[k].begin == path.hops[k - 1].end);
        total += path.hops[k].end - path.hops[k].begin;
    }
    ck_assert_uint_eq(total, sum.end - sum.first_entry);
    fs_tool_path_fini(&path);
}

START_TEST(what_is_told_comes_back)
{
    pair_t                pair;
    fs_tool_traces_t      traces;
    fs_tool_trace_t      *trace;
    fs_tool_trace_range_t phases;

    create(&pair, 0);
    call(&pair, 1, 1);
    call(&pair, 2, 2);
    destroy(&pair);
    traces = read_back();
    trace  = &traces.list[0];
    ck_assert_uint_eq(traces.n, 1);
    ck_assert_str_eq(trace->comm, "a \\\"b\\\"/c"); /* as in the file */
    ck_assert_str_eq(trace->id, "abc");
    ck_assert(trace->n_ranks == 2 && trace->n_servers == 2);
    ck_assert(trace->rate == 1000000 && trace->n_clocks == 1);
    ck_assert_uint_eq(trace->ranks[1].world_rank, 10);
    ck_assert_uint_eq(trace->n_calls, 4);
    ck_assert_uint_eq(trace->n_ops, 4 * N_OPS);
    ck_assert_uint_eq(trace->n_grants, 8);
    ck_assert_uint_eq(trace->n_planned, 8);
    phases = fs_tool_trace_phases_of(trace, 2, 1);
    ck_assert_uint_eq(phases.end - phases.first, 3);
    ck_assert_str_eq(trace->phases[phases.first].name, "summary");
    ck_assert_str_eq(trace->phases[phases.end - 1].name, "run");
    for (uint32_t number = 1; number <= 2; ++number) {
        check_ops(trace, number);
        check_grant(trace, number);
        check_call(trace, number);
    }
    fs_tool_traces_fini(&traces);
    remove_dir();
}
END_TEST

/* What a lane was to do: one thing at a time in each direction, from or to its
 * own server, and as long as the plan says. */
static void check_lane(const fs_test_case_t *tc, uint32_t rank)
{
    const fs_plan_request_t request = {.topo    = tc->topo,
                                       .traffic = &tc->traffic,
                                       .params  = &tc->params,
                                       .rank    = rank};
    uint32_t                home    = fs_topo_server(tc->topo, rank);
    uint64_t                done[2] = {0, 0};
    fs_schedule_t          *schedule;

    MUST(fs_alg_staged_lane(&request, &schedule) == FS_OK);
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        const fs_transfer_t *t     = &schedule->transfers[k];
        bool                 sends = t->src == home;

        MUST((t->src == home) != (t->dst == home));
        MUST(t->start >= done[sends]);
        done[sends] = t->start + t->bytes;
        MUST(done[sends] <= schedule->total);
    }
    MUST(fs_topo_lane(tc->topo, rank) != FS_NO_LANE ||
         schedule->n_transfers == 0);
    fs_schedule_destroy(schedule);
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

/* Full: counted, and what is there is still a file. */
START_TEST(what_does_not_fit_is_counted)
{
    pair_t           pair;
    fs_tool_traces_t traces;

    create(&pair, 40);
    for (uint32_t k = 1; k <= 50; ++k) {
        call(&pair, k, k);
    }
    destroy(&pair);
    traces = read_back();
    for (uint32_t r = 0; r < 2; ++r) {
        ck_assert_uint_gt(traces.list[0].ranks[r].dropped, 100);
    }
    ck_assert_uint_eq(traces.list[0].n_calls, 80);
    ck_assert_uint_lt(traces.list[0].n_ops, 80);
    fs_tool_traces_fini(&traces);
    remove_dir();
}
END_TEST

START_TEST(no_call_no_file)
{
    pair_t pair;

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
                     FS_ERR_HOST);
    ck_assert_str_eq(why, "no trace: /dev/null/traces: Not a directory");
    ck_assert_ptr_null(trace);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(a_directory_that_went_away)
{
    pair_t pair;
    char   why[WHY] = "";

    create(&pair, 0);
    call(&pair, 1, 1);
    ck_assert_int_eq(rmdir(dir), 0);
    ck_assert_int_eq(fs_trace_write(pair.trace[0], why, sizeof(why)),
                     FS_ERR_HOST);
    ck_assert_ptr_nonnull(strstr(why, "a--b--c-abc-rank0.json: No such file"));
    for (uint32_t r = 0; r < 2; ++r) {
        fs_trace_destroy(pair.trace[r]);
    }
    fs_topo_destroy(pair.topo);
}
END_TEST

/* ---- files written by hand ---- */

/* One rank of two, each a server. Times are microseconds; the file has them on
 * a clock that is that much ahead, and another one unless it is not. */
typedef struct by_hand {
    FILE    *file;
    uint32_t rank;
    unsigned offset; /* of its clock, microseconds */
} by_hand_t;

static by_hand_t open_hand(uint32_t rank, unsigned offset, uint64_t epoch_ns)
{
    by_hand_t hand = {.rank = rank, .offset = offset};
    char      name[128];

    snprintf(name, sizeof(name), "%s/fast-x-1-rank%u.json", dir, rank);
    hand.file = fopen(name, "w");
    ck_assert_ptr_nonnull(hand.file);
    fprintf(hand.file,
            "{\"otherData\": {\"format\": \"fastsched trace 1\", \"comm\": "
            "\"x\", \"id\": \"1\", \"rank\": %u, \"world_rank\": %u, "
            "\"ranks\": 2, \"server\": %u, \"servers\": 2, \"rate\": 0, "
            "\"clock\": \"c%u\", \"epoch_ns\": %llu, \"dropped\": 0}, "
            "\"traceEvents\": [\n{\"cat\": \"name\"}",
            rank, rank, rank, offset, (unsigned long long)epoch_ns);
    return hand;
}

static void close_hand(by_hand_t *hand)
{
    fputs("\n]}\n", hand->file);
    fclose(hand->file);
}

static void put_span(by_hand_t *hand, const char *cat, const char *name,
                     unsigned begin, unsigned end, const char *args)
{
    fprintf(hand->file,
            ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"tid\": 0, "
            "\"ts\": %u.000, \"dur\": %u, \"args\": {\"call\": 1%s}}",
            cat, name, begin + hand->offset, end - begin, args);
}

static void put_call(by_hand_t *hand, unsigned begin, unsigned run,
                     unsigned end)
{
    char args[200];

    snprintf(args, sizeof(args),
             ", \"algorithm\": \"staged\", \"bytes\": 1, \"bound\": 1, "
             "\"status\": \"success\", \"run\": %u.0",
             run + hand->offset);
    put_span(hand, "call", "call 1", begin, end, args);
    put_span(hand, "phase", "summary", begin, run, "");
    put_span(hand, "phase", "run", run, end, "");
}

static void put_message(by_hand_t *hand, bool sends, uint32_t op,
                        unsigned ready, unsigned post, unsigned end)
{
    char args[200];

    snprintf(args, sizeof(args),
             ", \"peer\": %u, \"count\": %u, \"bytes\": 10, \"op\": %u, "
             "\"ready\": %u",
             1 - hand->rank, op + 1, op, ready + hand->offset);
    put_span(hand, "wire", sends ? "send to" : "receive from", post, end, args);
}

static void put_grant(by_hand_t *hand, bool given, uint64_t count,
                      unsigned time)
{
    char args[100];

    snprintf(args, sizeof(args), ", \"peer\": %u, \"count\": %llu",
             1 - hand->rank, (unsigned long long)count);
    put_span(hand, "grant", given ? "grant to" : "grant from", time, time,
             args);
}

/*
 * Rank 0: enters at 100, run at 120, sends at 150 what was ready at 125 and was
 * granted at 148; leaves at 210, after the word at 208.
 * Rank 1: enters at 110, run at 122; posts its receive at 140, grants at 141;
 * receives at 200, says so at 201; leaves at 202.
 */
static void write_by_hand(unsigned offset, uint64_t epoch_ns)
{
    by_hand_t zero = open_hand(0, 0, 0);
    by_hand_t one  = open_hand(1, offset, epoch_ns);

    put_call(&zero, 100, 120, 210);
    put_call(&one, 110, 122, 202);
    put_message(&zero, true, 0, 125, 150, 160);
    put_message(&one, false, 0, 140, 140, 200);
    put_grant(&one, true, 1, 141);
    put_grant(&zero, false, 1, 148);
    put_grant(&one, true, 2, 201);
    put_grant(&zero, false, 2, 208);
    close_hand(&zero);
    close_hand(&one);
}

static const struct {
    fs_tool_hop_kind_t kind;
    uint32_t           rank;
    uint64_t           us;
} by_hand_path[] = {
    {FS_TOOL_HOP_ENTRY, 1, 10}, {FS_TOOL_HOP_SUMMARY, 1, 12},
    {FS_TOOL_HOP_IDLE, 1, 18},  {FS_TOOL_HOP_IDLE, 1, 1},
    {FS_TOOL_HOP_GRANT, 0, 7},  {FS_TOOL_HOP_IDLE, 0, 2},
    {FS_TOOL_HOP_WIRE, 1, 50},  {FS_TOOL_HOP_IDLE, 1, 1},
    {FS_TOOL_HOP_GRANT, 0, 7},  {FS_TOOL_HOP_IDLE, 0, 2},
};

/* Hops of one kind on one rank are told together: idle 18 and 1 are 19. */
START_TEST(the_path_by_hand)
{
    fs_tool_traces_t traces;
    fs_tool_path_t   path;
    size_t           n = 0;

    make_dir();
    write_by_hand(0, 0);
    traces = read_back();
    ck_assert_int_eq(fs_tool_path_find(&traces.list[0], 1, &path), 0);
    for (size_t k = 0; k < path.n; ++k) {
        uint64_t us = 0;

        do {
            ck_assert_uint_lt(n,
                              sizeof(by_hand_path) / sizeof(by_hand_path[0]));
            ck_assert_int_eq(path.hops[k].kind, by_hand_path[n].kind);
            ck_assert_uint_eq(path.hops[k].rank, by_hand_path[n].rank);
            us += by_hand_path[n++].us;
        } while (us * 1000 < path.hops[k].end - path.hops[k].begin);
        ck_assert_uint_eq(us * 1000, path.hops[k].end - path.hops[k].begin);
    }
    ck_assert_uint_eq(n, sizeof(by_hand_path) / sizeof(by_hand_path[0]));
    ck_assert_uint_eq(path.share_ns[FS_TOOL_HOP_WIRE], 50000);
    ck_assert_uint_eq(path.share_ns[FS_TOOL_HOP_GRANT], 14000);
    fs_tool_path_fini(&path);
    fs_tool_traces_fini(&traces);
    remove_dir();
}
END_TEST

/*
 * Three messages: the second is on the NIC when the first has arrived, the
 * third is sent 10 us after the second has arrived, when its grant comes.
 */
START_TEST(one_message_at_a_time)
{
    by_hand_t        zero, one;
    fs_tool_traces_t traces;
    fs_tool_path_t   path;

    make_dir();
    zero = open_hand(0, 0, 0);
    one  = open_hand(1, 0, 0);
    put_call(&zero, 100, 110, 300);
    put_call(&one, 100, 110, 310);
    put_grant(&one, true, 2, 112);
    put_grant(&zero, false, 2, 113);
    put_grant(&one, true, 3, 232);
    put_grant(&zero, false, 3, 239);
    put_message(&zero, true, 0, 110, 120, 121);
    put_message(&zero, true, 1, 110, 122, 123);
    put_message(&zero, true, 2, 110, 240, 241);
    put_message(&one, false, 0, 110, 111, 170);
    put_message(&one, false, 1, 110, 112, 230);
    put_message(&one, false, 2, 110, 231, 305);
    close_hand(&zero);
    close_hand(&one);
    traces = read_back();
    ck_assert_int_eq(fs_tool_path_find(&traces.list[0], 1, &path), 0);
    ck_assert_uint_eq(path.share_ns[FS_TOOL_HOP_WIRE], (110 + 65) * 1000);
    ck_assert_uint_eq(path.share_ns[FS_TOOL_HOP_GRANT], (1 + 7) * 1000);
    for (size_t k = 0; k < path.n; ++k) {
        if (path.hops[k].kind == FS_TOOL_HOP_WIRE) {
            bool last = path.hops[k].begin == 140000;

            ck_assert_uint_eq(path.hops[k].begin, last ? 140000 : 20000);
            ck_assert_uint_eq(path.hops[k].messages, last ? 1 : 2);
            ck_assert_uint_eq(path.hops[k].bytes, last ? 10 : 20);
        }
    }
    fs_tool_path_fini(&path);
    fs_tool_traces_fini(&traces);
    remove_dir();
}
END_TEST

/* The other server's clock is 5 s ahead, its time of day 3 ms wrong. The
 * fastest message there took 50 us, the fastest grant back 7: the clocks end up
 * within half of the difference. */
START_TEST(clocks_are_aligned)
{
    fs_tool_traces_t          traces;
    const fs_tool_trace_t    *trace;
    const fs_tool_trace_op_t *sent, *got;

    make_dir();
    write_by_hand(5000000, UINT64_MAX - 5003000000 + 1);
    traces = read_back();
    trace  = &traces.list[0];
    ck_assert(trace->n_clocks == 2 && trace->aligned);
    sent = &trace->ops[fs_tool_trace_ops_of(trace, 1, 0).first];
    got  = &trace->ops[fs_tool_trace_ops_of(trace, 1, 1).first];
    ck_assert_int_eq((long)(got->end - sent->post), 28500); /* (50 + 7) / 2 */
    fs_tool_traces_fini(&traces);
    remove_dir();
}
END_TEST

/* ---- processes ---- */

/* A file with nothing but whose it is. */
static void write_head(unsigned comm, unsigned rank, unsigned world_rank,
                       const char *clock, const char *process)
{
    char  name[128];
    FILE *file;

    snprintf(name, sizeof(name), "%s/fast-x-%u-rank%u.json", dir, comm, rank);
    file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "{\"traceEvents\": [], \"otherData\": {\"format\": \"fastsched "
            "trace 1\", \"comm\": \"x\", \"id\": \"%u\", \"rank\": %u, "
            "\"world_rank\": %u, \"ranks\": 4, \"server\": 0, \"servers\": "
            "1, \"rate\": 0, \"clock\": \"%s\", \"process\": \"%s\", "
            "\"epoch_ns\": 0, \"dropped\": 0}}",
            comm, rank, world_rank, clock, process);
    fclose(file);
}

/* Two processes spawn two, on two machines; before, each two had a communicator
 * of their own. Two have one pid, on different machines. */
START_TEST(processes_are_told_apart)
{
    static const uint32_t numbers[3][4] = {{0, 3}, {2, 4}, {0, 3, 2, 4}};
    fs_tool_traces_t      traces;

    make_dir();
    write_head(1, 0, 0, "a", "p");
    write_head(1, 1, 3, "b", "p");
    write_head(2, 0, 2, "a", "q");
    write_head(2, 1, 3, "b", "q");
    write_head(3, 0, 0, "a", "p");
    write_head(3, 1, 3, "b", "p");
    write_head(3, 2, 2, "a", "q");
    write_head(3, 3, 3, "b", "q");
    traces = read_back();
    ck_assert_uint_eq(traces.n, 3);
    for (size_t k = 0; k < traces.n; ++k) {
        for (uint32_t r = 0; r < (k == 2 ? 4 : 2); ++r) {
            ck_assert(traces.list[k].ranks[r].there);
            ck_assert_uint_eq(traces.list[k].ranks[r].number, numbers[k][r]);
        }
    }
    fs_tool_traces_fini(&traces);
    remove_dir();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace");
    TCase *tcase = tcase_create("trace");

    tcase_add_test(tcase, what_is_told_comes_back);
    tcase_add_loop_test(tcase, a_lane_does_one_thing_at_a_time, 0, 100);
    tcase_add_test(tcase, what_does_not_fit_is_counted);
    tcase_add_test(tcase, no_call_no_file);
    tcase_add_test(tcase, a_directory_that_cannot_be_made);
    tcase_add_test(tcase, a_directory_that_went_away);
    tcase_add_test(tcase, the_path_by_hand);
    tcase_add_test(tcase, one_message_at_a_time);
    tcase_add_test(tcase, clocks_are_aligned);
    tcase_add_test(tcase, processes_are_told_apart);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
