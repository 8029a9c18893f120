/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulation as JSON, whose keys fastsched(1) explains, and as text. */
#include "base/fs_json.h"
#include "tools/fs_tool_arrival.h"
#include "tools/fs_tool_cluster.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_sim.h"
#include "tools/fs_tool_units.h"

#include <inttypes.h>
#include <stdio.h>

/* Bytes per second and rank. */
static double bandwidth(const fs_tool_sim_outcome_t *o, double seconds)
{
    return seconds > 0 ? (double)o->result.total_bytes / o->n_ranks / seconds
                       : 0;
}

static double efficiency(const fs_tool_sim_outcome_t *o)
{
    return o->time > 0 ? o->result.optimal / o->time : 1;
}

/* Of the time, the part in which the busiest NIC has nothing to carry. */
static double wire_idle(const fs_tool_sim_outcome_t *o)
{
    return o->time > 0 ? 1 - o->result.optimal_rank / o->time : 0;
}

/* ---- JSON ---- */

static void json_setup(fs_json_t *json, const fs_tool_sim_setup_t *setup,
                       const fs_tool_sim_outcome_t *o)
{
    const fs_sim_params_t *p = &setup->params;

    fs_json_u64(json, "servers", o->n_servers);
    fs_json_u64(json, "ranks", o->n_ranks);
    fs_json_text(json, "algorithm", o->algorithm);
    fs_json_text(json, "balance",
                 o->decompose == NULL
                     ? NULL
                     : fs_tool_balance_word(setup->plan.balance));
    fs_json_text(json, "decompose", o->decompose);
    fs_json_text(json, "level", o->lanes ? "lanes" : "ranks");
    fs_json_text(json, "topology", fs_tool_sim_fabric(p->fabric));
    fs_json_real(json, "scale_out", p->rate_out, 0);
    fs_json_real(json, "scale_up", p->rate_up, 0);
    fs_json_real(json, "alpha_us", p->alpha_out * 1e6, 3);
    fs_json_real(json, "alpha_up_us", p->alpha_up * 1e6, 3);
    fs_json_real(json, "incast", p->incast, 3);
    fs_json_real(json, "look_us", p->look * 1e6, 3);
    fs_json_u64(json, "chunk", o->chunk);
    fs_json_u64(json, "window", setup->plan.window);
    fs_json_u64(json, "runs", o->n_runs);
}

static void json_times(fs_json_t *json, const fs_tool_sim_outcome_t *o)
{
    fs_json_real(json, "time", o->time, 12);
    fs_json_real(json, "time_us", o->time * 1e6, 3);
    fs_json_real(json, "scheduling_us", o->planning * 1e6, 3);
    fs_json_real(json, "optimal", o->result.optimal, 12);
    fs_json_real(json, "optimal_us", o->result.optimal * 1e6, 3);
    fs_json_real(json, "busiest_nic_us", o->result.optimal_rank * 1e6, 3);
    fs_json_real(json, "first_wire_us", o->result.first_wire * 1e6, 3);
    fs_json_real(json, "last_wire_us", o->result.last_wire * 1e6, 3);
    fs_json_real(json, "efficiency", efficiency(o), 6);
    fs_json_real(json, "wire_idle", wire_idle(o), 6);
    fs_json_real(json, "algo_bandwidth", bandwidth(o, o->time), 0);
    fs_json_real(json, "optimal_bandwidth", bandwidth(o, o->result.optimal), 0);
}

static void json_amounts(fs_json_t *json, const fs_tool_sim_outcome_t *o)
{
    const fs_sim_result_t *r = &o->result;

    fs_json_real(json, "stages", o->n_stages, o->n_runs > 1 ? 1 : 0);
    fs_json_real(json, "schedule_over_bound", o->schedule, 6);
    fs_json_u64(json, "total_bytes", r->total_bytes);
    fs_json_u64(json, "wire_bytes", r->wire_bytes);
    fs_json_u64(json, "scale_up_bytes", r->up_bytes);
    fs_json_u64(json, "copy_bytes", r->copy_bytes);
    fs_json_u64(json, "staging_bytes", r->staging_bytes);
    fs_json_u64(json, "operations", r->n_ops);
    fs_json_u64(json, "messages", r->n_messages);
    fs_json_u64(json, "max_senders", r->max_senders);
}

