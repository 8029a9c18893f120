/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shadows on the host, for buffers on a device that the MPI cannot use there:
 * what it sends is copied to them before, what it has received back after.
 */
#include "exec/fs_wrapper.h"

#include "accel/fs_accel.h"
#include "exec/fs_buffers.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- one shadow ---- */

/* As numbers: addresses of a device mean nothing here. */
static void find_range(uint32_t n, const void *const *block,
                       const uint64_t *bytes, uintptr_t *low_p,
                       uintptr_t *high_p)
{
    *low_p  = UINTPTR_MAX;
    *high_p = 0;
    for (uint32_t r = 0; r < n; ++r) {
        uintptr_t start = (uintptr_t)block[r];

        if (bytes[r] > 0) {
            *low_p  = start < *low_p ? start : *low_p;
            *high_p = start + bytes[r] > *high_p ? start + bytes[r] : *high_p;
        }
    }
}

static fs_status_t make_shadow(fs_shadow_t *shadow, fs_mem_t mem, uint32_t n,
                               const void *const *block, const uint64_t *bytes)
{
    uintptr_t low, high;

    find_range(n, block, bytes, &low, &high);
    shadow->mem      = mem;
    shadow->segments = calloc(n, sizeof(*shadow->segments));
    shadow->memory   = malloc(high - low);
    if (shadow->segments == NULL || shadow->memory == NULL) {
        return FS_ERR_NOMEM;
    }
    shadow->shift = (ptrdiff_t)((uintptr_t)shadow->memory - low);
    for (uint32_t r = 0; r < n; ++r) {
        if (bytes[r] > 0) {
            shadow->segments[r] =
                (fs_segment_t){shadow->memory + ((uintptr_t)block[r] - low),
                               block[r], bytes[r]};
        }
    }
    return FS_OK;
}

static fs_status_t copy_in(const fs_shadow_t *shadow, fs_accel_t *accel,
                           uint32_t n)
{
    return shadow->segments == NULL
               ? FS_OK
               : fs_accel_copy(accel, shadow->mem, shadow->segments, n, false);
}

static fs_status_t copy_out(const fs_shadow_t *shadow, fs_accel_t *accel,
                            uint32_t n)
{
    if (shadow->segments == NULL) {
        return FS_OK;
    }
    for (uint32_t r = 0; r < n; ++r) {
        fs_segment_t *s = &shadow->segments[r];

        *s = (fs_segment_t){(void *)(uintptr_t)s->src, s->dst, s->len_bytes};
    }
    return fs_accel_copy(accel, shadow->mem, shadow->segments, n, false);
}

static void free_shadow(fs_shadow_t *shadow, bool all_done)
{
    if (all_done) {
        free(shadow->memory);
    }
    free(shadow->segments);
    *shadow = (fs_shadow_t){.memory = NULL};
}

/* ---- those of a call ---- */

static fs_status_t make_both(fs_shadows_t *s, const fs_buffers_t *buffers,
                             const fs_wrapper_t *wrapper,
                             const fs_blocks_t  *blocks)
{
    uint32_t    n      = blocks->n_ranks;
    fs_status_t status = FS_OK;

    if (!buffers->in_place &&
        fs_buffers_need_shadow(wrapper, buffers->send_mem)) {
        status = make_shadow(&s->send, buffers->send_mem, n, blocks->send_block,
                             blocks->send_bytes);
    }
    if (status == FS_OK && fs_buffers_need_shadow(wrapper, buffers->recv_mem)) {
        status = make_shadow(&s->recv, buffers->recv_mem, n,
                             (const void *const *)blocks->recv_block,
                             blocks->recv_bytes);
    }
    return status;
}

fs_status_t fs_shadows_begin(fs_shadows_t *shadows, const fs_buffers_t *buffers,
                             const fs_wrapper_t *wrapper,
                             const fs_blocks_t *blocks, char *why,
                             size_t why_len)
{
    fs_status_t status = FS_OK;

    if (fs_buffers_need_shadow(wrapper, buffers->send_mem)) {
        status = fs_buffers_check(buffers, wrapper, FS_SIDE_SEND, "the MPI",
                                  why, why_len);
    }
    if (status == FS_OK && fs_buffers_need_shadow(wrapper, buffers->recv_mem)) {
        status = fs_buffers_check(buffers, wrapper, FS_SIDE_RECV, "the MPI",
                                  why, why_len);
    }
    if (status != FS_OK) {
        return status;
    }
    status = make_both(shadows, buffers, wrapper, blocks);
    if (status == FS_OK) {
        status = copy_in(buffers->in_place ? &shadows->recv : &shadows->send,
                         wrapper->accel, blocks->n_ranks);
    }
    if (status != FS_OK) {
        snprintf(why, why_len, "buffers on a device: %s", fs_strerror(status));
    }
    return status;
}

fs_status_t fs_shadows_end(fs_shadows_t *shadows, const fs_wrapper_t *wrapper,
                           const fs_blocks_t *blocks, bool moved, bool all_done)
{
    fs_status_t status = FS_OK;

    if (moved) {
        status = copy_out(&shadows->recv, wrapper->accel, blocks->n_ranks);
    }
    free_shadow(&shadows->send, all_done);
    free_shadow(&shadows->recv, all_done);
    return status;
}
