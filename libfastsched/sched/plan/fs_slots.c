/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/plan/fs_slots.h"

#include "base/fs_arith.h"

#include <string.h>

/* The next sender is asked when the one before has few bytes left: the grant
 * waits behind what its NIC already has to send, on TCP two socket buffers. That
 * is three chunks of the usual size, and one if they are large or few are on their
 * way. */
enum { LOOK_AHEAD_CHUNKS = 3, LOOK_AHEAD_BYTES = 192 << 10 };

void fs_ring_init(fs_ring_t *ring, uint64_t *base_p, uint32_t n_slots,
                  uint64_t slot_bytes)
{
    ring->base       = *base_p;
    ring->slot_bytes = slot_bytes;
    ring->n_slots    = n_slots;
    ring->slot       = 0;
    ring->went_round = false;
    *base_p += n_slots * slot_bytes;
}

void fs_ring_wait(const fs_ring_t *ring, fs_program_t *program, uint32_t op)
{
    if (ring->went_round) {
        uint32_t first = ring->first_reader[ring->slot];

        for (uint32_t k = 0; k < ring->n_readers[ring->slot]; ++k) {
            fs_program_after(program, op, first + k);
        }
    }
}

uint64_t fs_ring_leave(fs_ring_t *ring, uint32_t first_reader,
                       uint32_t n_readers)
{
    uint64_t end = fs_ring_offset(ring) + ring->slot_bytes;

    ring->first_reader[ring->slot] = first_reader;
    ring->n_readers[ring->slot]    = n_readers;
    if (++ring->slot == ring->n_slots) {
        ring->slot       = 0;
        ring->went_round = true;
    }
    return end;
}

void fs_window_add(fs_window_t *window, uint32_t size, fs_program_t *program,
                   uint32_t op)
{
    uint32_t place = window->n % size;

    if (window->n >= size) {
        fs_program_after(program, op, window->op[place]);
    }
    window->op[place] = op;
    ++window->n;
}

/* ---- the order of receives ---- */

uint64_t fs_look_ahead(uint64_t chunk, uint32_t window)
{
    uint32_t n = fs_u32_min(fs_u32_max(window / 2, 1), LOOK_AHEAD_CHUNKS);

    return chunk > LOOK_AHEAD_BYTES ? chunk
                                    : fs_u64_min(chunk * n, LOOK_AHEAD_BYTES);
}

/* Room for one more; false if there is none. */
static bool grow_recvs(fs_recv_order_t *order)
{
    uint32_t  wanted = order->max == 0 ? 64 : 2 * order->max;
    uint32_t *bigger;

    if (order->n < order->max) {
        return true;
    }
    bigger = fs_arena_alloc(order->arena, wanted, sizeof(*bigger));
    if (bigger == NULL) {
        order->program->status = FS_ERR_NOMEM;
        return false;
    }
    if (order->n > 0) {
        memcpy(bigger, order->recvs, order->n * sizeof(*bigger));
    }
    order->recvs = bigger;
    order->max   = wanted;
    return true;
}

/* How many of the latest receives are from one sender and bring no more than
 * the look-ahead. */
static uint32_t count_tail(const fs_recv_order_t *order)
{
    const fs_op_t *ops   = order->program->ops;
    uint64_t       bytes = 0;
    uint32_t       n     = 0;

    while (n < order->n) {
        const fs_op_t *recv = &ops[order->recvs[order->n - 1 - n]];

        bytes += recv->len_bytes;
        if (bytes > order->look_ahead ||
            recv->peer != ops[order->recvs[order->n - 1]].peer) {
            break;
        }
        ++n;
    }
    return n;
}

void fs_recv_order_add(fs_recv_order_t *order, uint32_t recv)
{
    const fs_op_t *ops = order->program->ops;
    uint32_t       n   = order->n;

    if (recv == FS_NO_OP || !grow_recvs(order)) {
        return;
    }
    if (n > 0 && ops[order->recvs[n - 1]].peer != ops[recv].peer) {
        uint32_t tail = count_tail(order);

        while (order->n_waited + tail < n) {
            fs_program_after(order->program, recv,
                             order->recvs[order->n_waited++]);
        }
    }
    order->recvs[order->n++] = recv;
}
