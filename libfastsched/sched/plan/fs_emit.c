/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chunk that lies in one block of the proxy's own buffer leaves from there,
 * and one that is for the proxy itself lands in place; any other chunk passes
 * through a staging slot: gathered before it is sent, redistributed after it
 * came. A slot is used again when the operations that read it are done, which
 * is an edge of the program like any other.
 */
#include "sched/plan/fs_emit.h"

#include "sched/model/fs_topo.h"

enum {
    LOCAL_WINDOW = 8 /* messages in flight between two ranks of a server */
};

/* ---- set-up ---- */

static void init_rings(fs_emit_t *em)
{
    uint32_t n_rings = 2 + (em->send_packed ? 0 : 2) +
                       (em->recv_packed ? 0 : 2);
    uint64_t slots = em->request->params->staging_limit / em->chunk / n_rings;
    uint32_t n     = (uint32_t)fs_u64_min(slots, FS_RING_MAX_SLOTS);
    uint64_t base  = 0;

    fs_ring_init(&em->out_ring, &base, n, em->chunk);
    fs_ring_init(&em->in_ring, &base, n, em->chunk);
    if (!em->send_packed) {
        fs_ring_init(&em->gather_ring, &base, n, em->chunk);
        fs_ring_init(&em->intra_out_ring, &base, n, em->chunk);
    }
    if (!em->recv_packed) {
        fs_ring_init(&em->redist_ring, &base, n, em->chunk);
        fs_ring_init(&em->intra_in_ring, &base, n, em->chunk);
    }
}

fs_status_t fs_emit_init(fs_emit_t *em, const fs_plan_request_t *request,
                         fs_program_t *program, fs_plan_t *plan,
                         fs_arena_t *arena)
{
    const fs_topo_t *topo   = request->topo;
    uint32_t         server = fs_topo_server(topo, request->rank);

    em->request        = request;
    em->program        = program;
    em->plan           = plan;
    em->arena          = arena;
    em->local_ranks    = fs_topo_ranks(topo, server);
    em->local          = fs_topo_local(topo, request->rank);
    em->n_local        = fs_topo_n_local(topo, server);
    em->chunk          = request->params->chunk;
    em->send_packed    = request->local->send_packed;
    em->recv_packed    = request->local->recv_packed;
    em->last_wire_send = FS_NO_OP;
    em->intra_sends.n  = 0;
    em->gathers =
        fs_arena_calloc(arena, 3 * (size_t)em->n_local, sizeof(*em->gathers));
    if (em->gathers == NULL) {
        return FS_ERR_NOMEM;
    }
    em->redists     = em->gathers + em->n_local;
    em->intra_recvs = em->redists + em->n_local;
    init_rings(em);
    plan->window     = request->params->window;
    plan->look_ahead = fs_look_ahead(em->chunk, plan->window);
    em->wire_recvs   = (fs_recv_order_t){
          .program = program, .arena = arena, .look_ahead = plan->look_ahead};
    return FS_OK;
}

/* ---- slots ---- */

void fs_emit_leave_slot(fs_emit_t *em, fs_ring_t *ring, uint32_t first_reader,
                        uint32_t n_readers)
{
    uint64_t end = fs_ring_leave(ring, first_reader, n_readers);

    em->plan->staging_bytes = fs_u64_max(em->plan->staging_bytes, end);
}

/* ---- user buffers ---- */

uint32_t fs_emit_send_user(fs_emit_t *em, fs_ring_t *ring, fs_channel_t channel,
                           uint32_t peer, fs_place_t src, uint64_t len_bytes)
{
    uint32_t   copy, send;
    fs_place_t slot;

    if (em->send_packed) {
        return fs_program_send(em->program, channel, peer, src, len_bytes);
    }
    slot = fs_in_staging(fs_ring_offset(ring));
    copy = fs_program_copy(em->program, src, slot, len_bytes);
    send = fs_program_send(em->program, channel, peer, slot, len_bytes);
    fs_ring_wait(ring, em->program, copy);
    fs_program_after(em->program, send, copy);
    fs_emit_leave_slot(em, ring, send, 1);
    return send;
}

uint32_t fs_emit_recv_user(fs_emit_t *em, fs_ring_t *ring, fs_channel_t channel,
                           uint32_t peer, fs_place_t dst, uint64_t len_bytes)
{
    uint32_t   copy, recv;
    fs_place_t slot;

    if (em->recv_packed) {
        return fs_program_recv(em->program, channel, peer, dst, len_bytes);
    }
    slot = fs_in_staging(fs_ring_offset(ring));
    recv = fs_program_recv(em->program, channel, peer, slot, len_bytes);
    copy = fs_program_copy(em->program, slot, dst, len_bytes);
    fs_ring_wait(ring, em->program, recv);
    fs_program_after(em->program, copy, recv);
    fs_emit_leave_slot(em, ring, copy, 1);
    return recv;
}

/* ---- a chunk, seen from the sending server ---- */

/* One part of a chunk that this proxy gathers into a slot. */
static uint32_t gather_part(fs_emit_t *em, const fs_part_t *part,
                            uint32_t dst_rank, uint64_t slot)
{
    fs_place_t place = fs_in_staging(slot + part->chunk_offset);

    if (part->src_local == em->local) {
        return fs_program_copy(em->program,
                               fs_in_send(dst_rank, part->block_offset), place,
                               part->len_bytes);
    }
    return fs_program_recv(em->program, FS_CH_GATHER,
                           em->local_ranks[part->src_local], place,
                           part->len_bytes);
}

