/* SPDX-License-Identifier: BSD-3-Clause */
/* 64-bit digests. Not cryptographic: they find accidents, not attacks. */
#ifndef FS_DIGEST_H
#define FS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The finaliser of splitmix64: a bijection in which every input bit moves
 * about half of the output bits. */
static inline uint64_t fs_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Order matters: absorb one word after another. */
static inline uint64_t fs_digest_add(uint64_t digest, uint64_t word)
{
    return fs_mix64(digest ^ (word + 0x9e3779b97f4a7c15ull));
}

static inline uint64_t fs_digest_add_bytes(uint64_t digest, const char *bytes,
                                           size_t len)
{
    for (size_t k = 0; k < len; ++k) {
        digest = fs_digest_add(digest, (unsigned char)bytes[k]);
    }
    return digest;
}

/* One count of one pair. Summed over any set of pairs, in any order, it
 * identifies that set of counts: what the senders say is compared with what the
 * receivers expect in one number each. */
static inline uint64_t fs_digest_pair(uint32_t src, uint32_t dst,
                                      uint64_t bytes)
{
    return fs_digest_add(fs_mix64((uint64_t)src << 32 | dst), bytes);
}

#endif
