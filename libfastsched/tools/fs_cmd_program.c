/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched program: what a rank does, operation by operation, as JSON. */
#include "sched/plan/fs_plan_check.h"
#include "tools/fs_tool.h"
#include "base/fs_value.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_program.h"

#include <stdlib.h>
#include <string.h>

typedef struct args {
    fs_tool_traffic_args_t traffic;
    fs_tool_params_args_t  params;
    const char            *rank;
    bool                   verify;
} args_t;

/* [n_ranks] programs, NULL where there is none. */
typedef struct programs {
    const fs_tool_traffic_t *traffic;
    fs_plan_params_t         params;
    fs_alg_t                 alg;
    fs_plan_t              **plans;
} programs_t;

static void read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage =
            "program --rank R|all --matrix FILE|--pattern NAME [OPTIONS]\n\n"
            "The operations of a rank, as JSON."};

    const fs_tool_option_t first[] = {
        {FS_TOOL_TEXT, "rank", "R", "the rank; all: a list of all programs",
         .value = &args->rank},
    };
    const fs_tool_option_t last[] = {
        {FS_TOOL_TITLE, .name = "Output"},
        {FS_TOOL_FLAG, "verify", NULL,
         "first prove that the programs of all ranks\n"
         "together deliver every byte",
         .value = &args->verify},
    };

    *args = (args_t){0};
    FS_TOOL_ADD(&options, first);
    fs_tool_traffic_options(&args->traffic, &options);
    fs_tool_params_options(&args->params, &options);
    fs_tool_program_options(&args->params, &options);
    FS_TOOL_ADD(&options, last);
    fs_tool_read_options(argc, argv, &options);
}

static void read_rank(const char *text, uint32_t n, uint32_t *first_p,
                      uint32_t *end_p)
{
    uint64_t rank = 0;
    bool     all  = strcmp(text, "all") == 0;

    if (!all && (!fs_value_number(text, &rank) || rank >= n)) {
        fs_tool_bad("--rank \"%s\": allowed: 0 to %u, or all",
                    fs_tool_quote(text), n - 1);
    }
    *first_p = (uint32_t)rank;
    *end_p   = all ? n : (uint32_t)rank + 1;
}

static fs_status_t plan_rank(void *ctx, uint32_t rank,
                             const fs_local_traffic_t *local)
{
    programs_t *programs = ctx;

    return fs_plan_create(programs->alg, programs->traffic->topo,
                          &programs->traffic->summary, &programs->params, rank,
                          local, &programs->plans[rank]);
}

static void verify(const programs_t *programs)
{
    char        why[512];
    fs_status_t status = fs_plan_check(
        programs->traffic->topo, &programs->params, programs->traffic->pairs,
        programs->plans, why, sizeof(why));

    if (status == FS_ERR_INVAL) {
        fs_tool_failed("the programs are wrong: %s", why);
    }
    fs_tool_must(status, "--verify");
}

static void run(const args_t *args, const fs_tool_traffic_t *traffic)
{
    bool       all      = strcmp(args->rank, "all") == 0;
    uint32_t   n        = traffic->n_ranks, first, end;
    programs_t programs = {.traffic = traffic,
                           .params  = fs_tool_params(&args->params),
                           .plans   = fs_tool_calloc(n, sizeof(fs_plan_t *))};
    fs_json_t  json;

    programs.alg = fs_tool_program_alg(traffic, &programs.params);
    read_rank(args->rank, n, &first, &end);
    fs_tool_programs_make(traffic, args->verify ? 0 : first,
                          args->verify ? n : end, plan_rank, &programs);
    if (args->verify) {
        verify(&programs);
    }
    fs_json_init(&json, stdout, all ? 3 : 2);
    if (all) {
        fs_json_open(&json, NULL, '[');
    }
    for (uint32_t r = first; r < end; ++r) {
        fs_tool_program_json(&json, traffic, r, programs.plans[r]);
    }
    if (all) {
        fs_json_close(&json);
    }
    for (uint32_t r = 0; r < n; ++r) {
        fs_plan_destroy(programs.plans[r]);
    }
    free(programs.plans);
}

void fs_cmd_program(int argc, char **argv)
{
    args_t            args;
    fs_tool_traffic_t traffic;

    read_args(argc, argv, &args);
    if (args.rank == NULL) {
        fs_tool_bad("program needs --rank R or --rank all");
    }
    fs_tool_params_check(&args.params);
    fs_tool_traffic_make(&args.traffic, &traffic);
    run(&args, &traffic);
    fs_tool_traffic_fini(&traffic);
}
