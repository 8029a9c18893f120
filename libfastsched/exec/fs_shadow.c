/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers on a device, which neither the CPU nor an MPI that knows nothing of
 * it may touch: what is sent is copied to the host before the call, what has
 * arrived back after it.
 */
#include "fastsched_wrapper.h"

#include "accel/fs_accel.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- where buffers are ---- */

/* Of the first byte; the others are with it. */
static fs_mem_t find_mem(const fs_accel_t *accel, uint32_t n,
                         const void *const *block, const uint64_t *bytes)
{
    for (uint32_t r = 0; r < n; ++r) {
        if (bytes[r] > 0) {
            return fs_accel_query(accel, block[r]);
        }
    }
    return (fs_mem_t){FS_MEM_HOST, 0};
}

static const void *const *to_const(void *const *block)
{
    return (const void *const *)block;
}

bool fs_shadows_needed(fs_shadows_t *shadows, const fs_wrapper_t *wrapper,
                       const fs_blocks_t *blocks)
{
    if (!shadows->in_place) {
        shadows->send.mem = find_mem(wrapper->accel, blocks->n_ranks,
                                     blocks->send_block, blocks->send_bytes);
    }
    shadows->recv.mem = find_mem(wrapper->accel, blocks->n_ranks,
                                 to_const(blocks->recv_block),
                                 blocks->recv_bytes);
    return fs_mem_is_device(shadows->send.mem) ||
           fs_mem_is_device(shadows->recv.mem);
}

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

static fs_status_t make_shadow(fs_shadow_t *shadow, uint32_t n,
                               const void *const *block, const uint64_t *bytes)
{
    uintptr_t low, high;

    if (!fs_mem_is_device(shadow->mem)) {
        return FS_OK;
    }
    find_range(n, block, bytes, &low, &high);
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
               : fs_accel_copy(accel, shadow->mem, shadow->segments, n);
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
    return fs_accel_copy(accel, shadow->mem, shadow->segments, n);
}

static void free_shadow(fs_shadow_t *shadow, bool all_done)
{
    if (all_done) {
        free(shadow->memory);
    }
    free(shadow->segments);
    *shadow = (fs_shadow_t){.mem = {FS_MEM_HOST, 0}};
}

/* ---- those of a call ---- */

/* What we cannot do. */
static fs_status_t check(const fs_shadows_t *s, const fs_wrapper_t *wrapper,
                         char *why, size_t why_len)
{
    bool send_gaps = fs_mem_is_device(s->send.mem) && !s->send_contiguous;
    bool recv_gaps = fs_mem_is_device(s->recv.mem) && !s->recv_contiguous;
    bool gaps      = send_gaps || recv_gaps;
    bool send      = send_gaps || (!recv_gaps && fs_mem_is_device(s->send.mem));

    if (!gaps && wrapper->params.accel_fallback) {
        return FS_OK;
    }
    snprintf(why, why_len, "the %s buffer is %s memory, %s",
             send ? "send" : "receive",
             fs_mem_name(send ? s->send.mem.kind : s->recv.mem.kind),
             gaps ? "and its datatype is not contiguous: the MPI cannot pack "
                    "there"
                  : "which the network cannot take; parameter accel_fallback "
                    "allows copies on the host");
    return FS_ERR_UNSUPPORTED;
}

fs_status_t fs_shadows_begin(fs_shadows_t *shadows, const fs_wrapper_t *wrapper,
                             const fs_blocks_t *blocks, char *why,
                             size_t why_len)
{
    uint32_t    n      = blocks->n_ranks;
    fs_status_t status = check(shadows, wrapper, why, why_len);

    if (status != FS_OK) {
        return status;
    }
    status =
        make_shadow(&shadows->send, n, blocks->send_block, blocks->send_bytes);
    if (status == FS_OK) {
        status = make_shadow(&shadows->recv, n, to_const(blocks->recv_block),
                             blocks->recv_bytes);
    }
    if (status == FS_OK) {
        status = copy_in(shadows->in_place ? &shadows->recv : &shadows->send,
                         wrapper->accel, n);
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
