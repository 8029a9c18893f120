/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A persistent collective: described and planned once, started any number of times.
 *
 * Ranks may start several of them in different orders, so each has a communicator
 * of its own, with one request at a time. All know the plan: a start says nothing
 * to anybody and runs it. Only where calls of the communicator came apart before, a
 * start is a nonblocking call that begins early, until starts have come together
 * for a while: the lane of a rank that is late cannot make up for it by this plan,
 * the other lanes of its server can by a plan for what is left. Where small blocks
 * go in bundles there is no plan, and a start is a nonblocking call; its one
 * message has the data.
 */
#ifndef FS_PERSISTENT_H
#define FS_PERSISTENT_H

#include "coll/fs_request.h"

typedef struct fs_persistent {
    fs_comm_t             *comm; /* its own; NULL: there is nothing here */
    const fs_collective_t *collective;
    fs_cached_plan_t      *plan; /* this is a user of it; NULL: bundles */
    uint64_t               flags;
    fs_outcome_t           outcome; /* of the choice */
    uint64_t               memory;  /* bytes that count in staging_limit */
} fs_persistent_t;

/*
 * Collective and blocking; nonblocking calls that came before end in it. The result
 * is the same on all ranks, but for FS_ERR_TRANSPORT and the like.
 *
 * mine: a rank that cannot take part, for lack of memory say, says so here; then
 * call may be NULL.
 * FS_OK: all ranks have it, or persistent->comm is NULL and it is the MPI's to serve;
 * an error of the call, as of fs_comm_alltoallv().
 */
fs_status_t fs_persistent_init(fs_persistent_t *persistent, fs_comm_t *comm,
                               fs_status_t            mine,
                               const fs_collective_t *collective,
                               const fs_call_t       *call);

/* Start it once more: local; see fs_request_t.done. A call with the counts and the
 * layouts that it was made with. */
void fs_persistent_start(fs_persistent_t *persistent, fs_request_t *request,
                         const fs_call_t *call,
                         void (*done)(fs_request_t *request));

/* What it has counted becomes comm's. NULL: it is forgotten. Under the net's lock. */
void fs_persistent_give_stats(fs_persistent_t *persistent, fs_comm_t *comm);

/* Local; nothing of it is under way. */
void fs_persistent_fini(fs_persistent_t *persistent);

#endif
