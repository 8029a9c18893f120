/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a trace: JSON that Perfetto and chrome://tracing show. "otherData"
 * says whose trace it is; in "traceEvents" one event is a line, for people.
 *
 * A process of the viewer is a rank of MPI_COMM_WORLD; "fastsched trace" tells
 * those apart that have the same one. Spans of one row must not overlap, so rows
 * are numbered TRACK * 100 + slot.
 */
#include "exec/fs_trace_file.h"

#include "base/fs_arith.h"
#include "sched/fs_topo.h"

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
static const char *const channel_names[] = {FS_CHANNEL_MAP(FS_LIST_NAME)};

/* fs_buffer_t, then what the MPI packs. */
#define PACKED(_buffer, _word) [FS_BUF_PACKED + _buffer] = "packed " #_word,
static const char *const buffer_names[] = {FS_BUFFER_MAP(FS_LIST_NAME)
                                               FS_BUFFER_MAP(PACKED)};

/* Which rows there are: slots, a bit each. */
typedef struct printer {
    FILE                  *out;
    const fs_trace_book_t *book;
    uint64_t               rows[N_TRACKS];
} printer_t;

/* ---- pieces ---- */

static void print_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; ++text) {
        unsigned char byte = (unsigned char)*text;

        if (byte == '"' || byte == '\\') {
            fprintf(out, "\\%c", byte);
        } else if (byte < ' ' || byte >= 0x7f) {
            fprintf(out, "\\u%04x", byte);
        } else {
            fputc(byte, out);
        }
    }
    fputc('"', out);
}

/* The viewers want microseconds. */
static void print_us(FILE *out, const char *key, uint64_t ns)
{
    fprintf(out, ", \"%s\": %" PRIu64 ".%03u", key, ns / 1000,
            (unsigned)(ns % 1000));
}

/* Up to where its name goes. */
static void open_event(const printer_t *p, const char *cat, char ph)
{
    fprintf(p->out, ",\n{\"ph\": \"%c\", \"cat\": \"%s\", \"pid\": %u", ph, cat,
            p->book->origin.world_rank);
}

/* Where and when; its arguments are open after that. */
static void place(printer_t *p, track_t track, uint8_t slot, uint64_t begin,
                  uint64_t end, uint32_t call)
{
    p->rows[track] |= UINT64_C(1) << slot;
    fprintf(p->out, ", \"tid\": %d", (int)track * TRACK_ROWS + slot);
    print_us(p->out, "ts", begin);
    if (end > begin) {
        print_us(p->out, "dur", end - begin);
    }
    fprintf(p->out, ", \"args\": {\"call\": %u", call);
}

static void close_event(const printer_t *p)
{
    fputs("}}", p->out);
}

static void print_u64(const printer_t *p, const char *key, uint64_t value)
{
    fprintf(p->out, ", \"%s\": %" PRIu64, key, value);
}

/* ---- events ---- */

/* Or a reduction: they share a row. */
static void print_copy(printer_t *p, const fs_event_t *e)
{
    const char *name = e->op_kind == FS_OP_REDUCE ? "reduce"
                       : e->src >= FS_BUF_PACKED  ? "pack"
                       : e->dst >= FS_BUF_PACKED  ? "unpack"
                                                  : "copy";

    open_event(p, "copy", 'X');
    fprintf(p->out, ", \"name\": \"%s\"", name);
    place(p, TRACK_COPY, e->slot, e->post, e->end, e->call);
    fprintf(p->out, ", \"from\": \"%s\", \"to\": \"%s\"", buffer_names[e->src],
            buffer_names[e->dst]);
}

static void print_message(printer_t *p, const fs_event_t *e)
{
    bool    recv  = e->op_kind == FS_OP_RECV;
    track_t track = e->channel == FS_CH_WIRE
                        ? (recv ? TRACK_RECV : TRACK_SEND)
                        : (recv ? TRACK_INSIDE_RECV : TRACK_INSIDE_SEND);

    open_event(p, channel_names[e->channel], 'X');
    fprintf(p->out, ", \"name\": \"%s %u\"", recv ? "receive from" : "send to",
            e->peer);
    place(p, track, e->slot, e->post, e->end, e->call);
    print_u64(p, "peer", e->peer);
    print_u64(p, "count", e->count);
}

static void print_op(printer_t *p, const fs_event_t *e)
{
    if (e->op_kind == FS_OP_COPY || e->op_kind == FS_OP_REDUCE) {
        print_copy(p, e);
    } else {
        print_message(p, e);
    }
    print_u64(p, "bytes", e->bytes);
    print_u64(p, "op", e->op);
    if (e->by != UINT32_MAX) {
        print_u64(p, "by", e->by);
    }
    print_us(p->out, "ready", e->ready);
    close_event(p);
}

static void print_wait(printer_t *p, const fs_event_t *e)
{
    bool recv = e->op_kind == FS_OP_RECV;

    open_event(p, "wait", 'X');
    fprintf(p->out, ", \"name\": \"wait to %s %u\"",
            recv ? "receive from" : "send to", e->peer);
    place(p, recv ? TRACK_WAIT_RECV : TRACK_WAIT_SEND, 0, e->post, e->end,
          e->call);
    print_u64(p, "peer", e->peer);
    print_u64(p, "op", e->op);
    print_u64(p, "bytes", e->bytes);
    close_event(p);
}

