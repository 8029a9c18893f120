/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrapper/fs_bounce.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- one ---- */

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

static fs_status_t make_bounce(fs_bounce_t *bounce, fs_mem_t mem, uint32_t n,
                               const void *const *block, const uint64_t *bytes)
{
    uintptr_t low, high;

    find_range(n, block, bytes, &low, &high);
    bounce->mem      = mem;
    bounce->segments = calloc(n, sizeof(*bounce->segments));
    bounce->memory   = malloc(high - low);
    if (bounce->segments == NULL || bounce->memory == NULL) {
        return FS_ERR_NOMEM;
    }
    bounce->shift = (ptrdiff_t)((uintptr_t)bounce->memory - low);
    for (uint32_t r = 0; r < n; ++r) {
        if (bytes[r] > 0) {
            bounce->segments[r] =
                (fs_segment_t){bounce->memory + ((uintptr_t)block[r] - low),
                               block[r], bytes[r], 0};
        }
    }
    return FS_OK;
}

static fs_status_t copy_in(const fs_bounce_t *bounce, fs_accel_t *accel,
                           uint32_t n)
{
    return bounce->segments == NULL
               ? FS_OK
               : fs_accel_copy(accel, bounce->mem, bounce->segments, n, false);
}

static fs_status_t copy_out(const fs_bounce_t *bounce, fs_accel_t *accel,
                            uint32_t n)
{
    if (bounce->segments == NULL) {
        return FS_OK;
    }
    for (uint32_t r = 0; r < n; ++r) {
        fs_segment_t *s = &bounce->segments[r];

        *s = (fs_segment_t){(void *)(uintptr_t)s->src, s->dst, s->len_bytes, 0};
    }
    return fs_accel_copy(accel, bounce->mem, bounce->segments, n, false);
}

static void free_bounce(fs_bounce_t *bounce, bool all_done)
{
    if (all_done) {
        free(bounce->memory);
    }
    free(bounce->segments);
    *bounce = (fs_bounce_t){.memory = NULL};
}

/* ---- those of a call ---- */

static fs_status_t make_both(fs_bounces_t *bounces, const fs_wrapper_t *wrapper,
                             const fs_buffers_t *b)
{
    uint32_t    n      = b->counts.n_ranks;
    fs_status_t status = FS_OK;

    if (!b->in_place && fs_buffers_need_bounce(wrapper, b->send_mem)) {
        status = make_bounce(&bounces->send, b->send_mem, n, b->send_block,
                             b->counts.send_bytes);
    }
    if (status == FS_OK && fs_buffers_need_bounce(wrapper, b->recv_mem)) {
        status = make_bounce(&bounces->recv, b->recv_mem, n,
                             (const void *const *)b->recv_block,
                             b->counts.recv_bytes);
    }
    return status == FS_OK
               ? copy_in(b->in_place ? &bounces->recv : &bounces->send,
                         wrapper->accel, n)
               : status;
}

static void free_both(fs_bounces_t *bounces, bool all_done)
{
    free_bounce(&bounces->send, all_done);
    free_bounce(&bounces->recv, all_done);
}

fs_status_t fs_bounces_begin(fs_bounces_t *bounces, const fs_wrapper_t *wrapper,
                             const fs_buffers_t *buffers, char *why,
                             size_t why_len)
{
    fs_status_t status = FS_OK;

    if (fs_buffers_need_bounce(wrapper, buffers->send_mem)) {
        status = fs_buffers_check(buffers, wrapper, FS_SIDE_SEND, "the MPI",
                                  why, why_len);
    }
    if (status == FS_OK && fs_buffers_need_bounce(wrapper, buffers->recv_mem)) {
        status = fs_buffers_check(buffers, wrapper, FS_SIDE_RECV, "the MPI",
                                  why, why_len);
    }
    if (status != FS_OK) {
        return status;
    }
    status = make_both(bounces, wrapper, buffers);
    if (status != FS_OK) {
        snprintf(why, why_len, "buffers on a device: %s", fs_strerror(status));
        free_both(bounces, true);
    }
    return status;
}

fs_status_t fs_bounces_end(fs_bounces_t *bounces, const fs_wrapper_t *wrapper,
                           const fs_buffers_t *buffers, bool moved)
{
    fs_status_t status = FS_OK;

    if (moved) {
        status =
            copy_out(&bounces->recv, wrapper->accel, buffers->counts.n_ranks);
    }
    free_both(bounces, moved);
    return status;
}
