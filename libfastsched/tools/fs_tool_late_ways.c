/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ways to reduce take when ranks are late: the programs that the library
 * would run, in the simulator, where late ranks enter when they do.
 *
 * Schedules of servers in two tiers (sched/allreduce/fs_straggler_plan.c), with
 * several ranks each; beside them a ring of all ranks, and what MPIs do on several
 * servers.
 */
#include "sched/allreduce/fs_straggler_plan.h"
#include "sim/fs_sim.h"
#include "tools/fs_tool_late.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WHY_LEN = 200, ELEM_BYTES = 8, WINDOW = 8 };

static const struct {
    const char *word;
    const char *what;
} names[] = {
    [FS_TOOL_LATE_STREAM]        = {"stream", "all late ranks known"},
    [FS_TOOL_LATE_STRAGGLAR]     = {"stragglar", "the last one known"},
    [FS_TOOL_LATE_RING]          = {"ring", ""},
    [FS_TOOL_LATE_RING_OF_RANKS] = {"ring-of-ranks", "one rank after another"},
    [FS_TOOL_LATE_HIERARCHICAL]  = {"hierarchical",
                                    "a leader per server (Open MPI's han)"},
};

/* ---- schedules ---- */

/* Does it depend on servers that have several ranks? */
static bool is_for_many(fs_tool_late_way_t way)
{
    return way == FS_TOOL_LATE_RING_OF_RANKS ||
           way == FS_TOOL_LATE_HIERARCHICAL;
}

static bool may_run(const fs_tool_late_t *late, fs_tool_late_way_t way)
{
    return way == FS_TOOL_LATE_STREAM
               ? late->n_servers <= FS_STRAGGLER_MAX_STREAM &&
                     late->n_late_servers <= late->n_servers / 2
               : late->n_local > 1 || !is_for_many(way);
}

static fs_status_t make_schedule(const fs_tool_late_args_t *args,
                                 const fs_tool_late_t      *late,
                                 fs_tool_late_way_t         way,
                                 fs_straggler_t           **schedule_p)
{
    uint32_t n = late->n_servers, last = late->server[late->n_late_servers - 1];

    switch (way) {
    case FS_TOOL_LATE_STREAM:
        return fs_straggler_create_stream(n, late->server, late->n_late_servers,
                                          args->n_pieces, schedule_p);
    case FS_TOOL_LATE_STRAGGLAR:
        return fs_straggler_create(FS_STRAGGLER_STRAGGLAR, n, last, schedule_p);
    case FS_TOOL_LATE_RING:
        return fs_straggler_create(FS_STRAGGLER_RING, n, last, schedule_p);
    case FS_TOOL_LATE_RING_OF_RANKS:
        return fs_straggler_create(FS_STRAGGLER_RING, n * late->n_local, 0,
                                   schedule_p);
    case FS_TOOL_LATE_HIERARCHICAL:
        return fs_straggler_create_hierarchical(n, late->n_local, schedule_p);
    case FS_TOOL_LATE_WAYS:
        break;
    }
    return FS_ERR_INVAL;
}

/* ---- the simulation ---- */

static fs_topo_t *make_topo(const fs_tool_late_t *late)
{
    uint32_t   n         = late->n_servers * late->n_local;
    uint32_t  *server_of = fs_tool_calloc(n, sizeof(*server_of));
    fs_topo_t *topo;

    for (uint32_t r = 0; r < n; ++r) {
        server_of[r] = r / late->n_local;
    }
    fs_tool_must(fs_topo_create(n, server_of, 0, &topo), "servers");
    free(server_of);
    return topo;
}

static void add_programs(fs_sim_t *sim, const fs_topo_t *topo,
                         const fs_straggler_t *schedule, uint64_t bytes)
{
    const fs_plan_params_t params    = {.chunk         = UINT64_C(1) << 22,
                                        .window        = WINDOW,
                                        .staging_limit = UINT64_C(1) << 40};
    const fs_reduction_t   reduction = {bytes / ELEM_BYTES, ELEM_BYTES, false, 0};

    for (uint32_t r = 0; r < fs_topo_n_ranks(topo); ++r) {
        fs_plan_t *plan;

        fs_tool_must(
            fs_reduction_plan(schedule, topo, &params, &reduction, r, &plan),
            "planning");
        fs_tool_must(fs_sim_add(sim, r, plan), "simulating");
        fs_plan_destroy(plan);
    }
}

