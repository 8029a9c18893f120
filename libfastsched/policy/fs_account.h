/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the last lines of a job say about the calls of a communicator: which server
 * was the busiest, by what it sends or receives, and why calls were left to the MPI.
 *
 * Pure, and the same on every rank.
 */
#ifndef FS_ACCOUNT_H
#define FS_ACCOUNT_H

#include "fastsched.h"

/* Calls in which a line was the busiest, and its bytes per lane in them. */
typedef struct fs_account_line {
    uint64_t n_calls;
    uint64_t bound;
} fs_account_line_t;

enum { FS_ACCOUNT_REASONS = 8 };

/* Calls that were left to the MPI for a reason, a static text. */
typedef struct fs_account_left {
    const char *reason; /* NULL: this place is free */
    uint64_t    n_calls;
} fs_account_left_t;

/* All zero: nothing seen, and lines are not counted. */
typedef struct fs_account {
    uint32_t           n_lines; /* fs_busiest_t.line is below it */
    fs_account_line_t *lines;
    uint64_t           n_calls;     /* of all lines */
    uint64_t           bound;       /* likewise */
    uint64_t           inter_bytes; /* between servers, in these */
    fs_account_left_t  left[FS_ACCOUNT_REASONS];
} fs_account_t;

/* Count lines. FS_OK, FS_ERR_NOMEM; either way fs_account_fini() may follow. */
fs_status_t fs_account_init(fs_account_t *account, uint32_t n_servers);
void        fs_account_fini(fs_account_t *account);

/* A call between servers: whose bytes per lane were the most, and how many. */
void fs_account_add(fs_account_t *account, uint32_t line, uint64_t bound,
                    uint64_t inter_bytes);

/* The line with the most bytes where it was the busiest, the lowest of several. NULL:
 * no call was counted. */
const fs_account_line_t *fs_account_busiest(const fs_account_t *account);

/* n calls were left for this reason. Reasons that have no place are not counted. */
void fs_account_add_left(fs_account_left_t left[FS_ACCOUNT_REASONS],
                         const char *reason, uint64_t n);

static inline void fs_account_leave(fs_account_t *account, const char *reason)
{
    fs_account_add_left(account->left, reason, 1);
}

/* The reason of the most calls, the first of several; NULL: there is none. */
const fs_account_left_t *
fs_account_usual(const fs_account_left_t left[FS_ACCOUNT_REASONS]);

#endif
