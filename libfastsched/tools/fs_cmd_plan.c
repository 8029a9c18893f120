/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched plan: an exchange becomes a schedule of the servers. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_plan.h"
#include "tools/fs_tool_program.h"
#include "tools/fs_tool_python.h"
#include "tools/fs_tool_sim.h"

#include <string.h>

#define GBIT UINT64_C(1000000000)

typedef struct args {
    fs_tool_traffic_args_t traffic;
    fs_tool_params_args_t  params;
    uint32_t               json;
    const char            *svg;       /* NULL: none */
    uint64_t               scale_out; /* bits per second */
    uint64_t               scale_up;
} args_t;

static void read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage =
            "plan --matrix FILE|--pattern NAME [OPTIONS]\n\n"
            "The schedule between servers, and its distance from the bound."};
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Output"},
        FS_TOOL_FORMAT(&args->json),
        {FS_TOOL_TEXT, "svg", "FILE",
         "a Gantt chart of NICs and scale-up ports; - is\n"
         "standard output, and then nothing else is",
         .value = &args->svg},
        {FS_TOOL_RATE, "scale-out", "RATE",
         "rate of a NIC in that chart (400gbit)", .value = &args->scale_out, 1,
         1000000 * GBIT},
        {FS_TOOL_RATE, "scale-up", "RATE",
         "rate of a rank inside its server (450GBps)", .value = &args->scale_up,
         1, 1000000 * GBIT},
    };

    *args = (args_t){.scale_out = 400 * GBIT, .scale_up = 3600 * GBIT};
    fs_tool_traffic_options(&args->traffic, &options);
    fs_tool_params_options(&args->params, &options);
    FS_TOOL_ADD(&options, rows);
    fs_tool_read_options(argc, argv, &options);
}

/* What NICs and scale-up ports are doing when the plan is carried out: its
 * programs are simulated. */
static void draw(const args_t *args, const fs_tool_plan_t *plan)
{
    fs_alg_t            alg = fs_tool_program_alg(plan->traffic, &plan->params);
    double              rate = (double)args->scale_out / 8;
    char                title[128];
    fs_tool_sim_setup_t setup = {
        .plan   = plan->params,
        .params = {.rate_out  = rate,
                   .rate_up   = (double)args->scale_up / 8,
                   .alpha_out = (double)plan->params.stage_cost / rate,
                   .fabric    = FS_SIM_SWITCH},
        .level  = FS_TOOL_SIM_AUTO,
        .title  = title,
    };
    fs_tool_sim_outcome_t outcome;

    snprintf(title, sizeof(title), "%s: NICs and scale-up ports, simulated",
             fs_alg_name(alg));
    fs_tool_sim_run(&setup, plan->traffic, args->svg, &outcome);
}

void fs_cmd_plan(int argc, char **argv)
{
    args_t            args;
    fs_tool_traffic_t traffic;
    fs_tool_plan_t    plan;
    fs_plan_params_t  params;

    read_args(argc, argv, &args);
    fs_tool_traffic_make(&args.traffic, &traffic);
    params = fs_tool_params(&args.params);
    fs_tool_plan_make(&traffic, &params, &plan);
    if (args.svg != NULL) {
        draw(&args, &plan);
    }
    if (!fs_tool_is_stdout(args.svg)) {
        (args.json ? fs_tool_plan_json : fs_tool_plan_text)(&plan);
    }
    fs_tool_plan_fini(&plan);
    fs_tool_traffic_fini(&traffic);
}
