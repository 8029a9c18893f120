/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a trace: JSON that Perfetto and chrome://tracing show.
 * "otherData" identifies the trace; "traceEvents" has one event per line, to be
 * readable.
 *
 * A process of the viewer is a rank of MPI_COMM_WORLD; "fastsched trace" tells
 * those apart that have the same one. Spans of one row must not overlap, so rows
 * are numbered TRACK * 100 + slot.
 */
#include "trace/fs_trace_file.h"

#include "base/fs_arith.h"
#include "base/fs_json.h"
#include "sched/model/fs_topo.h"
#include "sched/plan/fs_plan.h"

#include <inttypes.h>

/* Rows of the viewer. */
#define TRACK_MAP(X)                            \
    X(TRACK_CALL, "call")                       \
    X(TRACK_PLANNED_SEND, "planned to send")    \
    X(TRACK_PLANNED_RECV, "planned to receive") \
    X(TRACK_GIVEN, "grants given")              \
    X(TRACK_GRANTED, "grants received")         \
    X(TRACK_WAIT_SEND, "waits to send")         \
    X(TRACK_WAIT_RECV, "waits to receive")      \
    X(TRACK_SEND, "send")                       \
    X(TRACK_RECV, "receive")                    \
    X(TRACK_INSIDE_SEND, "send inside")         \
    X(TRACK_INSIDE_RECV, "receive inside")      \
    X(TRACK_COPY, "copy")

typedef enum track { TRACK_MAP(FS_LIST_VALUE) N_TRACKS } track_t;

enum { TRACK_ROWS = 100 };

#define X(_track, _name) [_track] = _name,
static const char *const track_names[] = {TRACK_MAP(X)};
#undef X

static const char *const phase_names[]   = {FS_TRACE_PHASE_MAP(FS_LIST_NAME)};
static const char *const op_names[]      = {FS_OP_MAP(FS_LIST_NAME)};
static const char *const channel_names[] = {FS_CHANNEL_MAP(FS_LIST_NAME)};

/* fs_buffer_t, then what the MPI packs. */
#define PACKED(_buffer, _word) [FS_BUF_PACKED + _buffer] = "packed " #_word,
static const char *const buffer_names[] = {FS_BUFFER_MAP(FS_LIST_NAME)
                                               FS_BUFFER_MAP(PACKED)};

/* Which rows there are: slots, a bit each. */
typedef struct printer {
    fs_json_t              json;
    const fs_trace_book_t *book;
    uint64_t               rows[N_TRACKS];
} printer_t;

/* ---- parts of a file ---- */

/* Up to where its name goes. */
static fs_json_t *open_event(printer_t *p, const char *cat, const char *ph)
{
    fs_json_open(&p->json, NULL, '{');
    fs_json_text(&p->json, "ph", ph);
    fs_json_text(&p->json, "cat", cat);
    fs_json_u64(&p->json, "pid", p->book->origin.world_rank);
    return &p->json;
}

/* Where and when; its arguments are open after that. The viewers want
 * microseconds. */
static void place(printer_t *p, track_t track, uint8_t slot, uint64_t begin,
                  uint64_t end, uint32_t call)
{
    p->rows[track] |= UINT64_C(1) << slot;
    fs_json_u64(&p->json, "tid", (uint64_t)track * TRACK_ROWS + slot);
    fs_json_milli(&p->json, "ts", begin);
    if (end > begin) {
        fs_json_milli(&p->json, "dur", end - begin);
    }
    fs_json_open(&p->json, "args", '{');
    fs_json_u64(&p->json, "call", call);
}

static void close_event(printer_t *p)
{
    fs_json_close(&p->json);
    fs_json_close(&p->json);
}

/* ---- events ---- */

/* Or a reduction: they share a row. */
static void print_copy(printer_t *p, const fs_event_t *e)
{
    const char *name = op_names[e->op_kind];

    if (e->op_kind == FS_OP_COPY && e->src >= FS_BUF_PACKED) {
        name = "pack";
    } else if (e->op_kind == FS_OP_COPY && e->dst >= FS_BUF_PACKED) {
        name = "unpack";
    }
    fs_json_text(open_event(p, "copy", "X"), "name", name);
    place(p, TRACK_COPY, e->slot, e->post, e->end, e->call);
    fs_json_text(&p->json, "from", buffer_names[e->src]);
    fs_json_text(&p->json, "to", buffer_names[e->dst]);
}

