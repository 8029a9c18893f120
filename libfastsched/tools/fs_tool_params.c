/* SPDX-License-Identifier: BSD-3-Clause */
/* Options to fs_plan_params_t. Numbers have the defaults and the limits of the
 * MPI components, so that a plan here is a plan there. */
#include "tools/fs_tool_params.h"

#include "fastsched_exec.h"
#include "sched/fs_balance.h"

#define KIB UINT64_C(1024)
#define GIB (KIB * KIB * KIB)

const char *fs_tool_balance_word(uint32_t k)
{
    return k <= FS_BALANCE_ROWCOL ? fs_balance_name((fs_balance_t)k) : NULL;
}

const char *fs_tool_decompose_word(uint32_t k)
{
    return k <= FS_DECOMPOSE_SPREADOUT ? fs_decompose_name((fs_decompose_t)k)
                                       : NULL;
}

/* The host's own algorithm has no program of ours: its place is auto's. */
static const char *algorithm_word(uint32_t k)
{
    return k == 0               ? "auto"
           : k <= FS_ALG_DIRECT ? fs_alg_name((fs_alg_t)k)
                                : NULL;
}

static const char *format_word(uint32_t k)
{
    static const char *const words[] = {"text", "json", NULL};

    return words[k];
}

static void set_defaults(fs_tool_params_args_t *args)
{
    fs_params_t params;

    fs_params_init(&params);
    *args = (fs_tool_params_args_t){
        .plan      = {.mtm_threshold_milli = params.mtm_threshold,
                      .min_bytes           = params.min_bytes,
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
    set_defaults(args);
    fs_tool_add(options, (fs_tool_option_t){FS_TOOL_TITLE, .name = "Plan"});
    fs_tool_add(
        options,
        (fs_tool_option_t){FS_TOOL_WORD, "algorithm", "NAME",
                           "auto (by size and skew), staged, pipe2d or\n"
                           "direct (auto)",
                           .value = &args->algorithm, .word = algorithm_word});
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_WORD, "balance", "NAME",
                                   "minmove, equalize, greedy or rowcol\n"
                                   "(minmove)",
                                   .value = &args->balance,
                                   .word  = fs_tool_balance_word});
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_WORD, "decompose", "NAME",
                                   "auto, compact, openshop, birkhoff,\n"
                                   "hierarchical or spreadout (auto)",
                                   .value = &args->decompose,
                                   .word  = fs_tool_decompose_word});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_BYTES, "stage-cost", "BYTES",
                             "start-up cost of a message, as bytes a lane\n"
                             "could send meanwhile; read by auto (64k)",
                             .value = &args->plan.stage_cost, 0, GIB});
    fs_tool_add(options,
                (fs_tool_option_t){
                    FS_TOOL_MILLI, "mtm-threshold", "X",
                    "max-to-mean ratio from which traffic counts\n"
                    "as skewed (2.2)",
                    .value = &args->plan.mtm_threshold_milli, 1000, 1000000});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_BYTES, "min-bytes", "BYTES",
                             "less between servers per rank, on average, is\n"
                             "left to the host MPI (64k)",
                             .value = &args->plan.min_bytes, 0, GIB});
}

void fs_tool_program_options(fs_tool_params_args_t *args,
                             fs_tool_options_t     *options)
{
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_BYTES, "chunk", "BYTES",
                                   "bytes of one message, at most (64k)",
                                   .value = &args->plan.chunk, 1, GIB});
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_U32, "window", "N",
                                   "messages a rank asks one sender for (4)",
                                   .value = &args->plan.window, 1, 64});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_BYTES, "staging-limit", "BYTES",
                             "staging memory of a rank, at most (64m); 12\n"
                             "chunks at least",
                             .value = &args->plan.staging_limit, 1, 16 * GIB});
}

void fs_tool_format_option(uint32_t *json_p, fs_tool_options_t *options)
{
    *json_p = 0;
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_WORD, "format", "NAME",
                                   "text or json (text)", .value = json_p,
                                   .word = format_word});
}

int fs_tool_params_check(const fs_tool_params_args_t *args)
{
    fs_params_t params;
    char        why[512];

    fs_params_init(&params);
    params.chunk         = args->plan.chunk;
    params.staging_limit = args->plan.staging_limit;
    if (fs_params_check(&params, why, sizeof(why)) != FS_OK) {
        return fs_tool_bad("%s", why);
    }
    return FS_TOOL_OK;
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
