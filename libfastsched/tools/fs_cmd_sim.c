/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched sim: how long an exchange would take on a given cluster. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_sim.h"

#include <string.h>

enum { MAX_RUNS = 1000, MIN_CHUNK = 64 };

#define GIB     (UINT64_C(1) << 30)
#define UNGIVEN UINT64_MAX

typedef struct args {
    fs_tool_traffic_args_t traffic;
    fs_tool_params_args_t  params;
    uint32_t               algorithm;
    const char            *scale_out;
    const char            *scale_up;
    const char            *copy;
    uint32_t               alpha_milli; /* thousandths of microseconds */
    uint32_t               alpha_up_milli;
    uint32_t               incast_milli;
    uint64_t               incast_bytes;
    uint32_t               fabric;
    bool                   count_scheduling;
    uint32_t               level;
    uint32_t               runs;
    uint32_t               json;
    const char            *svg; /* NULL: none */
} args_t;

/* ---- options ---- */

static const char *level_word(uint32_t k)
{
    static const char *const words[] = {"auto", "ranks", "lanes", NULL};

    return words[k];
}

static fs_tool_option_t *find_row(fs_tool_options_t *options, const char *name)
{
    for (size_t k = 0; k < options->n; ++k) {
        if (strcmp(options->rows[k].name, name) == 0) {
            return &options->rows[k];
        }
    }
    return NULL;
}

/* The same options as of a plan, but there are more algorithms, and what was
 * not given depends on the cluster. */
static void add_plan_rows(args_t *args, fs_tool_options_t *options)
{
    fs_tool_option_t *row;

    fs_tool_params_options(&args->params, options);
    fs_tool_program_options(&args->params, options);
    row        = find_row(options, "algorithm");
    row->value = &args->algorithm;
    row->word  = fs_tool_sim_algorithm;
    find_row(options, "stage-cost")->help =
        "start-up cost of a message, as bytes a lane\n"
        "could send meanwhile; read by --decompose auto\n"
        "(what --scale-out makes of --alpha)";
    row       = find_row(options, "chunk");
    row->help = "bytes of one message, at most (a small part of\n"
                "what a rank sends, 64k at least)";
    row->min  = MIN_CHUNK;
    find_row(options, "staging-limit")->help =
        "staging memory of a rank, at most (64m, or 64\n"
        "chunks if that is more); 12 chunks at least";
    args->params.plan.stage_cost    = UNGIVEN;
    args->params.plan.chunk         = 0;
    args->params.plan.staging_limit = 0;
}

static void add_network_rows(args_t *args, fs_tool_options_t *options)
{
    fs_tool_add(options, (fs_tool_option_t){FS_TOOL_TITLE, .name = "Cluster"});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_TEXT, "scale-out", "RATE",
                             "of a NIC, each direction (400gbit): kbit, mbit,\n"
                             "gbit, tbit or kBps, MBps, GBps, TBps, powers\n"
                             "of 1000",
                             .value = &args->scale_out});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_TEXT, "scale-up", "RATE",
                             "of a rank inside its server, each direction,\n"
                             "all its links together (450GBps)",
                             .value = &args->scale_up});
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_TEXT, "copy", "RATE",
                                   "of copies on a rank (they take no time)",
                                   .value = &args->copy});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_MILLI, "alpha", "US",
                             "microseconds before the first byte of a message\n"
                             "between servers (10)",
                             .value = &args->alpha_milli, 0, UINT32_MAX});
    fs_tool_add(options, (fs_tool_option_t){FS_TOOL_MILLI, "alpha-up", "US",
                                            "the same inside, for each hop (3)",
                                            .value = &args->alpha_up_milli, 0,
                                            UINT32_MAX});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_MILLI, "incast", "F",
                             "while k ranks send to one NIC, it takes in\n"
                             "1 / (1 + F * (k - 1)) of its rate (0)",
                             .value = &args->incast_milli, 0, UINT32_MAX});
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_BYTES, "incast-bytes", "BYTES",
                                   "senders of smaller messages do not count:\n"
                                   "buffers absorb them (0)",
                                   .value = &args->incast_bytes, 0,
                                   UINT64_C(1) << 62});
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_WORD, "topology", "NAME",
                                   "inside a server:", .value = &args->fabric,
                                   .word = fs_tool_sim_fabric});
}

