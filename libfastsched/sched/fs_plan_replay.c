/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All programs at once, on paper, on the strictest network there may be.
 *
 * A message is over when both ends are ready (rendezvous: no network buffers
 * anything). Wire receives are posted strictly in plan order, at most a window
 * of them at a time, and wire sends go out strictly in plan order once the
 * receive is posted, as the executor does it. These rules are edges between
 * events, just as the edges of the programs are. If all events can take place,
 * no program waits for ever, whatever the timing; and as unordered operations
 * never share a byte of staging, what one order of events delivers every other
 * order delivers, too.
 *
 * Each operation has one event: a copy its end, a receive the end of the
 * message, and a send (which ends with its receive) stands for the moment its
 * receive is posted.
 */
#include "sched/fs_plan_check.h"

#include "base/fs_arith.h"
#include "sched/fs_pieces.h"
#include "sched/fs_topo.h"

#include <stdio.h>
#include <stdlib.h>

enum { NOT_YET = UINT32_MAX };

/* What landed in a receive buffer. */
typedef struct landing {
    uint32_t rank;
    uint32_t block;
    uint64_t offset;
    uint64_t len_bytes;
} landing_t;

/* A rank, for the search of paths in its program. */
typedef struct scene {
    const fs_plan_t *plan;
    uint32_t        *ended; /* [n_ops] in which turn, NOT_YET if not */
    uint32_t        *seen;  /* [n_ops] number of the last search */
    uint32_t        *queue; /* [n_ops] of a search */
    uint32_t         n_searches;
    uint32_t         turn;
} scene_t;

typedef struct replay {
    fs_check_t  *check;
    size_t      *next_wire; /* [n_nodes] wire operation of the same kind and
                               rank that comes next */
    size_t      *freed;     /* [n_nodes] wire receive that a window leaves to
                               the end of this one */
    uint32_t    *waits;     /* [n_nodes] events still to come before this */
    size_t      *ready;     /* [n_nodes] events in the order they took place */
    size_t       n_ready;
    scene_t     *scenes;   /* [n_ranks] */
    fs_pieces_t *pieces;   /* [n_ranks] */
    landing_t   *landings; /* [n_nodes] */
    size_t       n_landings;
    fs_runs_t    runs; /* of the message that is being delivered */
} replay_t;

/* ---- is there a path? ---- */

/* From a to b along the program's edges, among operations that have ended. A
 * direct edge is the rule. */
static bool before(void *ctx, uint32_t a, uint32_t b)
{
    scene_t       *s  = ctx;
    const fs_op_t *op = &s->plan->ops[a];
    uint32_t       n = 0, search = ++s->n_searches;

    for (uint32_t e = 0; e < op->n_next; ++e) {
        if (s->plan->next[op->next + e] == b) {
            return true;
        }
    }
    s->queue[n++] = a;
    for (uint32_t head = 0; head < n; ++head) {
        op = &s->plan->ops[s->queue[head]];
        for (uint32_t e = 0; e < op->n_next; ++e) {
            uint32_t next = s->plan->next[op->next + e];

            if (next == b) {
                return true;
            }
            if (s->ended[next] < s->ended[b] && s->seen[next] != search) {
                s->seen[next] = search;
                s->queue[n++] = next;
            }
        }
    }
    return false;
}

/* ---- contents ---- */

static uint32_t index_of(const fs_check_t *check, size_t node)
{
    return (uint32_t)(node - check->first[check->nodes[node].rank]);
}

static fs_status_t staging_failed(replay_t *rp, size_t node, fs_status_t status)
{
    return status == FS_ERR_INVAL
               ? fs_check_fail(rp->check, node,
                               rp->pieces[rp->check->nodes[node].rank].problem)
               : status;
}

/* Leave in rp->runs what the operation reads. */
static fs_status_t take(replay_t *rp, size_t node)
{
    const fs_op_t *op   = rp->check->nodes[node].op;
    uint32_t       rank = rp->check->nodes[node].rank;

    rp->runs.n = 0;
    if (op->src.buffer == FS_BUF_SEND) {
        return fs_runs_add(
            &rp->runs,
            (fs_run_t){rank, op->src.block, op->src.offset, op->len_bytes});
    }
    return staging_failed(rp, node,
                          fs_pieces_read(&rp->pieces[rank], op->src.offset,
                                         op->len_bytes,
                                         index_of(rp->check, node), &rp->runs));
}

/* The right bytes at the right place. A run that is all of them is the only
 * one there can be, since runs are joined. */
static fs_status_t land(replay_t *rp, size_t node)
{
    const fs_op_t  *op   = rp->check->nodes[node].op;
    uint32_t        rank = rp->check->nodes[node].rank;
    const fs_run_t *run  = &rp->runs.run[0];

    if (rp->runs.n != 1 || run->src != op->dst.block || run->dst != rank ||
        run->offset != op->dst.offset) {
        return fs_check_fail(rp->check, node,
                             "delivers bytes that belong elsewhere");
    }
    rp->landings[rp->n_landings++] =
        (landing_t){rank, op->dst.block, op->dst.offset, op->len_bytes};
    return FS_OK;
}

