/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fastsched bench: how long one rank plans, for one call.
 *
 * Timed is what a rank does between knowing the byte counts and sending: sum
 * up its server's row, check and sum the server matrix, select, schedule,
 * balance its own tiles, write its program. Drawing the traffic is not.
 */
#include "sched/fs_pattern.h"
#include "tools/fs_tool.h"
#include "tools/fs_tool_json.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_progress.h"
#include "tools/fs_tool_sample.h"

#include <stdlib.h>
#include <string.h>

/* Rounds when none are asked for: as many as fit, within limits. */
enum { MIN_ROUNDS = 5, MAX_ROUNDS = 1001, NAME_LEN = 64, WHY_LEN = 512 };
#define BUDGET_NS UINT64_C(400000000)

/* No lane ever sends so much: a slice of a lane is one message. */
#define CHUNK (UINT64_C(1) << 40)

typedef struct args {
    const char *servers;
    const char *patterns;
    const char *decomposes;
    uint32_t    lanes;
    uint32_t    rounds; /* 0: as many as fit */
    uint32_t    json;
    uint64_t    seed;
    uint64_t    mean;
} args_t;

typedef struct result {
    uint32_t    servers;
    const char *pattern;
    const char *decompose; /* asked for */
    const char *chosen;    /* what made the schedule */
    uint32_t    stages;
    double      plan_us;     /* median */
    double      schedule_us; /* median, of fs_schedule_create() alone */
    double      over_bound;
} result_t;

/* The parameters of the run, and the times of a case. */
typedef struct bench {
    const args_t     *args;
    fs_plan_params_t  params;
    fs_tool_sample_t *sample;
    uint64_t         *row; /* [n_servers] */
    uint64_t         *per_lane;
    uint64_t          times[MAX_ROUNDS];
} bench_t;

static int read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage = "bench [OPTIONS]\n\n"
                 "How long one rank plans: medians. Lists have commas."};

    *args = (args_t){.servers    = "8,12,40,128,1024",
                     .patterns   = "random,zipf:0.8",
                     .decomposes = "auto",
                     .lanes      = 8,
                     .seed       = 1,
                     .mean       = 1 << 20};
    fs_tool_add(&options, (fs_tool_option_t){FS_TOOL_TEXT, "servers", "LIST",
                                             "(8,12,40,128,1024)",
                                             .value = &args->servers});
    fs_tool_add(&options, (fs_tool_option_t){
                              FS_TOOL_U32, "lanes", "M",
                              "ranks of a server, each with its own lane (8)",
                              .value = &args->lanes, 1, 64});
    fs_tool_add(&options, (fs_tool_option_t){FS_TOOL_TEXT, "pattern", "LIST",
                                             "(random,zipf:0.8)",
                                             .value = &args->patterns});
    fs_tool_add(&options,
                (fs_tool_option_t){FS_TOOL_TEXT, "decompose", "LIST", "(auto)",
                                   .value = &args->decomposes});
    fs_tool_add(&options, (fs_tool_option_t){
                              FS_TOOL_U64, "seed", "S", "of the patterns (1)",
                              .value = &args->seed, 0, UINT64_MAX});
    fs_tool_add(&options,
                (fs_tool_option_t){FS_TOOL_BYTES, "mean", "BYTES",
                                   "average over all pairs of ranks (1m)",
                                   .value = &args->mean, 1, UINT64_C(1) << 32});
    fs_tool_add(&options, (fs_tool_option_t){
                              FS_TOOL_U32, "repeat", "K",
                              "rounds of a case (as many as fit in 0.4 s,\n"
                              "5 at least)",
                              .value = &args->rounds, 1, MAX_ROUNDS});
    fs_tool_format_option(&args->json, &options);
    return fs_tool_read_options(argc, argv, &options);
}

/* ---- lists ---- */

