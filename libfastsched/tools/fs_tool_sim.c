/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One simulated exchange: programs for everybody, then the run.
 *
 * Planning time is what the slowest rank needs from knowing the byte counts to
 * having its program. All ranks are timed once; the one that took longest is
 * timed again, and the median of that counts, so that a hiccup of this machine
 * does not. At the level of lanes it is a rank of the busiest server.
 */
#include "tools/fs_tool_sim.h"

#include "tools/fs_tool_params.h"
#include "tools/fs_tool_program.h"
#include "tools/fs_tool_progress.h"

#include <stdlib.h>

/* Chunks of the busiest rank, at most. Lanes are few, so theirs may be more. */
enum { CHUNKS = 2048, CHUNKS_OF_LANE = 65536 };

enum { WHY_LEN = 512, ROUNDS = 5, SLOTS = 64 };

#define MIN_CHUNK   (UINT64_C(64) << 10)
#define MIN_STAGING (UINT64_C(64) << 20)

typedef struct run {
    const fs_tool_sim_setup_t *setup;
    const fs_tool_traffic_t   *traffic;
    fs_plan_params_t           plan;   /* nothing left to choose */
    fs_sim_params_t            params; /* with spans */
    fs_alg_t                   alg;    /* of ours */
    bool                       lanes;
    uint64_t                   slowest_ns;
    uint32_t                   slowest;
    fs_sim_t                  *sim;
    fs_tool_sim_outcome_t     *outcome;
} run_t;

const char *fs_tool_sim_algorithm(uint32_t k)
{
    if (k < FS_TOOL_SIM_OURS) {
        return k == 0 ? "auto" : fs_alg_name((fs_alg_t)k);
    }
    k -= FS_TOOL_SIM_OURS;
    return fs_tool_word(fs_sim_baseline_name((fs_sim_baseline_t)k));
}

static bool is_baseline(const run_t *run)
{
    return run->setup->algorithm >= FS_TOOL_SIM_OURS;
}

/* ---- what is left to choose ---- */

static uint64_t power_of_two(double at_least)
{
    uint64_t p = 1;

    while ((double)p < at_least && p < UINT64_C(1) << 40) {
        p *= 2;
    }
    return p;
}

/* So small that head and tail do not count, so large that programs fit into
 * memory; but what is on its way to a lane, a window of chunks, has to last
 * twice as long as alpha. */
static uint64_t choose_chunk(const run_t *run)
{
    const fs_sim_params_t *p     = &run->params;
    uint32_t               n     = run->lanes ? CHUNKS_OF_LANE : CHUNKS;
    double                 share = (double)run->traffic->summary.max_inter / n;
    double window = 2 * p->alpha_out * p->rate_out / run->plan.window;

    share = share > window ? share : window;
    return power_of_two(share > (double)MIN_CHUNK ? share : (double)MIN_CHUNK);
}

static void choose(run_t *run)
{
    run->alg   = fs_tool_program_alg(run->traffic, &run->plan);
    run->lanes = run->setup->level == FS_TOOL_SIM_LANES ||
                 (run->setup->level == FS_TOOL_SIM_AUTO &&
                  run->traffic->n_ranks > FS_TOOL_SIM_MANY &&
                  !is_baseline(run) && run->alg == FS_ALG_STAGED &&
                  run->params.fabric == FS_SIM_SWITCH);
    if (run->plan.chunk == 0) {
        run->plan.chunk = choose_chunk(run);
    }
    if (run->plan.staging_limit == 0) {
        run->plan.staging_limit = SLOTS * run->plan.chunk > MIN_STAGING
                                      ? SLOTS * run->plan.chunk
                                      : MIN_STAGING;
    }
}

static int check_lanes(const run_t *run)
{
    if (run->lanes && (is_baseline(run) || run->alg != FS_ALG_STAGED)) {
        return fs_tool_bad("--level lanes knows only --algorithm staged");
    }
    if (run->lanes && run->params.fabric != FS_SIM_SWITCH) {
        return fs_tool_bad("--level lanes knows only --topology switch");
    }
    return FS_TOOL_OK;
}

/* ---- planning ---- */

