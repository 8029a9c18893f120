/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_drawing.h"

#include "tools/fs_tool.h"
#include "tools/fs_tool_python.h"

#include <signal.h>

static void write_servers(fs_json_t *json, const fs_topo_t *topo)
{
    fs_json_open(json, "servers", '[');
    for (uint32_t r = 0; r < fs_topo_n_ranks(topo); ++r) {
        fs_json_u64(json, NULL, fs_topo_server(topo, r));
    }
    fs_json_close(json);
}

int fs_tool_drawing_begin(fs_tool_drawing_t *drawing, const char *path,
                          const char *title, const fs_topo_t *topo,
                          bool by_server, uint64_t expected_ns)
{
    const char *args[] = {"draw", path, NULL};
    fs_json_t  *json   = &drawing->json;
    FILE       *out;
    int         rc = fs_tool_python_start("--svg", args, &drawing->pid, &out);

    if (rc != FS_TOOL_OK) {
        return rc;
    }
    fs_json_init(json, out, 0);
    fs_json_open(json, NULL, '{');
    fs_json_text(json, "title", title);
    fs_json_bool(json, "by_server", by_server);
    if (by_server) {
        fs_json_u64(json, "servers", fs_topo_n_servers(topo));
    } else {
        write_servers(json, topo);
    }
    fs_json_u64(json, "expected_ns", expected_ns);
    fs_json_open(json, "spans", '[');
    return FS_TOOL_OK;
}

static uint64_t ns_of(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

void fs_tool_drawing_span(void *ctx, const fs_sim_span_t *span)
{
    fs_json_t  *json = &((fs_tool_drawing_t *)ctx)->json;
    const char *how  = span->wire                    ? "wire"
                       : span->channel == FS_CH_LAST ? "copy"
                                                     : "up";

    fs_json_open(json, NULL, '[');
    fs_json_u64(json, NULL, span->src);
    fs_json_u64(json, NULL, span->dst);
    fs_json_text(json, NULL, how);
    fs_json_u64(json, NULL, ns_of(span->start));
    fs_json_u64(json, NULL, ns_of(span->end));
    fs_json_u64(json, NULL, span->bytes);
    fs_json_close(json);
}

int fs_tool_drawing_end(fs_tool_drawing_t     *drawing,
                        const fs_sim_result_t *result)
{
    fs_json_t *json = &drawing->json;

    if (result == NULL) {
        kill(drawing->pid, SIGKILL); /* it would complain as well */
        fclose(json->out);
        return FS_TOOL_FAILED;
    }
    fs_json_close(json);
    fs_json_u64(json, "time_ns", ns_of(result->time));
    fs_json_u64(json, "optimal_ns", ns_of(result->optimal));
    fs_json_close(json);
    return fs_tool_python_end(drawing->pid, json->out);
}