/* Copy the next item of a list to item; false: there is none. */
static bool next_item(const char **list, char item[NAME_LEN])
{
    size_t len = strcspn(*list, ",");

    if (**list == '\0') {
        return false;
    }
    snprintf(item, NAME_LEN, "%.*s", (int)len, *list);
    *list += len;
    *list += **list == ',';
    return true;
}

static int check_servers(const args_t *args)
{
    const char *list = args->servers;
    char        item[NAME_LEN];
    uint64_t    n = 0, max = 65536 / args->lanes;

    while (next_item(&list, item)) {
        if (!fs_tool_read_number(FS_TOOL_U32, item, &n) || n < 2 || n > max) {
            return fs_tool_bad("--servers \"%s\": allowed: 2 to %llu, and "
                               "commas between",
                               item, (unsigned long long)max);
        }
    }
    return n == 0 ? fs_tool_bad("--servers: the list is empty") : FS_TOOL_OK;
}

static int check_patterns(const args_t *args)
{
    const char  *list = args->patterns;
    char         item[NAME_LEN], why[WHY_LEN];
    fs_pattern_t pattern;

    while (next_item(&list, item)) {
        if (fs_pattern_parse(item, &pattern, why, sizeof(why)) != FS_OK) {
            return fs_tool_bad("--pattern %s", why);
        }
    }
    return FS_TOOL_OK;
}

static bool find_decompose(const char *item, fs_decompose_t *how_p)
{
    for (uint32_t k = 0; fs_tool_decompose_word(k) != NULL; ++k) {
        if (strcmp(fs_tool_decompose_word(k), item) == 0) {
            *how_p = (fs_decompose_t)k;
            return true;
        }
    }
    return false;
}

static int check_decomposes(const args_t *args)
{
    const char    *list = args->decomposes;
    char           item[NAME_LEN];
    fs_decompose_t how;

    while (next_item(&list, item)) {
        if (!find_decompose(item, &how)) {
            return fs_tool_bad("--decompose \"%s\": allowed: auto, compact, "
                               "openshop, birkhoff, hierarchical, spreadout, "
                               "and commas between",
                               item);
        }
    }
    return FS_TOOL_OK;
}

/* ---- one case ---- */

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Of n times, sorted on the way; the mean of the middle two if n is even. */
static double median_us(uint64_t *times, uint32_t n)
{
    qsort(times, n, sizeof(*times), compare_times);
    return (double)(times[(n - 1) / 2] + times[n / 2]) / 2000;
}

/* What the leader of server 0 tells the others. */
static void sum_row(bench_t *bench)
{
    const fs_tool_sample_t *sample = bench->sample;
    uint32_t                n      = sample->summary.n_servers;
    uint32_t                m      = bench->args->lanes;
    const uint64_t         *at     = sample->local.send;

    memset(bench->row, 0, n * sizeof(*bench->row));
    for (uint32_t i = 0; i < m; ++i) {
        for (uint32_t w = 0; w < n; ++w) {
            for (uint32_t j = 0; j < m; ++j) {
                bench->row[w] += *at++;
            }
        }
    }
    memcpy(sample->summary.bytes, bench->row, n * sizeof(*bench->row));
}

static fs_status_t plan_once(bench_t *bench, fs_plan_t **plan_p)
{
    fs_tool_sample_t *sample = bench->sample;
    fs_status_t       status;

    sum_row(bench);
    status = fs_traffic_sum(&sample->summary);
    if (status == FS_OK) {
        fs_choice_t choice =
            fs_select(sample->topo, &sample->summary, &bench->params);

        status = fs_plan_create(choice.alg, sample->topo, &sample->summary,
                                &bench->params, 0, &sample->local, plan_p);
    }
    return status;
}

static fs_status_t schedule_once(bench_t *bench, fs_schedule_t **schedule_p)
{
    const fs_traffic_t *summary = &bench->sample->summary;

    return fs_schedule_create(bench->params.decompose, bench->params.stage_cost,
                              summary->n_servers, bench->per_lane, 0,
                              schedule_p);
}

