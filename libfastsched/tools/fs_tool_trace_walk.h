/* SPDX-License-Identifier: BSD-3-Clause */
/* A walk along a critical path, from its end. */
#ifndef FS_TOOL_TRACE_WALK_H
#define FS_TOOL_TRACE_WALK_H

#include "tools/fs_tool_trace.h"

/* Where the walk stands: everything after `time` is explained. */
typedef struct fs_tool_walk {
    const fs_tool_trace_t     *trace;
    uint32_t                   call;
    fs_tool_path_t            *path;
    uint32_t                   rank;
    uint64_t                   time;
    uint64_t                   start;    /* it does not go beyond */
    const fs_tool_trace_op_t  *op;       /* NULL: at the start of the run */
    bool                       posted;   /* only up to where op was posted */
    const fs_tool_trace_op_t **arrivals; /* wire receives of the call by end */
    size_t                     n_arrivals;
    uint32_t *before;   /* of an op of the call: the wire operation
                                      of its kind and rank before it, by plan */
    size_t    first_op; /* of the call, index */
    bool      no_memory;
} fs_tool_walk_t;

/* The walk goes back to `begin`; nothing if it is there already. */
void fs_tool_walk_hop(fs_tool_walk_t *w, fs_tool_hop_kind_t kind, uint32_t peer,
                      uint64_t begin, uint64_t bytes, const char *after);

/* The same, and nothing was done meanwhile. */
void fs_tool_walk_idle(fs_tool_walk_t *w, uint64_t begin, const char *after);

/* Stand at the end of op, or at its post. */
void fs_tool_walk_stand(fs_tool_walk_t *w, const fs_tool_trace_op_t *op,
                        bool posted);

/* From where it stands to what that waited for; w->op is NULL at the start of a
 * rank's run. */
void fs_tool_walk_back(fs_tool_walk_t *w);

/* The last operation of a kind on the wire of a rank, with that peer or any
 * (FS_TOOL_NONE), that ended by `time`, and not op itself. */
const fs_tool_trace_op_t *fs_tool_walk_last_ended(const fs_tool_walk_t *w,
                                                  uint32_t rank, uint8_t kind,
                                                  uint32_t peer, uint64_t time,
                                                  const fs_tool_trace_op_t *op);

#endif
