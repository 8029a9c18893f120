/* SPDX-License-Identifier: BSD-3-Clause */
/* The critical path of a call: where the walk begins and ends, and what comes
 * of it. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_trace_walk.h"

#include <stdlib.h>
#include <string.h>

typedef fs_tool_trace_op_t op_t;
typedef fs_tool_walk_t     walk_t;

static const struct {
    const char *name, *help;
} hops[] = {
#define X(_kind, _name, _help) [_kind] = {_name, _help},
    FS_TOOL_HOP_MAP(X)
#undef X
};

const char *fs_tool_hop_name(fs_tool_hop_kind_t kind)
{
    return hops[kind].name;
}

const char *fs_tool_hop_help(fs_tool_hop_kind_t kind)
{
    return hops[kind].help;
}

/* ---- the ends of the path ---- */

typedef fs_tool_trace_phase_t phase_t;

/* The phase of that name that began, or ended, last on any rank; NULL: none. */
static const phase_t *last_phase(const walk_t *w, const char *name, bool ended)
{
    size_t k   = fs_tool_trace_phases_of(w->trace, w->call, 0).first;
    size_t end = fs_tool_trace_phases_of(w->trace, w->call + 1, 0).first;
    const phase_t *last = NULL;

    for (; k < end; ++k) {
        const phase_t *phase = &w->trace->phases[k];

        if (strcmp(phase->name, name) == 0 &&
            (last == NULL ||
             (ended ? phase->end > last->end : phase->begin > last->begin))) {
            last = phase;
        }
    }
    return last;
}

/* What all ranks do together begins with the last of them. */
static void walk_together(walk_t *w, fs_tool_hop_kind_t kind)
{
    const phase_t *last = last_phase(w, hops[kind].name, false);

    if (last != NULL) {
        fs_tool_walk_hop(w, kind, FS_TOOL_NONE, last->begin, 0, "all ranks");
        w->rank = last->rank;
    }
}

/* Before the run, on the rank where the walk has come to its start. */
static void walk_entry(walk_t *w, const fs_tool_trace_sum_t *sum)
{
    const phase_t *summary;

    walk_together(w, FS_TOOL_HOP_AGREE);
    summary = last_phase(w, hops[FS_TOOL_HOP_SUMMARY].name, true);
    if (summary != NULL) {
        fs_tool_walk_hop(w, FS_TOOL_HOP_PLAN, FS_TOOL_NONE, summary->end, 0,
                         "this rank");
    }
    walk_together(w, FS_TOOL_HOP_SUMMARY);
    walk_together(w, FS_TOOL_HOP_CHECK);
    fs_tool_walk_idle(w, sum->last_entry, "this rank");
    w->rank = sum->last_in;
    fs_tool_walk_hop(w, FS_TOOL_HOP_ENTRY, FS_TOOL_NONE, sum->first_entry, 0,
                     "the last rank to enter");
}

/* The receive after which that word was given; NULL: it is not there. */
static const op_t *to_arrival(walk_t *w, const fs_tool_trace_grant_t *word)
{
    const fs_tool_trace_grant_t *given = fs_tool_trace_grant_of(
        w->trace, true, word->peer, word->rank, word->count);

    if (given == NULL) {
        return NULL;
    }
    fs_tool_walk_hop(w, FS_TOOL_HOP_GRANT, word->peer, given->time, 0,
                     "the receiver");
    w->rank = word->peer;
    return fs_tool_walk_last_ended(w, word->peer, FS_OP_RECV, word->rank,
                                   given->time, NULL);
}

/* The last thing of the rank's run: an operation, or the word of a receiver
 * that all has arrived. */
static void walk_exit(walk_t *w)
{
    fs_tool_trace_range_t range =
        fs_tool_trace_ops_of(w->trace, w->call, w->rank);
    const op_t                  *last = NULL;
    const fs_tool_trace_grant_t *word = NULL;

    for (size_t k = range.first; k < range.end; ++k) {
        const op_t *o = &w->trace->ops[k];

        last = last == NULL || o->end > last->end ? o : last;
        if (o->channel == FS_CH_WIRE && o->kind == FS_OP_SEND) {
            const fs_tool_trace_grant_t *got = fs_tool_trace_grant_of(
                w->trace, false, w->rank, o->peer, o->count + 1);

            if (got != NULL && got->time <= w->time &&
                (word == NULL || got->time > word->time)) {
                word = got;
            }
        }
    }
    if (word != NULL && (last == NULL || word->time > last->end)) {
        fs_tool_walk_idle(w, word->time, "the word that all has arrived");
        last = to_arrival(w, word);
    }
    w->op = last;
    if (last != NULL) {
        fs_tool_walk_idle(w, last->end, "the last operation");
        fs_tool_walk_stand(w, last, false);
    }
}

