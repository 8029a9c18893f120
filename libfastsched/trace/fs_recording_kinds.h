/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of one communicator with equal matrices are of one kind. */
#ifndef FS_RECORDING_KINDS_H
#define FS_RECORDING_KINDS_H

#include "trace/fs_recording.h"

typedef struct fs_recorded_kind {
    const fs_recording_t *comm;
    uint32_t              matrix;
    uint32_t              function; /* of the first call */
    uint64_t              n;        /* calls */
    uint64_t              bytes;    /* of one, above 0 */
    size_t                first;    /* call of the communicator, from 0 */
} fs_recorded_kind_t;

/* All kinds, those with most bytes in all calls first; calls without a byte are of
 * none. The caller's: free(). FS_OK; FS_ERR_NOMEM; FS_ERR_OVERFLOW: all bytes
 * together are more than 2^62. */
fs_status_t fs_recordings_kinds(const fs_recordings_t *recordings,
                                fs_recorded_kind_t **kinds_p, size_t *n_p);

#endif
