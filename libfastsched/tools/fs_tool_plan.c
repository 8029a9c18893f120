/* SPDX-License-Identifier: BSD-3-Clause */
/* One exchange, planned: what fs_select() and fs_schedule_create() make of it,
 * and the bytes behind every transfer. */
#include "tools/fs_tool_plan.h"

#include "base/fs_arith.h"
#include "sched/balance/fs_balance.h"
#include "tools/fs_tool_progress.h"

#include <stdlib.h>
#include <string.h>

/* [n x n] bytes per lane between servers, 0 on the diagonal. */
static uint64_t *per_lane(const fs_tool_traffic_t *traffic)
{
    uint32_t  n     = traffic->summary.n_servers;
    uint64_t *bytes = fs_tool_calloc((size_t)n * n, sizeof(*bytes));

    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            size_t k = (size_t)u * n + w;

            if (w != u) {
                bytes[k] =
                    fs_u64_div_up(traffic->summary.bytes[k],
                                  fs_tool_tile_lanes(traffic->topo, u, w));
            }
        }
    }
    return bytes;
}

static fs_schedule_t *schedule(fs_tool_plan_t *plan, const uint64_t *bytes,
                               uint32_t only_server)
{
    fs_traffic_t   summary = plan->traffic->summary;
    fs_schedule_t *schedule;

    fs_tool_must(fs_traffic_sum(&summary), "planning");
    plan->choice = fs_select(plan->traffic->topo, &summary, &plan->params);
    fs_tool_must(fs_schedule_create(plan->params.decompose,
                                    plan->params.stage_cost, summary.n_servers,
                                    bytes, only_server, &schedule),
                 "planning");
    return schedule;
}

/* The schedule of all servers; then, timed, once more that of one, which is
 * what every rank of it does for every call. */
static void make_schedule(fs_tool_plan_t *plan)
{
    uint64_t *bytes = per_lane(plan->traffic), start;

    plan->schedule = schedule(plan, bytes, FS_ALL_SERVERS);
    start          = fs_tool_now_ns();
    fs_schedule_destroy(schedule(plan, bytes, 0));
    plan->plan_ns = fs_tool_now_ns() - start;
    free(bytes);
}

/* A pair's bytes lie side by side on its lanes; a transfer carries the next
 * slice of each. What is beyond the end of the last lane is not sent. */
static void find_real(fs_tool_plan_t *plan)
{
    const fs_schedule_t *schedule = plan->schedule;
    size_t               n        = schedule->n_servers;
    uint64_t            *at       = fs_tool_calloc(n * n, sizeof(*at));

    plan->real = fs_tool_calloc(schedule->n_transfers, sizeof(*plan->real));
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        const fs_transfer_t *t    = &schedule->transfers[k];
        size_t               pair = t->src * n + t->dst;
        uint64_t             all  = plan->traffic->summary.bytes[pair];
        uint64_t             lanes =
            fs_tool_tile_lanes(plan->traffic->topo, t->src, t->dst);

        plan->real[k] = fs_u64_min(all, lanes * (at[pair] + t->bytes)) -
                        fs_u64_min(all, lanes * at[pair]);
        at[pair] += t->bytes;
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
