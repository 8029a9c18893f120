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

#include "tools/fs_tool_cluster.h"
#include "tools/fs_tool_drawing.h"
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
    if (k >= FS_TOOL_SIM_BUNDLES) {
        return k == FS_TOOL_SIM_BUNDLES ? "bundles" : NULL;
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

static void check_lanes(const run_t *run)
{
    if (run->lanes && (is_baseline(run) || run->alg != FS_ALG_STAGED)) {
        fs_tool_bad("--level lanes supports only --algorithm staged");
    }
    if (run->lanes && run->params.fabric != FS_SIM_SWITCH) {
        fs_tool_bad("--level lanes supports only --topology switch");
    }
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

/* The median of several rounds. What the plan says is noted. */
static void time_rank(run_t *run, uint32_t rank)
{
    const fs_tool_traffic_t *t = run->traffic;
    fs_local_traffic_t       local;
    uint64_t                 times[ROUNDS];

    fs_tool_traffic_local(t, fs_topo_server(t->topo, rank), &local);
    for (int k = 0; k < ROUNDS; ++k) {
        fs_plan_t *plan;

        fs_tool_must(plan_rank(run, rank, &local, &plan, &times[k]),
                     "planning");
        if (plan->total_per_lane > 0) {
            run->outcome->decompose = fs_decompose_name(plan->decompose);
            run->outcome->n_stages  = plan->n_stages;
            run->outcome->schedule =
                (double)plan->total_per_lane /
                (double)fs_traffic_lower_bound(t->topo, &t->summary);
        }
        fs_plan_destroy(plan);
    }
    if (run->setup->count_scheduling) {
        run->outcome->planning = fs_tool_median_us(times, ROUNDS) / 1e6;
    }
    free((void *)local.send);
}

/* ---- the level of ranks ---- */

static fs_status_t add_rank(void *ctx, uint32_t rank,
                            const fs_local_traffic_t *local)
{
    run_t      *run = ctx;
    fs_plan_t  *plan;
    uint64_t    ns;
    fs_status_t status = plan_rank(run, rank, local, &plan, &ns);

    if (status == FS_OK) {
        status = fs_sim_add(run->sim, rank, plan);
        fs_plan_destroy(plan);
    }
    if (ns > run->slowest_ns) {
        run->slowest_ns = ns;
        run->slowest    = rank;
    }
    return status;
}

static void run_ranks(run_t *run)
{
    char        why[WHY_LEN] = "";
    fs_status_t status;

    fs_tool_programs_make(run->traffic, 0, run->traffic->n_ranks, add_rank,
                          run);
    if (!is_baseline(run)) {
        time_rank(run, run->slowest);
    }
    fs_tool_progress_begin("simulating", 0);
    status = fs_sim_run(run->sim, &run->outcome->result, why, sizeof(why));
    if (status == FS_ERR_MISMATCH) {
        fs_tool_failed("the programs do not end: %s", why);
    }
    fs_tool_must(status, "simulating");
    fs_tool_progress_end();
}

/* ---- the level of lanes ---- */

static void run_lanes(run_t *run)
{
    const fs_tool_traffic_t *t = run->traffic;
    fs_bounds_t              bounds;

    fs_tool_must(fs_bounds(t->topo, t->pairs, &bounds), "planning");
    time_rank(run, fs_topo_rank(t->topo, bounds.busiest_server, 0));
    fs_tool_progress_begin("simulating", 0);
    fs_tool_must(fs_sim_run_lanes(t->topo, t->pairs, &run->plan, &run->params,
                                  &run->outcome->result),
                 "simulating");
    fs_tool_progress_end();
}

/* ---- both ---- */

/* The simulation is made first: it knows which clusters there are. */
static void simulate(run_t *run)
{
    fs_status_t status;

    check_lanes(run);
    status = fs_sim_create(run->traffic->topo, &run->params, &run->sim);
    if (status == FS_ERR_INVAL) {
        fs_tool_bad("--topology %s does not fit the servers; allowed: "
                    "hybrid-cube with 8 ranks each, ring with up to 32",
                    fs_tool_sim_fabric(run->params.fabric));
    }
    fs_tool_must(status, "cluster");
    (run->lanes ? run_lanes : run_ranks)(run);
    fs_sim_destroy(run->sim);
}

static void simulate_and_draw(run_t *run, const char *svg)
{
    const fs_tool_traffic_t *t = run->traffic;
    uint64_t          bound    = fs_traffic_lower_bound(t->topo, &t->summary);
    fs_tool_drawing_t drawing;

    fs_tool_drawing_begin(
        &drawing, svg, run->setup->title, t->topo, run->lanes,
        run->params.rate_out,
        (uint64_t)((double)bound / run->params.rate_out * 1e9));
    run->params.span = fs_tool_drawing_span;
    run->params.ctx  = &drawing;
    simulate(run);
    fs_tool_drawing_end(&drawing, &run->outcome->result);
}

void fs_tool_sim_run(const fs_tool_sim_setup_t *setup,
                     const fs_tool_traffic_t *traffic, const char *svg,
                     fs_tool_sim_outcome_t *outcome)
{
    run_t run = {.setup   = setup,
                 .traffic = traffic,
                 .plan    = setup->plan,
                 .params  = setup->params,
                 .outcome = outcome};

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
    if (svg == NULL) {
        simulate(&run);
    } else {
        simulate_and_draw(&run, svg);
    }
    outcome->time = outcome->result.time + outcome->planning;
}

/* ---- several ---- */

void fs_tool_sim_mean_real(double *mean, double one, double n)
{
    *mean += (one - *mean) / n;
}

static void mean_bytes(uint64_t *mean, uint64_t one, double n)
{
    double m = (double)*mean;

    fs_tool_sim_mean_real(&m, (double)one, n);
    *mean = (uint64_t)(m + 0.5);
}

void fs_tool_sim_mean(fs_tool_sim_outcome_t       *mean,
                      const fs_tool_sim_outcome_t *one)
{
    fs_sim_result_t       *m = &mean->result;
    const fs_sim_result_t *o = &one->result;
    double                 n = ++mean->n_runs;

    fs_tool_sim_mean_real(&mean->n_stages, one->n_stages, n);
    fs_tool_sim_mean_real(&mean->schedule, one->schedule, n);
    fs_tool_sim_mean_real(&mean->planning, one->planning, n);
    fs_tool_sim_mean_real(&mean->time, one->time, n);
    fs_tool_sim_mean_real(&m->time, o->time, n);
    fs_tool_sim_mean_real(&m->optimal, o->optimal, n);
    fs_tool_sim_mean_real(&m->optimal_rank, o->optimal_rank, n);
    fs_tool_sim_mean_real(&m->first_wire, o->first_wire, n);
    fs_tool_sim_mean_real(&m->last_wire, o->last_wire, n);
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
