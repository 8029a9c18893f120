/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulation as JSON, whose keys fastsched(1) explains, and for people. */
#include "tools/fs_tool_json.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_sim.h"

const char *fs_tool_sim_fabric(uint32_t k)
{
#define X(_fabric, _word) _word,
    static const char *const words[] = {FS_SIM_FABRIC_MAP(X) NULL};
#undef X

    return words[k];
}

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

static void json_setup(fs_tool_json_t *json, const fs_tool_sim_setup_t *setup,
                       const fs_tool_sim_outcome_t *o)
{
    const fs_sim_params_t *p = &setup->params;

    fs_tool_json_u64(json, "servers", o->n_servers);
    fs_tool_json_u64(json, "ranks", o->n_ranks);
    fs_tool_json_text(json, "algorithm", o->algorithm);
    if (o->decompose != NULL) {
        fs_tool_json_text(json, "balance",
                          fs_tool_balance_word(setup->plan.balance));
        fs_tool_json_text(json, "decompose", o->decompose);
    } else {
        fs_tool_json_null(json, "balance");
        fs_tool_json_null(json, "decompose");
    }
    fs_tool_json_text(json, "level", o->lanes ? "lanes" : "ranks");
    fs_tool_json_text(json, "topology", fs_tool_sim_fabric(p->fabric));
    fs_tool_json_real(json, "scale_out", p->rate_out, 0);
    fs_tool_json_real(json, "scale_up", p->rate_up, 0);
    fs_tool_json_real(json, "alpha_us", p->alpha_out * 1e6, 3);
    fs_tool_json_real(json, "alpha_up_us", p->alpha_up * 1e6, 3);
    fs_tool_json_real(json, "incast", p->incast, 3);
    fs_tool_json_u64(json, "chunk", o->chunk);
    fs_tool_json_u64(json, "window", setup->plan.window);
    fs_tool_json_u64(json, "runs", o->n_runs);
}

static void json_times(fs_tool_json_t *json, const fs_tool_sim_outcome_t *o)
{
    fs_tool_json_real(json, "time", o->time, 12);
    fs_tool_json_real(json, "time_us", o->time * 1e6, 3);
    fs_tool_json_real(json, "scheduling_us", o->planning * 1e6, 3);
    fs_tool_json_real(json, "optimal", o->result.optimal, 12);
    fs_tool_json_real(json, "optimal_us", o->result.optimal * 1e6, 3);
    fs_tool_json_real(json, "busiest_nic_us", o->result.optimal_rank * 1e6, 3);
    fs_tool_json_real(json, "first_wire_us", o->result.first_wire * 1e6, 3);
    fs_tool_json_real(json, "last_wire_us", o->result.last_wire * 1e6, 3);
    fs_tool_json_real(json, "efficiency", efficiency(o), 6);
    fs_tool_json_real(json, "wire_idle", wire_idle(o), 6);
    fs_tool_json_real(json, "algo_bandwidth", bandwidth(o, o->time), 0);
    fs_tool_json_real(json, "optimal_bandwidth",
                      bandwidth(o, o->result.optimal), 0);
}

static void json_amounts(fs_tool_json_t *json, const fs_tool_sim_outcome_t *o)
{
    const fs_sim_result_t *r = &o->result;

    fs_tool_json_real(json, "stages", o->n_stages, o->n_runs > 1 ? 1 : 0);
    fs_tool_json_real(json, "schedule_over_bound", o->schedule, 6);
    fs_tool_json_u64(json, "total_bytes", r->total_bytes);
    fs_tool_json_u64(json, "wire_bytes", r->wire_bytes);
    fs_tool_json_u64(json, "scale_up_bytes", r->up_bytes);
    fs_tool_json_u64(json, "copy_bytes", r->copy_bytes);
    fs_tool_json_u64(json, "staging_bytes", r->staging_bytes);
    fs_tool_json_u64(json, "operations", r->n_ops);
    fs_tool_json_u64(json, "messages", r->n_messages);
    fs_tool_json_u64(json, "max_senders", r->max_senders);
}

