/* SPDX-License-Identifier: BSD-3-Clause */
/* Stall detection and diagnostics. */
#include "coll/fs_request_watch.h"

#include "base/fs_clock.h"
#include "base/fs_strbuf.h"
#include "coll/fs_request.h"
#include "sched/plan/fs_plan.h"
#include "sched/model/fs_topo.h"

/* Times that a wait for others' times lasts longer than the watchdog's. */
enum { PATIENT = 9 };

static uint64_t limit_ns(const fs_request_t *request)
{
    return request->comm->params.watchdog * UINT64_C(1000000000);
}

/* Does it wait the longer time already? */
static bool is_patient(const fs_request_t *request)
{
    return request->watchdog.limit_ns > limit_ns(request);
}

/* Seconds until it was an error. */
static uint32_t waited_s(const fs_request_t *request)
{
    return request->comm->params.watchdog *
           (is_patient(request) ? 1 + PATIENT : 1);
}

/* ---- text ---- */

static void say_rank(fs_strbuf_t *line, const fs_comm_t *comm, uint32_t rank)
{
    fs_strbuf_add(line, "rank %u on server %u", rank,
                  fs_topo_server(comm->topo, rank));
}

/* ---- what a rank waits for ---- */

/* The oldest unfinished wire message of one kind. Numbers count from 1; a stage
 * is a run of consecutive messages with one peer. */
typedef struct lag {
    const fs_op_t *op;    /* NULL: there is none */
    bool           ready; /* waits for the peer, not for our server */
    uint32_t       stage;
    uint32_t       n_stages;
    uint32_t       n_messages; /* with its peer, in this call */
    uint64_t       done_bytes;
    uint64_t       all_bytes;
} lag_t;

static lag_t find_lag(const fs_exec_t *exec, fs_op_kind_t kind)
{
    const fs_plan_t *plan = fs_exec_plan(exec);
    const fs_op_t   *last = NULL;
    lag_t            lag  = {0};

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        const fs_op_t *op = &plan->ops[k];

        if (op->kind == kind && fs_op_is_wire(op)) {
            lag.n_stages += last == NULL || op->peer != last->peer;
            last = op;
            if (lag.op == NULL && !fs_exec_is_done(exec, k)) {
                lag.op    = op;
                lag.ready = fs_exec_is_ready(exec, k);
                lag.stage = lag.n_stages;
            }
        }
    }
    for (uint32_t k = 0; k < plan->n_ops && lag.op != NULL; ++k) {
        const fs_op_t *op = &plan->ops[k];

        if (op->kind == kind && fs_op_is_wire(op) && op->peer == lag.op->peer) {
            ++lag.n_messages;
            lag.all_bytes += op->len_bytes;
            lag.done_bytes += fs_exec_is_done(exec, k) ? op->len_bytes : 0;
        }
    }
    return lag;
}

static void say_lag(fs_strbuf_t *line, const fs_comm_t *comm, const lag_t *lag)
{
    fs_strbuf_add(line, "; waits for ");
    say_rank(line, comm, lag->op->peer);
    fs_strbuf_add(
        line, " to %s message %u of %u, stage %u of %u, %llu of %llu bytes %s",
        lag->op->kind == FS_OP_SEND ? "take" : "send", lag->op->seq + 1,
        lag->n_messages, lag->stage, lag->n_stages,
        (unsigned long long)lag->done_bytes, (unsigned long long)lag->all_bytes,
        lag->op->kind == FS_OP_SEND ? "sent" : "here");
}

static bool say_unconfirmed(fs_strbuf_t *line, const fs_comm_t *comm)
{
    for (uint32_t r = 0; r < fs_topo_n_ranks(comm->topo); ++r) {
        if (!fs_exec_is_confirmed(comm->exec, r)) {
            fs_strbuf_add(line, "; waits for ");
            say_rank(line, comm, r);
            fs_strbuf_add(line, " to confirm that all data has arrived");
            return true;
        }
    }
    return false;
}

/* The oldest message inside the server. */
static void say_local(fs_strbuf_t *line, const fs_comm_t *comm)
{
    const fs_plan_t *plan = fs_exec_plan(comm->exec);

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        const fs_op_t *op = &plan->ops[k];

        if (fs_op_is_message(op) && !fs_op_is_wire(op) &&
            fs_exec_is_ready(comm->exec, k) &&
            !fs_exec_is_done(comm->exec, k)) {
            fs_strbuf_add(line, "; waits for ");
            say_rank(line, comm, op->peer);
            fs_strbuf_add(line, " (same server)");
            return;
        }
    }
}

