/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fastsched bench: how long one rank plans, for one call.
 *
 * Timed is what a rank does between knowing the byte counts and sending: sum
 * up its server's row, check and sum the server matrix, select, schedule,
 * balance its own tiles, write its program. Drawing the traffic is not.
 */
#include "base/fs_digest.h"
#include "base/fs_json.h"
#include "base/fs_value.h"
#include "sched/decompose/fs_replan.h"
#include "sched/model/fs_pattern.h"
#include "sched/plan/fs_plan.h"
#include "tools/fs_tool.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_progress.h"
#include "tools/fs_tool_sample.h"

#include <inttypes.h>
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
    uint32_t    rounds;  /* 0: as many as fit */
    uint32_t    changed; /* percent */
    uint32_t    json;
    uint64_t    seed;
    uint64_t    mean;
} args_t;

/* A case in hand, and its times. */
typedef struct bench {
    const args_t    *args;
    uint32_t         servers;
    char             pattern[NAME_LEN], decompose[NAME_LEN];
    fs_plan_params_t params;
    fs_tool_sample_t sample;
    fs_replan_t      replan;
    uint64_t         state; /* of the changes */
    uint64_t        *row;   /* [n_servers] */
    uint64_t        *per_lane;
    uint64_t        *drawn; /* [n_servers x n_servers] before changes */
    uint64_t         times[MAX_ROUNDS];
    const char      *chosen; /* what made the schedule */
    uint32_t         stages;
    double           over_bound;
} bench_t;

static void read_args(int argc, char **argv, args_t *args)
{
    fs_tool_options_t options = {
        .usage = "bench [OPTIONS]\n\n"
                 "Median planning time of one rank. LIST: values and commas."};
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TEXT, "servers", "LIST", "(8,12,40,128,1024)",
         .value = &args->servers},
        {FS_TOOL_U32, "lanes", "M",
         "ranks of a server, each with its own lane (", .value = &args->lanes,
         1, 64},
        {FS_TOOL_TEXT, "pattern", "LIST", "(random,zipf:0.8)",
         .value = &args->patterns},
        {FS_TOOL_TEXT, "decompose", "LIST", "(auto)",
         .value = &args->decomposes},
        {FS_TOOL_U64, "seed", "S", "seed of the patterns (",
         .value = &args->seed, 0, UINT64_MAX},
        {FS_TOOL_BYTES, "mean", "BYTES", "average over all pairs of ranks (",
         .value = &args->mean, 1, UINT64_C(1) << 32},
        {FS_TOOL_U32, "changed", "PERCENT",
         "cells of the server matrix that have changed\nsince an earlier plan "
         "(",
         .value = &args->changed, 0, 100},
        {FS_TOOL_U32, "repeat", "K",
         "rounds of a case (as many as fit in 0.4 s,\nat least 5)",
         .value = &args->rounds, 1, MAX_ROUNDS},
        FS_TOOL_FORMAT(&args->json),
    };

    *args = (args_t){.servers    = "8,12,40,128,1024",
                     .patterns   = "random,zipf:0.8",
                     .decomposes = "auto",
                     .lanes      = 8,
                     .seed       = 1,
                     .mean       = 1 << 20};
    FS_TOOL_ADD(&options, rows);
    fs_tool_read_options(argc, argv, &options);
}

/* ---- lists ---- */

/* What to do with an item of a list; NULL: it is only checked. */
typedef void (*each_t)(bench_t *bench);

/* Read the item into the bench, or end the command. */
typedef void (*read_t)(bench_t *bench, const char *item);

static void for_each(bench_t *bench, const char *list, read_t read, each_t each)
{
    char item[NAME_LEN];

    while (*list != '\0') {
        size_t len = strcspn(list, ",");

        snprintf(item, NAME_LEN, "%.*s", (int)len, list);
        list += len;
        list += *list == ',';
        read(bench, item);
        if (each != NULL) {
            each(bench);
        }
    }
}

static void check_list(bench_t *bench, const char *option, const char *list,
                       read_t read)
{
    if (list[0] == '\0') {
        fs_tool_bad("--%s: the list is empty", option);
    }
    for_each(bench, list, read, NULL);
}

static void read_servers(bench_t *bench, const char *item)
{
    uint64_t n, max = 65536 / bench->args->lanes;

    if (!fs_value_number(item, &n) || n < 2 || n > max) {
        fs_tool_bad("--servers \"%s\": allowed: 2 to %" PRIu64
                    ", separated by commas",
                    item, max);
    }
    bench->servers = (uint32_t)n;
}

