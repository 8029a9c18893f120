/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A maximum flow over lanes: they are the nodes, and what they may pass each
 * other are the capacities of the edges.
 *
 * First from each lane with too much directly to lanes with room: for many tiles
 * that is all. Then along shortest paths (Edmonds and Karp). When no path leads
 * from a lane to one with room, none ever will: all that can be reached from it
 * is full and stays so.
 */
#include "sched/balance/fs_balance_flow.h"

#include "base/fs_arith.h"

#include <string.h>

/* Scratch of the search for paths. */
typedef struct paths {
    uint32_t  n_words; /* 64-bit words of a bit for each lane */
    uint64_t *roomy;   /* [n_words] lanes with room */
    uint64_t *unseen;  /* [n_words] */
    uint64_t *onward;  /* [n x n_words] bit b of row a: a may pass bytes to b */
    uint32_t *from;    /* [n] leads back to where a path begins */
    uint32_t *queue;   /* [n] */
} paths_t;

static uint64_t bit_of(uint32_t lane)
{
    return UINT64_C(1) << lane % 64;
}

static void pass(fs_lanes_t *lanes, uint32_t a, uint32_t b, uint64_t len)
{
    lanes->movable[(size_t)a * lanes->n + b] -= len;
    lanes->movable[(size_t)b * lanes->n + a] += len;
    ++lanes->n_passes;
}

/* Lane a to lanes with room. Returns whether it still has too much. */
static bool pass_directly(fs_lanes_t *lanes, uint32_t a)
{
    const uint64_t *movable = lanes->movable + (size_t)a * lanes->n;

    for (uint32_t b = 0; lanes->fill[a] > lanes->capacity; ++b) {
        uint64_t len;

        if (b == lanes->n) {
            return true;
        }
        if (lanes->fill[b] < lanes->capacity && movable[b] != 0) {
            len = fs_u64_min(lanes->fill[a] - lanes->capacity,
                             lanes->capacity - lanes->fill[b]);
            len = fs_u64_min(len, movable[b]);
            lanes->fill[a] -= len;
            lanes->fill[b] += len;
            pass(lanes, a, b, len);
        }
    }
    return false;
}

/* Lanes from first on, at most a word of them, with room. */
static uint64_t roomy_bits(const fs_lanes_t *lanes, uint32_t first)
{
    uint32_t end  = fs_u32_min(lanes->n - first, 64);
    uint64_t bits = 0;

    for (uint32_t a = 0; a < end; ++a) {
        bits |= (uint64_t)(lanes->fill[first + a] < lanes->capacity) << a;
    }
    return bits;
}

/* Those to which lane a may pass bytes. */
static uint64_t onward_bits(const fs_lanes_t *lanes, uint32_t a, uint32_t first)
{
    const uint64_t *movable = lanes->movable + (size_t)a * lanes->n + first;
    uint32_t        end     = fs_u32_min(lanes->n - first, 64);
    uint64_t        bits    = 0;

    for (uint32_t b = 0; b < end; ++b) {
        bits |= (uint64_t)(movable[b] != 0) << b;
    }
    return bits;
}

static fs_status_t init_paths(paths_t *paths, const fs_lanes_t *lanes,
                              fs_arena_t *arena)
{
    uint32_t  n = lanes->n, words = (n + 63) / 64;
    uint64_t *bits = fs_arena_alloc(arena, ((size_t)n + 2) * words, 8);
    uint32_t *ids  = fs_arena_alloc(arena, 2 * (size_t)n, sizeof(*ids));

    if (bits == NULL || ids == NULL) {
        return FS_ERR_NOMEM;
    }
    *paths =
        (paths_t){words, bits, bits + words, bits + 2 * words, ids, ids + n};
    for (uint32_t w = 0; w < words; ++w) {
        paths->roomy[w] = roomy_bits(lanes, w * 64);
        for (uint32_t a = 0; a < n; ++a) {
            paths->onward[(size_t)a * words + w] =
                onward_bits(lanes, a, w * 64);
        }
    }
    return FS_OK;
}

/* Breadth first from lane a to one with room; FS_NO_LANE if none can be
 * reached. */
static uint32_t find_path(paths_t *paths, uint32_t a)
{
    uint32_t head = 0, tail = 0;

    for (uint32_t w = 0; w < paths->n_words; ++w) {
        paths->unseen[w] = ~(w == a / 64 ? bit_of(a) : 0);
    }
    paths->queue[tail++] = a;
    while (head < tail) {
        uint32_t        u   = paths->queue[head++];
        const uint64_t *row = paths->onward + (size_t)u * paths->n_words;

        for (uint32_t w = 0; w < paths->n_words; ++w) {
            uint64_t hits = row[w] & paths->unseen[w];
            uint64_t ends = hits & paths->roomy[w];

            if (ends != 0) {
                uint32_t z = w * 64 + (uint32_t)__builtin_ctzll(ends);

                paths->from[z] = u;
                return z;
            }
            paths->unseen[w] &= ~hits;
            for (; hits != 0; hits &= hits - 1) {
                uint32_t v = w * 64 + (uint32_t)__builtin_ctzll(hits);

                paths->from[v]       = u;
                paths->queue[tail++] = v;
            }
        }
    }
    return FS_NO_LANE;
}

/* As much of the surplus of lane a as the path to lane z takes. */
static void pass_along(paths_t *paths, fs_lanes_t *lanes, uint32_t a,
                       uint32_t z)
{
    uint64_t len = fs_u64_min(lanes->fill[a] - lanes->capacity,
                              lanes->capacity - lanes->fill[z]);

    for (uint32_t v = z, u; v != a; v = u) {
        u   = paths->from[v];
        len = fs_u64_min(len, lanes->movable[(size_t)u * lanes->n + v]);
    }
    for (uint32_t v = z, u; v != a; v = u) {
        u = paths->from[v];
        pass(lanes, u, v, len);
        paths->onward[(size_t)v * paths->n_words + u / 64] |= bit_of(u);
        if (lanes->movable[(size_t)u * lanes->n + v] == 0) {
            paths->onward[(size_t)u * paths->n_words + v / 64] &= ~bit_of(v);
        }
    }
    lanes->fill[a] -= len;
    lanes->fill[z] += len;
    if (lanes->fill[z] == lanes->capacity) {
        paths->roomy[z / 64] &= ~bit_of(z);
    }
}

fs_status_t fs_lanes_level(fs_lanes_t *lanes, fs_arena_t *arena)
{
    bool    too_much = false;
    paths_t paths;

    for (uint32_t a = 0; a < lanes->n; ++a) {
        too_much |= pass_directly(lanes, a);
    }
    if (!too_much) {
        return FS_OK;
    }
    if (init_paths(&paths, lanes, arena) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t a = 0; a < lanes->n; ++a) {
        while (lanes->fill[a] > lanes->capacity) {
            uint32_t z = find_path(&paths, a);

            if (z == FS_NO_LANE) {
                break;
            }
            pass_along(&paths, lanes, a, z);
        }
    }
    return FS_OK;
}
