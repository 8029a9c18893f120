/* SPDX-License-Identifier: BSD-3-Clause */
/* What a simulation tells, message by message, becomes a Gantt chart of NICs
 * and scale-up ports. Time in nanoseconds. */
#ifndef FS_TOOL_SPANS_H
#define FS_TOOL_SPANS_H

#include "fastsched.h"
#include "sim/fs_sim.h"
#include "tools/fs_tool_chart.h"

typedef struct fs_tool_spans {
    fs_tool_chart_t  chart;
    const fs_topo_t *topo;
    bool             by_server; /* spans name servers, not ranks */
    uint32_t         n;         /* ranks or servers */
    uint64_t         gap_ns;    /* bars this close are one */
    size_t          *last;      /* [rows x n] a partner's last bar, plus 1 */
} fs_tool_spans_t;

/* Rows for all ranks of topo, or for its servers. expected_ns: about how long it
 * will take; pauses of a five-hundredth do not show. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_tool_spans_init(const fs_topo_t *topo, bool by_server,
                               uint64_t expected_ns, fs_tool_spans_t *spans);
void        fs_tool_spans_fini(fs_tool_spans_t *spans);

/* For fs_sim_params_t.span; ctx is the spans. */
void fs_tool_spans_add(void *ctx, const fs_sim_span_t *span);

/* spans->chart is ready to be drawn, its title aside. */
void fs_tool_spans_end(fs_tool_spans_t *spans, const fs_sim_result_t *result);

#endif
