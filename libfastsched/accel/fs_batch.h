/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of many small blocks, one side of which may be on a device: those are
 * gathered. */
#ifndef FS_BATCH_H
#define FS_BATCH_H

#include "accel/fs_accel.h"

enum { FS_BATCH_MAX = 64 };

/* All zero but for the first two: nothing gathered. */
typedef struct fs_batch {
    fs_accel_t  *accel;
    fs_mem_t     mem; /* of the side that is not in host memory; of the host */
    uint32_t     n;
    fs_segment_t segments[FS_BATCH_MAX];
} fs_batch_t;

/* Copy, at once or later. FS_OK, FS_ERR_ACCEL. */
fs_status_t fs_batch_add(fs_batch_t *batch, void *dst, const void *src,
                         uint64_t len_bytes);

/* Complete all. FS_OK, FS_ERR_ACCEL. */
fs_status_t fs_batch_end(fs_batch_t *batch);

#endif
