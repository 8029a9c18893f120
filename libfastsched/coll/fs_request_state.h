/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files about the steps of a request share. Each step returns the next one:
 *
 *   fs_request_steps.c  begin, summarise, decide
 *   fs_request_early.c  begin before all ranks have entered
 *   fs_request_plan.c   plan, agree
 *   fs_request_run.c    run, exchange times
 *   fs_request_end.c    end
 *
 * All steps are taken under the net's lock.
 */
#ifndef FS_REQUEST_STATE_H
#define FS_REQUEST_STATE_H

#include "coll/fs_request.h"

/* ---- end ---- */

fs_step_t fs_step_end(fs_request_t *request, fs_status_t status);

/* The communicator is lost: set its error text and notify the peers. What a
 * program uses, its plan too, stays allocated: the network may still access
 * it. */
fs_step_t fs_step_lose(fs_request_t *request, fs_status_t status);

/* No data is where it should be: the native algorithm serves the call. If it cannot
 * use a rank's buffers on a device, or not any more, the call fails, as with
 * unequal counts; the communicator stays usable. */
fs_step_t fs_step_leave(fs_request_t *request);

/* Wait until the messages that we have given up are sent, and the network has given
 * up the buffers, for a short time. */
fs_step_t fs_step_notify_peers(fs_request_t *request);

/* ---- control messages ---- */

/* What the call is, from this rank. */
fs_step_t fs_step_summarise(fs_request_t *request);

/* FS_INPROGRESS until all votes are in. */
fs_status_t fs_step_progress_control(const fs_request_t *request);

/* ---- early ---- */

/* The same on all ranks in the same collective. Where algorithms are to be compared
 * it does not. */
bool fs_step_begins_early(const fs_request_t *request);

/* A round of votes says when all are here. */
fs_step_t fs_step_begin_early(fs_request_t *request);
fs_step_t fs_step_exchange_early(fs_request_t *request);

/* What goes early goes on in this step. */
fs_step_t fs_step_go_on_early(fs_request_t *request, fs_step_t step);

/* The end of what has begun early. */
fs_step_t fs_step_drain(fs_request_t *request);

/* ---- plan ---- */

/* All ranks know how this call goes. It may not be left to the MPI. */
fs_step_t fs_step_begin_with_plan(fs_request_t *request);

/* Vote on the plan: all ranks must have one, with the same stages. The sum
 * of n equal digests is n times each of them. max_inter is the largest
 * plan's size. */
fs_step_t fs_step_ask(fs_request_t *request);
fs_step_t fs_step_compare_plans(fs_request_t *request);

/* It can be used. */
fs_step_t fs_step_take_plan(fs_request_t *request);

/* ---- run ---- */

fs_step_t fs_step_run(fs_request_t *request);
fs_step_t fs_step_execute(fs_request_t *request);

/* All blocks are in bundles: there is nothing to run. */
fs_step_t fs_step_take_bundles(fs_request_t *request);

/* How long did it take the slowest rank? */
fs_step_t fs_step_report(fs_request_t *request);
fs_step_t fs_step_collect_times(fs_request_t *request);

/* ---- for the trace ---- */

static inline void fs_step_trace(const fs_request_t *request,
                                 fs_trace_phase_t    phase)
{
    if (request->comm->trace != NULL) {
        fs_trace_enter(request->comm->trace, phase);
    }
}

static inline void fs_step_trace_decision(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    if (comm->trace != NULL) {
        fs_trace_decision(comm->trace, &request->outcome.choice,
                          request->outcome.traffic.inter_bytes,
                          request->outcome.bound);
    }
}

#endif
