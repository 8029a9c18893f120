/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the messages of a call are. */
#ifndef FS_CHUNKS_H
#define FS_CHUNKS_H

#include "coll/fs_request.h"

/* The longest chunk of a short stage; 0: there are none, as the NICs are fast, or
 * nothing is known of them. */
uint64_t fs_chunks_short(const fs_comm_t *comm);

/* Parameters with chunks short enough for the stages of a call, if there are several;
 * and no longer than the call, since staging memory is made of them. */
fs_plan_params_t fs_chunks_cut(const fs_request_t *request, bool coarse);

#endif
