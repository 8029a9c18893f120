/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs: written operation by operation, then sealed into one block of
 * memory in which operations refer to each other by index, so that a plan can
 * be printed, hashed and replayed.
 */
#include "sched/fs_plan.h"

#include "base/fs_arith.h"
#include "sched/fs_topo.h"

#include <stdlib.h>
#include <string.h>

fs_status_t fs_program_init(fs_program_t *program, uint32_t n_ranks)
{
    *program = (fs_program_t){.n_ranks = n_ranks};
    program->next_seq =
        calloc((size_t)2 * FS_CH_LAST * n_ranks, sizeof(*program->next_seq));
    return program->next_seq == NULL ? FS_ERR_NOMEM : FS_OK;
}

void fs_program_fini(fs_program_t *program)
{
    free(program->ops);
    free(program->edges);
    free(program->next_seq);
}

/* Room for one more element in a growing array; false if there is none. */
static bool grow(fs_program_t *program, void **array, uint32_t n, uint32_t *max,
                 size_t elem_bytes)
{
    uint32_t wanted = *max < 64 ? 128 : *max * 2;
    void    *bigger;

    if (program->status != FS_OK) {
        return false;
    }
    if (n < *max) {
        return true;
    }
    bigger = wanted > *max ? realloc(*array, wanted * elem_bytes) : NULL;
    if (bigger == NULL) {
        program->status = FS_ERR_NOMEM;
        return false;
    }
    *array = bigger;
    *max   = wanted;
    return true;
}

static uint32_t append(fs_program_t *program, fs_op_t op)
{
    if (!grow(program, (void **)&program->ops, program->n_ops,
              &program->max_ops, sizeof(*program->ops))) {
        return FS_NO_OP;
    }
    program->ops[program->n_ops] = op;
    return program->n_ops++;
}

static uint32_t number_message(fs_program_t *program, fs_op_kind_t kind,
                               fs_channel_t channel, uint32_t peer)
{
    size_t    table = kind == FS_OP_SEND ? FS_CH_LAST : 0;
    uint32_t *next =
        &program->next_seq[(table + channel) * program->n_ranks + peer];

    if (*next == FS_MAX_SEQ && program->status == FS_OK) {
        program->status = FS_ERR_OVERFLOW;
    }
    return (*next)++;
}

uint32_t fs_program_copy(fs_program_t *program, fs_place_t src, fs_place_t dst,
                         uint64_t len_bytes)
{
    return append(program, (fs_op_t){.kind      = FS_OP_COPY,
                                     .src       = src,
                                     .dst       = dst,
                                     .len_bytes = len_bytes});
}

uint32_t fs_program_send(fs_program_t *program, fs_channel_t channel,
                         uint32_t peer, fs_place_t src, uint64_t len_bytes)
{
    uint32_t seq = number_message(program, FS_OP_SEND, channel, peer);

    return append(program, (fs_op_t){.kind      = FS_OP_SEND,
                                     .channel   = channel,
                                     .peer      = peer,
                                     .seq       = seq,
                                     .src       = src,
                                     .len_bytes = len_bytes});
}

uint32_t fs_program_recv(fs_program_t *program, fs_channel_t channel,
                         uint32_t peer, fs_place_t dst, uint64_t len_bytes)
{
    uint32_t seq = number_message(program, FS_OP_RECV, channel, peer);

    return append(program, (fs_op_t){.kind      = FS_OP_RECV,
                                     .channel   = channel,
                                     .peer      = peer,
                                     .seq       = seq,
                                     .dst       = dst,
                                     .len_bytes = len_bytes});
}

void fs_program_after(fs_program_t *program, uint32_t then, uint32_t before)
{
    if (then == FS_NO_OP || before == FS_NO_OP ||
        !grow(program, (void **)&program->edges, program->n_edges,
              &program->max_edges, sizeof(*program->edges))) {
        return;
    }
    program->edges[program->n_edges].before = before;
    program->edges[program->n_edges].then   = then;
    ++program->n_edges;
}

