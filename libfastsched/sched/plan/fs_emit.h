/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the operations of one rank: chunks as its server sends and receives
 * them, messages from and to the user's buffers, traffic inside the server.
 * Algorithms decide what is emitted, and in which order.
 *
 * Order matters. Slots are rings, and wire messages are sent and granted as
 * emitted, so what is emitted waits for what was emitted before it on the same
 * side. There are three sides: sending to other servers, receiving from them,
 * and the traffic inside. All ranks have to emit each side in one global order;
 * then the oldest message of a side that is not done waits for nothing but its
 * own parts, and there is no deadlock, however few the slots.
 */
#ifndef FS_EMIT_H
#define FS_EMIT_H

#include "base/fs_arena.h"
#include "sched/plan/fs_plan.h"
#include "sched/plan/fs_slots.h"
#include "sched/plan/fs_stream.h"

typedef struct fs_emit {
    const fs_plan_request_t *request;
    fs_program_t            *program;
    fs_plan_t               *plan;
    fs_arena_t              *arena;
    const uint32_t          *local_ranks; /* ranks of this server */
    uint32_t                 local;       /* this rank among them */
    uint32_t                 n_local;
    uint64_t                 chunk;
    bool                     send_packed;
    bool                     recv_packed;
    uint32_t                 last_wire_send; /* FS_NO_OP before the first */
    fs_recv_order_t          wire_recvs;
    fs_ring_t                out_ring;    /* chunks gathered for the wire */
    fs_ring_t                in_ring;     /* chunks from the wire */
    fs_ring_t                gather_ring; /* packing what others will send */
    fs_ring_t                redist_ring; /* unpacking what others received */
    fs_ring_t                intra_out_ring;
    fs_ring_t                intra_in_ring;
    fs_window_t             *gathers;     /* [n_local] per proxy */
    fs_window_t             *redists;     /* [n_local] per proxy */
    fs_window_t             *intra_recvs; /* [n_local] per sender */
    fs_window_t              intra_sends;
} fs_emit_t;

/* Everything is borrowed while em is in use. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_emit_init(fs_emit_t *em, const fs_plan_request_t *request,
                         fs_program_t *program, fs_plan_t *plan,
                         fs_arena_t *arena);

/* A program that has failed is not worth finishing. */
static inline bool fs_emit_may_go_on(const fs_emit_t *em)
{
    return em->program->status == FS_OK;
}

/* A chunk that leaves this server: this rank sends it, hands its parts to the
 * proxy that does, or has nothing to do with it. Takes all parts. */
void fs_emit_out(fs_emit_t *em, const fs_stream_t *stream, fs_chunk_t *chunk);

/* A chunk that comes to this server, likewise. */
void fs_emit_in(fs_emit_t *em, const fs_stream_t *stream, fs_chunk_t *chunk);

/* A message straight from or to the user's buffer, through a slot of the ring
 * if that is not contiguous. Returns the send or receive. */
uint32_t fs_emit_send_user(fs_emit_t *em, fs_ring_t *ring, fs_channel_t channel,
                           uint32_t peer, fs_place_t src, uint64_t len_bytes);
uint32_t fs_emit_recv_user(fs_emit_t *em, fs_ring_t *ring, fs_channel_t channel,
                           uint32_t peer, fs_place_t dst, uint64_t len_bytes);

/* All that the ranks of this server send each other, and themselves. Sends to
 * others wait for the operation `after`, which may be FS_NO_OP. */
void fs_emit_intra(fs_emit_t *em, uint32_t after);

/* The turn of a ring's slot is over. */
void fs_emit_leave_slot(fs_emit_t *em, fs_ring_t *ring, uint32_t first_reader,
                        uint32_t n_readers);

#endif
