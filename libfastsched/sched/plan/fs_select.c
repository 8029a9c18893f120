/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm serves this call.
 *
 * A table of reasons, the first that applies wins. Every rank walks it with the
 * same numbers, so every rank takes the same row; a rank that decided otherwise
 * would be a hang, not a slow call. Hence integers only.
 *
 * From the threshold of skew on, a call runs staged (SABRE §4). Below it the
 * cheaper of staged and pipe2d does, by the model in fs_cost.h. Where no lane
 * idles staged is cheaper whatever the traffic.
 */
#include "fastsched.h"

#include "base/fs_arith.h"
#include "sched/model/fs_ports.h"
#include "sched/plan/fs_cost.h"
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

static answer_t staged_is_cheaper(const call_t *call)
{
    const fs_topo_t *topo  = call->topo;
    uint64_t         alpha = call->params->stage_cost, bound;

    if (fs_ports_use_all_lanes(topo)) {
        return YES;
    }
    if (call->traffic == NULL) {
        return PERHAPS;
    }
    bound = fs_traffic_lower_bound(topo, call->traffic);
    return yes_if(fs_cost_staged(topo, call->traffic, bound, alpha) <=
                  fs_cost_pipe2d(topo, call->traffic, bound, alpha));
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
