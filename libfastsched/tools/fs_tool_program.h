/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs of an exchange: made, checked, written down. */
#ifndef FS_TOOL_PROGRAM_H
#define FS_TOOL_PROGRAM_H

#include "base/fs_json.h"
#include "tools/fs_tool_traffic.h"

/* The algorithm of the programs: the one fs_select() picks, but staged where
 * that is the MPI's own. */
fs_alg_t fs_tool_program_alg(const fs_tool_traffic_t *traffic,
                             const fs_plan_params_t  *params);

/* Plan a rank, whose server knows that. */
typedef fs_status_t (*fs_tool_plan_rank_t)(void *ctx, uint32_t rank,
                                           const fs_local_traffic_t *local);

/* Call it for ranks first to end - 1, server by server. */
void fs_tool_programs_make(const fs_tool_traffic_t *traffic, uint32_t first,
                           uint32_t end, fs_tool_plan_rank_t plan_rank,
                           void *ctx);

/* Write the program of a rank; the format is that of fastsched(1). */
void fs_tool_program_json(fs_json_t *json, const fs_tool_traffic_t *traffic,
                          uint32_t rank, const fs_plan_t *plan);

#endif
