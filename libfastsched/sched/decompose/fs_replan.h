/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules of matrices that differ in few cells. The first two calls with such
 * matrices are planned as usual, and the second schedule is kept. Later ones
 * keep its start times: see fs_replan.c.
 */
#ifndef FS_REPLAN_H
#define FS_REPLAN_H

#include "base/fs_arena.h"
#include "fastsched.h"

/* A schedule without stages in which each pair is one transfer. */
typedef struct fs_kept_schedule {
    fs_decompose_t how; /* as asked for */
    fs_decompose_t decompose;
    uint64_t       stage_cost;
    uint32_t       n;     /* servers; 0: nothing is kept */
    uint64_t      *bytes; /* [n x n] the matrix */
    uint64_t      *start; /* [n x n] of a pair with bytes */
    uint64_t      *load;  /* [2 n] bytes of each sender, then receiver */
    uint64_t      *busy;  /* [2 n x n_words] slots of time, likewise */
    uint32_t       n_words;
    unsigned       shift; /* time to slot */
    uint64_t       bound;
    uint64_t       total;
    uint64_t       digest;
} fs_kept_schedule_t;

/* What is known from the last calls. All zero: nothing. Ranks with equal ones
 * that get equal matrices find equal schedules, and equal ones again. */
typedef struct fs_replan {
    uint64_t          *sample; /* [n_sample] cells of the last matrix */
    uint32_t           n_sample;
    uint32_t           wait;  /* calls until a schedule may be kept */
    uint32_t           pause; /* the next such wait */
    fs_kept_schedule_t kept;
    fs_arena_t         arena; /* memory of kept */
} fs_replan_t;

/* As fs_schedule_create(), but from the schedules before where these fit. NULL:
 * there are none. After an error replan is empty; that of the other ranks must be
 * cleared. Memory: at most 22 bytes for each pair of servers. */
fs_status_t fs_schedule_update(fs_replan_t *replan, fs_decompose_t how,
                               uint64_t stage_cost, uint32_t n_servers,
                               const uint64_t *bytes, uint32_t only_server,
                               fs_schedule_t **schedule_p);

/* Forget all, and free it. */
void fs_replan_clear(fs_replan_t *replan);

#endif
