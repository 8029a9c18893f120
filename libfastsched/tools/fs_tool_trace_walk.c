/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the end of a call waited for: a walk backwards in time.
 *
 * At every point the walk stands at the end of something and asks which of the
 * things it needed came last:
 *
 *   a message arrives   after it was sent, and after what was before it on the
 *                       same NIC, at either end: a NIC takes one at a time
 *   it is sent          when it is ready and granted and its turn has come
 *   a grant arrives     after it was given: when the receive was posted
 *   a receive is posted when a place for it is free and its turn has come
 *   an operation is     after the last of those it waits for
 *   ready
 *   the first ones      after the agreement, the plan, the summary, and these
 *                       after the last rank has entered
 *
 * The time between a cause and what follows it is nobody's work: a rank had not
 * looked, or was not given the processor. It is called idle.
 */
#include "tools/fs_tool_trace_walk.h"

#include <stdlib.h>

typedef fs_tool_trace_op_t op_t;
typedef fs_tool_walk_t     walk_t;

/* ---- hops ---- */

void fs_tool_walk_hop(walk_t *w, fs_tool_hop_kind_t kind, uint32_t peer,
                      uint64_t begin, uint64_t bytes, const char *after)
{
    fs_tool_path_t *path = w->path;

    begin = begin > w->start ? begin : w->start;
    if (begin >= w->time) {
        return;
    }
    if (path->n == path->max) {
        size_t max    = path->max * 2 + 64;
        void  *bigger = realloc(path->hops, max * sizeof(*path->hops));

        if (bigger == NULL) {
            w->no_memory = true;
            return;
        }
        path->hops = bigger;
        path->max  = max;
    }
    path->hops[path->n++] = (fs_tool_hop_t){.kind     = kind,
                                            .rank     = w->rank,
                                            .peer     = peer,
                                            .begin    = begin,
                                            .end      = w->time,
                                            .bytes    = bytes,
                                            .messages = 1,
                                            .after    = after};
    path->share_ns[kind] += w->time - begin;
    w->time = begin;
}

void fs_tool_walk_idle(walk_t *w, uint64_t begin, const char *after)
{
    fs_tool_walk_hop(w, FS_TOOL_HOP_IDLE, FS_TOOL_NONE, begin, 0, after);
}

void fs_tool_walk_stand(walk_t *w, const op_t *op, bool posted)
{
    w->op     = op;
    w->posted = posted;
    w->rank   = op->rank;
}

/* ---- looking around ---- */

static const op_t *mate_of(const walk_t *w, const op_t *op)
{
    return op->mate == FS_TOOL_NONE ? NULL : &w->trace->ops[op->mate];
}

static const op_t *op_of(const walk_t *w, uint32_t rank, uint32_t id)
{
    fs_tool_trace_range_t range = fs_tool_trace_ops_of(w->trace, w->call, rank);

    for (size_t k = range.first; k < range.end; ++k) {
        if (w->trace->ops[k].op == id) {
            return &w->trace->ops[k];
        }
    }
    return NULL;
}

/* The wire operation of the same kind and rank before op, by plan. */
static const op_t *before(const walk_t *w, const op_t *op)
{
    uint32_t k = w->before[(size_t)(op - w->trace->ops) - w->first_op];

    return k == FS_TOOL_NONE ? NULL : &w->trace->ops[k];
}

const op_t *fs_tool_walk_last_ended(const walk_t *w, uint32_t rank,
                                    uint8_t kind, uint32_t peer, uint64_t time,
                                    const op_t *op)
{
    fs_tool_trace_range_t range = fs_tool_trace_ops_of(w->trace, w->call, rank);
    const op_t           *last  = NULL;

    for (size_t k = range.first; k < range.end; ++k) {
        const op_t *o = &w->trace->ops[k];

        if (o != op && o->channel == FS_CH_WIRE && o->kind == kind &&
            (peer == FS_TOOL_NONE || peer == o->peer) && o->end <= time &&
            (last == NULL || o->end > last->end)) {
            last = o;
        }
    }
    return last;
}

