/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round, rank by rank.
 *
 *   COLLECT   lane: all local ranks have said     others: over to WAIT
 *             -> EXCHANGE
 *   EXCHANGE  lane: the messages of its servers are here, say so
 *             -> WAIT
 *   WAIT      all lanes have said so -> IDLE
 *
 * Where a server's ranks have no memory in common, messages carry what each has to
 * say to the proxy of lane 0, the leader, and the result back. Then lane 0 of every
 * server does all, and there are no bundles.
 */
#include "comm/fs_control_state.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

uint32_t fs_control_leader(const fs_topo_t *topo, uint32_t server)
{
    return fs_topo_rank(topo, server, fs_topo_proxy(topo, server, 0));
}

size_t fs_control_shared_bytes(const fs_topo_t *topo, uint32_t server,
                               uint64_t bundle_memory)
{
    return fs_topo_n_local(topo, server) == 1
               ? 0
               : fs_control_block_bytes(topo, server, bundle_memory);
}

/* ---- create, destroy ---- */

static fs_status_t alloc(fs_control_t *control, const fs_control_setup_t *setup)
{
    size_t      n      = fs_topo_n_servers(control->topo);
    fs_status_t status = fs_control_block_init(
        &control->block, control->topo, control->server,
        control->messages ? 0 : setup->bundle_memory, setup->shared);

    if (status != FS_OK) {
        return status;
    }
    control->pending =
        calloc(2 * (n * (1 + fs_instalments_max(control)) + control->n_local),
               sizeof(*control->pending));
    if (control->messages) {
        control->up =
            calloc((fs_control_is_leader(control) ? control->n_local : 1) *
                       fs_control_block_message_len(&control->block, true),
                   sizeof(*control->up));
    }
    control->pairs     = calloc(n, sizeof(*control->pairs));
    control->least_cut = UINT64_MAX;
    if (control->pairs == NULL) {
        return FS_ERR_NOMEM;
    }
    if (setup->all_share) {
        status = fs_lane_pairs(control->topo, control->server, control->pairs,
                               &control->least_cut);
    }
    if (status == FS_OK && fs_control_is_lane(control)) {
        status = fs_lane_alloc(control);
    }
    return control->pending != NULL &&
                   (!control->messages || control->up != NULL)
               ? status
               : FS_ERR_NOMEM;
}

/* Bytes of blocks that fit in a bundle where there is the least room, and where the
 * most. */
static void find_room(fs_control_t *control)
{
    const fs_topo_t *topo  = control->topo;
    uint64_t         least = UINT64_MAX, front;
    uint32_t         most  = 0; /* ranks of a server */

    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        uint64_t bytes =
            fs_control_bundle_bytes(topo, u, control->bundle_memory);

        most                 = fs_u32_max(most, fs_topo_n_local(topo, u));
        least                = fs_u64_min(least, bytes);
        control->bundle_most = fs_u64_max(control->bundle_most, bytes);
    }
    front = fs_bundle_ends_len(most) + most * fs_part_front_max(most);
    control->bundle_max = least > front ? least - front : 0;
}

fs_status_t fs_control_create(const fs_control_setup_t *setup, uint32_t rank,
                              fs_control_t **control_p)
{
    const fs_topo_t *topo    = setup->topo;
    fs_control_t    *control = calloc(1, sizeof(*control));
    fs_status_t      status;

    if (control == NULL) {
        return FS_ERR_NOMEM;
    }
    control->topo          = topo;
    control->transport     = setup->transport;
    control->rank          = rank;
    control->server        = fs_topo_server(topo, rank);
    control->leader        = fs_control_leader(topo, control->server);
    control->n_local       = fs_topo_n_local(topo, control->server);
    control->local         = fs_topo_local(topo, rank);
    control->messages      = setup->shared == NULL && control->n_local > 1;
    control->all_share     = setup->all_share;
    control->bundle_memory = setup->bundle_memory;
    control->n_lanes = setup->all_share ? fs_topo_n_lanes(topo, control->server)
                                        : 1;
    if (setup->all_share) {
        find_room(control);
    }
    control->lane = fs_topo_lane(topo, rank);
    if (control->lane >= control->n_lanes) {
        control->lane = FS_NO_LANE;
    }
    status = alloc(control, setup);
    if (status != FS_OK) {
        fs_control_destroy(control);
        return status;
    }
    *control_p = control;
    return FS_OK;
}

