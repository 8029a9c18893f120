/* SPDX-License-Identifier: BSD-3-Clause */
/* Staging memory as rings of slots, windows of operations, and the order of
 * receives: how a program stays within bounds. */
#ifndef FS_SLOTS_H
#define FS_SLOTS_H

#include "base/fs_arena.h"
#include "sched/plan/fs_plan.h"

enum { FS_RING_MAX_SLOTS = 32, FS_MAX_WINDOW = 8 };

/* Slots of one chunk each, used in turn. For each slot the operations that must
 * end before its next use: n_readers from first_reader on. */
typedef struct fs_ring {
    uint64_t base; /* in the staging pool, bytes */
    uint64_t slot_bytes;
    uint32_t n_slots;
    uint32_t slot;       /* whose turn it is */
    bool     went_round; /* it has been used before */
    uint32_t first_reader[FS_RING_MAX_SLOTS];
    uint32_t n_readers[FS_RING_MAX_SLOTS];
} fs_ring_t;

/* A ring from *base_p on, which moves behind it. n_slots is 1 to
 * FS_RING_MAX_SLOTS. Only what the functions below read is written. */
void fs_ring_init(fs_ring_t *ring, uint64_t *base_p, uint32_t n_slots,
                  uint64_t slot_bytes);

/* Where the slot of this turn is. */
static inline uint64_t fs_ring_offset(const fs_ring_t *ring)
{
    return ring->base + ring->slot * ring->slot_bytes;
}

/* op writes the slot of this turn: it waits for the readers of the last. */
void fs_ring_wait(const fs_ring_t *ring, fs_program_t *program, uint32_t op);

/* The turn is over; these operations read the slot last. Returns where the slot
 * ends. */
uint64_t fs_ring_leave(fs_ring_t *ring, uint32_t first_reader,
                       uint32_t n_readers);

/* The latest operations of a kind. Zero-initialise. */
typedef struct fs_window {
    uint32_t op[FS_MAX_WINDOW];
    uint32_t n;
} fs_window_t;

/* op waits for the one `size` operations before it; size is the same in every
 * call, 1 to FS_MAX_WINDOW. */
void fs_window_add(fs_window_t *window, uint32_t size, fs_program_t *program,
                   uint32_t op);

/* The wire receives of a program so far. Set the first three, zero the rest. */
typedef struct fs_recv_order {
    fs_program_t *program;
    fs_arena_t   *arena;
    uint64_t      look_ahead; /* of the plan */
    uint32_t     *recvs;
    uint32_t      n;
    uint32_t      max;
    uint32_t n_waited; /* the first so many are ones that others wait for */
} fs_recv_order_t;

/* Wire receives are posted, and so granted, in plan order. The first from
 * another peer waits for all before it but the last few of the peer before,
 * look_ahead bytes at most: two senders at a time are granted, of whom one is
 * about to end, and none of their time is lost. */
void fs_recv_order_add(fs_recv_order_t *order, uint32_t recv);

/* The look-ahead of a plan whose messages have at most chunk bytes, a window of them
 * on their way to a lane. */
uint64_t fs_look_ahead(uint64_t chunk, uint32_t window);

#endif
