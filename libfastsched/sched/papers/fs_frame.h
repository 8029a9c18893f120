/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Frames: operations that are posted while the network is busy are merged and
 * scheduled as one (DHBvN §V, dynamic frame sizing).
 *
 * While a frame is on the wire, whatever is posted waits. At the frame boundary
 * all that waits is closed into the next frame, which is as long as its merged
 * traffic needs. Nothing that arrived later gets in, so the backlog at a
 * boundary is what was posted during the frame before (DHBvN eq. 21), and the
 * longer a frame was the more the next one has to merge.
 *
 * Pure: time is what the caller says it is, and "on the wire" is the time from
 * one fs_frames_close() to the next. One thread at a time per object.
 */
#ifndef FS_FRAME_H
#define FS_FRAME_H

#include "fastsched.h"

/** The operations that wait. Opaque, owned by the caller of create. */
typedef struct fs_frames fs_frames_t;

/** What one frame holds. Operations are numbered from 0 as they are posted. */
typedef struct fs_frame {
    uint64_t        first_op;
    uint64_t        n_ops; /**< may be 0: an empty frame */
    const uint64_t *bytes; /**< [n_counts] sums over the operations. Borrowed
                                until the next close or destroy */
} fs_frame_t;

/**
 * @param[in]  n_counts  Byte counts of one operation, 1 or more: n_ranks^2 for
 *                       one who sees whole matrices; what one rank sends and
 *                       receives, 2 * n_ranks, is merged in the same way.
 * @param[out] frames_p  fs_frames_destroy() frees it.
 * @return FS_OK; FS_ERR_INVAL (no counts); FS_ERR_NOMEM
 */
fs_status_t fs_frames_create(size_t n_counts, fs_frames_t **frames_p);

/** NULL is fine. */
void fs_frames_destroy(fs_frames_t *frames);

/**
 * An operation arrives. It waits for the next boundary.
 *
 * @param[in] bytes  [n_counts], copied.
 * @return FS_OK; FS_ERR_OVERFLOW (all that waits together would pass 2^62
 *         bytes: close a frame first) or FS_ERR_NOMEM: it was not posted.
 */
fs_status_t fs_frames_post(fs_frames_t *frames, const uint64_t *bytes);

/** Operations that were posted and are in no frame yet. */
uint64_t fs_frames_n_waiting(const fs_frames_t *frames);

/**
 * A frame boundary: the frame on the wire is over, the next is made of the
 * operations that have waited longest.
 *
 * @param[in]  max_ops  Take no more than so many: what every rank has posted.
 *                      UINT64_MAX takes all.
 * @param[out] frame    What is on the wire from now on.
 */
void fs_frames_close(fs_frames_t *frames, uint64_t max_ops, fs_frame_t *frame);

/**
 * Length of a frame: the time in which its traffic can be cleared, 1 if there
 * is none (DHBvN §V-A).
 *
 * @param[in]  topo        Who sits where.
 * @param[in]  rank_bytes  [n_ranks x n_ranks] the merged matrix, bytes.
 * @param[in]  balanced    Do ranks of a server help each other? Then the server
 *                         bound (eq. 26), otherwise the rank bound (eq. 3 to
 *                         5).
 * @param[out] length_p    Bytes per lane. Set on FS_OK only.
 * @return FS_OK, FS_ERR_OVERFLOW, FS_ERR_NOMEM as fs_bounds()
 */
fs_status_t fs_frame_length(const fs_topo_t *topo, const uint64_t *rank_bytes,
                            bool balanced, uint64_t *length_p);

#endif
