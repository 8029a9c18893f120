/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that tell where they come from, where they go, and which they are: a
 * byte of another pair, round or offset differs with probability 255/256, and
 * a misplaced block never passes. */
#ifndef MPI_PATTERN_H
#define MPI_PATTERN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t pattern_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* One key per block: source, destination, round. */
static inline uint64_t pattern_key(uint32_t src, uint32_t dst, uint32_t round)
{
    uint64_t pair = ((uint64_t)src << 32 | dst) + 0x9e3779b97f4a7c15ull;

    return pattern_mix(pattern_mix(pair) ^ round);
}

/* Eight bytes of the block, the first in the low bits. */
static inline uint64_t pattern_word(uint64_t key, size_t word)
{
    return pattern_mix(key + word * 0x9e3779b97f4a7c15ull);
}

/* Byte at an offset of the block. */
static inline unsigned char pattern_byte(uint64_t key, size_t offset)
{
    return (unsigned char)(pattern_word(key, offset / 8) >> (8 * (offset % 8)));
}

/* Bytes offset to offset + len of the block. Whole words are copied as they are
 * in memory: little-endian machines only. */
static inline void pattern_write(uint64_t key, size_t offset, size_t len,
                                 unsigned char *to)
{
    size_t k = 0;

    for (; k < len && (offset + k) % 8 != 0; ++k) {
        to[k] = pattern_byte(key, offset + k);
    }
    for (; k + 8 <= len; k += 8) {
        uint64_t word = pattern_word(key, (offset + k) / 8);

        memcpy(to + k, &word, 8);
    }
    for (; k < len; ++k) {
        to[k] = pattern_byte(key, offset + k);
    }
}

#endif
