/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In an alltoallv, memory is the staging pool, and what goes to a receive buffer
 * has landed there. In a reduction the vector in the receive buffer is read as
 * well as written: its addresses are those behind the staging pool.
 */
#include "sched/plan/fs_contents.h"

#include "sched/model/fs_topo.h"

#include <stdio.h>
#include <stdlib.h>

struct fs_landing {
    uint32_t rank;
    uint32_t block;
    uint64_t offset;
    uint64_t len_bytes;
};

/* ---- life ---- */

fs_status_t fs_contents_init(fs_contents_t *mem, fs_check_t *check)
{
    uint32_t n = check->topo->n_ranks;

    *mem          = (fs_contents_t){.check = check};
    mem->ranges   = fs_arena_calloc(&check->arena, n, sizeof(*mem->ranges));
    mem->landings = fs_arena_calloc(&check->arena, check->n_nodes + 1,
                                    sizeof(*mem->landings));
    if (mem->ranges == NULL || mem->landings == NULL) {
        return FS_ERR_NOMEM;
    }
    return check->reduction == NULL ? FS_OK : fs_sums_init(&mem->sums, n);
}

void fs_contents_fini(fs_contents_t *mem)
{
    for (uint32_t r = 0; mem->ranges != NULL && r < mem->check->topo->n_ranks;
         ++r) {
        fs_ranges_fini(&mem->ranges[r]);
    }
    free(mem->runs.run);
    free(mem->right.run);
    free(mem->sum.run);
    fs_sums_fini(&mem->sums);
}

