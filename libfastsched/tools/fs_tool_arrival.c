/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks enter apart. Without the early exchange all that happens is later: the
 * last entry, then the summary and the agreement on the plan, then the exchange
 * as it is where all enter together. With it, the call is simulated in two parts:
 * what goes early (fs_sim_early.h), and a plan for the rest.
 */
#include "tools/fs_tool_arrival.h"

#include "sim/fs_sim_early.h"
#include "tools/fs_tool_progress.h"
#include "tools/fs_tool_units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { UNSET = UINT32_MAX, AGREEMENTS = 2, MIN_CHUNK = 64 };

#define MOST_SECONDS 9e6 /* 2^53 ns */

/* ---- options ---- */

void fs_tool_arrival_options(fs_tool_arrival_args_t *args,
                             fs_tool_options_t      *options)
{
    const fs_tool_option_t rows[] = {
        {FS_TOOL_TITLE, .name = "Ranks that enter apart"},
        {FS_TOOL_TEXT, "arrival", "WHEN",
         "in shares F of the lower bound: uniform:F,\n"
         "late:RANK:F or exp:F (mean F), drawn from the\n"
         "seed; staged only",
         .value = &args->text},
        {FS_TOOL_MILLI, "agreement", "US",
         "microseconds from the last vote until all\n"
         "ranks have the result (--alpha for each\n"
         "doubling of servers)",
         .value = &args->agreement_milli, 0, UNSET - 1},
        {FS_TOOL_BYTES, "early-chunk", "BYTES",
         "maximum size of what is sent before all ranks\n"
         "have entered (that of --chunk)",
         .value = &args->early_chunk, MIN_CHUNK, UINT64_C(1) << 62},
    };

    *args = (fs_tool_arrival_args_t){.agreement_milli = UNSET};
    FS_TOOL_ADD(options, rows);
}

void fs_tool_arrival_read(fs_tool_arrival_args_t *args)
{
    if (args->text == NULL &&
        (args->agreement_milli != UNSET || args->early_chunk != 0)) {
        fs_tool_bad("--%s needs --arrival",
                    args->early_chunk == 0 ? "agreement" : "early-chunk");
    }
    if (args->text != NULL &&
        fs_arrival_parse(args->text, &args->arrival) != FS_OK) {
        fs_tool_bad("--arrival \"%s\": allowed: " FS_ARRIVAL_ALLOWED,
                    fs_tool_quote(args->text));
    }
}

void fs_tool_arrival_check(const fs_tool_arrival_args_t *args, uint32_t n_ranks)
{
    if (args->text != NULL && args->arrival.rank >= n_ranks) {
        fs_tool_bad("--arrival \"%s\": there is no rank %" PRIu32
                    "; allowed: 0 to %" PRIu32,
                    fs_tool_quote(args->text), args->arrival.rank, n_ranks - 1);
    }
}

/* ---- the run ---- */

static double agreement(const fs_tool_arrival_args_t *args,
                        const fs_tool_sim_setup_t *setup, uint32_t n_servers)
{
    uint32_t doublings = 0;

    if (args->agreement_milli != UNSET) {
        return args->agreement_milli * 1e-9;
    }
    while (UINT64_C(1) << doublings < n_servers) {
        ++doublings;
    }
    return doublings * setup->params.alpha_out;
}

static uint64_t *draw(const fs_tool_arrival_args_t *args, uint64_t seed,
                      uint32_t n_ranks, double optimal)
{
    uint64_t *entry_ns = fs_tool_calloc(n_ranks, sizeof(*entry_ns));

    if (optimal > MOST_SECONDS) {
        fs_tool_bad("--arrival \"%s\": the lower bound is %g s; allowed: up to "
                    "%g s",
                    fs_tool_quote(args->text), optimal, MOST_SECONDS);
    }
    fs_arrival_draw(&args->arrival, seed, 0, n_ranks, (uint64_t)(optimal * 1e9),
                    entry_ns);
    return entry_ns;
}

static void find_bound(const fs_tool_sim_setup_t *setup,
                       const fs_tool_traffic_t   *traffic,
                       const uint64_t            *entry_ns,
                       fs_tool_arrival_outcome_t *outcome)
{
    uint64_t rate = (uint64_t)(setup->params.rate_out * 8), bound_ns;

    fs_tool_must(fs_arrival_bound(traffic->topo, traffic->pairs, entry_ns, rate,
                                  &bound_ns),
                 "entries");
    outcome->bound = (double)bound_ns * 1e-9;
}

/* The rest becomes the traffic. False: ranks cannot begin early. */
static bool begin_early(const fs_tool_sim_setup_t *setup,
                        const fs_sim_early_t *call, fs_tool_traffic_t *traffic,
                        fs_tool_arrival_outcome_t *outcome)
{
    size_t                n    = traffic->n_ranks;
    uint64_t             *rest = fs_tool_calloc(n * n, sizeof(*rest));
    fs_sim_early_result_t result;
    fs_status_t           status;

    fs_tool_progress_begin("simulating what goes early", 0);
    status = fs_sim_early_run(call, &setup->params, rest, &result);
    fs_tool_progress_end();
    if (status == FS_ERR_UNSUPPORTED) {
        free(rest);
        return false;
    }
    fs_tool_must(status, "simulating what goes early");
    fs_tool_traffic_replace(traffic, rest);
    outcome->planned = result.planned;
    outcome->ready   = result.ready;
    outcome->chunk   = (double)result.chunk;
    outcome->bytes   = (double)result.bytes;
    outcome->words   = (double)result.n_words;
    return true;
}

