/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs of an exchange: made, checked, written down. */
#ifndef FS_TOOL_PROGRAM_H
#define FS_TOOL_PROGRAM_H

#include "base/fs_json.h"
#include "tools/fs_tool_traffic.h"

/* The algorithm of the programs: the one fs_select() picks, but staged where
 * that is the host MPI's own. */
fs_alg_t fs_tool_program_alg(const fs_tool_traffic_t *traffic,
                             const fs_plan_params_t  *params);

/* Plan ranks first to end - 1. plans: [n_ranks], NULL; filled as far as it went
 * unless FS_TOOL_OK, which as always comes with a message. */
int fs_tool_programs_make(const fs_tool_traffic_t *traffic,
                          const fs_plan_params_t *params, uint32_t first,
                          uint32_t end, fs_plan_t **plans);

/* Write the program of a rank; the format is that of fastsched(1). FS_OK, or
 * FS_ERR_NOMEM and nothing was written. */
fs_status_t fs_tool_program_json(fs_json_t               *json,
                                 const fs_tool_traffic_t *traffic,
                                 uint32_t rank, const fs_plan_t *plan);

#endif
