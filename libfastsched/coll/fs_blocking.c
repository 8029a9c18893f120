/* SPDX-License-Identifier: BSD-3-Clause */
/* A blocking call is a request that is posted and waited for. */
#include "base/fs_clock.h"
#include "coll/fs_check_counts.h"
#include "coll/fs_eager.h"
#include "coll/fs_request.h"
#include "comm/fs_wish.h"
#include "net/fs_helper.h"
#include "sched/model/fs_topo.h"

#include <stdio.h>

static fs_status_t check(fs_comm_t *comm, const fs_call_t *call)
{
    if (!comm->params.check || call->reduction.elem_bytes > 0) {
        return FS_OK;
    }
    if (comm->trace != NULL) {
        fs_trace_enter(comm->trace, FS_TRACE_CHECK);
    }
    return fs_comm_check_counts(comm, call);
}

/* The reason why no request is needed; NULL: one is. Without a network the algorithm has
 * been off from the start; where it is off now, a request finds out when it is not. */
static const char *why_native(const fs_comm_t *comm)
{
    return comm->topo->n_servers < 2 ? "one server"
           : comm->control == NULL   ? "algorithm is off"
                                     : NULL;
}

/* Counts differ, and nothing has moved. Where all ranks have learned of it so, and none
 * has given up: which counts? */
static fs_status_t explain(fs_comm_t *comm, const fs_call_t *call)
{
    fs_vote_t   vote   = {0};
    fs_status_t status = fs_comm_vote(comm, &vote);

    if (status != FS_OK) {
        return status;
    }
    snprintf(comm->error, sizeof(comm->error),
             "some ranks call MPI_Alltoall, others another collective");
    status = fs_comm_check_counts(comm, call);
    return status == FS_OK ? FS_ERR_MISMATCH : status;
}

static fs_status_t serve(fs_request_t *request)
{
    fs_comm_t       *comm   = request->comm;
    const fs_call_t *call   = request->call;
    fs_status_t      status = check(comm, call);
    const char      *why    = why_native(comm);

    if (status != FS_OK) {
        return status;
    }
    if (why != NULL) {
        request->outcome.choice = fs_comm_leave(why);
        return FS_OK;
    }
    fs_request_post(request, FS_STEP_BEGIN);
    status = fs_request_wait(request);
    return status == FS_ERR_MISMATCH && !comm->dead ? explain(comm, call)
                                                    : status;
}

/* Statistics, which a persistent call that ends may add to, change under the net's lock. */
static void lock(fs_comm_t *comm)
{
    if (comm->net != NULL) {
        fs_net_lock(comm->net);
    }
}

static void unlock(fs_comm_t *comm)
{
    if (comm->net != NULL) {
        pthread_mutex_unlock(&comm->net->lock);
    }
}

/* A blocking call may have to pack, which the helper must not. */
static void keep_helper_off(fs_comm_t *comm, bool off)
{
    fs_net_t *net = comm->net;

    if (net == NULL || net->helper == NULL) {
        return;
    }
    fs_net_lock(net);
    net->n_waiting = off ? net->n_waiting + 1 : net->n_waiting - 1;
    fs_helper_wake(net->helper);
    pthread_mutex_unlock(&net->lock);
}

/* All ranks have learned that the call goes so, or know by themselves. */
static fs_status_t run_eager(fs_request_t *request)
{
    fs_comm_t  *comm = request->comm;
    fs_status_t status;

    if (!fs_eager_open(comm)) {
        request->outcome.choice = fs_comm_leave(
            "the MPI cannot provide a communicator for our messages");
        request->outcome.question.reason = FS_TUNER_NONE;
        return FS_OK;
    }
    if (comm->trace != NULL) {
        fs_trace_enter(comm->trace, FS_TRACE_RUN);
    }
    status = fs_request_prepare(request);
    if (status == FS_OK) {
        status = fs_eager_run(comm, request->call);
    }
    if (status != FS_OK) {
        return fs_request_give_up(request, status);
    }
    request->ran = true;
    lock(comm);
    ++comm->stats.calls_by[FS_ALG_EAGER];
    comm->stats.inter_bytes += request->outcome.traffic.inter_bytes;
    unlock(comm);
    return FS_OK;
}

/* With bundles a summary ends here long before it ends elsewhere: who would begin at
 * once would seem to need that time. */
static fs_status_t begin_together(fs_request_t *request)
{
    fs_vote_t   vote   = {0};
    fs_status_t status = fs_comm_vote(request->comm, &vote);

    request->outcome.native_ns = fs_now_ns();
    return status;
}

