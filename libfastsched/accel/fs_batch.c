/* SPDX-License-Identifier: BSD-3-Clause */
#include "accel/fs_batch.h"

#include "base/fs_arith.h"

#include <string.h>

enum {
    ALIGN = 16, /* of the kernel's longest words */
    ROOM  = FS_BATCH_BYTES + FS_BATCH_MAX * ALIGN
};

/* The place in the room of what begins at this address on the device: aligned like
 * it. */
static uint64_t place_of(const void *address, uint64_t used)
{
    return used + ((uintptr_t)address - used) % ALIGN;
}

static const void *on_device(const fs_batch_t *batch, uint32_t k)
{
    return batch->to_host ? batch->segments[k].src : batch->segments[k].dst;
}

/* All of it through the room, which has space for it. */
static fs_status_t copy_through(const fs_batch_t *batch, fs_copier_t *copier,
                                char *room)
{
    fs_segment_t pinned[FS_BATCH_MAX];
    fs_status_t  status;
    uint64_t     used = 0;

    for (uint32_t k = 0; k < batch->n; ++k) {
        fs_segment_t s  = batch->segments[k];
        uint64_t     at = place_of(on_device(batch, k), used);

        pinned[k] = s;
        if (batch->to_host) {
            pinned[k].dst = room + at;
        } else {
            pinned[k].src = room + at;
            memcpy(room + at, s.src, s.len_bytes);
        }
        used = at + s.len_bytes;
    }
    status = fs_copier_run(copier, pinned, batch->n, true);
    for (uint32_t k = 0; k < batch->n && batch->to_host && status == FS_OK;
         ++k) {
        memcpy(batch->segments[k].dst, pinned[k].dst, pinned[k].len_bytes);
    }
    return status;
}

/* As one kernel, if there is one that can go there, and room. */
static fs_status_t copy(const fs_batch_t *batch, fs_copier_t *copier)
{
    void *room = NULL;

    if (batch->n > 1 && !batch->mem.foreign &&
        batch->len_bytes <= FS_BATCH_BYTES &&
        fs_copier_reserve(copier, FS_BATCH_MAX, ROOM) == FS_OK &&
        fs_copier_has_kernel(copier)) {
        room = fs_copier_room(copier, ROOM);
    }
    return room != NULL
               ? copy_through(batch, copier, room)
               : fs_copier_run(copier, batch->segments, batch->n, false);
}

static fs_status_t copy_all(fs_batch_t *batch)
{
    fs_copier_t *copier;
    fs_status_t  status = FS_ERR_ACCEL;

    if (batch->n == 0) {
        return FS_OK;
    }
    copier = fs_accel_get_copier(batch->accel, batch->mem);
    if (copier != NULL) {
        status = copy(batch, copier);
        fs_accel_put_copier(batch->accel, copier);
    }
    batch->n         = 0;
    batch->len_bytes = 0;
    return status;
}

fs_status_t fs_batch_end(fs_batch_t *batch)
{
    fs_status_t status = copy_all(batch);

    batch->status = batch->status != FS_OK ? batch->status : status;
    return batch->status;
}

fs_status_t fs_batch_add(fs_batch_t *batch, void *dst, const void *src,
                         uint64_t len_bytes)
{
    fs_status_t status = FS_OK;

    if (!fs_mem_is_device(batch->mem)) {
        memcpy(dst, src, len_bytes);
        return FS_OK;
    }
    if (batch->n == FS_BATCH_MAX ||
        batch->len_bytes + len_bytes > FS_BATCH_BYTES) {
        status = fs_batch_end(batch);
    }
    batch->segments[batch->n++] = (fs_segment_t){dst, src, len_bytes, 0};
    batch->len_bytes += len_bytes;
    return status;
}