static void read_pattern(bench_t *bench, const char *item)
{
    fs_pattern_t pattern;
    char         why[WHY_LEN];

    if (fs_pattern_parse(item, &pattern, why, sizeof(why)) != FS_OK) {
        fs_tool_bad("--pattern %s", why);
    }
    snprintf(bench->pattern, NAME_LEN, "%s", item);
}

static void read_decompose(bench_t *bench, const char *item)
{
    uint32_t how;

    if (!fs_tool_find_word(fs_tool_decompose_word, item, &how)) {
        fs_tool_bad(
            "--decompose \"%s\": allowed: auto, compact, openshop, "
            "birkhoff, hierarchical, spreadout, best, separated by commas",
            item);
    }
    bench->params.decompose = (fs_decompose_t)how;
    snprintf(bench->decompose, NAME_LEN, "%s", item);
}

/* ---- one case ---- */

/* What the leader of server 0 tells the others. */
static void sum_row(bench_t *bench)
{
    uint32_t        n = bench->servers, m = bench->args->lanes;
    const uint64_t *at = bench->sample.local.send;

    memset(bench->row, 0, n * sizeof(*bench->row));
    for (uint32_t i = 0; i < m; ++i) {
        for (uint32_t w = 0; w < n; ++w) {
            for (uint32_t j = 0; j < m; ++j) {
                bench->row[w] += *at++;
            }
        }
    }
    memcpy(bench->sample.summary.bytes, bench->row, n * sizeof(*bench->row));
}

static fs_replan_t *replan_of(bench_t *bench)
{
    return bench->args->changed > 0 ? &bench->replan : NULL;
}

static fs_status_t plan_once(bench_t *bench, fs_plan_t **plan_p)
{
    fs_tool_sample_t *sample  = &bench->sample;
    fs_plan_request_t request = {.topo    = sample->topo,
                                 .traffic = &sample->summary,
                                 .params  = &bench->params,
                                 .local   = &sample->local,
                                 .replan  = replan_of(bench)};
    fs_status_t       status;

    sum_row(bench);
    status = fs_traffic_sum(&sample->summary);
    if (status == FS_OK) {
        fs_choice_t choice =
            fs_select(sample->topo, &sample->summary, &bench->params);

        status = fs_plan_make(&request, choice.alg, plan_p);
    }
    return status;
}

/* Each returns how long it took. */
typedef uint64_t (*timed_t)(bench_t *bench);

static uint64_t time_plan(bench_t *bench)
{
    const fs_tool_sample_t *sample = &bench->sample;
    uint64_t                start  = fs_tool_now_ns(), took, bound;
    fs_plan_t              *plan;
    fs_status_t             status = plan_once(bench, &plan);

    took = fs_tool_now_ns() - start;
    fs_tool_must(status, bench->decompose);
    bound         = fs_traffic_lower_bound(sample->topo, &sample->summary);
    bench->stages = plan->n_stages;
    bench->over_bound =
        bound == 0 ? 1 : (double)plan->total_per_lane / (double)bound;
    fs_plan_destroy(plan);
    return took;
}

static uint64_t time_schedule(bench_t *bench)
{
    uint64_t       start = fs_tool_now_ns(), took;
    fs_schedule_t *schedule;
    fs_status_t    status = fs_schedule_update(
           replan_of(bench), bench->params.decompose, bench->params.stage_cost,
           bench->servers, bench->per_lane, 0, &schedule);

    took = fs_tool_now_ns() - start;
    fs_tool_must(status, bench->decompose);
    bench->chosen = fs_decompose_name(schedule->decompose);
    fs_schedule_destroy(schedule);
    return took;
}

static void set_per_lane(bench_t *bench)
{
    size_t   n = (size_t)bench->servers * bench->servers;
    uint64_t m = bench->args->lanes;

    for (size_t k = 0; k < n; ++k) {
        bench->per_lane[k] = (bench->sample.summary.bytes[k] + m - 1) / m;
    }
}

/* Some pairs of other servers change. */
static void change_cells(bench_t *bench)
{
    uint32_t  n     = bench->servers;
    uint64_t *bytes = bench->sample.summary.bytes;

    for (uint32_t u = 1; u < n; ++u) {
        for (uint32_t w = 1; w < n; ++w) {
            uint64_t *cell = &bytes[(size_t)u * n + w];

            bench->state = fs_mix64(bench->state + 1);
            if (bench->state % 100 < bench->args->changed) {
                *cell = bench->state >> 63 == 0 ? *cell / 2 : *cell + *cell / 2;
            }
        }
    }
    set_per_lane(bench);
}

