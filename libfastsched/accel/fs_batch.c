/* SPDX-License-Identifier: BSD-3-Clause */
#include "accel/fs_batch.h"

#include <string.h>

fs_status_t fs_batch_end(fs_batch_t *batch)
{
    uint32_t n = batch->n;

    batch->n = 0;
    return n == 0 ? FS_OK
                  : fs_accel_copy(batch->accel, batch->mem, batch->segments, n,
                                  false);
}

fs_status_t fs_batch_add(fs_batch_t *batch, void *dst, const void *src,
                         uint64_t len_bytes)
{
    if (!fs_mem_is_device(batch->mem)) {
        memcpy(dst, src, len_bytes);
        return FS_OK;
    }
    batch->segments[batch->n++] = (fs_segment_t){dst, src, len_bytes};
    return batch->n == FS_BATCH_MAX ? fs_batch_end(batch) : FS_OK;
}
