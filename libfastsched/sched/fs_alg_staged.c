/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The staged program of one rank (FAST §4).
 *
 *   1. Every tile of this server is balanced into lane streams.
 *   2. The N x N matrix of bytes per lane is decomposed into stages; a stage
 *      carries the next slice of the stream on every lane of a tile.
 *   3. Slices are cut into chunks, one message each. A chunk that lies in one
 *      block of the proxy's own buffer leaves from there, and one that is for
 *      the proxy itself lands in place; any other chunk passes through a
 *      staging slot: gathered before it is sent, redistributed after it came.
 *   4. Traffic inside the server is cut into chunks as well, a few at a time.
 *
 * Slots are rings. A slot is used again when the operations that read it are
 * done, which is an edge of the program like any other. All ranks fill all
 * rings in the order (stage, chunk, lane), so the oldest unfinished chunk of
 * the whole exchange never waits for a younger one: no deadlock, however few
 * the slots.
 *
 * Known limit: a tile between servers with different numbers of lanes uses the
 * smaller number, and the larger server idles the rest for that stage.
 */
#include "base/fs_arena.h"
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "sched/fs_decompose.h"
#include "sched/fs_plan.h"
#include "sched/fs_slots.h"
#include "sched/fs_stream.h"
#include "sched/fs_topo.h"

enum {
    LOCAL_WINDOW = 8, /* messages in flight between two ranks of a server */
    INTRA_SENDS  = 2, /* server-internal chunks a rank sends at a time */
    LOOK_AHEAD   = 2  /* chunks still to come when the next sender is asked */
};

typedef struct staged {
    const fs_plan_request_t *request;
    const fs_topo_t         *topo;
    fs_program_t            *program;
    fs_plan_t               *plan;
    fs_arena_t               arena;
    uint32_t                 server;
    uint32_t                 local;
    uint32_t                 lane; /* FS_NO_LANE if this rank is no proxy */
    uint32_t                 n_local;
    uint64_t                 chunk;
    fs_stream_t             *out; /* [n_servers] tiles from this server */
    fs_stream_t             *in;  /* [n_servers] tiles to this server */
    uint32_t                *wire_recvs; /* ids, in order */
    uint32_t                 n_wire_recvs;
    uint32_t                 n_waited; /* wire receives that others wait for */
    fs_ring_t                out_ring;    /* chunks gathered for the wire */
    fs_ring_t                in_ring;     /* chunks from the wire */
    fs_ring_t                gather_ring; /* packing what others will send */
    fs_ring_t                redist_ring; /* unpacking what others received */
    fs_ring_t                intra_out_ring;
    fs_ring_t                intra_in_ring;
    fs_window_t             *gathers;     /* [n_local] per proxy */
    fs_window_t             *redists;     /* [n_local] per proxy */
    fs_window_t             *intra_recvs; /* [n_local] per sender */
    fs_window_t              intra_sends;
} staged_t;

/* ---- places ---- */

static fs_place_t in_send(uint32_t block, uint64_t offset)
{
    return (fs_place_t){FS_BUF_SEND, block, offset};
}

static fs_place_t in_recv(uint32_t block, uint64_t offset)
{
    return (fs_place_t){FS_BUF_RECV, block, offset};
}

static fs_place_t in_staging(uint64_t offset)
{
    return (fs_place_t){FS_BUF_STAGING, 0, offset};
}

/* ---- slots ---- */

static void wait_for_slot(staged_t *st, const fs_ring_t *ring, uint32_t op)
{
    fs_ring_wait(ring, st->program, op);
}

static void leave_slot(staged_t *st, fs_ring_t *ring, uint32_t first_reader,
                       uint32_t n_readers)
{
    uint64_t end = fs_ring_leave(ring, first_reader, n_readers);

    st->plan->staging_bytes = fs_u64_max(st->plan->staging_bytes, end);
}

/* ---- user buffers, through a ring when they are not contiguous ---- */

static uint32_t send_user(staged_t *st, fs_ring_t *ring, fs_channel_t channel,
                          uint32_t peer, fs_place_t src, uint64_t len)
{
    uint32_t   copy, send;
    fs_place_t slot;

    if (st->request->local->send_packed) {
        return fs_program_send(st->program, channel, peer, src, len);
    }
    slot = in_staging(fs_ring_offset(ring));
    copy = fs_program_copy(st->program, src, slot, len);
    send = fs_program_send(st->program, channel, peer, slot, len);
    wait_for_slot(st, ring, copy);
    fs_program_after(st->program, send, copy);
    leave_slot(st, ring, send, 1);
    return send;
}

