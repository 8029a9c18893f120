/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_RECORDING_CALLS_H
#define FS_RECORDING_CALLS_H

#include "trace/fs_recording.h"

/* Its ranks are read: find calls, rows and missing. FS_OK; FS_ERR_INVAL: the ranks
 * disagree, and why is one line; FS_ERR_NOMEM */
fs_status_t fs_recording_merge(fs_recording_t *recording, char *why,
                               size_t why_len);

#endif