/* Put rp->runs where the operation writes. */
static fs_status_t put(replay_t *rp, size_t node)
{
    const fs_op_t *op   = rp->check->nodes[node].op;
    uint32_t       rank = rp->check->nodes[node].rank;

    if (op->dst.buffer == FS_BUF_RECV) {
        return land(rp, node);
    }
    return staging_failed(rp, node,
                          fs_pieces_write(&rp->pieces[rank], op->dst.offset,
                                          &rp->runs,
                                          index_of(rp->check, node)));
}

/* ---- events ---- */

static bool is_wire(const fs_check_t *check, size_t node)
{
    return check->nodes[node].op->kind != FS_OP_COPY &&
           check->nodes[node].op->channel == FS_CH_WIRE;
}

static void step(replay_t *rp, size_t event)
{
    if (event != FS_NO_NODE && --rp->waits[event] == 0) {
        rp->ready[rp->n_ready++] = event;
    }
}

/* The event that an operation has to wait with: a send with the end of the
 * message, a receive with its being posted. */
static size_t event_of(const fs_check_t *check, size_t node)
{
    return check->nodes[node].op->kind == FS_OP_COPY
               ? node
               : check->nodes[node].partner;
}

static size_t event_of_next(const replay_t *rp, const size_t *next, size_t node)
{
    return next[node] == FS_NO_NODE ? FS_NO_NODE
                                    : event_of(rp->check, next[node]);
}

/* An operation is over: its turn is the order for the search of paths. */
static void mark_end(replay_t *rp, size_t node)
{
    scene_t *s = &rp->scenes[rp->check->nodes[node].rank];

    s->ended[index_of(rp->check, node)] = s->turn++;
}

static void tell_successors(replay_t *rp, size_t node)
{
    const fs_check_t *check = rp->check;
    uint32_t          rank  = check->nodes[node].rank;
    const fs_op_t    *op    = check->nodes[node].op;

    for (uint32_t e = 0; e < op->n_next; ++e) {
        size_t next = check->first[rank] +
                      check->plans[rank]->next[op->next + e];

        step(rp, event_of(check, next));
    }
}

static void receive_is_posted(replay_t *rp, size_t recv)
{
    step(rp, recv);
    step(rp, event_of_next(rp, rp->next_wire, recv));
}

/* A copy, or a message: `to` receives what `from` sends. */
static fs_status_t deliver(replay_t *rp, size_t from, size_t to)
{
    fs_status_t status;

    mark_end(rp, from);
    if (to != from) {
        mark_end(rp, to);
    }
    status = take(rp, from);
    if (status == FS_OK) {
        status = put(rp, to);
    }
    tell_successors(rp, from);
    if (to != from) {
        tell_successors(rp, to);
        step(rp, event_of_next(rp, rp->next_wire, from));
        step(rp, event_of_next(rp, rp->freed, to));
    }
    return status;
}

static fs_status_t take_place(replay_t *rp, size_t event)
{
    const fs_check_node_t *node = &rp->check->nodes[event];

    switch ((fs_op_kind_t)node->op->kind) {
    case FS_OP_COPY:
        return deliver(rp, event, event);
    case FS_OP_RECV:
        return deliver(rp, node->partner, event);
    case FS_OP_SEND:
        receive_is_posted(rp, node->partner);
        break;
    case FS_OP_REDUCE: /* was refused */
        break;
    }
    return FS_OK;
}

/* ---- set-up ---- */

/* Wire operations of a rank in plan order, linked. */
static void link_wire(replay_t *rp, uint32_t rank, fs_op_kind_t kind)
{
    const fs_check_t *check  = rp->check;
    uint32_t          window = check->plans[rank]->window, n = 0;
    size_t            last = FS_NO_NODE, late = FS_NO_NODE;

    for (size_t k = check->first[rank]; k < check->first[rank + 1]; ++k) {
        if (!is_wire(check, k) || check->nodes[k].op->kind != kind) {
            continue;
        }
        if (last != FS_NO_NODE) {
            rp->next_wire[last] = k;
            ++rp->waits[event_of(check, k)];
        }
        if (kind == FS_OP_RECV && n++ >= window) {
            rp->freed[late] = k;
            ++rp->waits[event_of(check, k)];
            late = rp->next_wire[late];
        } else if (late == FS_NO_NODE) {
            late = k;
        }
        last = k;
    }
}

static void count_waits(replay_t *rp)
{
    const fs_check_t *check = rp->check;

    for (size_t k = 0; k < check->n_nodes; ++k) {
        const fs_op_t *op = check->nodes[k].op;

        rp->next_wire[k] = rp->freed[k] = FS_NO_NODE;
        rp->waits[event_of(check, k)] += op->n_after;
        rp->waits[k] += op->kind == FS_OP_RECV; /* to be posted */
    }
    for (uint32_t r = 0; r < check->topo->n_ranks; ++r) {
        link_wire(rp, r, FS_OP_SEND);
        link_wire(rp, r, FS_OP_RECV);
    }
    for (size_t k = 0; k < check->n_nodes; ++k) {
        if (rp->waits[k] == 0) {
            rp->ready[rp->n_ready++] = k;
        }
    }
}

