/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large clusters: the engine with one rank for each server.
 *
 * A transfer of the schedule is what one lane sends to its namesake. It becomes
 * up to three messages, because the executor asks the next sender when the last
 * message is all that is left, and so that what is redistributed at the end is
 * small. Around it, copies stand for the work inside the servers: they follow
 * one another on the lane's port and have its rate.
 *
 *   sending    first chunk gathered -> messages; meanwhile the rest is
 *              gathered, and some of the traffic inside the server takes place
 *   receiving  a message -> its bytes redistributed
 *
 * A gather waits for the transfer before the last one: staging is bounded.
 */
#include "base/fs_arena.h"
#include "base/fs_arith.h"
#include "sim/fs_sim.h"
#include "sched/balance/fs_balance.h"
#include "sched/plan/fs_plan.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

enum { MESSAGES = 3, LOOK_AHEAD = 2 };

/* What a byte of a tile costs inside: bytes that each rank of the sending
 * server gathers, and each of the receiving one redistributes, for each byte
 * that a lane sends. */
typedef struct moves {
    float gather;
    float redist;
} moves_t;

typedef struct lanes {
    const fs_topo_t        *topo; /* the real one */
    const fs_plan_params_t *plan;
    uint32_t                n;       /* servers */
    fs_topo_t              *servers; /* as ranks */
    uint64_t               *bytes;   /* [n x n] */
    moves_t                *moves;   /* [n x n] */
    uint64_t               *intra; /* [n] each rank sends to its local peers */
    size_t                 *first; /* [n + 1] into order */
    size_t                 *order; /* transfers of each server, by start */
    fs_schedule_t          *schedule;
    uint64_t                total; /* bytes */
    uint64_t                up;
    uint64_t                self;
} lanes_t;

/* ---- the traffic ---- */

static fs_status_t alloc_lanes(lanes_t *la)
{
    size_t      n         = la->n;
    uint32_t   *server_of = malloc(n * sizeof(*server_of));
    fs_status_t status    = FS_ERR_NOMEM;

    la->bytes = calloc(n * n, sizeof(*la->bytes));
    la->moves = calloc(n * n, sizeof(*la->moves));
    la->intra = calloc(n, sizeof(*la->intra));
    la->first = calloc(n + 2, sizeof(*la->first));
    if (server_of != NULL && la->bytes != NULL && la->moves != NULL &&
        la->intra != NULL && la->first != NULL) {
        for (uint32_t s = 0; s < la->n; ++s) {
            server_of[s] = s;
        }
        status = fs_topo_create(la->n, server_of, 0, &la->servers);
    }
    free(server_of);
    return status;
}

static void free_lanes(lanes_t *la)
{
    fs_topo_destroy(la->servers);
    fs_schedule_destroy(la->schedule);
    free(la->bytes);
    free(la->moves);
    free(la->intra);
    free(la->first);
    free(la->order);
}

static uint64_t sum_of_tile(const fs_tile_t *tile)
{
    uint64_t sum = 0;

    for (size_t k = 0; k < (size_t)tile->n_src * tile->n_dst; ++k) {
        sum += tile->bytes[k];
    }
    return sum;
}

/* What stays inside server u. */
static void add_inside(lanes_t *la, uint32_t u, const fs_tile_t *tile,
                       uint64_t sum)
{
    uint64_t self = 0;

    for (uint32_t i = 0; i < tile->n_src; ++i) {
        self += tile->bytes[(size_t)i * tile->n_dst + i];
    }
    la->intra[u] = (sum - self) / tile->n_src;
    la->self += self;
    la->up += sum - self;
}