static void add_run_rows(args_t *args, fs_tool_options_t *options)
{
    fs_tool_add(options, (fs_tool_option_t){FS_TOOL_TITLE, .name = "Run"});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_FLAG, "count-scheduling", NULL,
                             "add the time the slowest rank needs to plan,\n"
                             "measured on this machine",
                             .value = &args->count_scheduling});
    fs_tool_add(options, (fs_tool_option_t){
                             FS_TOOL_WORD, "level", "NAME",
                             "ranks: programs of all; lanes: one lane for\n"
                             "each server, coarser; auto: lanes for staged\n"
                             "beyond 1024 ranks (auto)",
                             .value = &args->level, .word = level_word});
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_U32, "repeat", "K",
                                   "means of the seeds S to S + K - 1 (1)",
                                   .value = &args->runs, 1, MAX_RUNS});
    fs_tool_add(options, (fs_tool_option_t){FS_TOOL_TITLE, .name = "Output"});
    fs_tool_format_option(&args->json, options);
    fs_tool_add(options,
                (fs_tool_option_t){FS_TOOL_TEXT, "svg", "FILE",
                                   "a Gantt chart of NICs and scale-up ports,\n"
                                   "of the first run",
                                   .value = &args->svg});
}

static int read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage = "sim --matrix FILE|--pattern NAME [OPTIONS]\n\n"
                 "How long an exchange would take on a cluster."};

    *args = (args_t){.scale_out      = "400gbit",
                     .scale_up       = "450GBps",
                     .alpha_milli    = 10000,
                     .alpha_up_milli = 3000,
                     .runs           = 1};
    fs_tool_traffic_options(&args->traffic, &options);
    add_plan_rows(args, &options);
    add_network_rows(args, &options);
    add_run_rows(args, &options);
    return fs_tool_read_options(argc, argv, &options);
}

/* ---- values ---- */

/* Bytes per second: what --lab understands, or decimals and a unit of bytes. */
static bool read_rate(const char *text, double *rate_p)
{
    static const struct {
        const char *unit;
        double      bytes;
    } units[] = {{"kBps", 1e3}, {"MBps", 1e6}, {"GBps", 1e9}, {"TBps", 1e12}};
    size_t   digits = strspn(text, "0123456789.");
    char     number[32];
    uint64_t value;

    if (fs_tool_read_number(FS_TOOL_RATE, text, &value)) {
        *rate_p = (double)value / 8;
        return value > 0;
    }
    if (digits >= sizeof(number)) {
        return false;
    }
    memcpy(number, text, digits);
    number[digits] = '\0';
    for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); ++k) {
        if (strcmp(text + digits, units[k].unit) == 0 &&
            fs_tool_read_number(FS_TOOL_MILLI, number, &value)) {
            *rate_p = (double)value / 1000 * units[k].bytes;
            return value > 0;
        }
    }
    return false;
}

static int need_rate(const char *name, const char *text, double *rate_p)
{
    char quoted[64];

    if (read_rate(text, rate_p)) {
        return FS_TOOL_OK;
    }
    return fs_tool_bad(
        "--%s \"%s\": allowed: a number above 0 and kbit, mbit, "
        "gbit, tbit, kBps, MBps, GBps or TBps",
        name, fs_tool_quote(text, strlen(text), quoted, sizeof(quoted)));
}

