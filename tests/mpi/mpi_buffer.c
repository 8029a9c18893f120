/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_buffer.h"

#include "mpi_pattern.h"
#include "mpi_test.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 64 };

void *zalloc(size_t n, size_t size)
{
    void *memory = calloc(n > 0 ? n : 1, size);

    if (memory == NULL) {
        fail("out of memory");
    }
    return memory;
}

/* Extents left out in front of a block. */
static int hole(placement_t placement, uint32_t round, int peer)
{
    return placement == PLACE_PACKED
               ? 0
               : 1 + (int)(draw((uint32_t)peer, 77, round) % 3);
}

/* Who comes after a peer, so that each comes once: a step that has no divisor
 * in common with their number. */
static int shuffled_step(int n_peers, uint32_t round)
{
    int step = 1 + (int)(draw(78, 0, round) % (uint32_t)n_peers);

    for (int k = 2; k <= step; ++k) {
        if (step % k == 0 && n_peers % k == 0) {
            return 1;
        }
    }
    return step;
}

/* The peer whose block is number i in memory. */
static int peer_at(int i, int n_peers, placement_t placement, uint32_t round)
{
    switch (placement) {
    case PLACE_REVERSED:
    case PLACE_NEGATIVE:
        return n_peers - 1 - i;
    case PLACE_SHUFFLED:
        return (i * shuffled_step(n_peers, round) + (int)(round % 1024)) %
               n_peers;
    default:
        return i;
    }
}

static void place_blocks(buffer_t *b, placement_t placement, uint32_t round)
{
    int at = 0;

    for (int i = 0; i < b->n_peers; ++i) {
        int p = peer_at(i, b->n_peers, placement, round);

        at += hole(placement, round, p);
        b->displs[p] = at;
        at += b->counts[p];
    }
    for (int p = 0; p < b->n_peers && placement == PLACE_NEGATIVE; ++p) {
        b->displs[p] -= at;
    }
}

/* Where a run of an element is, relative to the address MPI is given. */
static ptrdiff_t run_at(const buffer_t *b, int peer, int element, int run)
{
    return ((ptrdiff_t)b->displs[peer] + element) * b->layout.extent +
           b->layout.runs[run].at;
}

/* Room for all runs of all blocks and a guard at each end. */
static void measure(buffer_t *b)
{
    ptrdiff_t low = 0, high = 0;

    for (int p = 0; p < b->n_peers; ++p) {
        for (int k = 0; k < b->layout.n_runs && b->counts[p] > 0; ++k) {
            ptrdiff_t one = run_at(b, p, 0, k);
            ptrdiff_t two = run_at(b, p, b->counts[p] - 1, k);
            ptrdiff_t end = (one > two ? one : two) +
                            (ptrdiff_t)b->layout.runs[k].len;

            low  = one < low ? one : low;
            low  = two < low ? two : low;
            high = end > high ? end : high;
        }
    }
    b->len    = (size_t)(high - low) + 2 * GUARD;
    b->origin = (size_t)(GUARD - low);
    b->model  = zalloc(b->len, 1);
}

static void allocate_on_host(buffer_t *b)
{
    b->memory  = zalloc(b->len, 1);
    b->address = b->memory + b->origin;
}

static void allocate_on_device(buffer_t *b)
{
    static int n_allocated;

    device_alloc(b->len, n_allocated++ % 3 == 0, &b->device, &b->memory);
    b->address = (unsigned char *)(uintptr_t)b->device + b->origin;
}

/* Two buffers of three, and only of types that a CPU need not pack, unless told. */
static int is_for_device(const buffer_t *b, uint32_t round)
{
    static uint32_t n_buffers;

    return test.device &&
           (test.device_packs ||
            (b->layout.predefined && b->layout.n_runs == 1 &&
             (ptrdiff_t)b->layout.size == b->layout.extent)) &&
           draw((uint32_t)test.rank, ++n_buffers, round) % 3 != 0;
}

void buffer_init(buffer_t *b, layout_t layout, int n_peers,
                 const uint32_t *units, placement_t placement, uint32_t round,
                 int may_be_device)
{
    b->device  = 0;
    b->layout  = layout;
    b->n_peers = n_peers;
    b->counts  = zalloc((size_t)n_peers, sizeof(int));
    b->displs  = zalloc((size_t)n_peers, sizeof(int));
    for (int p = 0; p < b->n_peers; ++p) {
        b->counts[p] = (int)units[p] * layout.per_unit;
    }
    place_blocks(b, placement, round);
    measure(b);
    if (may_be_device && is_for_device(b, round)) {
        allocate_on_device(b);
    } else {
        allocate_on_host(b);
    }
}

void buffer_fini(buffer_t *b)
{
    layout_free(&b->layout);
    free(b->counts);
    free(b->displs);
    if (b->device != 0) {
        device_free(b->device);
    } else {
        free(b->memory);
    }
    free(b->model);
}

void buffer_poison(buffer_t *b, uint32_t salt)
{
    pattern_write(pattern_key(0xdead, salt, (uint32_t)test.rank), 0, b->len,
                  b->memory);
    memcpy(b->model, b->memory, b->len);
}

void buffer_write(const buffer_t *b, unsigned char *to, int peer, uint64_t key)
{
    const layout_t *layout  = &b->layout;
    unsigned char  *address = to + b->origin;
    size_t          offset  = 0;

    if (layout->n_runs == 1 && (ptrdiff_t)layout->size == layout->extent) {
        pattern_write(key, 0, layout->size * (size_t)b->counts[peer],
                      address + run_at(b, peer, 0, 0));
        return;
    }
    for (int e = 0; e < b->counts[peer]; ++e) {
        for (int k = 0; k < b->layout.n_runs; ++k) {
            size_t len = b->layout.runs[k].len;

            pattern_write(key, offset, len, address + run_at(b, peer, e, k));
            offset += len;
        }
    }
}

int buffer_locate(const buffer_t *b, size_t position, size_t *offset_p)
{
    ptrdiff_t at = (ptrdiff_t)position - (ptrdiff_t)b->origin;

    for (int p = 0; p < b->n_peers; ++p) {
        *offset_p = 0;
        for (int e = 0; e < b->counts[p]; ++e) {
            for (int k = 0; k < b->layout.n_runs; ++k) {
                ptrdiff_t start = run_at(b, p, e, k);
                ptrdiff_t len   = (ptrdiff_t)b->layout.runs[k].len;

                if (at >= start && at < start + len) {
                    *offset_p += (size_t)(at - start);
                    return p;
                }
                *offset_p += (size_t)len;
            }
        }
    }
    return -1;
}
