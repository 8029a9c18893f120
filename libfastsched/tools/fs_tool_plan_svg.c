/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What NICs and scale-up ports are doing when a plan is carried out: its
 * programs are simulated, and what the simulator tells is drawn. Up to
 * MAX_RANKS ranks have a row for each port, more than that are drawn by server.
 */
#include "tools/fs_tool_plan.h"
#include "tools/fs_tool_program.h"
#include "tools/fs_tool_spans.h"

#include <stdlib.h>

enum { MAX_RANKS = 64, WHY_LEN = 512 };

static fs_sim_params_t sim_params(const fs_tool_plan_t  *plan,
                                  const fs_tool_rates_t *rates,
                                  fs_tool_spans_t       *spans)
{
    double rate = (double)rates->nic / 8;

    return (fs_sim_params_t){
        .rate_out  = rate,
        .rate_up   = (double)rates->up / 8,
        .alpha_out = (double)plan->params.stage_cost / rate,
        .fabric    = FS_SIM_SWITCH,
        .span      = fs_tool_spans_add,
        .ctx       = spans,
    };
}

static int simulate_plans(const fs_tool_plan_t  *plan,
                          const fs_sim_params_t *params, fs_plan_t **plans,
                          fs_sim_result_t *result)
{
    uint32_t    n = plan->traffic->n_ranks;
    fs_sim_t   *sim;
    char        why[WHY_LEN] = "";
    fs_status_t status       = fs_sim_create(plan->traffic->topo, params, &sim);

    if (status != FS_OK) {
        return fs_tool_status("simulation", status);
    }
    for (uint32_t r = 0; r < n && status == FS_OK; ++r) {
        status = fs_sim_add(sim, r, plans[r]);
    }
    if (status == FS_OK) {
        status = fs_sim_run(sim, result, why, sizeof(why));
    }
    fs_sim_destroy(sim);
    if (status == FS_ERR_MISMATCH) {
        return fs_tool_failed("simulation: %s", why);
    }
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("simulation", status);
}

static int simulate_ranks(const fs_tool_plan_t  *plan,
                          const fs_sim_params_t *params,
                          fs_sim_result_t       *result)
{
    uint32_t    n     = plan->traffic->n_ranks;
    fs_plan_t **plans = calloc(n, sizeof(*plans));
    int         rc;

    if (plans == NULL) {
        return fs_tool_status("programs", FS_ERR_NOMEM);
    }
    rc = fs_tool_programs_make(plan->traffic, &plan->params, 0, n, plans);
    if (rc == FS_TOOL_OK) {
        rc = simulate_plans(plan, params, plans, result);
    }
    for (uint32_t r = 0; r < n; ++r) {
        fs_plan_destroy(plans[r]);
    }
    free(plans);
    return rc;
}

static int simulate(const fs_tool_plan_t *plan, const fs_tool_rates_t *rates,
                    fs_tool_spans_t *spans)
{
    const fs_tool_traffic_t *traffic = plan->traffic;
    fs_sim_params_t          params  = sim_params(plan, rates, spans);
    fs_sim_result_t          result;
    fs_status_t              status;
    int                      rc;

    if (spans->by_server) {
        status = fs_sim_run_lanes(traffic->topo, traffic->pairs, &plan->params,
                                  &params, &result);
        rc     = status == FS_OK ? FS_TOOL_OK
                                 : fs_tool_status("simulation", status);
    } else {
        rc = simulate_ranks(plan, &params, &result);
    }
    if (rc == FS_TOOL_OK) {
        fs_tool_spans_end(spans, &result);
    }
    return rc;
}

int fs_tool_plan_svg(const char *path, const fs_tool_plan_t *plan,
                     const fs_tool_rates_t *rates)
{
    const fs_tool_traffic_t *traffic = plan->traffic;
    fs_alg_t                 alg = fs_tool_program_alg(traffic, &plan->params);
    bool                     large = traffic->n_ranks > MAX_RANKS;
    double                   rate  = (double)rates->nic / 8;
    char                     title[128];
    fs_tool_spans_t          spans;
    int                      rc;

    if (fs_tool_spans_init(traffic->topo, large && alg == FS_ALG_STAGED,
                           (uint64_t)((double)plan->lower_bound / rate * 1e9),
                           &spans) != FS_OK) {
        return fs_tool_status(path, FS_ERR_NOMEM);
    }
    rc = simulate(plan, rates, &spans);
    if (rc == FS_TOOL_OK) {
        snprintf(title, sizeof(title), "%s: NICs and scale-up ports, simulated",
                 fs_alg_name(alg));
        spans.chart.title = title;
        rc                = fs_tool_svg_file(path, &spans.chart);
    }
    fs_tool_spans_fini(&spans);
    return rc;
}