/* Microseconds from the last entry. */
static double run(fs_sim_t *sim, const fs_tool_late_t *late)
{
    char            why[WHY_LEN] = "";
    fs_sim_result_t result;
    fs_status_t     status;

    for (uint32_t k = 0; k < late->n_late; ++k) {
        fs_tool_must(fs_sim_enter(sim, late->rank[k], late->delay[k] * 1e-9),
                     "simulating");
    }
    status = fs_sim_run(sim, &result, why, sizeof(why));
    if (status == FS_ERR_MISMATCH) {
        fs_tool_failed("the programs do not end: %s", why);
    }
    fs_tool_must(status, "simulating");
    return result.time * 1e6 - late->delay[late->n_late - 1] / 1e3;
}

void fs_tool_late_ways_run(const fs_tool_late_args_t    *args,
                           const fs_tool_late_t         *late,
                           const fs_tool_late_cluster_t *cluster,
                           fs_tool_late_ways_t          *ways)
{
    const fs_sim_params_t params = {.rate_out  = (double)cluster->rate / 8,
                                    .rate_up   = (double)args->rate_inside / 8,
                                    .alpha_out = cluster->alpha * 1e-9,
                                    .alpha_up  = args->alpha_inside * 1e-9};
    fs_topo_t            *topo   = make_topo(late);

    for (int way = 0; way < FS_TOOL_LATE_WAYS; ++way) {
        fs_straggler_t *schedule;
        fs_sim_t       *sim;

        ways->us[way] = (double)NAN;
        if (!may_run(late, (fs_tool_late_way_t)way)) {
            continue;
        }
        fs_tool_must(
            make_schedule(args, late, (fs_tool_late_way_t)way, &schedule),
            "stragglar");
        fs_tool_must(fs_sim_create(topo, &params, &sim), "cluster");
        add_programs(sim, topo, schedule, cluster->bytes);
        ways->us[way] = run(sim, late);
        fs_sim_destroy(sim);
        fs_straggler_destroy(schedule);
    }
    fs_topo_destroy(topo);
}

/* ---- output ---- */

void fs_tool_late_ways_text(const fs_tool_late_t      *late,
                            const fs_tool_late_ways_t *ways)
{
    printf("\nsimulated: %u servers, %u ranks each, late:", late->n_servers,
           late->n_local);
    for (uint32_t k = 0; k < late->n_late; ++k) {
        printf(" %u by %.3f us", late->rank[k], late->delay[k] / 1e3);
    }
    printf("\nmicroseconds from the last entry      over ring\n");
    for (int way = 0; way < FS_TOOL_LATE_WAYS; ++way) {
        if (!isnan(ways->us[way])) {
            printf("%-22s %14.1f %10.2fx  %s\n", names[way].word, ways->us[way],
                   ways->us[FS_TOOL_LATE_RING] / ways->us[way],
                   names[way].what);
        }
    }
}

void fs_tool_late_ways_json(fs_json_t *json, const fs_tool_late_t *late,
                            const fs_tool_late_ways_t *ways)
{
    fs_json_open(json, "late", '[');
    for (uint32_t k = 0; k < late->n_late; ++k) {
        fs_json_open(json, NULL, '{');
        fs_json_u64(json, "rank", late->rank[k]);
        fs_json_real(json, "delay_us", late->delay[k] / 1e3, 3);
        fs_json_close(json);
    }
    fs_json_close(json);
    fs_json_u64(json, "servers", late->n_servers);
    fs_json_u64(json, "ranks_per_server", late->n_local);
    fs_json_open(json, "simulated_us", '{');
    for (int way = 0; way < FS_TOOL_LATE_WAYS; ++way) {
        fs_json_real(json, names[way].word, ways->us[way], 3);
    }
    fs_json_close(json);
}
