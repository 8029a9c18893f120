/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: every rank walks its program by the executor's rules.
 *
 * An operation is ready when all it waits for is done. Copies, reductions and
 * messages inside a server are posted as soon as they are ready, and begin once
 * both ends are posted. Messages on the wire channel
 *
 *   receive  in plan order, a window of them posted at a time;
 *   send     in plan order, once the receive is posted (the grant), and to
 *            another peer only when the last message to the one before is all
 *            that is left.
 *
 * Which network a message takes depends on where its ends are, not on its
 * channel: the baselines send between servers without grants.
 *
 * If nothing is under way and operations are left, programs wait for each
 * other: that is reported, with the first of them.
 */
#include "sim/fs_sim.h"

#include "sim/fs_sim_net.h"
#include "sim/fs_sim_program.h"

#include <stdio.h>
#include <stdlib.h>

enum { LAST_ONE = 1 };

/* In the tag of what is under way, in place of an operation: a rank enters, or looks
 * for grants; and beside an operation: the rank sees its end. */
enum { ENTRY = UINT32_MAX, GRANTS = UINT32_MAX - 1 };
#define SEEN (UINT64_C(1) << 63)

struct fs_sim {
    const fs_topo_t  *topo;
    fs_sim_params_t   params;
    uint32_t          n_ranks;
    fs_sim_program_t *programs; /* [n_ranks] */
    double           *entry;    /* [n_ranks] seconds */
    bool              ran;
    uint64_t          n_done;
    fs_sim_net_t      net;
    fs_sim_result_t   result;
};

/* ---- life ---- */

fs_status_t fs_sim_create(const fs_topo_t *topo, const fs_sim_params_t *params,
                          fs_sim_t **sim_p)
{
    fs_sim_t   *sim;
    fs_status_t status;

    sim = calloc(1, sizeof(*sim));
    if (sim == NULL) {
        return FS_ERR_NOMEM;
    }
    sim->topo     = topo;
    sim->params   = *params;
    sim->n_ranks  = fs_topo_n_ranks(topo);
    sim->programs = calloc(sim->n_ranks, sizeof(*sim->programs));
    sim->entry    = calloc(sim->n_ranks, sizeof(*sim->entry));
    status        = fs_sim_net_init(&sim->net, topo, &sim->params);
    if (sim->programs == NULL || sim->entry == NULL || status != FS_OK) {
        fs_sim_destroy(sim);
        return status == FS_OK ? FS_ERR_NOMEM : status;
    }
    *sim_p = sim;
    return FS_OK;
}

void fs_sim_destroy(fs_sim_t *sim)
{
    if (sim == NULL) {
        return;
    }
    for (uint32_t r = 0; sim->programs != NULL && r < sim->n_ranks; ++r) {
        fs_sim_program_fini(&sim->programs[r]);
    }
    fs_sim_net_fini(&sim->net);
    free(sim->programs);
    free(sim->entry);
    free(sim);
}

static void count_op(const fs_sim_t *sim, uint32_t rank, const fs_op_t *op,
                     fs_sim_result_t *result)
{
    ++result->n_ops;
    if (op->kind != FS_OP_SEND && op->dst.buffer == FS_BUF_RECV) {
        result->total_bytes += op->len_bytes;
    }
    if (op->kind == FS_OP_COPY || op->kind == FS_OP_REDUCE) {
        result->copy_bytes += op->len_bytes;
    } else if (op->kind == FS_OP_SEND) {
        ++result->n_messages;
        if (fs_topo_server(sim->topo, rank) ==
            fs_topo_server(sim->topo, op->peer)) {
            result->up_bytes += op->len_bytes;
        } else {
            result->wire_bytes += op->len_bytes;
        }
    }
}

fs_status_t fs_sim_add(fs_sim_t *sim, uint32_t rank, const fs_plan_t *plan)
{
    fs_status_t status;

    if (sim->ran || rank >= sim->n_ranks || sim->programs[rank].ops != NULL) {
        return FS_ERR_INVAL;
    }
    status =
        fs_sim_program_init(&sim->programs[rank], sim->n_ranks, rank, plan);
    if (status != FS_OK) {
        fs_sim_program_fini(&sim->programs[rank]);
        sim->programs[rank] = (fs_sim_program_t){0};
        return status;
    }
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        count_op(sim, rank, &plan->ops[k], &sim->result);
    }
    if (plan->staging_bytes > sim->result.staging_bytes) {
        sim->result.staging_bytes = plan->staging_bytes;
    }
    return FS_OK;
}

