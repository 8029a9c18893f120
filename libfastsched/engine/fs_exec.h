/* SPDX-License-Identifier: BSD-3-Clause */
/* The state machine that runs one rank's program. */
#ifndef FS_EXEC_H
#define FS_EXEC_H

#include "accel/fs_accel.h"
#include "trace/fs_trace.h"
#include "net/fs_transport.h"

typedef struct fs_exec fs_exec_t;

#define FS_NO_RANK UINT32_MAX

/* Can the network read and write the blocks of a call where they are? */
static inline bool fs_call_sends_packed(const fs_call_t *call)
{
    return call->send_block != NULL &&
           !(call->device.staged && fs_mem_is_device(call->device.send_mem));
}

static inline bool fs_call_receives_packed(const fs_call_t *call)
{
    return call->recv_block != NULL &&
           !(call->device.staged && fs_mem_is_device(call->device.recv_mem));
}

/* One per communicator; lives as long as its transport, which it does not own.
 * FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_exec_create(fs_transport_t *transport, uint32_t n_ranks,
                           fs_exec_t **exec_p);
void        fs_exec_destroy(fs_exec_t *exec);

/* Tell trace from now on what happens; NULL: nobody. Borrowed. Under the net's
 * lock. */
void fs_exec_set_trace(fs_exec_t *exec, fs_trace_t *trace);

/* Get all memory that running plan for the call needs; nothing allocates later.
 * FS_OK; FS_ERR_OVERFLOW (more messages than the transport can tell apart);
 * FS_ERR_NOMEM; FS_ERR_ACCEL. */
fs_status_t fs_exec_reserve(fs_exec_t *exec, const fs_plan_t *plan,
                            const fs_call_t *call);

/* Has this plan, or with NULL every one ever reserved, its memory where this call needs
 * it? Calls on the host and on one device do, from the second one on. */
bool fs_exec_fits(const fs_exec_t *exec, const fs_plan_t *plan,
                  const fs_call_t *call);

/* Post what can be posted. plan is reserved; plan and call are borrowed until
 * fs_exec_progress() no longer returns FS_INPROGRESS. call_seq counts calls.
 * confirm_local: a rank leaves when those of its server have said that all has
 * arrived, see fs_net_t.local_arrives. Both equal on all ranks. Under the net's
 * lock. */
void fs_exec_start(fs_exec_t *exec, const fs_plan_t *plan,
                   const fs_call_t *call, uint32_t call_seq,
                   bool confirm_local);

/* Go on with what has ended. Under the net's lock.
 * FS_INPROGRESS, FS_OK, or the first error once nothing is in flight. */
fs_status_t fs_exec_progress(fs_exec_t *exec);

/* The first error, while what is in flight ends; FS_OK before. */
fs_status_t fs_exec_error(const fs_exec_t *exec);

/* Give up with this error, as if an operation had failed. Between start and
 * the end, under the net's lock. */
void fs_exec_abort(fs_exec_t *exec, fs_status_t status);

/* Notify all peers, as far as the network allows, that this rank has given the
 * communicator up. Likewise under the lock. */
void fs_exec_give_up(fs_exec_t *exec);

/* The first peer that has given up; FS_NO_RANK: none has. A running program
 * then ends with FS_ERR_PEER. */
uint32_t fs_exec_lost_peer(const fs_exec_t *exec);

/* If an operation has ended since the last time: send a sign of life to the
 * peers of this call, which may receive nothing else from us while they wait
 * for their turn. A sign of life from another server is forwarded inside the
 * server, but no further: it must not go in circles. Likewise under the
 * lock. */
void fs_exec_beat(fs_exec_t *exec);

/* The largest number of wire peers so far that were granted more than their
 * last message at a time: it proves that there is no incast. */
uint32_t fs_exec_peak_senders(const fs_exec_t *exec);

/* Time so far with copies from, to or on a device under way. */
uint64_t fs_exec_copy_ns(const fs_exec_t *exec);

/* ---- for messages: the state of the program, or when it failed ---- */

/* The last that was started; NULL before the first, and after a call that went
 * well. */
const fs_plan_t *fs_exec_plan(const fs_exec_t *exec);
/* Has this operation ended well? Is all done that it waits for? */
bool fs_exec_is_done(const fs_exec_t *exec, uint32_t op);
bool fs_exec_is_ready(const fs_exec_t *exec, uint32_t op);
/* Has the peer confirmed that all data of this call has arrived? */
bool fs_exec_is_confirmed(const fs_exec_t *exec, uint32_t peer);
/* The first operation that failed; FS_NO_OP if none did. */
uint32_t fs_exec_culprit(const fs_exec_t *exec);

#endif
