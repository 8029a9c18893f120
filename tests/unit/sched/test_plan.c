/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs on paper: what one rank sends another receives, nothing waits for
 * itself, all ranks have the same schedule. test_exec.c runs them. */
#include "fs_test_util.h"
#include "sched/balance/fs_balance.h"
#include "sched/plan/fs_plan_check.h"
#include "sched/plan/fs_plan.h"

#include <stdlib.h>
#include <string.h>

/* A message as one end sees it. */
typedef struct message {
    uint32_t channel;
    uint32_t src;
    uint32_t dst;
    uint32_t seq;
    uint64_t len_bytes;
} message_t;

static int by_name(const void *a, const void *b)
{
    const message_t *x = a, *y = b;

    if (x->channel != y->channel) {
        return x->channel < y->channel ? -1 : 1;
    }
    if (x->src != y->src) {
        return x->src < y->src ? -1 : 1;
    }
    if (x->dst != y->dst) {
        return x->dst < y->dst ? -1 : 1;
    }
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

typedef struct messages {
    message_t *list;
    size_t     n;
} messages_t;

/* All sends, or all receives, of all ranks' plans, in order of their names. */
static messages_t collect(const fs_test_case_t *tc, fs_plan_t *const *plans,
                          fs_op_kind_t kind)
{
    messages_t all = {0};
    size_t     max = 1;

    for (uint32_t r = 0; r < tc->n_ranks; ++r) {
        max += plans[r]->n_ops;
    }
    all.list = fs_test_alloc(max, sizeof(*all.list));
    for (uint32_t r = 0; r < tc->n_ranks; ++r) {
        for (uint32_t k = 0; k < plans[r]->n_ops; ++k) {
            const fs_op_t *op = &plans[r]->ops[k];

            if (op->kind == kind) {
                bool sends = kind == FS_OP_SEND;

                all.list[all.n++] =
                    (message_t){op->channel, sends ? r : op->peer,
                                sends ? op->peer : r, op->seq, op->len_bytes};
            }
        }
    }
    qsort(all.list, all.n, sizeof(*all.list), by_name);
    return all;
}

static void check_messages(const fs_test_case_t *tc, fs_plan_t *const *plans)
{
    messages_t sends = collect(tc, plans, FS_OP_SEND);
    messages_t recvs = collect(tc, plans, FS_OP_RECV);

    ck_assert_uint_eq(sends.n, recvs.n);
    ck_assert_int_eq(
        memcmp(sends.list, recvs.list, sends.n * sizeof(message_t)), 0);
    for (size_t k = 0; k < sends.n; ++k) {
        const message_t *m    = &sends.list[k];
        bool             wire = fs_topo_server(tc->topo, m->src) !=
                    fs_topo_server(tc->topo, m->dst);

        if (wire != (m->channel == FS_CH_WIRE) || m->len_bytes == 0 ||
            m->len_bytes > tc->params.chunk || m->src == m->dst) {
            ck_abort_msg("message %zu: channel %u from %u to %u, %llu bytes", k,
                         m->channel, m->src, m->dst,
                         (unsigned long long)m->len_bytes);
        }
        /* Connections are made for these only. */
        ck_assert(!wire ||
                  fs_plan_talks(tc->topo, &tc->params, m->src, m->dst));
    }
    free(sends.list);
    free(recvs.list);
}

/* Run the edges: every operation gets its turn. */
static void check_acyclic(const fs_plan_t *plan)
{
    uint32_t *waits = fs_test_alloc(plan->n_ops + 1, sizeof(*waits));
    uint32_t *ready = fs_test_alloc(plan->n_ops + 1, sizeof(*ready));
    uint32_t  n = 0, n_edges = 0;

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        waits[k] = plan->ops[k].n_after;
        n_edges += waits[k];
        if (waits[k] == 0) {
            ready[n++] = k;
        }
    }
    for (uint32_t head = 0; head < n; ++head) {
        const fs_op_t *op = &plan->ops[ready[head]];

        for (uint32_t e = 0; e < op->n_next; ++e) {
            uint32_t next = plan->next[op->next + e];

            if (--waits[next] == 0) {
                ready[n++] = next;
            }
        }
    }
    ck_assert_uint_eq(n, plan->n_ops);
    ck_assert_uint_eq(n_edges, plan->n_next);
    free(waits);
    free(ready);
}