static void print_message(printer_t *p, const fs_event_t *e)
{
    bool    recv  = e->op_kind == FS_OP_RECV;
    track_t track = e->channel == FS_CH_WIRE
                        ? (recv ? TRACK_RECV : TRACK_SEND)
                        : (recv ? TRACK_INSIDE_RECV : TRACK_INSIDE_SEND);

    fs_json_say(open_event(p, channel_names[e->channel], "X"), "name", "%s %u",
                recv ? "receive from" : "send to", e->peer);
    place(p, track, e->slot, e->post, e->end, e->call);
    fs_json_u64(&p->json, "peer", e->peer);
    fs_json_u64(&p->json, "count", e->count);
}

static void print_op(printer_t *p, const fs_event_t *e)
{
    if (e->op_kind == FS_OP_COPY || e->op_kind == FS_OP_REDUCE) {
        print_copy(p, e);
    } else {
        print_message(p, e);
    }
    fs_json_u64(&p->json, "bytes", e->bytes);
    fs_json_u64(&p->json, "op", e->op);
    if (e->by != UINT32_MAX) {
        fs_json_u64(&p->json, "by", e->by);
    }
    fs_json_milli(&p->json, "ready", e->ready);
    close_event(p);
}

static void print_wait(printer_t *p, const fs_event_t *e)
{
    bool recv = e->op_kind == FS_OP_RECV;

    fs_json_say(open_event(p, "wait", "X"), "name", "wait to %s %u",
                recv ? "receive from" : "send to", e->peer);
    place(p, recv ? TRACK_WAIT_RECV : TRACK_WAIT_SEND, 0, e->post, e->end,
          e->call);
    fs_json_u64(&p->json, "peer", e->peer);
    fs_json_u64(&p->json, "op", e->op);
    fs_json_u64(&p->json, "bytes", e->bytes);
    close_event(p);
}

static void print_grant(printer_t *p, const fs_event_t *e)
{
    bool given = e->op_kind == FS_OP_RECV;

    fs_json_text(open_event(p, "grant", "i"), "s", "t");
    fs_json_say(&p->json, "name", "grant %s %u", given ? "to" : "from",
                e->peer);
    place(p, given ? TRACK_GIVEN : TRACK_GRANTED, 0, e->end, e->end, e->call);
    fs_json_u64(&p->json, "peer", e->peer);
    fs_json_u64(&p->json, "count", e->count);
    close_event(p);
}

static void print_phase(printer_t *p, const fs_event_t *e)
{
    fs_json_text(open_event(p, "phase", "X"), "name", phase_names[e->op]);
    place(p, TRACK_CALL, 0, e->post, e->end, e->call);
    close_event(p);
}

static const fs_traced_call_t *find_call(const fs_trace_book_t *book,
                                         uint32_t               number)
{
    size_t low = 0, high = book->n_calls;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (book->calls[middle].number > number) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return &book->calls[low];
}

/* What a lane was to do has a place in time only if its rate is known; the
 * viewers skip an "M" they do not know. Where bytes move faster than at that rate
 * it ends with the call: the next one has the same row. */
static void print_planned(printer_t *p, const fs_event_t *e)
{
    const fs_traced_call_t *call = find_call(p->book, e->call);
    uint64_t                rate = p->book->origin.rate;
    bool                    recv = e->op_kind == FS_OP_RECV;
    double   ns    = rate == 0 ? 0 : 8e9 / (double)rate; /* of a byte */
    uint64_t begin = call->run + (uint64_t)((double)e->ready * ns);
    uint64_t end   = begin + (uint64_t)((double)e->bytes * ns);

    begin = fs_u64_min(begin, call->end);
    end   = fs_u64_min(end, call->end);
    fs_json_say(open_event(p, "planned", end > begin ? "X" : "M"), "name",
                "%s server %u", recv ? "receive from" : "send to", e->peer);
    place(p, recv ? TRACK_PLANNED_RECV : TRACK_PLANNED_SEND, 0, begin, end,
          e->call);
    fs_json_u64(&p->json, "server", e->peer);
    fs_json_u64(&p->json, "start", e->ready);
    fs_json_u64(&p->json, "bytes", e->bytes);
    close_event(p);
}

static void print_event(printer_t *p, const fs_event_t *e)
{
    switch ((fs_event_kind_t)e->kind) {
    case FS_EVENT_OP:
        print_op(p, e);
        break;
    case FS_EVENT_WAIT:
        print_wait(p, e);
        break;
    case FS_EVENT_GRANT:
        print_grant(p, e);
        break;
    case FS_EVENT_PHASE:
        print_phase(p, e);
        break;
    case FS_EVENT_PLANNED:
        print_planned(p, e);
        break;
    }
}

