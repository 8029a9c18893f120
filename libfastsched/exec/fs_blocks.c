/* SPDX-License-Identifier: BSD-3-Clause */
#include "fastsched_wrapper.h"

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

void fs_blocks_fini(fs_blocks_t *blocks)
{
    free(blocks->send_bytes);
    free(blocks->recv_bytes);
    free(blocks->send_block);
    free(blocks->recv_block);
    free(blocks->copy);
    *blocks = (fs_blocks_t){0};
}

fs_status_t fs_blocks_copy(fs_blocks_t *blocks, bool contiguous)
{
    const fs_call_t *call   = &blocks->call;
    fs_status_t      status = FS_OK;
    size_t           total = 0, at = 0;

    for (uint32_t r = 0; r < blocks->n_ranks; ++r) {
        total += blocks->send_bytes[r];
    }
    blocks->copy = malloc(total > 0 ? total : 1);
    if (blocks->copy == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; r < blocks->n_ranks && status == FS_OK; ++r) {
        size_t len = blocks->send_bytes[r];

        if (len > 0 && contiguous) {
            memcpy(blocks->copy + at, blocks->send_block[r], len);
        } else if (len > 0) {
            status = call->pack(call->ctx, r, 0, len, blocks->copy + at);
        }
        blocks->send_block[r] = blocks->copy + at;
        at += len;
    }
    return status;
}

void fs_blocks_end(fs_blocks_t *blocks, bool all_done)
{
    if (all_done) {
        free(blocks->copy);
    }
    blocks->copy = NULL;
}