static void *alloc(replay_t *rp, size_t n, size_t elem_bytes)
{
    return fs_arena_calloc(&rp->check->arena, n + 1, elem_bytes);
}

static fs_status_t init_rank(replay_t *rp, uint32_t rank)
{
    const fs_plan_t *plan = rp->check->plans[rank];
    scene_t         *s    = &rp->scenes[rank];

    s->plan  = plan;
    s->ended = alloc(rp, plan->n_ops, sizeof(*s->ended));
    s->seen  = alloc(rp, plan->n_ops, sizeof(*s->seen));
    s->queue = alloc(rp, plan->n_ops, sizeof(*s->queue));
    if (s->ended == NULL || s->seen == NULL || s->queue == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        s->ended[k] = NOT_YET;
    }
    fs_pieces_init(&rp->pieces[rank], before, s);
    return FS_OK;
}

static fs_status_t init(replay_t *rp)
{
    size_t      n       = rp->check->n_nodes;
    uint32_t    n_ranks = rp->check->topo->n_ranks;
    fs_status_t status  = FS_OK;

    rp->next_wire = alloc(rp, n, sizeof(*rp->next_wire));
    rp->freed     = alloc(rp, n, sizeof(*rp->freed));
    rp->waits     = alloc(rp, n, sizeof(*rp->waits));
    rp->ready     = alloc(rp, n, sizeof(*rp->ready));
    rp->landings  = alloc(rp, n, sizeof(*rp->landings));
    rp->scenes    = alloc(rp, n_ranks, sizeof(*rp->scenes));
    rp->pieces    = alloc(rp, n_ranks, sizeof(*rp->pieces));
    if (rp->next_wire == NULL || rp->freed == NULL || rp->waits == NULL ||
        rp->ready == NULL || rp->landings == NULL || rp->scenes == NULL ||
        rp->pieces == NULL) {
        rp->pieces = NULL;
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; status == FS_OK && r < n_ranks; ++r) {
        status = init_rank(rp, r);
    }
    if (status == FS_OK) {
        count_waits(rp);
    }
    return status;
}

static void fini(replay_t *rp)
{
    for (uint32_t r = 0; rp->pieces != NULL && r < rp->check->topo->n_ranks;
         ++r) {
        fs_pieces_fini(&rp->pieces[r]);
    }
    free(rp->runs.run);
}

/* ---- results ---- */

static int by_place(const void *a, const void *b)
{
    const landing_t *x = a, *y = b;

    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->block != y->block) {
        return x->block < y->block ? -1 : 1;
    }
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Landings that tile every block, from the first byte to the last. */
static fs_status_t check_landings(const replay_t *rp)
{
    const fs_check_t *check = rp->check;
    uint32_t          n     = check->topo->n_ranks;
    size_t            k     = 0;

    qsort(rp->landings, rp->n_landings, sizeof(*rp->landings), by_place);
    for (size_t cell = 0; cell < (size_t)n * n; ++cell) {
        uint32_t rank = (uint32_t)(cell / n), block = (uint32_t)(cell % n);
        uint64_t want = check->rank_bytes[(size_t)block * n + rank], at = 0;

        for (; k < rp->n_landings && rp->landings[k].rank == rank &&
               rp->landings[k].block == block && rp->landings[k].offset == at;
             ++k) {
            at += rp->landings[k].len_bytes;
        }
        if (at != want || (k < rp->n_landings && rp->landings[k].rank == rank &&
                           rp->landings[k].block == block)) {
            snprintf(check->why, check->why_len,
                     "rank %u: at byte %llu of %llu of the block from rank %u, "
                     "a byte is missing or comes twice",
                     rank, (unsigned long long)at, (unsigned long long)want,
                     block);
            return FS_ERR_INVAL;
        }
    }
    return FS_OK;
}

/* A receive that never ends says more than the sends behind it. */
static fs_status_t check_all_ended(const replay_t *rp)
{
    for (size_t k = 0; rp->n_ready < rp->check->n_nodes; ++k) {
        if (rp->waits[k] > 0) {
            return fs_check_fail(rp->check, k, "waits for ever");
        }
    }
    return FS_OK;
}

fs_status_t fs_check_replay(fs_check_t *check)
{
    replay_t    rp     = {.check = check};
    fs_status_t status = init(&rp);

    for (size_t k = 0; status == FS_OK && k < rp.n_ready; ++k) {
        status = take_place(&rp, rp.ready[k]);
    }
    if (status == FS_OK) {
        status = check_all_ended(&rp);
    }
    if (status == FS_OK) {
        status = check_landings(&rp);
    }
    fini(&rp);
    return status;
}
