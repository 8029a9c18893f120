/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary exchange: what all ranks must know before they decide. */
#ifndef FS_META_H
#define FS_META_H

#include "net/fs_transport.h"

/* What one rank says, and what all ranks hear. */
typedef struct fs_meta_word {
    uint64_t flags;     /* OR over all ranks */
    uint64_t max_inter; /* maximum */
    uint64_t max_ns;    /* maximum */
    uint64_t min_ns;    /* minimum of those that are not 0 */
    uint64_t sum[2];    /* sums modulo 2^64, of digests */
} fs_meta_word_t;

typedef struct fs_meta fs_meta_t;

/* The rank of a server that speaks to other servers: the proxy of lane 0. */
uint32_t fs_meta_leader(const fs_topo_t *topo, uint32_t server);

/* What the ranks of a server would share, bytes; 0 if it has only one. */
size_t fs_meta_shared_bytes(const fs_topo_t *topo, uint32_t server);

/*
 * A round has three steps: local ranks to their leader, leaders among each
 * other, leaders to their local ranks. In a summary round the counts go along:
 * P + P numbers inside the server, N numbers per leader and message on the slow
 * network, never P x P.
 *
 * topo, transport and shared are borrowed for life. shared is memory of
 * fs_meta_shared_bytes(), zeroed, that all ranks of the server have mapped:
 * then only leaders send messages. It is NULL on all of them or on none.
 * FS_OK, FS_ERR_NOMEM.
 */
fs_status_t fs_meta_create(const fs_topo_t *topo, uint32_t rank,
                           fs_transport_t *transport, void *shared,
                           fs_meta_t **meta_p);
void        fs_meta_destroy(fs_meta_t *meta);

/* Begin a summary round: mine and this rank's counts, copied. Under the net's lock,
 * like fs_meta_progress(). */
fs_status_t fs_meta_start_summary(fs_meta_t *meta, const fs_meta_word_t *mine,
                                  const fs_counts_t *counts);

/* Begin a round of words only: do all ranks agree? */
fs_status_t fs_meta_start_agree(fs_meta_t *meta, const fs_meta_word_t *mine);

/* FS_INPROGRESS; FS_OK: the results below are set; an error of the transport,
 * after which meta is dead. */
fs_status_t fs_meta_progress(fs_meta_t *meta);

/* For people: does the round wait for a word of this rank? */
bool fs_meta_awaits(const fs_meta_t *meta, uint32_t rank);

/* Of the last round; valid until the next start. */
const fs_meta_word_t *fs_meta_word(const fs_meta_t *meta);
/* Of the last summary; read only, valid until the next one starts.
 * [N x N] bytes between servers. */
uint64_t *fs_meta_matrix(const fs_meta_t *meta);
/* [n_local x n_ranks] counts of this server's ranks. */
const uint64_t *fs_meta_local_send(const fs_meta_t *meta);
const uint64_t *fs_meta_local_recv(const fs_meta_t *meta);
/* Bytes this rank has sent to other servers, all rounds. */
uint64_t fs_meta_wire_bytes(const fs_meta_t *meta);

#endif
