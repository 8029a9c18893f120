/* SPDX-License-Identifier: BSD-3-Clause */
/* Options to fs_plan_params_t. Numbers have the defaults and the limits of the
 * MPI components, so that a plan here is a plan there. */
#include "tools/fs_tool_params.h"

#include "fastsched_exec.h"
#include "sched/balance/fs_balance.h"

#include <string.h>

#define KIB UINT64_C(1024)
#define GIB (KIB * KIB * KIB)

const char *fs_tool_word(const char *name)
{
    return strcmp(name, "unknown") == 0 ? NULL : name;
}

const char *fs_tool_balance_word(uint32_t k)
{
    return fs_tool_word(fs_balance_name((fs_balance_t)k));
}

const char *fs_tool_decompose_word(uint32_t k)
{
    return fs_tool_word(fs_decompose_name((fs_decompose_t)k));
}

/* The native algorithm has no program of ours: auto takes its place. */
static const char *algorithm_word(uint32_t k)
{
    return k == FS_ALG_NATIVE    ? "auto"
           : k == FS_ALG_BUNDLES ? NULL
                                 : fs_tool_word(fs_alg_name((fs_alg_t)k));
}

void fs_tool_params_init(fs_tool_params_args_t *args)
{
    fs_params_t params;

    fs_params_init(&params);
    *args = (fs_tool_params_args_t){
        .plan      = {.mtm_threshold_milli = FS_MTM_THRESHOLD_USUAL,
                      .min_bytes           = FS_MIN_BYTES_USUAL,
                      .chunk               = params.chunk,
                      .window              = params.window,
                      .staging_limit       = params.staging_limit,
                      .stage_cost          = params.stage_cost},
        .balance   = FS_BALANCE_MINMOVE,
        .decompose = params.decompose,
    };
}

void fs_tool_params_options(fs_tool_params_args_t *args,
                            fs_tool_options_t     *options)
{
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Plan"},
        {FS_TOOL_WORD, "algorithm", "NAME", .value = &args->algorithm,
         .word = algorithm_word},
        {FS_TOOL_WORD, "balance", "NAME", .value = &args->balance,
         .word = fs_tool_balance_word},
        {FS_TOOL_WORD, "decompose", "NAME", .value = &args->decompose,
         .word = fs_tool_decompose_word},
        {FS_TOOL_BYTES, "stage-cost", "BYTES",
         "start-up cost of a message, as the bytes a lane\n"
         "can send in that time; for auto (",
         .value = &args->plan.stage_cost, 0, GIB},
        {FS_TOOL_MILLI, "mtm-threshold", "X",
         "max-to-mean ratio from which traffic counts\n"
         "as skewed (",
         .value = &args->plan.mtm_threshold_milli, 1000, 1000000},
        {FS_TOOL_BYTES, "min-bytes", "BYTES",
         "exchanges with fewer bytes between servers, on\n"
         "average per rank, are left to the MPI (",
         .value = &args->plan.min_bytes, 0, GIB},
    };

    fs_tool_params_init(args);
    FS_TOOL_ADD(options, rows);
}

void fs_tool_program_options(fs_tool_params_args_t *args,
                             fs_tool_options_t     *options)
{
    const fs_tool_option_t rows[] = {
        {FS_TOOL_BYTES, "chunk", "BYTES", "maximum size of a message (",
         .value = &args->plan.chunk, 1, GIB},
        {FS_TOOL_U32, "window", "N",
         "messages that a rank requests from one sender (",
         .value = &args->plan.window, 1, 64},
        {FS_TOOL_BYTES, "staging-limit", "BYTES",
         "maximum staging memory of a rank; at least\n"
         "12 chunks (",
         .value = &args->plan.staging_limit, 1, 16 * GIB},
    };

    FS_TOOL_ADD(options, rows);
}

void fs_tool_params_check(const fs_tool_params_args_t *args)
{
    fs_params_t params;
    char        why[512];

    fs_params_init(&params);
    params.chunk         = args->plan.chunk;
    params.staging_limit = args->plan.staging_limit;
    if (fs_params_check(&params, why, sizeof(why)) != FS_OK) {
        fs_tool_bad("%s", why);
    }
}

fs_plan_params_t fs_tool_params(const fs_tool_params_args_t *args)
{
    fs_plan_params_t plan = args->plan;

    plan.algorithm       = (fs_alg_t)args->algorithm;
    plan.force_algorithm = args->algorithm != 0;
    plan.balance         = (fs_balance_t)args->balance;
    plan.decompose       = (fs_decompose_t)args->decompose;
    return plan;
}
