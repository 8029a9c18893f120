/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control block: what the ranks of a server write for each other in a round of
 * control messages. Most numbers have 64 bits; m local ranks, N servers, P ranks.
 *
 *   failed     not FS_OK: a rank that talks to other servers has this error
 *   slots      m: the round that a rank has said, its row: a vote, and in a summary
 *              its bytes to each server
 *   lanes      m: the round whose messages this lane has
 *   here       N: the round that a server's message is here of
 *   votes      2 sets of N: those of the servers
 *   summary    2 sets of
 *     vote     of all ranks; with messages inside the server only
 *     matrix   N x N bytes between servers
 *     counts   m x P sends, m x P receives
 *     rest     N x N, of that what is not in bundles
 *     parts    m x N: where in its pool a rank has its part for a server
 *     pools    m: the parts that a rank sends
 *     inboxes  N: the message of a server, its bundle last
 *
 * The block is in memory that all of them have mapped; or, without bundles, each of
 * several ranks has one of its own, and messages carry the numbers. In shared memory
 * what a rank writes is valid when it has written the round, and no rank overwrites
 * what another may still read: a round is over for a rank when all local ranks have
 * started it, so nobody is more than one round ahead, and there are two sets. Those
 * of votes are used in turn by all rounds, the others by summaries.
 */
#ifndef FS_CONTROL_BLOCK_H
#define FS_CONTROL_BLOCK_H

#include "comm/fs_bundle.h"
#include "comm/fs_control.h"

#include <stdatomic.h>

enum {
    FS_VOTE_LEN = sizeof(fs_vote_t) / sizeof(uint64_t),
    FS_CONTROL_BLOCK_LINE =
        64 / sizeof(uint64_t) /* each rank writes cache lines of its own */
};

/* One server's summary for another; in a round without one its vote alone. */
typedef struct fs_control_head {
    fs_vote_t vote;
    uint64_t  bundle_len; /* bytes; 0: none; or FS_CONTROL_DROPPED */
    uint64_t  row[];      /* [N] bytes to each server, see below */
} fs_control_head_t;

/* In a row: these bytes are in a bundle. */
#define FS_CONTROL_BUNDLED (UINT64_C(1) << 63)

/* A bundle whose instalments have left, but which is none. */
#define FS_CONTROL_DROPPED UINT64_MAX

/* A part in a rank's pool. */
typedef struct fs_control_part {
    uint32_t at;
    uint32_t len; /* bytes; FS_PART_NONE: not there */
} fs_control_part_t;

typedef struct fs_control_block {
    const fs_topo_t      *topo;
    uint32_t              n_local;
    uint64_t              pool_bytes;
    uint64_t              bundle_bytes; /* of one to here, at most; 0: none */
    uint8_t               set;          /* of the summary */
    uint64_t             *own;          /* NULL: the block is shared */
    _Atomic(fs_status_t) *failed;
    uint64_t             *slots;
    uint64_t             *lanes;
    _Atomic uint64_t     *here;
    fs_vote_t            *votes;
    uint64_t             *summaries;
    /* What follows is of this set. */
    fs_vote_t         *vote;
    uint64_t          *matrix;
    uint64_t          *sends;
    uint64_t          *receives;
    uint64_t          *rest;
    fs_control_part_t *parts;
    char              *pools;
    char              *inboxes;
} fs_control_block_t;

/* Bytes of a bundle to a server, at most, with so many bytes of memory for each of
 * its ranks. */
uint64_t fs_control_bundle_bytes(const fs_topo_t *topo, uint32_t server,
                                 uint64_t bundle_memory);

/* Do blocks of so many bytes from server to server ([N x N]) fit in bundles, with the
 * numbers in front of them? */
bool fs_control_bundles_fit(const fs_topo_t *topo, const uint64_t *bytes,
                            uint64_t bundle_memory);

/* Bytes of a block that the server's ranks share, with as many for bundles. */
size_t fs_control_block_bytes(const fs_topo_t *topo, uint32_t server,
                              uint64_t bundle_memory);

/* On shared memory, zeroed; NULL: allocate. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_control_block_init(fs_control_block_t *block,
                                  const fs_topo_t *topo, uint32_t server,
                                  uint64_t bundle_memory, void *shared);
void        fs_control_block_fini(fs_control_block_t *block);

/* A summary begins: take the other set. */
void fs_control_block_turn(fs_control_block_t *block);

/* ---- a rank's slot ---- */

uint64_t *fs_control_block_slot(const fs_control_block_t *block,
                                uint32_t                  local);

/* A vote, and N cells. */
static inline uint64_t *fs_control_block_row(const fs_control_block_t *block,
                                             uint32_t                  local)
{
    return fs_control_block_slot(block, local) + 1;
}

/* [N] */
static inline fs_control_part_t *
fs_control_block_parts(const fs_control_block_t *block, uint32_t local)
{
    return block->parts + (size_t)local * fs_topo_n_servers(block->topo);
}

static inline char *fs_control_block_pool(const fs_control_block_t *block,
                                          uint32_t                  local)
{
    return block->pools + local * block->pool_bytes;
}

/* ---- servers ---- */

/* [N] of this round */
static inline fs_vote_t *fs_control_block_votes(const fs_control_block_t *block,
                                                uint64_t                  round)
{
    return block->votes + (round & 1) * fs_topo_n_servers(block->topo);
}

/* Bytes in front of a bundle. */
static inline size_t fs_control_head_len(const fs_topo_t *topo)
{
    return sizeof(fs_control_head_t) +
           fs_topo_n_servers(topo) * sizeof(uint64_t);
}

static inline size_t fs_control_block_inbox_len(const fs_control_block_t *block)
{
    return fs_control_head_len(block->topo) + block->bundle_bytes;
}

static inline char *fs_control_block_inbox(const fs_control_block_t *block,
                                           uint32_t                  server)
{
    return block->inboxes + server * fs_control_block_inbox_len(block);
}

/* ---- rounds ---- */

/* What was written before is seen by whoever reads the round. */
static inline void fs_control_block_write_round(_Atomic uint64_t *at,
                                                uint64_t          round)
{
    atomic_store_explicit(at, round, memory_order_release);
}

static inline bool fs_control_block_is_round(_Atomic uint64_t *at,
                                             uint64_t          round)
{
    return atomic_load_explicit(at, memory_order_acquire) >= round;
}

static inline _Atomic uint64_t *
fs_control_block_said(const fs_control_block_t *block, uint32_t local)
{
    return (_Atomic uint64_t *)fs_control_block_slot(block, local);
}

static inline _Atomic uint64_t *
fs_control_block_lane(const fs_control_block_t *block, uint32_t lane)
{
    return (_Atomic uint64_t *)(block->lanes +
                                (size_t)lane * FS_CONTROL_BLOCK_LINE);
}

/* ---- messages inside the server, arrays of numbers ---- */

/* The row of a local rank, its counts behind it in a summary. */
size_t fs_control_block_message_len(const fs_control_block_t *block,
                                    bool                      summary);
void   fs_control_block_pack(const fs_control_block_t *block, uint32_t local,
                             bool summary, uint64_t *message);
void   fs_control_block_unpack(fs_control_block_t *block, uint32_t local,
                               bool summary, const uint64_t *message);

/* The result, from block->vote on; the same there. */
size_t fs_control_block_result_len(const fs_control_block_t *block,
                                   bool                      summary);

#endif
