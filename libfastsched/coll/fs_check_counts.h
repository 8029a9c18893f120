/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_CHECK_COUNTS_H
#define FS_CHECK_COUNTS_H

#include "comm/fs_comm.h"

/* Compare all counts of a call, before anything moves (parameter check).
 * Collective. FS_OK; FS_ERR_MISMATCH on every rank, comm->error names the
 * pair; FS_ERR_NOMEM; FS_ERR_NATIVE. */
fs_status_t fs_comm_check_counts(fs_comm_t *comm, const fs_call_t *call);

#endif
