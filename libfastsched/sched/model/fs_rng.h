/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers that are the same everywhere.
 *
 * The C library's rand() and libm differ from platform to platform, and one
 * rank that rounds a double differently has another matrix than its peers: the
 * call then hangs. So the generator is xoshiro256** (Blackman and Vigna),
 * seeded by splitmix64 as its authors advise, and logarithm, exponential and
 * normal variates are fixed-point integers. "Q32" is a number times 2^32.
 *
 * Limits: fs_rng_below() is biased by bound / 2^64; a normal variate is a sum
 * of twelve uniforms, which never passes 6 sigma and is a little short in the
 * tails (excess kurtosis -0.1). Good enough for traffic, not for statistics. */
#ifndef FS_RNG_H
#define FS_RNG_H

#include "base/fs_arith.h"
#include "base/fs_digest.h"

typedef struct fs_rng {
    uint64_t s[4];
} fs_rng_t;

static inline uint64_t fs_rng_rotl(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static inline void fs_rng_init(fs_rng_t *rng, uint64_t seed)
{
    for (int i = 0; i < 4; ++i) {
        seed += UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
        rng->s[i] = fs_mix64(seed);
    }
}

/* 64 random bits. */
static inline uint64_t fs_rng_next(fs_rng_t *rng)
{
    uint64_t *s      = rng->s;
    uint64_t  result = fs_rng_rotl(s[1] * 5, 7) * 9;
    uint64_t  t      = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = fs_rng_rotl(s[3], 45);
    return result;
}

/* Uniform on 0 .. bound - 1; bound is not 0. */
static inline uint64_t fs_rng_below(fs_rng_t *rng, uint64_t bound)
{
    return (uint64_t)(((fs_u128_t)fs_rng_next(rng) * bound) >> 64);
}

/* Normal, mean 0, variance 1, Q32, between -6 and 6: each uniform on [0, 1) has
 * variance 1/12, so twelve of them need no scaling. */
static inline int64_t fs_rng_normal_q32(fs_rng_t *rng)
{
    int64_t sum = -(INT64_C(6) << 32);

    for (int i = 0; i < 6; ++i) {
        uint64_t bits = fs_rng_next(rng);

        sum += (int64_t)(bits >> 32) + (int64_t)(bits & UINT32_MAX);
    }
    return sum;
}

/* Base-2 logarithm of x > 0, Q32, rounded down. The mantissa m in [1, 2) is
 * kept in Q63; squaring it doubles its logarithm, so whether m^2 reaches 2 is
 * the next binary digit. */
static inline uint64_t fs_log2_q32(uint64_t x)
{
    unsigned whole  = 63 - (unsigned)__builtin_clzll(x);
    uint64_t m      = x << (63 - whole);
    uint64_t result = whole;

    for (int i = 0; i < 32; ++i) {
        fs_u128_t square = (fs_u128_t)m * m; /* Q126, in [1, 4) */
        unsigned  digit  = (unsigned)(square >> 127);

        m      = (uint64_t)(square >> (63 + digit));
        result = result << 1 | digit;
    }
    return result;
}

/* 2^x for x in Q32, as a fixed-point number with frac_bits of fraction, rounded
 * down (0 if too small). x + frac_bits must stay below 63.
 * Splits x into a whole and a fraction f, 0 <= f < 1, and sums the series of
 * exp(f ln 2) in Q62 until its terms vanish: about 20 of them. */
static inline uint64_t fs_exp2_q32(int64_t x, unsigned frac_bits)
{
    const uint64_t ln2_q64 = UINT64_C(0xb17217f7d1cf79ab);
    uint64_t       f       = (uint64_t)x & UINT32_MAX;
    int64_t        whole   = (x - (int64_t)f) / (INT64_C(1) << 32);
    int64_t        shift   = 62 - (int64_t)frac_bits - whole;
    uint64_t       t       = (uint64_t)(((fs_u128_t)ln2_q64 * f) >> 34);
    uint64_t       term    = UINT64_C(1) << 62;
    uint64_t       sum     = 0;

    for (uint64_t k = 1; term != 0; ++k) {
        sum += term;
        term = (uint64_t)(((fs_u128_t)term * t) >> 62) / k;
    }
    return shift > 63 ? 0 : sum >> shift;
}

#endif