/* May there be another round, and another one? */
static bool goes_on(const bench_t *bench, uint32_t n, uint64_t spent_ns)
{
    if (bench->args->rounds != 0) {
        return n < bench->args->rounds;
    }
    return n < MIN_ROUNDS || (n < MAX_ROUNDS && spent_ns < BUDGET_NS);
}

static fs_status_t time_plans(bench_t *bench, result_t *result)
{
    uint64_t spent = 0;
    uint32_t n     = 0;

    for (; goes_on(bench, n, spent); ++n) {
        fs_plan_t  *plan   = NULL;
        uint64_t    start  = fs_tool_now_ns();
        fs_status_t status = plan_once(bench, &plan);

        bench->times[n] = fs_tool_now_ns() - start;
        spent += bench->times[n];
        if (status != FS_OK) {
            return status;
        }
        if (n == 0) {
            uint64_t bound = fs_traffic_lower_bound(bench->sample->topo,
                                                    &bench->sample->summary);

            result->stages = plan->n_stages;
            result->over_bound =
                bound == 0 ? 1 : (double)plan->total_per_lane / (double)bound;
        }
        fs_plan_destroy(plan);
    }
    result->plan_us = median_us(bench->times, n);
    return FS_OK;
}

static fs_status_t time_schedules(bench_t *bench, result_t *result)
{
    uint64_t spent = 0;
    uint32_t n     = 0;

    for (; goes_on(bench, n, spent); ++n) {
        fs_schedule_t *schedule = NULL;
        uint64_t       start    = fs_tool_now_ns();
        fs_status_t    status   = schedule_once(bench, &schedule);

        bench->times[n] = fs_tool_now_ns() - start;
        spent += bench->times[n];
        if (status != FS_OK) {
            return status;
        }
        result->chosen = fs_decompose_name(schedule->decompose);
        fs_schedule_destroy(schedule);
    }
    result->schedule_us = median_us(bench->times, n);
    return FS_OK;
}

static void set_per_lane(bench_t *bench)
{
    const fs_traffic_t *summary = &bench->sample->summary;
    size_t              n = (size_t)summary->n_servers * summary->n_servers;
    uint64_t            m = bench->args->lanes;

    for (size_t k = 0; k < n; ++k) {
        bench->per_lane[k] = (summary->bytes[k] + m - 1) / m;
    }
}

static void print(const args_t *args, const result_t *result)
{
    fs_tool_json_t json;

    if (!args->json) {
        printf("%7u  %5u  %-14s  %-12s  %-12s  %11.1f  %11.1f  %6u  %8.4f\n",
               result->servers, args->lanes, result->pattern, result->decompose,
               result->chosen, result->plan_us, result->schedule_us,
               result->stages, result->over_bound);
        fflush(stdout);
        return;
    }
    fs_tool_json_init(&json, stdout, 0);
    fs_tool_json_open(&json, NULL, '{');
    fs_tool_json_u64(&json, "servers", result->servers);
    fs_tool_json_u64(&json, "lanes", args->lanes);
    fs_tool_json_text(&json, "pattern", result->pattern);
    fs_tool_json_text(&json, "decompose", result->decompose);
    fs_tool_json_text(&json, "chosen", result->chosen);
    fs_tool_json_real(&json, "plan_us", result->plan_us, 3);
    fs_tool_json_real(&json, "schedule_us", result->schedule_us, 3);
    fs_tool_json_u64(&json, "stages", result->stages);
    fs_tool_json_real(&json, "total_over_lb", result->over_bound, 6);
    fs_tool_json_close(&json);
    fflush(stdout);
}

