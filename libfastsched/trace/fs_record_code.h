/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a recording's file behind its first line: numbers of 1 to 10
 * bytes, rows of them, and events. The section RECORDINGS of fastsched(1) is the
 * description for others.
 *
 * A number: 7 bits in a byte, the lowest first; the highest bit says that more
 * follow.
 *
 * A row is the bytes that a rank sends to each rank, as tokens. A token is a
 * number t: even, the next value is the one before (0 at first) plus t / 2, whose
 * sign is its lowest bit; odd, the one before comes t / 2 + 1 times more.
 */
#ifndef FS_RECORD_CODE_H
#define FS_RECORD_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FS_RECORD_FORMAT "fastsched recording 1"

/* A call counts no more bytes per pair: the difference of two fits in a token. */
#define FS_RECORD_MAX (UINT64_C(1) << 61)

enum { FS_NUMBER_MAX = 10 }; /* bytes of a number */

/*
 * An event: a number, its kind plus FS_RECORD_KINDS times the index of the MPI's
 * function; except for END, microseconds since the event before; then
 *
 *   CALL   a call, and of a persistent one that the MPI serves the making of it,
 *          as its starts are not seen: a row
 *   INIT   a persistent call is made, in the order that all ranks have: a row
 *   START  of one that is started: how many INITs were before its own
 *   END    of the file: calls that were left out, as the file was full
 *
 * A row is a number, 0 if its tokens follow, n if it is the n-th last of the rows
 * whose tokens are in the file.
 */
typedef enum fs_record_event {
    FS_RECORD_CALL,
    FS_RECORD_INIT,
    FS_RECORD_START,
    FS_RECORD_END,
    FS_RECORD_KINDS
} fs_record_event_t;

/* Returns how many bytes it took, FS_NUMBER_MAX at most. */
size_t fs_number_put(uint8_t *at, uint64_t value);

/* Likewise, n * FS_NUMBER_MAX at most. Larger values than FS_RECORD_MAX become
 * that. */
size_t fs_row_put(uint8_t *at, uint32_t n, const uint64_t *bytes);

/* What is left to read. */
typedef struct fs_record_bytes {
    const uint8_t *at, *end;
} fs_record_bytes_t;

/* False: there is none. */
bool fs_number_get(fs_record_bytes_t *in, uint64_t *value_p);
/* bytes: NULL: only skip it. False: it is none of n values. */
bool fs_row_get(fs_record_bytes_t *in, uint32_t n, uint64_t *bytes);

#endif
