/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of what our algorithms are measured against.
 *
 * Messages on the wire channel obey the executor's grants, in the order (step,
 * rail) on all ranks; the other channels are free, also between servers. See
 * sim/fs_sim.h for their definitions.
 */
#include "base/fs_arith.h"
#include "sim/fs_sim.h"
#include "sched/plan/fs_plan.h"
#include "sched/model/fs_topo.h"

/* Two receives at a time: the next sender gets ready while one sends. */
enum { WINDOW = 2 };

/* The rank whose program is written, and what everybody sends. */
typedef struct writer {
    const fs_topo_t *topo;
    const uint64_t  *bytes; /* [n_ranks x n_ranks] */
    fs_program_t     program;
    uint64_t         chunk;
    uint64_t         staging;
    uint32_t         rank;
    uint32_t         server;
    uint32_t         local;
    uint32_t         n_local;
} writer_t;

static uint64_t pair(const writer_t *wr, uint32_t src, uint32_t dst)
{
    return wr->bytes[(size_t)src * wr->topo->n_ranks + dst];
}

static fs_place_t in(fs_buffer_t buffer)
{
    return (fs_place_t){.buffer = buffer};
}

/* A message, unless it is empty. */
static uint32_t send(writer_t *wr, fs_channel_t channel, uint32_t dst,
                     uint64_t bytes)
{
    return bytes == 0 ? FS_NO_OP
                      : fs_program_send(&wr->program, channel, dst,
                                        in(FS_BUF_SEND), bytes);
}

static uint32_t recv(writer_t *wr, fs_channel_t channel, uint32_t src,
                     fs_buffer_t buffer, uint64_t bytes)
{
    return bytes == 0
               ? FS_NO_OP
               : fs_program_recv(&wr->program, channel, src, in(buffer), bytes);
}

static void copy_own_block(writer_t *wr)
{
    uint64_t bytes = pair(wr, wr->rank, wr->rank);

    if (bytes > 0) {
        fs_program_copy(&wr->program, in(FS_BUF_SEND), in(FS_BUF_RECV), bytes);
    }
}

/* What stays inside the server, all of it at once. */
static void exchange_inside(writer_t *wr)
{
    copy_own_block(wr);
    for (uint32_t d = 1; d < wr->n_local; ++d) {
        uint32_t dst =
            fs_topo_rank(wr->topo, wr->server, (wr->local + d) % wr->n_local);
        uint32_t src = fs_topo_rank(
            wr->topo, wr->server, (wr->local + wr->n_local - d) % wr->n_local);

        send(wr, FS_CH_INTRA, dst, pair(wr, wr->rank, dst));
        recv(wr, FS_CH_INTRA, src, FS_BUF_RECV, pair(wr, src, wr->rank));
    }
}

/* ---- rank to rank ---- */

typedef struct step {
    uint32_t send;
    uint32_t recv; /* operations; FS_NO_OP: none */
} step_t;

/* To the rank d behind this one, and from the rank d before it. */
static step_t step(writer_t *wr, uint32_t d)
{
    uint32_t n   = wr->topo->n_ranks;
    uint32_t dst = (wr->rank + d) % n, src = (wr->rank + n - d) % n;

    return (step_t){
        send(wr, FS_CH_INTRA, dst, pair(wr, wr->rank, dst)),
        recv(wr, FS_CH_INTRA, src, FS_BUF_RECV, pair(wr, src, wr->rank))};
}

static void write_all_at_once(writer_t *wr)
{
    copy_own_block(wr);
    for (uint32_t d = 1; d < wr->topo->n_ranks; ++d) {
        step(wr, d);
    }
}

static void write_spreadout(writer_t *wr)
{
    step_t last = {FS_NO_OP, FS_NO_OP};

    copy_own_block(wr);
    for (uint32_t d = 1; d < wr->topo->n_ranks; ++d) {
        step_t now = step(wr, d);

        fs_program_after(&wr->program, now.send, last.send);
        fs_program_after(&wr->program, now.send, last.recv);
        fs_program_after(&wr->program, now.recv, last.send);
        fs_program_after(&wr->program, now.recv, last.recv);
        /* Nothing to do in this step: the one before it still counts. */
        if (now.send != FS_NO_OP || now.recv != FS_NO_OP) {
            last = now;
        }
    }
}

