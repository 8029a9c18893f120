/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_backoff.h"

#include "base/fs_arith.h"

enum { MAX_DOUBLINGS = 20 };

void fs_backoff_note(fs_backoff_t *backoff, uint32_t longest,
                     const fs_backoff_seen_t *seen)
{
    uint64_t above = fs_u64_min(seen->sent_bytes, UINT64_MAX / 2) * 2;

    if (seen->missed) {
        backoff->doublings = fs_u32_min(backoff->doublings + 1, MAX_DOUBLINGS);
    }
    if (seen->missed || !seen->to_host) {
        backoff->streak = backoff->run = 0;
        backoff->usual_bytes           = 0;
    }
    backoff->missed = false;
    if (!seen->to_host) {
        return;
    }
    /* If every rank sends less than min_bytes, so does the average. */
    backoff->usual_bytes =
        fs_u64_max(backoff->usual_bytes, fs_u64_max(above, seen->min_bytes));
    if (backoff->streak < (uint32_t)FS_BACKOFF_STREAK << backoff->doublings) {
        ++backoff->streak;
    }
    if (backoff->streak == (uint32_t)FS_BACKOFF_STREAK << backoff->doublings) {
        backoff->run  = backoff->run == 0 ? FS_BACKOFF_FIRST : 2 * backoff->run;
        backoff->run  = fs_u32_min(backoff->run, longest);
        backoff->left = backoff->run;
    }
}
