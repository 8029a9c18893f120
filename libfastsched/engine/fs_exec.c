/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine that walks a program.
 *
 * An operation becomes ready when all it waits for is done. Ready copies,
 * reductions and messages inside the server run at once, in plan order. Wire
 * messages need the receiver's grant:
 *
 *   receiver  posts wire receives strictly in plan order, a window of them at
 *             a time, and grants their sender "all messages below n". A lane
 *             that lags holds its senders back: no incast, and no barrier.
 *   sender    sends strictly in plan order, up to the peer's grant, and turns
 *             to the next peer when the last message to the one before is all
 *             that is left, and all that it has sent has arrived but for the
 *             look-ahead, since what TCP calls sent may wait for long: a NIC that
 *             serves two receivers at once delays both of them for all others.
 *
 * Grants, and what they say of arrivals, are counted in fs_credit.h. In a turn they
 * leave before messages, and before copies that become ready; one stands for all
 * receives in a row from one peer. A NIC's queue is long: a grant behind a few
 * chunks comes too late to keep its sender busy. Copies on a device begin last in a
 * turn, as one batch.
 *
 *   IDLE    start()                -> RUN
 *   RUN     all done, all arrived  -> IDLE   (FS_OK)
 *   RUN     an operation fails     -> DRAIN  keep the first error, post no more
 *   DRAIN   nothing in flight      -> IDLE   (the error)
 *
 * done() callbacks of the transport only push the operation on a list; all
 * transitions happen in start() and progress(), in one place.
 */
#include "engine/fs_exec_state.h"

#include "base/fs_assert.h"

enum { LAST_ONE = 1 };

/* ---- callbacks of the network: they only take notes ---- */

static void op_ended(fs_xfer_t *xfer, fs_status_t status, uint64_t len_bytes)
{
    fs_exec_op_t *op   = (fs_exec_op_t *)xfer;
    fs_exec_t    *exec = op->exec;

    op->status                   = status;
    op->len_bytes                = len_bytes;
    exec->ended[exec->n_ended++] = (uint32_t)(op - exec->ops);
    ++exec->transport->net->n_ended;
    if (exec->trace != NULL) {
        fs_trace_ended(exec->trace, (uint32_t)(op - exec->ops));
    }
}

void fs_exec_granted(void *arg, uint32_t peer, uint64_t count)
{
    fs_exec_t *exec = arg;

    ++exec->transport->net->n_ended;
    if (count == FS_GIVEN_UP) {
        exec->lost_peer = exec->lost_peer == FS_NO_RANK ? peer
                                                        : exec->lost_peer;
        return;
    }
    fs_credits_granted(&exec->wires, peer, count);
    exec->got_beat |= !exec->wires.peer[peer].is_local_peer;
    if (exec->trace != NULL) {
        fs_trace_grant(exec->trace, false, peer,
                       fs_credits_granted_below(count));
    }
}

/* ---- posting ---- */

static void blame(fs_exec_t *exec, uint32_t id)
{
    exec->culprit = exec->state == FS_EXEC_RUN ? id : exec->culprit;
}

static void fail(fs_exec_t *exec, fs_status_t status)
{
    if (exec->state == FS_EXEC_RUN) {
        exec->state  = FS_EXEC_DRAIN;
        exec->status = status;
        for (uint32_t k = 0; k < exec->plan->n_ops; ++k) {
            if (exec->ops[k].in_flight &&
                exec->plan->ops[k].kind == FS_OP_RECV) {
                exec->transport->ops->cancel(exec->transport,
                                             &exec->ops[k].xfer);
            }
        }
    }
}

/* For the trace: which message of its channel, over all calls on the wire. */
static uint64_t number_of(const fs_exec_t *exec, const fs_op_t *op)
{
    const fs_credit_t *wire = &exec->wires.peer[op->peer];

    if (!fs_op_is_wire(op)) {
        return op->seq;
    }
    return (op->kind == FS_OP_SEND ? wire->sent_before
                                   : wire->received_before) +
           op->seq + 1;
}

