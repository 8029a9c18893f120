/* SPDX-License-Identifier: BSD-3-Clause */
#include "exec/fs_wrapper.h"

#include "accel/fs_accel.h"

#include <stdlib.h>
#include <string.h>

fs_status_t fs_blocks_init(fs_blocks_t *blocks, uint32_t n_ranks)
{
    *blocks = (fs_blocks_t){
        .n_ranks    = n_ranks,
        .send_bytes = calloc(n_ranks, sizeof(*blocks->send_bytes)),
        .recv_bytes = calloc(n_ranks, sizeof(*blocks->recv_bytes)),
        .send_block = calloc(n_ranks, sizeof(*blocks->send_block)),
        .recv_block = calloc(n_ranks, sizeof(*blocks->recv_block)),
    };
    if (blocks->send_bytes == NULL || blocks->recv_bytes == NULL ||
        blocks->send_block == NULL || blocks->recv_block == NULL) {
        fs_blocks_fini(blocks);
        return FS_ERR_NOMEM;
    }
    return FS_OK;
}

static void free_copy(fs_blocks_t *blocks)
{
    if (blocks->copy != NULL && fs_mem_is_device(blocks->copy_mem)) {
        fs_accel_free(blocks->accel, blocks->copy_mem, blocks->copy);
    } else {
        free(blocks->copy);
    }
    blocks->copy = NULL;
}

void fs_blocks_fini(fs_blocks_t *blocks)
{
    free(blocks->send_bytes);
    free(blocks->recv_bytes);
    free(blocks->send_block);
    free(blocks->recv_block);
    free_copy(blocks);
    *blocks = (fs_blocks_t){0};
}

/* ---- a copy of what is sent ---- */

static uint64_t total_of(const uint64_t *bytes, uint32_t n)
{
    uint64_t total = 0;

    for (uint32_t r = 0; r < n; ++r) {
        total += bytes[r];
    }
    return total;
}

static fs_status_t copy_on_host(fs_blocks_t *blocks, bool contiguous)
{
    const fs_call_t *call   = &blocks->call;
    char            *copy   = blocks->copy;
    fs_status_t      status = FS_OK;

    for (uint32_t r = 0; r < blocks->n_ranks && status == FS_OK; ++r) {
        size_t len = blocks->send_bytes[r];

        if (len > 0 && contiguous) {
            memcpy(copy, blocks->send_block[r], len);
        } else if (len > 0) {
            status = call->pack(call->ctx, r, 0, len, copy);
        }
        copy += len;
    }
    return status;
}

static fs_status_t copy_on_device(fs_blocks_t *blocks)
{
    char         *copy     = blocks->copy;
    fs_segment_t *segments = calloc(blocks->n_ranks, sizeof(*segments));
    fs_status_t   status;

    if (segments == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; r < blocks->n_ranks; ++r) {
        segments[r] =
            (fs_segment_t){copy, blocks->send_block[r], blocks->send_bytes[r]};
        copy += blocks->send_bytes[r];
    }
    status = fs_accel_copy(blocks->accel, blocks->copy_mem, segments,
                           blocks->n_ranks, !blocks->copy_mem.foreign);
    free(segments);
    return status;
}

/* Memory of a device is kept from call to call: its drivers are slow at it. */
static bool alloc_copy(fs_blocks_t *blocks, fs_mem_t mem, uint64_t len_bytes)
{
    if (blocks->copy != NULL && len_bytes <= blocks->copy_len &&
        fs_mem_equal(blocks->copy_mem, mem)) {
        return true;
    }
    free_copy(blocks);
    blocks->accel    = blocks->call.device.accel;
    blocks->copy_mem = mem;
    blocks->copy_len = len_bytes;
    blocks->copy     = fs_mem_is_device(mem)
                           ? fs_accel_alloc(blocks->accel, mem, len_bytes)
                           : malloc(len_bytes);
    return blocks->copy != NULL;
}

fs_status_t fs_blocks_copy(fs_blocks_t *blocks, bool contiguous)
{
    fs_call_device_t *device = &blocks->call.device;
    uint64_t          total  = total_of(blocks->send_bytes, blocks->n_ranks);
    fs_status_t       status;
    char             *at;

    if (!fs_mem_is_device(device->send_mem)) {
        device->send_mem = (fs_mem_t){.kind = FS_MEM_HOST}; /* not managed */
    }
    device->send_mem.pooled = false;
    if (!alloc_copy(blocks, device->send_mem, total > 0 ? total : 1)) {
        return FS_ERR_NOMEM;
    }
    status = fs_mem_is_device(device->send_mem)
                 ? copy_on_device(blocks)
                 : copy_on_host(blocks, contiguous);
    at     = blocks->copy;
    for (uint32_t r = 0; r < blocks->n_ranks; ++r) {
        blocks->send_block[r] = at;
        at += blocks->send_bytes[r];
    }
    return status;
}

void fs_blocks_end(fs_blocks_t *blocks, bool all_done)
{
    if (!all_done) {
        blocks->copy = NULL;
    } else if (!fs_mem_is_device(blocks->copy_mem)) {
        free_copy(blocks);
    }
}
