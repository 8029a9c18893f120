/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control block: what the ranks of a server write for each other in a
 * summary exchange. All numbers have 64 bits:
 *
 *   result_round  round of the result, by the leader
 *   slots         one for each rank: the round of the row; the row: a vote, and
 *                 in a summary its bytes to each of the N servers
 *   result        a vote, the N x N matrix, by the leader
 *   counts        two sets of n_local x P sends, n_local x P receives
 *
 * The block is in memory that all of them have mapped; or each rank has one of
 * its own, with one set of counts, and messages carry the numbers. In shared
 * memory a row is valid when its round is written, the result when result_round
 * is, and no rank overwrites what another may still read:
 *   - a row is read by the leader alone, before its rank can see the result and
 *     write the next row;
 *   - the result is written when all local ranks have started the round, so
 *     they are done with the last one;
 *   - counts are read by all until each starts the next summary, when a faster
 *     rank may have written already: hence two sets. The same set is written
 *     again only after a whole summary that all have taken part in.
 */
#ifndef FS_CONTROL_BLOCK_H
#define FS_CONTROL_BLOCK_H

#include "comm/fs_control.h"

#include <stdatomic.h>

enum {
    FS_VOTE_LEN = sizeof(fs_vote_t) / sizeof(uint64_t),
    FS_CONTROL_BLOCK_LINE =
        64 / sizeof(uint64_t) /* each rank writes cache lines of its own */
};

/* As result_round: the leader has failed. */
#define FS_CONTROL_BLOCK_FAILED UINT64_MAX

typedef struct fs_control_block {
    const fs_topo_t  *topo;
    uint32_t          n_local;
    uint8_t           set; /* of counts, in use */
    _Atomic uint64_t *result_round;
    uint64_t         *slots;  /* [n_local x slot_len] */
    uint64_t         *result; /* [FS_VOTE_LEN + N N] */
    uint64_t         *counts; /* [2 sets], right behind the result */
    uint64_t         *own;    /* NULL: the block is shared */
} fs_control_block_t;

/* Bytes of a block that the server's ranks share. */
size_t fs_control_block_bytes(const fs_topo_t *topo, uint32_t server);

/* On shared memory, zeroed; NULL: allocate. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_control_block_init(fs_control_block_t *block,
                                  const fs_topo_t *topo, uint32_t server,
                                  void *shared);
void        fs_control_block_fini(fs_control_block_t *block);

/* A summary begins: take the other set of counts. */
void fs_control_block_turn(fs_control_block_t *block);

/* The row of a local rank as a message, its counts behind it in a summary. */
size_t fs_control_block_message_len(const fs_control_block_t *block,
                                    bool                      summary);
void   fs_control_block_pack(const fs_control_block_t *block, uint32_t local,
                             bool summary, uint64_t *message);
void   fs_control_block_unpack(fs_control_block_t *block, uint32_t local,
                               bool summary, const uint64_t *message);

/* The result as a message: block->result and what follows it. */
size_t fs_control_block_result_len(const fs_control_block_t *block,
                                   bool                      summary);

/* Sends or receives of all local ranks, n_local x P. */
static inline size_t
fs_control_block_counts_len(const fs_control_block_t *block)
{
    return (size_t)block->n_local * fs_topo_n_ranks(block->topo);
}

static inline uint64_t *fs_control_block_sends(const fs_control_block_t *block)
{
    return block->counts + block->set * 2 * fs_control_block_counts_len(block);
}

static inline uint64_t *
fs_control_block_receives(const fs_control_block_t *block)
{
    return fs_control_block_sends(block) + fs_control_block_counts_len(block);
}

/* A round number and behind it the row. */
uint64_t *fs_control_block_slot(const fs_control_block_t *block,
                                uint32_t                  local);

static inline uint64_t *fs_control_block_row(const fs_control_block_t *block,
                                             uint32_t                  local)
{
    return fs_control_block_slot(block, local) + 1;
}

/* A rank that reads the round sees all that was written before it. */
static inline void fs_control_block_write_round(_Atomic uint64_t *at,
                                                uint64_t          round)
{
    atomic_store_explicit(at, round, memory_order_release);
}

static inline uint64_t fs_control_block_read_round(_Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_acquire);
}

static inline void fs_control_block_write_slot(const fs_control_block_t *block,
                                               uint32_t local, uint64_t round)
{
    fs_control_block_write_round(
        (_Atomic uint64_t *)fs_control_block_slot(block, local), round);
}

static inline bool fs_control_block_is_written(const fs_control_block_t *block,
                                               uint32_t local, uint64_t round)
{
    return fs_control_block_read_round((
               _Atomic uint64_t *)fs_control_block_slot(block, local)) >= round;
}

#endif