/* This rank is the proxy of the chunk: get it together and send it. */
static void send_chunk(fs_emit_t *em, const fs_stream_t *stream,
                       fs_chunk_t *chunk)
{
    fs_program_t *program = em->program;
    uint32_t      peer    = stream->remote[stream->dst_proxy[chunk->dst_lane]];
    uint64_t      len     = chunk->end - chunk->begin;
    uint64_t      slot    = fs_ring_offset(&em->out_ring);
    uint32_t      first   = program->n_ops;
    bool          direct  = em->send_packed && fs_chunk_is_one_part(chunk);
    fs_part_t     part;

    while (fs_chunk_take(chunk, &part)) {
        uint32_t dst_rank = stream->remote[part.dst_local];

        if (direct && part.src_local == em->local) {
            em->last_wire_send =
                fs_program_send(program, FS_CH_WIRE, peer,
                                fs_in_send(dst_rank, part.block_offset), len);
            return;
        }
        fs_ring_wait(&em->out_ring, program,
                     gather_part(em, &part, dst_rank, slot));
    }
    em->last_wire_send =
        fs_program_send(program, FS_CH_WIRE, peer, fs_in_staging(slot), len);
    if (fs_emit_may_go_on(em)) {
        for (uint32_t k = first; k < em->last_wire_send; ++k) {
            fs_program_after(program, em->last_wire_send, k);
        }
        fs_emit_leave_slot(em, &em->out_ring, em->last_wire_send, 1);
    }
}

/* Another rank is the proxy of the chunk: hand it the parts that are here. */
static void give_chunk(fs_emit_t *em, const fs_stream_t *stream,
                       fs_chunk_t *chunk, uint32_t proxy)
{
    fs_part_t part;

    while (fs_chunk_take_from(chunk, em->local, &part)) {
        uint32_t send = fs_emit_send_user(
            em, &em->gather_ring, FS_CH_GATHER, em->local_ranks[proxy],
            fs_in_send(stream->remote[part.dst_local], part.block_offset),
            part.len_bytes);

        fs_window_add(&em->gathers[proxy], LOCAL_WINDOW, em->program, send);
        em->plan->moved_gather += part.len_bytes;
    }
}

void fs_emit_out(fs_emit_t *em, const fs_stream_t *stream, fs_chunk_t *chunk)
{
    uint32_t proxy = stream->src_proxy[chunk->lane];

    if (proxy == em->local) {
        send_chunk(em, stream, chunk);
    } else {
        give_chunk(em, stream, chunk, proxy);
    }
}

/* ---- a chunk, seen from the receiving server ---- */

/* One part of a chunk that has landed in a slot. */
static void redist_part(fs_emit_t *em, const fs_part_t *part, uint32_t src_rank,
                        uint64_t slot, uint32_t recv)
{
    fs_place_t place = fs_in_staging(slot + part->chunk_offset);
    uint32_t   op;

    if (part->dst_local == em->local) {
        op = fs_program_copy(em->program, place,
                             fs_in_recv(src_rank, part->block_offset),
                             part->len_bytes);
    } else {
        op = fs_program_send(em->program, FS_CH_REDIST,
                             em->local_ranks[part->dst_local], place,
                             part->len_bytes);
        em->plan->moved_redist += part->len_bytes;
    }
    fs_program_after(em->program, op, recv);
}

/* This rank is the proxy of the chunk: receive it and pass it on. */
static void recv_chunk(fs_emit_t *em, const fs_stream_t *stream,
                       fs_chunk_t *chunk)
{
    fs_program_t *program = em->program;
    uint32_t      peer    = stream->remote[stream->src_proxy[chunk->lane]];
    uint64_t      len     = chunk->end - chunk->begin;
    uint64_t      slot    = fs_ring_offset(&em->in_ring);
    uint32_t      recv    = FS_NO_OP;
    bool          direct  = em->recv_packed && fs_chunk_is_one_part(chunk);
    fs_part_t     part;

    while (fs_chunk_take(chunk, &part)) {
        uint32_t src_rank = stream->remote[part.src_local];

        if (direct && part.dst_local == em->local) {
            recv = fs_program_recv(program, FS_CH_WIRE, peer,
                                   fs_in_recv(src_rank, part.block_offset),
                                   len);
            fs_recv_order_add(&em->wire_recvs, recv);
            return;
        }
        if (recv == FS_NO_OP) {
            recv = fs_program_recv(program, FS_CH_WIRE, peer,
                                   fs_in_staging(slot), len);
            fs_ring_wait(&em->in_ring, program, recv);
            fs_recv_order_add(&em->wire_recvs, recv);
        }
        redist_part(em, &part, src_rank, slot, recv);
    }
    if (fs_emit_may_go_on(em)) {
        fs_emit_leave_slot(em, &em->in_ring, recv + 1,
                           program->n_ops - recv - 1);
    }
}

/* Another rank is the proxy: it will pass on the parts that are for us. */
static void take_chunk(fs_emit_t *em, const fs_stream_t *stream,
                       fs_chunk_t *chunk, uint32_t proxy)
{
    fs_part_t part;

    while (fs_chunk_take_for(chunk, em->local, &part)) {
        uint32_t recv = fs_emit_recv_user(
            em, &em->redist_ring, FS_CH_REDIST, em->local_ranks[proxy],
            fs_in_recv(stream->remote[part.src_local], part.block_offset),
            part.len_bytes);

        fs_window_add(&em->redists[proxy], LOCAL_WINDOW, em->program, recv);
    }
}

void fs_emit_in(fs_emit_t *em, const fs_stream_t *stream, fs_chunk_t *chunk)
{
    uint32_t proxy = stream->dst_proxy[chunk->dst_lane];

    if (proxy == em->local) {
        recv_chunk(em, stream, chunk);
    } else {
        take_chunk(em, stream, chunk, proxy);
    }
}