/* Staging is used within its size, and only where it has to be. */
static void check_staging(const fs_test_case_t *tc, const fs_plan_t *plan)
{
    ck_assert_uint_le(plan->staging_bytes, tc->params.staging_limit);
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        const fs_op_t *op = &plan->ops[k];

        if ((op->kind != FS_OP_RECV && op->src.buffer == FS_BUF_STAGING &&
             op->src.offset + op->len_bytes > plan->staging_bytes) ||
            (op->kind != FS_OP_SEND && op->dst.buffer == FS_BUF_STAGING &&
             op->dst.offset + op->len_bytes > plan->staging_bytes)) {
            ck_abort_msg("operation %u leaves the staging pool", k);
        }
    }
}

/* ---- staging: whoever shares bytes of a slot takes turns ---- */

/* before[k] has bit j if operation j ends before k starts. */
static uint64_t *all_predecessors(const fs_plan_t *plan, size_t words)
{
    uint64_t *before = fs_test_alloc(plan->n_ops * words, sizeof(*before));
    uint32_t *waits  = fs_test_alloc(plan->n_ops, sizeof(*waits));
    uint32_t *ready = fs_test_alloc(plan->n_ops, sizeof(*ready)), n = 0;

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        waits[k] = plan->ops[k].n_after;
        if (waits[k] == 0) {
            ready[n++] = k;
        }
    }
    for (uint32_t head = 0; head < n; ++head) {
        uint32_t       id = ready[head];
        const fs_op_t *op = &plan->ops[id];

        for (uint32_t e = 0; e < op->n_next; ++e) {
            uint32_t next = plan->next[op->next + e];

            for (size_t w = 0; w < words; ++w) {
                before[next * words + w] |= before[id * words + w];
            }
            before[next * words + id / 64] |= UINT64_C(1) << id % 64;
            if (--waits[next] == 0) {
                ready[n++] = next;
            }
        }
    }
    free(waits);
    free(ready);
    return before;
}

/* The place in staging that an operation touches; NULL if none. */
static const fs_place_t *staged_place(const fs_op_t *op, bool *writes_p)
{
    *writes_p = op->kind != FS_OP_SEND && op->dst.buffer == FS_BUF_STAGING;
    if (*writes_p) {
        return &op->dst;
    }
    return op->kind != FS_OP_RECV && op->src.buffer == FS_BUF_STAGING ? &op->src
                                                                      : NULL;
}

static bool clash(const fs_op_t *a, const fs_op_t *b)
{
    bool              a_writes, b_writes;
    const fs_place_t *x = staged_place(a, &a_writes);
    const fs_place_t *y = staged_place(b, &b_writes);

    return x != NULL && y != NULL && (a_writes || b_writes) &&
           x->offset < y->offset + b->len_bytes &&
           y->offset < x->offset + a->len_bytes;
}

/* By the edges alone: what a network or a copy happens to delay must not
 * matter. */
static void check_slots(const fs_plan_t *plan)
{
    size_t    words  = plan->n_ops / 64 + 1;
    uint64_t *before = all_predecessors(plan, words);

    for (uint32_t a = 0; a < plan->n_ops; ++a) {
        for (uint32_t b = a + 1; b < plan->n_ops; ++b) {
            if (clash(&plan->ops[a], &plan->ops[b]) &&
                (before[b * words + a / 64] >> a % 64 & 1) == 0 &&
                (before[a * words + b / 64] >> b % 64 & 1) == 0) {
                ck_abort_msg("operations %u and %u share a slot", a, b);
            }
        }
    }
    free(before);
}