void fs_tool_sim_json(FILE *out, const fs_tool_sim_setup_t *setup,
                      const fs_tool_sim_outcome_t *outcome)
{
    fs_tool_json_t json;

    fs_tool_json_init(&json, out, 1);
    fs_tool_json_open(&json, NULL, '{');
    json_setup(&json, setup, outcome);
    json_times(&json, outcome);
    json_amounts(&json, outcome);
    fs_tool_json_close(&json);
}

/* ---- text ---- */

static void print_time(FILE *out, const char *name, double seconds,
                       const char *more)
{
    fprintf(out, "%-16s %14.3f us%s\n", name, seconds * 1e6, more);
}

static void print_rate(FILE *out, const char *name, double rate)
{
    fprintf(out, "%-16s %14.3f GB/s per rank\n", name, rate / 1e9);
}

static void print_bytes(FILE *out, const char *name, uint64_t bytes)
{
    fprintf(out, "%-16s %14.6f GB\n", name, (double)bytes / 1e9);
}

static void print_cluster(FILE *out, const fs_tool_sim_setup_t *setup,
                          const fs_tool_sim_outcome_t *o)
{
    const fs_sim_params_t *p = &setup->params;

    fprintf(out,
            "cluster          %u servers, %u ranks; %.6g GB/s out, %.6g up "
            "(%s)\n"
            "                 alpha %g us out, %g us up; incast %g\n",
            o->n_servers, o->n_ranks, p->rate_out / 1e9, p->rate_up / 1e9,
            fs_tool_sim_fabric(p->fabric), p->alpha_out * 1e6,
            p->alpha_up * 1e6, p->incast);
    fprintf(out, "programs         %s", o->algorithm);
    if (o->decompose != NULL) {
        fprintf(out, ", %s, %s", fs_tool_balance_word(setup->plan.balance),
                o->decompose);
    }
    fprintf(out, "; chunks of %llu bytes\n", (unsigned long long)o->chunk);
    if (o->lanes) {
        fprintf(out, "level            lanes: one for each server, a coarser "
                     "model\n");
    }
    if (o->n_runs > 1) {
        fprintf(out, "runs             %u, all numbers are means\n", o->n_runs);
    }
}

void fs_tool_sim_text(FILE *out, const fs_tool_sim_setup_t *setup,
                      const fs_tool_sim_outcome_t *o)
{
    const fs_sim_result_t *r = &o->result;

    print_cluster(out, setup, o);
    print_time(out, "time", o->time,
               setup->count_scheduling ? ", scheduling included" : "");
    if (setup->count_scheduling) {
        print_time(out, "scheduling", o->planning, "");
    }
    print_time(out, "optimal", r->optimal, ", FAST's bound");
    print_time(out, "busiest NIC", r->optimal_rank, "");
    print_time(out, "first wire byte", r->first_wire, "");
    print_time(out, "last wire byte", r->last_wire, "");
    fprintf(out, "%-16s %14.2f %%\n", "efficiency", 100 * efficiency(o));
    fprintf(out, "%-16s %14.2f %% of the time, busiest NIC\n", "wire idle",
            100 * wire_idle(o));
    print_rate(out, "bandwidth", bandwidth(o, o->time));
    print_rate(out, "optimal", bandwidth(o, r->optimal));
    print_bytes(out, "total", r->total_bytes);
    print_bytes(out, "between servers", r->wire_bytes);
    print_bytes(out, "inside servers", r->up_bytes);
    print_bytes(out, "copied", r->copy_bytes);
    if (!o->lanes) {
        print_bytes(out, "staging per rank", r->staging_bytes);
    }
    fprintf(out, "%-16s %14llu, %llu messages\n", "operations",
            (unsigned long long)r->n_ops, (unsigned long long)r->n_messages);
    fprintf(out, "%-16s %14u at most to one NIC\n", "senders", r->max_senders);
}