static uint64_t run_of(const walk_t *w, uint32_t rank)
{
    fs_tool_trace_range_t calls = fs_tool_trace_calls_of(w->trace, w->call);

    for (size_t k = calls.first; k < calls.end; ++k) {
        if (w->trace->calls[k].rank == rank) {
            return w->trace->calls[k].run;
        }
    }
    return 0;
}

/* ---- before an operation was posted ---- */

static void to_cause_of_ready(walk_t *w, const op_t *op)
{
    const op_t *by = op->by == FS_TOOL_NONE ? NULL : op_of(w, op->rank, op->by);

    if (by == NULL) {
        fs_tool_walk_idle(w, run_of(w, op->rank), "the start");
        w->op = NULL;
        return;
    }
    fs_tool_walk_idle(w, by->end, "an operation before it");
    fs_tool_walk_stand(w, by, false);
}

/* The receive of a message from `peer`, by its number. */
static const op_t *receive_of(const walk_t *w, uint32_t rank, uint32_t peer,
                              uint64_t count)
{
    fs_tool_trace_range_t range = fs_tool_trace_ops_of(w->trace, w->call, rank);

    for (size_t k = range.first; k < range.end; ++k) {
        const op_t *o = &w->trace->ops[k];

        if (o->channel == FS_CH_WIRE && o->kind == FS_OP_RECV &&
            o->peer == peer && o->count == count) {
            return o;
        }
    }
    return NULL;
}

/* A grant is given when the receive of its last message is posted. */
static void to_giver(walk_t *w, const op_t *send,
                     const fs_tool_trace_grant_t *got)
{
    const fs_tool_trace_grant_t *given = fs_tool_trace_grant_of(
        w->trace, true, send->peer, send->rank, got->count);
    const op_t *recv = receive_of(w, send->peer, send->rank, got->count);

    fs_tool_walk_idle(w, got->time, "a grant");
    if (given == NULL || recv == NULL) {
        w->op = NULL;
        return;
    }
    fs_tool_walk_hop(w, FS_TOOL_HOP_GRANT, send->peer, given->time, 0,
                     "the receiver");
    fs_tool_walk_stand(w, recv, true);
}

/* A send: ready, granted, and the NIC had nearly done with another peer. */
static void before_send(walk_t *w, const op_t *op)
{
    const fs_tool_trace_grant_t *got =
        fs_tool_trace_grant_of(w->trace, false, op->rank, op->peer, op->count);
    const op_t *prev    = before(w, op);
    const op_t *served  = NULL;
    uint64_t    granted = got == NULL || got->time > op->post ? 0 : got->time;
    uint64_t    turn = prev == NULL ? 0 : prev->post, freed = 0;

    if (prev != NULL && prev->peer != op->peer) {
        served = fs_tool_walk_last_ended(w, op->rank, FS_OP_SEND, FS_TOOL_NONE,
                                         op->post, op);
        freed  = served == NULL ? 0 : served->end;
    }
    if (freed > granted && freed > op->ready && freed >= turn) {
        fs_tool_walk_idle(w, freed, "its turn");
        fs_tool_walk_stand(w, served, false);
    } else if (turn >= granted && turn >= op->ready && turn > 0) {
        fs_tool_walk_idle(w, turn, "its turn");
        fs_tool_walk_stand(w, prev, true);
    } else if (granted > op->ready) {
        to_giver(w, op, got);
    } else {
        to_cause_of_ready(w, op);
    }
}

/* A receive: ready, and there are not too many before it. */
static void before_recv(walk_t *w, const op_t *op)
{
    const op_t *prev     = before(w, op);
    const op_t *freed_by = fs_tool_walk_last_ended(w, op->rank, FS_OP_RECV,
                                                   FS_TOOL_NONE, op->post, op);
    uint64_t    turn     = prev == NULL ? 0 : prev->post;
    uint64_t    freed    = freed_by == NULL ? 0 : freed_by->end;

    if (freed > turn && freed > op->ready) {
        fs_tool_walk_idle(w, freed, "a receive before it");
        fs_tool_walk_stand(w, freed_by, false);
    } else if (turn > op->ready) {
        fs_tool_walk_idle(w, turn, "its turn");
        fs_tool_walk_stand(w, prev, true);
    } else {
        to_cause_of_ready(w, op);
    }
}