START_TEST(prop_plans_fit_together)
{
    fs_test_case_t tc;
    fs_plan_t    **plans;
    char           why[256] = "";

    fs_test_case_init(&tc, (uint64_t)_i);
    plans = fs_test_alloc(tc.n_ranks, sizeof(fs_plan_t *));
    for (uint32_t r = 0; r < tc.n_ranks; ++r) {
        bool send_packed = fs_rng_below(&tc.rng, 2) == 0;
        bool recv_packed = fs_rng_below(&tc.rng, 2) == 0;

        ck_assert_int_eq(
            fs_test_plan(&tc, r, send_packed, recv_packed, &plans[r]), FS_OK);
        ck_assert_uint_eq(plans[r]->digest, plans[0]->digest);
        check_acyclic(plans[r]);
        check_staging(&tc, plans[r]);
        check_slots(plans[r]);
    }
    check_messages(&tc, plans);
    ck_assert_msg(fs_plan_check(tc.topo, &tc.params, tc.counts, plans, why,
                                sizeof(why)) == FS_OK,
                  "%s, %s, %s: %s", fs_alg_name(tc.params.algorithm),
                  fs_balance_name(tc.params.balance),
                  fs_decompose_name(tc.params.decompose), why);
    for (uint32_t r = 0; r < tc.n_ranks; ++r) {
        fs_plan_destroy(plans[r]);
    }
    free(plans);
    fs_test_case_fini(&tc);
}
END_TEST

/* Exact stages are as long as the busiest lane, give or take the rounding of
 * each tile to whole bytes. */
START_TEST(prop_total_is_the_bound)
{
    fs_test_case_t tc;
    fs_plan_t     *plan;
    uint64_t       bound, slack;

    fs_test_case_init(&tc, 5000 + (uint64_t)_i);
    tc.params.algorithm = FS_ALG_STAGED;
    tc.params.decompose = FS_DECOMPOSE_BIRKHOFF;
    fs_topo_destroy(tc.topo);
    tc.topo = NULL;
    {
        uint32_t *server_of = fs_test_alloc(12, sizeof(*server_of));

        for (uint32_t r = 0; r < 12; ++r) {
            server_of[r] = r % 4;
        }
        ck_assert_int_eq(fs_topo_create(12, server_of, 0, &tc.topo), FS_OK);
        free(server_of);
    }
    tc.n_ranks = 12;
    free(tc.counts);
    tc.counts = fs_test_alloc((size_t)12 * 12, sizeof(*tc.counts));
    fs_test_case_redraw(&tc);
    ck_assert_int_eq(fs_test_plan(&tc, 5, true, true, &plan), FS_OK);
    bound = fs_traffic_lower_bound(tc.topo, &tc.traffic);
    slack = 3; /* tiles in a row or column */
    ck_assert_uint_ge(plan->total_per_lane, bound);
    ck_assert_uint_le(plan->total_per_lane, bound + slack);
    fs_plan_destroy(plan);
    fs_test_case_fini(&tc);
}
END_TEST

/* Rank 0 of servers {0, 1} and {2, 3}, every block 100 bytes. */
START_TEST(pipe2d_by_hand)
{
    static const struct {
        fs_op_kind_t kind;
        fs_channel_t channel;
        uint32_t     peer, src, src_block, dst, dst_block, n_after;
    } want[] = {
        /* Phase 1: what is for the far end of the rail, straight from here. */
        {FS_OP_SEND, FS_CH_WIRE, 2, FS_BUF_SEND, 2, 0, 0, 0},
        {FS_OP_RECV, FS_CH_WIRE, 2, 0, 0, FS_BUF_RECV, 2, 0},
        /* Phase 2: what rank 1 has for it, gathered meanwhile. */
        {FS_OP_RECV, FS_CH_GATHER, 1, 0, 0, FS_BUF_STAGING, 0, 0},
        {FS_OP_SEND, FS_CH_WIRE, 2, FS_BUF_STAGING, 0, 0, 0, 1},
        {FS_OP_SEND, FS_CH_GATHER, 1, FS_BUF_SEND, 3, 0, 0, 0},
        {FS_OP_RECV, FS_CH_WIRE, 2, 0, 0, FS_BUF_RECV, 3, 0},
        /* Inside the server, once phase 1 is sent. */
        {FS_OP_RECV, FS_CH_INTRA, 1, 0, 0, FS_BUF_RECV, 1, 0},
        {FS_OP_SEND, FS_CH_INTRA, 1, FS_BUF_SEND, 1, 0, 0, 1},
        {FS_OP_COPY, FS_CH_WIRE, 0, FS_BUF_SEND, 0, FS_BUF_RECV, 0, 0},
    };
    const uint32_t         server_of[] = {0, 0, 1, 1};
    uint64_t               rows[]   = {100, 100, 100, 100, 100, 100, 100, 100};
    uint64_t               matrix[] = {400, 400, 400, 400};
    fs_traffic_t           traffic  = {2, matrix, 800, 1600, 200};
    fs_local_traffic_t     local    = {rows, rows, true, true};
    const fs_plan_params_t params   = {
          .chunk = 1000, .window = 1, .staging_limit = 12000};
    fs_plan_t *plan;
    fs_topo_t *topo;

    ck_assert_int_eq(fs_topo_create(4, server_of, 0, &topo), FS_OK);
    ck_assert_int_eq(fs_plan_create(FS_ALG_PIPE2D, topo, &traffic, &params, 0,
                                    &local, &plan),
                     FS_OK);
    ck_assert_uint_eq(plan->n_ops, sizeof(want) / sizeof(want[0]));
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        const fs_op_t *op = &plan->ops[k];

        ck_assert_msg(op->kind == want[k].kind &&
                          op->channel == want[k].channel &&
                          op->peer == want[k].peer && op->len_bytes == 100 &&
                          op->src.buffer == want[k].src &&
                          op->src.block == want[k].src_block &&
                          op->dst.buffer == want[k].dst &&
                          op->dst.block == want[k].dst_block &&
                          op->n_after == want[k].n_after,
                      "operation %u", k);
    }
    ck_assert_uint_eq(plan->ops[0].n_next, 1);
    ck_assert_uint_eq(plan->next[plan->ops[0].next], 7);
    fs_plan_destroy(plan);
    fs_topo_destroy(topo);
}
END_TEST