void fs_tool_arrival_run(const fs_tool_arrival_args_t *args, uint64_t seed,
                         const fs_tool_sim_setup_t   *setup,
                         const fs_tool_sim_outcome_t *together,
                         fs_tool_traffic_t           *traffic,
                         fs_tool_arrival_outcome_t   *outcome)
{
    double    optimal  = together->result.optimal;
    uint64_t *entry_ns = draw(args, seed, traffic->n_ranks, optimal);
    double    last = (double)fs_arrival_last(entry_ns, traffic->n_ranks) * 1e-9;
    fs_sim_early_t call = {
        .topo       = traffic->topo,
        .rank_bytes = traffic->pairs,
        .entry_ns   = entry_ns,
        .max_chunk  = args->early_chunk == 0 ? together->chunk
                                             : args->early_chunk,
        .agreement  = agreement(args, setup, together->n_servers)};
    fs_tool_sim_outcome_t rest;

    *outcome = (fs_tool_arrival_outcome_t){
        .text       = args->text,
        .agreement  = call.agreement,
        .optimal    = optimal,
        .last_entry = last,
        .off        = last + AGREEMENTS * call.agreement + together->time,
        .on         = NAN,
        .planned    = NAN,
        .ready      = NAN,
        .chunk      = NAN,
        .bytes      = NAN,
        .words      = NAN};
    find_bound(setup, traffic, entry_ns, outcome);
    if (begin_early(setup, &call, traffic, outcome)) {
        fs_tool_sim_run(setup, traffic, NULL, &rest);
        outcome->on = outcome->ready + rest.time;
    }
    free(entry_ns);
}

void fs_tool_arrival_mean(fs_tool_arrival_outcome_t       *mean,
                          const fs_tool_arrival_outcome_t *one, uint32_t n)
{
    fs_tool_sim_mean_real(&mean->optimal, one->optimal, n);
    fs_tool_sim_mean_real(&mean->bound, one->bound, n);
    fs_tool_sim_mean_real(&mean->last_entry, one->last_entry, n);
    fs_tool_sim_mean_real(&mean->off, one->off, n);
    fs_tool_sim_mean_real(&mean->on, one->on, n);
    fs_tool_sim_mean_real(&mean->planned, one->planned, n);
    fs_tool_sim_mean_real(&mean->ready, one->ready, n);
    fs_tool_sim_mean_real(&mean->chunk, one->chunk, n);
    fs_tool_sim_mean_real(&mean->bytes, one->bytes, n);
    fs_tool_sim_mean_real(&mean->words, one->words, n);
}

/* ---- output ---- */

/* "early_off" and so on: a time from the first entry, and what it and the time
 * from the last one are over the lower bound. */
static void json_end(fs_json_t *json, const fs_tool_arrival_outcome_t *o,
                     const char *us, const char *over, const char *from_last,
                     double time)
{
    fs_json_real(json, us, time * 1e6, 3);
    fs_json_real(json, over, time / o->optimal, 6);
    fs_json_real(json, from_last, (time - o->last_entry) / o->optimal, 6);
}

void fs_tool_arrival_json(fs_json_t *json, const fs_tool_arrival_outcome_t *o)
{
    fs_json_text(json, "arrival", o->text);
    fs_json_real(json, "agreement_us", o->agreement * 1e6, 3);
    fs_json_real(json, "last_entry_us", o->last_entry * 1e6, 3);
    fs_json_real(json, "entry_bound_us", o->bound * 1e6, 3);
    fs_json_real(json, "entry_bound_over_optimal", o->bound / o->optimal, 6);
    json_end(json, o, "early_off_us", "early_off_over_optimal",
             "early_off_from_last_over_optimal", o->off);
    json_end(json, o, "early_on_us", "early_on_over_optimal",
             "early_on_from_last_over_optimal", o->on);
    fs_json_real(json, "planned_us", (o->planned - o->last_entry) * 1e6, 3);
    fs_json_real(json, "hand_over_us", (o->ready - o->last_entry) * 1e6, 3);
    fs_json_real(json, "early_chunk", o->chunk, 0);
    fs_json_real(json, "early_bytes", o->bytes, 0);
    fs_json_real(json, "early_words", o->words, 0);
}

static void print_end(const char *name, const fs_tool_arrival_outcome_t *o,
                      double time)
{
    printf("%-16s %14s from the first entry, %.3f of optimal; %.3f from "
           "the last\n",
           name, fs_tool_time_text(time).s, time / o->optimal,
           (time - o->last_entry) / o->optimal);
}

void fs_tool_arrival_text(const fs_tool_arrival_outcome_t *o)
{
    printf("entries          %s; agreements take %g us\n", o->text,
           o->agreement * 1e6);
    printf("%-16s %14s after the first\n", "last entry",
           fs_tool_time_text(o->last_entry).s);
    printf("%-16s %14s from the first entry, %.3f of optimal\n", "entry bound",
           fs_tool_time_text(o->bound).s, o->bound / o->optimal);
    print_end("early off", o, o->off);
    if (isnan(o->on)) {
        printf("early on         does not apply: it needs two servers, a NIC "
               "for each rank and\n"
               "                 at most 1024 ranks\n");
        return;
    }
    print_end("early on", o, o->on);
    printf("%-16s %14s after the last entry, planned after %s\n", "rest begins",
           fs_tool_time_text(o->ready - o->last_entry).s,
           fs_tool_time_text(o->planned - o->last_entry).s);
    printf("%-16s %14s, in chunks of %.0f bytes; %.0f words\n", "early",
           fs_tool_bytes_text(o->bytes).s, o->chunk, o->words);
}
