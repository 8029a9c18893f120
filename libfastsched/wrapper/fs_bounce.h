/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounce buffers: memory of the host that stands for a buffer on a device which the
 * MPI's own algorithm cannot use there. */
#ifndef FS_BOUNCE_H
#define FS_BOUNCE_H

#include "wrapper/fs_buffers.h"

typedef struct fs_bounce {
    fs_mem_t      mem; /* of the buffer */
    char         *memory;
    fs_segment_t *segments; /* [n_ranks] of the blocks; NULL: there is none */
    ptrdiff_t     shift;    /* from the buffer's addresses to these */
} fs_bounce_t;

/* Those of one call; zeroed before. */
typedef struct fs_bounces {
    fs_bounce_t send; /* in place: none */
    fs_bounce_t recv;
} fs_bounces_t;

/* Make them where they are needed, and copy to them what the MPI reads. Local;
 * the other ranks need not know. FS_OK; or an error, which leaves none, and why
 * is one line for the user: FS_ERR_UNSUPPORTED as in fs_buffers_for_call(),
 * FS_ERR_NOMEM, FS_ERR_ACCEL. */
fs_status_t fs_bounces_begin(fs_bounces_t *bounces, const fs_wrapper_t *wrapper,
                             const fs_buffers_t *buffers, char *why,
                             size_t why_len);

/* moved: the MPI has written to them: copy that back, and free them. Else it may still
 * use them, and they are left alone for good. FS_OK, FS_ERR_ACCEL. */
fs_status_t fs_bounces_end(fs_bounces_t *bounces, const fs_wrapper_t *wrapper,
                           const fs_buffers_t *buffers, bool moved);

#endif
