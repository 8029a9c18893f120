/* SPDX-License-Identifier: BSD-3-Clause */
/* What tells one collective operation from another: a row of functions. */
#ifndef FS_COLLECTIVE_H
#define FS_COLLECTIVE_H

#include "comm/fs_comm.h"

typedef struct fs_collective {
    /* What this rank says about the call, and about the one before. */
    fs_vote_t (*word)(const fs_request_t *request);
    /* All have spoken: choice, and what belongs to it. The same on every rank. */
    void (*decide)(fs_request_t *request);
    /* This rank's program. FS_OK, or what this rank alone fails at. */
    fs_status_t (*plan)(const fs_request_t *request, fs_plan_t **plan_p);
} fs_collective_t;

extern const fs_collective_t fs_alltoallv;

/* One blocking operation; else as fs_comm_alltoallv(). */
fs_status_t fs_comm_collective(fs_comm_t             *comm,
                               const fs_collective_t *collective,
                               const fs_call_t *call, bool *ran);

#endif
