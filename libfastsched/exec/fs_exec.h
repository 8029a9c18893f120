/* SPDX-License-Identifier: BSD-3-Clause */
/* The state machine that runs one rank's program. */
#ifndef FS_EXEC_H
#define FS_EXEC_H

#include "exec/fs_transport.h"

typedef struct fs_exec fs_exec_t;

/* One per communicator; lives as long as its transport, which it does not own.
 * FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_exec_create(fs_transport_t *transport, uint32_t n_ranks,
                           fs_exec_t **exec_p);
void        fs_exec_destroy(fs_exec_t *exec);

/* Get all memory that running plan needs; nothing allocates later.
 * FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_exec_reserve(fs_exec_t *exec, const fs_plan_t *plan);

/* Post what can be posted. plan is reserved; plan and call are borrowed until
 * fs_exec_progress() no longer returns FS_INPROGRESS. call_seq counts calls,
 * equally on all ranks. Under the net's lock. */
void fs_exec_start(fs_exec_t *exec, const fs_plan_t *plan,
                   const fs_call_t *call, uint32_t call_seq);

/* Go on with what has ended. Under the net's lock.
 * FS_INPROGRESS, FS_OK, or the first error once nothing is in flight. */
fs_status_t fs_exec_progress(fs_exec_t *exec);

/* The first error, while what is in flight ends; FS_OK before. */
fs_status_t fs_exec_error(const fs_exec_t *exec);

#endif