/* The matrix as drawn is planned twice; then one that differs is timed. */
static uint64_t time_changed(bench_t *bench, timed_t time_it)
{
    uint64_t *bytes = bench->sample.summary.bytes, took;
    size_t    len   = (size_t)bench->servers * bench->servers * sizeof(*bytes);

    fs_replan_clear(&bench->replan);
    time_it(bench);
    time_it(bench);
    memcpy(bench->drawn, bytes, len);
    change_cells(bench);
    took = time_it(bench);
    memcpy(bytes, bench->drawn, len);
    set_per_lane(bench);
    return took;
}

/* The median of as many rounds as were asked for, or as fit. */
static double time_rounds(bench_t *bench, timed_t time_it)
{
    uint32_t rounds = bench->args->rounds, n = 0;
    uint64_t spent = 0;

    do {
        bench->times[n] = bench->args->changed > 0
                              ? time_changed(bench, time_it)
                              : time_it(bench);
        spent += bench->times[n++];
    } while (rounds != 0
                 ? n < rounds
                 : n < MIN_ROUNDS || (n < MAX_ROUNDS && spent < BUDGET_NS));
    return fs_tool_median_us(bench->times, n);
}

static void run_case(bench_t *bench)
{
    double    plan_us     = time_rounds(bench, time_plan);
    double    schedule_us = time_rounds(bench, time_schedule);
    fs_json_t json;

    if (bench->args->json) {
        fs_json_init(&json, stdout, 0);
        fs_json_open(&json, NULL, '{');
        fs_json_u64(&json, "servers", bench->servers);
        fs_json_u64(&json, "lanes", bench->args->lanes);
        fs_json_text(&json, "pattern", bench->pattern);
        fs_json_text(&json, "decompose", bench->decompose);
        fs_json_text(&json, "chosen", bench->chosen);
        fs_json_real(&json, "plan_us", plan_us, 3);
        fs_json_real(&json, "schedule_us", schedule_us, 3);
        fs_json_u64(&json, "stages", bench->stages);
        fs_json_real(&json, "total_over_lb", bench->over_bound, 6);
        fs_json_close(&json);
    } else {
        printf("%7u  %5u  %-14s  %-12s  %-12s  %11.1f  %11.1f  %6u  %8.4f\n",
               bench->servers, bench->args->lanes, bench->pattern,
               bench->decompose, bench->chosen, plan_us, schedule_us,
               bench->stages, bench->over_bound);
    }
    fflush(stdout);
}

/* ---- all cases ---- */

static void run_pattern(bench_t *bench)
{
    const args_t *args = bench->args;
    size_t        n    = bench->servers;
    fs_pattern_t  pattern;
    char          why[WHY_LEN];

    fs_pattern_parse(bench->pattern, &pattern, why, sizeof(why));
    fs_tool_progress_begin("drawing the traffic", 0);
    fs_tool_sample_make(&pattern, bench->servers, args->lanes, args->mean,
                        args->seed, &bench->sample);
    fs_tool_progress_end();
    bench->row      = fs_tool_calloc(n, sizeof(uint64_t));
    bench->per_lane = fs_tool_calloc(n * n, sizeof(uint64_t));
    bench->drawn    = fs_tool_calloc(n * n, sizeof(uint64_t));
    bench->state    = args->seed;
    set_per_lane(bench);
    for_each(bench, args->decomposes, read_decompose, run_case);
    free(bench->row);
    free(bench->per_lane);
    free(bench->drawn);
    fs_replan_clear(&bench->replan);
    fs_tool_sample_fini(&bench->sample);
}

static void run_servers(bench_t *bench)
{
    for_each(bench, bench->args->patterns, read_pattern, run_pattern);
}

void fs_cmd_bench(int argc, char **argv)
{
    args_t                args;
    fs_tool_params_args_t params;
    fs_tool_options_t     unused = {0};
    bench_t               bench  = {.args = &args};

    read_args(argc, argv, &args);
    fs_tool_params_options(&params, &unused); /* the defaults */
    params.algorithm          = FS_ALG_STAGED;
    params.plan.chunk         = CHUNK;
    params.plan.staging_limit = 64 * CHUNK;
    bench.params              = fs_tool_params(&params);
    check_list(&bench, "servers", args.servers, read_servers);
    check_list(&bench, "pattern", args.patterns, read_pattern);
    check_list(&bench, "decompose", args.decomposes, read_decompose);
    if (!args.json) {
        printf("servers  lanes  pattern         decompose     chosen        "
               "   plan (us)  sched. (us)  stages  total/LB\n");
    }
    for_each(&bench, args.servers, read_servers, run_servers);
}