fs_status_t fs_sim_enter(fs_sim_t *sim, uint32_t rank, double seconds)
{
    if (sim->ran || rank >= sim->n_ranks || !(seconds >= 0 && seconds < 1e9)) {
        return FS_ERR_INVAL;
    }
    sim->entry[rank] = seconds;
    return FS_OK;
}

/* ---- the executor's rules ---- */

/* Both ends are posted. The tag names the send, or what is local. */
static void begin(fs_sim_t *sim, uint32_t rank, uint32_t id)
{
    const fs_sim_op_t *op = &sim->programs[rank].ops[id];

    fs_sim_net_begin(&sim->net, rank, op->peer, op->bytes,
                     (uint64_t)rank << 32 | id);
}

/* Go on to the next wire operation of a kind, from k. */
static uint32_t find_wire(const fs_sim_program_t *program, fs_op_kind_t kind,
                          uint32_t k)
{
    while (k < program->n_ops && !fs_sim_is_wire(&program->ops[k], kind)) {
        ++k;
    }
    return k;
}

static bool may_send(const fs_sim_t *sim, const fs_sim_program_t *program)
{
    const fs_sim_op_t *op = &program->ops[program->next_send];

    return program->next_send < program->n_ops && op->ready &&
           sim->programs[op->peer].ops[op->partner].posted &&
           (program->n_sending <= LAST_ONE || program->receiver == op->peer);
}

static void push_sends(fs_sim_t *sim, uint32_t rank)
{
    fs_sim_program_t *program = &sim->programs[rank];

    while (may_send(sim, program)) {
        uint32_t     id = program->next_send;
        fs_sim_op_t *op = &program->ops[id];

        op->posted         = true;
        program->receiver  = op->peer;
        program->next_send = find_wire(program, FS_OP_SEND, id + 1);
        ++program->n_sending;
        begin(sim, rank, id);
    }
}

/* When the rank looks at the network, at the earliest now. */
static double next_look(const fs_sim_t *sim, uint32_t rank)
{
    double now = sim->net.now, every = sim->params.look;
    double look = every * rank / sim->n_ranks; /* its first one */

    if (look < now) {
        look += (double)(uint64_t)((now - look) / every) * every;
    }
    look += look < now ? every : 0;
    return look > now ? look : now;
}

static void grant(fs_sim_t *sim, uint32_t rank)
{
    if (sim->params.look > 0) {
        fs_sim_net_wait(&sim->net, next_look(sim, rank),
                        (uint64_t)rank << 32 | GRANTS);
    } else {
        push_sends(sim, rank);
    }
}

static void pull_recvs(fs_sim_t *sim, uint32_t rank)
{
    fs_sim_program_t *program = &sim->programs[rank];

    while (program->next_recv < program->n_ops &&
           program->ops[program->next_recv].ready &&
           program->n_receiving < program->window) {
        uint32_t     id = program->next_recv;
        fs_sim_op_t *op = &program->ops[id];

        op->posted         = true;
        program->next_recv = find_wire(program, FS_OP_RECV, id + 1);
        ++program->n_receiving;
        grant(sim, op->peer);
    }
}

static void make_ready(fs_sim_t *sim, uint32_t rank, uint32_t id)
{
    fs_sim_op_t *op = &sim->programs[rank].ops[id];

    op->ready = true;
    if (fs_sim_is_wire(op, FS_OP_SEND)) {
        push_sends(sim, rank);
    } else if (fs_sim_is_wire(op, FS_OP_RECV)) {
        pull_recvs(sim, rank);
    } else {
        op->posted = true;
        if (fs_sim_is_local(op)) {
            begin(sim, rank, id);
        } else if (sim->programs[op->peer].ops[op->partner].posted) {
            if (op->kind == FS_OP_SEND) {
                begin(sim, rank, id);
            } else {
                begin(sim, op->peer, op->partner);
            }
        }
    }
}

