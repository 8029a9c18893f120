/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of fs_plan_check() share. Operations of all ranks have one
 * number each: those of rank r are first[r] to first[r + 1]. */
#ifndef FS_PLAN_REPLAY_H
#define FS_PLAN_REPLAY_H

#include "base/fs_arena.h"
#include "sched/plan/fs_reduction.h"

#define FS_NO_NODE SIZE_MAX

typedef struct fs_check_node {
    const fs_op_t *op;
    size_t         partner; /* other end of the message; FS_NO_NODE: none */
    uint32_t       rank;
} fs_check_node_t;

typedef struct fs_check {
    const fs_topo_t        *topo;
    const fs_plan_params_t *params;
    const uint64_t         *rank_bytes; /* of an alltoallv */
    const fs_reduction_t   *reduction;  /* or NULL */
    uint64_t                vector_bytes;
    fs_plan_t *const       *plans;
    char                   *why;
    size_t                  why_len;
    fs_arena_t              arena;
    size_t                 *first; /* [n_ranks + 1] */
    size_t                  n_nodes;
    fs_check_node_t        *nodes;
} fs_check_t;

static inline bool fs_check_is_message(const fs_check_node_t *node)
{
    return node->op->kind == FS_OP_SEND || node->op->kind == FS_OP_RECV;
}

/* An operation's place in its program. */
static inline uint32_t fs_check_index(const fs_check_t *check, size_t node)
{
    return (uint32_t)(node - check->first[check->nodes[node].rank]);
}

/* Say what is wrong with an operation; FS_ERR_INVAL. */
fs_status_t fs_check_fail(const fs_check_t *check, size_t node,
                          const char *problem);

/* Run all programs on paper: nothing waits for ever, memory is never read or
 * written out of order, every byte lands once in its place, or is the sum that
 * it should be. Messages have been paired and places lie within their buffers. */
fs_status_t fs_check_replay(fs_check_t *check);

#endif
