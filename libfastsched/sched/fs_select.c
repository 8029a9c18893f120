/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm serves this call.
 *
 * A table of reasons, the first that applies wins. Every rank walks it with the
 * same numbers, so every rank takes the same row; a rank that decided otherwise
 * would be a hang, not a slow call. Hence integers only.
 */
#include "fastsched.h"

#include "base/fs_arith.h"

typedef struct call {
    const fs_topo_t        *topo;
    const fs_traffic_t     *traffic;
    const fs_plan_params_t *params;
    bool                    skewed;
} call_t;

static bool one_server(const call_t *call)
{
    return fs_topo_n_servers(call->topo) < 2;
}

static bool forced_host(const call_t *call)
{
    return call->params->force_algorithm &&
           call->params->algorithm == FS_ALG_HOST;
}

static bool forced_staged(const call_t *call)
{
    return call->params->force_algorithm &&
           call->params->algorithm == FS_ALG_STAGED;
}

static bool nothing_between_servers(const call_t *call)
{
    return call->traffic->inter_bytes == 0;
}

static bool small(const call_t *call)
{
    return (fs_u128_t)call->params->min_bytes * fs_topo_n_ranks(call->topo) >
           call->traffic->inter_bytes;
}

static bool skewed(const call_t *call)
{
    return call->skewed;
}

static bool always(const call_t *call)
{
    (void)call;
    return true;
}

static const struct {
    bool (*applies)(const call_t *call);
    fs_alg_t    alg;
    const char *reason;
} rows[] = {
    {one_server, FS_ALG_HOST, "one server"},
    {nothing_between_servers, FS_ALG_HOST, "no bytes between servers"},
    {forced_host, FS_ALG_HOST, "as told"},
    {forced_staged, FS_ALG_STAGED, "as told"},
    {small, FS_ALG_HOST, "below min_bytes"},
    {skewed, FS_ALG_STAGED, "skewed"},
    {always, FS_ALG_STAGED, "large enough"},
};

const char *fs_alg_name(fs_alg_t alg)
{
    switch (alg) {
    case FS_ALG_HOST:
        return "host";
    case FS_ALG_STAGED:
        return "staged";
    }
    return "unknown";
}

fs_choice_t fs_select(const fs_topo_t *topo, const fs_traffic_t *traffic,
                      const fs_plan_params_t *params)
{
    call_t call = {topo, traffic, params, false};
    size_t i    = 0;

    call.skewed = fs_traffic_mtm_milli(topo, traffic) >=
                  params->mtm_threshold_milli;
    while (!rows[i].applies(&call)) {
        ++i;
    }
    return (fs_choice_t){rows[i].alg, call.skewed, rows[i].reason};
}
