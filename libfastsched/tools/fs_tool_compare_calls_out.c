/* SPDX-License-Identifier: BSD-3-Clause */
/* A comparison of a recording as text, and as JSON, whose keys fastsched(1)
 * explains; and what there is to advise. */
#include "base/fs_strbuf.h"
#include "tools/fs_tool_compare_calls.h"
#include "tools/fs_tool_style.h"
#include "tools/fs_tool_units.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- advice ---- */

static double best_time(const fs_tool_compare_calls_t *all)
{
    return all->times[all->best];
}

/* There is one kind, or none is simulated: what is said of the one with most
 * bytes between servers. */
static void advise_one(fs_tool_compare_calls_t *all, fs_strbuf_t *text)
{
    const fs_tool_compare_t *one = &all->kinds[all->longest].compare;

    all->advice = one->advice;
    if (all->n_kinds > 1 && one->advice == FS_TOOL_SMALL) {
        fs_strbuf_add(text,
                      "All calls with bytes between servers are small. Kind %u "
                      "has most: ",
                      all->longest + 1);
    }
    fs_strbuf_add(text, "%s", one->text);
    if (all->n_simulated > 0) {
        fs_strbuf_add(text, " All calls take %s instead of %s.",
                      fs_tool_time_text(all->fast).s,
                      fs_tool_time_text(best_time(all)).s);
    } else if (fs_topo_n_servers(one->traffic->topo) == 1) {
        fs_strbuf_add(
            text, " It was recorded on one server: --servers says what cluster "
                  "you ask about.");
    }
}

static void advise_times(fs_tool_compare_calls_t *all, fs_strbuf_t *text,
                         double gain)
{
    const char *name = fs_tool_way_name(all->best);
    double      fast = all->fast, best = best_time(all);

    if (gain >= FS_TOOL_COUNTS) {
        all->advice = FS_TOOL_GAIN;
        fs_strbuf_add(
            text,
            "You would gain %.1fx over the best of these, %s: %s instead of "
            "%s.",
            gain, name, fs_tool_time_text(fast).s, fs_tool_time_text(best).s);
    } else if (gain > 1 / FS_TOOL_COUNTS) {
        all->advice = FS_TOOL_NO_GAIN;
        fs_strbuf_add(text, "You gain nothing: %s takes as long as fast.",
                      name);
    } else {
        all->advice = FS_TOOL_LOSS;
        fs_strbuf_add(text,
                      "You would lose: fast takes %.2f times as long as %s.",
                      1 / gain, name);
    }
    if (all->n_losing > 0) {
        fs_strbuf_add(text,
                      " %" PRIu64
                      " of these calls are slower with fast; its tuner "
                      "(parameter tuner) would leave them to the MPI.",
                      all->n_losing);
    }
    fs_strbuf_add(text, " Kind %u takes longest: %s", all->longest + 1,
                  all->kinds[all->longest].compare.text);
}

void fs_tool_compare_calls_advise(fs_tool_compare_calls_t *all)
{
    fs_strbuf_t text = {all->text, sizeof(all->text), 0};

    if (all->n_simulated == 0 || all->n_kinds == 1) {
        advise_one(all, &text);
    } else {
        advise_times(all, &text,
                     fs_tool_compare_calls_gain(all, best_time(all)));
    }
}

/* ---- text ---- */

static void print_recording(const fs_tool_compare_calls_t *all)
{
    const fs_tool_recording_t *r = all->recording;

    printf("recording   %s: %" PRIu64 " calls on %zu communicator%s within "
           "%s\n",
           r->path, r->n_calls, r->recordings.n,
           r->recordings.n == 1 ? "" : "s", fs_tool_time_text(r->seconds).s);
    if (r->full) {
        printf("            files were full (parameter record_limit): %" PRIu64
               " more calls are not in it\n",
               r->missing);
    } else if (r->cut) {
        printf("            the program did not end in MPI_Finalize: its last "
               "calls are missing\n");
    }
    printf("traffic     %s", fs_tool_bytes_text((double)r->bytes).s);
    if (all->n_kinds < r->n_kinds) {
        printf("; compared are %u of %zu matrices, with %.0f%% of it",
               all->n_kinds, r->n_kinds, 100 * all->share);
    }
    printf(", %s of it between servers\n",
           fs_tool_bytes_text(all->inter_bytes).s);
}

static void print_kind(const fs_tool_compare_calls_t *all, uint32_t k)
{
    const fs_tool_compared_t *compared = &all->kinds[k];
    const fs_tool_compare_t  *c        = &compared->compare;
    double                    best     = c->ways[c->best].outcome.time;

    printf("%5u %8" PRIu64 " %10s", k + 1, compared->kind->n,
           fs_tool_bytes_text((double)compared->kind->bytes).s);
    if (c->simulated) {
        printf(" %12s %10s %10s %9.2fx", fs_tool_way_name(c->best),
               fs_tool_time_text(best).s, fs_tool_time_text(c->fast.time).s,
               fs_tool_compare_gain(c, best));
    } else {
        printf(" %12s %10s %10s %10s",
               c->advice == FS_TOOL_INSIDE ? "inside" : "small", "-", "-", "-");
    }
    printf("  %s, %u ranks\n", compared->title, compared->kind->comm->n_ranks);
}

