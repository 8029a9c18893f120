/* SPDX-License-Identifier: BSD-3-Clause */
/* The level loggp of "fastsched sim": small calls, whose messages cost more to
 * start than to carry. */
#ifndef FS_TOOL_LOGGP_H
#define FS_TOOL_LOGGP_H

#include "sim/fs_sim_loggp.h"
#include "tools/fs_tool_traffic.h"

/* What the options of this level say. */
typedef struct fs_tool_loggp_args {
    uint32_t    overhead_milli; /* thousandths of microseconds */
    uint32_t    gap_milli;
    uint32_t    block_milli;
    uint32_t    sync_milli;
    const char *radix; /* "auto" or a number */
    uint32_t    batch;
    bool        uniform; /* MPI_Alltoall */
} fs_tool_loggp_args_t;

/* Set defaults and add the rows. args must live until the options are read. */
void fs_tool_loggp_options(fs_tool_loggp_args_t *args,
                           fs_tool_options_t    *options);

/* What is asked. */
typedef struct fs_tool_loggp_setup {
    const fs_tool_loggp_args_t   *args;
    const fs_tool_traffic_args_t *traffic;
    fs_sim_loggp_t                params; /* rates and latencies; the rest comes
                                             from args */
    const char                   *algorithm;
    uint32_t                      batch; /* 0: bundles */
    bool                          json;
} fs_tool_loggp_setup_t;

/* Simulate and print. */
void fs_tool_loggp_run(fs_tool_loggp_setup_t *setup);

#endif
