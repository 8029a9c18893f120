/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_compare_calls.h"

#include <stdio.h>
#include <stdlib.h>

double fs_tool_compare_calls_gain(const fs_tool_compare_calls_t *all,
                                  double                         time)
{
    return all->fast > 0 ? time / all->fast : 1;
}

/* Of the calls of a kind, by their best way. */
static double best_time(const fs_tool_compared_t *compared)
{
    const fs_tool_compare_t *c = &compared->compare;

    return c->simulated
               ? (double)compared->kind->n * c->ways[c->best].outcome.time
               : 0;
}

static void compare_kind(fs_tool_compared_t            *compared,
                         const fs_tool_compare_calls_t *all,
                         const fs_recorded_kind_t      *recorded,
                         const fs_tool_traffic_args_t  *args,
                         const fs_tool_sim_setup_t     *setup)
{
    compared->kind = recorded;
    fs_tool_recording_traffic(all->recording, recorded, args,
                              &compared->traffic);
    snprintf(compared->title, sizeof(compared->title), "%s of %s",
             fs_record_function(recorded->function),
             fs_recording_name(recorded->comm));
    compared->compare = (fs_tool_compare_t){.traffic = &compared->traffic,
                                            .title   = compared->title,
                                            .setup   = *setup};
    fs_tool_compare_run(&compared->compare, NULL, NULL);
}

static void add_ways(fs_tool_compare_calls_t  *all,
                     const fs_tool_compared_t *compared)
{
    const fs_tool_compare_t *c = &compared->compare;
    double                   n = (double)compared->kind->n;

    for (uint32_t k = 0; k < FS_TOOL_N_WAYS; ++k) {
        all->ran[k] = all->ran[k] && c->ways[k].ran;
        all->times[k] += n * c->ways[k].outcome.time;
    }
    all->fast += n * c->fast.time;
    all->bound += n * c->bound;
    all->n_simulated += compared->kind->n;
    if (c->advice == FS_TOOL_LOSS) {
        all->n_losing += compared->kind->n;
    }
}

static double inter_bytes(const fs_tool_compared_t *compared)
{
    return (double)compared->kind->n *
           (double)compared->traffic.summary.inter_bytes;
}

static bool takes_longer(const fs_tool_compared_t *a,
                         const fs_tool_compared_t *b)
{
    return best_time(a) > best_time(b) ||
           (best_time(a) == best_time(b) && inter_bytes(a) > inter_bytes(b));
}

static void add(fs_tool_compare_calls_t *all, uint32_t k)
{
    const fs_tool_compared_t *compared = &all->kinds[k];
    double                    n        = (double)compared->kind->n;

    all->inter_bytes += inter_bytes(compared);
    all->share += n * (double)compared->kind->bytes /
                  (double)all->recording->bytes;
    if (compared->compare.simulated) {
        add_ways(all, compared);
    } else {
        all->n_left += compared->kind->n;
    }
    if (takes_longer(compared, &all->kinds[all->longest])) {
        all->longest = k;
    }
}

static void find_best(fs_tool_compare_calls_t *all)
{
    for (uint32_t k = 0; k < FS_TOOL_N_WAYS; ++k) {
        if (all->ran[k] &&
            (!all->ran[all->best] || all->times[k] < all->times[all->best])) {
            all->best = k;
        }
    }
}

void fs_tool_compare_calls_run(fs_tool_compare_calls_t      *all,
                               const fs_tool_recording_t    *recording,
                               const fs_tool_traffic_args_t *args,
                               const fs_tool_sim_setup_t    *setup,
                               uint32_t max_kinds, const char *html,
                               const char *svg)
{
    uint32_t n = recording->n_kinds < max_kinds ? (uint32_t)recording->n_kinds
                                                : max_kinds;

    *all         = (fs_tool_compare_calls_t){.recording = recording};
    all->kinds   = fs_tool_calloc(n, sizeof(*all->kinds));
    all->n_kinds = n;
    for (uint32_t k = 0; k < FS_TOOL_N_WAYS; ++k) {
        all->ran[k] = true;
    }
    for (uint32_t k = 0; k < n; ++k) {
        compare_kind(&all->kinds[k], all, &recording->kinds[k], args, setup);
        add(all, k);
    }
    find_best(all);
    fs_tool_compare_calls_advise(all);
    if (html != NULL || svg != NULL) {
        fs_tool_compare_t *drawn = &all->kinds[all->longest].compare;

        drawn->calls = all;
        fs_tool_compare_run(drawn, html, svg);
    }
}

void fs_tool_compare_calls_fini(fs_tool_compare_calls_t *all)
{
    for (uint32_t k = 0; k < all->n_kinds; ++k) {
        fs_tool_traffic_fini(&all->kinds[k].traffic);
    }
    free(all->kinds);
}
