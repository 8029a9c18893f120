/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nonblocking call is a request that is posted, and progressed with the net.
 *
 * It feeds neither tuner nor calibration: its time contains the program's own. And
 * it is never left to the MPI, see FS_FLAG_NONBLOCKING. It may begin early as a
 * blocking call does, when it is the first in the queue.
 */
#include "coll/fs_request.h"
#include "sched/model/fs_topo.h"

bool fs_comm_serves_nonblocking(const fs_comm_t *comm)
{
    return comm->topo->n_servers > 1 &&
           comm->params.algorithm != FS_ALGORITHM_OFF &&
           comm->params.nonblocking && !comm->waits_only &&
           comm->own_net == NULL; /* nor that */
}

void fs_comm_post(fs_request_t *request, void (*done)(fs_request_t *request))
{
    request->done = done;
    fs_request_post(request, FS_STEP_BEGIN);
}