void fs_tool_sim_json(const fs_tool_sim_setup_t       *setup,
                      const fs_tool_sim_outcome_t     *outcome,
                      const fs_tool_arrival_outcome_t *arrival)
{
    fs_json_t json;

    fs_json_init(&json, stdout, 1);
    fs_json_open(&json, NULL, '{');
    json_setup(&json, setup, outcome);
    json_times(&json, outcome);
    json_amounts(&json, outcome);
    if (arrival != NULL) {
        fs_tool_arrival_json(&json, arrival);
    }
    fs_json_close(&json);
}

/* ---- text ---- */

static void print_time(const char *name, double seconds, const char *more)
{
    printf("%-16s %14s%s\n", name, fs_tool_time_text(seconds).s, more);
}

static void print_rate(const char *name, double rate)
{
    printf("%-16s %14s per rank\n", name, fs_tool_rate_text(rate).s);
}

static void print_bytes(const char *name, uint64_t bytes)
{
    printf("%-16s %14s\n", name, fs_tool_bytes_text((double)bytes).s);
}

static void print_cluster(const fs_tool_sim_setup_t   *setup,
                          const fs_tool_sim_outcome_t *o)
{
    const fs_sim_params_t *p = &setup->params;

    printf("cluster          %u servers, %u ranks; %.6g GB/s out, %.6g up "
           "(%s)\n"
           "                 alpha %g us out, %g us up; incast %g\n",
           o->n_servers, o->n_ranks, p->rate_out / 1e9, p->rate_up / 1e9,
           fs_tool_sim_fabric(p->fabric), p->alpha_out * 1e6, p->alpha_up * 1e6,
           p->incast);
    if (p->look > 0) {
        printf("                 each rank looks every %g us\n", p->look * 1e6);
    }
    printf("programs         %s", o->algorithm);
    if (o->decompose != NULL) {
        printf(", %s, %s", fs_tool_balance_word(setup->plan.balance),
               o->decompose);
    }
    printf("; chunks of %" PRIu64 " bytes\n", o->chunk);
    if (o->lanes) {
        printf("level            lanes: one for each server, a coarser "
               "model\n");
    }
    if (o->n_runs > 1) {
        printf("runs             %u, all numbers are means\n", o->n_runs);
    }
}

void fs_tool_sim_text(const fs_tool_sim_setup_t       *setup,
                      const fs_tool_sim_outcome_t     *o,
                      const fs_tool_arrival_outcome_t *arrival)
{
    const fs_sim_result_t *r = &o->result;

    print_cluster(setup, o);
    print_time("time", o->time,
               setup->count_scheduling ? ", scheduling included" : "");
    if (setup->count_scheduling) {
        print_time("scheduling", o->planning, "");
    }
    print_time("optimal", r->optimal, ", FAST's bound");
    print_time("busiest NIC", r->optimal_rank, "");
    print_time("first wire byte", r->first_wire, "");
    print_time("last wire byte", r->last_wire, "");
    printf("%-16s %14.2f %%\n", "efficiency", 100 * efficiency(o));
    printf("%-16s %14.2f %% of the time, busiest NIC\n", "wire idle",
           100 * wire_idle(o));
    print_rate("bandwidth", bandwidth(o, o->time));
    print_rate("optimal", bandwidth(o, r->optimal));
    print_bytes("total", r->total_bytes);
    print_bytes("between servers", r->wire_bytes);
    print_bytes("inside servers", r->up_bytes);
    print_bytes("copied", r->copy_bytes);
    if (!o->lanes) {
        print_bytes("staging per rank", r->staging_bytes);
    }
    printf("%-16s %14" PRIu64 ", %" PRIu64 " messages\n", "operations",
           r->n_ops, r->n_messages);
    printf("%-16s %14u at most to one NIC\n", "senders", r->max_senders);
    if (arrival != NULL) {
        fs_tool_arrival_text(arrival);
    }
}