static uint32_t recv_user(staged_t *st, fs_ring_t *ring, fs_channel_t channel,
                          uint32_t peer, fs_place_t dst, uint64_t len)
{
    uint32_t   copy, recv;
    fs_place_t slot;

    if (st->request->local->recv_packed) {
        return fs_program_recv(st->program, channel, peer, dst, len);
    }
    slot = in_staging(fs_ring_offset(ring));
    recv = fs_program_recv(st->program, channel, peer, slot, len);
    copy = fs_program_copy(st->program, slot, dst, len);
    wait_for_slot(st, ring, recv);
    fs_program_after(st->program, copy, recv);
    leave_slot(st, ring, copy, 1);
    return recv;
}

/* ---- a chunk, seen from the sending server ---- */

/* One part of a chunk that this proxy gathers into a slot. */
static uint32_t gather_part(staged_t *st, const fs_part_t *part,
                            uint32_t dst_rank, uint64_t slot)
{
    fs_place_t place = in_staging(slot + part->chunk_offset);
    uint32_t   src_rank;

    if (part->src_local == st->local) {
        return fs_program_copy(st->program,
                               in_send(dst_rank, part->block_offset), place,
                               part->len_bytes);
    }
    src_rank = fs_topo_rank(st->topo, st->server, part->src_local);
    return fs_program_recv(st->program, FS_CH_GATHER, src_rank, place,
                           part->len_bytes);
}

/* This rank is the proxy of the chunk: get it together and send it. */
static void send_chunk(staged_t *st, fs_chunk_t *chunk, uint32_t w)
{
    fs_stream_t *stream = &st->out[w];
    uint32_t     peer =
        fs_topo_rank(st->topo, w, fs_topo_proxy(st->topo, w, chunk->lane));
    uint64_t len    = chunk->end - chunk->begin;
    uint64_t slot   = fs_ring_offset(&st->out_ring);
    uint32_t first  = st->program->n_ops, send;
    bool     direct = fs_stream_is_one_part(stream, chunk) &&
                  st->request->local->send_packed;
    fs_part_t part;

    while (fs_stream_next_part(stream, chunk, &part)) {
        uint32_t dst_rank = fs_topo_rank(st->topo, w, part.dst_local);

        if (direct && part.src_local == st->local) {
            fs_program_send(st->program, FS_CH_WIRE, peer,
                            in_send(dst_rank, part.block_offset), len);
            return;
        }
        wait_for_slot(st, &st->out_ring,
                      gather_part(st, &part, dst_rank, slot));
    }
    send =
        fs_program_send(st->program, FS_CH_WIRE, peer, in_staging(slot), len);
    for (uint32_t k = first; k < send && send != FS_NO_OP; ++k) {
        fs_program_after(st->program, send, k);
    }
    leave_slot(st, &st->out_ring, send, 1);
}

/* Another rank is the proxy of the chunk: hand it the parts that are here. */
static void give_chunk(staged_t *st, fs_chunk_t *chunk, uint32_t w)
{
    uint32_t  local = fs_topo_proxy(st->topo, st->server, chunk->lane);
    uint32_t  proxy = fs_topo_rank(st->topo, st->server, local);
    fs_part_t part;

    while (fs_stream_next_part(&st->out[w], chunk, &part)) {
        if (part.src_local == st->local) {
            fs_place_t src = in_send(fs_topo_rank(st->topo, w, part.dst_local),
                                     part.block_offset);
            uint32_t send = send_user(st, &st->gather_ring, FS_CH_GATHER, proxy,
                                      src, part.len_bytes);

            fs_window_add(&st->gathers[local], LOCAL_WINDOW, st->program, send);
            st->plan->moved_gather += part.len_bytes;
        }
    }
}

/* ---- a chunk, seen from the receiving server ---- */

/* Wire receives are posted, and so granted, in plan order. The first of a stage
 * waits for all before it but the last of the stage before: at most two senders
 * are granted at a time. */
static void order_wire_recv(staged_t *st, uint32_t recv, uint32_t stage_first)
{
    if (recv == FS_NO_OP) {
        return;
    }
    while (st->n_waited + LOOK_AHEAD <= stage_first) {
        fs_program_after(st->program, recv, st->wire_recvs[st->n_waited++]);
    }
    st->wire_recvs[st->n_wire_recvs++] = recv;
}

