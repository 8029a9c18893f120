/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vector of one rank while the program of its reduction is written: where
 * the value of each fragment is, and what has to end before that changes.
 *
 * The value of a fragment is in the send buffer until something is added to it
 * or takes its place. From then on it is home, in the receive buffer; in place
 * it is there from the start. When X arrives and is to be added:
 *
 *   value      left operand
 *   elsewhere  own           X lands home; home = value op home
 *   home       X             X lands in a slot; home = slot op home
 *   elsewhere  X             home = value; then as above
 *   home       own           X lands in a slot; slot = home op slot; home = slot
 *
 * The first two copy nothing. Nor does the last if the result may stay in
 * staging: X lands there, and staged = home op staged. Then the value is
 * elsewhere, once.
 */
#ifndef FS_VECTOR_H
#define FS_VECTOR_H

#include "sched/plan/fs_slots.h"

/* Which operand own has to be. */
typedef enum fs_operand { FS_EITHER, FS_LEFT, FS_RIGHT } fs_operand_t;

#define FS_NOT_STAGED UINT64_MAX

/* A message's worth of the vector. */
typedef struct fs_vector_fragment {
    uint64_t   offset; /* in the vector, bytes */
    uint64_t   len_bytes;
    uint64_t   staged; /* the value may stay there once; or FS_NOT_STAGED */
    fs_place_t value;
    uint32_t   made; /* operation that put it there; FS_NO_OP: none had to */
    struct fs_vector_user *users; /* of what was home last: they end before home
                                     changes */
} fs_vector_fragment_t;

typedef struct fs_vector {
    const fs_topo_t *topo;
    uint32_t         rank;
    fs_program_t    *program;
    fs_arena_t      *arena;
    fs_ring_t        ring; /* slots for what arrives to be added */
    uint64_t         staging_bytes;
    fs_recv_order_t  wire_recvs;
    fs_window_t      near_recvs; /* inside the server */
    fs_window_t      near_sends;
} fs_vector_t;

/* A fragment that holds what the rank contributes. */
fs_vector_fragment_t fs_vector_fragment(uint64_t offset, uint64_t len_bytes,
                                        bool in_place);

/* Each writes operations; failures stick in the program. */
void fs_vector_send(fs_vector_t *vec, uint32_t peer,
                    fs_vector_fragment_t *fragment);
void fs_vector_replace(fs_vector_t *vec, uint32_t peer,
                       fs_vector_fragment_t *fragment);
void fs_vector_add(fs_vector_t *vec, uint32_t peer,
                   fs_vector_fragment_t *fragment, fs_operand_t own);

/* Nothing more is sent or received: the value must be home. */
void fs_vector_finish(fs_vector_t *vec, fs_vector_fragment_t *fragment);

#endif
