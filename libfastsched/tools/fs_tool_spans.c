/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows are the directions of ports; of servers as a whole, what moves inside
 * them is one row, and the simulation tells it as copies. A port's neighbouring
 * messages with the same partner are drawn as one bar, so that a picture of a
 * million messages stays small.
 */
#include "tools/fs_tool_spans.h"

#include <stdlib.h>

/* Rows of a rank; of a server the third is the last. */
enum { NIC_SEND, NIC_RECEIVE, UP_SEND, UP_RECEIVE, N_PORTS, PAUSES = 500 };
enum { UP = UP_SEND, N_SERVER_PORTS = UP + 1 };

static void add_rows(fs_tool_chart_t *chart, bool by_server, uint32_t r)
{
    if (by_server) {
        fs_tool_chart_row(chart, "to server", "server %u NICs send", r);
        fs_tool_chart_row(chart, "from server", "NICs receive");
        fs_tool_chart_row(chart, "of server", "scale-up ports");
    } else {
        fs_tool_chart_row(chart, "to server", "rank %u NIC sends", r);
        fs_tool_chart_row(chart, "from server", "NIC receives");
        fs_tool_chart_row(chart, "to rank", "scale-up port sends");
        fs_tool_chart_row(chart, "from rank", "scale-up port receives");
    }
}

fs_status_t fs_tool_spans_init(const fs_topo_t *topo, bool by_server,
                               uint64_t expected_ns, fs_tool_spans_t *spans)
{
    uint32_t n = by_server ? fs_topo_n_servers(topo) : fs_topo_n_ranks(topo);

    *spans = (fs_tool_spans_t){.topo      = topo,
                               .by_server = by_server,
                               .n         = n,
                               .gap_ns    = expected_ns / PAUSES};
    fs_tool_chart_init(&spans->chart);
    for (uint32_t r = 0; r < n; ++r) {
        add_rows(&spans->chart, by_server, r);
    }
    spans->last = calloc((size_t)spans->chart.n_rows * n, sizeof(size_t));
    if (spans->last == NULL || spans->chart.no_memory) {
        fs_tool_spans_fini(spans);
        return FS_ERR_NOMEM;
    }
    return FS_OK;
}

void fs_tool_spans_fini(fs_tool_spans_t *spans)
{
    fs_tool_chart_fini(&spans->chart);
    free(spans->last);
    spans->last = NULL;
}

static void add(fs_tool_spans_t *spans, fs_tool_bar_t bar)
{
    size_t *last = &spans->last[(size_t)bar.row * spans->n + bar.who];

    if (*last > 0) {
        fs_tool_bar_t *before = &spans->chart.bars[*last - 1];

        if (bar.start <= before->end + spans->gap_ns) {
            before->end = bar.end > before->end ? bar.end : before->end;
            before->bytes += bar.bytes;
            return;
        }
    }
    fs_tool_chart_bar(&spans->chart, bar);
    *last = spans->chart.n_bars;
}

static void add_server_span(fs_tool_spans_t *spans, const fs_sim_span_t *span,
                            fs_tool_bar_t bar)
{
    bar.row = span->src * N_SERVER_PORTS + (span->wire ? NIC_SEND : UP);
    bar.who = span->dst;
    add(spans, bar);
    if (span->wire) {
        bar.row = span->dst * N_SERVER_PORTS + NIC_RECEIVE;
        bar.who = span->src;
        add(spans, bar);
    }
}

/* Colours of NICs are servers, so that stages show. */
static void add_rank_span(fs_tool_spans_t *spans, const fs_sim_span_t *span,
                          fs_tool_bar_t bar)
{
    const fs_topo_t *topo = spans->topo;

    if (span->channel == FS_CH_LAST) { /* a copy takes up no port */
        return;
    }
    bar.row = span->src * N_PORTS + (span->wire ? NIC_SEND : UP_SEND);
    bar.who = span->wire ? fs_topo_server(topo, span->dst) : span->dst;
    add(spans, bar);
    bar.row = span->dst * N_PORTS + (span->wire ? NIC_RECEIVE : UP_RECEIVE);
    bar.who = span->wire ? fs_topo_server(topo, span->src) : span->src;
    add(spans, bar);
}

void fs_tool_spans_add(void *ctx, const fs_sim_span_t *span)
{
    fs_tool_spans_t *spans = ctx;
    fs_tool_bar_t    bar   = {.start = (uint64_t)(span->start * 1e9),
                              .end   = (uint64_t)(span->end * 1e9),
                              .bytes = span->bytes};

    if (spans->by_server) {
        add_server_span(spans, span, bar);
    } else {
        add_rank_span(spans, span, bar);
    }
}

void fs_tool_spans_end(fs_tool_spans_t *spans, const fs_sim_result_t *result)
{
    spans->chart.end       = (uint64_t)(result->time * 1e9);
    spans->chart.mark      = (uint64_t)(result->optimal * 1e9);
    spans->chart.mark_name = "lower bound";
    spans->chart.unit      = "microseconds";
    spans->chart.per_unit  = 1000;
    for (size_t k = 0; k < spans->chart.n_bars; ++k) {
        if (spans->chart.bars[k].end > spans->chart.end) {
            spans->chart.end = spans->chart.bars[k].end;
        }
    }
}
