/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_drawing.h"

#include "tools/fs_tool_python.h"

static uint64_t ns_of(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

void fs_tool_drawing_begin(fs_json_t *drawing, const char *path,
                           const char *title, const fs_topo_t *topo,
                           bool by_server, uint64_t expected_ns)
{
    const char *args[] = {"draw", path, NULL};

    fs_json_init(drawing, fs_tool_python_start("--svg", args), 0);
    fs_json_open(drawing, NULL, '{');
    fs_json_text(drawing, "title", title);
    fs_json_bool(drawing, "by_server", by_server);
    fs_json_u64(drawing, "expected_ns", expected_ns);
    if (by_server) {
        fs_json_u64(drawing, "servers", fs_topo_n_servers(topo));
    } else {
        fs_json_open(drawing, "servers", '[');
        for (uint32_t r = 0; r < fs_topo_n_ranks(topo); ++r) {
            fs_json_u64(drawing, NULL, fs_topo_server(topo, r));
        }
        fs_json_close(drawing);
    }
    fs_json_open(drawing, "spans", '[');
}

void fs_tool_drawing_span(void *ctx, const fs_sim_span_t *span)
{
    fs_json_t  *drawing = ctx;
    const char *how     = span->wire                    ? "wire"
                          : span->channel == FS_CH_LAST ? "copy"
                                                        : "up";

    fs_json_open(drawing, NULL, '[');
    fs_json_u64(drawing, NULL, span->src);
    fs_json_u64(drawing, NULL, span->dst);
    fs_json_text(drawing, NULL, how);
    fs_json_u64(drawing, NULL, ns_of(span->start));
    fs_json_u64(drawing, NULL, ns_of(span->end));
    fs_json_u64(drawing, NULL, span->bytes);
    fs_json_close(drawing);
}

void fs_tool_drawing_end(fs_json_t *drawing, const fs_sim_result_t *result)
{
    fs_json_close(drawing);
    fs_json_u64(drawing, "time_ns", ns_of(result->time));
    fs_json_u64(drawing, "optimal_ns", ns_of(result->optimal));
    fs_json_close(drawing);
    fs_tool_python_end(drawing->out);
}
