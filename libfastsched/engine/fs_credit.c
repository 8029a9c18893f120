/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/fs_credit.h"

#include "base/fs_arith.h"

#include "base/fs_assert.h"

#include <stdlib.h>

/* ---- a grant ---- */

enum { MAX_AWAITED = 255 }; /* more than any window */

/* It grows with each message that is granted, and with each that arrives. */
static uint64_t encode(uint64_t granted, uint64_t n_awaited)
{
    fs_assert(n_awaited <= MAX_AWAITED);
    return granted * (MAX_AWAITED + 1) - n_awaited;
}

uint64_t fs_credits_granted_below(uint64_t grant)
{
    return fs_u64_div_up(grant, MAX_AWAITED + 1);
}

static uint64_t arrived_below(uint64_t grant)
{
    uint64_t granted = fs_credits_granted_below(grant);

    return granted - (granted * (MAX_AWAITED + 1) - grant);
}

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
    fs_credit_t *wire = &wires->peer[peer];

    ++wire->n_recvs;
    if (wire->is_local_peer) {
        wire->granted_by_us = wire->received_before + wire->n_recvs;
    }
}

/* The counts of this call become those of earlier calls. */
void fs_credits_end(fs_credits_t *wires)
{
    for (uint32_t r = 0; r < wires->n_ranks; ++r) {
        fs_credit_t *wire = &wires->peer[r];

        wire->sent_before += wire->n_sends;
        wire->received_before += wire->n_recvs;
    }
}

/* ---- what we may send ---- */

bool fs_credits_is_confirmed(const fs_credits_t *wires, uint32_t peer)
{
    const fs_credit_t *wire = &wires->peer[peer];

    return wire->arrived >= wire->sent_before + wire->n_sends;
}

void fs_credits_granted(fs_credits_t *wires, uint32_t peer, uint64_t grant)
{
    fs_credit_t *wire = &wires->peer[peer];

    wires->n_unconfirmed -= !fs_credits_is_confirmed(wires, peer);
    wire->granted_to_us =
        fs_u64_max(wire->granted_to_us, fs_credits_granted_below(grant));
    wire->arrived = fs_u64_max(wire->arrived, arrived_below(grant));
    wires->n_unconfirmed += !fs_credits_is_confirmed(wires, peer);
}

/* ---- our senders ---- */

/* A sender with little left does not count: the next one may begin. */
static bool counts(const fs_credits_t *wires, const fs_credit_t *wire)
{
    return wire->awaited_bytes > wires->look_ahead;
}

/* What the peer may know by now. */
static uint64_t newest_grant(const fs_credit_t *wire)
{
    return encode(wire->granted_by_us,
                  wire->granted_by_us - wire->received_before - wire->n_recvd);
}

uint64_t fs_credits_grant_again(fs_credits_t *wires, uint32_t peer)
{
    fs_credit_t *wire = &wires->peer[peer];

    wire->last_grant = newest_grant(wire);
    return wire->last_grant;
}

uint64_t fs_credits_grant(fs_credits_t *wires, uint32_t peer, uint32_t seq)
{
    fs_credit_t *wire = &wires->peer[peer];

    wire->granted_by_us = wire->received_before + seq + 1;
    return fs_credits_grant_again(wires, peer);
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

void fs_credits_arrived(fs_credits_t *wires, uint32_t peer, uint64_t len_bytes)
{
    fs_credit_t *wire = &wires->peer[peer];

    wires->n_senders -= counts(wires, wire);
    wire->awaited_bytes -= len_bytes;
    wires->n_senders += counts(wires, wire);
    ++wire->n_recvd;
}

/* Inside a server only the last one is news. */
bool fs_credits_has_news(const fs_credits_t *wires, uint32_t peer)
{
    const fs_credit_t *wire = &wires->peer[peer];

    return (!wire->is_local_peer || wire->n_recvd == wire->n_recvs) &&
           newest_grant(wire) != wire->last_grant;
}