/* Tell a sender what it may send and what has arrived. */
static void grant(fs_exec_t *exec, uint32_t peer, uint64_t count)
{
    fs_transport_t *t = exec->transport;
    fs_status_t     status;

    if (exec->trace != NULL) {
        fs_trace_grant(exec->trace, true, peer,
                       fs_credits_granted_below(count));
    }
    status = t->ops->grant(t, peer, count);
    if (status != FS_OK) {
        fail(exec, status);
    }
}

/* A copy or a reduction; status as in fs_staging.h. */
static void local_begun(fs_exec_t *exec, uint32_t id, fs_status_t status)
{
    if (status != FS_INPROGRESS) {
        op_ended(&exec->ops[id].xfer, status, exec->plan->ops[id].len_bytes);
    }
}

static void copy_ended(void *arg, uint32_t id, fs_status_t status)
{
    fs_exec_t *exec = arg;

    op_ended(&exec->ops[id].xfer, status, exec->plan->ops[id].len_bytes);
}

/* A block of the program may have to be packed first. */
static fs_status_t fetch(const fs_exec_t *exec, const fs_op_t *op)
{
    const fs_call_t *call = exec->call;

    return call->fetch != NULL && op->kind != FS_OP_RECV &&
                   op->src.buffer == FS_BUF_SEND
               ? call->fetch(call->owner, op->src.block)
               : FS_OK;
}

static bool post(fs_exec_t *exec, uint32_t id)
{
    const fs_op_t  *op      = &exec->plan->ops[id];
    fs_staging_t   *staging = &exec->staging;
    fs_transport_t *t       = exec->transport;
    fs_xfer_t      *xfer    = &exec->ops[id].xfer;
    uint32_t        key     = fs_key(op->channel, exec->call_seq, op->seq);
    fs_status_t     status  = fetch(exec, op);

    if (exec->trace != NULL) {
        fs_trace_post(exec->trace, id, number_of(exec, op));
    }
    exec->ops[id].posted = exec->ops[id].in_flight = true;
    ++exec->n_in_flight;
    switch ((fs_op_kind_t)op->kind) {
    case FS_OP_COPY:
        local_begun(exec, id,
                    status == FS_OK ? fs_staging_copy(staging, op, id)
                                    : status);
        status = FS_OK; /* it has ended */
        break;
    case FS_OP_REDUCE:
        local_begun(exec, id, fs_staging_reduce(staging, op, id));
        break;
    case FS_OP_SEND:
        xfer->mem = fs_staging_kind(staging, &op->src);
        status    = status == FS_OK
                        ? t->ops->send(t, op->peer, key,
                                       fs_staging_address(staging, &op->src),
                                       op->len_bytes, xfer)
                        : status;
        break;
    case FS_OP_RECV:
        xfer->mem = fs_staging_kind(staging, &op->dst);
        status    = t->ops->recv(t, op->peer, key,
                                 fs_staging_address(staging, &op->dst),
                                 op->len_bytes, xfer);
        break;
    }
    if (status != FS_OK) {
        exec->ops[id].in_flight = false;
        exec->ops[id].status    = status;
        --exec->n_in_flight;
        blame(exec, id);
        fail(exec, status);
        return false;
    }
    return true;
}

/* The first wire operation of that kind from id on, or n_ops. */
static uint32_t find_wire(const fs_exec_t *exec, fs_op_kind_t kind, uint32_t id)
{
    const fs_plan_t *plan = exec->plan;

    while (id < plan->n_ops &&
           (plan->ops[id].kind != kind || !fs_op_is_wire(&plan->ops[id]))) {
        ++id;
    }
    return id;
}

/* Of what has been sent, what has arrived is no longer on its way. */
static void shorten_way(fs_exec_t *exec)
{
    while (exec->first_on_way < exec->next_send) {
        const fs_op_t     *op   = &exec->plan->ops[exec->first_on_way];
        const fs_credit_t *wire = &exec->wires.peer[op->peer];

        if (wire->sent_before + op->seq >= wire->arrived) {
            return;
        }
        exec->way_bytes -= op->len_bytes;
        exec->first_on_way =
            find_wire(exec, FS_OP_SEND, exec->first_on_way + 1);
    }
}

