/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulation as JSON, message by message, for the drawing of it:
 * tools/python/fastsched/spans.py says what is in it, and makes an SVG. */
#ifndef FS_TOOL_DRAWING_H
#define FS_TOOL_DRAWING_H

#include "base/fs_json.h"
#include "fastsched_sim.h"

#include <sys/types.h>

typedef struct fs_tool_drawing {
    fs_json_t json;
    pid_t     pid; /* of what reads it; 0: nothing is drawn */
} fs_tool_drawing_t;

/* Draw into a file. by_server: spans will name servers, not ranks. expected_ns:
 * about how long it will take; pauses of a five-hundredth do not show.
 * FS_TOOL_OK, or an exit code after a message. */
int fs_tool_drawing_begin(fs_tool_drawing_t *drawing, const char *path,
                          const char *title, const fs_topo_t *topo,
                          bool by_server, uint64_t expected_ns);

/* For fs_sim_params_t.span; ctx is the drawing. */
void fs_tool_drawing_span(void *ctx, const fs_sim_span_t *span);

/* All spans are told. NULL: the simulation failed, and there will be no
 * drawing. As fs_tool_drawing_begin(). */
int fs_tool_drawing_end(fs_tool_drawing_t     *drawing,
                        const fs_sim_result_t *result);

#endif