/* What a rank does for each call, and how long it took. */
static fs_status_t plan_rank(const run_t *run, uint32_t rank,
                             const fs_local_traffic_t *local,
                             fs_plan_t **plan_p, uint64_t *ns_p)
{
    const fs_tool_traffic_t *t     = run->traffic;
    uint64_t                 start = fs_tool_now_ns();
    fs_status_t              status;

    if (is_baseline(run)) {
        *ns_p = 0;
        return fs_sim_baseline_create(
            (fs_sim_baseline_t)(run->setup->algorithm - FS_TOOL_SIM_OURS),
            t->topo, t->pairs, run->plan.chunk, rank, plan_p);
    }
    fs_select(t->topo, &t->summary, &run->plan);
    status = fs_plan_create(run->alg, t->topo, &t->summary, &run->plan, rank,
                            local, plan_p);
    *ns_p  = fs_tool_now_ns() - start;
    return status;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The median of several rounds. What the plan says is noted. */
static fs_status_t time_rank(run_t *run, uint32_t rank)
{
    uint32_t           server = fs_topo_server(run->traffic->topo, rank);
    fs_local_traffic_t local;
    uint64_t           times[ROUNDS];
    fs_status_t status = fs_tool_traffic_local(run->traffic, server, &local);

    if (status != FS_OK) {
        return status;
    }
    for (int k = 0; k < ROUNDS && status == FS_OK; ++k) {
        fs_plan_t *plan = NULL;

        status = plan_rank(run, rank, &local, &plan, &times[k]);
        if (status == FS_OK && plan->total_per_lane > 0) {
            uint64_t bound = fs_traffic_lower_bound(run->traffic->topo,
                                                    &run->traffic->summary);

            run->outcome->decompose = fs_decompose_name(plan->decompose);
            run->outcome->n_stages  = plan->n_stages;
            run->outcome->schedule  = (double)plan->total_per_lane /
                                     (double)bound;
        }
        fs_plan_destroy(plan);
    }
    if (status == FS_OK && run->setup->count_scheduling) {
        qsort(times, ROUNDS, sizeof(times[0]), compare_times);
        run->outcome->planning = (double)times[ROUNDS / 2] / 1e9;
    }
    free((void *)local.send);
    return status;
}

/* ---- the level of ranks ---- */

static fs_status_t add_server(run_t *run, uint32_t server)
{
    const fs_topo_t   *topo = run->traffic->topo;
    fs_local_traffic_t local;
    fs_status_t status = fs_tool_traffic_local(run->traffic, server, &local);

    if (status != FS_OK) {
        return status;
    }
    for (uint32_t i = 0; status == FS_OK && i < fs_topo_n_local(topo, server);
         ++i) {
        uint32_t   rank = fs_topo_rank(topo, server, i);
        fs_plan_t *plan = NULL;
        uint64_t   ns;

        status = plan_rank(run, rank, &local, &plan, &ns);
        if (status == FS_OK) {
            status = fs_sim_add(run->sim, rank, plan);
        }
        if (ns > run->slowest_ns) {
            run->slowest_ns = ns;
            run->slowest    = rank;
        }
        fs_plan_destroy(plan);
    }
    free((void *)local.send);
    return status;
}

static fs_status_t add_all(run_t *run)
{
    uint32_t            n        = fs_topo_n_servers(run->traffic->topo);
    fs_tool_progress_t *progress = fs_tool_progress_begin("planning", n);
    fs_status_t         status   = FS_OK;

    for (uint32_t s = 0; s < n && status == FS_OK; ++s) {
        status = add_server(run, s);
        fs_tool_progress_at(progress, s + 1);
    }
    if (status == FS_OK && !is_baseline(run)) {
        status = time_rank(run, run->slowest);
    }
    fs_tool_progress_end(progress);
    return status;
}

static int run_ranks(run_t *run)
{
    fs_tool_progress_t *progress;
    char                why[WHY_LEN] = "";
    fs_status_t         status       = add_all(run);

    if (status != FS_OK) {
        return fs_tool_status("planning", status);
    }
    progress = fs_tool_progress_begin("simulating", 0);
    status   = fs_sim_run(run->sim, &run->outcome->result, why, sizeof(why));
    fs_tool_progress_end(progress);
    if (status == FS_ERR_MISMATCH) {
        return fs_tool_failed("the programs do not end: %s", why);
    }
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("simulating", status);
}

/* ---- the level of lanes ---- */

static fs_status_t time_busiest(run_t *run)
{
    const fs_topo_t *topo = run->traffic->topo;
    fs_bounds_t      bounds;
    fs_status_t      status = fs_bounds(topo, run->traffic->pairs, &bounds);

    return status == FS_OK
               ? time_rank(run, fs_topo_rank(topo, bounds.busiest_server, 0))
               : status;
}

static int run_lanes(run_t *run)
{
    fs_sim_result_t    *result = &run->outcome->result;
    fs_tool_progress_t *progress;
    fs_status_t         status = time_busiest(run);

    if (status != FS_OK) {
        return fs_tool_status("planning", status);
    }
    progress = fs_tool_progress_begin("simulating", 0);
    status   = fs_sim_run_lanes(run->traffic->topo, run->traffic->pairs,
                                &run->plan, &run->params, result);
    fs_tool_progress_end(progress);
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("simulating", status);
}

/* ---- both ---- */

/* The simulation is made first: it knows which clusters there are. */
static int make_sim(run_t *run, fs_tool_spans_t *spans)
{
    const fs_topo_t *topo = run->traffic->topo;
    uint64_t bound = fs_traffic_lower_bound(topo, &run->traffic->summary);
    uint64_t expected_ns =
        (uint64_t)((double)bound / run->params.rate_out * 1e9);
    fs_status_t status = FS_OK;

    if (spans != NULL) {
        status = fs_tool_spans_init(topo, run->lanes, expected_ns, spans);
        run->params.span = fs_tool_spans_add;
        run->params.ctx  = spans;
    }
    if (status != FS_OK) {
        return fs_tool_status("--svg", status);
    }
    status = fs_sim_create(topo, &run->params, &run->sim);
    if (status == FS_ERR_INVAL) {
        return fs_tool_bad("--topology %s does not fit the servers; allowed: "
                           "hybrid-cube with 8 ranks each, ring with up to 32",
                           fs_tool_sim_fabric(run->params.fabric));
    }
    return status == FS_OK ? FS_TOOL_OK : fs_tool_status("cluster", status);
}

int fs_tool_sim_run(const fs_tool_sim_setup_t *setup,
                    const fs_tool_traffic_t *traffic, fs_tool_spans_t *spans,
                    fs_tool_sim_outcome_t *outcome)
{
    run_t run = {.setup   = setup,
                 .traffic = traffic,
                 .plan    = setup->plan,
                 .params  = setup->params,
                 .outcome = outcome};
    int   rc;

    choose(&run);
    *outcome = (fs_tool_sim_outcome_t){
        .algorithm = fs_tool_sim_algorithm(is_baseline(&run) ? setup->algorithm
                                                             : run.alg),
        .lanes     = run.lanes,
        .n_servers = fs_topo_n_servers(traffic->topo),
        .n_ranks   = traffic->n_ranks,
        .chunk     = run.plan.chunk,
        .n_runs    = 1,
    };
    rc = check_lanes(&run);
    if (rc == FS_TOOL_OK) {
        rc = make_sim(&run, spans);
    }
    if (rc == FS_TOOL_OK) {
        rc = run.lanes ? run_lanes(&run) : run_ranks(&run);
    }
    fs_sim_destroy(run.sim);
    outcome->time = outcome->result.time + outcome->planning;
    if (rc == FS_TOOL_OK && spans != NULL) {
        fs_tool_spans_end(spans, &outcome->result);
    }
    return rc;
}

/* ---- several ---- */

static void mean_real(double *mean, double one, double n)
{
    *mean += (one - *mean) / n;
}

static void mean_bytes(uint64_t *mean, uint64_t one, double n)
{
    double m = (double)*mean;

    mean_real(&m, (double)one, n);
    *mean = (uint64_t)(m + 0.5);
}

void fs_tool_sim_mean(fs_tool_sim_outcome_t       *mean,
                      const fs_tool_sim_outcome_t *one)
{
    fs_sim_result_t       *m = &mean->result;
    const fs_sim_result_t *o = &one->result;
    double                 n = ++mean->n_runs;

    mean_real(&mean->n_stages, one->n_stages, n);
    mean_real(&mean->schedule, one->schedule, n);
    mean_real(&mean->planning, one->planning, n);
    mean_real(&mean->time, one->time, n);
    mean_real(&m->time, o->time, n);
    mean_real(&m->optimal, o->optimal, n);
    mean_real(&m->optimal_rank, o->optimal_rank, n);
    mean_real(&m->first_wire, o->first_wire, n);
    mean_real(&m->last_wire, o->last_wire, n);
    mean_bytes(&m->total_bytes, o->total_bytes, n);
    mean_bytes(&m->wire_bytes, o->wire_bytes, n);
    mean_bytes(&m->up_bytes, o->up_bytes, n);
    mean_bytes(&m->copy_bytes, o->copy_bytes, n);
    mean_bytes(&m->staging_bytes, o->staging_bytes, n);
    mean_bytes(&m->n_ops, o->n_ops, n);
    mean_bytes(&m->n_messages, o->n_messages, n);
    if (o->max_senders > m->max_senders) {
        m->max_senders = o->max_senders;
    }
}