static void print_kinds(const fs_tool_compare_calls_t *all)
{
    printf("\n%5s %8s %10s %12s %10s %10s %10s\n", "kind", "calls",
           "bytes each", "best way", "time", "fast", "fast gains");
    for (uint32_t k = 0; k < all->n_kinds; ++k) {
        print_kind(all, k);
    }
}

static void print_sums(const fs_tool_compare_calls_t *all)
{
    printf("\n%-14s %10s %12s %10s  sums over %" PRIu64 " calls\n", "way",
           "time", "over bound", "fast gains", all->n_simulated);
    for (uint32_t k = 0; k < FS_TOOL_N_WAYS; ++k) {
        if (all->ran[k]) {
            fs_tool_compare_print_time(
                fs_tool_way_name(k), all->times[k], all->bound,
                fs_tool_compare_calls_gain(all, all->times[k]),
                fs_tool_way_meaning(k));
        }
    }
    printf("%s", fs_tool_style(FS_TOOL_BOLD));
    fs_tool_compare_print_time("fast", all->fast, all->bound, 0,
                               "a schedule for each kind");
    printf("%s", fs_tool_style(FS_TOOL_PLAIN));
    fs_tool_compare_print_time("lower bound", all->bound, all->bound, 0,
                               "the bytes of the busiest server over its NICs");
    if (all->n_left > 0) {
        printf("%" PRIu64 " calls are small or inside servers: fast leaves "
               "them to the MPI\n",
               all->n_left);
    }
}

void fs_tool_compare_calls_text(const fs_tool_compare_calls_t *all)
{
    const fs_tool_compare_t *longest = &all->kinds[all->longest].compare;

    print_recording(all);
    if (all->n_kinds > 1) {
        printf("longest     kind %u, %s\n", all->longest + 1, longest->title);
    }
    fs_tool_compare_print_cluster(longest);
    fs_tool_compare_print_bottleneck(longest);
    print_kinds(all);
    if (all->n_simulated > 0) {
        print_sums(all);
    }
    fs_tool_compare_print_advice(all->advice, all->text);
}

/* ---- JSON ---- */

static void json_ways(fs_json_t *json, const fs_tool_compare_calls_t *all)
{
    fs_json_open(json, "ways", '[');
    for (uint32_t k = 0; k < FS_TOOL_N_WAYS; ++k) {
        fs_json_open(json, NULL, '{');
        fs_json_text(json, "name", fs_tool_way_name(k));
        fs_json_bool(json, "simulated", all->ran[k] && all->n_simulated > 0);
        if (all->ran[k] && all->n_simulated > 0) {
            fs_json_real(json, "time_us", all->times[k] * 1e6, 3);
            fs_json_real(json, "gain",
                         fs_tool_compare_calls_gain(all, all->times[k]), 6);
        }
        fs_json_close(json);
    }
    fs_json_close(json);
}

void fs_tool_compare_calls_members(fs_json_t                     *json,
                                   const fs_tool_compare_calls_t *all)
{
    const fs_tool_recording_t *r = all->recording;

    fs_json_open(json, "recording", '{');
    fs_json_text(json, "directory", r->path);
    fs_json_u64(json, "communicators", r->recordings.n);
    fs_json_u64(json, "calls", r->n_calls);
    fs_json_u64(json, "missing", r->missing);
    fs_json_u64(json, "kinds", r->n_kinds);
    fs_json_u64(json, "compared", all->n_kinds);
    fs_json_real(json, "compared_share", all->share, 6);
    fs_json_u64(json, "total_bytes", r->bytes);
    fs_json_u64(json, "longest", all->longest + 1);
    fs_json_u64(json, "simulated_calls", all->n_simulated);
    fs_json_u64(json, "left_calls", all->n_left);
    fs_json_u64(json, "losing_calls", all->n_losing);
    json_ways(json, all);
    fs_json_real(json, "fast_us", all->fast * 1e6, 3);
    fs_json_real(json, "lower_bound_us", all->bound * 1e6, 3);
    fs_json_text(json, "best",
                 all->n_simulated > 0 ? fs_tool_way_name(all->best) : NULL);
    fs_json_text(json, "verdict", fs_tool_compare_verdict(all->advice));
    fs_json_text(json, "advice", all->text);
    fs_json_close(json);
}

static void json_kind(fs_json_t *json, const fs_tool_compared_t *compared)
{
    fs_json_open(json, NULL, '{');
    fs_json_text(json, "communicator", fs_recording_name(compared->kind->comm));
    fs_json_text(json, "function",
                 fs_record_function(compared->kind->function));
    fs_json_u64(json, "calls", compared->kind->n);
    fs_json_u64(json, "first", compared->kind->first);
    fs_tool_compare_members(json, &compared->compare);
    fs_json_close(json);
}

void fs_tool_compare_calls_json(const fs_tool_compare_calls_t *all)
{
    fs_json_t json;

    fs_json_init(&json, stdout, 1);
    fs_json_open(&json, NULL, '{');
    fs_tool_compare_calls_members(&json, all);
    fs_json_open(&json, "kinds", '[');
    for (uint32_t k = 0; k < all->n_kinds; ++k) {
        json_kind(&json, &all->kinds[k]);
    }
    fs_json_close(&json);
    fs_json_close(&json);
}