/* Two sends at a time: the next one gets ready while one is under way. */
static void write_rotation(writer_t *wr)
{
    uint32_t last = FS_NO_OP, last_but_one = FS_NO_OP;

    copy_own_block(wr);
    for (uint32_t d = 1; d < wr->topo->n_ranks; ++d) {
        uint32_t now = step(wr, d).send;

        if (now != FS_NO_OP) {
            fs_program_after(&wr->program, now, last_but_one);
            last_but_one = last;
            last         = now;
        }
    }
}

/* ---- gather, then along the rails ---- */

/* Bytes of src that leave its server from a local rank: those to the local
 * ranks local, local + n_local, ... of other servers. */
static uint64_t rail_bytes(const writer_t *wr, uint32_t src, uint32_t local)
{
    uint64_t sum = 0;

    for (uint32_t w = 0; w < wr->topo->n_servers; ++w) {
        for (uint32_t j = local;
             w != wr->server && j < fs_topo_n_local(wr->topo, w);
             j += wr->n_local) {
            sum += pair(wr, src, fs_topo_rank(wr->topo, w, j));
        }
    }
    return sum;
}

/* What server u has for a rank. */
static uint64_t bytes_of_server(const writer_t *wr, uint32_t u, uint32_t dst)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < fs_topo_n_local(wr->topo, u); ++i) {
        sum += pair(wr, fs_topo_rank(wr->topo, u, i), dst);
    }
    return sum;
}

/* Phase 1. Returns the end of the operations, from 0, whose receives phase 2
 * waits for. */
static uint32_t gather(writer_t *wr)
{
    for (uint32_t d = 1; d < wr->n_local; ++d) {
        uint32_t to   = (wr->local + d) % wr->n_local;
        uint32_t from = (wr->local + wr->n_local - d) % wr->n_local;
        uint32_t src  = fs_topo_rank(wr->topo, wr->server, from);
        uint64_t come = rail_bytes(wr, src, wr->local);

        send(wr, FS_CH_GATHER, fs_topo_rank(wr->topo, wr->server, to),
             rail_bytes(wr, wr->rank, to));
        recv(wr, FS_CH_GATHER, src, FS_BUF_STAGING, come);
        wr->staging += come;
    }
    return wr->program.n_ops;
}

/* Sends are in order, so it is enough that the first of them waits. */
static void send_rail(writer_t *wr, uint32_t dst, uint32_t *gathered)
{
    uint64_t total = bytes_of_server(wr, wr->server, dst);

    for (uint64_t at = 0; at < total; at += wr->chunk) {
        uint32_t id =
            send(wr, FS_CH_WIRE, dst, fs_u64_min(wr->chunk, total - at));

        for (uint32_t k = 0; id != FS_NO_OP && k < *gathered; ++k) {
            if (wr->program.ops[k].kind == FS_OP_RECV) {
                fs_program_after(&wr->program, id, k);
            }
        }
        *gathered = 0;
    }
}

static void write_two_phase(writer_t *wr)
{
    uint32_t n = wr->topo->n_servers, gathered = gather(wr);

    for (uint32_t d = 1; d < n; ++d) {
        uint32_t w = (wr->server + d) % n, v = (wr->server + n - d) % n;
        uint32_t src =
            fs_topo_rank(wr->topo, v, wr->local % fs_topo_n_local(wr->topo, v));
        uint64_t total = bytes_of_server(wr, v, wr->rank);

        for (uint32_t j = wr->local; j < fs_topo_n_local(wr->topo, w);
             j += wr->n_local) {
            send_rail(wr, fs_topo_rank(wr->topo, w, j), &gathered);
        }
        for (uint64_t at = 0; at < total; at += wr->chunk) {
            recv(wr, FS_CH_WIRE, src, FS_BUF_RECV,
                 fs_u64_min(wr->chunk, total - at));
        }
    }
    exchange_inside(wr);
}

