/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves the programs of all ranks from the traffic alone, or from the vector
 * of a reduction, sharing no code with the planner.
 *
 *   1. Every operation, taken by itself, makes sense: peers, channels, places
 *      within buffers, edges within the program.
 *   2. Ranks agree on totals, and totals agree with operations.
 *   3. Every message has one sender and one receiver, with equal lengths and
 *      numbers.
 *   4. Replayed (fs_plan_replay.c), the programs end and deliver.
 *
 * O(n log n) for n operations of all ranks, as long as each writer of staging
 * memory has an edge from the reader before it; otherwise a path is searched.
 */
#include "sched/plan/fs_plan_check.h"

#include "base/fs_arith.h"
#include "sched/plan/fs_plan_replay.h"
#include "sched/model/fs_topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEQ = 1 << 24 };

/* ---- what is wrong ---- */

fs_status_t fs_check_fail(const fs_check_t *check, size_t node,
                          const char *problem)
{
    uint32_t rank = check->nodes[node].rank;

    snprintf(check->why, check->why_len, "rank %u, operation %zu: %s", rank,
             node - check->first[rank], problem);
    return FS_ERR_INVAL;
}

static fs_status_t fail_plan(const fs_check_t *check, uint32_t rank,
                             const char *problem)
{
    snprintf(check->why, check->why_len, "rank %u: %s", rank, problem);
    return FS_ERR_INVAL;
}

/* ---- one operation by itself ---- */

static uint64_t block_bytes(const fs_check_t *check, uint32_t src, uint32_t dst)
{
    return check->rank_bytes[(size_t)src * check->topo->n_ranks + dst];
}

/* May a program touch the user's buffer so? */
static bool may_touch(const fs_check_t *check, uint32_t buffer, bool written)
{
    const fs_reduction_t *reduction = check->reduction;

    if (buffer == FS_BUF_SEND) {
        return !written && (reduction == NULL || !reduction->in_place);
    }
    return buffer == FS_BUF_RECV && (written || reduction != NULL);
}

static uint64_t user_bytes(const fs_check_t *check, uint32_t rank,
                           const fs_place_t *place)
{
    if (check->reduction != NULL) {
        return place->block == 0 ? check->vector_bytes : 0;
    }
    return place->buffer == FS_BUF_SEND
               ? block_bytes(check, rank, place->block)
               : block_bytes(check, place->block, rank);
}

/* NULL, or what is wrong with a place that is read or written. */
static const char *place_problem(const fs_check_t *check, uint32_t rank,
                                 const fs_place_t *place, uint64_t len_bytes,
                                 bool written)
{
    uint64_t size, end;

    if (place->buffer == FS_BUF_STAGING) {
        size = place->block == 0 ? check->plans[rank]->staging_bytes : 0;
    } else if (place->block >= check->topo->n_ranks) {
        return "refers to the block of a rank that does not exist";
    } else if (may_touch(check, place->buffer, written)) {
        size = user_bytes(check, rank, place);
    } else {
        return written ? "writes to a buffer that is read only"
                       : "reads from a buffer that is write only";
    }
    if (!fs_u64_add(place->offset, len_bytes, &end) || end > size) {
        return written ? "writes beyond the end" : "reads beyond the end";
    }
    return NULL;
}

static const char *message_problem(const fs_check_t *check, uint32_t rank,
                                   const fs_op_t *op)
{
    if (op->peer >= check->topo->n_ranks || op->peer == rank) {
        return "has no valid peer";
    }
    if (op->channel >= FS_CH_LAST || op->seq >= MAX_SEQ) {
        return "has a channel or a number that does not exist";
    }
    if ((op->channel == FS_CH_WIRE) !=
        (check->topo->server[rank] != check->topo->server[op->peer])) {
        return "uses a wire channel inside a server, or a local channel "
               "between servers";
    }
    return op->len_bytes > check->params->chunk ? "is longer than a chunk"
                                                : NULL;
}

