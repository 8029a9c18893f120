/* SPDX-License-Identifier: BSD-3-Clause */
/* fastsched sim: how long an exchange would take on a given cluster. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_arrival.h"
#include "tools/fs_tool_cluster.h"
#include "tools/fs_tool_loggp.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_python.h"
#include "tools/fs_tool_sim.h"

#include <string.h>
#include <sys/stat.h>

enum { MAX_RUNS = 1000, MIN_CHUNK = 64 };

#define UNGIVEN UINT64_MAX

typedef struct args {
    fs_tool_traffic_args_t traffic;
    fs_tool_params_args_t  params;
    fs_tool_loggp_args_t   loggp;
    fs_tool_arrival_args_t arrival;
    fs_tool_cluster_args_t cluster;
    uint32_t               algorithm;
    bool                   count_scheduling;
    uint32_t               level;
    uint32_t               runs;
    uint32_t               json;
    const char            *svg; /* NULL: none */
} args_t;

/* ---- options ---- */

static const char *level_word(uint32_t k)
{
    static const char *const words[] = {"auto", "ranks", "lanes", "loggp",
                                        NULL};

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
        "start-up cost of a message, as the bytes a lane\n"
        "can send in that time; for --decompose auto\n"
        "(--alpha times --scale-out)";
    row       = find_row(options, "chunk");
    row->help = "maximum size of a message (a thousandth of\n"
                "what a rank sends, at least 64k)";
    row->min  = MIN_CHUNK;
    find_row(options, "staging-limit")->help =
        "maximum staging memory of a rank (64m, or 64\n"
        "chunks if that is more); at least 12 chunks";
    args->params.plan.stage_cost    = UNGIVEN;
    args->params.plan.chunk         = 0;
    args->params.plan.staging_limit = 0;
}

static void add_own_rows(args_t *args, fs_tool_options_t *options)
{
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Run"},
        {FS_TOOL_FLAG, "count-scheduling", NULL,
         "add the time the slowest rank needs to plan,\n"
         "measured on this machine",
         .value = &args->count_scheduling},
        {FS_TOOL_WORD, "level", "NAME",
         "ranks: all programs; lanes: one lane for\n"
         "each server, coarser; loggp: start-up costs of\n"
         "messages count (bundles, direct, spreadout);\n"
         "auto: loggp for bundles, lanes for staged\n"
         "beyond 1024 ranks, else ranks (auto)",
         .value = &args->level, .word = level_word},
        {FS_TOOL_U32, "repeat", "K", "means of the seeds S to S + K - 1 (",
         .value = &args->runs, 1, MAX_RUNS},
        {FS_TOOL_TITLE, .name = "Output"},
        FS_TOOL_FORMAT(&args->json),
        {FS_TOOL_TEXT, "svg", "FILE",
         "a Gantt chart of NICs and scale-up ports,\n"
         "of the first run; - is standard output, and then\n"
         "nothing else is",
         .value = &args->svg},
    };

    FS_TOOL_ADD(options, rows);
}

static void read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage = "sim --matrix FILE|--pattern NAME [OPTIONS]\n\n"
                 "Simulated time of an exchange on a cluster."};

    *args = (args_t){.runs = 1};
    fs_tool_traffic_options(&args->traffic, &options);
    add_plan_rows(args, &options);
    fs_tool_cluster_options(&args->cluster, &options);
    add_own_rows(args, &options);
    fs_tool_arrival_options(&args->arrival, &options);
    fs_tool_loggp_options(&args->loggp, &options);
    fs_tool_read_options(argc, argv, &options);
}

/* ---- values ---- */

/* With what was not given by the user left to the traffic. */
static void make_setup(args_t *args, fs_tool_sim_setup_t *setup)
{
    *setup = (fs_tool_sim_setup_t){.algorithm        = args->algorithm,
                                   .level            = args->level,
                                   .count_scheduling = args->count_scheduling,
                                   .title            = "Simulated exchange"};
    fs_tool_cluster_params(&args->cluster, &setup->params);
    if (args->params.plan.stage_cost == UNGIVEN) {
        args->params.plan.stage_cost = fs_tool_cluster_cost(&setup->params);
    }
    args->params.algorithm =
        args->algorithm < FS_TOOL_SIM_OURS ? args->algorithm : FS_ALG_STAGED;
    setup->plan = fs_tool_params(&args->params);
}

/* Entries are of the staged algorithm: auto becomes that. */
static void check_arrival(args_t *args)
{
    fs_tool_arrival_read(&args->arrival);
    if (args->arrival.text == NULL) {
        return;
    }
    if (args->algorithm == 0) {
        args->algorithm = FS_ALG_STAGED;
    }
    if (args->algorithm != FS_ALG_STAGED) {
        fs_tool_bad("--arrival supports only --algorithm staged, not %s",
                    fs_tool_sim_algorithm(args->algorithm));
    }
    if (args->svg != NULL) {
        fs_tool_bad("--arrival knows no --svg");
    }
}

