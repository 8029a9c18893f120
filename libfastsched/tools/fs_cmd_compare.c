/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched compare: would fast help? */
#include "tools/fs_tool.h"
#include "tools/fs_tool_cluster.h"
#include "tools/fs_tool_compare_calls.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_python.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct args {
    fs_tool_traffic_args_t traffic;
    fs_tool_cluster_args_t cluster;
    const char            *file; /* NULL: none */
    const char            *html; /* NULL: none */
    const char            *svg;  /* likewise */
    uint32_t               json;
    uint32_t               max_kinds;
} args_t;

enum { MANY_KINDS = 16, MAX_KINDS = 100000 };

static void read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage   = "compare FILE|DIR|--pattern NAME [OPTIONS]\n\n"
                   "Would fast help? The exchange by what MPIs do, and by fast, "
                   "simulated on\n"
                   "your cluster; where its bottleneck is. FILE: a matrix, as "
                   "--matrix. DIR:\n"
                   "a recording of a program (parameter record); all its calls.",
        .operand = &args->file};
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Recording"},
        {FS_TOOL_U32, "matrices", "N",
         "compare so many different ones, those with most\n"
         "bytes in all calls (",
         .value = &args->max_kinds, 1, MAX_KINDS},
        {FS_TOOL_TITLE, .name = "Output"},
        FS_TOOL_FORMAT(&args->json),
        {FS_TOOL_TEXT, "html", "FILE",
         "a report for browsers: matrix, times, timeline;\n"
         "- is standard output, and then nothing else is",
         .value = &args->html},
        {FS_TOOL_TEXT, "svg", "FILE", "its timeline alone",
         .value = &args->svg},
    };

    *args = (args_t){.max_kinds = MANY_KINDS};
    fs_tool_traffic_options(&args->traffic, &options);
    fs_tool_cluster_options(&args->cluster, &options);
    FS_TOOL_ADD(&options, rows);
    fs_tool_read_options(argc, argv, &options);
    if (args->file != NULL && args->traffic.matrix != NULL) {
        fs_tool_bad("two matrices are given, \"%s\" and --matrix; allowed: one",
                    fs_tool_quote(args->file));
    }
    if (args->html != NULL && args->svg != NULL) {
        fs_tool_bad("--html and --svg are given; allowed: one of them");
    }
    if (args->file != NULL) {
        args->traffic.matrix = args->file;
    }
}

static void make_title(const fs_tool_traffic_args_t *args, char *title,
                       size_t len)
{
    const char *path = fs_tool_traffic_path(args);

    if (path != NULL) {
        snprintf(title, len, "%s", path);
    } else {
        snprintf(title, len, "%s, seed %" PRIu64, args->pattern, args->seed);
    }
}

static void make_setup(const args_t *args, fs_tool_sim_setup_t *setup)
{
    fs_tool_params_args_t params;

    fs_tool_params_init(&params);
    *setup = (fs_tool_sim_setup_t){.plan = fs_tool_params(&params)};
    fs_tool_cluster_params(&args->cluster, &setup->params);
    setup->plan.stage_cost    = fs_tool_cluster_cost(&setup->params);
    setup->plan.chunk         = 0;
    setup->plan.staging_limit = 0;
}

/* Else a page or a picture is there. */
static bool prints(const args_t *args)
{
    return !fs_tool_is_stdout(args->html) && !fs_tool_is_stdout(args->svg);
}

static void compare_one(const args_t *args)
{
    char              title[256];
    fs_tool_traffic_t traffic;
    fs_tool_compare_t compare = {.traffic = &traffic, .title = title};

    make_setup(args, &compare.setup);
    fs_tool_traffic_make(&args->traffic, &traffic);
    make_title(&args->traffic, title, sizeof(title));
    fs_tool_compare_run(&compare, args->html, args->svg);
    if (prints(args)) {
        (args->json ? fs_tool_compare_json : fs_tool_compare_text)(&compare);
    }
    fs_tool_traffic_fini(&traffic);
}

static void compare_recording(const args_t *args)
{
    fs_tool_recording_t     recording;
    fs_tool_compare_calls_t all;
    fs_tool_sim_setup_t     setup;

    if (args->traffic.pattern != NULL) {
        fs_tool_bad("a recording and --pattern are given; allowed: one of "
                    "them");
    }
    make_setup(args, &setup);
    fs_tool_recording_read(args->file, &recording);
    fs_tool_compare_calls_run(&all, &recording, &args->traffic, &setup,
                              args->max_kinds, args->html, args->svg);
    if (prints(args)) {
        (args->json ? fs_tool_compare_calls_json
                    : fs_tool_compare_calls_text)(&all);
    }
    fs_tool_compare_calls_fini(&all);
    fs_tool_recording_fini(&recording);
}

void fs_cmd_compare(int argc, char **argv)
{
    args_t args;

    read_args(argc, argv, &args);
    if (fs_tool_is_recording(args.file)) {
        compare_recording(&args);
    } else {
        compare_one(&args);
    }
}
