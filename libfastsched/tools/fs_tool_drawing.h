/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulation as JSON, message by message, for the drawing of it:
 * tools/python/fastsched/spans.py says what is in it, and makes an SVG. */
#ifndef FS_TOOL_DRAWING_H
#define FS_TOOL_DRAWING_H

#include "base/fs_json.h"
#include "sim/fs_sim.h"

/* Of more ranks, servers are drawn. */
enum { FS_TOOL_DRAWING_RANKS = 16 };

typedef struct fs_tool_drawing {
    fs_json_t        json;
    const fs_topo_t *topo;
    bool             of_servers; /* spans name servers, not ranks */
    bool             by_server;  /* drawn are servers */
} fs_tool_drawing_t;

/* Draw into a file; "-" is standard output. lanes: the simulation is that of
 * lanes. rate: of a NIC. expected_ns: about how long it will take; pauses of a
 * five-hundredth do not show. */
void fs_tool_drawing_begin(fs_tool_drawing_t *drawing, const char *path,
                           const char *title, const fs_topo_t *topo, bool lanes,
                           double rate, uint64_t expected_ns);

/* For fs_sim_params_t.span; ctx is the drawing. */
void fs_tool_drawing_span(void *ctx, const fs_sim_span_t *span);

/* All spans are written. */
void fs_tool_drawing_end(fs_tool_drawing_t     *drawing,
                         const fs_sim_result_t *result);

#endif