/* May the next wire send go out? */
static bool may_send(const fs_exec_t *exec)
{
    const fs_op_t     *op;
    const fs_credit_t *wire;

    if (exec->state != FS_EXEC_RUN || exec->next_send == exec->plan->n_ops) {
        return false;
    }
    op   = &exec->plan->ops[exec->next_send];
    wire = &exec->wires.peer[op->peer];
    return exec->ops[exec->next_send].ready &&
           wire->sent_before + op->seq < wire->granted_to_us &&
           (exec->receiver == op->peer ||
            (exec->n_sending <= LAST_ONE &&
             exec->way_bytes <= exec->plan->look_ahead));
}

static void push_sends(fs_exec_t *exec)
{
    shorten_way(exec);
    while (may_send(exec)) {
        uint32_t id = exec->next_send;

        exec->next_send = find_wire(exec, FS_OP_SEND, id + 1);
        exec->receiver  = exec->plan->ops[id].peer;
        exec->way_bytes += exec->plan->ops[id].len_bytes;
        ++exec->n_sending;
        post(exec, id);
    }
}

/* May the next wire receive be posted? */
static bool may_recv(const fs_exec_t *exec)
{
    return exec->state == FS_EXEC_RUN && exec->next_recv < exec->plan->n_ops &&
           exec->ops[exec->next_recv].ready &&
           exec->n_receiving < exec->plan->window;
}

/* Post wire receives that are ready, in plan order, and grant them. */
static void pull_recvs(fs_exec_t *exec)
{
    while (may_recv(exec)) {
        uint32_t       id = exec->next_recv;
        const fs_op_t *op = &exec->plan->ops[id];

        exec->next_recv = find_wire(exec, FS_OP_RECV, id + 1);
        ++exec->n_receiving;
        if (!post(exec, id)) {
            return;
        }
        fs_credits_await(&exec->wires, op->peer, op->len_bytes);
        if (!may_recv(exec) ||
            exec->plan->ops[exec->next_recv].peer != op->peer) {
            grant(exec, op->peer,
                  fs_credits_grant(&exec->wires, op->peer, op->seq));
        }
    }
}

/* All but messages between servers: they have no place in the order of the
 * wires. */
static void post_local(fs_exec_t *exec, uint32_t id)
{
    const fs_exec_op_t *op = &exec->ops[id];

    if (exec->state == FS_EXEC_RUN && op->ready && !op->posted &&
        !fs_op_is_wire(&exec->plan->ops[id])) {
        post(exec, id);
    }
}

/* ---- start ---- */

/* Has the receiver to say that it has arrived? */
static bool is_counted(const fs_exec_t *exec, const fs_op_t *op)
{
    return fs_op_is_message(op) && (fs_op_is_wire(op) || exec->confirm_local);
}

/* The peer has a part in the call. */
static void meet(fs_exec_t *exec, const fs_op_t *op)
{
    if (fs_op_is_message(op) && !fs_op_is_wire(op)) {
        exec->wires.peer[op->peer].is_local_peer = true;
    }
    if (!is_counted(exec, op)) {
        return;
    }
    if (op->kind == FS_OP_SEND) {
        fs_credits_add_send(&exec->wires, op->peer);
    } else {
        fs_credits_add_recv(&exec->wires, op->peer);
    }
}

