/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs as the simulator keeps them: small, and with each message's two ends
 * knowing each other. */
#ifndef FS_SIM_PROGRAM_H
#define FS_SIM_PROGRAM_H

#include "fastsched.h"

typedef struct fs_sim_op {
    uint64_t bytes;
    uint32_t peer;    /* rank; its own if there is no message */
    uint32_t partner; /* the message's other end, an operation of peer */
    uint32_t seq;
    uint32_t next;    /* first of its successors; they end where those of the
                        operation behind it begin */
    uint32_t n_wait;  /* operations still to come before it */
    uint8_t  kind;    /* fs_op_kind_t */
    uint8_t  channel; /* FS_CH_LAST: no message */
    bool     ready;   /* all it waits for is done */
    bool     posted;  /* the rank has turned to it */
} fs_sim_op_t;

/* The program of a rank and how far it is. */
typedef struct fs_sim_program {
    fs_sim_op_t *ops;  /* [n_ops + 1] the last only ends the lists */
    uint32_t    *next; /* indexes of operations that wait for one */
    uint32_t     n_ops;
    uint32_t     window;
    uint32_t     next_recv;   /* wire receive whose turn it is, or n_ops */
    uint32_t     next_send;   /* wire send whose turn it is, or n_ops */
    uint32_t     n_receiving; /* wire receives posted */
    uint32_t     n_sending;
    uint32_t     receiver; /* of the newest of these */
} fs_sim_program_t;

/* Copy a plan, of which only what the topology bounds is believed. FS_OK;
 * FS_ERR_INVAL (malformed); FS_ERR_NOMEM. program is zero; fini in any case. */
fs_status_t fs_sim_program_init(fs_sim_program_t *program, uint32_t n_ranks,
                                uint32_t rank, const fs_plan_t *plan);
void        fs_sim_program_fini(fs_sim_program_t *program);

/* Find the partner of every send and receive. FS_OK; FS_ERR_MISMATCH, and why
 * says which has none; FS_ERR_NOMEM. */
fs_status_t fs_sim_match(fs_sim_program_t *programs, uint32_t n_ranks,
                         char *why, size_t why_len);

/* A copy or a reduction. */
static inline bool fs_sim_is_local(const fs_sim_op_t *op)
{
    return op->channel == FS_CH_LAST;
}

static inline bool fs_sim_is_wire(const fs_sim_op_t *op, fs_op_kind_t kind)
{
    return op->kind == kind && op->channel == FS_CH_WIRE;
}

#endif
