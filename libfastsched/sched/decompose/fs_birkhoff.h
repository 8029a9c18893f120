/* SPDX-License-Identifier: BSD-3-Clause */
/* Birkhoff's decomposition, a stage at a time. */
#ifndef FS_BIRKHOFF_H
#define FS_BIRKHOFF_H

#include "sched/decompose/fs_matching.h"
#include "sched/decompose/fs_schedule.h"

typedef struct fs_birkhoff {
    uint32_t      n;
    uint64_t     *left;      /* [n x n] bytes still to be sent */
    uint64_t     *row_slack; /* [n] idle time a sender may still have */
    uint64_t     *col_slack; /* [n] a receiver */
    uint64_t      rest;      /* time left: bytes left + slack of any line */
    size_t        n_left;    /* pairs with bytes left */
    uint64_t      floor;     /* smaller entries have no edge */
    uint64_t     *large;     /* [n x n_words] left >= floor */
    uint64_t     *small;     /* [n] the most left of the others in a row, or
                                more: they may have been sent since */
    uint64_t     *some;      /* [n x n_words] left > 0 */
    uint64_t     *roomy;     /* [n_words] receivers with slack >= floor */
    uint64_t     *spare;     /* [n_words] receivers matched for nothing */
    fs_matching_t matching;
} fs_birkhoff_t;

/*
 * spare is what the total may exceed the bound by: with some of it the stages
 * are fewer. FS_OK, FS_ERR_NOMEM.
 */
fs_status_t fs_birkhoff_init(fs_birkhoff_t *b, const fs_demand_t *demand,
                             uint64_t spare, fs_arena_t *arena);

/* Send the next stage. b->n_left must not be 0. */
void fs_birkhoff_stage(fs_birkhoff_t *b, fs_draft_t *draft);

#endif