void fs_exec_start(fs_exec_t *exec, const fs_plan_t *plan,
                   const fs_call_t *call, uint32_t call_seq, bool confirm_local)
{
    fs_assert(exec->state == FS_EXEC_IDLE);
    if (exec->trace != NULL) {
        fs_trace_run(exec->trace, plan, call);
    }
    fs_staging_start(&exec->staging, call);
    exec->state         = FS_EXEC_RUN;
    exec->status        = FS_OK;
    exec->plan          = plan;
    exec->call          = call;
    exec->call_seq      = call_seq;
    exec->confirm_local = confirm_local;
    exec->n_ended = exec->n_reaped = 0;
    exec->n_done = exec->n_in_flight = 0;
    exec->n_sending = exec->n_receiving = 0;
    exec->n_beaten = exec->way_bytes = 0;
    exec->culprit                    = FS_NO_OP;
    fs_credits_begin(&exec->wires, plan->look_ahead);
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        exec->ops[k] = (fs_exec_op_t){.xfer.done = op_ended,
                                      .exec      = exec,
                                      .n_wait    = plan->ops[k].n_after,
                                      .ready     = plan->ops[k].n_after == 0};
        meet(exec, &plan->ops[k]);
    }
    exec->next_recv = find_wire(exec, FS_OP_RECV, 0);
    exec->next_send = exec->first_on_way = find_wire(exec, FS_OP_SEND, 0);
    pull_recvs(exec);
    push_sends(exec);
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        post_local(exec, k);
    }
}

/* ---- progress ---- */

/* Of what has ended: tell its sender if that is news for it. */
static void confirm_arrival(fs_exec_t *exec, uint32_t id)
{
    const fs_op_t *op = &exec->plan->ops[id];

    if (exec->state == FS_EXEC_RUN && op->kind == FS_OP_RECV &&
        is_counted(exec, op) && fs_credits_has_news(&exec->wires, op->peer)) {
        grant(exec, op->peer, fs_credits_grant_again(&exec->wires, op->peer));
    }
}

static void finish_op(fs_exec_t *exec, uint32_t id)
{
    const fs_op_t *op    = &exec->plan->ops[id];
    fs_exec_op_t  *state = &exec->ops[id];

    state->in_flight = false;
    --exec->n_in_flight;
    ++exec->n_done;
    if (state->status == FS_OK && state->len_bytes != op->len_bytes) {
        state->status = FS_ERR_TRUNCATE;
    }
    if (state->status != FS_OK) {
        blame(exec, id);
        fail(exec, state->status);
    }
    if (exec->state != FS_EXEC_RUN) {
        return;
    }
    if (fs_op_is_wire(op)) {
        --*(op->kind == FS_OP_RECV ? &exec->n_receiving : &exec->n_sending);
    }
    if (op->kind == FS_OP_RECV && is_counted(exec, op)) {
        fs_credits_arrived(&exec->wires, op->peer,
                           fs_op_is_wire(op) ? op->len_bytes : 0);
    }
    for (uint32_t k = 0; k < op->n_next; ++k) {
        uint32_t next = exec->plan->next[op->next + k];

        if (--exec->ops[next].n_wait == 0) {
            if (exec->trace != NULL) {
                fs_trace_ready(exec->trace, next, id);
            }
            exec->ops[next].ready = true;
        }
    }
}

/* Bytes for the program, which may have to be unpacked. */
static void report_landing(fs_exec_t *exec, uint32_t id)
{
    const fs_op_t   *op   = &exec->plan->ops[id];
    const fs_call_t *call = exec->call;
    fs_status_t      status;

    if (exec->state == FS_EXEC_RUN && call->landed != NULL &&
        (op->kind == FS_OP_RECV || op->kind == FS_OP_COPY) &&
        op->dst.buffer == FS_BUF_RECV) {
        status = call->landed(call->owner, op->dst.block, op->len_bytes);
        if (status != FS_OK) {
            blame(exec, id);
            fail(exec, status);
        }
    }
}

static void post_after(fs_exec_t *exec, uint32_t id)
{
    const fs_op_t *op = &exec->plan->ops[id];

    for (uint32_t k = 0; k < op->n_next; ++k) {
        post_local(exec, exec->plan->next[op->next + k]);
    }
}

