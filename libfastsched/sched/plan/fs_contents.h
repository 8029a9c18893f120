/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks' memories hold while their programs are replayed on paper, and
 * whether it is in the end what it should be. */
#ifndef FS_CONTENTS_H
#define FS_CONTENTS_H

#include "sched/plan/fs_plan_replay.h"
#include "sched/plan/fs_sums.h"

typedef struct fs_contents {
    fs_check_t        *check;
    fs_ranges_t       *ranges;   /* [n_ranks] */
    struct fs_landing *landings; /* [n_nodes] what landed in receive buffers */
    size_t             n_landings;
    fs_runs_t          runs;  /* that the operation moves */
    fs_runs_t          right; /* of a reduction: what it adds them to */
    fs_runs_t          sum;   /* and what comes out */
    fs_sums_t          sums;
} fs_contents_t;

/* Operations have numbers and partners. FS_OK, FS_ERR_NOMEM; fini in any case,
 * before the check's arena goes. */
fs_status_t fs_contents_init(fs_contents_t *mem, fs_check_t *check);
void        fs_contents_fini(fs_contents_t *mem);

/* Once for each rank, before anything is moved: what orders its operations. */
fs_status_t fs_contents_add_rank(fs_contents_t *mem, uint32_t rank,
                                 fs_before_fn_t *before, void *ctx);

/* What operation `from` reads goes where `to` writes: both ends of a message, or
 * twice the same. FS_OK; FS_ERR_INVAL, and the check knows why; FS_ERR_NOMEM. */
fs_status_t fs_contents_move(fs_contents_t *mem, size_t from, size_t to);

/* All has been moved: every byte has landed, or is the sum of all ranks. As
 * fs_contents_move(). */
fs_status_t fs_contents_check(fs_contents_t *mem);

#endif
