/* SPDX-License-Identifier: BSD-3-Clause */
/* All files in one: each line is copied, only its times are moved; then arrows
 * from each message's send to its receive. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct merger {
    FILE    *out;
    uint64_t base;  /* the earliest time of all communicators */
    uint64_t n;     /* events written */
    uint64_t arrow; /* number of the last one */
} merger_t;

/* Keys whose values are times; "dur" is a length. */
static const char *const keys[] = {"\"ts\": ", "\"ready\": ", "\"run\": "};

static const char *next_time(const char *from)
{
    const char *first = NULL;

    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); ++k) {
        const char *at = strstr(from, keys[k]);

        if (at != NULL && (first == NULL || at < first)) {
            first = at;
        }
    }
    return first == NULL ? NULL : strchr(first, ':') + 2;
}

/* Microseconds with three decimals, as they are written there. */
static uint64_t read_ns(const char *from, char **end_p)
{
    uint64_t us = strtoull(from, end_p, 10), ns = 0;

    if (**end_p == '.') {
        ns = strtoull(*end_p + 1, end_p, 10);
    }
    return us * 1000 + ns;
}

static void put_us(FILE *out, uint64_t ns)
{
    fprintf(out, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

/* A line with its times moved by shift, from 0; earlier than that: 0. */
static void put_line(const merger_t *m, const char *line, uint64_t shift)
{
    for (const char *time; (time = next_time(line)) != NULL;) {
        char    *end;
        uint64_t ns = read_ns(time, &end) + shift;

        fwrite(line, 1, (size_t)(time - line), m->out);
        put_us(m->out, ns > m->base ? ns - m->base : 0);
        line = end;
    }
    fputs(line, m->out);
}

static void lead(merger_t *m)
{
    fputs(m->n++ == 0 ? "" : ",\n", m->out);
}

/* All lines but the first and the last. The file has been read before. */
static bool put_file(merger_t *m, const char *path, uint64_t shift)
{
    FILE  *in    = fopen(path, "r");
    char  *line  = NULL;
    size_t max   = 0;
    bool   first = true;

    if (in == NULL) {
        return false;
    }
    for (; getline(&line, &max, in) >= 0; first = false) {
        if (first || strncmp(line, "]}", 2) == 0) {
            continue;
        }
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] != '\0' && line[strlen(line) - 1] == ',') {
            line[strlen(line) - 1] = '\0';
        }
        lead(m);
        put_line(m, line, shift);
    }
    free(line);
    fclose(in);
    return true;
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
            trace->ranks[op->rank].world_rank, op->row);
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

static bool put_trace(merger_t *m, const fs_tool_trace_t *trace)
{
    for (uint32_t r = 0; r < trace->n_ranks; ++r) {
        const fs_tool_trace_rank_t *rank = &trace->ranks[r];

        if (rank->there &&
            !put_file(m, rank->path, trace->clocks[rank->clock].shift)) {
            return false;
        }
    }
    put_arrows(m, trace);
    return true;
}

int fs_tool_trace_merge(const char *path, const fs_tool_traces_t *traces)
{
    merger_t m  = {.out = fopen(path, "w"), .base = UINT64_MAX};
    bool     ok = true;

    if (m.out == NULL) {
        return fs_tool_failed("%s: %s", path, strerror(errno));
    }
    for (size_t k = 0; k < traces->n; ++k) {
        uint64_t base = traces->list[k].base;

        m.base = base < m.base ? base : m.base;
    }
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", m.out);
    for (size_t k = 0; k < traces->n && ok; ++k) {
        ok = put_trace(&m, &traces->list[k]);
    }
    fputs("\n]}\n", m.out);
    ok = ferror(m.out) == 0 && ok;
    if (fclose(m.out) != 0 || !ok) {
        return fs_tool_failed("%s: %s", path, strerror(errno));
    }
    return FS_TOOL_OK;
}