fs_status_t fs_exec_progress(fs_exec_t *exec)
{
    uint32_t n;

    if (exec->lost_peer != FS_NO_RANK) {
        fail(exec, FS_ERR_PEER);
    }
    fs_staging_end_copies(&exec->staging, copy_ended, exec);
    /* What ends meanwhile, a chain of copies say, waits for the next turn:
     * the network comes first. */
    n = exec->n_ended;
    for (uint32_t k = exec->n_reaped; k < n; ++k) {
        finish_op(exec, exec->ended[k]);
    }
    pull_recvs(exec);
    for (uint32_t k = exec->n_reaped; k < n; ++k) {
        confirm_arrival(exec, exec->ended[k]);
    }
    push_sends(exec);
    for (; exec->n_reaped < n; ++exec->n_reaped) {
        post_after(exec, exec->ended[exec->n_reaped]);
        report_landing(exec, exec->ended[exec->n_reaped]);
    }
    fs_staging_begin_copies(&exec->staging, copy_ended, exec);
    if (exec->state == FS_EXEC_RUN) {
        if (exec->n_done < exec->plan->n_ops || exec->wires.n_unconfirmed > 0 ||
            exec->transport->n_grants_out > 0) {
            return FS_INPROGRESS;
        }
        fs_credits_end(&exec->wires);
    } else if (exec->n_in_flight > 0) {
        return FS_INPROGRESS;
    }
    exec->state = FS_EXEC_IDLE;
    return exec->status;
}

fs_status_t fs_exec_error(const fs_exec_t *exec)
{
    return exec->status;
}

void fs_exec_abort(fs_exec_t *exec, fs_status_t status)
{
    fail(exec, status);
}

/* A peer that we cannot reach is notified by others. */
void fs_exec_give_up(fs_exec_t *exec)
{
    fs_transport_t *t = exec->transport;

    for (uint32_t r = 0; r < exec->wires.n_ranks; ++r) {
        (void)t->ops->grant(t, r, FS_GIVEN_UP);
    }
}

uint32_t fs_exec_lost_peer(const fs_exec_t *exec)
{
    return exec->lost_peer;
}

/* A beat is the last grant again. */
void fs_exec_beat(fs_exec_t *exec)
{
    fs_transport_t *t       = exec->transport;
    bool            moved   = exec->n_done != exec->n_beaten;
    bool            pass_on = moved || exec->got_beat;
    fs_status_t     status  = FS_OK;

    if (exec->state != FS_EXEC_RUN) {
        return;
    }
    exec->n_beaten = exec->n_done;
    exec->got_beat = false;
    for (uint32_t r = 0; r < exec->wires.n_ranks && status == FS_OK; ++r) {
        const fs_credit_t *wire    = &exec->wires.peer[r];
        bool               on_wire = wire->n_sends + wire->n_recvs > 0;

        if ((wire->is_local_peer && pass_on) || (on_wire && moved)) {
            status = t->ops->grant(t, r, wire->last_grant);
        }
    }
    if (status != FS_OK) {
        fail(exec, status);
    }
}

uint32_t fs_exec_peak_senders(const fs_exec_t *exec)
{
    return exec->wires.peak_senders;
}

uint64_t fs_exec_copy_ns(const fs_exec_t *exec)
{
    return exec->staging.copy_ns;
}

/* ---- where the program stands ---- */

const fs_plan_t *fs_exec_plan(const fs_exec_t *exec)
{
    return exec->state != FS_EXEC_IDLE || exec->status != FS_OK ? exec->plan
                                                                : NULL;
}

bool fs_exec_is_done(const fs_exec_t *exec, uint32_t id)
{
    const fs_exec_op_t *state = &exec->ops[id];

    return state->posted && !state->in_flight && state->status == FS_OK;
}

bool fs_exec_is_ready(const fs_exec_t *exec, uint32_t id)
{
    return exec->ops[id].ready;
}

bool fs_exec_is_confirmed(const fs_exec_t *exec, uint32_t peer)
{
    return fs_credits_is_confirmed(&exec->wires, peer);
}

uint32_t fs_exec_culprit(const fs_exec_t *exec)
{
    return exec->culprit;
}
