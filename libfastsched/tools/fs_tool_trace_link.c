/* SPDX-License-Identifier: BSD-3-Clause */
/* Order in the tables, ways to find things there, and the send of a receive. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_trace.h"

#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

#define COMPARE(_a, _b)                  \
    do {                                 \
        if ((_a) != (_b)) {              \
            return (_a) < (_b) ? -1 : 1; \
        }                                \
    } while (0)

static int by_call(const void *a, const void *b)
{
    const fs_tool_trace_call_t *x = a, *y = b;

    COMPARE(x->call, y->call);
    COMPARE(x->rank, y->rank);
    return 0;
}

static int by_op(const void *a, const void *b)
{
    const fs_tool_trace_op_t *x = a, *y = b;

    COMPARE(x->call, y->call);
    COMPARE(x->rank, y->rank);
    COMPARE(x->op, y->op);
    return 0;
}

static int by_grant(const void *a, const void *b)
{
    const fs_tool_trace_grant_t *x = a, *y = b;

    COMPARE(x->given, y->given);
    COMPARE(x->rank, y->rank);
    COMPARE(x->peer, y->peer);
    COMPARE(x->count, y->count);
    COMPARE(x->time, y->time);
    return 0;
}

static int by_phase(const void *a, const void *b)
{
    const fs_tool_trace_phase_t *x = a, *y = b;

    COMPARE(x->call, y->call);
    COMPARE(x->rank, y->rank);
    COMPARE(x->begin, y->begin);
    return 0;
}

static int by_planned(const void *a, const void *b)
{
    const fs_tool_trace_planned_t *x = a, *y = b;

    COMPARE(x->call, y->call);
    COMPARE(x->rank, y->rank);
    COMPARE(x->start, y->start);
    COMPARE(x->sends, y->sends);
    return 0;
}

static void sort(void *list, size_t n, size_t elem,
                 int (*compare)(const void *, const void *))
{
    if (n > 1) {
        qsort(list, n, elem, compare);
    }
}

/* The first of n entries for which is_below() does not hold. */
#define LOWER_BOUND(_list, _n, _low, _is_below)   \
    do {                                          \
        size_t _high = (_n);                      \
        _low         = 0;                         \
        while (_low < _high) {                    \
            size_t k = _low + (_high - _low) / 2; \
            if (_is_below) {                      \
                _low = k + 1;                     \
            } else {                              \
                _high = k;                        \
            }                                     \
        }                                         \
    } while (0)

static bool below(uint32_t call, uint32_t rank, uint32_t call_b,
                  uint32_t rank_b)
{
    return call != call_b ? call < call_b : rank < rank_b;
}

#define RANGE_OF(_list, _n, _call, _rank, _end_call, _end_rank, _range)     \
    do {                                                                    \
        LOWER_BOUND(_list, _n, (_range).first,                              \
                    below((_list)[k].call, (_list)[k].rank, _call, _rank)); \
        LOWER_BOUND(                                                        \
            _list, _n, (_range).end,                                        \
            below((_list)[k].call, (_list)[k].rank, _end_call, _end_rank)); \
    } while (0)

fs_tool_trace_range_t fs_tool_trace_calls_of(const fs_tool_trace_t *trace,
                                             uint32_t               call)
{
    fs_tool_trace_range_t range;

    RANGE_OF(trace->calls, trace->n_calls, call, 0, call + 1, 0, range);
    return range;
}

fs_tool_trace_range_t fs_tool_trace_ops_of(const fs_tool_trace_t *trace,
                                           uint32_t call, uint32_t rank)
{
    fs_tool_trace_range_t range;

    RANGE_OF(trace->ops, trace->n_ops, call, rank, call, rank + 1, range);
    return range;
}

fs_tool_trace_range_t fs_tool_trace_planned_of(const fs_tool_trace_t *trace,
                                               uint32_t               call)
{
    fs_tool_trace_range_t range;

    RANGE_OF(trace->planned, trace->n_planned, call, 0, call + 1, 0, range);
    return range;
}

