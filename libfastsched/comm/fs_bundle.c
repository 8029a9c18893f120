/* SPDX-License-Identifier: BSD-3-Clause */
/* Bundles lie anywhere: numbers in them are not aligned. */
#include "comm/fs_bundle.h"

#include "base/fs_arith.h"

#include <string.h>

static uint32_t read_32(const char *at)
{
    uint32_t x;

    memcpy(&x, at, sizeof(x));
    return x;
}

static uint16_t read_16(const char *at)
{
    uint16_t x;

    memcpy(&x, at, sizeof(x));
    return x;
}

/* ---- a part ---- */

static bool is_even(const uint64_t *send_bytes, const uint32_t *ranks,
                    uint32_t n_ranks)
{
    for (uint32_t k = 1; k < n_ranks; ++k) {
        if (send_bytes[ranks[k]] != send_bytes[ranks[0]]) {
            return false;
        }
    }
    return true;
}

static size_t front_len(bool even, uint32_t n_ranks)
{
    return even ? sizeof(uint32_t) : fs_part_front_max(n_ranks);
}

uint32_t fs_part_len(const uint64_t *send_bytes, const uint32_t *ranks,
                     uint32_t n_ranks)
{
    bool     even = is_even(send_bytes, ranks, n_ranks);
    uint64_t sum  = 0;

    for (uint32_t k = 0; k < n_ranks; ++k) {
        sum = fs_u64_min(sum, FS_MAX_BYTES) +
              fs_u64_min(send_bytes[ranks[k]], FS_MAX_BYTES);
    }
    return sum == 0 ? 0
           : sum > (even ? FS_PART_MAX : FS_PART_TABLE_MAX)
               ? FS_PART_NONE
               : (uint32_t)(front_len(even, n_ranks) + sum);
}

char *fs_part_begin(char *part, const uint64_t *send_bytes,
                    const uint32_t *ranks, uint32_t n_ranks)
{
    bool     even  = is_even(send_bytes, ranks, n_ranks);
    uint32_t front = even ? (uint32_t)send_bytes[ranks[0]] : FS_PART_TABLE;
    uint16_t end   = 0;

    memcpy(part, &front, sizeof(front));
    for (uint32_t k = 0; k < n_ranks && !even; ++k) {
        end = (uint16_t)(end + send_bytes[ranks[k]]);
        memcpy(part + sizeof(front) + k * sizeof(end), &end, sizeof(end));
    }
    return part + front_len(even, n_ranks);
}

bool fs_part_find(fs_bytes_t part, uint32_t n_blocks, uint32_t k,
                  fs_bytes_t *block_p)
{
    const char *ends = part.at + sizeof(uint32_t);
    size_t      front;
    uint64_t    from, to;
    uint32_t    each;

    *block_p = (fs_bytes_t){NULL, 0};
    if (part.len == 0) {
        return true;
    }
    if (part.len < sizeof(uint32_t)) {
        return false;
    }
    each  = read_32(part.at);
    front = front_len(each != FS_PART_TABLE, n_blocks);
    if (part.len < front) {
        return false;
    }
    if (each != FS_PART_TABLE) {
        from = (uint64_t)k * each;
        to   = from + each;
    } else {
        from = k > 0 ? read_16(ends + (k - 1) * sizeof(uint16_t)) : 0;
        to   = read_16(ends + k * sizeof(uint16_t));
    }
    if (from > to || to > part.len - front) {
        return false;
    }
    *block_p = (fs_bytes_t){part.at + front + from, to - from};
    return true;
}

/* ---- a bundle ---- */

bool fs_bundle_find(fs_bytes_t bundle, uint32_t n_parts, uint32_t k,
                    fs_bytes_t *part_p)
{
    size_t   front = fs_bundle_ends_len(n_parts);
    uint32_t from, to;

    *part_p = (fs_bytes_t){NULL, 0};
    if (bundle.len == 0) {
        return true;
    }
    if (bundle.len < front) {
        return false;
    }
    from = k > 0 ? read_32(bundle.at + (k - 1) * sizeof(from)) : 0;
    to   = read_32(bundle.at + k * sizeof(to));
    if (from > to || to > bundle.len - front) {
        return false;
    }
    *part_p = (fs_bytes_t){bundle.at + front + from, to - from};
    return true;
}

void fs_bundle_copy(const fs_bytes_t *pieces, uint32_t n_pieces, uint64_t from,
                    uint64_t len, char *dst)
{
    for (uint32_t k = 0; k < n_pieces && len > 0; ++k) {
        uint64_t here = pieces[k].len;

        if (from < here) {
            here = fs_u64_min(here - from, len);
            memcpy(dst, pieces[k].at + from, here);
            dst += here;
            len -= here;
            from = 0;
        } else {
            from -= here;
        }
    }
}