static int run_case(bench_t *bench, const char *pattern, const char *decompose)
{
    result_t    result = {.servers   = bench->sample->summary.n_servers,
                          .pattern   = pattern,
                          .decompose = decompose};
    fs_status_t status;

    find_decompose(decompose, &bench->params.decompose);
    status = time_plans(bench, &result);
    if (status == FS_OK) {
        status = time_schedules(bench, &result);
    }
    if (status != FS_OK) {
        return fs_tool_status(decompose, status);
    }
    print(bench->args, &result);
    return FS_TOOL_OK;
}

/* ---- all cases ---- */

static int run_decomposes(bench_t *bench, const char *pattern)
{
    const char *list = bench->args->decomposes;
    char        item[NAME_LEN];
    int         rc = FS_TOOL_OK;

    set_per_lane(bench);
    while (rc == FS_TOOL_OK && next_item(&list, item)) {
        rc = run_case(bench, pattern, item);
    }
    return rc;
}

static int draw(bench_t *bench, uint32_t servers, const char *name)
{
    fs_tool_progress_t *progress;
    fs_pattern_t        pattern;
    fs_status_t         status;
    char                why[WHY_LEN];

    fs_pattern_parse(name, &pattern, why, sizeof(why));
    progress = fs_tool_progress_begin("drawing the traffic", 0);
    status   = fs_tool_sample_make(&pattern, servers, bench->args->lanes,
                                   bench->args->mean, bench->args->seed,
                                   bench->sample);
    fs_tool_progress_end(progress);
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("--pattern", status);
}

static int run_pattern(bench_t *bench, uint32_t servers, const char *name)
{
    fs_tool_sample_t sample;
    int              rc;

    bench->sample   = &sample;
    bench->row      = calloc(servers, sizeof(*bench->row));
    bench->per_lane = calloc((size_t)servers * servers, sizeof(uint64_t));
    if (bench->row == NULL || bench->per_lane == NULL) {
        rc = fs_tool_status("bench", FS_ERR_NOMEM);
    } else {
        rc = draw(bench, servers, name);
        if (rc == FS_TOOL_OK) {
            rc = run_decomposes(bench, name);
            fs_tool_sample_fini(&sample);
        }
    }
    free(bench->row);
    free(bench->per_lane);
    return rc;
}

static int run_all(const args_t *args)
{
    fs_tool_params_args_t params;
    fs_tool_options_t     unused = {0};
    bench_t               bench  = {0};
    char                  servers[NAME_LEN], pattern[NAME_LEN];
    const char           *by_servers = args->servers;
    uint64_t              n          = 0;
    int                   rc         = FS_TOOL_OK;

    fs_tool_params_options(&params, &unused); /* the defaults */
    params.algorithm          = FS_ALG_STAGED;
    params.plan.chunk         = CHUNK;
    params.plan.staging_limit = 64 * CHUNK;
    bench.args                = args;
    bench.params              = fs_tool_params(&params);
    while (rc == FS_TOOL_OK && next_item(&by_servers, servers)) {
        const char *by_pattern = args->patterns;

        fs_tool_read_number(FS_TOOL_U32, servers, &n);
        while (rc == FS_TOOL_OK && next_item(&by_pattern, pattern)) {
            rc = run_pattern(&bench, (uint32_t)n, pattern);
        }
    }
    return rc;
}

int fs_cmd_bench(int argc, char **argv)
{
    args_t args;
    int    rc = read_args(argc, argv, &args);

    if (rc != FS_TOOL_GO_ON) {
        return rc;
    }
    rc = check_servers(&args);
    if (rc == FS_TOOL_OK) {
        rc = check_patterns(&args);
    }
    if (rc == FS_TOOL_OK) {
        rc = check_decomposes(&args);
    }
    if (rc == FS_TOOL_OK && !args.json) {
        printf("servers  lanes  pattern         decompose     chosen        "
               "   plan (us)  sched. (us)  stages  total/LB\n");
    }
    return rc == FS_TOOL_OK ? run_all(&args) : rc;
}
