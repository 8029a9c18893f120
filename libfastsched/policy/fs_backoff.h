/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For how many small calls in a row the summary exchange is left out.
 *
 * After STREAK calls in a row that summaries have sent to the native algorithm,
 * the next 8 calls have no summary. Then one has; if it finds the same, 16
 * calls have none, then 32 and so on. Every rank counts the same calls, so no
 * messages are needed.
 *
 * The drawback: a large call among them uses the native algorithm. Ranks that
 * see one report it in the next summary (missed), and from then on the streak
 * has to be twice as long: an application whose large calls come at intervals
 * soon has all of them served.
 */
#ifndef FS_BACKOFF_H
#define FS_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum { FS_BACKOFF_STREAK = 8, FS_BACKOFF_FIRST = 8 };

/* All zero: nothing seen. */
typedef struct fs_backoff {
    uint32_t left;      /* calls that still go without a summary */
    uint32_t run;       /* how many there were last time */
    uint32_t streak;    /* calls in a row, of those with a summary */
    uint32_t doublings; /* of the streak that is needed */
    /* This rank's own; missed goes into its next summary. */
    uint64_t usual_bytes; /* more than this is not one of the streak */
    bool     missed;
} fs_backoff_t;

/* Is this call, in which this rank sends sent_bytes, without a summary? */
static inline bool fs_backoff_skips(fs_backoff_t *backoff, uint64_t sent_bytes)
{
    if (backoff->left == 0) {
        return false;
    }
    --backoff->left;
    backoff->missed |= sent_bytes > backoff->usual_bytes;
    return true;
}

/* What a summary has shown. */
typedef struct fs_backoff_seen {
    bool     to_host;    /* the call is one of a streak */
    bool     missed;     /* some rank has missed a large one before */
    uint64_t sent_bytes; /* by this rank */
    uint64_t min_bytes;  /* fewer, sent by every rank, are a small call */
} fs_backoff_seen_t;

/* After each summary. longest: calls in a row without one, at most; 0: none. */
void fs_backoff_note(fs_backoff_t *backoff, uint32_t longest,
                     const fs_backoff_seen_t *seen);

#endif
