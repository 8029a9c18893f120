/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums on paper: whose contributions are in them, and in which order they were
 * added. Equal sums have equal numbers: that of a rank is its contribution
 * alone. */
#ifndef FS_SUMS_H
#define FS_SUMS_H

#include "sched/plan/fs_ranges.h"

typedef struct fs_sums {
    uint32_t n_ranks;
    uint32_t n_words; /* of a row */
    uint32_t n;
    uint32_t max;
    struct fs_sum {
        uint32_t left;
        uint32_t right;
    } * sum;             /* [n] */
    uint64_t   *rows;    /* [n x n_words] ranks that are in it */
    uint32_t   *table;   /* [2 * max] sums by their parts; 0: free */
    const char *problem; /* after FS_ERR_INVAL */
} fs_sums_t;

/* n_ranks is 1 or more. FS_OK, FS_ERR_NOMEM; fini in any case. */
fs_status_t fs_sums_init(fs_sums_t *sums, uint32_t n_ranks);
void        fs_sums_fini(fs_sums_t *sums);

/* Is everybody in it? */
bool fs_sums_is_full(const fs_sums_t *sums, uint32_t sum);

/* Bytes added to bytes, as many: fs_run_t.src is a sum, offset the place in the
 * vector. What comes out replaces result. FS_OK; FS_ERR_INVAL (they belong to
 * different places, or somebody is in both); FS_ERR_NOMEM. */
fs_status_t fs_sums_add(fs_sums_t *sums, const fs_runs_t *left,
                        const fs_runs_t *right, fs_runs_t *result);

#endif