static const char *op_problem(const fs_check_t      *check,
                              const fs_check_node_t *node)
{
    const fs_op_t *op      = node->op;
    uint32_t       rank    = node->rank;
    const char    *problem = NULL;

    if (op->kind >= FS_N_OP_KINDS || op->unused != 0) {
        return "is of an unknown kind";
    }
    if (op->kind == FS_OP_REDUCE && check->reduction == NULL) {
        return "reduces, in an alltoallv";
    }
    if (op->len_bytes == 0) {
        return "moves nothing";
    }
    if (fs_check_is_message(node)) {
        problem = message_problem(check, rank, op);
    }
    if (problem == NULL && op->kind != FS_OP_RECV) {
        problem = place_problem(check, rank, &op->src, op->len_bytes, false);
    }
    if (problem == NULL && op->kind != FS_OP_SEND) {
        problem = place_problem(check, rank, &op->dst, op->len_bytes, true);
    }
    return problem;
}

/* Successors exist, and each has the right number of predecessors. */
static fs_status_t check_edges(fs_check_t *check, uint32_t rank)
{
    const fs_plan_t *plan = check->plans[rank];
    uint32_t *n_before = fs_arena_calloc(&check->arena, (size_t)plan->n_ops + 1,
                                         sizeof(*n_before));
    uint64_t  n_edges  = 0;

    if (n_before == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        const fs_op_t *op = &plan->ops[k];

        if ((uint64_t)op->next + op->n_next > plan->n_next) {
            return fs_check_fail(check, check->first[rank] + k,
                                 "has successors outside the list");
        }
        n_edges += op->n_next;
        for (uint32_t e = op->next; e < op->next + op->n_next; ++e) {
            if (plan->next[e] >= plan->n_ops) {
                return fs_check_fail(check, check->first[rank] + k,
                                     "has a successor that does not exist");
            }
            ++n_before[plan->next[e]];
        }
    }
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        if (n_before[k] != plan->ops[k].n_after) {
            return fs_check_fail(check, check->first[rank] + k,
                                 "has a wrong number of predecessors");
        }
    }
    return n_edges == plan->n_next
               ? FS_OK
               : fail_plan(check, rank, "has edges without a source");
}

static fs_status_t check_ops(fs_check_t *check)
{
    for (size_t k = 0; k < check->n_nodes; ++k) {
        fs_check_node_t *node    = &check->nodes[k];
        const char      *problem = op_problem(check, node);

        if (problem != NULL) {
            return fs_check_fail(check, k, problem);
        }
    }
    return FS_OK;
}

/* ---- totals ---- */

static fs_status_t check_totals(const fs_check_t *check, uint32_t rank)
{
    const fs_plan_t *plan = check->plans[rank], *zero = check->plans[0];
    uint64_t         moved[FS_CH_LAST] = {0};

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        if (plan->ops[k].kind == FS_OP_SEND) {
            moved[plan->ops[k].channel] += plan->ops[k].len_bytes;
        }
    }
    if (plan->moved_gather != moved[FS_CH_GATHER] ||
        plan->moved_redist != moved[FS_CH_REDIST]) {
        return fail_plan(
            check, rank,
            "has a count of moved bytes that differs from its operations");
    }
    if (plan->staging_bytes > check->params->staging_limit) {
        return fail_plan(check, rank, "needs more staging memory than allowed");
    }
    if (plan->window == 0 || plan->window != check->params->window) {
        return fail_plan(check, rank,
                         "has a window that differs from the parameter");
    }
    if (plan->digest != zero->digest || plan->n_stages != zero->n_stages ||
        plan->total_per_lane != zero->total_per_lane) {
        return fail_plan(check, rank,
                         "has stages that differ from those of rank 0");
    }
    return FS_OK;
}

/* Sends between servers add up to the traffic between servers: no byte crosses
 * twice. (That each crosses at all is for the replay.) */
