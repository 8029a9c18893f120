/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs, operation by operation. A plan is made for every call, so this is
 * written to be quick: one block holds plan and operations from the start, with
 * room for what most programs need, and nothing is copied at the end.
 */
#include "sched/plan/fs_plan.h"

#include <stdlib.h>

fs_status_t fs_program_init(fs_program_t *program, uint32_t n_ranks)
{
    *program = (fs_program_t){
        .n_ranks   = n_ranks,
        .max_ops   = 64 + 4 * n_ranks,
        .max_edges = 64 + 6 * n_ranks,
    };
    program->block =
        malloc(sizeof(*program->block) + program->max_ops * sizeof(fs_op_t));
    program->edges = malloc(program->max_edges * sizeof(fs_edge_t));
    program->next_seq =
        calloc((size_t)2 * FS_CH_LAST * n_ranks, sizeof(*program->next_seq));
    if (program->block == NULL || program->edges == NULL ||
        program->next_seq == NULL) {
        return FS_ERR_NOMEM;
    }
    program->ops = (fs_op_t *)(program->block + 1);
    return FS_OK;
}

void fs_program_fini(fs_program_t *program)
{
    free(program->block);
    free(program->edges);
    free(program->next_seq);
}

/* A block of `head` bytes and twice as many elements; false if there is none. */
static bool grow(fs_program_t *program, void **block, size_t head,
                 uint32_t *max, size_t elem_bytes)
{
    uint32_t wanted = *max * 2;
    void *bigger = wanted > *max ? realloc(*block, head + wanted * elem_bytes)
                                 : NULL;

    if (bigger == NULL) {
        program->status = FS_ERR_NOMEM;
        return false;
    }
    *block = bigger;
    *max   = wanted;
    return true;
}

static bool grow_ops(fs_program_t *program)
{
    if (!grow(program, (void **)&program->block, sizeof(*program->block),
              &program->max_ops, sizeof(fs_op_t))) {
        return false;
    }
    program->ops = (fs_op_t *)(program->block + 1);
    return true;
}

/* Room for an operation, or NULL. */
static inline fs_op_t *append(fs_program_t *program)
{
    if (program->status != FS_OK ||
        (program->n_ops == program->max_ops && !grow_ops(program))) {
        return NULL;
    }
    return &program->ops[program->n_ops++];
}

static inline uint32_t number_message(fs_program_t *program, fs_op_kind_t kind,
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

static inline uint32_t append_local(fs_program_t *program, fs_op_kind_t kind,
                                    fs_place_t src, fs_place_t dst,
                                    uint64_t len_bytes)
{
    fs_op_t *op = append(program);

    if (op == NULL) {
        return FS_NO_OP;
    }
    *op = (fs_op_t){
        .kind = (uint8_t)kind, .src = src, .dst = dst, .len_bytes = len_bytes};
    return program->n_ops - 1;
}

uint32_t fs_program_copy(fs_program_t *program, fs_place_t src, fs_place_t dst,
                         uint64_t len_bytes)
{
    return append_local(program, FS_OP_COPY, src, dst, len_bytes);
}

uint32_t fs_program_reduce(fs_program_t *program, fs_place_t src,
                           fs_place_t dst, uint64_t len_bytes)
{
    return append_local(program, FS_OP_REDUCE, src, dst, len_bytes);
}

/* Of src and dst one is none. */
static uint32_t append_message(fs_program_t *program, fs_op_kind_t kind,
                               fs_channel_t channel, uint32_t peer,
                               fs_place_t src, fs_place_t dst,
                               uint64_t len_bytes)
{
    uint32_t seq = number_message(program, kind, channel, peer);
    fs_op_t *op  = append(program);

    if (op == NULL) {
        return FS_NO_OP;
    }
    *op = (fs_op_t){.kind      = (uint8_t)kind,
                    .channel   = (uint8_t)channel,
                    .peer      = peer,
                    .seq       = seq,
                    .src       = src,
                    .dst       = dst,
                    .len_bytes = len_bytes};
    return program->n_ops - 1;
}

uint32_t fs_program_send(fs_program_t *program, fs_channel_t channel,
                         uint32_t peer, fs_place_t src, uint64_t len_bytes)
{
    return append_message(program, FS_OP_SEND, channel, peer, src,
                          (fs_place_t){0}, len_bytes);
}

uint32_t fs_program_recv(fs_program_t *program, fs_channel_t channel,
                         uint32_t peer, fs_place_t dst, uint64_t len_bytes)
{
    return append_message(program, FS_OP_RECV, channel, peer, (fs_place_t){0},
                          dst, len_bytes);
}

void fs_program_after(fs_program_t *program, uint32_t then, uint32_t before)
{
    if (then == FS_NO_OP || before == FS_NO_OP || program->status != FS_OK ||
        (program->n_edges == program->max_edges &&
         !grow(program, (void **)&program->edges, 0, &program->max_edges,
               sizeof(fs_edge_t)))) {
        return;
    }
    program->edges[program->n_edges++] = (fs_edge_t){before, then};
    ++program->ops[then].n_after;
    ++program->ops[before].n_next;
}

/* Successor lists, in the order in which their edges came. */
static void link_ops(const fs_program_t *program, fs_plan_t *plan)
{
    uint32_t end = 0;

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        end += plan->ops[k].n_next;
        plan->ops[k].next = end;
    }
    for (uint32_t e = program->n_edges; e-- > 0;) {
        const fs_edge_t *edge = &program->edges[e];

        plan->next[--plan->ops[edge->before].next] = edge->then;
    }
}

fs_status_t fs_program_seal(fs_program_t *program, const fs_plan_t *totals,
                            fs_plan_t **plan_p)
{
    size_t     ops_bytes  = program->n_ops * sizeof(fs_op_t);
    size_t     next_bytes = program->n_edges * sizeof(uint32_t);
    fs_plan_t *plan;

    if (program->status != FS_OK) {
        return program->status;
    }
    plan = realloc(program->block, sizeof(*plan) + ops_bytes + next_bytes);
    if (plan == NULL) {
        return FS_ERR_NOMEM;
    }
    program->block = NULL;
    *plan          = *totals;
    plan->n_ops    = program->n_ops;
    plan->n_next   = program->n_edges;
    plan->ops      = (fs_op_t *)(plan + 1);
    plan->next     = (uint32_t *)(plan->ops + program->n_ops);
    link_ops(program, plan);
    *plan_p = plan;
    return FS_OK;
}
