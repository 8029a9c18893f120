/* SPDX-License-Identifier: BSD-3-Clause */
/* One exchange, simulated several times, and where its bottleneck is. */
#include "tools/fs_tool_compare.h"

#include "base/fs_arith.h"
#include "policy/fs_tuner.h"

static const struct {
    const char       *name;
    fs_sim_baseline_t baseline;
    uint32_t          max_ranks;
    const char       *meaning;
} ways[] = {
#define X(_way, _name, _baseline, _max_ranks, _meaning) \
    [_way] = {_name, _baseline, _max_ranks, _meaning},
    FS_TOOL_COMPARE_MAP(X)
#undef X
};

const char *fs_tool_way_name(uint32_t way)
{
    return ways[way].name;
}

const char *fs_tool_way_meaning(uint32_t way)
{
    return ways[way].meaning;
}

uint32_t fs_tool_way_max_ranks(uint32_t way)
{
    return ways[way].max_ranks;
}

double fs_tool_compare_gain(const fs_tool_compare_t *compare, double time)
{
    return compare->fast.time > 0 ? time / compare->fast.time : 1;
}

/* ---- the bottleneck ---- */

static uint64_t bytes_of(const fs_traffic_t *traffic, uint32_t server,
                         bool receives)
{
    uint32_t n   = traffic->n_servers;
    uint64_t sum = 0;

    for (uint32_t w = 0; w < n; ++w) {
        if (w != server) {
            sum += traffic->bytes[receives ? (size_t)w * n + server
                                           : (size_t)server * n + w];
        }
    }
    return sum;
}

static void find_bottleneck(fs_tool_compare_t *compare)
{
    const fs_tool_traffic_t *t = compare->traffic;
    uint32_t                 server;
    uint64_t                 sent, received;
    double                   all = (double)t->summary.inter_bytes;

    fs_tool_must(fs_bounds(t->topo, t->pairs, &compare->bounds), "traffic");
    server                 = compare->bounds.busiest_server;
    sent                   = bytes_of(&t->summary, server, false);
    received               = bytes_of(&t->summary, server, true);
    compare->receives      = received > sent;
    compare->busiest_bytes = fs_u64_max(sent, received);
    if (all > 0) {
        compare->bound = (double)compare->bounds.server /
                         compare->setup.params.rate_out;
        compare->share     = (double)compare->busiest_bytes / all;
        compare->over_mean = compare->share * t->summary.n_servers;
    }
}

/* ---- the runs ---- */

/* In the report are fast and the first of the ways that is simulated. */
static bool is_shown(const fs_tool_compare_t *compare, uint32_t way)
{
    for (uint32_t k = 0; k < way; ++k) {
        if (compare->ways[k].ran) {
            return way >= FS_TOOL_N_WAYS;
        }
    }
    return true;
}

/* algorithm: a word of fs_tool_sim_algorithm(). chunk: 0: chosen. report: NULL:
 * none. */
static void run(fs_tool_compare_t *compare, uint32_t way, uint32_t algorithm,
                uint64_t chunk, fs_tool_report_t *report,
                fs_tool_sim_outcome_t *outcome)
{
    fs_tool_sim_setup_t setup = compare->setup;

    setup.algorithm  = algorithm;
    setup.plan.chunk = chunk;
    if (report != NULL && is_shown(compare, way)) {
        report->way       = way;
        setup.params.span = fs_tool_report_span;
        setup.params.ctx  = report;
    }
    fs_tool_sim_run(&setup, compare->traffic, NULL, outcome);
}

/* As the tuner of a job does: the schedule with usual chunks and with coarse
 * ones; the faster counts. */
static void run_fast(fs_tool_compare_t *compare, fs_tool_report_t *report)
{
    fs_tool_sim_outcome_t coarse;

    compare->fast_way = FS_TOOL_N_WAYS;
    run(compare, FS_TOOL_N_WAYS, 0, 0, report, &compare->fast);
    run(compare, FS_TOOL_N_WAYS + 1, 0, FS_TUNER_COARSE * compare->fast.chunk,
        report, &coarse);
    if (coarse.time < compare->fast.time) {
        compare->fast     = coarse;
        compare->fast_way = FS_TOOL_N_WAYS + 1;
    }
}

static void run_all(fs_tool_compare_t *compare, fs_tool_report_t *report)
{
    for (uint32_t k = 0; k < FS_TOOL_N_WAYS; ++k) {
        fs_tool_way_t *way = &compare->ways[k];

        if (compare->traffic->n_ranks <= ways[k].max_ranks) {
            run(compare, k, FS_TOOL_SIM_OURS + ways[k].baseline, 0, report,
                &way->outcome);
            way->ran = true;
        }
        if (way->ran &&
            (!compare->ways[compare->best].ran ||
             way->outcome.time < compare->ways[compare->best].outcome.time)) {
            compare->best = k;
        }
    }
    run_fast(compare, report);
}

void fs_tool_compare_run(fs_tool_compare_t *compare, const char *html,
                         const char *svg)
{
    bool             reports = html != NULL || svg != NULL;
    fs_tool_report_t report;

    if (compare->traffic->n_ranks > FS_TOOL_COMPARE_MAX) {
        fs_tool_bad("%u ranks are too many to simulate each message; allowed: "
                    "up to %u",
                    compare->traffic->n_ranks, (unsigned)FS_TOOL_COMPARE_MAX);
    }
    find_bottleneck(compare);
    compare->simulated = fs_select(compare->traffic->topo,
                                   &compare->traffic->summary,
                                   &compare->setup.plan)
                             .alg != FS_ALG_NATIVE;
    if (reports) {
        fs_tool_report_begin(&report, compare, html, svg);
    }
    if (compare->simulated) {
        run_all(compare, reports ? &report : NULL);
    }
    fs_tool_compare_advise(compare);
    if (reports) {
        fs_tool_report_end(&report, compare);
    }
}