/* One part of a chunk that has landed in a slot. */
static void redist_part(staged_t *st, const fs_part_t *part, uint32_t src_rank,
                        uint64_t slot, uint32_t recv)
{
    fs_place_t place = in_staging(slot + part->chunk_offset);
    uint32_t   op;

    if (part->dst_local == st->local) {
        op = fs_program_copy(st->program, place,
                             in_recv(src_rank, part->block_offset),
                             part->len_bytes);
    } else {
        op =
            fs_program_send(st->program, FS_CH_REDIST,
                            fs_topo_rank(st->topo, st->server, part->dst_local),
                            place, part->len_bytes);
        st->plan->moved_redist += part->len_bytes;
    }
    fs_program_after(st->program, op, recv);
}

/* This rank is the proxy of the chunk: receive it and pass it on. */
static void recv_chunk(staged_t *st, fs_chunk_t *chunk, uint32_t v,
                       uint32_t stage_first)
{
    fs_stream_t *stream = &st->in[v];
    uint32_t     peer =
        fs_topo_rank(st->topo, v, fs_topo_proxy(st->topo, v, chunk->lane));
    uint64_t len    = chunk->end - chunk->begin;
    uint64_t slot   = fs_ring_offset(&st->in_ring);
    uint32_t recv   = FS_NO_OP;
    bool     direct = fs_stream_is_one_part(stream, chunk) &&
                  st->request->local->recv_packed;
    fs_part_t part;

    while (fs_stream_next_part(stream, chunk, &part)) {
        uint32_t src_rank = fs_topo_rank(st->topo, v, part.src_local);

        if (direct && part.dst_local == st->local) {
            recv = fs_program_recv(st->program, FS_CH_WIRE, peer,
                                   in_recv(src_rank, part.block_offset), len);
            order_wire_recv(st, recv, stage_first);
            return;
        }
        if (recv == FS_NO_OP) {
            recv = fs_program_recv(st->program, FS_CH_WIRE, peer,
                                   in_staging(slot), len);
            wait_for_slot(st, &st->in_ring, recv);
            order_wire_recv(st, recv, stage_first);
        }
        redist_part(st, &part, src_rank, slot, recv);
    }
    if (recv != FS_NO_OP) {
        leave_slot(st, &st->in_ring, recv + 1, st->program->n_ops - recv - 1);
    }
}

/* Another rank is the proxy: it will pass on the parts that are for us. */
static void take_chunk(staged_t *st, fs_chunk_t *chunk, uint32_t v)
{
    uint32_t  local = fs_topo_proxy(st->topo, st->server, chunk->lane);
    uint32_t  proxy = fs_topo_rank(st->topo, st->server, local);
    fs_part_t part;

    while (fs_stream_next_part(&st->in[v], chunk, &part)) {
        if (part.dst_local == st->local) {
            fs_place_t dst = in_recv(fs_topo_rank(st->topo, v, part.src_local),
                                     part.block_offset);
            uint32_t recv = recv_user(st, &st->redist_ring, FS_CH_REDIST, proxy,
                                      dst, part.len_bytes);

            fs_window_add(&st->redists[local], LOCAL_WINDOW, st->program, recv);
        }
    }
}

/* ---- stages ---- */

static void send_slice(staged_t *st, uint32_t w, uint64_t slice, uint64_t c)
{
    fs_stream_t *stream = &st->out[w];
    fs_chunk_t   chunk;

    for (uint32_t lane = 0; lane < stream->streams.n_lanes; ++lane) {
        if (!fs_stream_cut(stream, lane, slice, c, st->chunk, &chunk)) {
            continue;
        }
        if (lane == st->lane) {
            send_chunk(st, &chunk, w);
        } else {
            give_chunk(st, &chunk, w);
        }
    }
}

static void recv_slice(staged_t *st, uint32_t v, uint64_t slice, uint64_t c,
                       uint32_t stage_first)
{
    fs_stream_t *stream = &st->in[v];
    fs_chunk_t   chunk;

    for (uint32_t lane = 0; lane < stream->streams.n_lanes; ++lane) {
        if (!fs_stream_cut(stream, lane, slice, c, st->chunk, &chunk)) {
            continue;
        }
        if (lane == st->lane) {
            recv_chunk(st, &chunk, v, stage_first);
        } else {
            take_chunk(st, &chunk, v);
        }
    }
}

/* A program that has failed is not worth finishing. */
static bool may_go_on(const staged_t *st)
{
    return st->program->status == FS_OK;
}