/* With what was not given by the user left to the traffic. */
static int make_setup(args_t *args, fs_tool_sim_setup_t *setup)
{
    fs_sim_params_t *p = &setup->params;
    int              rc;

    *setup = (fs_tool_sim_setup_t){.algorithm        = args->algorithm,
                                   .level            = args->level,
                                   .count_scheduling = args->count_scheduling};
    rc     = need_rate("scale-out", args->scale_out, &p->rate_out);
    if (rc == FS_TOOL_OK) {
        rc = need_rate("scale-up", args->scale_up, &p->rate_up);
    }
    if (rc == FS_TOOL_OK && args->copy != NULL) {
        rc = need_rate("copy", args->copy, &p->rate_copy);
    }
    p->alpha_out    = args->alpha_milli * 1e-9;
    p->alpha_up     = args->alpha_up_milli * 1e-9;
    p->incast       = args->incast_milli * 1e-3;
    p->incast_bytes = args->incast_bytes;
    p->fabric       = (fs_sim_fabric_t)args->fabric;
    if (args->params.plan.stage_cost == UNGIVEN) {
        double cost = p->alpha_out * p->rate_out;

        args->params.plan.stage_cost = cost < (double)GIB ? (uint64_t)cost
                                                          : GIB;
    }
    args->params.algorithm =
        args->algorithm < FS_TOOL_SIM_OURS ? args->algorithm : FS_ALG_STAGED;
    setup->plan = fs_tool_params(&args->params);
    return rc;
}

/* Only what the user gave both of can be wrong. */
static int check(const args_t *args)
{
    const fs_plan_params_t *plan = &args->params.plan;

    if (args->runs > 1 && args->traffic.matrix != NULL) {
        return fs_tool_bad("--repeat draws a pattern again and again; a "
                           "--matrix is always the same");
    }
    if (plan->staging_limit != 0 && plan->chunk == 0) {
        return fs_tool_bad("--staging-limit needs --chunk");
    }
    return plan->staging_limit != 0 ? fs_tool_params_check(&args->params)
                                    : FS_TOOL_OK;
}

/* ---- runs ---- */

static int run_once(const args_t *args, const fs_tool_sim_setup_t *setup,
                    uint32_t k, fs_tool_sim_outcome_t *outcome)
{
    fs_tool_traffic_args_t from  = args->traffic;
    bool                   draw  = args->svg != NULL && k == 0;
    fs_tool_spans_t        spans = {0};
    fs_tool_traffic_t      traffic;
    int                    rc;

    from.seed += k;
    rc = fs_tool_traffic_make(&from, &traffic);
    if (rc != FS_TOOL_OK) {
        return rc;
    }
    rc = fs_tool_sim_run(setup, &traffic, draw ? &spans : NULL, outcome);
    if (rc == FS_TOOL_OK && draw) {
        spans.chart.title = "Simulated exchange";
        rc                = fs_tool_svg_file(args->svg, &spans.chart);
    }
    fs_tool_spans_fini(&spans);
    fs_tool_traffic_fini(&traffic);
    return rc;
}

static int run_all(const args_t *args, const fs_tool_sim_setup_t *setup,
                   fs_tool_sim_outcome_t *mean)
{
    int rc = run_once(args, setup, 0, mean);

    for (uint32_t k = 1; k < args->runs && rc == FS_TOOL_OK; ++k) {
        fs_tool_sim_outcome_t one;

        rc = run_once(args, setup, k, &one);
        if (rc == FS_TOOL_OK) {
            fs_tool_sim_mean(mean, &one);
        }
    }
    return rc;
}

int fs_cmd_sim(int argc, char **argv)
{
    args_t                args;
    fs_tool_sim_setup_t   setup;
    fs_tool_sim_outcome_t outcome;
    int                   rc = read_args(argc, argv, &args);

    if (rc != FS_TOOL_GO_ON) {
        return rc;
    }
    rc = check(&args);
    if (rc == FS_TOOL_OK) {
        rc = make_setup(&args, &setup);
    }
    if (rc == FS_TOOL_OK) {
        rc = run_all(&args, &setup, &outcome);
    }
    if (rc == FS_TOOL_OK) {
        (args.json ? fs_tool_sim_json : fs_tool_sim_text)(stdout, &setup,
                                                          &outcome);
    }
    return rc;
}
