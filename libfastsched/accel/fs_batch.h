/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of many small blocks between memory of any kind and memory of the host.
 * On a device one kernel moves many at a time, to pinned memory or from there: a
 * copy by the driver would take microseconds for each.
 */
#ifndef FS_BATCH_H
#define FS_BATCH_H

#include "accel/fs_accel.h"

enum { FS_BATCH_MAX = 256, FS_BATCH_BYTES = 256 << 10 };

typedef struct fs_batch {
    fs_accel_t  *accel;
    fs_mem_t     mem;     /* of the side that may be on a device */
    bool         to_host; /* it is the source */
    fs_status_t  status;  /* the first error since fs_batch_begin() */
    uint32_t     n;
    uint64_t     len_bytes;
    fs_segment_t segments[FS_BATCH_MAX]; /* the first n are set */
} fs_batch_t;

/* Nothing gathered. The segments stay as they are: to zero them would cost each small
 * call 8 kB. */
static inline void fs_batch_begin(fs_batch_t *batch, fs_accel_t *accel,
                                  fs_mem_t mem, bool to_host)
{
    batch->accel     = accel;
    batch->mem       = mem;
    batch->to_host   = to_host;
    batch->status    = FS_OK;
    batch->n         = 0;
    batch->len_bytes = 0;
}

/* Copy, at once or later. FS_OK, FS_ERR_ACCEL. */
fs_status_t fs_batch_add(fs_batch_t *batch, void *dst, const void *src,
                         uint64_t len_bytes);

/* Complete all. FS_OK; FS_ERR_ACCEL: some have failed, perhaps long ago. */
fs_status_t fs_batch_end(fs_batch_t *batch);

#endif
