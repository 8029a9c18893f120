/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers whose clocks differ are put on one clock.
 *
 * What is sent arrives later, however two clocks are set. So the least
 * difference between a sending and its arrival, of messages and grants, bounds
 * the difference of the clocks, from both sides if it is taken in both
 * directions; the middle is taken, as if the fastest message of either
 * direction had been equally fast. Clocks start from the time of day, and stay
 * there if nothing was sent both ways.
 */
#include "tools/fs_tool_trace.h"

#include <stdlib.h>

/* [n x n] the least arrival less its sending, by clock; INT64_MAX: nothing. */
typedef struct clocks {
    uint32_t n;
    int64_t *least;
    bool    *set;
} clocks_t;

static void note(const fs_tool_trace_t *trace, clocks_t *clocks, uint32_t from,
                 uint64_t sent, uint32_t to, uint64_t arrived)
{
    uint32_t a = trace->ranks[from].clock, b = trace->ranks[to].clock;
    int64_t  took  = (int64_t)(arrived + trace->clocks[b].shift - sent -
                             trace->clocks[a].shift);
    int64_t *least = &clocks->least[(size_t)a * clocks->n + b];

    *least = took < *least ? took : *least;
}

static void note_all(const fs_tool_trace_t *trace, clocks_t *clocks)
{
    for (size_t k = 0; k < trace->n_ops; ++k) {
        const fs_tool_trace_op_t *recv = &trace->ops[k];

        if (recv->kind == FS_OP_RECV && recv->mate != FS_TOOL_NONE) {
            note(trace, clocks, recv->peer, trace->ops[recv->mate].post,
                 recv->rank, recv->end);
        }
    }
    for (size_t k = 0; k < trace->n_grants; ++k) {
        const fs_tool_trace_grant_t *got = &trace->grants[k], *given;

        if (got->given) {
            continue;
        }
        given = fs_tool_trace_grant_of(trace, true, got->peer, got->rank,
                                       got->count);
        if (given != NULL && given->count == got->count) {
            note(trace, clocks, got->peer, given->time, got->rank, got->time);
        }
    }
}

/* Modulo 2^64, as clocks that a file makes up may be anything. */
static void move(int64_t *least, uint64_t by)
{
    if (*least != INT64_MAX) {
        *least = (int64_t)((uint64_t)*least + by);
    }
}

/* Clock b follows clock a. */
static bool follow(fs_tool_trace_t *trace, clocks_t *clocks, uint32_t a,
                   uint32_t b)
{
    int64_t  there = clocks->least[(size_t)a * clocks->n + b];
    int64_t  back  = clocks->least[(size_t)b * clocks->n + a];
    uint64_t half;

    if (clocks->set[b] || there == INT64_MAX || back == INT64_MAX) {
        return false;
    }
    half = (uint64_t)(there / 2 - back / 2);
    trace->clocks[b].shift -= half;
    for (uint32_t c = 0; c < clocks->n; ++c) { /* they were noted before */
        if (c != b) {
            move(&clocks->least[(size_t)c * clocks->n + b], -half);
            move(&clocks->least[(size_t)b * clocks->n + c], half);
        }
    }
    clocks->set[b] = true;
    return true;
}

/* From the first clock to those that have talked with it, and so on. */
static void spread(fs_tool_trace_t *trace, clocks_t *clocks)
{
    bool more = true;

    clocks->set[0] = true;
    while (more) {
        more = false;
        for (uint32_t a = 0; a < clocks->n; ++a) {
            for (uint32_t b = 0; clocks->set[a] && b < clocks->n; ++b) {
                more = follow(trace, clocks, a, b) || more;
            }
        }
    }
}

static bool align(fs_tool_trace_t *trace)
{
    size_t   n      = trace->n_clocks;
    clocks_t clocks = {.n     = trace->n_clocks,
                       .least = malloc(n * n * sizeof(int64_t)),
                       .set   = calloc(n, sizeof(bool))};
    bool     ok     = clocks.least != NULL && clocks.set != NULL;

    for (size_t k = 0; ok && k < n * n; ++k) {
        clocks.least[k] = INT64_MAX;
    }
    if (ok && n > 1) {
        note_all(trace, &clocks);
        spread(trace, &clocks);
        trace->aligned = true;
        for (size_t k = 0; k < n; ++k) {
            trace->aligned = trace->aligned && clocks.set[k];
        }
    }
    free(clocks.least);
    free(clocks.set);
    return ok;
}

/* ---- times from zero ---- */

static uint64_t on_clock(const fs_tool_trace_t *trace, uint32_t rank,
                         uint64_t time)
{
    return time + trace->clocks[trace->ranks[rank].clock].shift;
}

static uint64_t first_of(const fs_tool_trace_t *trace)
{
    uint64_t first = UINT64_MAX;

    for (size_t k = 0; k < trace->n_calls; ++k) {
        uint64_t time =
            on_clock(trace, trace->calls[k].rank, trace->calls[k].begin);

        first = time < first ? time : first;
    }
    return first;
}

/* Before the first call nothing happens but grants that come early: 0. */
static void set_time(const fs_tool_trace_t *trace, uint32_t rank,
                     uint64_t *time)
{
    uint64_t moved = on_clock(trace, rank, *time);

    *time = moved > trace->base ? moved - trace->base : 0;
}

static void set_times(fs_tool_trace_t *trace)
{
    trace->base = first_of(trace);
    for (size_t k = 0; k < trace->n_calls; ++k) {
        fs_tool_trace_call_t *call = &trace->calls[k];

        set_time(trace, call->rank, &call->begin);
        set_time(trace, call->rank, &call->end);
        if (call->run > 0) {
            set_time(trace, call->rank, &call->run);
        }
    }
    for (size_t k = 0; k < trace->n_ops; ++k) {
        fs_tool_trace_op_t *op = &trace->ops[k];

        set_time(trace, op->rank, &op->ready);
        set_time(trace, op->rank, &op->post);
        set_time(trace, op->rank, &op->end);
    }
    for (size_t k = 0; k < trace->n_grants; ++k) {
        set_time(trace, trace->grants[k].rank, &trace->grants[k].time);
    }
    for (size_t k = 0; k < trace->n_phases; ++k) {
        fs_tool_trace_phase_t *phase = &trace->phases[k];

        set_time(trace, phase->rank, &phase->begin);
        set_time(trace, phase->rank, &phase->end);
    }
}

bool fs_tool_trace_set_clocks(fs_tool_trace_t *trace)
{
    if (!align(trace)) {
        return false;
    }
    set_times(trace);
    return true;
}