void fs_control_destroy(fs_control_t *control)
{
    if (control != NULL) {
        fs_control_block_fini(&control->block);
        free(control->up);
        free(control->pending);
        free(control->head);
        free(control->pieces);
        free(control->ends);
        free(control->room);
        free(control->todo);
        free(control->pairs);
        free(control->servers);
        free(control);
    }
}

/* ---- inside a server ---- */

static bool all_said(fs_control_t *control)
{
    while (control->n_said < control->n_local &&
           fs_control_has_said(control, control->n_said)) {
        ++control->n_said;
    }
    return control->n_said == control->n_local;
}

static bool lanes_are_through(const fs_control_t *control)
{
    for (uint32_t k = 0; k < control->n_lanes; ++k) {
        if (!fs_control_block_is_round(
                fs_control_block_lane(&control->block, k), control->round)) {
            return false;
        }
    }
    return true;
}

/* An error of a lane is one of all local ranks. */
static void share_failure(fs_control_t *control)
{
    if (control->messages) {
        return;
    }
    if (control->status != FS_OK) {
        atomic_store(control->block.failed, control->status);
    } else {
        control->status = atomic_load(control->block.failed);
    }
}

/* ---- steps ---- */

static void enter_collect(fs_control_t *control)
{
    control->state  = FS_CONTROL_COLLECT;
    control->n_said = 0;
    if (fs_control_is_lane(control)) {
        fs_lane_begin(control);
    }
    if (control->messages) {
        fs_control_post_up(control);
    } else {
        fs_control_block_write_round(
            fs_control_block_said(&control->block, control->local),
            control->round);
    }
}

static void enter_exchange(fs_control_t *control)
{
    control->state = FS_CONTROL_EXCHANGE;
    if (control->messages) {
        fs_control_unpack(control);
    }
    fs_lane_send(control);
}

static void enter_wait(fs_control_t *control)
{
    control->state = FS_CONTROL_WAIT;
    if (!control->messages && fs_control_is_lane(control)) {
        fs_control_block_write_round(
            fs_control_block_lane(&control->block, control->lane),
            control->round);
    } else if (control->messages && fs_control_is_leader(control)) {
        fs_lane_add_votes(control);
        *control->block.vote = control->vote;
        fs_control_post_down(control);
    }
}

static void enter_idle(fs_control_t *control)
{
    control->state = FS_CONTROL_IDLE;
    if (control->messages) {
        control->vote = *control->block.vote;
    } else {
        fs_lane_add_votes(control);
    }
}

/* COLLECT is over when a lane knows what its server has to say; with messages
 * those of its ranks are here, heads may be, too. */
static bool has_collected(fs_control_t *control)
{
    if (!control->messages) {
        return all_said(control);
    }
    for (uint32_t k = 0; k < control->n_posted; ++k) {
        if (!control->pending[k].ended &&
            fs_topo_server(control->topo, control->pending[k].peer) ==
                control->server) {
            return false;
        }
    }
    return true;
}

/* Is there another step to be taken at once? */
static bool take_step(fs_control_t *control)
{
    switch (control->state) {
    case FS_CONTROL_COLLECT:
        if (!fs_control_is_lane(control)) {
            enter_wait(control);
            return true;
        }
        if (has_collected(control)) {
            enter_exchange(control);
            return true;
        }
        fs_instalments_send(control);
        break;
    case FS_CONTROL_EXCHANGE:
        if (fs_lane_progress(control)) {
            enter_wait(control);
            return true;
        }
        break;
    case FS_CONTROL_WAIT:
        if (control->n_pending == 0 &&
            (control->messages || lanes_are_through(control))) {
            enter_idle(control);
        }
        break;
    case FS_CONTROL_IDLE:
        break;
    }
    return false;
}

