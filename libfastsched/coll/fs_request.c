/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of a communicator's requests, and who waits for one. */
#include "coll/fs_request.h"

#include "base/fs_clock.h"
#include "coll/fs_frame_request.h"
#include "coll/fs_request_steps.h"
#include "net/fs_helper.h"

#include <sched.h>

static void end_nonblocking(fs_request_t *request)
{
    fs_comm_t *comm = request->comm;

    if (comm->trace != NULL) {
        fs_trace_end(comm->trace, request->status);
    }
    request->done(request);
}

/* The first of the queue. */
static void end_first(fs_comm_t *comm)
{
    fs_request_t *first = comm->first;

    if (first->status != FS_OK && !comm->dead && fs_frame_dissolve(comm)) {
        return;
    }
    comm->first = first->next;
    if (fs_request_is_nonblocking(first)) {
        end_nonblocking(first);
    }
}

static void turn(fs_task_t *task, bool check_clock)
{
    fs_comm_t *comm = (fs_comm_t *)task;

    while (comm->first != NULL) {
        fs_request_move(comm->first, check_clock);
        if (comm->first->step == FS_STEP_DONE) {
            end_first(comm);
        } else if (comm->first->step == FS_STEP_BEGIN) {
            fs_frame_form(comm);
        } else {
            return;
        }
    }
    fs_net_remove(comm->net, task);
}

void fs_request_init(fs_request_t *request, fs_comm_t *comm,
                     const fs_collective_t *collective, const fs_call_t *call)
{
    *request = (fs_request_t){.comm               = comm,
                              .collective         = collective,
                              .call               = call,
                              .n_calls            = 1,
                              .outcome.entered_ns = fs_now_ns()};
}

void fs_request_fini(fs_request_t *request)
{
    fs_cached_plan_release(request->plan);
    request->plan = NULL;
}

/* The end of the queue. */
static fs_request_t **find_end(fs_comm_t *comm)
{
    fs_request_t **at = &comm->first;

    while (*at != NULL) {
        at = &(*at)->next;
    }
    return at;
}

void fs_request_post(fs_request_t *request, fs_step_t step)
{
    fs_comm_t *comm           = request->comm;
    bool       is_nonblocking = fs_request_is_nonblocking(request);

    fs_net_lock(comm->net);
    if (step == FS_STEP_BEGIN) {
        request->number = ++comm->n_requests;
    }
    if (is_nonblocking) {
        request->call_number = ++comm->n_calls;
        ++comm->stats.calls;
    }
    request->step = step;
    request->next = NULL;
    if (comm->first == NULL) {
        comm->task.turn = turn;
        fs_net_add(comm->net, &comm->task);
    }
    *find_end(comm) = request;
    if (!fs_frame_gathers(request)) {
        turn(&comm->task, false); /* which may end it */
    }
    if (is_nonblocking) {
        fs_helper_wake(comm->net->helper);
    }
    pthread_mutex_unlock(&comm->net->lock);
}

/* For this long a rank looks at shared memory alone, if nothing else can end its
 * wait, and leaves the core to the ranks that it waits for: a look at two
 * networks takes longer than what they have to do. */
enum { LOOKS_INSIDE = 8 };

static bool waits_inside(const fs_request_t *first)
{
    return first != NULL && !first->is_early &&
           (first->step == FS_STEP_SUMMARY || first->step == FS_STEP_AGREE ||
            first->step == FS_STEP_SLOWEST) &&
           fs_control_waits_inside(first->comm->control);
}

/* What a rank that waits does between two turns. */
static void give_way(fs_comm_t *comm, bool inside)
{
    pthread_mutex_unlock(&comm->net->lock);
    if (inside) {
        sched_yield();
    } else {
        comm->native.progress(comm->native.ctx);
    }
    fs_net_lock(comm->net);
}

static bool is_over(const fs_comm_t *comm, const fs_request_t *request)
{
    return request != NULL ? request->step == FS_STEP_DONE
                           : comm->first == NULL;
}

/* Progress our network, and the MPI's periodically and whenever ours is idle, until
 * the request is DONE; NULL: all of them. */
static void wait_for(fs_comm_t *comm, const fs_request_t *request)
{
    fs_net_t *net = comm->net;

    fs_net_lock(net);
    ++net->n_waiting;
    for (unsigned turns = 1; !is_over(comm, request); ++turns) {
        bool inside = turns % LOOKS_INSIDE != 0 && waits_inside(comm->first);
        unsigned events = 0;

        if (inside) {
            turn(&comm->task, false);
        } else {
            events = fs_net_turn(net);
        }
        if (!is_over(comm, request) &&
            (inside || fs_net_is_quiet(events, turns))) {
            give_way(comm, inside);
        }
    }
    --net->n_waiting;
    fs_helper_wake(net->helper);
    pthread_mutex_unlock(&net->lock);
}

fs_status_t fs_request_wait(fs_request_t *request)
{
    wait_for(request->comm, request);
    return request->status;
}

void fs_request_wait_all(fs_comm_t *comm)
{
    if (comm->net != NULL) {
        comm->is_awaited = true;
        wait_for(comm, NULL);
        comm->is_awaited = false;
    }
}
