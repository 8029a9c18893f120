/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that a plan depends on besides the traffic. */
#ifndef FS_TOOL_PARAMS_H
#define FS_TOOL_PARAMS_H

#include "fastsched.h"
#include "tools/fs_tool.h"

typedef struct fs_tool_params_args {
    fs_plan_params_t plan;
    uint32_t         algorithm; /* 0: fs_select() chooses; else fs_alg_t */
    uint32_t         balance;   /* fs_balance_t */
    uint32_t         decompose; /* fs_decompose_t */
} fs_tool_params_args_t;

/* The defaults. */
void fs_tool_params_init(fs_tool_params_args_t *args);

/* Set the defaults and add the rows that shape a schedule. args must live until
 * the options are read. */
void fs_tool_params_options(fs_tool_params_args_t *args,
                            fs_tool_options_t     *options);

/* The rows that shape programs: chunk, window, staging. */
void fs_tool_program_options(fs_tool_params_args_t *args,
                             fs_tool_options_t     *options);

/* Do they fit together? If not, the end. */
void fs_tool_params_check(const fs_tool_params_args_t *args);

/* Once the options are read. */
fs_plan_params_t fs_tool_params(const fs_tool_params_args_t *args);

/* A name of the library; NULL if it is that of nothing. */
const char *fs_tool_word(const char *name);

/* k-th word, NULL after the last. */
const char *fs_tool_balance_word(uint32_t k);
const char *fs_tool_decompose_word(uint32_t k);

#endif
