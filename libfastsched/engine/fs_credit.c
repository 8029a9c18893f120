/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/fs_credit.h"

#include <stdlib.h>

fs_status_t fs_credits_init(fs_credits_t *wires, uint32_t n_ranks)
{
    *wires      = (fs_credits_t){.n_ranks = n_ranks};
    wires->peer = calloc(n_ranks, sizeof(*wires->peer));
    return wires->peer == NULL ? FS_ERR_NOMEM : FS_OK;
}

void fs_credits_fini(fs_credits_t *wires)
{
    free(wires->peer);
}

/* ---- a call ---- */

void fs_credits_begin(fs_credits_t *wires, uint64_t look_ahead)
{
    wires->look_ahead    = look_ahead;
    wires->n_unconfirmed = wires->n_senders = 0;
    for (uint32_t r = 0; r < wires->n_ranks; ++r) {
        fs_credit_t *wire = &wires->peer[r];

        wire->n_sends = wire->n_recvs = wire->n_recvd = 0;
        wire->awaited_bytes                           = 0;
        wire->is_local_peer                           = false;
    }
}

void fs_credits_add_send(fs_credits_t *wires, uint32_t peer)
{
    wires->n_unconfirmed += wires->peer[peer].n_sends++ == 0;
}

void fs_credits_add_recv(fs_credits_t *wires, uint32_t peer)
{
    ++wires->peer[peer].n_recvs;
}

/* The counts of this call become those of earlier calls. */
void fs_credits_end(fs_credits_t *wires)
{
    for (uint32_t r = 0; r < wires->n_ranks; ++r) {
        fs_credit_t *wire = &wires->peer[r];

        wire->sent_before += wire->n_sends > 0 ? wire->n_sends + 1 : 0;
        wire->received_before += wire->n_recvs > 0 ? wire->n_recvs + 1 : 0;
    }
}

/* ---- what we may send ---- */

bool fs_credits_is_confirmed(const fs_credits_t *wires, uint32_t peer)
{
    const fs_credit_t *wire = &wires->peer[peer];

    return wire->n_sends == 0 ||
           wire->granted_to_us > wire->sent_before + wire->n_sends;
}

void fs_credits_granted(fs_credits_t *wires, uint32_t peer, uint64_t count)
{
    fs_credit_t *wire = &wires->peer[peer];

    if (count > wire->granted_to_us) {
        wires->n_unconfirmed -= !fs_credits_is_confirmed(wires, peer);
        wire->granted_to_us = count;
        wires->n_unconfirmed += !fs_credits_is_confirmed(wires, peer);
    }
}

/* ---- our senders ---- */

/* A sender with little left does not count: the next one may begin. */
static bool counts(const fs_credits_t *wires, const fs_credit_t *wire)
{
    return wire->awaited_bytes > wires->look_ahead;
}

void fs_credits_await(fs_credits_t *wires, uint32_t peer, uint64_t len_bytes)
{
    fs_credit_t *wire = &wires->peer[peer];

    wires->n_senders -= counts(wires, wire);
    wire->awaited_bytes += len_bytes;
    wires->n_senders += counts(wires, wire);
    if (wires->n_senders > wires->peak_senders) {
        wires->peak_senders = wires->n_senders;
    }
}

bool fs_credits_arrived(fs_credits_t *wires, uint32_t peer, uint64_t len_bytes)
{
    fs_credit_t *wire = &wires->peer[peer];

    wires->n_senders -= counts(wires, wire);
    wire->awaited_bytes -= len_bytes;
    wires->n_senders += counts(wires, wire);
    return ++wire->n_recvd == wire->n_recvs;
}
