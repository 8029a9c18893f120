/* SPDX-License-Identifier: BSD-3-Clause */
/* One exchange, planned: what fs_select() and fs_schedule_create() make of it,
 * and the bytes behind every transfer. */
#include "tools/fs_tool_plan.h"

#include "base/fs_arith.h"
#include "sched/balance/fs_balance.h"
#include "tools/fs_tool_progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fs_schedule_t *schedule(fs_tool_plan_t *plan, const uint64_t *bytes,
                               uint32_t only_port)
{
    fs_traffic_t   summary = plan->traffic->summary;
    fs_schedule_t *schedule;

    fs_tool_must(fs_traffic_sum(&summary), "planning");
    plan->choice = fs_select(plan->traffic->topo, &summary, &plan->params);
    fs_tool_must(
        fs_schedule_create(plan->params.decompose, plan->params.stage_cost,
                           plan->ports.n_ports, bytes, only_port, &schedule),
        "planning");
    return schedule;
}

/* The schedule of all ports; then, timed, once more that of one, which is
 * what every rank of it does for every call. */
static void make_schedule(fs_tool_plan_t *plan)
{
    size_t    n     = plan->ports.n_ports;
    uint64_t *bytes = fs_tool_calloc(n * n, sizeof(*bytes)), start;

    fs_ports_spread(&plan->ports, plan->traffic->topo,
                    plan->traffic->summary.bytes, bytes);
    plan->schedule = schedule(plan, bytes, FS_ALL_SERVERS);
    start          = fs_tool_now_ns();
    fs_schedule_destroy(schedule(plan, bytes, 0));
    plan->plan_ns = fs_tool_now_ns() - start;
    free(bytes);
}

/* How far the lanes of a pair of ports are, `at` bytes along each: the tile's bytes
 * lie side by side on its lanes, so the last may be shorter. */
static uint64_t bytes_up_to(const fs_tool_plan_t *plan, uint32_t src,
                            uint32_t dst, uint64_t at)
{
    const fs_ports_t *ports = &plan->ports;
    const fs_topo_t  *topo  = plan->traffic->topo;
    uint32_t          u     = fs_ports_server(ports, src);
    uint32_t          w     = fs_ports_server(ports, dst);
    uint32_t pair = fs_ports_pair(ports, u, w, src - fs_ports_first(ports, u),
                                  dst - fs_ports_first(ports, w));
    fs_tile_lanes_t lanes = fs_ports_lanes(ports, topo, u, w);
    uint64_t        all   = plan->traffic->summary
                       .bytes[(size_t)u * plan->traffic->summary.n_servers + w];
    uint64_t share = fs_u64_div_up(all, lanes.n), sum = 0;

    for (uint32_t lane = pair * lanes.width; lane < (pair + 1) * lanes.width;
         ++lane) {
        uint64_t start = fs_u64_min(lane * share, all);

        sum += fs_u64_min(fs_u64_min(share, all - start), at);
    }
    return sum;
}

static void find_real(fs_tool_plan_t *plan)
{
    const fs_schedule_t *schedule = plan->schedule;
    size_t               n        = plan->ports.n_ports;
    uint64_t            *at       = fs_tool_calloc(n * n, sizeof(*at));

    plan->real = fs_tool_calloc(schedule->n_transfers, sizeof(*plan->real));
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        const fs_transfer_t *t    = &schedule->transfers[k];
        size_t               pair = t->src * n + t->dst;
        uint64_t before           = bytes_up_to(plan, t->src, t->dst, at[pair]);

        at[pair] += t->bytes;
        plan->real[k] = bytes_up_to(plan, t->src, t->dst, at[pair]) - before;
    }
    free(at);
}

void fs_tool_plan_make(const fs_tool_traffic_t *traffic,
                       const fs_plan_params_t *params, fs_tool_plan_t *plan)
{
    const fs_topo_t *topo = traffic->topo;

    *plan = (fs_tool_plan_t){.traffic = traffic, .params = *params};
    fs_tool_progress_begin("planning", 0);
    if (params->decompose == FS_DECOMPOSE_HIERARCHICAL) {
        plan->params.balance = FS_BALANCE_ROWCOL;
    }
    fs_tool_must(fs_balance_ports(plan->params.balance, topo, &plan->arena,
                                  &plan->ports),
                 "planning");
    plan->lower_bound = fs_traffic_lower_bound(topo, &traffic->summary);
    plan->mtm_milli   = fs_traffic_mtm_milli(topo, &traffic->summary);
    make_schedule(plan);
    find_real(plan);
    fs_tool_must(fs_bounds(topo, traffic->pairs, &plan->bounds), "planning");
    fs_tool_must(fs_balance_moves(topo, plan->params.balance, traffic->pairs,
                                  &plan->moved_gather, &plan->moved_redist),
                 "planning");
    if (plan->schedule->decompose == FS_DECOMPOSE_HIERARCHICAL) {
        fs_tool_must(
            fs_hierarchy_create(topo, true, traffic->pairs, &plan->hierarchy),
            "planning");
    }
    fs_tool_progress_end();
}

void fs_tool_plan_fini(fs_tool_plan_t *plan)
{
    fs_schedule_destroy(plan->schedule);
    fs_hierarchy_destroy(plan->hierarchy);
    fs_arena_fini(&plan->arena);
    free(plan->real);
}

double fs_tool_plan_efficiency(const fs_tool_plan_t *plan)
{
    uint64_t total = plan->schedule->total;

    return total == 0 ? 1 : (double)plan->lower_bound / (double)total;
}

size_t fs_tool_plan_stage_end(const fs_tool_plan_t *plan, size_t k)
{
    const fs_transfer_t *transfers = plan->schedule->transfers;
    uint64_t             start     = transfers[k].start;

    while (k < plan->schedule->n_transfers && transfers[k].start == start) {
        ++k;
    }
    return k;
}

uint64_t fs_tool_plan_stage_bytes(const fs_tool_plan_t *plan, size_t k)
{
    const fs_schedule_t *schedule = plan->schedule;
    size_t               end      = fs_tool_plan_stage_end(plan, k);

    return (end == schedule->n_transfers ? schedule->total
                                         : schedule->transfers[end].start) -
           schedule->transfers[k].start;
}

const char *fs_tool_plan_port(const fs_tool_plan_t *plan, uint32_t port,
                              char out[FS_TOOL_PORT_LEN])
{
    const fs_ports_t *ports  = &plan->ports;
    uint32_t          server = fs_ports_server(ports, port);

    if (ports->n_ports == plan->traffic->summary.n_servers) {
        snprintf(out, FS_TOOL_PORT_LEN, "%u", server);
    } else {
        snprintf(out, FS_TOOL_PORT_LEN, "%u.%u", server,
                 port - fs_ports_first(ports, server));
    }
    return out;
}