/* ---- tables of the walk ---- */

static int by_end(const void *a, const void *b)
{
    const op_t *x = *(const op_t *const *)a, *y = *(const op_t *const *)b;

    if (x->end != y->end) {
        return x->end < y->end ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static bool make_tables(walk_t *w, size_t first, size_t end)
{
    const fs_tool_trace_t *trace   = w->trace;
    uint32_t               last[2] = {FS_TOOL_NONE, FS_TOOL_NONE};

    w->first_op = first;
    w->arrivals = malloc((end - first + 1) * sizeof(*w->arrivals));
    w->before   = malloc((end - first + 1) * sizeof(*w->before));
    if (w->arrivals == NULL || w->before == NULL) {
        return false;
    }
    for (size_t k = first; k < end; ++k) {
        const op_t *op   = &trace->ops[k];
        bool        recv = op->kind == FS_OP_RECV;

        if (k > first && op->rank != op[-1].rank) {
            last[0] = last[1] = FS_TOOL_NONE;
        }
        w->before[k - first] = FS_TOOL_NONE;
        if (op->channel == FS_CH_WIRE) {
            w->before[k - first] = last[recv];
            last[recv]           = (uint32_t)k;
            if (recv) {
                w->arrivals[w->n_arrivals++] = op;
            }
        }
    }
    qsort(w->arrivals, w->n_arrivals, sizeof(*w->arrivals), by_end);
    return true;
}

/* Backwards was found, forwards is told. Messages in a row between the same two
 * ranks become one hop. */
static void turn_round(fs_tool_path_t *path)
{
    size_t n = 0;

    for (size_t k = 0; k < path->n / 2; ++k) {
        fs_tool_hop_t held = path->hops[k];

        path->hops[k]               = path->hops[path->n - 1 - k];
        path->hops[path->n - 1 - k] = held;
    }
    for (size_t k = 0; k < path->n; ++k) {
        fs_tool_hop_t *prev = n > 0 ? &path->hops[n - 1] : NULL;
        fs_tool_hop_t  next = path->hops[k];

        if (prev != NULL && prev->kind == next.kind &&
            prev->rank == next.rank && prev->peer == next.peer) {
            prev->end = next.end;
            prev->bytes += next.bytes;
            prev->messages += next.messages;
        } else {
            path->hops[n++] = next;
        }
    }
    path->n = n;
}

static void walk_back(walk_t *w, const fs_tool_trace_sum_t *sum, size_t n_ops)
{
    /* Each operation is met twice at most, at its end and at its post. */
    size_t         left = 4 * n_ops + 16;
    const phase_t *run  = last_phase(w, "run", true);

    /* Where clocks are not aligned, an operation may seem to be earlier. */
    w->start = sum->first_entry;
    w->rank  = run == NULL ? sum->last_out : run->rank;
    w->time  = sum->end;
    if (run != NULL) {
        fs_tool_walk_hop(w, FS_TOOL_HOP_REPORT, FS_TOOL_NONE, run->end, 0,
                         "all ranks");
        walk_exit(w);
    }
    while (w->op != NULL && left-- > 0) {
        fs_tool_walk_back(w);
    }
    walk_entry(w, sum);
}

int fs_tool_path_find(const fs_tool_trace_t *trace, uint32_t call,
                      fs_tool_path_t *path)
{
    walk_t              w     = {.trace = trace, .call = call, .path = path};
    size_t              first = fs_tool_trace_ops_of(trace, call, 0).first;
    size_t              end   = fs_tool_trace_ops_of(trace, call + 1, 0).first;
    fs_tool_trace_sum_t sum;

    *path = (fs_tool_path_t){0};
    fs_tool_trace_sum(trace, call, &sum);
    w.no_memory = !make_tables(&w, first, end);
    if (!w.no_memory) {
        walk_back(&w, &sum, end - first);
        turn_round(path);
    }
    free(w.arrivals);
    free(w.before);
    if (w.no_memory) {
        fs_tool_path_fini(path);
        return fs_tool_status("critical path", FS_ERR_NOMEM);
    }
    return FS_TOOL_OK;
}

void fs_tool_path_fini(fs_tool_path_t *path)
{
    free(path->hops);
    *path = (fs_tool_path_t){0};
}
