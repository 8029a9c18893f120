/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched plan: an exchange becomes a schedule of the servers. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_plan.h"

#include <string.h>

#define GBIT UINT64_C(1000000000)

typedef struct args {
    fs_tool_traffic_args_t traffic;
    fs_tool_params_args_t  params;
    uint32_t               json;
    const char            *svg; /* NULL: none */
    fs_tool_rates_t        rates;
} args_t;

static int read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage = "plan --matrix FILE|--pattern NAME [OPTIONS]\n\n"
                 "Who sends to whom and when, and how far from the bound."};

    memset(args, 0, sizeof(*args));
    args->rates = (fs_tool_rates_t){400 * GBIT, 3600 * GBIT};
    fs_tool_traffic_options(&args->traffic, &options);
    fs_tool_params_options(&args->params, &options);
    fs_tool_add(&options, (fs_tool_option_t){FS_TOOL_TITLE, .name = "Output"});
    fs_tool_format_option(&args->json, &options);
    fs_tool_add(&options,
                (fs_tool_option_t){FS_TOOL_TEXT, "svg", "FILE",
                                   "a Gantt chart of NICs and scale-up ports",
                                   .value = &args->svg});
    fs_tool_add(&options, (fs_tool_option_t){FS_TOOL_RATE, "scale-out", "RATE",
                                             "rate of a NIC there (400gbit)",
                                             .value = &args->rates.nic, 1,
                                             1000000 * GBIT});
    fs_tool_add(&options, (fs_tool_option_t){
                              FS_TOOL_RATE, "scale-up", "RATE",
                              "rate of a rank inside its server (450GBps)",
                              .value = &args->rates.up, 1, 1000000 * GBIT});
    return fs_tool_read_options(argc, argv, &options);
}

int fs_cmd_plan(int argc, char **argv)
{
    args_t            args;
    fs_tool_traffic_t traffic;
    fs_tool_plan_t    plan;
    fs_plan_params_t  params;
    int               rc = read_args(argc, argv, &args);

    if (rc != FS_TOOL_GO_ON) {
        return rc;
    }
    rc = fs_tool_traffic_make(&args.traffic, &traffic);
    if (rc != FS_TOOL_OK) {
        return rc;
    }
    params = fs_tool_params(&args.params);
    rc     = fs_tool_plan_make(&traffic, &params, &plan);
    if (rc == FS_TOOL_OK) {
        rc = args.svg == NULL ? FS_TOOL_OK
                              : fs_tool_plan_svg(args.svg, &plan, &args.rates);
        if (rc == FS_TOOL_OK) {
            (args.json ? fs_tool_plan_json : fs_tool_plan_text)(stdout, &plan);
        }
        fs_tool_plan_fini(&plan);
    }
    fs_tool_traffic_fini(&traffic);
    return rc;
}
