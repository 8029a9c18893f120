/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call as a whole, and step by step.
 *
 * Messages do not say to which transfer they belong. But a lane sends what is
 * for a server in the order of the transfers to that server; so the bytes
 * before a message, of the same lane to the same server, say it. Lanes may be a
 * little shorter or longer than the schedule thinks: what is beyond the last
 * transfer belongs to it.
 */
#include "tools/fs_tool_trace.h"

#include <stdlib.h>
#include <string.h>

/* ---- the whole ---- */

static void add_call(const fs_tool_trace_call_t *call, fs_tool_trace_sum_t *sum)
{
    if (sum->n_ranks == 0 || call->begin < sum->first_entry) {
        sum->first_entry = call->begin;
    }
    if (sum->n_ranks == 0 || call->begin > sum->last_entry) {
        sum->last_entry = call->begin;
        sum->last_in    = call->rank;
    }
    if (sum->n_ranks == 0 || call->end > sum->end) {
        sum->end      = call->end;
        sum->last_out = call->rank;
    }
    if (sum->n_ranks == 0 || call->end - call->begin > sum->slowest_ns) {
        sum->slowest_ns = call->end - call->begin;
        sum->slowest    = call->rank;
    }
    sum->ran = sum->ran || call->run > 0;
    ++sum->n_ranks;
}

static void count_messages(const fs_tool_trace_t *trace,
                           fs_tool_trace_range_t  calls,
                           fs_tool_trace_sum_t   *sum)
{
    for (size_t c = calls.first; c < calls.end; ++c) {
        fs_tool_trace_range_t ops =
            fs_tool_trace_ops_of(trace, sum->call, trace->calls[c].rank);

        for (size_t k = ops.first; k < ops.end; ++k) {
            const fs_tool_trace_op_t *op = &trace->ops[k];

            if (op->channel == FS_CH_WIRE) {
                sum->messages += op->kind == FS_OP_SEND;
                sum->unmatched += op->mate == FS_TOOL_NONE;
            }
        }
    }
}

void fs_tool_trace_sum(const fs_tool_trace_t *trace, uint32_t call,
                       fs_tool_trace_sum_t *sum)
{
    fs_tool_trace_range_t       range = fs_tool_trace_calls_of(trace, call);
    const fs_tool_trace_call_t *first = &trace->calls[range.first];

    *sum = (fs_tool_trace_sum_t){.call    = call,
                                 .bytes   = first->bytes,
                                 .bound   = first->bound,
                                 .planned = first->planned,
                                 .stages  = first->stages};
    memcpy(sum->algorithm, first->algorithm, sizeof(sum->algorithm));
    memcpy(sum->decompose, first->decompose, sizeof(sum->decompose));
    memcpy(sum->status, first->status, sizeof(sum->status));
    for (size_t k = range.first; k < range.end; ++k) {
        add_call(&trace->calls[k], sum);
    }
    count_messages(trace, range, sum);
}

/* ---- steps ---- */

typedef struct steps {
    fs_tool_trace_t      *trace;
    fs_tool_trace_range_t planned;
    fs_tool_trace_step_t *list;
    long                  n;
} steps_t;

