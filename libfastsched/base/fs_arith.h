/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums and products of byte counts that say when they do not fit. */
#ifndef FS_ARITH_H
#define FS_ARITH_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 fs_u128_t;

/* The largest sum of bytes that is planned: far from 2^64, so that rounding up,
 * padding and the sum of two of them cannot overflow. */
#define FS_MAX_BYTES (UINT64_C(1) << 62)

/* False, and *sum_p unspecified, if a + b does not fit in 64 bits. */
static inline bool fs_u64_add(uint64_t a, uint64_t b, uint64_t *sum_p)
{
    return !__builtin_add_overflow(a, b, sum_p);
}

static inline bool fs_u64_mul(uint64_t a, uint64_t b, uint64_t *product_p)
{
    return !__builtin_mul_overflow(a, b, product_p);
}

static inline uint64_t fs_u64_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t fs_u64_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* a / b rounded up; b is not 0. */
static inline uint64_t fs_u64_div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Base-2 logarithm of n > 0, rounded up. */
static inline uint32_t fs_log2_up(uint32_t n)
{
    return n == 1 ? 0 : 32 - (uint32_t)__builtin_clz(n - 1);
}

static inline uint32_t fs_u32_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t fs_u32_max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Is neither more than about twice the other? */
static inline bool fs_u64_is_like(uint64_t a, uint64_t b)
{
    return a / 2 <= b && b / 2 <= a;
}

#endif
