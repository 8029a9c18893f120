/* SPDX-License-Identifier: BSD-3-Clause */
/* "fastsched stragglar --late --servers": who is late, and what the ways to reduce
 * then take, by the simulator. */
#ifndef FS_TOOL_LATE_H
#define FS_TOOL_LATE_H

#include "base/fs_json.h"
#include "sched/allreduce/fs_straggler.h"
#include "tools/fs_tool.h"

enum { FS_TOOL_LATE_MAX = 64 };

/* What the options say. */
typedef struct fs_tool_late_args {
    const char *late;    /* NULL: not given */
    const char *servers; /* likewise */
    uint32_t    n_pieces;
    uint64_t    rate_inside;  /* bits per second */
    uint32_t    alpha_inside; /* thousandths of microseconds */
} fs_tool_late_args_t;

/* Ranks, and servers: each rank is one if --servers is not given. */
typedef struct fs_tool_late {
    uint32_t n_servers;
    uint32_t n_local;
    uint32_t n_late;
    uint32_t rank[FS_TOOL_LATE_MAX];  /* as they enter */
    uint32_t delay[FS_TOOL_LATE_MAX]; /* after the others, thousandths of us */
    uint32_t n_late_servers;
    uint32_t server[FS_TOOL_LATE_MAX]; /* as the last of their ranks enter */
} fs_tool_late_t;

/* Set the defaults and add the rows. args must live until the options are read. */
void fs_tool_late_options(fs_tool_late_args_t *args,
                          fs_tool_options_t   *options);

/* Is there something to simulate? */
bool fs_tool_late_is_given(const fs_tool_late_args_t *args);

/* n_ranks: if --servers is not given. straggler, delay: if --late is not. */
void fs_tool_late_read(const fs_tool_late_args_t *args, uint32_t n_ranks,
                       uint32_t straggler, uint32_t delay,
                       fs_tool_late_t *late);

/* The network between servers, and what is reduced. */
typedef struct fs_tool_late_cluster {
    uint64_t bytes;
    uint64_t rate;  /* bits per second */
    uint32_t alpha; /* thousandths of microseconds */
} fs_tool_late_cluster_t;

typedef enum fs_tool_late_way {
    FS_TOOL_LATE_STREAM,
    FS_TOOL_LATE_STRAGGLAR,
    FS_TOOL_LATE_RING,
    FS_TOOL_LATE_RING_OF_RANKS,
    FS_TOOL_LATE_HIERARCHICAL,
    FS_TOOL_LATE_WAYS
} fs_tool_late_way_t;

/* Microseconds from the last entry; NAN: not for these ranks. */
typedef struct fs_tool_late_ways {
    double us[FS_TOOL_LATE_WAYS];
} fs_tool_late_ways_t;

void fs_tool_late_ways_run(const fs_tool_late_args_t    *args,
                           const fs_tool_late_t         *late,
                           const fs_tool_late_cluster_t *cluster,
                           fs_tool_late_ways_t          *ways);
void fs_tool_late_ways_text(const fs_tool_late_t      *late,
                            const fs_tool_late_ways_t *ways);
void fs_tool_late_ways_json(fs_json_t *json, const fs_tool_late_t *late,
                            const fs_tool_late_ways_t *ways);

#endif