START_TEST(same_input_same_bytes)
{
    fs_test_case_t tc;
    fs_plan_t     *a, *b;

    fs_test_case_init(&tc, 31);
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, false, &a), FS_OK);
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, false, &b), FS_OK);
    ck_assert_uint_eq(a->n_ops, b->n_ops);
    ck_assert_uint_eq(a->n_next, b->n_next);
    ck_assert_int_eq(memcmp(a->ops, b->ops, a->n_ops * sizeof(*a->ops)), 0);
    ck_assert_int_eq(memcmp(a->next, b->next, a->n_next * sizeof(*a->next)), 0);
    fs_plan_destroy(a);
    fs_plan_destroy(b);
    fs_test_case_fini(&tc);
}
END_TEST

START_TEST(bad_params_are_refused)
{
    fs_test_case_t tc;
    fs_plan_t     *plan;

    fs_test_case_init(&tc, 32);
    tc.params.staging_limit = 12 * tc.params.chunk - 1;
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, true, &plan), FS_ERR_INVAL);
    tc.params.staging_limit = 12 * tc.params.chunk;
    tc.params.window        = 0;
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, true, &plan), FS_ERR_INVAL);
    tc.params.window = 1;
    tc.params.chunk  = 0;
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, true, &plan), FS_ERR_INVAL);
    fs_test_case_fini(&tc);
}
END_TEST

/* Counts of the server that are not those of the summary. */
START_TEST(mismatch_is_refused)
{
    fs_test_case_t tc;
    fs_plan_t     *plan;

    fs_test_case_init(&tc, 33);
    ck_assert_uint_gt(fs_topo_server(tc.topo, tc.n_ranks - 1), 0);
    ++tc.counts[tc.n_ranks - 1];
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, true, &plan), FS_ERR_MISMATCH);
    ck_assert_ptr_null(plan);
    --tc.counts[tc.n_ranks - 1];
    ++tc.counts[(size_t)(tc.n_ranks - 1) * tc.n_ranks]; /* one received */
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, true, &plan), FS_ERR_MISMATCH);
    fs_test_case_fini(&tc);
}
END_TEST

