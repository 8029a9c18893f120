/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a rank knows of its peers on other servers: how many messages each may
 * send, and has to.
 *
 * Grants count messages over the life of the communicator, so a grant that
 * comes early, before this rank has even entered the call, is simply kept.
 * After the last message of a call the receiver grants one more: the sender
 * then knows that everything has arrived and may leave, although a "sent"
 * message may sit in a buffer of the network until the next progress.
 *
 * Inside a server nobody waits for a grant. But where messages there can sit in
 * such a buffer as well they are counted, for the word after the last one.
 */
#ifndef FS_CREDIT_H
#define FS_CREDIT_H

#include "fastsched_exec.h"

/* One peer. Counts of messages since creation, if not of a call. */
typedef struct fs_credit {
    uint64_t granted_to_us; /* we may send messages numbered below */
    uint64_t granted_by_us;
    uint64_t sent_before; /* in earlier calls, arrival words included */
    uint64_t received_before;
    uint32_t n_sends; /* in this call, of those that are counted */
    uint32_t n_recvs;
    uint32_t n_recvd;
    uint64_t awaited_bytes; /* granted, and not here yet */
    bool     is_local_peer; /* of this server, with messages in this call */
} fs_credit_t;

typedef struct fs_credits {
    fs_credit_t *peer; /* [n_ranks] */
    uint32_t     n_ranks;
    uint32_t     n_unconfirmed; /* peers whose arrival word is due */
    uint64_t     look_ahead;    /* of the plan */
    uint32_t n_senders; /* peers that have more to send than the look-ahead */
    uint32_t peak_senders;
} fs_credits_t;

/* FS_OK, FS_ERR_NOMEM */
fs_status_t fs_credits_init(fs_credits_t *wires, uint32_t n_ranks);
void        fs_credits_fini(fs_credits_t *wires);

/* A call begins, without messages so far; it ends. */
void fs_credits_begin(fs_credits_t *wires, uint64_t look_ahead);
void fs_credits_end(fs_credits_t *wires);

/* A message of the call, to the peer or from it. */
void fs_credits_add_send(fs_credits_t *wires, uint32_t peer);
void fs_credits_add_recv(fs_credits_t *wires, uint32_t peer);

/* The peer has granted; a grant may be repeated. */
void fs_credits_granted(fs_credits_t *wires, uint32_t peer, uint64_t count);

/* A message that the peer may send, and its arrival. The latter is true for the
 * last one of the call. */
void fs_credits_await(fs_credits_t *wires, uint32_t peer, uint64_t len_bytes);
bool fs_credits_arrived(fs_credits_t *wires, uint32_t peer, uint64_t len_bytes);

/* Has the peer confirmed that all data of this call has arrived? */
bool fs_credits_is_confirmed(const fs_credits_t *wires, uint32_t peer);

#endif
