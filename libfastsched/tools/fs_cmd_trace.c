/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched trace: what the ranks of a job did, from the files that parameter
 * trace of coll_fast has left. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GBIT UINT64_C(1000000000)

typedef struct args {
    const char *dir;
    uint64_t    call; /* 0: the slowest */
    const char *comm; /* NULL: any */
    uint64_t    rate; /* 0: as the traces say */
    uint32_t    json;
    const char *svg;
    const char *output;
} args_t;

static int read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage = "trace DIR [OPTIONS]\n\n"
                 "What the ranks of a job did, from the files that\n"
                 "coll_fast_trace=DIR has left; one call in detail."};

    fs_tool_add(&options,
                (fs_tool_option_t){FS_TOOL_U64, "call", "N",
                                   "the call in detail (the slowest that fast\n"
                                   "has served)",
                                   .value = &args->call, 1, UINT32_MAX - 1});
    fs_tool_add(&options,
                (fs_tool_option_t){FS_TOOL_TEXT, "comm", "NAME",
                                   "of this communicator, by name or id",
                                   .value = &args->comm});
    fs_tool_add(&options, (fs_tool_option_t){
                              FS_TOOL_RATE, "rate", "RATE",
                              "of a NIC, to compare with (coll_fast_rate of\n"
                              "the job)",
                              .value = &args->rate, 1, 1000000 * GBIT});
    fs_tool_format_option(&args->json, &options);
    fs_tool_add(&options, (fs_tool_option_t){
                              FS_TOOL_TEXT, "svg", "FILE",
                              "a Gantt chart of the call: planned and done",
                              .value = &args->svg});
    fs_tool_add(&options, (fs_tool_option_t){FS_TOOL_TEXT, "output", "FILE",
                                             "all traces in one, for Perfetto",
                                             .value = &args->output});
    return fs_tool_read_options(argc, argv, &options);
}

/* ---- which call ---- */

static bool is_wanted(const fs_tool_trace_t *trace, const char *comm)
{
    return comm == NULL || strcmp(trace->comm, comm) == 0 ||
           strcmp(trace->id, comm) == 0;
}

/* One that we have served beats one of the host's; then the slower one. */
static bool beats(const fs_tool_trace_sum_t *a, const fs_tool_trace_sum_t *b)
{
    return a->ran != b->ran ? a->ran : a->slowest_ns > b->slowest_ns;
}

static int choose_call(const args_t *args, fs_tool_trace_report_t *report)
{
    for (size_t t = 0; t < report->traces->n; ++t) {
        const fs_tool_trace_t *trace = &report->traces->list[t];

        for (size_t k = 0; k < trace->n_calls; ++k) {
            uint32_t            call = trace->calls[k].call;
            fs_tool_trace_sum_t sum;

            if (!is_wanted(trace, args->comm) ||
                (args->call != 0 && call != args->call) ||
                (k > 0 && call == trace->calls[k - 1].call)) {
                continue;
            }
            fs_tool_trace_sum(trace, call, &sum);
            if (report->trace == NULL || beats(&sum, &report->sum)) {
                report->trace = trace;
                report->sum   = sum;
            }
        }
    }
    return report->trace != NULL
               ? FS_TOOL_OK
               : fs_tool_bad("%s: no such call in these traces", args->dir);
}

/* ---- one report ---- */

static void find_rate(const args_t *args, fs_tool_trace_report_t *report)
{
    report->rate = args->rate;
    for (size_t t = 0; t < report->traces->n && report->rate == 0; ++t) {
        report->rate = report->traces->list[t].rate;
    }
}

static int look(const args_t *args, fs_tool_traces_t *traces,
                fs_tool_trace_report_t *report)
{
    int rc = FS_TOOL_OK;

    find_rate(args, report);
    for (size_t t = 0; t < traces->n && rc == FS_TOOL_OK; ++t) {
        rc = fs_tool_trace_link(&traces->list[t]);
    }
    if (rc == FS_TOOL_OK) {
        rc = choose_call(args, report);
    }
    if (rc != FS_TOOL_OK) {
        return rc;
    }
    report->n_steps =
        fs_tool_trace_steps(&traces->list[report->trace - traces->list],
                            report->sum.call, &report->steps);
    if (report->n_steps < 0) {
        return fs_tool_status("steps", FS_ERR_NOMEM);
    }
    return fs_tool_path_find(report->trace, report->sum.call, &report->path);
}

static int tell(const args_t *args, const fs_tool_trace_report_t *report)
{
    int rc = FS_TOOL_OK;

    if (args->svg != NULL) {
        rc = fs_tool_trace_svg(args->svg, report);
    }
    if (rc == FS_TOOL_OK && args->output != NULL) {
        rc = fs_tool_trace_merge(args->output, report->traces);
    }
    if (rc == FS_TOOL_OK) {
        (args->json ? fs_tool_trace_json : fs_tool_trace_text)(stdout, report);
    }
    return rc;
}

static int run(const args_t *args)
{
    fs_tool_traces_t       traces;
    fs_tool_trace_report_t report = {.traces = &traces};
    int                    rc     = fs_tool_traces_read(args->dir, &traces);

    if (rc != FS_TOOL_OK) {
        return rc;
    }
    rc = look(args, &traces, &report);
    if (rc == FS_TOOL_OK) {
        rc = tell(args, &report);
    }
    fs_tool_path_fini(&report.path);
    free(report.steps);
    fs_tool_traces_fini(&traces);
    return rc;
}

int fs_cmd_trace(int argc, char **argv)
{
    args_t args = {0};
    int    rc;

    /* Options begin behind the directory. */
    if (argc > 1 && argv[1][0] != '-') {
        args.dir = argv[1];
        argv[1]  = argv[0];
        ++argv;
        --argc;
    }
    rc = read_args(argc, argv, &args);
    if (rc != FS_TOOL_GO_ON) {
        return rc;
    }
    if (args.dir == NULL) {
        return fs_tool_bad(
            "trace needs a directory, first: fastsched trace DIR");
    }
    return run(&args);
}
