/* SPDX-License-Identifier: BSD-3-Clause */
/* What the executor sees of the parameters. */
#ifndef FS_PARAMS_H
#define FS_PARAMS_H

#include "fastsched_exec.h"

/* Of every parameter that must be equal on all ranks. */
uint64_t fs_params_digest(const fs_params_t *params);

/* What the planner needs of them. */
fs_plan_params_t fs_params_plan(const fs_params_t *params);

#endif
