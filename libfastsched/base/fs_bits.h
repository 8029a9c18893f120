/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of small numbers as rows of 64-bit words. */
#ifndef FS_BITS_H
#define FS_BITS_H

#include <stdbool.h>
#include <stdint.h>

enum { FS_NO_BIT = UINT32_MAX };

static inline void fs_bits_set(uint64_t *row, uint32_t k)
{
    row[k / 64] |= UINT64_C(1) << k % 64;
}

static inline void fs_bits_clear(uint64_t *row, uint32_t k)
{
    row[k / 64] &= ~(UINT64_C(1) << k % 64);
}

static inline bool fs_bits_has(const uint64_t *row, uint32_t k)
{
    return (row[k / 64] >> k % 64 & 1) != 0;
}

/* The lowest number in both of two rows, or FS_NO_BIT. */
static inline uint32_t fs_bits_first_common(const uint64_t *a,
                                            const uint64_t *b, uint32_t n_words)
{
    for (uint32_t w = 0; w < n_words; ++w) {
        if ((a[w] & b[w]) != 0) {
            return w * 64 + (uint32_t)__builtin_ctzll(a[w] & b[w]);
        }
    }
    return FS_NO_BIT;
}

#endif
