/* SPDX-License-Identifier: BSD-3-Clause */
/* What the algorithms use to write a program. */
#ifndef FS_PLAN_H
#define FS_PLAN_H

#include "fastsched.h"
#include "sched/decompose/fs_replan.h"

/* Messages of one channel between two ranks, per call: tags have 24 bits. */
enum { FS_MAX_SEQ = 1 << 24, FS_NO_OP = UINT32_MAX };

/* An end of a message; the others are this rank's own business. */
static inline bool fs_op_is_message(const fs_op_t *op)
{
    return op->kind == FS_OP_SEND || op->kind == FS_OP_RECV;
}

/* A message between servers. */
static inline bool fs_op_is_wire(const fs_op_t *op)
{
    return fs_op_is_message(op) && op->channel == FS_CH_WIRE;
}

static inline fs_place_t fs_in_send(uint32_t block, uint64_t offset)
{
    return (fs_place_t){FS_BUF_SEND, block, offset};
}

static inline fs_place_t fs_in_recv(uint32_t block, uint64_t offset)
{
    return (fs_place_t){FS_BUF_RECV, block, offset};
}

static inline fs_place_t fs_in_staging(uint64_t offset)
{
    return (fs_place_t){FS_BUF_STAGING, 0, offset};
}

/* An edge of a program. */
typedef struct fs_edge {
    uint32_t before;
    uint32_t then;
} fs_edge_t;

/*
 * A program in the making: operations in plan order, then edges between them.
 * The first failure sticks in status and turns every later call into a no-op,
 * so algorithms check once, at the end.
 *
 * The operations grow where they are to stay, behind the plan in one block.
 */
typedef struct fs_program {
    fs_status_t status;
    uint32_t    n_ranks;
    fs_plan_t  *block; /* room for the plan, then ops */
    fs_op_t    *ops;
    uint32_t    n_ops;
    uint32_t    max_ops;
    fs_edge_t  *edges;
    uint32_t    n_edges;
    uint32_t    max_edges;
    uint32_t   *next_seq; /* [2][FS_CH_LAST][n_ranks]: receives, sends */
} fs_program_t;

fs_status_t fs_program_init(fs_program_t *program, uint32_t n_ranks);
void        fs_program_fini(fs_program_t *program);

/* Each appends an operation and returns its index. */
uint32_t fs_program_copy(fs_program_t *program, fs_place_t src, fs_place_t dst,
                         uint64_t len_bytes);
uint32_t fs_program_reduce(fs_program_t *program, fs_place_t src,
                           fs_place_t dst, uint64_t len_bytes);
uint32_t fs_program_send(fs_program_t *program, fs_channel_t channel,
                         uint32_t peer, fs_place_t src, uint64_t len_bytes);
uint32_t fs_program_recv(fs_program_t *program, fs_channel_t channel,
                         uint32_t peer, fs_place_t dst, uint64_t len_bytes);

/* `then` waits for `before`. Nothing happens if either is FS_NO_OP. */
void fs_program_after(fs_program_t *program, uint32_t then, uint32_t before);

/* Turn a finished program into a plan with these totals; the caller's. FS_OK,
 * the program's status, FS_ERR_NOMEM. fs_program_fini() is still due. */
fs_status_t fs_program_seal(fs_program_t *program, const fs_plan_t *totals,
                            fs_plan_t **plan_p);

/* Everything fs_plan_create() was given. */
typedef struct fs_plan_request {
    const fs_topo_t          *topo;
    const fs_traffic_t       *traffic;
    const fs_plan_params_t   *params;
    uint32_t                  rank;
    const fs_local_traffic_t *local;
    fs_replan_t *replan; /* schedules of the calls before; NULL: none */
    /* Gets the schedule that the plan is made from, the caller's; not set if there
     * is none, and possibly set if planning fails. Its transfers are those of the
     * rank's lane only; its other fields are those of all servers. NULL: not
     * wanted. */
    fs_schedule_t **lane_p;
} fs_plan_request_t;

/* As fs_plan_create(). */
fs_status_t fs_plan_make(const fs_plan_request_t *request, fs_alg_t alg,
                         fs_plan_t **plan_p);

/* Of all that a plan without a schedule depends on, equal on every rank. */
uint64_t fs_plan_digest(const fs_plan_request_t *request, fs_alg_t alg);

/* An algorithm, which is one file. */
typedef struct fs_algorithm {
    /* Write the program and the plan's totals (staging_bytes, decompose to
     * digest). */
    fs_status_t (*build)(const fs_plan_request_t *request,
                         fs_program_t *program, fs_plan_t *plan);
    /* May src send to dst, on another server, in any plan of it? */
    bool (*talks)(const fs_topo_t *topo, const fs_plan_params_t *params,
                  uint32_t src, uint32_t dst);
    bool has_schedule;
} fs_algorithm_t;

/* Those of FS_ALG_MAP: fs_alg_staged and so on. */
#define X(_alg, _word, _text) extern const fs_algorithm_t fs_alg_##_word;
FS_ALG_MAP(X)
#undef X

/* Does the algorithm use a schedule, in which servers take turns? */
bool fs_plan_has_schedule(fs_alg_t alg);

/* Can fs_select() choose this algorithm for any traffic? If not, it never does. */
bool fs_select_can(const fs_topo_t *topo, const fs_plan_params_t *params,
                   fs_alg_t alg);

/* May src send to dst, on another server, in any plan of an algorithm that
 * fs_select() can choose? Connections are made before the traffic is known. */
bool fs_plan_talks(const fs_topo_t *topo, const fs_plan_params_t *params,
                   uint32_t src, uint32_t dst);

/* Rings of a rank's staging pool, at most, and slots a ring needs at least. */
enum { FS_STAGING_RINGS = 6, FS_STAGING_MIN_SLOTS = 2 };

#endif
