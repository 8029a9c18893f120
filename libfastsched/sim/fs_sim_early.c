/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As a request does (coll/fs_request_steps.c), for all ranks at once:
 *
 *   alarm of a rank      it enters: fs_early_begin()
 *   the last entry       the agreement is under way
 *   alarm GATHERED       all know: fs_early_close()
 *   a rank is woken      fs_early_progress(), and is it settled?
 *   nothing on its way   the end: what is left is the rest
 */
#include "sim/fs_sim_early.h"

#include "base/fs_arith.h"
#include "base/fs_assert.h"
#include "engine/fs_early.h"
#include "sched/model/fs_topo.h"
#include "sim/fs_sim_transport.h"

#include <stdlib.h>
#include <string.h>

enum { GATHERED = UINT32_MAX, AGREEMENTS = 2 };

typedef struct actor {
    fs_early_t *early;
    fs_counts_t counts;
    fs_call_t   call;
    bool        is_inside;
    bool        is_settled;
} actor_t;

typedef struct play {
    const fs_sim_early_t *call;
    uint32_t              n;
    fs_sim_wire_t         wire;
    actor_t              *actors; /* [n] */
    const void          **blocks; /* [n] no byte of them is touched */
    uint32_t              n_inside, n_settled;
    bool                  is_closed;
    double                more; /* seconds from the last entry to the rest */
    fs_sim_early_result_t result;
} play_t;

/* ---- life ---- */

static fs_status_t add_actors(play_t *play)
{
    fs_status_t status = FS_OK;
    uint8_t    *reach  = malloc(play->n);

    if (reach == NULL) {
        return FS_ERR_NOMEM;
    }
    memset(reach, FS_REACH_WIRE, play->n);
    for (uint32_t r = 0; r < play->n && status == FS_OK; ++r) {
        actor_t *a = &play->actors[r];

        play->blocks[r] = play;
        status          = fs_counts_init(&a->counts, play->n, r);
        if (status == FS_OK) {
            status = fs_early_create(fs_sim_wire_transport(&play->wire, r),
                                     play->call->topo, r, reach, &a->early);
        }
    }
    free(reach);
    return status;
}

static fs_status_t play_init(play_t *play, const fs_sim_early_t *call,
                             const fs_sim_params_t *params)
{
    fs_status_t status = fs_sim_wire_init(&play->wire, call->topo, params);

    play->call   = call;
    play->n      = call->topo->n_ranks;
    play->actors = calloc(play->n, sizeof(*play->actors));
    play->blocks = calloc(play->n, sizeof(*play->blocks));
    play->more   = 2 * params->alpha_out + AGREEMENTS * call->agreement;
    if (play->actors == NULL || play->blocks == NULL) {
        return FS_ERR_NOMEM;
    }
    return status == FS_OK ? add_actors(play) : status;
}

static void play_fini(play_t *play)
{
    for (uint32_t r = 0; play->actors != NULL && r < play->n; ++r) {
        fs_early_destroy(play->actors[r].early, false);
        fs_counts_fini(&play->actors[r].counts);
    }
    free(play->actors);
    free(play->blocks);
    fs_sim_wire_fini(&play->wire);
}

/* ---- what happens ---- */

static void enter(play_t *play, uint32_t rank)
{
    const uint64_t *bytes = play->call->rank_bytes;
    actor_t        *a     = &play->actors[rank];
    size_t          n     = play->n;

    fs_counts_begin(&a->counts, play->call->topo);
    for (uint32_t r = 0; r < n; ++r) {
        fs_counts_add(&a->counts, r, bytes[rank * n + r], bytes[r * n + rank]);
    }
    a->call = (fs_call_t){.counts     = &a->counts,
                          .send_block = play->blocks,
                          .recv_block = (void *const *)play->blocks};
    fs_early_begin(a->early, &a->call, 1, play->result.chunk, 0);
    a->is_inside = true;
    fs_sim_wire_wake(&play->wire, rank);
    if (++play->n_inside == play->n) {
        fs_sim_wire_set_alarm(
            &play->wire, play->wire.net.now + play->call->agreement, GATHERED);
    }
}

static void close_all(play_t *play)
{
    uint64_t now_ns = (uint64_t)(play->wire.net.now * 1e9);

    play->is_closed       = true;
    play->result.gathered = play->wire.net.now;
    for (uint32_t r = 0; r < play->n; ++r) {
        fs_early_close(play->actors[r].early,
                       now_ns - fs_u64_min(now_ns, play->call->entry_ns[r]),
                       (uint64_t)(play->more * 1e9));
        fs_sim_wire_wake(&play->wire, r);
    }
}

static void go_off(void *ctx, uint32_t id)
{
    if (id == GATHERED) {
        close_all(ctx);
    } else {
        enter(ctx, id);
    }
}

static fs_status_t turn(play_t *play, actor_t *a)
{
    fs_status_t status = a->is_inside ? fs_early_progress(a->early, 0) : FS_OK;

    if (play->is_closed && !a->is_settled && fs_early_is_settled(a->early)) {
        a->is_settled = true;
        ++play->n_settled;
        play->result.settled = play->wire.net.now;
    }
    return status;
}

static fs_status_t run(play_t *play)
{
    fs_sim_wire_t *wire   = &play->wire;
    fs_status_t    status = FS_OK;

    wire->alarm = go_off;
    wire->ctx   = play;
    for (uint32_t r = 0; r < play->n; ++r) {
        fs_sim_wire_set_alarm(wire, (double)play->call->entry_ns[r] * 1e-9, r);
    }
    while (status == FS_OK && fs_sim_wire_next(wire)) {
        while (status == FS_OK && wire->n_woken > 0) {
            status = turn(play, &play->actors[fs_sim_wire_take_woken(wire)]);
        }
    }
    return status == FS_OK ? wire->net.status : status;
}

/* ---- what came out ---- */

static void take_rest(play_t *play, uint64_t *rest)
{
    fs_sim_early_result_t *result = &play->result;

    for (uint32_t r = 0; r < play->n; ++r) {
        fs_early_t        *early  = play->actors[r].early;
        const fs_counts_t *counts = fs_early_rest(early)->counts;

        fs_assert(fs_early_is_over(early));
        memcpy(rest + (size_t)r * play->n, counts->send_bytes,
               play->n * sizeof(*rest));
        result->bytes += fs_early_take_bytes(early);
    }
    result->arrived = play->wire.last_byte;
    result->planned = result->settled + AGREEMENTS * play->call->agreement;
    result->ready   = result->arrived > result->planned ? result->arrived
                                                        : result->planned;
    result->n_words = play->wire.n_said;
}

fs_status_t fs_sim_early_run(const fs_sim_early_t  *call,
                             const fs_sim_params_t *params, uint64_t *rest,
                             fs_sim_early_result_t *result_p)
{
    play_t      play = {0};
    fs_bounds_t bounds;
    fs_status_t status;

    if (!fs_early_can(call->topo)) {
        return FS_ERR_UNSUPPORTED;
    }
    status = fs_bounds(call->topo, call->rank_bytes, &bounds);
    if (status != FS_OK) {
        return status;
    }
    play.result.chunk = fs_early_chunk(bounds.server, call->max_chunk);
    status            = play_init(&play, call, params);
    if (status == FS_OK) {
        status = run(&play);
    }
    if (status == FS_OK && play.n_settled < play.n) {
        status = FS_ERR_MISMATCH; /* they wait for each other */
    }
    if (status == FS_OK) {
        take_rest(&play, rest);
        *result_p = play.result;
    }
    play_fini(&play);
    return status;
}