/* Chunk by chunk, so that sending and receiving use the rings in step. */
static void emit_stage(staged_t *st, const fs_stage_t *stage)
{
    uint32_t w = stage->dst[st->server], v = 0;
    uint64_t sent = stage->bytes[st->server], received = 0;
    uint32_t stage_first = st->n_wire_recvs;

    while (v < st->topo->n_servers && stage->dst[v] != st->server) {
        ++v;
    }
    if (v < st->topo->n_servers) {
        received = stage->bytes[v];
    }
    for (uint64_t c = 0;
         may_go_on(st) && c * st->chunk < fs_u64_max(sent, received); ++c) {
        if (c * st->chunk < sent) {
            send_slice(st, w, sent, c);
        }
        if (c * st->chunk < received) {
            recv_slice(st, v, received, c, stage_first);
        }
    }
    if (sent > 0) {
        st->out[w].pos += sent;
    }
    if (received > 0) {
        st->in[v].pos += received;
    }
}

/* ---- traffic that stays inside the server ---- */

/* A chunk at a time, so that a large block does not hold up the wire. */
static void emit_self(staged_t *st)
{
    const fs_local_traffic_t *local = st->request->local;
    uint32_t                  rank  = st->request->rank;
    size_t      mine  = (size_t)st->local * st->topo->n_ranks + rank;
    fs_ring_t  *ring  = &st->intra_out_ring;
    fs_window_t chain = {0};

    for (uint64_t at = 0; may_go_on(st) && at < local->send[mine];
         at += st->chunk) {
        uint64_t   len = fs_u64_min(st->chunk, local->send[mine] - at);
        fs_place_t src = in_send(rank, at), dst = in_recv(rank, at), slot;
        uint32_t   pack, unpack;

        if (local->send_packed || local->recv_packed) {
            fs_window_add(&chain, 1, st->program,
                          fs_program_copy(st->program, src, dst, len));
            continue;
        }
        slot   = in_staging(fs_ring_offset(ring));
        pack   = fs_program_copy(st->program, src, slot, len);
        unpack = fs_program_copy(st->program, slot, dst, len);
        wait_for_slot(st, ring, pack);
        fs_program_after(st->program, unpack, pack);
        fs_window_add(&chain, 1, st->program, unpack);
        leave_slot(st, ring, unpack, 1);
    }
}

/* Rank i to i + 1, then i + 2, and so on: one-to-one (FAST §4.4). */
static void emit_intra(staged_t *st)
{
    const fs_local_traffic_t *local = st->request->local;

    for (uint32_t d = 1; may_go_on(st) && d < st->n_local; ++d) {
        uint32_t to   = (st->local + d) % st->n_local;
        uint32_t from = (st->local + st->n_local - d) % st->n_local;
        uint32_t dst  = fs_topo_rank(st->topo, st->server, to);
        uint32_t src  = fs_topo_rank(st->topo, st->server, from);
        size_t   row  = (size_t)st->local * st->topo->n_ranks;
        uint64_t at;

        for (at = 0; at < local->recv[row + src]; at += st->chunk) {
            uint32_t op = recv_user(
                st, &st->intra_in_ring, FS_CH_INTRA, src, in_recv(src, at),
                fs_u64_min(st->chunk, local->recv[row + src] - at));

            fs_window_add(&st->intra_recvs[from], LOCAL_WINDOW, st->program,
                          op);
        }
        for (at = 0; at < local->send[row + dst]; at += st->chunk) {
            uint32_t op = send_user(
                st, &st->intra_out_ring, FS_CH_INTRA, dst, in_send(dst, at),
                fs_u64_min(st->chunk, local->send[row + dst] - at));

            fs_window_add(&st->intra_sends, INTRA_SENDS, st->program, op);
        }
    }
}

/* ---- set-up ---- */

static void init_rings(staged_t *st)
{
    const fs_local_traffic_t *local   = st->request->local;
    uint32_t                  n_rings = 2 + (local->send_packed ? 0 : 2) +
                       (local->recv_packed ? 0 : 2);
    uint64_t slots = st->request->params->staging_limit / st->chunk / n_rings;
    uint32_t n     = (uint32_t)fs_u64_min(slots, FS_RING_MAX_SLOTS);
    uint64_t base  = 0;

    fs_ring_init(&st->out_ring, &base, n, st->chunk);
    fs_ring_init(&st->in_ring, &base, n, st->chunk);
    if (!local->send_packed) {
        fs_ring_init(&st->gather_ring, &base, n, st->chunk);
        fs_ring_init(&st->intra_out_ring, &base, n, st->chunk);
    }
    if (!local->recv_packed) {
        fs_ring_init(&st->redist_ring, &base, n, st->chunk);
        fs_ring_init(&st->intra_in_ring, &base, n, st->chunk);
    }
}