/* From post to end; request->plans_only is set. */
static fs_status_t make(fs_request_t *request)
{
    fs_comm_t  *comm = request->comm;
    fs_status_t status;

    fs_request_wait_all(comm);
    if (comm->dead) {
        return FS_ERR_TRANSPORT;
    }
    keep_helper_off(comm, true);
    lock(comm);
    ++comm->n_calls;
    ++comm->stats.calls;
    unlock(comm);
    fs_wish_adopt(comm);
    request->outcome.entered_ns = fs_now_ns();
    if (comm->trace != NULL) {
        fs_trace_begin(comm->trace, comm->n_calls);
    }
    status = serve(request);
    if (status == FS_OK && request->repeats) {
        status = begin_together(request);
    }
    if (status == FS_OK && request->outcome.choice.alg == FS_ALG_EAGER) {
        status = run_eager(request);
    }
    comm->outcome = request->outcome;
    fs_wish_hear(comm, request->flags);
    if (status == FS_OK && request->ran &&
        comm->outcome.choice.alg == FS_ALG_EAGER) {
        status = fs_comm_native_done(comm);
    }
    if (status == FS_OK && request->ran && comm->outcome.reduced_bytes > 0) {
        status = fs_allreduce_note(comm);
    }
    if (comm->trace != NULL) {
        fs_trace_end(comm->trace, status);
    }
    if (comm->dead) {
        fs_comm_write_trace(comm); /* there may be no later chance */
    }
    keep_helper_off(comm, false);
    return status;
}

fs_status_t fs_comm_collective(fs_comm_t             *comm,
                               const fs_collective_t *collective,
                               const fs_call_t *call, bool *ran)
{
    fs_request_t request;
    fs_status_t  status;

    fs_request_init(&request, comm, collective, call);
    status = make(&request);
    *ran   = request.ran;
    fs_request_fini(&request);
    return status;
}

fs_status_t fs_comm_plan(fs_request_t *request, fs_comm_t *comm,
                         const fs_collective_t *collective,
                         const fs_call_t       *call)
{
    fs_request_init(request, comm, collective, call);
    request->plans_only = true;
    return make(request);
}

fs_status_t fs_comm_alltoallv(fs_comm_t *comm, const fs_call_t *call, bool *ran)
{
    return fs_comm_collective(comm, &fs_alltoallv, call, ran);
}

fs_status_t fs_comm_vote(fs_comm_t *comm, fs_vote_t *vote)
{
    fs_request_t request;
    fs_status_t  status;

    fs_request_init(&request, comm, NULL, NULL);
    request.report = vote;
    fs_request_post(&request, FS_STEP_REPORT);
    status = fs_request_wait(&request);
    if (status == FS_OK) {
        *vote = *fs_control_vote(comm->control);
    }
    return status;
}

/* How long did it take the slowest rank? */
static fs_status_t find_slowest(fs_comm_t *comm, uint64_t now_ns)
{
    fs_vote_t   vote   = {.max_ns = now_ns - comm->outcome.entered_ns};
    fs_status_t status = comm->control != NULL ? fs_comm_vote(comm, &vote)
                                               : FS_OK;

    comm->outcome.slowest_ns = vote.max_ns;
    return status;
}

fs_status_t fs_comm_native_done(fs_comm_t *comm)
{
    const fs_outcome_t *outcome = &comm->outcome;
    fs_candidate_t      served  = outcome->choice.alg == FS_ALG_EAGER
                                      ? FS_CANDIDATE_EAGER
                                      : FS_CANDIDATE_NATIVE;
    bool                counts  = outcome->timed ||
                  (outcome->question.reason != FS_TUNER_NONE &&
                   outcome->question.candidate == served);
    bool        closes = counts && fs_outcome_closes(outcome);
    uint64_t    now_ns = fs_now_ns();
    fs_status_t status = FS_OK;

    lock(comm);
    fs_comm_count(comm, outcome, now_ns);
    unlock(comm);
    if (outcome->reduced_bytes > 0) {
        status = fs_allreduce_note(comm);
    }
    if (status != FS_OK) {
        return status;
    }
    if (counts) {
        comm->last = fs_last_call_of(
            outcome, false,
            (fs_timed_run_t){.ns = now_ns - fs_u64_max(outcome->decided_ns,
                                                       outcome->native_ns)});
    }
    if (closes || comm->params.verbose > 0) {
        status = find_slowest(comm, now_ns);
    }
    if (closes) {
        fs_last_call_close(&comm->last, outcome, now_ns, fs_now_ns());
    }
    return status;
}