static fs_status_t add_moves(lanes_t *la, uint32_t u, uint32_t w,
                             const fs_tile_t *tile, uint64_t sum,
                             fs_arena_t *arena)
{
    moves_t     *moves = &la->moves[(size_t)u * la->n + w];
    fs_streams_t streams;
    uint64_t     gathered, redistributed;
    double       of_a_lane = (double)sum / tile->n_lanes;
    fs_status_t  status =
        fs_balance_tile(la->plan->balance, tile, arena, &streams);

    if (status == FS_OK) {
        fs_streams_moves(tile, &streams, &gathered, &redistributed);
        moves->gather = (float)((double)gathered / tile->n_src / of_a_lane);
        moves->redist =
            (float)((double)redistributed / tile->n_dst / of_a_lane);
        la->up += gathered + redistributed;
    }
    return status;
}

static fs_status_t add_tile(lanes_t *la, const uint64_t *rank_bytes, uint32_t u,
                            uint32_t w)
{
    fs_ports_t  ports = fs_ports_one_each(la->topo);
    fs_arena_t  arena = {0};
    fs_tile_t   tile;
    uint64_t    sum = 0;
    fs_status_t status =
        fs_tile_of_matrix(la->topo, &ports, rank_bytes, u, w, &arena, &tile);

    if (status == FS_OK) {
        sum                              = sum_of_tile(&tile);
        la->bytes[(size_t)u * la->n + w] = sum;
        if (!fs_u64_add(la->total, sum, &la->total)) {
            status = FS_ERR_OVERFLOW;
        }
    }
    if (status == FS_OK && u == w) {
        add_inside(la, u, &tile, sum);
    } else if (status == FS_OK && sum > 0) {
        status = add_moves(la, u, w, &tile, sum, &arena);
    }
    fs_arena_fini(&arena);
    return status;
}

/* ---- the schedule ---- */

/* Transfers of each server, in the order of time. */
static fs_status_t sort_transfers(lanes_t *la)
{
    const fs_schedule_t *schedule = la->schedule;

    la->order = malloc((2 * schedule->n_transfers + 1) * sizeof(*la->order));
    if (la->order == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        ++la->first[schedule->transfers[k].src + 2];
        ++la->first[schedule->transfers[k].dst + 2];
    }
    for (uint32_t s = 0; s < la->n; ++s) {
        la->first[s + 2] += la->first[s + 1];
    }
    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        la->order[la->first[schedule->transfers[k].src + 1]++] = k;
        la->order[la->first[schedule->transfers[k].dst + 1]++] = k;
    }
    return FS_OK;
}

static fs_status_t make_schedule(lanes_t *la)
{
    size_t      n        = la->n;
    uint64_t   *per_lane = malloc(n * n * sizeof(*per_lane));
    fs_status_t status   = FS_ERR_NOMEM;

    if (per_lane != NULL) {
        for (uint32_t u = 0; u < la->n; ++u) {
            for (uint32_t w = 0; w < la->n; ++w) {
                per_lane[u * n + w] = fs_u64_div_up(
                    la->bytes[u * n + w], fs_topo_tile_lanes(la->topo, u, w));
            }
        }
        status = fs_schedule_create(la->plan->decompose, la->plan->stage_cost,
                                    la->n, per_lane, FS_ALL_SERVERS,
                                    &la->schedule);
    }
    free(per_lane);
    return status == FS_OK ? sort_transfers(la) : status;
}

/* ---- the program of a server ---- */

typedef struct writer {
    const lanes_t *la;
    fs_program_t   program;
    uint32_t       server;
    uint64_t       intra;   /* bytes for each transfer it sends */
    uint32_t       sent[2]; /* last message of the latest transfers */
    uint32_t      *recvs;   /* [n_recvs] messages it receives, in order */
    uint32_t       n_recvs;
    uint32_t       n_waited; /* of these, later ones wait for */
} writer_t;

/* Three quarters, most of the rest, the last chunk. */
static uint32_t cut(uint64_t bytes, uint64_t chunk, uint64_t len[MESSAGES])
{
    uint64_t tail = fs_u64_max(chunk, bytes / 4);
    uint32_t n    = 0;

    if (bytes > tail) {
        len[n++] = bytes - tail;
    }
    if (bytes > chunk && tail > chunk) {
        len[n++] = tail - chunk;
    }
    len[n++] = fs_u64_min(bytes, chunk);
    return n;
}

