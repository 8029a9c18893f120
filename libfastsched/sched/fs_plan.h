/* SPDX-License-Identifier: BSD-3-Clause */
/* What the algorithms use to write a program. */
#ifndef FS_PLAN_H
#define FS_PLAN_H

#include "fastsched.h"

/* Messages of one channel between two ranks, per call: tags have 24 bits. */
enum { FS_MAX_SEQ = 1 << 24, FS_NO_OP = UINT32_MAX };

/*
 * A program in the making: operations in plan order, then edges between them.
 * The first failure sticks in status and turns every later call into a no-op,
 * so algorithms check once, at the end.
 */
typedef struct fs_program {
    fs_status_t status;
    uint32_t    n_ranks;
    fs_op_t    *ops;
    uint32_t    n_ops;
    uint32_t    max_ops;
    struct {
        uint32_t before;
        uint32_t then;
    } * edges;
    uint32_t  n_edges;
    uint32_t  max_edges;
    uint32_t *next_seq; /* [2][FS_CH_LAST][n_ranks]: receives, sends */
} fs_program_t;

fs_status_t fs_program_init(fs_program_t *program, uint32_t n_ranks);
void        fs_program_fini(fs_program_t *program);

/* Each appends an operation and returns its index. */
uint32_t fs_program_copy(fs_program_t *program, fs_place_t src, fs_place_t dst,
                         uint64_t len_bytes);
uint32_t fs_program_send(fs_program_t *program, fs_channel_t channel,
                         uint32_t peer, fs_place_t src, uint64_t len_bytes);
uint32_t fs_program_recv(fs_program_t *program, fs_channel_t channel,
                         uint32_t peer, fs_place_t dst, uint64_t len_bytes);

/* `then` waits for `before`. Nothing happens if either is FS_NO_OP. */
void fs_program_after(fs_program_t *program, uint32_t then, uint32_t before);

/* Everything fs_plan_create() was given. */
typedef struct fs_plan_request {
    const fs_topo_t          *topo;
    const fs_traffic_t       *traffic;
    const fs_plan_params_t   *params;
    uint32_t                  rank;
    const fs_local_traffic_t *local;
} fs_plan_request_t;

/* An algorithm: writes the program and the plan's totals (n_stages to digest,
 * staging_bytes). */
fs_status_t fs_alg_staged_build(const fs_plan_request_t *request,
                                fs_program_t *program, fs_plan_t *plan);

/* Rings of a rank's staging pool, at most, and slots a ring needs at least. */
enum { FS_STAGING_RINGS = 6, FS_STAGING_MIN_SLOTS = 2 };

#endif