static void print_call(printer_t *p, const fs_traced_call_t *call)
{
    fs_json_t *json = open_event(p, "call", "X");

    fs_json_say(json, "name", "call %" PRIu64, call->number);
    place(p, TRACK_CALL, 0, call->begin, call->end, (uint32_t)call->number);
    fs_json_text(json, "algorithm", fs_alg_name(call->choice.alg));
    if (fs_plan_has_schedule(call->choice.alg)) {
        fs_json_text(json, "decompose", fs_decompose_name(call->decompose));
        fs_json_u64(json, "stages", call->n_stages);
        fs_json_u64(json, "planned", call->total_per_lane);
    }
    fs_json_u64(json, "bytes", call->inter_bytes);
    fs_json_u64(json, "bound", call->lower_bound);
    if (call->early_bytes > 0) {
        fs_json_u64(json, "early", call->early_bytes);
    }
    fs_json_text(json, "status", fs_strerror(call->status));
    if (call->run > 0) {
        fs_json_milli(json, "run", call->run);
    }
    close_event(p);
}

/* ---- the frame ---- */

static void print_head(fs_json_t *json, const fs_trace_book_t *book)
{
    const fs_trace_origin_t *o      = &book->origin;
    uint32_t                 server = fs_topo_server(o->topo, o->rank);
    uint32_t                 lane   = fs_topo_lane(o->topo, o->rank);

    fs_json_open(json, "otherData", '{');
    fs_json_text(json, "format", "fastsched trace 1");
    fs_json_text(json, "comm", o->comm_name);
    fs_json_say(json, "id", "%" PRIx64, o->comm_id);
    fs_json_u64(json, "rank", o->rank);
    fs_json_u64(json, "world_rank", o->world_rank);
    fs_json_u64(json, "ranks", o->topo->n_ranks);
    fs_json_u64(json, "server", server);
    fs_json_u64(json, "servers", o->topo->n_servers);
    if (lane != FS_NO_LANE) {
        fs_json_u64(json, "lane", lane);
    }
    fs_json_u64(json, "lanes", fs_topo_n_lanes(o->topo, server));
    fs_json_u64(json, "rate", o->rate);
    fs_json_text(json, "clock", book->clock);
    fs_json_text(json, "process", book->process);
    fs_json_u64(json, "epoch_ns", book->epoch);
    fs_json_u64(json, "events", book->n_events);
    fs_json_u64(json, "dropped", book->dropped);
    fs_json_close(json);
}

static void print_process_name(printer_t *p)
{
    const fs_trace_origin_t *o    = &p->book->origin;
    fs_json_t               *json = open_event(p, "name", "M");

    fs_json_text(json, "name", "process_name");
    fs_json_open(json, "args", '{');
    fs_json_say(json, "name", "rank %u, server %u", o->world_rank,
                fs_topo_server(o->topo, o->rank));
    close_event(p);
}

static void print_row_names(printer_t *p)
{
    for (int track = 0; track < N_TRACKS; ++track) {
        for (int slot = 0; slot < FS_TRACE_SLOTS; ++slot) {
            if ((p->rows[track] >> slot & 1) == 0) {
                continue;
            }
            open_event(p, "name", "M");
            fs_json_u64(&p->json, "tid", (uint64_t)(track * TRACK_ROWS + slot));
            fs_json_text(&p->json, "name", "thread_name");
            fs_json_open(&p->json, "args", '{');
            fs_json_say(&p->json, "name", "%02d %s", track, track_names[track]);
            close_event(p);
        }
    }
}

void fs_trace_print(FILE *out, const fs_trace_book_t *book)
{
    printer_t p = {.book = book};

    fs_json_init(&p.json, out, 0);
    fs_json_open(&p.json, NULL, '{');
    fs_json_text(&p.json, "displayTimeUnit", "ns");
    print_head(&p.json, book);
    fs_json_open(&p.json, "traceEvents", '[');
    p.json.wrap = p.json.depth; /* from here on an event is a line */
    print_process_name(&p);
    for (size_t k = 0; k < book->n_calls; ++k) {
        print_call(&p, &book->calls[k]);
    }
    for (size_t k = 0; k < book->n_events; ++k) {
        print_event(&p, &book->events[k]);
    }
    print_row_names(&p);
    fs_json_close(&p.json);
    fs_json_close(&p.json);
}
