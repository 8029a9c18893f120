/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who forwards what to whom.
 *
 * The distances with digit z at position x lie in runs of r^x, one run in each
 * block of r^(x + 1): counts and the k-th of them are one division each.
 */
#include "sched/plan/fs_radix.h"

/* The next digit of this phase, or the first of the next phase. */
static bool step(uint32_t n, uint32_t radix, fs_radix_message_t *m)
{
    uint64_t block = (uint64_t)m->stride * radix;

    if (m->hop == 0) {
        *m = (fs_radix_message_t){.stride = 1, .hop = 1};
        return n > 1;
    }
    if ((uint64_t)m->hop + m->stride < block) {
        m->hop += m->stride;
        if (m->hop < n) {
            return true;
        }
    }
    if (block >= n) {
        return false;
    }
    ++m->phase;
    m->stride = m->hop = (uint32_t)block;
    return true;
}

bool fs_radix_next(uint32_t n_servers, uint32_t radix,
                   fs_radix_message_t *message)
{
    fs_radix_message_t *m = message;
    uint64_t            block, last;

    if (!step(n_servers, radix, m)) {
        return false;
    }
    block = (uint64_t)m->stride * radix;
    last  = n_servers % block; /* distances in the last block */
    last  = last > m->hop ? fs_u64_min(last - m->hop, m->stride) : 0;

    m->n_in_phase  = fs_u32_min(radix - 1, (n_servers - 1) / m->stride);
    m->n_bundles   = (uint32_t)(n_servers / block * m->stride + last);
    m->n_forwarded = m->n_bundles -
                     (uint32_t)fs_u64_div_up(n_servers - m->hop, block);
    m->n_rows = fs_u32_min(m->stride, n_servers - m->hop);
    return true;
}

fs_radix_bundle_t fs_radix_bundle(uint32_t n_servers, uint32_t radix,
                                  const fs_radix_message_t *message,
                                  uint32_t sender, uint32_t k)
{
    uint64_t n = n_servers, stride = message->stride;
    uint64_t gone     = k % stride; /* of the distance */
    uint64_t distance = k / stride * stride * radix + message->hop + gone;
    uint64_t origin   = (sender + n - gone) % n;

    return (fs_radix_bundle_t){(uint32_t)origin,
                               (uint32_t)((origin + distance) % n)};
}
