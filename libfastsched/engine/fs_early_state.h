/* SPDX-License-Identifier: BSD-3-Clause */
/* The internals of the early exchange: fs_early.c moves blocks, fs_early_words.c is what
 * peers tell each other of them. */
#ifndef FS_EARLY_STATE_H
#define FS_EARLY_STATE_H

#include "engine/fs_early.h"

enum {
    FS_EARLY_AHEAD  = 3, /* chunks under way from the peer in turn, or to it */
    FS_EARLY_OFFERS = 48 /* chunks that a peer may be offered to send */
};

typedef struct peer peer_t;

/* A chunk on its way. */
typedef struct chunk {
    fs_xfer_t   xfer; /* first */
    fs_early_t *early;
    peer_t     *peer;
    bool        in_flight;
    uint32_t    number;
    bool        is_cancelled; /* a receive that nothing will come for */
} chunk_t;

/* Counts are of this call. */
struct peer {
    uint32_t rank;
    bool     is_ours; /* fs_early_talk() */
    bool     is_here; /* it has entered the call, and takes part */
    bool     has_news;
    bool     says_more; /* our word has changed */
    uint64_t heard;     /* its word */
    /* What comes from it. */
    bool     is_busy; /* it has declined, and has not been free since */
    uint32_t n_offered, n_declined, n_posted, n_arrived;
    uint32_t frees_heard;
    uint64_t got_bytes;
    uint32_t n_taken_there; /* of our offers */
    bool     was_silent;    /* nothing has come for long */
    chunk_t  in[FS_EARLY_AHEAD];
    /* What goes to it. */
    bool     waits; /* we have declined, and have not been free since */
    uint32_t n_asked, n_refused, n_taken, n_sent, n_there, n_frees;
    chunk_t  out[FS_EARLY_AHEAD];
};

struct fs_early {
    fs_transport_t  *transport;
    const fs_topo_t *topo;
    uint32_t         rank;
    const fs_call_t *call;
    uint32_t         number;
    uint64_t         chunk;
    bool             takes_part; /* its blocks can be used where they are */
    bool             is_closed;
    bool             has_moved; /* something has changed since the last turn */
    fs_status_t      status;
    uint64_t         patience_ns, now_ns;
    peer_t          *from, *to;      /* NULL: none */
    uint64_t         from_ns, to_ns; /* since then nothing has come from it */
    uint32_t         n_sending, n_receives; /* in flight */
    uint64_t         sent_bytes;            /* for fs_early_take_bytes() */
    uint32_t         n_chunks;              /* sent in this call */
    uint32_t         n_more; /* that may be taken when it is closed */
    peer_t          *peer;   /* [n_ranks] */
    fs_counts_t      counts; /* of the rest */
    fs_call_t        rest;
    const void     **send_block; /* [n_ranks] likewise */
    void           **recv_block;
};

/* The first error is kept. */
void fs_early_fail(fs_early_t *early, fs_status_t status);

/* A word or a chunk has come from the peer. */
void fs_early_heard_from(fs_early_t *early, peer_t *p);

/* The transport's noted(); arg is the exchange. */
void fs_early_noted(void *arg, uint32_t rank, uint64_t word);

/* Take in the peer's last word. */
void fs_early_hear(fs_early_t *early, peer_t *p);

/* Tell the peer what has changed. */
void fs_early_say(fs_early_t *early, peer_t *p);

#endif
