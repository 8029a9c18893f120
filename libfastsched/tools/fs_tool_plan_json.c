/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan as JSON. The format is documented in fastsched(1) and stable: keys may
 * be added, none changes its meaning. */
#include "base/fs_json.h"
#include "tools/fs_tool_params.h"
#include "tools/fs_tool_plan.h"

#include <stdlib.h>

/* A number, or a list of them where servers differ. */
static void write_each(fs_json_t *json, const char *key, uint32_t n,
                       const uint64_t *of)
{
    bool even = true;

    for (uint32_t u = 1; u < n; ++u) {
        even = even && of[u] == of[0];
    }
    if (even) {
        fs_json_u64(json, key, of[0]);
    } else {
        fs_json_u64s(json, key, n, of);
    }
}

static void write_servers(fs_json_t *json, const fs_tool_plan_t *plan)
{
    const fs_topo_t *topo  = plan->traffic->topo;
    uint32_t         n     = fs_topo_n_servers(topo);
    uint64_t        *lanes = fs_tool_calloc(n, sizeof(*lanes));
    uint64_t        *ports = fs_tool_calloc(n, sizeof(*ports));

    for (uint32_t u = 0; u < n; ++u) {
        lanes[u] = fs_topo_n_lanes(topo, u);
        ports[u] = fs_ports_of(&plan->ports, u);
    }
    fs_json_u64(json, "servers", n);
    write_each(json, "lanes", n, lanes);
    write_each(json, "ports", n, ports);
    free(lanes);
    free(ports);
}

static void write_numbers(fs_json_t *json, const fs_tool_plan_t *plan)
{
    fs_json_text(json, "algorithm", fs_alg_name(plan->choice.alg));
    fs_json_text(json, "balance", fs_tool_balance_word(plan->params.balance));
    fs_json_text(json, "decompose",
                 fs_decompose_name(plan->schedule->decompose));
    fs_json_real(json, "mtm", (double)plan->mtm_milli / 1000, 3);
    fs_json_u64(json, "lower_bound", plan->lower_bound);
    fs_json_u64(json, "total", plan->schedule->total);
    fs_json_real(json, "efficiency", fs_tool_plan_efficiency(plan), 6);
    fs_json_real(json, "plan_us", (double)plan->plan_ns / 1000, 3);
    fs_json_u64(json, "moved_gather", plan->moved_gather);
    fs_json_u64(json, "moved_redistribute", plan->moved_redist);
}

/* Of ranks, DHBvN Theorem 4. */
static void write_permutations(fs_json_t *json, const fs_hierarchy_t *hierarchy)
{
    json->wrap = 1;
    fs_json_open(json, "permutations", '{');
    fs_json_u64(json, "count", hierarchy->n_stages);
    fs_json_u64(json, "lower_bound", hierarchy->lower_bound);
    fs_json_u64(json, "total", hierarchy->total);
    fs_json_close(json);
    json->wrap = 2;
}

static void write_stages(fs_json_t *json, const fs_tool_plan_t *plan)
{
    const fs_schedule_t *schedule = plan->schedule;

    fs_json_open(json, "stages", '[');
    for (size_t k = 0; k < schedule->n_transfers;) {
        size_t end = fs_tool_plan_stage_end(plan, k);

        fs_json_open(json, NULL, '{');
        fs_json_u64(json, "bytes", fs_tool_plan_stage_bytes(plan, k));
        fs_json_open(json, "pairs", '[');
        for (; k < end; ++k) {
            const fs_transfer_t *t = &schedule->transfers[k];

            fs_json_u64s(json, NULL, 3,
                         (uint64_t[]){fs_ports_server(&plan->ports, t->src),
                                      fs_ports_server(&plan->ports, t->dst),
                                      plan->real[k]});
        }
        fs_json_close(json);
        fs_json_close(json);
    }
    fs_json_close(json);
}

static void write_transfers(fs_json_t *json, const fs_tool_plan_t *plan)
{
    fs_json_open(json, "transfers", '[');
    for (size_t k = 0; k < plan->schedule->n_transfers; ++k) {
        const fs_transfer_t *t = &plan->schedule->transfers[k];

        fs_json_open(json, NULL, '{');
        fs_json_u64(json, "src", fs_ports_server(&plan->ports, t->src));
        fs_json_u64(json, "dst", fs_ports_server(&plan->ports, t->dst));
        fs_json_u64(json, "bytes", plan->real[k]);
        fs_json_u64(json, "start", t->start);
        fs_json_u64(json, "end", t->start + t->bytes);
        fs_json_close(json);
    }
    fs_json_close(json);
}

void fs_tool_plan_json(const fs_tool_plan_t *plan)
{
    fs_json_t json;

    fs_json_init(&json, stdout, 2);
    fs_json_open(&json, NULL, '{');
    write_servers(&json, plan);
    write_numbers(&json, plan);
    if (plan->hierarchy != NULL) {
        write_permutations(&json, plan->hierarchy);
    }
    if (plan->schedule->decompose == FS_DECOMPOSE_OPENSHOP) {
        write_transfers(&json, plan);
    } else {
        write_stages(&json, plan);
    }
    fs_json_close(&json);
}