fs_tool_trace_range_t fs_tool_trace_phases_of(const fs_tool_trace_t *trace,
                                              uint32_t call, uint32_t rank)
{
    fs_tool_trace_range_t range;

    RANGE_OF(trace->phases, trace->n_phases, call, rank, call, rank + 1, range);
    return range;
}

const fs_tool_trace_grant_t *
fs_tool_trace_grant_of(const fs_tool_trace_t *trace, bool given, uint32_t rank,
                       uint32_t peer, uint64_t count)
{
    const fs_tool_trace_grant_t wanted = {
        .given = given, .rank = rank, .peer = peer, .count = count};
    const fs_tool_trace_grant_t *grant;
    size_t                       low;

    LOWER_BOUND(trace->grants, trace->n_grants, low,
                by_grant(&trace->grants[k], &wanted) < 0);
    grant = &trace->grants[low];
    return low < trace->n_grants && grant->given == given &&
                   grant->rank == rank && grant->peer == peer
               ? grant
               : NULL;
}

/* ---- mates ---- */

/* A message as both ends know it. */
typedef struct message {
    uint32_t call, src, dst, channel;
    uint64_t count;
    uint32_t op; /* index */
    bool     recv;
} message_t;

static int by_ends(const message_t *x, const message_t *y)
{
    COMPARE(x->call, y->call);
    COMPARE(x->src, y->src);
    COMPARE(x->dst, y->dst);
    COMPARE(x->channel, y->channel);
    COMPARE(x->count, y->count);
    return 0;
}

static int by_message(const void *a, const void *b)
{
    const message_t *x = a, *y = b;
    int              c = by_ends(x, y);

    return c != 0 ? c : (int)x->recv - (int)y->recv;
}

static size_t list_messages(const fs_tool_trace_t *trace, message_t *list)
{
    size_t n = 0;

    for (size_t k = 0; k < trace->n_ops; ++k) {
        const fs_tool_trace_op_t *op   = &trace->ops[k];
        bool                      recv = op->kind == FS_OP_RECV;

        if (op->kind != FS_OP_COPY) {
            list[n++] = (message_t){.call    = op->call,
                                    .src     = recv ? op->peer : op->rank,
                                    .dst     = recv ? op->rank : op->peer,
                                    .channel = op->channel,
                                    .count   = op->count,
                                    .op      = (uint32_t)k,
                                    .recv    = recv};
        }
    }
    return n;
}

static bool find_mates(fs_tool_trace_t *trace)
{
    message_t *list = malloc((trace->n_ops + 1) * sizeof(*list));
    size_t     n;

    if (list == NULL) {
        return false;
    }
    n = list_messages(trace, list);
    sort(list, n, sizeof(*list), by_message);
    for (size_t k = 0; k + 1 < n; ++k) {
        if (!list[k].recv && list[k + 1].recv &&
            by_ends(&list[k], &list[k + 1]) == 0) {
            trace->ops[list[k].op].mate     = list[k + 1].op;
            trace->ops[list[k + 1].op].mate = list[k].op;
        }
    }
    free(list);
    return true;
}

int fs_tool_trace_link(fs_tool_trace_t *trace)
{
    if (trace->n_ops >= FS_TOOL_NONE) {
        return fs_tool_failed("%s: too many operations", trace->comm);
    }
    sort(trace->calls, trace->n_calls, sizeof(*trace->calls), by_call);
    sort(trace->ops, trace->n_ops, sizeof(*trace->ops), by_op);
    sort(trace->grants, trace->n_grants, sizeof(*trace->grants), by_grant);
    sort(trace->phases, trace->n_phases, sizeof(*trace->phases), by_phase);
    sort(trace->planned, trace->n_planned, sizeof(*trace->planned), by_planned);
    if (!find_mates(trace) || !fs_tool_trace_set_clocks(trace)) {
        return fs_tool_status(trace->comm, FS_ERR_NOMEM);
    }
    return FS_TOOL_OK;
}
