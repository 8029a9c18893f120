/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ranks do while others have not entered the call: those that are there exchange
 * blocks with each other, as they are, from the front of each block. The schedule for
 * all, made when the last rank has come, is for what is left.
 *
 * Nobody knows the matrix yet, and nobody has to: a rank knows what it sends to a peer
 * and what it gets from it. Each sends to one peer at a time and receives from one:
 *
 *   receiver  offers to take chunks from a peer that has said it is here, the one
 *             with most left for it
 *   sender    takes the offer, if it sends to nobody else, and sends a few chunks
 *             ahead of what has arrived; else declines, and tells those whom it
 *             has declined when it is free, that is when all but the last chunk has
 *             arrived: what is sent may wait in this server for long
 *
 * All of that is in one word per pair and direction, in which counts only grow: a
 * later word stands for those before it.
 *
 * A peer that is here but does not look at the network holds up its own bytes only:
 * until it has answered once it is offered to send no more than what a sender has
 * under way, and whoever waits for it for long turns to others.
 *
 * When all have entered no rank offers any more, and each waits for the answers to its
 * last offers: then both ends of a pair know what goes early, and the plan for the rest
 * can be made while the last of it is still on its way.
 */
#ifndef FS_EARLY_H
#define FS_EARLY_H

#include "engine/fs_exec.h"
#include "net/fs_transport.h"

typedef struct fs_early fs_early_t;

/* Has each rank a NIC of its own, and are there no more than 1,024? The transport has
 * to have note(), too. */
bool fs_early_can(const fs_topo_t *topo);

/* Do these ranks exchange with each other? Each does with MOST_PEERS at most, or with
 * those of its lane. */
bool fs_early_talk(const fs_topo_t *topo, uint32_t a, uint32_t b);

/* Bytes of a chunk in calls with this lower bound, bytes per lane; most at most. */
uint64_t fs_early_chunk(uint64_t bound, uint64_t most);

/* reach: [n_ranks] fs_reach_t; others than these borrowed for life. FS_OK,
 * FS_ERR_NOMEM. */
fs_status_t fs_early_create(fs_transport_t *transport, const fs_topo_t *topo,
                            uint32_t rank, const uint8_t *reach,
                            fs_early_t **early_p);
/* lost: the network may still use its memory, which stays allocated. NULL is fine. */
void fs_early_destroy(fs_early_t *early, bool lost);

/* A call begins, borrowed until it ends. number: of the calls of the communicator;
 * chunk: bytes; both are equal on all ranks. patience_ns: in a nonblocking call a peer
 * may compute, and answers nothing meanwhile; who has waited so long for it turns to
 * others. 0: no peer does. Under the net's lock, like all that follows. */
void fs_early_begin(fs_early_t *early, const fs_call_t *call, uint32_t number,
                    uint64_t chunk, uint64_t patience_ns);

/* Go on, until it is over and all ranks are settled: one may still have to be
 * answered. FS_OK, or the first error of the transport. */
fs_status_t fs_early_progress(fs_early_t *early, uint64_t now_ns);

/* All ranks have entered the call, elapsed_ns after this one. What can be sent in
 * more_ns, while the rest is planned, may still go. */
void fs_early_close(fs_early_t *early, uint64_t elapsed_ns, uint64_t more_ns);

/* Do both ends of each pair know what goes early? Only after close. */
bool fs_early_is_settled(fs_early_t *early);

/* Has all of it arrived, here and there? Only when settled. */
bool fs_early_is_over(const fs_early_t *early);

/* Does the network use no buffer any more? */
bool fs_early_is_quiet(const fs_early_t *early);

/* After an error: receives are cancelled. */
void fs_early_give_up(fs_early_t *early);

/* When settled: the call without what goes early, whose digests differ where those of
 * the call do; valid until the next begins. */
const fs_call_t *fs_early_rest(fs_early_t *early);

/* Bytes that this rank has sent early, since this was last asked. */
uint64_t fs_early_take_bytes(fs_early_t *early);

#endif
