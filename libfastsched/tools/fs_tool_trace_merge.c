/* SPDX-License-Identifier: BSD-3-Clause */
/* All files in one: each event is copied, only its times are moved and its
 * process gets its number here; then arrows from each message's send to its
 * receive. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_fields.h"
#include "tools/fs_tool_trace.h"
#include "tools/fs_tool_trace_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

typedef struct merger {
    FILE    *out;
    uint64_t base;  /* the earliest time of all communicators */
    uint64_t n;     /* events written */
    uint64_t arrow; /* number of the last one */
} merger_t;

static void put_us(FILE *out, uint64_t ns)
{
    fprintf(out, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

static void lead(merger_t *m)
{
    fputs(m->n++ == 0 ? "" : ",\n", m->out);
}

/* "dur" is a length, not a time. */
static bool is_time(const fs_tool_field_t *field)
{
    return fs_tool_field_is_named(field, "ts") ||
           fs_tool_field_is_named(field, "ready") ||
           fs_tool_field_is_named(field, "run");
}

/* Times are moved by shift, from 0; earlier than that: 0. */
static void put_event(merger_t *m, const char *text,
                      const fs_tool_fields_t *fields, uint32_t process,
                      uint64_t shift)
{
    lead(m);
    for (size_t k = 0; k < fields->n; ++k) {
        const fs_tool_field_t *field = &fields->list[k];
        uint64_t               ns;

        fwrite(text, 1, (size_t)(field->value - text), m->out);
        text = field->value;
        if (fs_tool_field_is_named(field, "pid")) {
            fprintf(m->out, "%u", process);
            text += field->value_len;
        } else if (is_time(field) && fs_tool_field_time(field, &ns)) {
            ns += shift;
            put_us(m->out, ns > m->base ? ns - m->base : 0);
            text += field->value_len;
        }
    }
    fputs(text, m->out);
}

/* False: it is not as it was when it was read. */
static bool put_events(merger_t *m, FILE *in, uint32_t process, uint64_t shift)
{
    fs_tool_trace_scan_t scan;
    fs_tool_fields_t     fields;
    fs_tool_piece_t      piece;
    bool                 ok = true;

    fs_tool_trace_scan_init(&scan, in);
    while (ok &&
           (piece = fs_tool_trace_scan_next(&scan)) != FS_TOOL_PIECE_END) {
        ok = piece != FS_TOOL_PIECE_WRONG &&
             fs_tool_fields_read(scan.piece, &fields) == NULL;
        if (ok && piece == FS_TOOL_PIECE_EVENT) {
            put_event(m, scan.piece, &fields, process, shift);
        }
    }
    fs_tool_trace_scan_fini(&scan);
    return ok;
}

static int put_file(merger_t *m, const fs_tool_trace_rank_t *rank,
                    uint64_t shift)
{
    FILE *in = fopen(rank->path, "r");
    bool  ok;

    if (in == NULL) {
        return fs_tool_failed("%s: %s", rank->path, strerror(errno));
    }
    ok = put_events(m, in, rank->number, shift);
    fclose(in);
    return ok ? FS_TOOL_OK
              : fs_tool_failed("%s: it has changed meanwhile", rank->path);
}

/* "s" leaves the span that it is in, "f" enters one; the end of a span is
 * outside of it. */
static void put_end(merger_t *m, const fs_tool_trace_t *trace,
                    const fs_tool_trace_op_t *op, char ph)
{
    uint64_t last = op->end > op->post ? op->end - 1 : op->post;

    lead(m);
    fprintf(m->out,
            "{\"ph\": \"%c\", %s\"cat\": \"arrow\", \"name\": \"message\", "
            "\"id\": %" PRIu64 ", \"pid\": %u, \"tid\": %u, \"ts\": ",
            ph, ph == 'f' ? "\"bp\": \"e\", " : "", m->arrow,
            trace->ranks[op->rank].number, op->row);
    put_us(m->out, (ph == 's' ? op->post : last) + trace->base - m->base);
    fputs("}", m->out);
}

static void put_arrows(merger_t *m, const fs_tool_trace_t *trace)
{
    for (size_t k = 0; k < trace->n_ops; ++k) {
        const fs_tool_trace_op_t *op = &trace->ops[k];

        if (op->kind == FS_OP_SEND && op->mate != FS_TOOL_NONE) {
            ++m->arrow;
            put_end(m, trace, op, 's');
            put_end(m, trace, &trace->ops[op->mate], 'f');
        }
    }
}

static int put_trace(merger_t *m, const fs_tool_trace_t *trace)
{
    int rc = FS_TOOL_OK;

    for (uint32_t r = 0; r < trace->n_ranks && rc == FS_TOOL_OK; ++r) {
        const fs_tool_trace_rank_t *rank = &trace->ranks[r];

        if (rank->there) {
            rc = put_file(m, rank, trace->clocks[rank->clock].shift);
        }
    }
    put_arrows(m, trace);
    return rc;
}

int fs_tool_trace_merge(const char *path, const fs_tool_traces_t *traces)
{
    merger_t m  = {.out = fopen(path, "w"), .base = UINT64_MAX};
    int      rc = FS_TOOL_OK;
    bool     failed;

    if (m.out == NULL) {
        return fs_tool_failed("%s: %s", path, strerror(errno));
    }
    for (size_t k = 0; k < traces->n; ++k) {
        uint64_t base = traces->list[k].base;

        m.base = base < m.base ? base : m.base;
    }
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", m.out);
    for (size_t k = 0; k < traces->n && rc == FS_TOOL_OK; ++k) {
        rc = put_trace(&m, &traces->list[k]);
    }
    fputs("\n]}\n", m.out);
    failed = ferror(m.out) != 0;
    failed = fclose(m.out) != 0 || failed;
    if (rc == FS_TOOL_OK && failed) {
        rc = fs_tool_failed("%s: %s", path, strerror(errno));
    }
    return rc;
}
