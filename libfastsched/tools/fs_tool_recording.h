/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording (parameter record) as exchanges. */
#ifndef FS_TOOL_RECORDING_H
#define FS_TOOL_RECORDING_H

#include "tools/fs_tool_traffic.h"
#include "trace/fs_recording_kinds.h"

typedef struct fs_tool_recording {
    const char         *path;
    fs_recordings_t     recordings;
    fs_recorded_kind_t *kinds;
    size_t              n_kinds;
    uint64_t            n_calls, missing, bytes;
    double   seconds;   /* from the first call to the last, of a communicator
                                 the longest */
    uint32_t n_world;   /* ranks of MPI_COMM_WORLD, as far as they are known */
    bool     full, cut; /* a file of it has reached its limit, or has no end */
} fs_tool_recording_t;

/* Is it a directory? */
bool fs_tool_is_recording(const char *path);

/* Or the end. path is borrowed. */
void fs_tool_recording_read(const char *path, fs_tool_recording_t *recording);
void fs_tool_recording_fini(fs_tool_recording_t *recording);

/* On the servers of args, or where the ranks were. The caller's:
 * fs_tool_traffic_fini(). */
void fs_tool_recording_traffic(const fs_tool_recording_t    *recording,
                               const fs_recorded_kind_t     *kind,
                               const fs_tool_traffic_args_t *args,
                               fs_tool_traffic_t            *traffic);

#endif
