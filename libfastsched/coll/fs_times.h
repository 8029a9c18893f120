/* SPDX-License-Identifier: BSD-3-Clause */
/* What a communicator learns of how long its last call took. */
#ifndef FS_TIMES_H
#define FS_TIMES_H

#include "coll/fs_request.h"

/* By the votes of the call that follows: the same on all ranks. */
void fs_times_apply(fs_comm_t *comm, const fs_vote_t *vote);

#endif
