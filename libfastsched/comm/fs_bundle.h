/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The small blocks of a pair of servers, as they travel: a bundle.
 *
 *   bundle   ends of the parts, 32 bits for each rank of the sending server;
 *            the parts, in the order of these ranks
 *   part     one rank's blocks for the ranks of the receiving server, in their
 *            order. In front, 32 bits: the length that all of them have, or
 *            FS_PART_TABLE; then 16 bits for each: where it ends. A part of no
 *            bytes at all has no blocks but empty ones.
 *
 * So a block is found without looking at those before it, and its length, as its
 * sender has it, is known where it arrives.
 */
#ifndef FS_BUNDLE_H
#define FS_BUNDLE_H

#include "fastsched.h"

#include <stddef.h>

#define FS_PART_TABLE UINT32_MAX
/* Instead of a length: there is no part. */
#define FS_PART_NONE UINT32_MAX

/* The blocks of a part, bytes in all, at most; and if they differ. */
#define FS_PART_MAX       (UINT64_C(1) << 30)
#define FS_PART_TABLE_MAX UINT16_MAX

/* Bytes of memory that belong to somebody else. */
typedef struct fs_bytes {
    const char *at;
    uint64_t    len;
} fs_bytes_t;

/* ranks: the n_ranks of the receiving server. The length of the part of a rank that
 * sends send_bytes[r] to rank r; FS_PART_NONE if it would be too long. */
uint32_t fs_part_len(const uint64_t *send_bytes, const uint32_t *ranks,
                     uint32_t n_ranks);

/* Likewise, if all have the same length. */
static inline uint64_t fs_part_even_len(uint64_t block_bytes, uint32_t n_ranks)
{
    return sizeof(uint32_t) + n_ranks * block_bytes;
}

/* Bytes in front of the blocks of a part, at most. */
static inline size_t fs_part_front_max(uint32_t n_ranks)
{
    return sizeof(uint32_t) + n_ranks * sizeof(uint16_t);
}

/* Write what stands in front of the blocks. Returns the place of the first, the
 * others follow it without gaps. */
char *fs_part_begin(char *part, const uint64_t *send_bytes,
                    const uint32_t *ranks, uint32_t n_ranks);

/* Block k of n_blocks. False: this is not a part. */
bool fs_part_find(fs_bytes_t part, uint32_t n_blocks, uint32_t k,
                  fs_bytes_t *block_p);

/* Bytes in front of the parts of n_parts ranks. */
static inline size_t fs_bundle_ends_len(uint32_t n_parts)
{
    return n_parts * sizeof(uint32_t);
}

/* Part k of n_parts. False: this is not a bundle. */
bool fs_bundle_find(fs_bytes_t bundle, uint32_t n_parts, uint32_t k,
                    fs_bytes_t *part_p);

/* Copy bytes from to from + len of what n_pieces are in a row. */
void fs_bundle_copy(const fs_bytes_t *pieces, uint32_t n_pieces, uint64_t from,
                    uint64_t len, char *dst);

#endif