/* Work inside the server, once `after` is done. Returns its id, or after if
 * there is none. */
static uint32_t work(writer_t *wr, double bytes, uint32_t after)
{
    fs_place_t nowhere = {FS_BUF_STAGING, 0, 0};
    uint32_t   id;

    if (bytes < 1) {
        return after;
    }
    id = fs_program_copy(&wr->program, nowhere, nowhere, (uint64_t)bytes);
    fs_program_after(&wr->program, id, after);
    return id;
}

static void write_send(writer_t *wr, const fs_transfer_t *t)
{
    fs_place_t     nowhere = {FS_BUF_STAGING, 0, 0};
    const moves_t *moves = &wr->la->moves[(size_t)t->src * wr->la->n + t->dst];
    uint64_t len[MESSAGES], head = fs_u64_min(t->bytes, wr->la->plan->chunk);
    uint32_t n = cut(t->bytes, wr->la->plan->chunk, len), id = FS_NO_OP;
    uint32_t first = work(wr, moves->gather * (double)head, wr->sent[0]);
    uint32_t others =
        work(wr, moves->gather * (double)(t->bytes - head), first);

    work(wr, (double)wr->intra, others);
    for (uint32_t k = 0; k < n; ++k) {
        id = fs_program_send(&wr->program, FS_CH_WIRE, t->dst, nowhere, len[k]);
        if (k == 0) {
            fs_program_after(&wr->program, id, first);
        }
    }
    if (n > 1) {
        fs_program_after(&wr->program, id, others);
    }
    wr->sent[0] = wr->sent[1];
    wr->sent[1] = id;
}

static void write_recv(writer_t *wr, const fs_transfer_t *t)
{
    fs_place_t     nowhere = {FS_BUF_STAGING, 0, 0};
    const moves_t *moves = &wr->la->moves[(size_t)t->src * wr->la->n + t->dst];
    uint64_t       len[MESSAGES];
    uint32_t       n     = cut(t->bytes, wr->la->plan->chunk, len);
    uint32_t       begin = wr->n_recvs;

    for (uint32_t k = 0; k < n; ++k) {
        uint32_t id =
            fs_program_recv(&wr->program, FS_CH_WIRE, t->src, nowhere, len[k]);

        /* As fs_emit_order_wire_recv() does: two senders at a time. */
        while (k == 0 && wr->n_waited + LOOK_AHEAD <= begin) {
            fs_program_after(&wr->program, id, wr->recvs[wr->n_waited++]);
        }
        wr->recvs[wr->n_recvs++] = id;
        work(wr, moves->redist * (double)len[k], id);
    }
}

static uint64_t intra_of_transfer(const lanes_t *la, uint32_t server)
{
    uint64_t n = 0;

    for (size_t k = la->first[server]; k < la->first[server + 1]; ++k) {
        n += la->schedule->transfers[la->order[k]].src == server;
    }
    return n == 0 ? 0 : fs_u64_div_up(la->intra[server], n);
}

static void write_program(writer_t *wr)
{
    const lanes_t *la = wr->la;

    wr->intra = intra_of_transfer(la, wr->server);
    if (wr->intra == 0) {
        work(wr, (double)la->intra[wr->server], FS_NO_OP);
    }
    for (size_t k = la->first[wr->server]; k < la->first[wr->server + 1]; ++k) {
        const fs_transfer_t *t = &la->schedule->transfers[la->order[k]];

        if (t->src == wr->server) {
            write_send(wr, t);
        } else {
            write_recv(wr, t);
        }
    }
}

