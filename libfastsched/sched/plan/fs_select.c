/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm serves this call.
 *
 * A table of reasons, the first that applies wins. Every rank walks it with the
 * same numbers, so every rank takes the same row; a rank that decided otherwise
 * would be a hang, not a slow call. Hence integers only.
 *
 * From the threshold of skew on, a call runs staged (SABRE §4). Below it the
 * cheaper of staged and pipe2d does, by a model in bytes per lane, with alpha
 * the start-up cost of a message (params.stage_cost), N servers:
 *
 *   staged  A + 2 N alpha. A is the busiest line of the matrix of bytes per
 *           lane, which any schedule of one-to-one transfers takes at least. It
 *           is the lower bound, unless servers are so many and so uneven that
 *           lanes of the larger ones idle (fs_ports.h).
 *   pipe2d  3/2 B + 2 (N - 1) alpha. B is the most that one rank has to send or
 *           receive, or a lane on average. Its steps have no common length, so
 *           it does not reach B.
 *
 * Where no lane idles, A is at most B and staged is cheaper whatever the
 * traffic: its balance moves no more bytes inside servers than rails do, and in a
 * lab of 4 x 4 ranks it took 1.08 times the lower bound on balanced traffic,
 * pipe2d 1.12. Otherwise, with servers of 4, 1, 1, 1 and 1 ranks, pipe2d took
 * 1.58 times the bound: hence 3/2.
 */
#include "fastsched.h"

#include "base/fs_arith.h"
#include "sched/model/fs_ports.h"
#include "sched/plan/fs_plan.h"
#include "sched/model/fs_topo.h"

typedef struct call {
    const fs_topo_t        *topo;
    const fs_traffic_t     *traffic; /* NULL: any */
    const fs_plan_params_t *params;
    bool                    skewed;
} call_t;

/* PERHAPS: it depends on the traffic. */
typedef enum answer { NO, PERHAPS, YES } answer_t;

typedef struct row {
    answer_t (*applies)(const call_t *call);
    fs_alg_t    alg; /* not of forced() */
    const char *reason;
} row_t;

static answer_t yes_if(bool applies)
{
    return applies ? YES : NO;
}

static answer_t one_server(const call_t *call)
{
    return yes_if(fs_topo_n_servers(call->topo) < 2);
}

static answer_t nothing_between_servers(const call_t *call)
{
    return call->traffic == NULL ? PERHAPS
                                 : yes_if(call->traffic->inter_bytes == 0);
}

static answer_t forced(const call_t *call)
{
    return yes_if(call->params->force_algorithm);
}

static answer_t small(const call_t *call)
{
    return call->traffic == NULL ? PERHAPS
                                 : yes_if((fs_u128_t)call->params->min_bytes *
                                              fs_topo_n_ranks(call->topo) >
                                          call->traffic->inter_bytes);
}

/* The busiest rank has the mean at least: a ratio of 1. */
static answer_t skewed(const call_t *call)
{
    return call->params->mtm_threshold_milli <= 1000 ? YES
           : call->traffic == NULL                   ? PERHAPS
                                                     : yes_if(call->skewed);
}

/* A: the largest row or column sum of bytes per lane. */
static uint64_t busiest_line(const fs_topo_t *topo, const fs_traffic_t *traffic)
{
    uint32_t n    = topo->n_servers;
    uint64_t most = 0;

    for (uint32_t u = 0; u < n; ++u) {
        uint64_t row = 0, col = 0;

        for (uint32_t w = 0; w < n; ++w) {
            uint32_t lanes = fs_topo_tile_lanes(topo, u, w);

            if (w != u) {
                row += fs_u64_div_up(traffic->bytes[(size_t)u * n + w], lanes);
                col += fs_u64_div_up(traffic->bytes[(size_t)w * n + u], lanes);
            }
        }
        most = fs_u64_max(most, fs_u64_max(row, col));
    }
    return most;
}

static answer_t staged_is_cheaper(const call_t *call)
{
    const fs_topo_t *topo  = call->topo;
    fs_u128_t        alpha = call->params->stage_cost;
    fs_u128_t        n     = topo->n_servers;
    fs_u128_t        staged, pipe2d;

    if (fs_ports_use_all_lanes(topo)) {
        return YES;
    }
    if (call->traffic == NULL) {
        return PERHAPS;
    }
    staged = busiest_line(topo, call->traffic) + 2 * n * alpha;
    pipe2d = (fs_u128_t)fs_u64_max(call->traffic->max_inter,
                                   fs_traffic_lower_bound(topo, call->traffic));
    pipe2d = pipe2d * 3 / 2 + 2 * (n - 1) * alpha;
    return yes_if(staged <= pipe2d);
}

static answer_t always(const call_t *call)
{
    (void)call;
    return YES;
}

static const row_t rows[] = {
    {one_server, FS_ALG_NATIVE, "one server"},
    {nothing_between_servers, FS_ALG_NATIVE, "no bytes between servers"},
    {forced, FS_ALG_NATIVE, "forced by parameter"},
    {small, FS_ALG_NATIVE, "below min_bytes"},
    {skewed, FS_ALG_STAGED, "skewed"},
    {staged_is_cheaper, FS_ALG_STAGED, "lightly skewed, staged is cheaper"},
    {always, FS_ALG_PIPE2D, "lightly skewed"},
};

static fs_alg_t alg_of(const row_t *row, const fs_plan_params_t *params)
{
    return row->applies == forced ? params->algorithm : row->alg;
}

fs_choice_t fs_select(const fs_topo_t *topo, const fs_traffic_t *traffic,
                      const fs_plan_params_t *params)
{
    call_t call = {topo, traffic, params, false};
    size_t i    = 0;

    call.skewed = fs_traffic_mtm_milli(topo, traffic) >=
                  params->mtm_threshold_milli;
    while (rows[i].applies(&call) != YES) {
        ++i;
    }
    return (fs_choice_t){alg_of(&rows[i], params), call.skewed, rows[i].reason};
}

bool fs_select_can(const fs_topo_t *topo, const fs_plan_params_t *params,
                   fs_alg_t alg)
{
    call_t call = {topo, NULL, params, false};

    for (const row_t *row = rows;; ++row) {
        answer_t applies = row->applies(&call);

        if (applies != NO && alg_of(row, params) == alg) {
            return true;
        }
        if (applies == YES) {
            return false;
        }
    }
}
