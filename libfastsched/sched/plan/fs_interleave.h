/* SPDX-License-Identifier: BSD-3-Clause */
/* What a server sends and receives, in the order of time. */
#ifndef FS_INTERLEAVE_H
#define FS_INTERLEAVE_H

#include "sched/plan/fs_emit.h"

/* The bytes of a tile's streams up to pos `end`, from where the slice before
 * ended, and the time they have. */
typedef struct fs_slice {
    fs_stream_t *stream;
    uint64_t     end;    /* UINT64_MAX: all that is left */
    uint64_t     start;  /* time, see fs_transfer_t */
    uint64_t     bytes;  /* it ends at start + bytes; not 0 */
    uint32_t     sender; /* of all that can send at a time, the same number on
                            every rank: decides between equal times */
} fs_slice_t;

/* What one way out of this server, or in, carries over time: slices by start
 * that do not overlap. */
typedef struct fs_timeline {
    bool        outgoing;
    fs_slice_t *list;
    size_t      n;
} fs_timeline_t;

/* Called before a slice is read; may make its stream. One slice of each
 * timeline is open at a time. */
typedef struct fs_opener {
    fs_status_t (*open)(void *ctx, const fs_slice_t *slice, bool outgoing);
    void *ctx;
} fs_opener_t;

/* Emit what leaves this server and what comes. opener may be NULL: all streams
 * are there. A failure shows in the program's status. */
void fs_interleave_run(fs_emit_t *em, const fs_timeline_t *timelines,
                       uint32_t n_timelines, const fs_opener_t *opener);

#endif
