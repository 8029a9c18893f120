/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: a table of algorithms, and what each of them goes through. Their
 * programs are written operation by operation (fs_program.c), then sealed into
 * one block of memory in which operations refer to each other by index, so that
 * a plan can be printed, hashed and replayed.
 */
#include "sched/plan/fs_plan.h"

#include "base/fs_digest.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

static const struct {
    const char           *name;
    const fs_algorithm_t *algorithm; /* NULL: not ours to run */
} rows[] = {
#define X(_alg, _word, _text) [_alg] = {#_word, &fs_alg_##_word},
    FS_ALG_MAP(X)
#undef X
        [FS_ALG_NATIVE] = {"native", NULL},
    [FS_ALG_BUNDLES]    = {"bundles", NULL},
    [FS_ALG_RING]       = {"ring", NULL},
    [FS_ALG_STRAGGLAR]  = {"stragglar", NULL},
    [FS_ALG_EAGER]      = {"eager", NULL},
};

const char *fs_alg_name(fs_alg_t alg)
{
    return (uint32_t)alg < FS_N_ALGS ? rows[alg].name : "unknown";
}

/* NULL: there is none. */
static const fs_algorithm_t *find(fs_alg_t alg)
{
    return (uint32_t)alg < FS_N_ALGS ? rows[alg].algorithm : NULL;
}

bool fs_plan_has_schedule(fs_alg_t alg)
{
    const fs_algorithm_t *row = find(alg);

    return row != NULL && row->has_schedule;
}

bool fs_plan_talks(const fs_topo_t *topo, const fs_plan_params_t *params,
                   uint32_t src, uint32_t dst)
{
    for (uint32_t k = 0; k < FS_N_ALGS; ++k) {
        const fs_algorithm_t *alg = rows[k].algorithm;

        if (alg != NULL && alg->talks(topo, params, src, dst) &&
            fs_select_can(topo, params, (fs_alg_t)k)) {
            return true;
        }
    }
    return false;
}

static bool params_ok(const fs_plan_params_t *params)
{
    return params->chunk > 0 && params->window > 0 &&
           params->staging_limit / params->chunk >=
               FS_STAGING_RINGS * FS_STAGING_MIN_SLOTS;
}

/* Is the sum of a server's part of some rows, [n_rows x n_ranks], what it should
 * be? A sum that wraps is not. */
static bool part_is(const fs_topo_t *topo, uint32_t server,
                    const uint64_t *rows, uint32_t n_rows, uint64_t should)
{
    const uint32_t *rank = fs_topo_ranks(topo, server);
    uint32_t        n    = fs_topo_n_local(topo, server);
    uint64_t        left = should, wrapped = 0;

    for (uint32_t i = 0; i < n_rows; ++i) {
        if (fs_in_a_row(rank, n)) {
            for (const uint64_t *b = rows + rank[0], *e = b + n; b < e; ++b) {
                wrapped |= *b > left;
                left -= *b;
            }
        } else {
            for (uint32_t k = 0; k < n; ++k) {
                wrapped |= rows[rank[k]] > left;
                left -= rows[rank[k]];
            }
        }
        rows += topo->n_ranks;
    }
    return left == 0 && wrapped == 0;
}

/* Do the counts of this server's ranks add up to its row and column? */
static bool local_adds_up(const fs_plan_request_t *request)
{
    const fs_topo_t          *topo  = request->topo;
    const fs_local_traffic_t *local = request->local;
    uint32_t                  n     = topo->n_servers;
    uint32_t                  u     = fs_topo_server(topo, request->rank);
    uint32_t                  rows  = fs_topo_n_local(topo, u);
    const uint64_t           *row   = request->traffic->bytes + (size_t)u * n;
    const uint64_t           *col   = request->traffic->bytes + u;

    for (uint32_t w = 0; w < n; ++w) {
        if (!part_is(topo, w, local->send, rows, row[w]) ||
            !part_is(topo, w, local->recv, rows, col[(size_t)w * n])) {
            return false;
        }
    }
    return true;
}

uint64_t fs_plan_digest(const fs_plan_request_t *request, fs_alg_t alg)
{
    const fs_traffic_t *traffic = request->traffic;
    size_t              n = (size_t)traffic->n_servers * traffic->n_servers;
    uint64_t digest       = fs_digest_add(traffic->n_servers, (uint64_t)alg);

    for (size_t k = 0; k < n; ++k) {
        digest = fs_digest_add(digest, traffic->bytes[k]);
    }
    return digest;
}

fs_status_t fs_plan_make(const fs_plan_request_t *request, fs_alg_t alg,
                         fs_plan_t **plan_p)
{
    const fs_algorithm_t *row    = find(alg);
    fs_plan_t             totals = {.alg = alg};
    fs_program_t          program;
    fs_status_t           status;

    if (row == NULL || !params_ok(request->params)) {
        return FS_ERR_INVAL;
    }
    if (!local_adds_up(request)) {
        return FS_ERR_MISMATCH;
    }
    status = fs_program_init(&program, request->topo->n_ranks);
    if (status == FS_OK) {
        status = row->build(request, &program, &totals);
    }
    if (status == FS_OK) {
        status = fs_program_seal(&program, &totals, plan_p);
    }
    fs_program_fini(&program);
    return status;
}

fs_status_t fs_plan_create(fs_alg_t alg, const fs_topo_t *topo,
                           const fs_traffic_t     *traffic,
                           const fs_plan_params_t *params, uint32_t rank,
                           const fs_local_traffic_t *local, fs_plan_t **plan_p)
{
    fs_plan_request_t request = {topo,  traffic, params, rank,
                                 local, NULL,    NULL};

    return fs_plan_make(&request, alg, plan_p);
}

void fs_plan_destroy(fs_plan_t *plan)
{
    free(plan);
}
