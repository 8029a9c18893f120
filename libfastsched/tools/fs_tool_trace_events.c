/* SPDX-License-Identifier: BSD-3-Clause */
/* Events become rows of tables. What is not needed here, names of rows say, is
 * passed over. */
#include "tools/fs_tool_trace_reader.h"

#include <stdlib.h>
#include <string.h>

typedef fs_tool_trace_reader_t reader_t;

/* ---- tables ---- */

/* The list with room for one more, perhaps elsewhere; NULL: no memory, and it
 * is as before. */
static void *grow(void *list, size_t n, size_t *max_p, size_t elem)
{
    size_t max = *max_p * 2 + 64;
    void  *bigger;

    if (n < *max_p) {
        return list;
    }
    bigger = realloc(list, max * elem);
    *max_p = bigger == NULL ? *max_p : max;
    return bigger;
}

/* Append a row to a table of the trace. */
#define ADD(_reader, _what, _row)                                              \
    do {                                                                       \
        fs_tool_trace_t *_t = (_reader)->trace;                                \
        void *_list         = grow(_t->_what, _t->n_##_what, &_t->max_##_what, \
                                   sizeof(*_t->_what));                        \
                                                                               \
        (_reader)->no_memory = _list == NULL;                                  \
        if (_list != NULL) {                                                   \
            _t->_what                  = _list;                                \
            _t->_what[_t->n_##_what++] = (_row);                               \
        }                                                                      \
    } while (0)

uint64_t fs_tool_trace_number(reader_t *r, const char *key, uint64_t max)
{
    uint64_t value = 0;

    if (!fs_tool_fields_u64(&r->fields, key, &value) || value > max) {
        r->why = key;
        return 0;
    }
    return value;
}

static uint32_t number32(reader_t *r, const char *key)
{
    return (uint32_t)fs_tool_trace_number(r, key, UINT32_MAX - 1);
}

static uint32_t rank_number(reader_t *r, const char *key)
{
    return (uint32_t)fs_tool_trace_number(r, key, r->trace->n_ranks - 1);
}

static uint64_t moment(reader_t *r, const char *key)
{
    uint64_t ns = 0;

    if (!fs_tool_fields_time(&r->fields, key, &ns)) {
        r->why = key;
    }
    return ns;
}

/* Not there: the default. */
static uint64_t moment_or(const reader_t *r, const char *key, uint64_t other)
{
    uint64_t ns;

    return fs_tool_fields_time(&r->fields, key, &ns) ? ns : other;
}

void fs_tool_trace_word(reader_t *r, const char *key, char *to, size_t len)
{
    if (!fs_tool_fields_text(&r->fields, key, to, len)) {
        r->why = key;
    }
}

static bool name_begins(const reader_t *r, char letter)
{
    char name[8];

    return fs_tool_fields_text(&r->fields, "name", name, sizeof(name)) &&
           name[0] == letter;
}

/* ---- events ---- */

static void read_call(reader_t *r)
{
    fs_tool_trace_call_t call = {.rank = r->rank};

    call.call  = number32(r, "call");
    call.begin = moment(r, "ts");
    call.end   = call.begin + moment_or(r, "dur", 0);
    call.run   = moment_or(r, "run", 0);
    call.bytes = fs_tool_trace_number(r, "bytes", UINT64_MAX);
    call.bound = fs_tool_trace_number(r, "bound", UINT64_MAX);
    fs_tool_fields_u64(&r->fields, "planned", &call.planned);
    fs_tool_fields_u64(&r->fields, "stages", &call.stages);
    fs_tool_trace_word(r, "algorithm", call.algorithm, sizeof(call.algorithm));
    fs_tool_trace_word(r, "status", call.status, sizeof(call.status));
    fs_tool_fields_text(&r->fields, "decompose", call.decompose,
                        sizeof(call.decompose));
    ADD(r, calls, call);
}

static void read_phase(reader_t *r)
{
    fs_tool_trace_phase_t phase = {.rank = r->rank};

    phase.call  = number32(r, "call");
    phase.begin = moment(r, "ts");
    phase.end   = phase.begin + moment_or(r, "dur", 0);
    fs_tool_trace_word(r, "name", phase.name, sizeof(phase.name));
    ADD(r, phases, phase);
}

static void read_grant(reader_t *r)
{
    fs_tool_trace_grant_t grant    = {.rank = r->rank};
    char                  name[16] = "";

    fs_tool_trace_word(r, "name", name, sizeof(name));
    grant.peer  = rank_number(r, "peer");
    grant.count = fs_tool_trace_number(r, "count", UINT64_MAX);
    grant.time  = moment(r, "ts");
    grant.given = strncmp(name, "grant to", 8) == 0;
    ADD(r, grants, grant);
}

static void read_planned(reader_t *r)
{
    fs_tool_trace_planned_t planned = {.rank = r->rank, .step = FS_TOOL_NONE};

    planned.call   = number32(r, "call");
    planned.server = number32(r, "server");
    planned.start  = fs_tool_trace_number(r, "start", UINT64_MAX / 2);
    planned.bytes  = fs_tool_trace_number(r, "bytes", UINT64_MAX / 2);
    planned.sends  = name_begins(r, 's');
    ADD(r, planned, planned);
}

static void read_op(reader_t *r, fs_channel_t channel)
{
    fs_tool_trace_op_t op = {.rank    = r->rank,
                             .kind    = FS_OP_COPY,
                             .channel = (uint8_t)channel,
                             .by      = FS_TOOL_NONE,
                             .peer    = FS_TOOL_NONE,
                             .mate    = FS_TOOL_NONE,
                             .step    = FS_TOOL_NONE};
    uint64_t           by;

    op.call  = number32(r, "call");
    op.op    = number32(r, "op");
    op.row   = number32(r, "tid");
    op.post  = moment(r, "ts");
    op.end   = op.post + moment_or(r, "dur", 0);
    op.ready = moment(r, "ready");
    op.bytes = fs_tool_trace_number(r, "bytes", UINT64_MAX);
    if (fs_tool_fields_u64(&r->fields, "by", &by) && by < FS_TOOL_NONE) {
        op.by = (uint32_t)by;
    }
    if (channel != FS_CH_LAST) {
        op.kind  = name_begins(r, 's') ? FS_OP_SEND : FS_OP_RECV;
        op.peer  = rank_number(r, "peer");
        op.count = fs_tool_trace_number(r, "count", UINT64_MAX);
    } else {
        op.packs = name_begins(r, 'p') || name_begins(r, 'u');
    }
    ADD(r, ops, op);
}

void fs_tool_trace_event(reader_t *r)
{
    static const struct {
        const char  *cat;
        fs_channel_t channel;
    } ops[] = {{"wire", FS_CH_WIRE},
               {"gather", FS_CH_GATHER},
               {"redist", FS_CH_REDIST},
               {"intra", FS_CH_INTRA},
               {"copy", FS_CH_LAST}};
    static const struct {
        const char *cat;
        void (*read)(reader_t *r);
    } others[] = {{"call", read_call},
                  {"phase", read_phase},
                  {"grant", read_grant},
                  {"planned", read_planned}};

    for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); ++k) {
        if (fs_tool_fields_is(&r->fields, "cat", ops[k].cat)) {
            read_op(r, ops[k].channel);
        }
    }
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); ++k) {
        if (fs_tool_fields_is(&r->fields, "cat", others[k].cat)) {
            others[k].read(r);
        }
    }
}
