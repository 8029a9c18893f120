/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/fs_control_state.h"
#include "sched/model/fs_topo.h"

/* Who expects instalments has no room for a bundle: then ranks are in different calls. */
static fs_status_t wrong_length(const fs_control_t *control, uint32_t peer)
{
    uint32_t server = fs_topo_server(control->topo, peer);

    return fs_control_is_lane(control) && control->servers[server].comes.n > 0
               ? FS_ERR_MISMATCH
               : FS_ERR_TRUNCATE;
}

static void message_ended(fs_xfer_t *xfer, fs_status_t status,
                          uint64_t len_bytes)
{
    fs_pending_t *pending = (fs_pending_t *)xfer;
    fs_control_t *control = pending->control;
    bool          fits    = pending->at_least ? len_bytes >= pending->len_bytes
                                              : len_bytes == pending->len_bytes;

    --control->n_pending;
    control->n_receiving -= pending->receives;
    ++control->transport->net->n_ended;
    pending->ended     = true;
    pending->len_bytes = len_bytes;
    if (control->status == FS_OK) {
        control->status = status == FS_ERR_TRUNCATE ||
                                  (status == FS_OK && !fits)
                              ? wrong_length(control, pending->peer)
                              : status;
    }
}

/* A transfer that is about to be posted. */
static fs_pending_t *add_pending(fs_control_t *control, uint32_t peer,
                                 uint64_t len_bytes, bool at_least)
{
    fs_pending_t *pending = &control->pending[control->n_posted];

    *pending = (fs_pending_t){.xfer.done = message_ended,
                              .control   = control,
                              .len_bytes = len_bytes,
                              .at_least  = at_least,
                              .peer      = peer};
    ++control->n_posted;
    ++control->n_pending;
    return pending;
}

static void check_post(fs_pending_t *pending, fs_status_t status)
{
    fs_control_t *control = pending->control;

    if (status != FS_OK) {
        --control->n_pending;
        control->n_receiving -= pending->receives;
        control->status = status;
    }
}

static uint32_t key_of(const fs_control_t *control, uint32_t kind)
{
    return fs_key(FS_CH_LAST, (uint32_t)control->round, kind);
}

void fs_control_send(fs_control_t *control, uint32_t peer, uint32_t kind,
                     const void *message, uint64_t len_bytes)
{
    if (control->status == FS_OK) {
        fs_pending_t *pending = add_pending(control, peer, len_bytes, false);

        check_post(pending, control->transport->ops->send(
                                control->transport, peer, key_of(control, kind),
                                message, len_bytes, &pending->xfer));
        if (fs_topo_server(control->topo, peer) != control->server) {
            control->wire_bytes += len_bytes;
        }
    }
}

/* A message of least to most bytes. NULL after an error. */
fs_pending_t *fs_control_recv(fs_control_t *control, uint32_t peer,
                              uint32_t kind, void *message, uint64_t least,
                              uint64_t most)
{
    fs_pending_t *pending;

    if (control->status != FS_OK) {
        return NULL;
    }
    pending           = add_pending(control, peer, least, least < most);
    pending->receives = true;
    ++control->n_receiving;
    check_post(pending, control->transport->ops->recv(
                            control->transport, peer, key_of(control, kind),
                            message, most, &pending->xfer));
    return pending;
}

/* ---- inside a server ---- */

static size_t up_len(const fs_control_t *control)
{
    return fs_control_block_message_len(&control->block, control->summary);
}

void fs_control_post_up(fs_control_t *control)
{
    uint64_t len = up_len(control) * sizeof(*control->up);
    uint64_t down =
        fs_control_block_result_len(&control->block, control->summary) *
        sizeof(uint64_t);

    if (!fs_control_is_leader(control)) {
        fs_control_block_pack(&control->block, control->local, control->summary,
                              control->up);
        (void)fs_control_recv(control, control->leader, FS_CONTROL_FROM_LEADER,
                              control->block.vote, down, down);
        fs_control_send(control, control->leader, FS_CONTROL_TO_LEADER,
                        control->up, len);
        return;
    }
    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (i != control->local) {
            (void)fs_control_recv(
                control, fs_topo_rank(control->topo, control->server, i),
                FS_CONTROL_TO_LEADER, control->up + i * up_len(control), len,
                len);
        }
    }
}

void fs_control_unpack(fs_control_t *control)
{
    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (i != control->local) {
            fs_control_block_unpack(&control->block, i, control->summary,
                                    control->up + i * up_len(control));
        }
    }
}

void fs_control_post_down(fs_control_t *control)
{
    uint64_t len =
        fs_control_block_result_len(&control->block, control->summary) *
        sizeof(uint64_t);

    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (i != control->local) {
            fs_control_send(control,
                            fs_topo_rank(control->topo, control->server, i),
                            FS_CONTROL_FROM_LEADER, control->block.vote, len);
        }
    }
}