static void say_program(fs_strbuf_t *line, const fs_comm_t *comm)
{
    lag_t recv = find_lag(comm->exec, FS_OP_RECV);
    lag_t send = find_lag(comm->exec, FS_OP_SEND);

    if (recv.ready) {
        say_lag(line, comm, &recv);
    }
    if (send.ready) {
        say_lag(line, comm, &send);
    }
    if ((recv.op != NULL && !recv.ready) || (send.op != NULL && !send.ready)) {
        say_local(line, comm);
    }
    if (recv.op == NULL && send.op == NULL && !say_unconfirmed(line, comm)) {
        say_local(line, comm);
    }
}

static void say_missing_ranks(fs_strbuf_t *line, const fs_request_t *request)
{
    const fs_comm_t *comm  = request->comm;
    bool             times = request->step == FS_STEP_SLOWEST;
    bool             first = true;

    for (uint32_t r = 0; r < fs_topo_n_ranks(comm->topo); ++r) {
        if (fs_control_awaits(comm->control, r)) {
            fs_strbuf_add(line, !first  ? ", "
                                : times ? "; no time yet from "
                                        : "; no summary yet from ");
            say_rank(line, comm, r);
            first = false;
        }
    }
}

void fs_request_explain(const fs_request_t *request, fs_status_t status,
                        const char *where, char *text, size_t text_len)
{
    const fs_comm_t *comm = request->comm;
    const fs_plan_t *plan = fs_exec_plan(comm->exec);
    fs_strbuf_t      line = {text, text_len, 0};
    uint32_t         culprit;

    say_rank(&line, comm, comm->rank);
    fs_strbuf_add(&line, ", %s: %s", where, fs_strerror(status));
    if (status == FS_ERR_STALLED) {
        fs_strbuf_add(&line, " (%u s)", waited_s(request));
    } else if (status == FS_ERR_PEER) {
        fs_strbuf_add(&line, ": ");
        say_rank(&line, comm, fs_exec_lost_peer(comm->exec));
    } else if (status == FS_ERR_MISMATCH) {
        fs_strbuf_add(&line, ": some have other counts or call another "
                             "collective (parameter check names them)");
    }
    if (plan == NULL) {
        say_missing_ranks(&line, request);
        return;
    }
    culprit = fs_exec_culprit(comm->exec);
    if (culprit != FS_NO_OP && fs_op_is_message(&plan->ops[culprit])) {
        fs_strbuf_add(&line, ", with ");
        say_rank(&line, comm, plan->ops[culprit].peer);
    }
    say_program(&line, comm);
}

/* ---- the watch ---- */

void fs_request_watch_start(fs_request_t *request)
{
    fs_watchdog_start(&request->watchdog, limit_ns(request), fs_now_ns());
}

/* Not an error: ranks may enter as late as they like. */
static void warn(const fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;
    char             text[512];
    fs_strbuf_t      line = {text, sizeof(text), 0};

    if (comm->native.warn == NULL) {
        return;
    }
    say_rank(&line, comm, comm->rank);
    fs_strbuf_add(&line,
                  " has been waiting in call %llu for %u s (not an error)",
                  (unsigned long long)comm->n_calls, comm->params.watchdog);
    say_missing_ranks(&line, request);
    comm->native.warn(comm->native.process, text);
}

/* Who is through waits longer, for the times of others: those that still exchange say
 * themselves that they hang, unless it is their process that does. */
static bool waits_on(fs_request_t *request)
{
    if (request->step != FS_STEP_SLOWEST || is_patient(request)) {
        return false;
    }
    fs_watchdog_start(&request->watchdog, PATIENT * limit_ns(request),
                      fs_now_ns());
    return true;
}

/* Ranks enter as late as they like, and in a nonblocking call they compute. */
static fs_status_t stall(fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    bool all_are_here = request->outcome.summarised ||
                        request->outcome.gathered_ns > 0;

    if (!all_are_here || fs_request_is_nonblocking(request) ||
        waits_on(request)) {
        warn(request);
        return FS_INPROGRESS;
    }
    if (fs_exec_plan(comm->exec) == NULL) {
        return FS_ERR_STALLED;
    }
    fs_exec_abort(comm->exec, FS_ERR_STALLED);
    return FS_INPROGRESS;
}

fs_status_t fs_request_watch(fs_request_t *request)
{
    const fs_comm_t *comm = request->comm;

    switch (
        fs_watchdog_check(&request->watchdog, comm->net->events, fs_now_ns())) {
    case FS_WATCHDOG_FINE:
        break;
    case FS_WATCHDOG_BEAT:
        fs_exec_beat(comm->exec);
        break;
    case FS_WATCHDOG_STALL:
        return stall(request);
    }
    return FS_INPROGRESS;
}
