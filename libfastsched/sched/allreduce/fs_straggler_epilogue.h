/* SPDX-License-Identifier: BSD-3-Clause */
/* The last rounds of StragglAR: all chunks are fully reduced somewhere, and
 * each rank still lacks a few. */
#ifndef FS_STRAGGLER_EPILOGUE_H
#define FS_STRAGGLER_EPILOGUE_H

#include "base/fs_arena.h"
#include "sched/allreduce/fs_straggler.h"

enum { FS_EPILOGUE_NONE = UINT32_MAX };

/* What a rank does in one round. */
typedef struct fs_epilogue_send {
    uint32_t dst; /* index, or FS_EPILOGUE_NONE: sends nothing */
    uint32_t chunk;
} fs_epilogue_send_t;

/*
 * The last of n indexes is the straggler. Chunks are numbered so that youngest
 * is the one fully reduced last; index i lacks
 *   - chunk youngest - b for every bit b of live[i],
 *   - chunk old[i], which nobody else lacks, unless that is FS_EPILOGUE_NONE.
 */
typedef struct fs_epilogue {
    uint32_t            n;
    uint32_t            youngest;
    uint32_t           *live; /* [n] the caller's to fill */
    uint32_t           *old;  /* [n] likewise */
    fs_epilogue_send_t *send; /* [rounds x n] the result, by round and index */
    uint32_t           *live_now; /* [n] scratch */
    uint32_t           *old_now;  /* [n] scratch */
    uint32_t           *partner;  /* [n] scratch */
} fs_epilogue_t;

/* For n_ranks ranks, and chunks one fewer. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_epilogue_init(fs_epilogue_t *epilogue, uint32_t n_ranks,
                             uint32_t max_rounds, fs_arena_t *arena);

/* Let everybody have everything after n_rounds rounds of pairs that exchange.
 * False: no way was found, there may be none. O(n_rounds * n^2) at worst. */
bool fs_epilogue_find(fs_epilogue_t *epilogue, uint32_t n_rounds);

#endif