static void finish_op(fs_sim_t *sim, uint32_t rank, uint32_t id)
{
    fs_sim_program_t  *program = &sim->programs[rank];
    const fs_sim_op_t *op      = &program->ops[id];

    ++sim->n_done;
    if (fs_sim_is_wire(op, FS_OP_RECV)) {
        --program->n_receiving;
        pull_recvs(sim, rank);
    } else if (fs_sim_is_wire(op, FS_OP_SEND)) {
        --program->n_sending;
        push_sends(sim, rank);
    }
    for (uint32_t e = op[0].next; e < op[1].next; ++e) {
        uint32_t next = program->next[e];

        if (--program->ops[next].n_wait == 0) {
            make_ready(sim, rank, next);
        }
    }
}

/* What is local the rank has done itself. */
static void see_end(fs_sim_t *sim, uint32_t rank, uint32_t id)
{
    if (sim->params.look > 0 &&
        !fs_sim_is_local(&sim->programs[rank].ops[id])) {
        fs_sim_net_wait(&sim->net, next_look(sim, rank),
                        SEEN | (uint64_t)rank << 32 | id);
    } else {
        finish_op(sim, rank, id);
    }
}

/* ---- the run ---- */

static void enter(fs_sim_t *sim, uint32_t rank)
{
    for (uint32_t k = 0; k < sim->programs[rank].n_ops; ++k) {
        if (sim->programs[rank].ops[k].n_wait == 0) {
            make_ready(sim, rank, k);
        }
    }
}

static void start(fs_sim_t *sim)
{
    for (uint32_t r = 0; r < sim->n_ranks; ++r) {
        fs_sim_program_t *program = &sim->programs[r];

        program->next_recv = find_wire(program, FS_OP_RECV, 0);
        program->next_send = find_wire(program, FS_OP_SEND, 0);
    }
    for (uint32_t r = 0; r < sim->n_ranks; ++r) {
        if (sim->entry[r] > 0) {
            fs_sim_net_wait(&sim->net, sim->entry[r],
                            (uint64_t)r << 32 | ENTRY);
        } else {
            enter(sim, r);
        }
    }
}

static void note_span(fs_sim_t *sim, const fs_sim_flow_t *flow, uint8_t channel)
{
    fs_sim_span_t span = {
        .src  = flow->src,
        .dst  = flow->dst,
        .wire = fs_topo_server(sim->topo, flow->src) !=
                fs_topo_server(sim->topo, flow->dst),
        .channel = (fs_channel_t)channel,
        .bytes   = flow->bytes,
        .start   = flow->began,
        .end     = sim->net.now,
    };

    if (span.wire) {
        if (sim->result.last_wire == 0 || span.start < sim->result.first_wire) {
            sim->result.first_wire = span.start;
        }
        sim->result.last_wire = span.end;
    }
    if (sim->params.span != NULL) {
        sim->params.span(sim->params.ctx, &span);
    }
}

/* Of a message, or what is local. */
static void end(fs_sim_t *sim, const fs_sim_flow_t *flow)
{
    uint32_t    rank = (uint32_t)(flow->tag >> 32);
    uint32_t    id   = (uint32_t)flow->tag;
    fs_sim_op_t op   = sim->programs[rank].ops[id];

    note_span(sim, flow, op.channel);
    /* The receiver first: what it grants now, the sender may use now. */
    if (op.kind == FS_OP_SEND) {
        see_end(sim, op.peer, op.partner);
    }
    see_end(sim, rank, id);
}

/* False: it is neither that a rank enters nor that it looks. */
static bool take_turn(fs_sim_t *sim, uint64_t tag)
{
    uint32_t rank = (uint32_t)((tag & ~SEEN) >> 32), id = (uint32_t)tag;

    if ((tag & SEEN) != 0) {
        finish_op(sim, rank, id);
    } else if (id == ENTRY) {
        enter(sim, rank);
    } else if (id == GRANTS) {
        push_sends(sim, rank);
    } else {
        return false;
    }
    return true;
}