/* Counts whose sum is right only because it passes 2^64. */
START_TEST(wrapped_sums_are_refused)
{
    static const uint32_t    server_of[4] = {0, 0, 1, 1};
    uint64_t                 send[8] = {0}, recv[8] = {0};
    uint64_t                 bytes[4] = {0, 20, 0, 0};
    const uint64_t           half     = UINT64_C(1) << 63;
    const fs_local_traffic_t local    = {send, recv, true, true};
    fs_test_case_t           tc;
    fs_traffic_t             traffic = {.n_servers = 2, .bytes = bytes};
    fs_plan_t               *plan    = NULL;
    fs_topo_t               *topo;

    fs_test_case_init(&tc, 34);
    ck_assert_int_eq(fs_topo_create(4, server_of, 0, &topo), FS_OK);
    ck_assert_int_eq(fs_traffic_sum(&traffic), FS_OK);
    send[2] = send[3] = half + 10; /* rank 0 to 2 and 3: 20, modulo 2^64 */
    ck_assert_int_eq(fs_plan_create(FS_ALG_STAGED, topo, &traffic, &tc.params,
                                    0, &local, &plan),
                     FS_ERR_MISMATCH);
    ck_assert_ptr_null(plan);
    fs_topo_destroy(topo);
    fs_test_case_fini(&tc);
}
END_TEST

/* Tags have 24 bits for the number of a message. */
START_TEST(too_many_messages_are_refused)
{
    const fs_place_t place  = {FS_BUF_SEND, 1, 0};
    const fs_plan_t  totals = {0};
    fs_program_t     program;
    fs_plan_t       *plan = NULL;

    ck_assert_int_eq(fs_program_init(&program, 2), FS_OK);
    for (size_t k = 0; k < (size_t)2 * FS_CH_LAST * 2; ++k) {
        program.next_seq[k] = FS_MAX_SEQ - 1;
    }
    fs_program_send(&program, FS_CH_WIRE, 1, place, 1);
    fs_program_recv(&program, FS_CH_WIRE, 1, place, 1);
    ck_assert_int_eq(program.status, FS_OK);
    fs_program_send(&program, FS_CH_WIRE, 1, place, 1);
    ck_assert_int_eq(program.status, FS_ERR_OVERFLOW);
    ck_assert_uint_eq(fs_program_copy(&program, place, place, 1), FS_NO_OP);
    ck_assert_int_eq(fs_program_seal(&program, &totals, &plan),
                     FS_ERR_OVERFLOW);
    ck_assert_ptr_null(plan);
    fs_program_fini(&program);
}
END_TEST

/* The host's algorithm is not ours to plan, nor is one that does not exist. */
START_TEST(unknown_algorithms_are_refused)
{
    fs_test_case_t tc;
    fs_plan_t     *plan;

    fs_test_case_init(&tc, 34);
    tc.params.algorithm = FS_ALG_NATIVE;
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, true, &plan), FS_ERR_INVAL);
    tc.params.algorithm = (fs_alg_t)77;
    ck_assert_int_eq(fs_test_plan(&tc, 0, true, true, &plan), FS_ERR_INVAL);
    fs_test_case_fini(&tc);
}
END_TEST

/* Where each algorithm moves bytes inside servers: pipe2d never redistributes,
 * direct never moves any, staged says what made its schedule. */
START_TEST(prop_moves)
{
    fs_test_case_t tc;
    fs_plan_t     *plan;

    fs_test_case_init(&tc, 6000 + (uint64_t)_i);
    for (uint32_t r = 0; r < tc.n_ranks; ++r) {
        fs_alg_t alg = tc.params.algorithm;

        ck_assert(fs_test_plan(&tc, r, true, true, &plan) == FS_OK);
        ck_assert(plan->alg == alg);
        ck_assert(alg == FS_ALG_STAGED || plan->moved_redist == 0);
        ck_assert(alg != FS_ALG_DIRECT || plan->moved_gather == 0);
        ck_assert(alg == FS_ALG_STAGED || plan->n_stages == 0);
        ck_assert(alg != FS_ALG_STAGED || plan->decompose != FS_DECOMPOSE_AUTO);
        fs_plan_destroy(plan);
    }
    fs_test_case_fini(&tc);
}
END_TEST

/* ---- connections: whom a rank may send to or receive from ---- */

