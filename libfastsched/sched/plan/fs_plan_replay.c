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
 * never share a byte that one of them writes, what one order of events delivers
 * every other order delivers as well.
 *
 * Each operation has one event: a copy or a reduction its end, a receive the end
 * of the message, and a send (which ends with its receive) stands for the moment
 * its receive is posted.
 */
#include "sched/plan/fs_plan_replay.h"

#include "sched/plan/fs_contents.h"
#include "sched/model/fs_topo.h"

enum { NOT_YET = UINT32_MAX };

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
    fs_check_t   *check;
    size_t       *next_wire; /* [n_nodes] wire operation of the same kind and
                               rank that comes next */
    size_t       *freed;     /* [n_nodes] wire receive that a window leaves to
                               the end of this one */
    uint32_t     *waits;     /* [n_nodes] events still to come before this */
    size_t       *ready;     /* [n_nodes] events in the order they took place */
    size_t        n_ready;
    scene_t      *scenes; /* [n_ranks] */
    fs_contents_t contents;
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

/* ---- events ---- */

static bool is_wire(const fs_check_t *check, size_t node)
{
    return fs_check_is_message(&check->nodes[node]) &&
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
    return fs_check_is_message(&check->nodes[node]) ? check->nodes[node].partner
                                                    : node;
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

    s->ended[fs_check_index(rp->check, node)] = s->turn++;
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

/* What is local, or a message: `to` receives what `from` sends. */
static fs_status_t deliver(replay_t *rp, size_t from, size_t to)
{
    fs_status_t status;

    mark_end(rp, from);
    if (to != from) {
        mark_end(rp, to);
    }
    status = fs_contents_move(&rp->contents, from, to);
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
    case FS_OP_REDUCE:
        return deliver(rp, event, event);
    case FS_OP_RECV:
        return deliver(rp, node->partner, event);
    case FS_OP_SEND:
        receive_is_posted(rp, node->partner);
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
    return fs_contents_add_rank(&rp->contents, rank, before, s);
}

static fs_status_t init(replay_t *rp)
{
    size_t      n       = rp->check->n_nodes;
    uint32_t    n_ranks = rp->check->topo->n_ranks;
    fs_status_t status;

    rp->next_wire = alloc(rp, n, sizeof(*rp->next_wire));
    rp->freed     = alloc(rp, n, sizeof(*rp->freed));
    rp->waits     = alloc(rp, n, sizeof(*rp->waits));
    rp->ready     = alloc(rp, n, sizeof(*rp->ready));
    rp->scenes    = alloc(rp, n_ranks, sizeof(*rp->scenes));
    if (rp->next_wire == NULL || rp->freed == NULL || rp->waits == NULL ||
        rp->ready == NULL || rp->scenes == NULL) {
        return FS_ERR_NOMEM;
    }
    status = fs_contents_init(&rp->contents, rp->check);
    for (uint32_t r = 0; status == FS_OK && r < n_ranks; ++r) {
        status = init_rank(rp, r);
    }
    if (status == FS_OK) {
        count_waits(rp);
    }
    return status;
}

/* ---- all of it ---- */

/* A receive that never ends says more than the sends behind it. */
static fs_status_t check_all_ended(const replay_t *rp)
{
    for (size_t k = 0; rp->n_ready < rp->check->n_nodes; ++k) {
        if (rp->waits[k] > 0) {
            return fs_check_fail(rp->check, k, "waits forever");
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
        status = fs_contents_check(&rp.contents);
    }
    fs_contents_fini(&rp.contents);
    return status;
}