static fs_status_t start(fs_control_t *control, const fs_vote_t *mine)
{
    ++control->round;
    control->n_posted = 0;
    memcpy(fs_control_block_row(&control->block, control->local), mine,
           sizeof(*mine));
    enter_collect(control);
    return control->status;
}

fs_status_t fs_control_start_summary(fs_control_t    *control,
                                     const fs_vote_t *mine)
{
    fs_vote_t vote = *mine;

    control->summary = true;
    vote.flags |= control->all_know ? FS_VOTE_UNIFORM : FS_VOTE_ROWS;
    vote.flags |= control->block_bytes > 0 ? FS_VOTE_EQUAL : 0;
    return start(control, &vote);
}

fs_status_t fs_control_start_agree(fs_control_t *control, const fs_vote_t *mine)
{
    control->summary = false;
    return start(control, mine);
}

fs_status_t fs_control_progress(fs_control_t *control)
{
    while (control->status == FS_OK && take_step(control)) {
    }
    if (control->status != FS_OK || control->state != FS_CONTROL_IDLE) {
        share_failure(control);
    }
    return control->status != FS_OK            ? control->status
           : control->state == FS_CONTROL_IDLE ? FS_OK
                                               : FS_INPROGRESS;
}

bool fs_control_waits_inside(const fs_control_t *control)
{
    return !control->messages &&
           ((control->state == FS_CONTROL_COLLECT &&
             control->n_pending == control->n_receiving) ||
            (control->state == FS_CONTROL_WAIT && control->n_pending == 0));
}

/* ---- results ---- */

const fs_vote_t *fs_control_vote(const fs_control_t *control)
{
    return &control->vote;
}

bool fs_control_fits(const fs_control_t *control, const uint64_t *bytes,
                     uint64_t most)
{
    return most <= control->bundle_max ||
           (most <= control->bundle_most &&
            fs_control_bundles_fit(control->topo, bytes,
                                   control->bundle_memory));
}

bool fs_control_can_be_coarse(const fs_control_t *control, uint64_t most)
{
    return most >= control->least_cut;
}

uint64_t fs_control_own_bytes(const fs_control_t *control)
{
    return control->room_bytes;
}

uint64_t *fs_control_matrix(const fs_control_t *control)
{
    return control->block.matrix;
}

uint64_t *fs_control_rest(const fs_control_t *control)
{
    return control->has_bundles ? control->block.rest : control->block.matrix;
}

const uint64_t *fs_control_local_send(const fs_control_t *control)
{
    return control->block.sends;
}

const uint64_t *fs_control_local_recv(const fs_control_t *control)
{
    return control->block.receives;
}

uint64_t fs_control_take_wire_bytes(fs_control_t *control)
{
    uint64_t bytes = control->wire_bytes;

    control->wire_bytes = 0;
    return bytes;
}

/* All local ranks see who has not said anything yet. After that they wait for the
 * lanes, and only a lane knows for whom. */
static bool awaits_local(const fs_control_t *control, uint32_t rank)
{
    bool     same = fs_topo_server(control->topo, rank) == control->server;
    uint32_t lane = fs_topo_lane(control->topo, rank);

    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (!fs_control_has_said(control, i)) {
            return same && !fs_control_has_said(
                               control, fs_topo_local(control->topo, rank));
        }
    }
    return same && rank != control->rank && lane < control->n_lanes &&
           !fs_control_block_is_round(
               fs_control_block_lane(&control->block, lane), control->round);
}

bool fs_control_awaits(const fs_control_t *control, uint32_t rank)
{
    if (control->state == FS_CONTROL_IDLE) {
        return false;
    }
    for (uint32_t k = 0;
         k < control->n_posted &&
         (control->messages || control->state != FS_CONTROL_COLLECT);
         ++k) {
        if (!control->pending[k].ended && control->pending[k].peer == rank) {
            return true;
        }
    }
    return !control->messages && awaits_local(control, rank);
}
