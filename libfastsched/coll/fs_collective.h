/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs between collective operations: a row of functions. */
#ifndef FS_COLLECTIVE_H
#define FS_COLLECTIVE_H

#include "coll/fs_collectives.h"
#include "comm/fs_comm.h"
#include "policy/fs_tuner.h"

struct fs_collective {
    fs_tuned_t tuned;
    /* Maximum bytes of a pair of servers that go in a bundle. The same on every
     * rank. */
    uint64_t (*bundle_limit)(const fs_request_t *request);
    bool uniform; /* all blocks are equal */
    /* What this rank tells the others about the call, and the one before. NULL:
     * each rank knows what the others do, and nobody waits for a summary. */
    fs_vote_t (*vote)(const fs_request_t *request);
    /* All votes are in: make the choice. The result is the same on every
     * rank. */
    void (*decide)(fs_request_t *request);
    /* Make this rank's program, and with a trace what its lane is to do, if there
     * is a schedule (see fs_plan_request_t). An error may be this rank's
     * alone. */
    fs_status_t (*plan)(const fs_request_t *request, fs_plan_t **plan_p,
                        fs_schedule_t **lane_p);
    /* Is a nonblocking or persistent call ours, which cannot be left to the MPI
     * later? Local; the same on all ranks at the same call. NULL: it is. */
    bool (*takes)(const fs_comm_t *comm, const fs_reduction_t *reduction);
};

/* Nonblocking calls are ours, on all ranks or on none: that has to be known in the
 * call. */
bool fs_comm_serves_nonblocking(const fs_comm_t *comm);

/* Post a nonblocking call, see fs_request_init() and fs_request_t.done. Its call is
 * borrowed until then, when request->status is set: as from fs_comm_alltoallv(),
 * without check. */
void fs_comm_post(fs_request_t *request, void (*done)(fs_request_t *request));

/* One blocking call of a collective; otherwise as fs_comm_alltoallv(). Nonblocking
 * ones that came before end in it. */
fs_status_t fs_comm_collective(fs_comm_t             *comm,
                               const fs_collective_t *collective,
                               const fs_call_t *call, bool *ran);

/* A round of votes among all ranks; *vote becomes their result. Blocking, and nothing
 * is under way. FS_OK; an error of the transport. */
fs_status_t fs_comm_vote(fs_comm_t *comm, fs_vote_t *vote);

/* A blocking allreduce is over that reduced_bytes is set of, whoever has served it: its
 * time may decide what serves the next ones. As fs_comm_vote(). */
fs_status_t fs_allreduce_note(fs_comm_t *comm);

/* What would serve such calls best, and its plan, if it has one: the request is its
 * user. No data moves. Blocking; nonblocking calls that came before end in it. As
 * from fs_comm_alltoallv(). */
fs_status_t fs_comm_plan(fs_request_t *request, fs_comm_t *comm,
                         const fs_collective_t *collective,
                         const fs_call_t       *call);

#endif
