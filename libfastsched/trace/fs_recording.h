/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording: the files that ranks wrote (fs_record.h), put together. The k-th
 * call of a communicator is the k-th on each of its ranks, as MPI has it; of
 * persistent calls the k-th making is, and of each the k-th start.
 */
#ifndef FS_RECORDING_H
#define FS_RECORDING_H

#include "trace/fs_record_file.h"

typedef struct fs_recorded_call {
    uint64_t entry_us; /* of rank 0, since its recording began */
    uint32_t function; /* fs_record_function() */
    uint32_t matrix;   /* equal ones have one number */
} fs_recorded_call_t;

/* One communicator. */
typedef struct fs_recording {
    uint64_t            id;
    uint32_t            n_ranks;
    fs_record_file_t   *ranks; /* [n_ranks] */
    void              **files; /* [n_ranks] their bytes */
    fs_recorded_call_t *calls;
    size_t              n_calls;
    uint32_t           *rows; /* [n_matrices x n_ranks] of which row of each */
    uint32_t            n_matrices;
    uint64_t
        missing; /* calls of rank 0 that are not here: files were full, or the
                         program did not end */
} fs_recording_t;

typedef struct fs_recordings {
    fs_recording_t *all; /* in the order of their first calls' set-up */
    size_t          n;
} fs_recordings_t;

/* dir: what parameter record named, or the directory of one communicator in there.
 * FS_OK; FS_ERR_INVAL, FS_ERR_NATIVE: why is one line; FS_ERR_NOMEM. In any case
 * fs_recordings_fini(). */
fs_status_t fs_recordings_read(fs_recordings_t *recordings, const char *dir,
                               char *why, size_t why_len);
void        fs_recordings_fini(fs_recordings_t *recordings);

/* As the MPI calls it. */
static inline const char *fs_recording_name(const fs_recording_t *recording)
{
    return recording->ranks[0].name;
}

/* bytes: [n_ranks x n_ranks], [src][dst]. */
void fs_recording_matrix(const fs_recording_t *recording, uint32_t matrix,
                         uint64_t *bytes);

#endif