static fs_status_t check_wire(const fs_check_t *check)
{
    uint32_t n    = check->topo->n_ranks;
    uint64_t wire = 0;

    for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = 0; j < n; ++j) {
            wire += check->topo->server[i] == check->topo->server[j]
                        ? 0
                        : block_bytes(check, i, j);
        }
    }
    for (size_t k = 0; k < check->n_nodes; ++k) {
        const fs_op_t *op = check->nodes[k].op;

        if (op->kind == FS_OP_SEND && op->channel == FS_CH_WIRE) {
            wire -= op->len_bytes;
        }
    }
    if (wire != 0) {
        snprintf(check->why, check->why_len,
                 "sends bytes between servers that differ from the traffic");
        return FS_ERR_INVAL;
    }
    return FS_OK;
}

/* ---- messages ---- */

/* One end of a message. Both ends have the same name. */
typedef struct end {
    uint64_t ranks;  /* sender and receiver */
    uint64_t number; /* channel and sequence number */
    size_t   node;
} end_t;

static int by_name(const void *a, const void *b)
{
    const end_t *x = a, *y = b;

    if (x->ranks != y->ranks) {
        return x->ranks < y->ranks ? -1 : 1;
    }
    if (x->number != y->number) {
        return x->number < y->number ? -1 : 1;
    }
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The ends of one kind by name. NULL: out of memory. */
static end_t *list_ends(fs_check_t *check, fs_op_kind_t kind, size_t *n_p)
{
    end_t *ends =
        fs_arena_calloc(&check->arena, check->n_nodes + 1, sizeof(*ends));
    size_t n = 0;

    for (size_t k = 0; ends != NULL && k < check->n_nodes; ++k) {
        const fs_op_t *op   = check->nodes[k].op;
        uint64_t       rank = check->nodes[k].rank, peer = op->peer;

        if (op->kind == kind) {
            ends[n++] = (end_t){kind == FS_OP_SEND ? rank << 32 | peer
                                                   : peer << 32 | rank,
                                (uint64_t)op->channel << 32 | op->seq, k};
        }
    }
    if (ends != NULL) {
        qsort(ends, n, sizeof(*ends), by_name);
    }
    *n_p = n;
    return ends;
}

/* Messages of one kind between two ranks are numbered in plan order. */
static fs_status_t check_numbers(const fs_check_t *check, const end_t *ends,
                                 size_t n)
{
    for (size_t k = 0; k < n; ++k) {
        bool first = k == 0 || ends[k].ranks != ends[k - 1].ranks ||
                     ends[k].number >> 32 != ends[k - 1].number >> 32;

        if (first ? (uint32_t)ends[k].number != 0
                  : ends[k].number != ends[k - 1].number + 1 ||
                        ends[k].node < ends[k - 1].node) {
            return fs_check_fail(check, ends[k].node,
                                 "is not the next of its kind");
        }
    }
    return FS_OK;
}

static fs_status_t pair_up(fs_check_t *check, const end_t *sends,
                           const end_t *recvs, size_t n_sends, size_t n_recvs)
{
    for (size_t k = 0; k < n_sends && k < n_recvs; ++k) {
        fs_check_node_t *send = &check->nodes[sends[k].node];
        fs_check_node_t *recv = &check->nodes[recvs[k].node];

        if (sends[k].ranks != recvs[k].ranks ||
            sends[k].number != recvs[k].number) {
            bool lone_send = sends[k].ranks < recvs[k].ranks ||
                             (sends[k].ranks == recvs[k].ranks &&
                              sends[k].number < recvs[k].number);

            return lone_send
                       ? fs_check_fail(check, sends[k].node, "has no receive")
                       : fs_check_fail(check, recvs[k].node, "has no send");
        }
        if (send->op->len_bytes != recv->op->len_bytes) {
            return fs_check_fail(check, recvs[k].node,
                                 "differs in length from its send");
        }
        send->partner = recvs[k].node;
        recv->partner = sends[k].node;
    }
    if (n_sends > n_recvs) {
        return fs_check_fail(check, sends[n_recvs].node, "has no receive");
    }
    return n_sends == n_recvs
               ? FS_OK
               : fs_check_fail(check, recvs[n_sends].node, "has no send");
}

static fs_status_t check_messages(fs_check_t *check)
{
    size_t      n_sends, n_recvs;
    end_t      *sends = list_ends(check, FS_OP_SEND, &n_sends);
    end_t      *recvs = list_ends(check, FS_OP_RECV, &n_recvs);
    fs_status_t status;

    if (sends == NULL || recvs == NULL) {
        return FS_ERR_NOMEM;
    }
    status = check_numbers(check, sends, n_sends);
    if (status == FS_OK) {
        status = check_numbers(check, recvs, n_recvs);
    }
    return status == FS_OK ? pair_up(check, sends, recvs, n_sends, n_recvs)
                           : status;
}

/* ---- all of it ---- */

static fs_status_t number_ops(fs_check_t *check)
{
    uint32_t n = check->topo->n_ranks;

    check->first =
        fs_arena_calloc(&check->arena, (size_t)n + 1, sizeof(*check->first));
    if (check->first == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; r < n; ++r) {
        check->first[r + 1] = check->first[r] + check->plans[r]->n_ops;
    }
    check->n_nodes = check->first[n];
    check->nodes   = fs_arena_calloc(&check->arena, check->n_nodes + 1,
                                     sizeof(*check->nodes));
    if (check->nodes == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; r < n; ++r) {
        for (uint32_t k = 0; k < check->plans[r]->n_ops; ++k) {
            check->nodes[check->first[r] + k] =
                (fs_check_node_t){&check->plans[r]->ops[k], FS_NO_NODE, r};
        }
    }
    return FS_OK;
}

static fs_status_t check_programs(fs_check_t *check)
{
    fs_status_t status = number_ops(check);

    if (status == FS_OK) {
        status = check_ops(check);
    }
    for (uint32_t r = 0; status == FS_OK && r < check->topo->n_ranks; ++r) {
        status = check_edges(check, r);
        if (status == FS_OK) {
            status = check_totals(check, r);
        }
    }
    if (status == FS_OK) {
        status = check_messages(check);
    }
    if (status == FS_OK && check->reduction == NULL) {
        status = check_wire(check);
    }
    return status == FS_OK ? fs_check_replay(check) : status;
}

static fs_status_t check_all(fs_check_t *check)
{
    fs_status_t status = check_programs(check);

    fs_arena_fini(&check->arena);
    return status;
}

fs_status_t fs_plan_check(const fs_topo_t *topo, const fs_plan_params_t *params,
                          const uint64_t *rank_bytes, fs_plan_t *const *plans,
                          char *why, size_t why_len)
{
    fs_check_t check = {.topo       = topo,
                        .params     = params,
                        .rank_bytes = rank_bytes,
                        .plans      = plans,
                        .why        = why,
                        .why_len    = why_len};

    return check_all(&check);
}

fs_status_t fs_reduction_check(const fs_topo_t        *topo,
                               const fs_plan_params_t *params,
                               const fs_reduction_t   *reduction,
                               fs_plan_t *const *plans, char *why,
                               size_t why_len)
{
    fs_check_t check = {.topo      = topo,
                        .params    = params,
                        .reduction = reduction,
                        .plans     = plans,
                        .why       = why,
                        .why_len   = why_len};

    if (reduction->elem_bytes == 0 ||
        !fs_u64_mul(reduction->n_elems, reduction->elem_bytes,
                    &check.vector_bytes)) {
        snprintf(why, why_len, "%llu elements of %u bytes",
                 (unsigned long long)reduction->n_elems, reduction->elem_bytes);
        return FS_ERR_INVAL;
    }
    return check_all(&check);
}
