/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_backoff.h"

#include "base/fs_arith.h"

enum { MAX_DOUBLINGS = 20 };

void fs_backoff_note(fs_backoff_t *quiet, uint32_t longest,
                     const fs_backoff_seen_t *seen)
{
    uint64_t above = fs_u64_min(seen->sent_bytes, UINT64_MAX / 2) * 2;

    if (seen->missed) {
        quiet->doublings = fs_u32_min(quiet->doublings + 1, MAX_DOUBLINGS);
    }
    if (seen->missed || !seen->to_host) {
        quiet->streak = quiet->run = 0;
        quiet->usual_bytes         = 0;
    }
    quiet->missed = false;
    if (!seen->to_host) {
        return;
    }
    /* If every rank sends less than min_bytes, so does the average. */
    quiet->usual_bytes =
        fs_u64_max(quiet->usual_bytes, fs_u64_max(above, seen->min_bytes));
    if (quiet->streak < (uint32_t)FS_BACKOFF_STREAK << quiet->doublings) {
        ++quiet->streak;
    }
    if (quiet->streak == (uint32_t)FS_BACKOFF_STREAK << quiet->doublings) {
        quiet->run  = quiet->run == 0 ? FS_BACKOFF_FIRST : 2 * quiet->run;
        quiet->run  = fs_u32_min(quiet->run, longest);
        quiet->left = quiet->run;
    }
}
