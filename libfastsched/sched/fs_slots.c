/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/fs_slots.h"

void fs_ring_init(fs_ring_t *ring, uint64_t *base_p, uint32_t n_slots,
                  uint64_t slot_bytes)
{
    *ring = (fs_ring_t){
        .base = *base_p, .slot_bytes = slot_bytes, .n_slots = n_slots};
    *base_p += n_slots * slot_bytes;
}

uint64_t fs_ring_offset(const fs_ring_t *ring)
{
    return ring->base + ring->next % ring->n_slots * ring->slot_bytes;
}

void fs_ring_wait(const fs_ring_t *ring, fs_program_t *program, uint32_t op)
{
    uint32_t slot = ring->next % ring->n_slots;

    if (ring->next >= ring->n_slots) {
        for (uint32_t k = 0; k < ring->n_readers[slot]; ++k) {
            fs_program_after(program, op, ring->first_reader[slot] + k);
        }
    }
}

uint64_t fs_ring_leave(fs_ring_t *ring, uint32_t first_reader,
                       uint32_t n_readers)
{
    uint32_t slot = ring->next % ring->n_slots;
    uint64_t end  = fs_ring_offset(ring) + ring->slot_bytes;

    ring->first_reader[slot] = first_reader;
    ring->n_readers[slot]    = n_readers;
    ++ring->next;
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
