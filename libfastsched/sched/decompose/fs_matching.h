/* SPDX-License-Identifier: BSD-3-Clause */
/* A perfect matching of senders and receivers, repaired rather than redone. */
#ifndef FS_MATCHING_H
#define FS_MATCHING_H

#include "base/fs_arena.h"
#include "fastsched.h"

enum { FS_UNMATCHED = UINT32_MAX };

/*
 * n senders (rows), n receivers (columns), an edge wherever a bit of edge is
 * set: write it as you like between two repairs.
 */
typedef struct fs_matching {
    uint32_t  n;
    uint32_t  n_words;   /* 64-bit words per row */
    uint64_t *edge;      /* [n x n_words] bit j of row i */
    uint32_t *col_of;    /* [n] partner of a row or FS_UNMATCHED */
    uint32_t *row_of;    /* [n] partner of a column or FS_UNMATCHED */
    uint64_t *single;    /* [n_words] columns without a partner */
    uint64_t *unseen;    /* [n_words] scratch of the search */
    uint32_t *came_from; /* [n] scratch: row that reached a column */
    uint32_t *queue;     /* [n] scratch */
    uint32_t  n_stuck;   /* see fs_matching_repair() */
} fs_matching_t;

/* No edges, nothing matched. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_matching_init(fs_matching_t *matching, uint32_t n,
                             fs_arena_t *arena);

/*
 * Find a partner for every row by shortest augmenting paths, lowest index
 * first; partners whose edge is still there stay together. False if there is no
 * perfect matching; what is matched stays so. Then queue[0] to
 * queue[n_stuck - 1] are rows with too few columns among them, and unseen has
 * the columns that none of them has an edge to.
 *
 * Cost: O(n * n_words) per row without a partner.
 */
bool fs_matching_repair(fs_matching_t *matching);

#endif
