/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/fs_record_code.h"

#include "base/fs_arith.h"

/* ---- numbers ---- */

size_t fs_number_put(uint8_t *at, uint64_t value)
{
    size_t n = 0;

    for (; value > 0x7f; value >>= 7) {
        at[n++] = (uint8_t)(value | 0x80);
    }
    at[n++] = (uint8_t)value;
    return n;
}

bool fs_number_get(fs_record_bytes_t *in, uint64_t *value_p)
{
    *value_p = 0;
    for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        uint64_t byte = *in->at++;

        if (shift == 63 && byte > 1) {
            return false;
        }
        *value_p |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* ---- rows ---- */

/* The lowest bit is the sign. */
static uint64_t fold(uint64_t before, uint64_t value)
{
    return value >= before ? (value - before) << 1
                           : ((before - value) << 1) - 1;
}

static uint64_t unfold(uint64_t before, uint64_t folded)
{
    return folded % 2 == 0 ? before + folded / 2 : before - folded / 2 - 1;
}

size_t fs_row_put(uint8_t *at, uint32_t n, const uint64_t *bytes)
{
    uint64_t before = 0;
    size_t   len    = 0;
    uint32_t r      = 0;

    while (r < n) {
        uint64_t value = fs_u64_min(bytes[r], FS_RECORD_MAX);
        uint32_t run   = r;

        while (run < n && fs_u64_min(bytes[run], FS_RECORD_MAX) == before) {
            ++run;
        }
        if (run > r) {
            len += fs_number_put(at + len, (uint64_t)(run - r - 1) << 1 | 1);
            r = run;
        } else {
            len += fs_number_put(at + len, fold(before, value) << 1);
            before = value;
            ++r;
        }
    }
    return len;
}

/* A token for so many values of a row. False: it is none. */
static bool get_token(fs_record_bytes_t *in, uint32_t room, uint64_t *value_p,
                      uint32_t *times_p)
{
    uint64_t token;

    if (!fs_number_get(in, &token)) {
        return false;
    }
    if (token % 2 == 0) {
        *value_p = unfold(*value_p, token / 2);
        *times_p = 1;
        return *value_p <= FS_RECORD_MAX;
    }
    *times_p = (uint32_t)fs_u64_min(token / 2 + 1, UINT32_MAX);
    return *times_p <= room;
}

bool fs_row_get(fs_record_bytes_t *in, uint32_t n, uint64_t *bytes)
{
    uint64_t value = 0;
    uint32_t times = 0;

    for (uint32_t r = 0; r < n; r += times) {
        if (!get_token(in, n - r, &value, &times)) {
            return false;
        }
        for (uint32_t k = r; bytes != NULL && k < r + times; ++k) {
            bytes[k] = value;
        }
    }
    return true;
}
