/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of memory while a program is replayed: which bytes of which
 * blocks lie where, which operation wrote them and which have read them
 * since. */
#ifndef FS_RANGES_H
#define FS_RANGES_H

#include "fastsched.h"

/* Some bytes of what src sends to dst; of a reduction's vector, where src is a
 * sum (fs_sums.h) and dst 0. */
typedef struct fs_run {
    uint32_t src;
    uint32_t dst;
    uint64_t offset; /* in the block */
    uint64_t len_bytes;
} fs_run_t;

/* The contents of a message. Zero-initialise; free(run). */
typedef struct fs_runs {
    fs_run_t *run;
    size_t    n;
    size_t    max;
} fs_runs_t;

/* Append, joining what is contiguous. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_runs_add(fs_runs_t *runs, fs_run_t run);

/* Does operation a end before b starts, whatever the network does? */
typedef bool fs_before_fn_t(void *ctx, uint32_t a, uint32_t b);

typedef struct fs_range fs_range_t;

/* Operations of one rank, in an order in which they may run. */
typedef struct fs_ranges {
    fs_before_fn_t *before;
    void           *ctx;
    fs_range_t     *range; /* [n] by place; they do not overlap */
    size_t          n;
    size_t          max;
    struct fs_reader {
        uint32_t op;
        uint32_t next; /* who read before it */
    } * readers;
    uint32_t    n_readers;
    uint32_t    max_readers;
    const char *problem; /* after FS_ERR_INVAL */
    uint32_t    other;   /* operation that op is in conflict with */
} fs_ranges_t;

void fs_ranges_init(fs_ranges_t *ranges, fs_before_fn_t *before, void *ctx);
void fs_ranges_fini(fs_ranges_t *ranges);

/* Instead of an operation: written before the first, or read by the checker. */
#define FS_NOBODY UINT32_MAX

/* op reads len_bytes from offset; what it finds is appended to runs. FS_OK;
 * FS_ERR_INVAL (nobody wrote there, or the writer may come later); or
 * FS_ERR_NOMEM. */
fs_status_t fs_ranges_read(fs_ranges_t *ranges, uint64_t offset,
                           uint64_t len_bytes, uint32_t op, fs_runs_t *runs);

/* op writes runs from offset on. FS_OK; FS_ERR_INVAL (somebody may still read
 * or write there); or FS_ERR_NOMEM. */
fs_status_t fs_ranges_write(fs_ranges_t *ranges, uint64_t offset,
                            const fs_runs_t *runs, uint32_t op);

#endif