static fs_status_t balance(staged_t *st)
{
    const fs_plan_request_t *request = st->request;
    fs_status_t              status  = FS_OK;

    for (uint32_t w = 0; w < st->topo->n_servers && status == FS_OK; ++w) {
        if (w == st->server) {
            continue;
        }
        status = fs_stream_init(request, w, true, &st->arena, &st->out[w]);
        if (status == FS_OK) {
            status = fs_stream_init(request, w, false, &st->arena, &st->in[w]);
        }
    }
    return status;
}

/* Bytes per lane between servers, then stages. */
static fs_status_t decompose(staged_t *st, fs_stages_t *stages)
{
    uint32_t  n        = st->topo->n_servers;
    uint64_t *per_lane = fs_arena_calloc(&st->arena, (size_t)n * n, 8);

    if (per_lane == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            size_t k = (size_t)u * n + w;

            per_lane[k] =
                fs_balance_capacity(st->request->traffic->bytes[k],
                                    fs_topo_tile_lanes(st->topo, u, w));
        }
    }
    return fs_decompose(st->request->params->decompose, n, per_lane, &st->arena,
                        stages);
}

static uint64_t digest_stages(const fs_stages_t *stages, uint32_t n_servers)
{
    uint64_t digest = stages->n;

    for (uint32_t k = 0; k < stages->n; ++k) {
        for (uint32_t u = 0; u < n_servers; ++u) {
            digest = fs_digest_add(digest, stages->stage[k].dst[u]);
            digest = fs_digest_add(digest, stages->stage[k].bytes[u]);
        }
    }
    return digest;
}

/* The longest any lane of this server receives, in chunks: each stage may end
 * with a short one. */
static size_t max_wire_recvs(const staged_t *st, const fs_stages_t *stages)
{
    return (size_t)(stages->total / st->chunk) + stages->n + 1;
}

static fs_status_t prepare(staged_t *st, fs_stages_t *stages)
{
    uint32_t    n = st->topo->n_servers;
    fs_status_t status;

    st->out     = fs_arena_calloc(&st->arena, n, sizeof(*st->out));
    st->in      = fs_arena_calloc(&st->arena, n, sizeof(*st->in));
    st->gathers = fs_arena_calloc(&st->arena, 3 * (size_t)st->n_local,
                                  sizeof(*st->gathers));
    if (st->out == NULL || st->in == NULL || st->gathers == NULL) {
        return FS_ERR_NOMEM;
    }
    st->redists     = st->gathers + st->n_local;
    st->intra_recvs = st->redists + st->n_local;
    init_rings(st);
    status = balance(st);
    if (status == FS_OK) {
        status = decompose(st, stages);
    }
    if (status != FS_OK) {
        return status;
    }
    st->wire_recvs = fs_arena_calloc(&st->arena, max_wire_recvs(st, stages),
                                     sizeof(*st->wire_recvs));
    return st->wire_recvs == NULL ? FS_ERR_NOMEM : FS_OK;
}

fs_status_t fs_alg_staged_build(const fs_plan_request_t *request,
                                fs_program_t *program, fs_plan_t *plan)
{
    const fs_topo_t *topo   = request->topo;
    uint32_t         server = fs_topo_server(topo, request->rank);
    fs_stages_t      stages = {0};
    fs_status_t      status;
    staged_t         st = {
                .request = request,
                .topo    = topo,
                .program = program,
                .plan    = plan,
                .server  = server,
                .local   = fs_topo_local(topo, request->rank),
                .lane    = fs_topo_lane(topo, request->rank),
                .n_local = fs_topo_n_local(topo, server),
                .chunk   = request->params->chunk,
    };

    status = prepare(&st, &stages);
    if (status == FS_OK) {
        for (uint32_t k = 0; k < stages.n; ++k) {
            emit_stage(&st, &stages.stage[k]);
        }
        emit_intra(&st);
        emit_self(&st);
        plan->window         = request->params->window;
        plan->n_stages       = stages.n;
        plan->total_per_lane = stages.total;
        plan->digest         = digest_stages(&stages, topo->n_servers);
    }
    fs_arena_fini(&st.arena);
    return status;
}
