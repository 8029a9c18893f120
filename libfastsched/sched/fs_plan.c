/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: a table of algorithms, and what each of them goes through. Their
 * programs are written operation by operation (fs_program.c), then sealed into
 * one block of memory in which operations refer to each other by index, so that
 * a plan can be printed, hashed and replayed.
 */
#include "sched/fs_plan.h"

#include "base/fs_digest.h"
#include "sched/fs_topo.h"

#include <stdlib.h>

/* What there is. The name is what users type and logs print. */
static const struct alg_row {
    fs_alg_t       alg;
    const char    *name;
    fs_alg_build_t build; /* NULL: not ours to run */
    fs_alg_talks_t talks;
} algs[] = {
    {FS_ALG_HOST, "host", NULL, NULL},
    {FS_ALG_STAGED, "staged", fs_alg_staged_build, fs_alg_staged_talks},
    {FS_ALG_PIPE2D, "pipe2d", fs_alg_pipe2d_build, fs_alg_pipe2d_talks},
    {FS_ALG_DIRECT, "direct", fs_alg_direct_build, fs_alg_direct_talks},
};

enum { N_ALGS = sizeof(algs) / sizeof(algs[0]) };

static const struct alg_row *find(fs_alg_t alg)
{
    for (size_t k = 0; k < N_ALGS; ++k) {
        if (algs[k].alg == alg) {
            return &algs[k];
        }
    }
    return NULL;
}

const char *fs_alg_name(fs_alg_t alg)
{
    const struct alg_row *row = find(alg);

    return row == NULL ? "unknown" : row->name;
}

bool fs_plan_talks(const fs_topo_t *topo, const fs_plan_params_t *params,
                   uint32_t src, uint32_t dst)
{
    for (size_t k = 0; k < N_ALGS; ++k) {
        const struct alg_row *row = &algs[k];

        if (row->talks != NULL && row->talks(topo, params, src, dst) &&
            fs_select_can(topo, params, row->alg)) {
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

fs_status_t fs_plan_create(fs_alg_t alg, const fs_topo_t *topo,
                           const fs_traffic_t     *traffic,
                           const fs_plan_params_t *params, uint32_t rank,
                           const fs_local_traffic_t *local, fs_plan_t **plan_p)
{
    fs_plan_request_t     request = {topo, traffic, params, rank, local};
    const struct alg_row *row     = find(alg);
    fs_plan_t             totals  = {.alg = alg};
    fs_program_t          program;
    fs_status_t           status;

    if (row == NULL || row->build == NULL || !params_ok(params)) {
        return FS_ERR_INVAL;
    }
    if (!local_adds_up(&request)) {
        return FS_ERR_MISMATCH;
    }
    status = fs_program_init(&program, topo->n_ranks);
    if (status == FS_OK) {
        status = row->build(&request, &program, &totals);
    }
    if (status == FS_OK) {
        status = fs_program_seal(&program, &totals, plan_p);
    }
    fs_program_fini(&program);
    return status;
}

void fs_plan_destroy(fs_plan_t *plan)
{
    free(plan);
}