static fs_status_t add_program(const lanes_t *la, fs_sim_t *sim,
                               uint32_t server)
{
    writer_t    wr = {.la = la, .server = server, .sent = {FS_NO_OP, FS_NO_OP}};
    fs_plan_t   totals = {.window = la->plan->window}, *plan = NULL;
    size_t      n      = la->first[server + 1] - la->first[server];
    fs_status_t status = fs_program_init(&wr.program, la->n);

    wr.recvs = malloc((MESSAGES * n + 1) * sizeof(*wr.recvs));
    if (wr.recvs == NULL) {
        status = FS_ERR_NOMEM;
    }
    if (status == FS_OK) {
        write_program(&wr);
        status = fs_program_seal(&wr.program, &totals, &plan);
    }
    if (status == FS_OK) {
        status = fs_sim_add(sim, server, plan);
    }
    fs_plan_destroy(plan);
    free(wr.recvs);
    fs_program_fini(&wr.program);
    return status;
}

/* ---- the run ---- */

/* FAST's bound; the engine knows one lane only. */
static double optimal(const lanes_t *la, double rate_out)
{
    double most = 0;

    for (uint32_t u = 0; u < la->n; ++u) {
        uint64_t sent = 0, received = 0;
        double   lanes = fs_topo_n_lanes(la->topo, u);

        for (uint32_t w = 0; w < la->n; ++w) {
            sent += u == w ? 0 : la->bytes[(size_t)u * la->n + w];
            received += u == w ? 0 : la->bytes[(size_t)w * la->n + u];
        }
        if ((double)fs_u64_max(sent, received) / lanes > most) {
            most = (double)fs_u64_max(sent, received) / lanes;
        }
    }
    return most / rate_out;
}

static void set_result(const lanes_t *la, const fs_sim_params_t *params,
                       fs_sim_result_t *r)
{
    uint64_t inside = 0;

    for (uint32_t u = 0; u < la->n; ++u) {
        inside += la->bytes[(size_t)u * la->n + u];
    }
    if (inside < la->total) {
        r->time += 2 * params->alpha_up;
    }
    r->optimal       = optimal(la, params->rate_out);
    r->total_bytes   = la->total;
    r->wire_bytes    = la->total - inside;
    r->up_bytes      = la->up;
    r->copy_bytes    = la->self;
    r->staging_bytes = 0;
    if (r->time > 0) {
        r->algo_bandwidth = (double)la->total / fs_topo_n_ranks(la->topo) /
                            r->time;
    }
}

static fs_status_t simulate(lanes_t *la, const fs_sim_params_t *params,
                            fs_sim_result_t *result_p)
{
    fs_sim_params_t own = *params;
    fs_sim_result_t result;
    fs_sim_t       *sim;
    char            why[128];
    fs_status_t     status;

    own.rate_copy = params->rate_up;
    status        = fs_sim_create(la->servers, &own, &sim);
    if (status != FS_OK) {
        return status;
    }
    for (uint32_t s = 0; s < la->n && status == FS_OK; ++s) {
        status = add_program(la, sim, s);
    }
    if (status == FS_OK) {
        status = fs_sim_run(sim, &result, why, sizeof(why));
    }
    fs_sim_destroy(sim);
    if (status == FS_OK) {
        set_result(la, params, &result);
        *result_p = result;
    }
    return status;
}

fs_status_t fs_sim_run_lanes(const fs_topo_t *topo, const uint64_t *rank_bytes,
                             const fs_plan_params_t *plan,
                             const fs_sim_params_t  *params,
                             fs_sim_result_t        *result_p)
{
    lanes_t     la = {.topo = topo, .plan = plan, .n = topo->n_servers};
    fs_status_t status;

    if (params->fabric != FS_SIM_SWITCH) {
        return FS_ERR_UNSUPPORTED;
    }
    if (plan->chunk == 0 || plan->window == 0) {
        return FS_ERR_INVAL;
    }
    status = alloc_lanes(&la);
    for (uint32_t u = 0; u < la.n; ++u) {
        for (uint32_t w = 0; w < la.n && status == FS_OK; ++w) {
            status = add_tile(&la, rank_bytes, u, w);
        }
    }
    if (status == FS_OK) {
        status = make_schedule(&la);
    }
    if (status == FS_OK) {
        status = simulate(&la, params, result_p);
    }
    free_lanes(&la);
    return status;
}