/* Successor lists: count, place, fill. */
static void link_ops(const fs_program_t *program, fs_plan_t *plan)
{
    uint32_t place = 0;

    for (uint32_t e = 0; e < program->n_edges; ++e) {
        ++plan->ops[program->edges[e].before].n_next;
        ++plan->ops[program->edges[e].then].n_after;
    }
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        plan->ops[k].next = place;
        place += plan->ops[k].n_next;
        plan->ops[k].n_next = 0;
    }
    for (uint32_t e = 0; e < program->n_edges; ++e) {
        fs_op_t *before = &plan->ops[program->edges[e].before];

        plan->next[before->next + before->n_next++] = program->edges[e].then;
    }
}

/* Copy a finished program into a plan: one block, ops then successors. */
static fs_plan_t *seal(const fs_program_t *program, const fs_plan_t *totals)
{
    size_t     ops_bytes  = program->n_ops * sizeof(fs_op_t);
    size_t     next_bytes = program->n_edges * sizeof(uint32_t);
    fs_plan_t *plan       = malloc(sizeof(*plan) + ops_bytes + next_bytes);

    if (plan == NULL) {
        return NULL;
    }
    *plan        = *totals;
    plan->n_ops  = program->n_ops;
    plan->n_next = program->n_edges;
    plan->ops    = (fs_op_t *)(plan + 1);
    plan->next   = (uint32_t *)(plan->ops + program->n_ops);
    if (program->n_ops > 0) {
        memcpy(plan->ops, program->ops, ops_bytes);
    }
    link_ops(program, plan);
    return plan;
}

static bool params_ok(const fs_plan_params_t *params)
{
    return params->chunk > 0 && params->window > 0 &&
           params->staging_limit / params->chunk >=
               FS_STAGING_RINGS * FS_STAGING_MIN_SLOTS;
}

/* Do the counts of this server's ranks add up to its row and column? */
static bool local_adds_up(const fs_plan_request_t *request)
{
    const fs_topo_t    *topo    = request->topo;
    const fs_traffic_t *traffic = request->traffic;
    uint32_t            n       = topo->n_ranks;
    uint32_t            u       = fs_topo_server(topo, request->rank);
    uint32_t            n_local = fs_topo_n_local(topo, u);

    for (uint32_t w = 0; w < topo->n_servers; ++w) {
        uint64_t sent = 0, received = 0;

        for (uint32_t k = topo->first[w]; k < topo->first[w + 1]; ++k) {
            for (uint32_t i = 0; i < n_local; ++i) {
                size_t at = (size_t)i * n + topo->ranks[k];

                sent += request->local->send[at];
                received += request->local->recv[at];
            }
        }
        if (sent != traffic->bytes[(size_t)u * topo->n_servers + w] ||
            received != traffic->bytes[(size_t)w * topo->n_servers + u]) {
            return false;
        }
    }
    return true;
}

fs_status_t fs_plan_create(const fs_topo_t *topo, const fs_traffic_t *traffic,
                           const fs_plan_params_t *params, uint32_t rank,
                           const fs_local_traffic_t *local, fs_plan_t **plan_p)
{
    fs_plan_request_t request = {topo, traffic, params, rank, local};
    fs_plan_t         totals  = {0};
    fs_program_t      program;
    fs_plan_t        *plan;
    fs_status_t       status;

    if (!params_ok(params)) {
        return FS_ERR_INVAL;
    }
    if (!local_adds_up(&request)) {
        return FS_ERR_MISMATCH;
    }
    status = fs_program_init(&program, topo->n_ranks);
    if (status != FS_OK) {
        return status;
    }
    status = fs_alg_staged_build(&request, &program, &totals);
    if (status == FS_OK) {
        status = program.status;
    }
    if (status == FS_OK) {
        plan = seal(&program, &totals);
        if (plan == NULL) {
            status = FS_ERR_NOMEM;
        } else {
            *plan_p = plan;
        }
    }
    fs_program_fini(&program);
    return status;
}

void fs_plan_destroy(fs_plan_t *plan)
{
    free(plan);
}