/* ---- namesakes pass on ---- */

/* A chunk from src that arrives at this rank for the local rank j. */
static void receive_chunk(writer_t *wr, uint32_t src, uint32_t j,
                          uint64_t bytes)
{
    uint32_t got = recv(wr, FS_CH_WIRE, src,
                        j == wr->local ? FS_BUF_RECV : FS_BUF_STAGING, bytes);

    if (j != wr->local) {
        fs_program_after(&wr->program,
                         send(wr, FS_CH_REDIST,
                              fs_topo_rank(wr->topo, wr->server, j), bytes),
                         got);
        wr->staging += bytes;
    }
}

/* What the ranks of server v send, as far as this rank passes it on or gets
 * it. */
static void relay_from(writer_t *wr, uint32_t v)
{
    for (uint32_t k = 0; k < fs_topo_n_local(wr->topo, v); ++k) {
        uint32_t src   = fs_topo_rank(wr->topo, v, k);
        uint32_t proxy = k % wr->n_local;

        for (uint32_t j = 0; j < wr->n_local; ++j) {
            uint64_t total =
                pair(wr, src, fs_topo_rank(wr->topo, wr->server, j));

            for (uint64_t at = 0; at < total; at += wr->chunk) {
                uint64_t bytes = fs_u64_min(wr->chunk, total - at);

                if (proxy == wr->local) {
                    receive_chunk(wr, src, j, bytes);
                } else if (j == wr->local) {
                    recv(wr, FS_CH_REDIST,
                         fs_topo_rank(wr->topo, wr->server, proxy), FS_BUF_RECV,
                         bytes);
                }
            }
        }
    }
}

static void write_relay(writer_t *wr)
{
    uint32_t n = wr->topo->n_servers;

    for (uint32_t d = 1; d < n; ++d) {
        uint32_t w    = (wr->server + d) % n;
        uint32_t m    = fs_topo_n_local(wr->topo, w);
        uint32_t peer = fs_topo_rank(wr->topo, w, wr->local % m);

        for (uint32_t j = 0; j < m; ++j) {
            uint64_t total = pair(wr, wr->rank, fs_topo_rank(wr->topo, w, j));

            for (uint64_t at = 0; at < total; at += wr->chunk) {
                send(wr, FS_CH_WIRE, peer, fs_u64_min(wr->chunk, total - at));
            }
        }
        relay_from(wr, (wr->server + n - d) % n);
    }
    exchange_inside(wr);
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    void (*write)(writer_t *wr);
} baselines[] = {
#define X(_which, _word, _function) [_which] = {_word, write_##_function},
    FS_SIM_BASELINE_MAP(X)
#undef X
};

#define N_BASELINES (sizeof(baselines) / sizeof(baselines[0]))

const char *fs_sim_baseline_name(fs_sim_baseline_t which)
{
    return which < N_BASELINES ? baselines[which].name : "unknown";
}

fs_status_t fs_sim_baseline_create(fs_sim_baseline_t which,
                                   const fs_topo_t  *topo,
                                   const uint64_t *rank_bytes, uint64_t chunk,
                                   uint32_t rank, fs_plan_t **plan_p)
{
    writer_t wr = {
        .topo = topo, .bytes = rank_bytes, .chunk = chunk, .rank = rank};
    fs_plan_t   totals = {.window = WINDOW};
    fs_status_t status;

    if (which >= N_BASELINES || rank >= topo->n_ranks || chunk == 0) {
        return FS_ERR_INVAL;
    }
    wr.server  = fs_topo_server(topo, rank);
    wr.local   = fs_topo_local(topo, rank);
    wr.n_local = fs_topo_n_local(topo, wr.server);
    status     = fs_program_init(&wr.program, topo->n_ranks);
    if (status == FS_OK) {
        baselines[which].write(&wr);
        totals.staging_bytes = wr.staging;
        status               = fs_program_seal(&wr.program, &totals, plan_p);
    }
    fs_program_fini(&wr.program);
    return status;
}
