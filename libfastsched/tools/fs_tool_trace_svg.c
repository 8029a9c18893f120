/* SPDX-License-Identifier: BSD-3-Clause */
/* One call as a Gantt chart: the critical path, then what each rank's NIC was
 * to do and did. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_trace.h"

#include <stdlib.h>

enum { PAUSES = 500 }; /* shorter than this part of the call: not drawn */

/* Rows of a rank. */
typedef enum rank_row { PLAN_SEND, SEND, PLAN_RECV, RECV, N_ROWS } rank_row_t;

typedef struct picture {
    const fs_tool_trace_report_t *report;
    fs_tool_chart_t               chart;
    bool                          planned;      /* there are rows of plans */
    uint32_t                      rows[N_ROWS]; /* of the rank in hand */
    uint64_t                      origin;
} picture_t;

static void add(picture_t *p, uint32_t row, uint32_t who, uint64_t begin,
                uint64_t end, uint64_t bytes)
{
    if (end > begin && begin >= p->origin) {
        fs_tool_chart_bar(&p->chart, (fs_tool_bar_t){.row   = row,
                                                     .who   = who,
                                                     .start = begin - p->origin,
                                                     .end   = end - p->origin,
                                                     .bytes = bytes});
    }
}

static void draw_path(picture_t *p)
{
    const fs_tool_path_t *path = &p->report->path;
    uint32_t row = fs_tool_chart_row(&p->chart, "rank", "critical path: wire");
    uint32_t other =
        fs_tool_chart_row(&p->chart, "rank", "everything else on it");

    for (size_t k = 0; k < path->n; ++k) {
        const fs_tool_hop_t *hop = &path->hops[k];

        add(p, hop->kind == FS_TOOL_HOP_WIRE ? row : other, hop->rank,
            hop->begin, hop->end, hop->bytes);
    }
}

static void add_rows(picture_t *p, uint32_t rank)
{
    if (p->planned) {
        p->rows[PLAN_SEND] = fs_tool_chart_row(&p->chart, "to server",
                                               "rank %u planned to send", rank);
    }
    p->rows[SEND] =
        fs_tool_chart_row(&p->chart, "to server", "rank %u sends", rank);
    if (p->planned) {
        p->rows[PLAN_RECV] =
            fs_tool_chart_row(&p->chart, "from server", "planned to receive");
    }
    p->rows[RECV] = fs_tool_chart_row(&p->chart, "from server", "receives");
}

/* A NIC works on the oldest message: from when that could start, after the one
 * before it, to its end. */
static void draw_messages(picture_t *p, uint32_t rank, uint8_t kind)
{
    const fs_tool_trace_t *trace = p->report->trace;
    fs_tool_trace_range_t  ops =
        fs_tool_trace_ops_of(trace, p->report->sum.call, rank);
    uint64_t gap = p->report->sum.slowest_ns / PAUSES, busy = 0;
    uint64_t begin = 0, end = 0, bytes = 0;
    uint32_t who = FS_TOOL_NONE;
    uint32_t row = p->rows[kind == FS_OP_SEND ? SEND : RECV];

    for (size_t k = ops.first; k < ops.end; ++k) {
        const fs_tool_trace_op_t *op   = &trace->ops[k], *mate;
        uint64_t                  from = op->post, to = op->end;
        uint32_t                  server;

        if (op->channel != FS_CH_WIRE || op->kind != kind) {
            continue;
        }
        mate = op->mate == FS_TOOL_NONE ? NULL : &trace->ops[op->mate];
        if (mate != NULL && kind == FS_OP_RECV && mate->post > from) {
            from = mate->post;
        }
        if (mate != NULL && kind == FS_OP_SEND && mate->end > to) {
            to = mate->end;
        }
        from   = from > busy ? from : busy;
        busy   = to > busy ? to : busy;
        server = trace->ranks[op->peer].server;
        if (server != who || from > end + gap) {
            add(p, row, who, begin, end, bytes);
            begin = from;
            bytes = 0;
            who   = server;
        }
        end = to > end ? to : end;
        bytes += op->bytes;
    }
    add(p, row, who, begin, end, bytes);
}

static void draw_planned(picture_t *p, uint32_t rank)
{
    const fs_tool_trace_report_t *report = p->report;
    const fs_tool_trace_t        *trace  = report->trace;
    fs_tool_trace_range_t         range =
        fs_tool_trace_planned_of(trace, report->sum.call);
    fs_tool_trace_range_t calls =
        fs_tool_trace_calls_of(trace, report->sum.call);
    uint64_t run = 0;

    for (size_t k = calls.first; k < calls.end; ++k) {
        run = trace->calls[k].rank == rank ? trace->calls[k].run : run;
    }
    for (size_t k = range.first; k < range.end && p->planned; ++k) {
        const fs_tool_trace_planned_t *t = &trace->planned[k];
        uint64_t                       begin, end;

        if (t->rank != rank) {
            continue;
        }
        begin = run + (uint64_t)fs_tool_trace_lane_ns(report, t->start);
        end   = begin + (uint64_t)fs_tool_trace_lane_ns(report, t->bytes);
        add(p, p->rows[t->sends ? PLAN_SEND : PLAN_RECV], t->server, begin, end,
            t->bytes);
    }
}

static void draw(picture_t *p)
{
    const fs_tool_trace_t *trace = p->report->trace;

    draw_path(p);
    for (uint32_t r = 0; r < trace->n_ranks; ++r) {
        if (trace->ranks[r].there) {
            add_rows(p, r);
            draw_messages(p, r, FS_OP_SEND);
            draw_messages(p, r, FS_OP_RECV);
            draw_planned(p, r);
        }
    }
    for (size_t k = 0; k < p->chart.n_bars; ++k) {
        if (p->chart.bars[k].end > p->chart.end) {
            p->chart.end = p->chart.bars[k].end;
        }
    }
}

int fs_tool_trace_svg(const char *path, const fs_tool_trace_report_t *report)
{
    picture_t p = {.report = report, .origin = report->sum.last_entry};
    char      title[160];
    int       rc;

    fs_tool_chart_init(&p.chart);
    snprintf(title, sizeof(title), "call %u of %s: %.3f ms", report->sum.call,
             report->trace->comm, (double)report->sum.slowest_ns * 1e-6);
    p.planned        = report->rate > 0 && report->n_steps > 0;
    p.chart.title    = title;
    p.chart.unit     = "milliseconds";
    p.chart.per_unit = 1000000;
    draw(&p);
    if (report->rate > 0) {
        p.chart.mark_name = "lower bound";
        p.chart.mark =
            (uint64_t)fs_tool_trace_lane_ns(report, report->sum.bound);
        p.chart.end = p.chart.mark > p.chart.end ? p.chart.mark : p.chart.end;
    }
    rc = p.chart.no_memory ? fs_tool_status("the chart", FS_ERR_NOMEM)
                           : fs_tool_svg_file(path, &p.chart);
    fs_tool_chart_fini(&p.chart);
    return rc;
}
