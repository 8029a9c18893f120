/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_drawing.h"

#include "tools/fs_tool_python.h"

static uint64_t ns_of(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

/* What a picture of servers needs, or one of ranks. */
static void tell_topo(fs_json_t *json, const fs_topo_t *topo, bool by_server)
{
    uint32_t n = by_server ? fs_topo_n_servers(topo) : fs_topo_n_ranks(topo);

    fs_json_open(json, by_server ? "lanes" : "servers", '[');
    for (uint32_t k = 0; k < n; ++k) {
        fs_json_u64(json, NULL,
                    by_server ? fs_topo_n_lanes(topo, k)
                              : fs_topo_server(topo, k));
    }
    fs_json_close(json);
}

void fs_tool_drawing_begin(fs_tool_drawing_t *drawing, const char *path,
                           const char *title, const fs_topo_t *topo, bool lanes,
                           double rate, uint64_t expected_ns)
{
    const char *args[] = {"draw", path, NULL};
    fs_json_t  *json   = &drawing->json;

    drawing->topo       = topo;
    drawing->of_servers = lanes;
    drawing->by_server = lanes || fs_topo_n_ranks(topo) > FS_TOOL_DRAWING_RANKS;
    fs_json_init(json, fs_tool_python_start("--svg", args), 0);
    fs_json_open(json, NULL, '{');
    fs_json_text(json, "title", title);
    fs_json_u64(json, "expected_ns", expected_ns);
    fs_json_bool(json, "by_server", drawing->by_server);
    fs_json_real(json, "rate", rate, 0);
    tell_topo(json, topo, drawing->by_server);
    fs_json_open(json, "spans", '[');
}

/* At the level of lanes what moves inside a server is told as a copy. */
static const char *how_of(const fs_tool_drawing_t *drawing,
                          const fs_sim_span_t     *span)
{
    return span->wire                                            ? "wire"
           : span->channel == FS_CH_LAST && !drawing->of_servers ? "copy"
                                                                 : "up";
}

static uint32_t end_of(const fs_tool_drawing_t *drawing, uint32_t end)
{
    return drawing->by_server && !drawing->of_servers
               ? fs_topo_server(drawing->topo, end)
               : end;
}

void fs_tool_drawing_span(void *ctx, const fs_sim_span_t *span)
{
    fs_tool_drawing_t *drawing = ctx;
    fs_json_t         *json    = &drawing->json;

    fs_json_open(json, NULL, '[');
    fs_json_u64(json, NULL, end_of(drawing, span->src));
    fs_json_u64(json, NULL, end_of(drawing, span->dst));
    fs_json_text(json, NULL, how_of(drawing, span));
    fs_json_u64(json, NULL, ns_of(span->start));
    fs_json_u64(json, NULL, ns_of(span->end));
    fs_json_u64(json, NULL, span->bytes);
    fs_json_close(json);
}

void fs_tool_drawing_end(fs_tool_drawing_t     *drawing,
                         const fs_sim_result_t *result)
{
    fs_json_t *json = &drawing->json;

    fs_json_close(json);
    fs_json_u64(json, "time_ns", ns_of(result->time));
    fs_json_u64(json, "optimal_ns", ns_of(result->optimal));
    fs_json_close(json);
    fs_tool_python_end(json->out);
}
