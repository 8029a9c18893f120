/* SPDX-License-Identifier: BSD-3-Clause */
/* What a server sends and receives, in the order of time. */
#ifndef FS_FLOW_H
#define FS_FLOW_H

#include "sched/fs_emit.h"

/* The bytes of a tile's streams up to pos `end`, from where the slice before
 * ended, and the time they have. */
typedef struct fs_slice {
    fs_stream_t *stream;
    uint64_t     end;   /* UINT64_MAX: all that is left */
    uint64_t     start; /* time, see fs_transfer_t */
    uint64_t     bytes; /* it ends at start + bytes; not 0 */
} fs_slice_t;

/* Slices by start that do not overlap in time. */
typedef struct fs_slices {
    const fs_slice_t *list;
    size_t            n;
} fs_slices_t;

/* Called before a slice is read; may make its stream. One slice that leaves
 * (outgoing) and one that comes are open at a time. */
typedef struct fs_opener {
    fs_status_t (*open)(void *ctx, const fs_slice_t *slice, bool outgoing);
    void *ctx;
} fs_opener_t;

/* Emit what leaves this server and what comes. opener may be NULL: all streams
 * are there. A failure shows in the program's status. */
void fs_flow_run(fs_emit_t *em, fs_slices_t out, fs_slices_t in,
                 const fs_opener_t *opener);

#endif