/* A rank's own vector, there before the first operation. */
static fs_status_t put_own_vector(fs_contents_t *mem, uint32_t rank)
{
    uint64_t len = mem->check->vector_bytes;

    mem->runs.n = 0;
    if (len == 0) {
        return FS_OK;
    }
    if (fs_runs_add(&mem->runs, (fs_run_t){rank, 0, 0, len}) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    return fs_ranges_write(&mem->ranges[rank],
                           mem->check->plans[rank]->staging_bytes, &mem->runs,
                           FS_NOBODY);
}

fs_status_t fs_contents_add_rank(fs_contents_t *mem, uint32_t rank,
                                 fs_before_fn_t *before, void *ctx)
{
    fs_ranges_init(&mem->ranges[rank], before, ctx);
    return mem->check->reduction != NULL && mem->check->reduction->in_place
               ? put_own_vector(mem, rank)
               : FS_OK;
}

/* ---- one operation ---- */

/* In the memory of its rank. */
static uint64_t address_of(const fs_contents_t *mem, size_t node,
                           const fs_place_t *place)
{
    uint32_t rank = mem->check->nodes[node].rank;

    return place->offset + (place->buffer == FS_BUF_STAGING
                                ? 0
                                : mem->check->plans[rank]->staging_bytes);
}

static fs_status_t access_failed(fs_contents_t *mem, size_t node,
                                 fs_status_t status)
{
    return status == FS_ERR_INVAL
               ? fs_check_fail(
                     mem->check, node,
                     mem->ranges[mem->check->nodes[node].rank].problem)
               : status;
}

/* Leave in mem->runs what the operation reads. */
static fs_status_t take(fs_contents_t *mem, size_t node)
{
    const fs_op_t *op   = mem->check->nodes[node].op;
    uint32_t       rank = mem->check->nodes[node].rank;

    mem->runs.n = 0;
    if (op->src.buffer == FS_BUF_SEND) {
        return fs_runs_add(
            &mem->runs,
            (fs_run_t){rank, op->src.block, op->src.offset, op->len_bytes});
    }
    return access_failed(
        mem, node,
        fs_ranges_read(&mem->ranges[rank], address_of(mem, node, &op->src),
                       op->len_bytes, fs_check_index(mem->check, node),
                       &mem->runs));
}

/* The right bytes at the right place. A run that is all of them is the only
 * one there can be, since runs are joined. */
static fs_status_t land(fs_contents_t *mem, size_t node)
{
    const fs_op_t  *op   = mem->check->nodes[node].op;
    uint32_t        rank = mem->check->nodes[node].rank;
    const fs_run_t *run  = &mem->runs.run[0];

    if (mem->runs.n != 1 || run->src != op->dst.block || run->dst != rank ||
        run->offset != op->dst.offset) {
        return fs_check_fail(mem->check, node,
                             "delivers bytes of another block or offset");
    }
    mem->landings[mem->n_landings++] =
        (struct fs_landing){rank, op->dst.block, op->dst.offset, op->len_bytes};
    return FS_OK;
}

/* Put mem->runs where the operation writes. */
static fs_status_t put(fs_contents_t *mem, size_t node)
{
    const fs_op_t *op   = mem->check->nodes[node].op;
    uint32_t       rank = mem->check->nodes[node].rank;

    if (op->dst.buffer == FS_BUF_RECV && mem->check->reduction == NULL) {
        return land(mem, node);
    }
    return access_failed(
        mem, node,
        fs_ranges_write(&mem->ranges[rank], address_of(mem, node, &op->dst),
                        &mem->runs, fs_check_index(mem->check, node)));
}

/* mem->runs on the left, on the right what is where they go; the sum becomes
 * mem->runs. That dst is read in order follows from its being written in order. */
static fs_status_t add_to(fs_contents_t *mem, size_t node)
{
    const fs_op_t *op     = mem->check->nodes[node].op;
    uint32_t       rank   = mem->check->nodes[node].rank;
    uint32_t       elem   = mem->check->reduction->elem_bytes;
    fs_runs_t      left   = mem->runs;
    fs_status_t    status = FS_OK;

    mem->right.n = 0;
    if (left.run[0].offset % elem != 0 || op->len_bytes % elem != 0) {
        return fs_check_fail(mem->check, node, "cuts an element");
    }
    status = access_failed(
        mem, node,
        fs_ranges_read(&mem->ranges[rank], address_of(mem, node, &op->dst),
                       op->len_bytes, FS_NOBODY, &mem->right));
    if (status != FS_OK) {
        return status;
    }
    status    = fs_sums_add(&mem->sums, &left, &mem->right, &mem->sum);
    mem->runs = mem->sum;
    mem->sum  = left;
    return status == FS_ERR_INVAL
               ? fs_check_fail(mem->check, node, mem->sums.problem)
               : status;
}

fs_status_t fs_contents_move(fs_contents_t *mem, size_t from, size_t to)
{
    fs_status_t status = take(mem, from);

    if (status == FS_OK && mem->check->nodes[to].op->kind == FS_OP_REDUCE) {
        status = add_to(mem, to);
    }
    return status == FS_OK ? put(mem, to) : status;
}

/* ---- results ---- */

static int by_place(const void *a, const void *b)
{
    const struct fs_landing *x = a, *y = b;

    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->block != y->block) {
        return x->block < y->block ? -1 : 1;
    }
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Landings that tile every block, from the first byte to the last. */
static fs_status_t check_landings(const fs_contents_t *mem)
{
    const fs_check_t *check = mem->check;
    uint32_t          n     = check->topo->n_ranks;
    size_t            k     = 0;

    qsort(mem->landings, mem->n_landings, sizeof(*mem->landings), by_place);
    for (size_t cell = 0; cell < (size_t)n * n; ++cell) {
        uint32_t rank = (uint32_t)(cell / n), block = (uint32_t)(cell % n);
        uint64_t want = check->rank_bytes[(size_t)block * n + rank], at = 0;

        for (; k < mem->n_landings && mem->landings[k].rank == rank &&
               mem->landings[k].block == block && mem->landings[k].offset == at;
             ++k) {
            at += mem->landings[k].len_bytes;
        }
        if (at != want ||
            (k < mem->n_landings && mem->landings[k].rank == rank &&
             mem->landings[k].block == block)) {
            snprintf(check->why, check->why_len,
                     "rank %u: at byte %llu of %llu of the block from rank %u, "
                     "a byte is missing or comes twice",
                     rank, (unsigned long long)at, (unsigned long long)want,
                     block);
            return FS_ERR_INVAL;
        }
    }
    return FS_OK;
}

/* The result of one rank: all of the vector, each byte the sum of all ranks. */
static fs_status_t check_result(fs_contents_t *mem, uint32_t rank)
{
    const fs_check_t *check = mem->check;
    uint64_t          at    = 0;
    fs_status_t       status;

    mem->runs.n = 0;
    status      = fs_ranges_read(&mem->ranges[rank],
                                 check->plans[rank]->staging_bytes,
                                 check->vector_bytes, FS_NOBODY, &mem->runs);
    if (status == FS_ERR_INVAL) {
        snprintf(check->why, check->why_len,
                 "rank %u: a byte of the result is missing", rank);
    }
    for (size_t k = 0; status == FS_OK && k < mem->runs.n; ++k) {
        const fs_run_t *run = &mem->runs.run[k];

        if (run->offset != at || !fs_sums_is_full(&mem->sums, run->src)) {
            snprintf(check->why, check->why_len,
                     "rank %u: byte %llu of the result is not the sum of all "
                     "ranks",
                     rank, (unsigned long long)at);
            status = FS_ERR_INVAL;
        }
        at += run->len_bytes;
    }
    return status;
}

/* All are full, so runs with other numbers differ in their order. */
static bool is_same(const fs_runs_t *a, const fs_runs_t *b)
{
    bool same = a->n == b->n;

    for (size_t k = 0; same && k < a->n; ++k) {
        same = a->run[k].src == b->run[k].src &&
               a->run[k].len_bytes == b->run[k].len_bytes;
    }
    return same;
}

static fs_status_t check_results(fs_contents_t *mem)
{
    fs_status_t status = check_result(mem, 0);
    fs_runs_t   first  = mem->runs;

    mem->runs = mem->sum; /* rank 0's stay where they are */
    mem->sum  = first;
    for (uint32_t r = 1; status == FS_OK && r < mem->check->topo->n_ranks;
         ++r) {
        status = check_result(mem, r);
        if (status == FS_OK && !is_same(&mem->runs, &first)) {
            snprintf(mem->check->why, mem->check->why_len,
                     "rank %u: the result is added in another order than on "
                     "rank 0",
                     r);
            status = FS_ERR_INVAL;
        }
    }
    return status;
}

fs_status_t fs_contents_check(fs_contents_t *mem)
{
    return mem->check->reduction == NULL ? check_landings(mem)
                                         : check_results(mem);
}
