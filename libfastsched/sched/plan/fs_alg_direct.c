/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plain rotation, our baseline: rank r sends to r + 1, then to r + 2, and
 * so on, and receives from r - 1, r - 2, ... Each rank sends and receives for
 * itself, lanes or not; nothing is balanced and nothing forwarded. Ranks of
 * one server follow the same rotation among themselves, at the same time.
 *
 * Messages of one step have one distance, so (distance, chunk) is the order in
 * which every rank sends and receives, as fs_emit.h asks for. A rank that lags
 * holds up its partners of the step, and they theirs: that is what the other
 * algorithms are measured against.
 */
#include "base/fs_arena.h"
#include "base/fs_digest.h"
#include "sched/plan/fs_emit.h"
#include "sched/model/fs_topo.h"

/* Bytes of a partner, if it is on another server. */
static uint64_t wire_bytes(const fs_plan_request_t *request,
                           const uint64_t *row, uint32_t partner)
{
    const fs_topo_t *topo = request->topo;

    return topo->server[partner] == topo->server[request->rank] ? 0
                                                                : row[partner];
}

/* A message at a time, out and in, so that they use the rings in step. */
static void emit_step(fs_emit_t *em, uint32_t to, uint64_t sent, uint32_t from,
                      uint64_t received)
{
    for (uint64_t at = 0;
         fs_emit_may_go_on(em) && at < fs_u64_max(sent, received);
         at += em->chunk) {
        if (at < sent) {
            fs_emit_send_user(em, &em->out_ring, FS_CH_WIRE, to,
                              fs_in_send(to, at),
                              fs_u64_min(em->chunk, sent - at));
        }
        if (at < received) {
            fs_recv_order_add(
                &em->wire_recvs,
                fs_emit_recv_user(em, &em->in_ring, FS_CH_WIRE, from,
                                  fs_in_recv(from, at),
                                  fs_u64_min(em->chunk, received - at)));
        }
    }
}

static void emit_wire(fs_emit_t *em)
{
    const fs_plan_request_t *request = em->request;
    uint32_t                 n = request->topo->n_ranks, r = request->rank;
    const uint64_t *send = request->local->send + (size_t)em->local * n;
    const uint64_t *recv = request->local->recv + (size_t)em->local * n;

    for (uint32_t d = 1; d < n; ++d) {
        uint32_t to   = d < n - r ? r + d : r + d - n;
        uint32_t from = d <= r ? r - d : r + n - d;

        emit_step(em, to, wire_bytes(request, send, to), from,
                  wire_bytes(request, recv, from));
    }
}

static bool talks(const fs_topo_t *topo, const fs_plan_params_t *params,
                  uint32_t src, uint32_t dst)
{
    (void)topo;
    (void)params;
    return src != dst;
}

static fs_status_t build(const fs_plan_request_t *request,
                         fs_program_t *program, fs_plan_t *plan)
{
    fs_arena_t  arena = {0};
    fs_emit_t   em;
    fs_status_t status = fs_emit_init(&em, request, program, plan, &arena);

    if (status == FS_OK) {
        emit_wire(&em);
        fs_emit_intra(&em, FS_NO_OP);
        plan->digest = fs_plan_digest(request, FS_ALG_DIRECT);
    }
    fs_arena_fini(&arena);
    return status;
}

const fs_algorithm_t fs_alg_direct = {.build = build, .talks = talks};
