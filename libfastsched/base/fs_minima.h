/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that change one at a time, and the least of them. */
#ifndef FS_MINIMA_H
#define FS_MINIMA_H

#include "base/fs_arena.h"
#include "base/fs_arith.h"

#include <stddef.h>

enum { FS_MINIMA_BLOCK = 8 }; /* fs_minima_set() knows it */

typedef struct fs_minima {
    uint32_t  n_blocks;
    uint64_t *value; /* [n_blocks x FS_MINIMA_BLOCK] */
    uint64_t *least; /* [n_blocks] of a block */
} fs_minima_t;

/* n numbers, UINT64_MAX at first. False: no memory. */
static inline bool fs_minima_init(fs_minima_t *minima, uint32_t n,
                                  fs_arena_t *arena)
{
    size_t blocks = (n + FS_MINIMA_BLOCK - 1) / FS_MINIMA_BLOCK;
    size_t words  = blocks * (FS_MINIMA_BLOCK + 1);

    minima->n_blocks = (uint32_t)blocks;
    minima->value    = fs_arena_alloc(arena, words, sizeof(uint64_t));
    if (minima->value == NULL) {
        return false;
    }
    minima->least = minima->value + blocks * FS_MINIMA_BLOCK;
    for (size_t k = 0; k < words; ++k) {
        minima->value[k] = UINT64_MAX;
    }
    return true;
}

static inline uint64_t fs_minima_of_four(const uint64_t *value)
{
    return fs_u64_min(fs_u64_min(value[0], value[1]),
                      fs_u64_min(value[2], value[3]));
}

static inline void fs_minima_set(fs_minima_t *minima, uint32_t k,
                                 uint64_t value)
{
    uint32_t  block = k / FS_MINIMA_BLOCK;
    uint64_t *first = minima->value + (size_t)block * FS_MINIMA_BLOCK;
    uint64_t  old = minima->value[k], least = value;

    if (value == old) {
        return;
    }
    minima->value[k] = value;
    if (value > minima->least[block]) {
        if (old > minima->least[block]) {
            return;
        }
        least =
            fs_u64_min(fs_minima_of_four(first), fs_minima_of_four(first + 4));
    }
    minima->least[block] = least;
}

static inline uint64_t fs_minima_least(const fs_minima_t *minima)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t k = 0; k < minima->n_blocks; ++k) {
        least = fs_u64_min(least, minima->least[k]);
    }
    return least;
}

/* The lowest k, from the given one on, of a number that is at most `value`;
 * UINT32_MAX: there is none. */
static inline uint32_t fs_minima_find(const fs_minima_t *minima, uint32_t k,
                                      uint64_t value)
{
    for (; k / FS_MINIMA_BLOCK < minima->n_blocks; ++k) {
        if (k % FS_MINIMA_BLOCK == 0 &&
            minima->least[k / FS_MINIMA_BLOCK] > value) {
            k += FS_MINIMA_BLOCK - 1;
        } else if (minima->value[k] <= value) {
            return k;
        }
    }
    return UINT32_MAX;
}

#endif