/* Each run reads the matrix. */
static void check_repeat(const args_t *args)
{
    const char *path = fs_tool_traffic_path(&args->traffic);
    struct stat st;

    if (path != NULL && args->arrival.text == NULL) {
        fs_tool_bad("--repeat draws a pattern again and again; a matrix is "
                    "always the same");
    }
    if (path != NULL && (strcmp(path, "-") == 0 ||
                         (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))) {
        fs_tool_bad("--repeat reads the matrix \"%s\" for each run; allowed: a "
                    "file",
                    fs_tool_quote(path));
    }
}

/* Only what the user gave both of can be wrong. */
static void check(const args_t *args)
{
    const fs_plan_params_t *plan = &args->params.plan;

    if (args->algorithm == FS_TOOL_SIM_BUNDLES) {
        fs_tool_bad("--algorithm bundles needs --level loggp");
    }
    if (args->runs > 1) {
        check_repeat(args);
    }
    if (plan->staging_limit != 0 && plan->chunk == 0) {
        fs_tool_bad("--staging-limit needs --chunk");
    }
    if (plan->staging_limit != 0) {
        fs_tool_params_check(&args->params);
    }
}

/* ---- runs ---- */

typedef struct outcome {
    fs_tool_sim_outcome_t     sim;
    fs_tool_arrival_outcome_t arrival; /* with --arrival */
} outcome_t;

static void run_once(const args_t *args, const fs_tool_sim_setup_t *setup,
                     uint32_t k, outcome_t *outcome)
{
    fs_tool_traffic_args_t from = args->traffic;
    fs_tool_traffic_t      traffic;

    from.seed += k;
    fs_tool_traffic_make(&from, &traffic);
    fs_tool_arrival_check(&args->arrival, traffic.n_ranks);
    fs_tool_sim_run(setup, &traffic, k == 0 ? args->svg : NULL, &outcome->sim);
    if (args->arrival.text != NULL) {
        fs_tool_arrival_run(&args->arrival, from.seed, setup, &outcome->sim,
                            &traffic, &outcome->arrival);
    }
    fs_tool_traffic_fini(&traffic);
}

static void run_all(const args_t *args, const fs_tool_sim_setup_t *setup,
                    outcome_t *mean)
{
    outcome_t one = {0};

    run_once(args, setup, 0, mean);
    for (uint32_t k = 1; k < args->runs; ++k) {
        run_once(args, setup, k, &one);
        fs_tool_sim_mean(&mean->sim, &one.sim);
        fs_tool_arrival_mean(&mean->arrival, &one.arrival, mean->sim.n_runs);
    }
}

/* ---- small calls ---- */

static bool is_loggp(const args_t *args)
{
    return args->level == FS_TOOL_SIM_LOGGP ||
           (args->level == FS_TOOL_SIM_AUTO &&
            args->algorithm == FS_TOOL_SIM_BUNDLES);
}

/* Messages of a rank at a time; 0: bundles. */
static uint32_t batch_of(const args_t *args)
{
    switch (args->algorithm) {
    case 0:
    case FS_TOOL_SIM_BUNDLES:
        return 0;
    case FS_ALG_DIRECT:
        return args->loggp.batch;
    case FS_TOOL_SIM_OURS + FS_SIM_SPREADOUT:
        return 1;
    }
    fs_tool_bad("--level loggp knows only --algorithm bundles, direct and "
                "spreadout");
}

static void run_loggp(const args_t *args)
{
    fs_tool_loggp_setup_t setup = {
        .args      = &args->loggp,
        .traffic   = &args->traffic,
        .algorithm = fs_tool_sim_algorithm(
            args->algorithm == 0 ? FS_TOOL_SIM_BUNDLES : args->algorithm),
        .batch = batch_of(args),
        .json  = args->json,
    };

    if (args->arrival.text != NULL) {
        fs_tool_bad("--level loggp knows no --arrival");
    }
    if (args->svg != NULL || args->count_scheduling || args->runs > 1) {
        fs_tool_bad("--level loggp knows no --svg, --count-scheduling or "
                    "--repeat");
    }
    fs_tool_cluster_loggp(&args->cluster, &setup.params);
    fs_tool_loggp_run(&setup);
}

void fs_cmd_sim(int argc, char **argv)
{
    args_t              args;
    fs_tool_sim_setup_t setup;
    outcome_t           mean = {0};

    read_args(argc, argv, &args);
    if (is_loggp(&args)) {
        run_loggp(&args);
        return;
    }
    check_arrival(&args);
    check(&args);
    make_setup(&args, &setup);
    run_all(&args, &setup, &mean);
    if (!fs_tool_is_stdout(args.svg)) {
        (args.json ? fs_tool_sim_json : fs_tool_sim_text)(
            &setup, &mean.sim,
            args.arrival.text == NULL ? NULL : &mean.arrival);
    }
}