/* Follow up all that ended at this moment, in the order in which it began. */
static void follow_up(fs_sim_t *sim)
{
    for (uint32_t k = 0; k < sim->net.n_ended; ++k) {
        fs_sim_flow_t flow = sim->net.flows[sim->net.ended[k]];

        if (!take_turn(sim, flow.tag)) {
            end(sim, &flow);
        }
    }
    fs_sim_net_forget(&sim->net);
}

static fs_status_t stuck(const fs_sim_t *sim, char *why, size_t why_len)
{
    for (uint32_t r = 0; r < sim->n_ranks; ++r) {
        for (uint32_t k = 0; k < sim->programs[r].n_ops; ++k) {
            const fs_sim_op_t *op = &sim->programs[r].ops[k];

            if (!op->ready || !op->posted ||
                (!fs_sim_is_local(op) &&
                 !sim->programs[op->peer].ops[op->partner].posted)) {
                snprintf(why, why_len,
                         "rank %u, operation %u: it waits forever, as do "
                         "%llu operations of all ranks",
                         r, k,
                         (unsigned long long)(sim->result.n_ops - sim->n_done));
                return FS_ERR_MISMATCH;
            }
        }
    }
    return FS_ERR_MISMATCH;
}

/* ---- bounds ---- */

/* Bytes that each NIC sends, or receives, in nics[0..n_nics), and the same of
 * the servers behind them. */
static void add_loads(const fs_sim_t *sim, fs_op_kind_t kind, double *nics,
                      double *servers)
{
    for (uint32_t r = 0; r < sim->n_ranks; ++r) {
        const fs_sim_program_t *program = &sim->programs[r];
        uint32_t                server  = fs_topo_server(sim->topo, r);

        for (uint32_t k = 0; k < program->n_ops; ++k) {
            const fs_sim_op_t *op = &program->ops[k];

            if (op->kind == kind &&
                fs_topo_server(sim->topo, op->peer) != server) {
                nics[sim->net.wiring.nic[r]] += (double)op->bytes;
                servers[server] += (double)op->bytes;
            }
        }
    }
}

static fs_status_t find_bounds(fs_sim_t *sim, fs_op_kind_t kind)
{
    uint32_t n_servers = fs_topo_n_servers(sim->topo);
    double  *nics =
        calloc((size_t)sim->net.wiring.n_nics + n_servers, sizeof(*nics));
    double *servers = nics + sim->net.wiring.n_nics;

    if (nics == NULL) {
        return FS_ERR_NOMEM;
    }
    add_loads(sim, kind, nics, servers);
    for (uint32_t k = 0; k < sim->net.wiring.n_nics; ++k) {
        double seconds = nics[k] / sim->params.rate_out;

        if (seconds > sim->result.optimal_rank) {
            sim->result.optimal_rank = seconds;
        }
    }
    for (uint32_t s = 0; s < n_servers; ++s) {
        double seconds = servers[s] /
                         (fs_topo_n_lanes(sim->topo, s) * sim->params.rate_out);

        if (seconds > sim->result.optimal) {
            sim->result.optimal = seconds;
        }
    }
    free(nics);
    return FS_OK;
}

fs_status_t fs_sim_run(fs_sim_t *sim, fs_sim_result_t *result_p, char *why,
                       size_t why_len)
{
    fs_status_t status;

    if (sim->ran) {
        return FS_ERR_INVAL;
    }
    sim->ran = true;
    status   = fs_sim_match(sim->programs, sim->n_ranks, why, why_len);
    if (status == FS_OK) {
        status = find_bounds(sim, FS_OP_SEND);
    }
    if (status == FS_OK) {
        status = find_bounds(sim, FS_OP_RECV);
    }
    if (status != FS_OK) {
        return status;
    }
    start(sim);
    while (fs_sim_net_next(&sim->net)) {
        follow_up(sim);
    }
    if (sim->net.status != FS_OK) {
        return sim->net.status;
    }
    if (sim->n_done < sim->result.n_ops) {
        return stuck(sim, why, why_len);
    }
    sim->result.time        = sim->net.now;
    sim->result.max_senders = sim->net.max_senders;
    if (sim->result.time > 0) {
        sim->result.algo_bandwidth = (double)sim->result.total_bytes /
                                     sim->n_ranks / sim->result.time;
    }
    *result_p = sim->result;
    return FS_OK;
}