/* n_large servers of size ranks, then n_single of one. */
static fs_topo_t *large_and_single(uint32_t n_large, uint32_t size,
                                   uint32_t n_single, uint32_t max_lanes)
{
    uint32_t   n         = n_large * size + n_single;
    uint32_t  *server_of = fs_test_alloc(n, sizeof(*server_of));
    fs_topo_t *topo      = NULL;

    for (uint32_t r = 0; r < n; ++r) {
        server_of[r] = r < n_large * size ? r / size
                                          : n_large + r - n_large * size;
    }
    ck_assert_int_eq(fs_topo_create(n, server_of, max_lanes, &topo), FS_OK);
    free(server_of);
    return topo;
}

/* Ranks of other servers that a rank is connected to. */
static uint32_t n_peers(const fs_topo_t *topo, const fs_plan_params_t *params,
                        uint32_t rank)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < fs_topo_n_ranks(topo); ++r) {
        n += fs_topo_server(topo, r) != fs_topo_server(topo, rank) &&
             (fs_plan_talks(topo, params, rank, r) ||
              fs_plan_talks(topo, params, r, rank));
    }
    return n;
}

enum { AUTO = FS_ALG_NATIVE, MTM = 2200 };

static const struct {
    uint32_t n_large, size, n_single, max_lanes;
    int      algorithm;
    uint32_t mtm_threshold;
    uint32_t with_lane, without; /* peers of rank 0, and of rank 3 */
} connections[] = {
    {40, 64, 0, 1, FS_ALG_STAGED, MTM, 39, 0},
    {40, 64, 0, 1, AUTO, MTM, 39, 0},
    {40, 64, 0, 1, FS_ALG_PIPE2D, MTM, 39 * 64, 39},
    {40, 64, 0, 1, FS_ALG_DIRECT, MTM, 39 * 64, 39 * 64},
    /* Uneven servers; every lane has its turn. */
    {3, 4, 5, 2, FS_ALG_STAGED, MTM, 7, 0},
    {3, 4, 5, 2, AUTO, MTM, 7, 0},
    {3, 4, 5, 2, FS_ALG_PIPE2D, MTM, 9, 7},
    /* As many nodes as there may be, and one more: only then is pipe2d a
     * choice, but not if every call counts as skewed. */
    {1, 4, 1022, 2, AUTO, MTM, 1022, 0},
    {1, 4, 1023, 2, AUTO, MTM, 1023, 1023},
    {1, 4, 1023, 2, AUTO, 1001, 1023, 1023},
    {1, 4, 1023, 2, AUTO, 1000, 1023, 0},
    {1, 4, 1023, 2, FS_ALG_STAGED, MTM, 1023, 0},
    {1, 4, 1023, 2, FS_ALG_PIPE2D, MTM, 1023, 1023},
};
enum { N_CONNECTIONS = sizeof(connections) / sizeof(connections[0]) };

START_TEST(connections_are_few)
{
    fs_plan_params_t params = {
        .algorithm           = (fs_alg_t)connections[_i].algorithm,
        .force_algorithm     = connections[_i].algorithm != AUTO,
        .mtm_threshold_milli = connections[_i].mtm_threshold};
    fs_topo_t *topo =
        large_and_single(connections[_i].n_large, connections[_i].size,
                         connections[_i].n_single, connections[_i].max_lanes);

    ck_assert_uint_ne(fs_topo_lane(topo, 0), FS_NO_LANE);
    ck_assert_uint_eq(fs_topo_lane(topo, 3), FS_NO_LANE);
    ck_assert_uint_eq(n_peers(topo, &params, 0), connections[_i].with_lane);
    ck_assert_uint_eq(n_peers(topo, &params, 3), connections[_i].without);
    fs_topo_destroy(topo);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tcase = tcase_create("plan");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, prop_plans_fit_together, 0, 400);
    tcase_add_loop_test(tcase, prop_total_is_the_bound, 0, 50);
    tcase_add_test(tcase, pipe2d_by_hand);
    tcase_add_test(tcase, same_input_same_bytes);
    tcase_add_test(tcase, bad_params_are_refused);
    tcase_add_test(tcase, mismatch_is_refused);
    tcase_add_test(tcase, wrapped_sums_are_refused);
    tcase_add_test(tcase, too_many_messages_are_refused);
    tcase_add_test(tcase, unknown_algorithms_are_refused);
    tcase_add_loop_test(tcase, prop_moves, 0, 200);
    tcase_add_loop_test(tcase, connections_are_few, 0, N_CONNECTIONS);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
