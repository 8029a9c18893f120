/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/fs_slots.h"

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
