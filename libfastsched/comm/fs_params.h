/* SPDX-License-Identifier: BSD-3-Clause */
/* What the executor sees of the parameters. */
#ifndef FS_PARAMS_H
#define FS_PARAMS_H

#include "fastsched_exec.h"

/* Of every parameter that must be equal on all ranks. */
uint64_t fs_params_digest(const fs_params_t *params);

enum { FS_PARAM_TEXT_MAX = 64 };

/* The value of row k for messages, if it must be equal on all ranks; else "".
 * Two values have the same text if they are the same: of a long one the end is
 * a digest. */
void fs_params_text(const fs_params_t *params, size_t k,
                    char text[FS_PARAM_TEXT_MAX]);

/* The line for messages about a value that must be equal and is not. */
void fs_params_explain(const char *name, const char *value_a, uint32_t rank_a,
                       const char *value_b, uint32_t rank_b, char *why,
                       size_t why_len);

/* What the planner needs of them. */
fs_plan_params_t fs_params_plan(const fs_params_t *params);

#endif
