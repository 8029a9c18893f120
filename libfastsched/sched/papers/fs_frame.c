/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames: one row of counts per waiting operation, oldest first.
 *
 * Rows are kept apart until the boundary, because a frame may take only the
 * first of them. Those taken are passed over and their room is used again once
 * they are the larger part, so a post costs one row on average.
 */
#include "sched/papers/fs_frame.h"

#include "base/fs_arith.h"

#include <stdlib.h>
#include <string.h>

struct fs_frames {
    size_t    n_counts;
    uint64_t *rows; /* [max_rows x n_counts] */
    size_t    max_rows;
    size_t    n_rows;   /* posted, from rows on */
    size_t    n_taken;  /* of these, already in a frame */
    uint64_t  n_closed; /* operations in frames since create */
    uint64_t  waiting_bytes;
    uint64_t *merged; /* [n_counts] of the frame on the wire */
};

fs_status_t fs_frames_create(size_t n_counts, fs_frames_t **frames_p)
{
    fs_frames_t *frames;

    if (n_counts == 0) {
        return FS_ERR_INVAL;
    }
    frames = calloc(1, sizeof(*frames));
    if (frames == NULL) {
        return FS_ERR_NOMEM;
    }
    frames->n_counts = n_counts;
    frames->merged   = calloc(n_counts, sizeof(*frames->merged));
    if (frames->merged == NULL) {
        free(frames);
        return FS_ERR_NOMEM;
    }
    *frames_p = frames;
    return FS_OK;
}

void fs_frames_destroy(fs_frames_t *frames)
{
    if (frames != NULL) {
        free(frames->rows);
        free(frames->merged);
        free(frames);
    }
}

/* Room for one more row; false if there is none. */
static bool make_room(fs_frames_t *frames)
{
    size_t    wanted = frames->max_rows < 4 ? 8 : frames->max_rows * 2;
    uint64_t  bytes;
    uint64_t *bigger;

    if (frames->n_rows < frames->max_rows) {
        return true;
    }
    if (frames->n_taken > frames->n_rows / 2) {
        frames->n_rows -= frames->n_taken;
        memmove(frames->rows, frames->rows + frames->n_taken * frames->n_counts,
                frames->n_rows * frames->n_counts * sizeof(*frames->rows));
        frames->n_taken = 0;
        return true;
    }
    if (!fs_u64_mul(wanted * sizeof(*frames->rows), frames->n_counts, &bytes) ||
        bytes > SIZE_MAX) {
        return false;
    }
    bigger = realloc(frames->rows, bytes);
    if (bigger == NULL) {
        return false;
    }
    frames->rows     = bigger;
    frames->max_rows = wanted;
    return true;
}

/* False if a sum passes the limit. */
static bool add_counts(const fs_frames_t *frames, const uint64_t *bytes,
                       uint64_t *sum_p)
{
    for (size_t k = 0; k < frames->n_counts; ++k) {
        if (!fs_u64_add(*sum_p, bytes[k], sum_p) || *sum_p > FS_MAX_BYTES) {
            return false;
        }
    }
    return true;
}

fs_status_t fs_frames_post(fs_frames_t *frames, const uint64_t *bytes)
{
    uint64_t waiting = frames->waiting_bytes;

    if (!add_counts(frames, bytes, &waiting)) {
        return FS_ERR_OVERFLOW;
    }
    if (!make_room(frames)) {
        return FS_ERR_NOMEM;
    }
    memcpy(frames->rows + frames->n_rows * frames->n_counts, bytes,
           frames->n_counts * sizeof(*bytes));
    ++frames->n_rows;
    frames->waiting_bytes = waiting;
    return FS_OK;
}

uint64_t fs_frames_n_waiting(const fs_frames_t *frames)
{
    return frames->n_rows - frames->n_taken;
}

void fs_frames_close(fs_frames_t *frames, uint64_t max_ops, fs_frame_t *frame)
{
    uint64_t n = fs_u64_min(max_ops, fs_frames_n_waiting(frames));

    *frame = (fs_frame_t){frames->n_closed, n, frames->merged};
    memset(frames->merged, 0, frames->n_counts * sizeof(*frames->merged));
    for (uint64_t op = 0; op < n; ++op) {
        const uint64_t *row = frames->rows + frames->n_taken * frames->n_counts;

        for (size_t k = 0; k < frames->n_counts; ++k) {
            frames->merged[k] += row[k];
            frames->waiting_bytes -= row[k];
        }
        ++frames->n_taken;
    }
    frames->n_closed += n;
}

fs_status_t fs_frame_length(const fs_topo_t *topo, const uint64_t *rank_bytes,
                            bool balanced, uint64_t *length_p)
{
    fs_bounds_t bounds;
    fs_status_t status = fs_bounds(topo, rank_bytes, &bounds);

    if (status == FS_OK) {
        *length_p = fs_u64_max(1, balanced ? bounds.server : bounds.rank);
    }
    return status;
}