static int by_start(const void *a, const void *b)
{
    const fs_tool_trace_step_t *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

/* The step that starts there. */
static long find_step(const steps_t *st, uint64_t start)
{
    const fs_tool_trace_step_t  wanted = {.start = start};
    const fs_tool_trace_step_t *found =
        bsearch(&wanted, st->list, (size_t)st->n, sizeof(wanted), by_start);

    return found == NULL ? -1 : (long)(found - st->list);
}

static bool list_steps(steps_t *st)
{
    size_t max = st->planned.end - st->planned.first, n = 0;

    st->list = calloc(max + 1, sizeof(*st->list));
    if (st->list == NULL) {
        return false;
    }
    for (size_t k = 0; k < max; ++k) {
        st->list[k].start = st->trace->planned[st->planned.first + k].start;
    }
    if (max > 1) {
        qsort(st->list, max, sizeof(*st->list), by_start);
    }
    for (size_t k = 0; k < max; ++k) {
        if (n == 0 || st->list[n - 1].start != st->list[k].start) {
            st->list[n++].start = st->list[k].start;
        }
    }
    st->n = (long)n;
    return true;
}

/* "0>1", once for each pair of servers, as long as there is room. */
static void add_pair(fs_tool_trace_step_t *step, uint32_t src, uint32_t dst)
{
    char   pair[32];
    size_t used = strlen(step->pairs);
    int    len  = snprintf(pair, sizeof(pair), "%u>%u ", src, dst);

    for (const char *p = step->pairs; *p != '\0'; p += strcspn(p, " ") + 1) {
        if (strncmp(p, pair, (size_t)len) == 0) {
            return;
        }
    }
    if (used + (size_t)len + 4 > sizeof(step->pairs)) {
        step->more_pairs = true;
        return;
    }
    memcpy(step->pairs + used, pair, (size_t)len + 1);
}

static void fill_planned(steps_t *st)
{
    for (size_t k = st->planned.first; k < st->planned.end; ++k) {
        fs_tool_trace_planned_t *p    = &st->trace->planned[k];
        fs_tool_trace_step_t    *step = &st->list[find_step(st, p->start)];

        p->step     = (uint32_t)(step - st->list);
        step->bytes = p->bytes > step->bytes ? p->bytes : step->bytes;
        if (p->sends) {
            add_pair(step, st->trace->ranks[p->rank].server, p->server);
        }
    }
}

/* Bytes of a rank's lane to a server: where they are in its transfers. */
typedef struct lane {
    size_t   planned; /* the transfer in hand */
    uint64_t end;     /* of its bytes, counted from the first transfer */
    uint64_t sent;
} lane_t;

/* The next transfer of rank to server after the one in hand; false: none. */
static bool next_transfer(const steps_t *st, lane_t *lane, uint32_t rank,
                          uint32_t server)
{
    const fs_tool_trace_planned_t *list = st->trace->planned;

    for (size_t k = lane->planned + 1; k < st->planned.end; ++k) {
        if (list[k].rank == rank && list[k].server == server && list[k].sends) {
            lane->planned = k;
            lane->end += list[k].bytes;
            return true;
        }
    }
    return false;
}

static void place(const steps_t *st, fs_tool_trace_op_t *op, lane_t *lane,
                  uint32_t server)
{
    while (lane->sent >= lane->end &&
           next_transfer(st, lane, op->rank, server)) {
    }
    if (lane->end > 0) {
        op->step = st->trace->planned[lane->planned].step;
        if (op->mate != FS_TOOL_NONE) {
            st->trace->ops[op->mate].step = op->step;
        }
    }
    lane->sent += op->bytes;
}

static bool place_rank(const steps_t *st, uint32_t call, uint32_t rank)
{
    fs_tool_trace_t      *trace = st->trace;
    fs_tool_trace_range_t ops   = fs_tool_trace_ops_of(trace, call, rank);
    lane_t               *lanes = calloc(trace->n_servers, sizeof(*lanes));

    if (lanes == NULL) {
        return false;
    }
    for (uint32_t s = 0; s < trace->n_servers; ++s) {
        lanes[s].planned = st->planned.first - 1; /* one before */
    }
    for (size_t k = ops.first; k < ops.end; ++k) {
        fs_tool_trace_op_t *op = &trace->ops[k];

        if (op->channel == FS_CH_WIRE && op->kind == FS_OP_SEND &&
            trace->ranks[op->peer].there) {
            uint32_t server = trace->ranks[op->peer].server;

            place(st, op, &lanes[server], server);
        }
    }
    free(lanes);
    return true;
}

/* What one lane received of a step. */
typedef struct received {
    uint64_t first, last; /* sent, arrived */
    uint64_t bytes;
} received_t;

/* [n] by step */
static void list_received(const steps_t *st, uint32_t call, uint32_t rank,
                          received_t *list)
{
    const fs_tool_trace_t *trace = st->trace;
    fs_tool_trace_range_t  ops   = fs_tool_trace_ops_of(trace, call, rank);

    memset(list, 0, (size_t)st->n * sizeof(*list));
    for (size_t k = ops.first; k < ops.end; ++k) {
        const fs_tool_trace_op_t *op = &trace->ops[k];
        received_t               *got;
        uint64_t                  sent;

        if (op->step == FS_TOOL_NONE || op->kind != FS_OP_RECV) {
            continue;
        }
        got        = &list[op->step];
        sent       = trace->ops[op->mate].post;
        got->first = got->bytes == 0 || sent < got->first ? sent : got->first;
        got->last  = op->end > got->last ? op->end : got->last;
        got->bytes += op->bytes;
    }
}

/* A lane is busy with a step from when it has been sent something, and has done
 * with the step before, to the last arrival. */
static void add_received(const steps_t *st, const received_t *list)
{
    uint64_t done = 0;

    for (long k = 0; k < st->n; ++k) {
        const received_t     *got  = &list[k];
        fs_tool_trace_step_t *step = &st->list[k];
        uint64_t from = got->first > done ? got->first : done, took;

        if (got->bytes == 0) {
            continue;
        }
        took = got->last > from ? got->last - from : 0;
        if (done > 0 && from - done > step->longest_gap) {
            step->longest_gap = from - done;
        }
        step->first = step->sent == 0 || got->first < step->first ? got->first
                                                                  : step->first;
        step->last  = got->last > step->last ? got->last : step->last;
        step->sent += got->bytes;
        step->busy += took;
        step->longest = took > step->longest ? took : step->longest;
        done          = got->last > done ? got->last : done;
    }
}

static bool fill_actual(const steps_t *st, uint32_t call)
{
    received_t *list = malloc(((size_t)st->n + 1) * sizeof(*list));

    for (uint32_t r = 0; list != NULL && r < st->trace->n_ranks; ++r) {
        list_received(st, call, r, list);
        add_received(st, list);
    }
    free(list);
    return list != NULL;
}

long fs_tool_trace_steps(fs_tool_trace_t *trace, uint32_t call,
                         fs_tool_trace_step_t **steps_p)
{
    steps_t st = {.trace   = trace,
                  .planned = fs_tool_trace_planned_of(trace, call)};
    bool    ok = true;

    if (!list_steps(&st)) {
        return -1;
    }
    fill_planned(&st);
    for (uint32_t r = 0; ok && r < trace->n_ranks; ++r) {
        ok = place_rank(&st, call, r);
    }
    if (!ok || !fill_actual(&st, call)) {
        free(st.list);
        return -1;
    }
    *steps_p = st.list;
    return st.n;
}
