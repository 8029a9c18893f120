/* SPDX-License-Identifier: BSD-3-Clause */
/* Spans, by server, for the timelines of a report; then all that the JSON of a
 * comparison has, and the matrix of the servers. */
#include "tools/fs_tool_compare.h"
#include "tools/fs_tool_python.h"

void fs_tool_report_begin(fs_tool_report_t        *report,
                          const fs_tool_compare_t *compare, const char *html,
                          const char *svg)
{
    const char *args[] = {html != NULL ? "report" : "timeline",
                          html != NULL ? html : svg, NULL};
    fs_json_t *json = &report->json;

    report->topo = compare->traffic->topo;
    fs_json_init(
        json, fs_tool_python_start(html != NULL ? "--html" : "--svg", args), 0);
    fs_json_open(json, NULL, '{');
    fs_json_u64(json, "expected_ns", (uint64_t)(compare->bound * 1e9));
    fs_json_open(json, "spans", '[');
}

void fs_tool_report_span(void *ctx, const fs_sim_span_t *span)
{
    fs_tool_report_t *report = ctx;
    fs_json_t        *json   = &report->json;

    if (!span->wire) {
        return;
    }
    fs_json_open(json, NULL, '[');
    fs_json_u64(json, NULL, report->way);
    fs_json_u64(json, NULL, fs_topo_server(report->topo, span->src));
    fs_json_u64(json, NULL, fs_topo_server(report->topo, span->dst));
    fs_json_u64(json, NULL, (uint64_t)(span->start * 1e9));
    fs_json_u64(json, NULL, (uint64_t)(span->end * 1e9));
    fs_json_u64(json, NULL, span->bytes);
    fs_json_close(json);
}

static void tell_matrix(fs_json_t *json, const fs_traffic_t *traffic)
{
    uint32_t n = traffic->n_servers;

    fs_json_open(json, "matrix", '[');
    for (uint32_t u = 0; u < n; ++u) {
        fs_json_u64s(json, NULL, n, traffic->bytes + (size_t)u * n);
    }
    fs_json_close(json);
}

void fs_tool_report_end(fs_tool_report_t        *report,
                        const fs_tool_compare_t *compare)
{
    fs_json_t *json = &report->json;

    fs_json_close(json);
    fs_json_u64(json, "fast_way", compare->fast_way);
    tell_matrix(json, &compare->traffic->summary);
    fs_tool_compare_members(json, compare);
    if (compare->calls != NULL) {
        fs_tool_compare_calls_members(json, compare->calls);
    }
    fs_json_close(json);
    fs_tool_python_end(json->out);
}
