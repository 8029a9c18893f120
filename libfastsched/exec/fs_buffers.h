/* SPDX-License-Identifier: BSD-3-Clause */
/* What fs_buffers.c and fs_shadow.c share. */
#ifndef FS_BUFFERS_H
#define FS_BUFFERS_H

#include "exec/fs_wrapper.h"

typedef enum fs_side { FS_SIDE_SEND, FS_SIDE_RECV } fs_side_t;

/* A side on a device that server cannot use there: may its bytes go through the
 * host? FS_OK; FS_ERR_UNSUPPORTED, and why is a line for people. */
fs_status_t fs_buffers_check(const fs_buffers_t *buffers,
                             const fs_wrapper_t *wrapper, fs_side_t side,
                             const char *server, char *why, size_t why_len);

/* Memory of a device where the MPI's own algorithm is lost. */
bool fs_buffers_need_shadow(const fs_wrapper_t *wrapper, fs_mem_t mem);

#endif