static void print_grant(printer_t *p, const fs_event_t *e)
{
    bool given = e->op_kind == FS_OP_RECV;

    open_event(p, "grant", 'i');
    fprintf(p->out, ", \"s\": \"t\", \"name\": \"grant %s %u\"",
            given ? "to" : "from", e->peer);
    place(p, given ? TRACK_GIVEN : TRACK_GRANTED, 0, e->end, e->end, e->call);
    print_u64(p, "peer", e->peer);
    print_u64(p, "count", e->count);
    close_event(p);
}

static void print_phase(printer_t *p, const fs_event_t *e)
{
    open_event(p, "phase", 'X');
    fprintf(p->out, ", \"name\": \"%s\"", phase_names[e->op]);
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
    open_event(p, "planned", end > begin ? 'X' : 'M');
    fprintf(p->out, ", \"name\": \"%s server %u\"",
            recv ? "receive from" : "send to", e->peer);
    place(p, recv ? TRACK_PLANNED_RECV : TRACK_PLANNED_SEND, 0, begin, end,
          e->call);
    print_u64(p, "server", e->peer);
    print_u64(p, "start", e->ready);
    print_u64(p, "bytes", e->bytes);
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
    open_event(p, "call", 'X');
    fprintf(p->out, ", \"name\": \"call %" PRIu64 "\"", call->number);
    place(p, TRACK_CALL, 0, call->begin, call->end, (uint32_t)call->number);
    fprintf(p->out, ", \"algorithm\": \"%s\"", fs_alg_name(call->choice.alg));
    if (call->choice.alg == FS_ALG_STAGED) {
        fprintf(p->out, ", \"decompose\": \"%s\"",
                fs_decompose_name(call->decompose));
        print_u64(p, "stages", call->n_stages);
        print_u64(p, "planned", call->total_per_lane);
    }
    print_u64(p, "bytes", call->inter_bytes);
    print_u64(p, "bound", call->lower_bound);
    fputs(", \"status\": ", p->out);
    print_text(p->out, fs_strerror(call->status));
    if (call->run > 0) {
        print_us(p->out, "run", call->run);
    }
    close_event(p);
}

/* ---- the frame ---- */

static void print_head(const printer_t *p)
{
    const fs_trace_origin_t *o      = &p->book->origin;
    uint32_t                 server = fs_topo_server(o->topo, o->rank);
    uint32_t                 lane   = fs_topo_lane(o->topo, o->rank);

    fputs("{\"displayTimeUnit\": \"ns\", \"otherData\": {\"format\": "
          "\"fastsched trace 1\", \"comm\": ",
          p->out);
    print_text(p->out, o->comm_name);
    fprintf(p->out, ", \"id\": \"%llx\"", (unsigned long long)o->comm_id);
    print_u64(p, "rank", o->rank);
    print_u64(p, "world_rank", o->world_rank);
    print_u64(p, "ranks", o->topo->n_ranks);
    print_u64(p, "server", server);
    print_u64(p, "servers", o->topo->n_servers);
    if (lane != FS_NO_LANE) {
        print_u64(p, "lane", lane);
    }
    print_u64(p, "lanes", fs_topo_n_lanes(o->topo, server));
    print_u64(p, "rate", o->rate);
    fputs(", \"clock\": ", p->out);
    print_text(p->out, p->book->clock);
    fputs(", \"process\": ", p->out);
    print_text(p->out, p->book->process);
    print_u64(p, "epoch_ns", p->book->epoch);
    print_u64(p, "events", p->book->n_events);
    print_u64(p, "dropped", p->book->dropped);
    fputs("}, \"traceEvents\": [\n", p->out);
    fprintf(p->out,
            "{\"ph\": \"M\", \"cat\": \"name\", \"pid\": %u, \"name\": "
            "\"process_name\", \"args\": {\"name\": \"rank %u, server %u\"}}",
            o->world_rank, o->world_rank, server);
}

static void print_row_names(const printer_t *p)
{
    for (int track = 0; track < N_TRACKS; ++track) {
        for (int slot = 0; slot < FS_TRACE_SLOTS; ++slot) {
            if ((p->rows[track] >> slot & 1) == 0) {
                continue;
            }
            open_event(p, "name", 'M');
            fprintf(p->out,
                    ", \"tid\": %d, \"name\": \"thread_name\", \"args\": "
                    "{\"name\": \"%02d %s\"}}",
                    track * TRACK_ROWS + slot, track, track_names[track]);
        }
    }
}

void fs_trace_print(FILE *out, const fs_trace_book_t *book)
{
    printer_t p = {.out = out, .book = book};

    print_head(&p);
    for (size_t k = 0; k < book->n_calls; ++k) {
        print_call(&p, &book->calls[k]);
    }
    for (size_t k = 0; k < book->n_events; ++k) {
        print_event(&p, &book->events[k]);
    }
    print_row_names(&p);
    fputs("\n]}\n", out);
}
