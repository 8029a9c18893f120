/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary exchange: what all ranks must know before they decide. */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include "net/fs_transport.h"

/* The vote of one rank, and the result: all votes combined. */
typedef struct fs_control_vote {
    uint64_t flags;     /* OR over all ranks */
    uint64_t max_inter; /* maximum */
    uint64_t max_ns;    /* maximum */
    uint64_t min_ns;    /* minimum of those that are not 0 */
    uint64_t sum[2];    /* sums modulo 2^64, of digests */
} fs_vote_t;

typedef struct fs_control fs_control_t;

/* The rank of a server that exchanges with other servers: the proxy of lane
 * 0. */
uint32_t fs_control_leader(const fs_topo_t *topo, uint32_t server);

/* Bytes of memory that the ranks of a server share; 0 if it has only one. */
size_t fs_control_shared_bytes(const fs_topo_t *topo, uint32_t server);

/*
 * A round has three steps: local ranks to their leader, leaders to each other,
 * leaders to their local ranks. A summary round includes the counts:
 * P + P numbers inside the server, N numbers per leader and message on the slow
 * network, never P x P.
 *
 * topo, transport and shared are borrowed for life. shared is memory of
 * fs_control_shared_bytes(), zeroed, that all ranks of the server have mapped:
 * then only leaders send messages. It is NULL on all of them or on none.
 * FS_OK, FS_ERR_NOMEM.
 */
fs_status_t fs_control_create(const fs_topo_t *topo, uint32_t rank,
                              fs_transport_t *transport, void *shared,
                              fs_control_t **control_p);
void        fs_control_destroy(fs_control_t *control);

/* Begin a summary round: mine and this rank's counts, copied. Under the net's lock,
 * like fs_control_progress(). */
fs_status_t fs_control_start_summary(fs_control_t      *control,
                                     const fs_vote_t   *mine,
                                     const fs_counts_t *counts);

/* Begin a round of votes without counts. */
fs_status_t fs_control_start_agree(fs_control_t    *control,
                                   const fs_vote_t *mine);

/* FS_INPROGRESS; FS_OK: the results below are set; an error of the transport,
 * after which the object cannot be used any more. */
fs_status_t fs_control_progress(fs_control_t *control);

/* For messages: does the round wait for the vote of this rank? */
bool fs_control_awaits(const fs_control_t *control, uint32_t rank);

/* Of the last round; valid until the next start. */
const fs_vote_t *fs_control_vote(const fs_control_t *control);
/* Of the last summary; read only, valid until the next one starts.
 * [N x N] bytes between servers. */
uint64_t *fs_control_matrix(const fs_control_t *control);
/* [n_local x n_ranks] counts of this server's ranks. */
const uint64_t *fs_control_local_send(const fs_control_t *control);
const uint64_t *fs_control_local_recv(const fs_control_t *control);
/* Bytes this rank has sent to other servers, all rounds. */
uint64_t fs_control_wire_bytes(const fs_control_t *control);

#endif
