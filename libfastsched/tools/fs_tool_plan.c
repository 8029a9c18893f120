/* SPDX-License-Identifier: BSD-3-Clause */
/* One exchange, planned: what fs_select() and fs_schedule_create() make of it,
 * and the bytes behind every transfer. */
#include "tools/fs_tool_plan.h"

#include "sched/fs_balance.h"
#include "tools/fs_tool_progress.h"

#include <stdlib.h>
#include <string.h>

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* [n x n] bytes per lane between servers, 0 on the diagonal; NULL: no memory */
static uint64_t *per_lane(const fs_tool_traffic_t *traffic)
{
    uint32_t  n     = traffic->summary.n_servers;
    uint64_t *bytes = calloc((size_t)n * n, sizeof(*bytes));

    for (uint32_t u = 0; bytes != NULL && u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            size_t k = (size_t)u * n + w;

            if (w != u) {
                bytes[k] = div_up(traffic->summary.bytes[k],
                                  fs_tool_tile_lanes(traffic->topo, u, w));
            }
        }
    }
    return bytes;
}

static fs_status_t schedule(fs_tool_plan_t *plan, const uint64_t *bytes,
                            uint32_t only_server, fs_schedule_t **schedule_p)
{
    fs_traffic_t summary = plan->traffic->summary;
    fs_status_t  status  = fs_traffic_sum(&summary);

    if (status != FS_OK) {
        return status;
    }
    plan->choice = fs_select(plan->traffic->topo, &summary, &plan->params);
    return fs_schedule_create(plan->params.decompose, plan->params.stage_cost,
                              summary.n_servers, bytes, only_server,
                              schedule_p);
}

/* The schedule of all servers; then, timed, once more that of one, which is
 * what every rank of it does for every call. */
static fs_status_t make_schedule(fs_tool_plan_t *plan)
{
    uint64_t      *bytes = per_lane(plan->traffic);
    fs_schedule_t *mine  = NULL;
    fs_status_t    status =
        bytes == NULL ? FS_ERR_NOMEM
                         : schedule(plan, bytes, FS_ALL_SERVERS, &plan->schedule);
    uint64_t start = fs_tool_now_ns();

    if (status == FS_OK) {
        status        = schedule(plan, bytes, 0, &mine);
        plan->plan_ns = fs_tool_now_ns() - start;
    }
    fs_schedule_destroy(mine);
    free(bytes);
    return status;
}

/* A pair's bytes lie side by side on its lanes; a transfer carries the next
 * slice of each. What is beyond the end of the last lane is not sent. */
static fs_status_t find_real(fs_tool_plan_t *plan)
{
    const fs_schedule_t *schedule = plan->schedule;
    size_t               n        = schedule->n_servers;
    uint64_t            *at       = calloc(n * n, sizeof(*at));

    plan->real = calloc(schedule->n_transfers + 1, sizeof(*plan->real));
    if (at == NULL || plan->real == NULL) {
        free(at);
        return FS_ERR_NOMEM;
    }
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        const fs_transfer_t *t    = &schedule->transfers[k];
        size_t               pair = t->src * n + t->dst;
        uint64_t             all  = plan->traffic->summary.bytes[pair];
        uint64_t             lanes =
            fs_tool_tile_lanes(plan->traffic->topo, t->src, t->dst);

        plan->real[k] = min(all, lanes * (at[pair] + t->bytes)) -
                        min(all, lanes * at[pair]);
        at[pair] += t->bytes;
    }
    free(at);
    return FS_OK;
}

static fs_status_t make(fs_tool_plan_t *plan)
{
    const fs_tool_traffic_t *traffic = plan->traffic;
    fs_status_t              status  = make_schedule(plan);

    if (status == FS_OK) {
        status = find_real(plan);
    }
    if (status == FS_OK) {
        status = fs_bounds(traffic->topo, traffic->pairs, &plan->bounds);
    }
    if (status == FS_OK) {
        status = fs_balance_moves(traffic->topo, plan->params.balance,
                                  traffic->pairs, &plan->moved_gather,
                                  &plan->moved_redist);
    }
    if (status == FS_OK &&
        plan->schedule->decompose == FS_DECOMPOSE_HIERARCHICAL) {
        status = fs_hierarchy_create(traffic->topo, true, traffic->pairs,
                                     &plan->hierarchy);
    }
    return status;
}

int fs_tool_plan_make(const fs_tool_traffic_t *traffic,
                      const fs_plan_params_t *params, fs_tool_plan_t *plan)
{
    fs_tool_progress_t *progress = fs_tool_progress_begin("planning", 0);
    fs_status_t         status;

    memset(plan, 0, sizeof(*plan));
    plan->traffic = traffic;
    plan->params  = *params;
    if (params->decompose == FS_DECOMPOSE_HIERARCHICAL) {
        plan->params.balance = FS_BALANCE_ROWCOL;
    }
    plan->lower_bound =
        fs_traffic_lower_bound(traffic->topo, &traffic->summary);
    plan->mtm_milli = fs_traffic_mtm_milli(traffic->topo, &traffic->summary);
    status          = make(plan);
    fs_tool_progress_end(progress);
    if (status != FS_OK) {
        fs_tool_plan_fini(plan);
        return fs_tool_status("planning", status);
    }
    return FS_TOOL_OK;
}

void fs_tool_plan_fini(fs_tool_plan_t *plan)
{
    fs_schedule_destroy(plan->schedule);
    fs_hierarchy_destroy(plan->hierarchy);
    free(plan->real);
    memset(plan, 0, sizeof(*plan));
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

int fs_tool_plan_chart(const fs_tool_plan_t *plan, uint32_t max_servers,
                       fs_tool_chart_t *chart)
{
    const fs_schedule_t *schedule = plan->schedule;
    uint32_t             n = (uint32_t)min(schedule->n_servers, max_servers);

    fs_tool_chart_init(chart);
    chart->unit      = "bytes per lane";
    chart->mark_name = "lower bound";
    chart->mark      = plan->lower_bound;
    chart->end       = schedule->total;
    for (uint32_t u = 0; u < n; ++u) {
        fs_tool_chart_row(chart, "server", "%u", u);
    }
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        const fs_transfer_t *t = &schedule->transfers[k];

        if (t->src < n) {
            fs_tool_chart_bar(chart, (fs_tool_bar_t){t->src, t->dst, t->start,
                                                     t->start + t->bytes,
                                                     plan->real[k]});
        }
    }
    if (chart->no_memory) {
        fs_tool_chart_fini(chart);
        return -1;
    }
    return 0;
}
