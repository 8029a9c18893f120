/* SPDX-License-Identifier: BSD-3-Clause */
/* The cluster that is simulated: rates, start-up costs, what is inside. */
#ifndef FS_TOOL_CLUSTER_H
#define FS_TOOL_CLUSTER_H

#include "sim/fs_sim.h"
#include "sim/fs_sim_loggp.h"
#include "tools/fs_tool.h"

/* What the options say. */
typedef struct fs_tool_cluster_args {
    uint64_t scale_out; /* bits per second */
    uint64_t scale_up;
    uint64_t copy;        /* 0: not given */
    uint32_t alpha_milli; /* thousandths of microseconds */
    uint32_t alpha_up_milli;
    uint32_t incast_milli;
    uint64_t incast_bytes;
    uint32_t look_milli; /* thousandths of microseconds */
    uint32_t fabric;     /* fs_sim_fabric_t */
} fs_tool_cluster_args_t;

/* Set the defaults and add the rows. args must live until the options are
 * read. */
void fs_tool_cluster_options(fs_tool_cluster_args_t *args,
                             fs_tool_options_t      *options);

/* Once the options are read: at the levels ranks and lanes, and at loggp. */
void fs_tool_cluster_params(const fs_tool_cluster_args_t *args,
                            fs_sim_params_t              *params);
void fs_tool_cluster_loggp(const fs_tool_cluster_args_t *args,
                           fs_sim_loggp_t               *params);

/* The start-up cost of a message, as the bytes that a NIC sends in that time:
 * fs_plan_params_t.stage_cost. */
uint64_t fs_tool_cluster_cost(const fs_sim_params_t *params);

/* k-th word of --topology, NULL after the last. */
const char *fs_tool_sim_fabric(uint32_t k);

#endif