static void before_post(walk_t *w, const op_t *op)
{
    fs_tool_walk_idle(w, op->post, "its post");
    if (op->channel != FS_CH_WIRE) {
        to_cause_of_ready(w, op);
    } else if (op->kind == FS_OP_SEND) {
        before_send(w, op);
    } else {
        before_recv(w, op);
    }
}

/* ---- before an operation ended ---- */

/* The arrival that occupied the same NIC until op could use it: the last one
 * before it at this receiver, or from the same sender. */
static const op_t *arrival_before(const walk_t *w, const op_t *op)
{
    size_t k = w->n_arrivals;

    while (k > 0 && w->arrivals[k - 1]->end >= op->end) {
        --k;
    }
    for (; k > 0; --k) {
        const op_t *o = w->arrivals[k - 1];

        if (o != op && (o->rank == op->rank || o->peer == op->peer)) {
            return o;
        }
    }
    return NULL;
}

static void before_arrival(walk_t *w, const op_t *op)
{
    const op_t *sent  = mate_of(w, op);
    const op_t *busy  = arrival_before(w, op);
    uint64_t    begin = sent == NULL || op->post > sent->post ? op->post
                                                              : sent->post;

    if (busy != NULL && busy->end > begin) {
        fs_tool_walk_hop(w, FS_TOOL_HOP_WIRE, op->peer, busy->end, op->bytes,
                         "the NIC");
        fs_tool_walk_stand(w, busy, false);
        return;
    }
    fs_tool_walk_hop(w, FS_TOOL_HOP_WIRE, op->peer, begin, op->bytes,
                     sent == NULL || op->post > sent->post ? "the receiver"
                                                           : "the sender");
    fs_tool_walk_stand(w, sent == NULL || op->post > sent->post ? op : sent,
                       true);
}

static void before_end(walk_t *w, const op_t *op)
{
    const op_t *sent = mate_of(w, op);

    if (op->kind == FS_OP_COPY) {
        fs_tool_walk_hop(w, op->packs ? FS_TOOL_HOP_PACK : FS_TOOL_HOP_COPY,
                         FS_TOOL_NONE, op->post, op->bytes, "its data");
    } else if (op->channel == FS_CH_WIRE && op->kind == FS_OP_RECV) {
        before_arrival(w, op);
        return;
    } else if (op->channel == FS_CH_WIRE) {
        const op_t *busy = fs_tool_walk_last_ended(w, op->rank, FS_OP_SEND,
                                                   FS_TOOL_NONE, op->end, op);

        if (busy != NULL && busy->end > op->post && busy->end < op->end) {
            fs_tool_walk_hop(w, FS_TOOL_HOP_WIRE, op->peer, busy->end,
                             op->bytes, "the NIC");
            fs_tool_walk_stand(w, busy, false);
            return;
        }
        fs_tool_walk_hop(w, FS_TOOL_HOP_WIRE, op->peer, op->post, op->bytes,
                         "the sender");
    } else if (op->kind == FS_OP_RECV && sent != NULL &&
               sent->post > op->post) {
        fs_tool_walk_hop(w, FS_TOOL_HOP_INSIDE, op->peer, sent->post, op->bytes,
                         "the sender");
        fs_tool_walk_stand(w, sent, true);
        return;
    } else {
        fs_tool_walk_hop(w, FS_TOOL_HOP_INSIDE, op->peer, op->post, op->bytes,
                         "the receiver");
    }
    fs_tool_walk_stand(w, op, true);
}

void fs_tool_walk_back(walk_t *w)
{
    if (w->posted) {
        before_post(w, w->op);
    } else {
        before_end(w, w->op);
    }
}
