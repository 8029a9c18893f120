/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * Allreduce schedules for when one rank comes late (StragglAR), or several, and
 * the usual ones to compare with.
 *
 * A schedule is a list of rounds of messages. It cuts the buffer into equal
 * chunks. In its early rounds the punctual ranks are among themselves; what
 * they do there is free if the straggler is late enough. From the first late
 * round on it must be there.
 *
 * All schedules but FS_STRAGGLER_ALLPAIRS need one port per rank: in a round it
 * sends at most one message and receives at most one, both at the same time.
 *
 * Pure: equal arguments give byte-for-byte equal schedules on every rank. Safe
 * to call from several threads at once.
 */
#ifndef FS_STRAGGLER_H
#define FS_STRAGGLER_H

#include "fastsched.h"

/**
 * A list as in fastsched.h, of value, word and function. With n ranks, a buffer
 * of s bytes, log the base-2 logarithm rounded up:
 *
 *  - STRAGGLAR: reduce-scatter among the punctual, then n + log n - 2 rounds of
 *    pairwise exchanges, one more if n is odd (but 3), of s / (n - 1) bytes each
 *    (StragglAR §3; n that are no powers of two: ours);
 *  - RING: 2 (n - 1) rounds of s / n; all wait for the straggler, here and in the
 *    next;
 *  - RHD: recursive halving and doubling: 2 log n rounds; if n is no power of
 *    two, 2 rounds of s more;
 *  - BROADCAST: ring allreduce among the punctual, then log n rounds of s
 *    (StragglAR App. F);
 *  - ALLPAIRS: 2 rounds, everyone with everyone: n - 1 ports or one port shared
 *    (MSCCL's, StragglAR §4);
 *  - STREAM: as STRAGGLAR, for several late ranks, and in finer pieces: n_pieces
 *    (n - 1) + log n + n_late - 1 rounds or little more (ours:
 *    sched/allreduce/fs_straggler_stream.c);
 *  - HIERARCHICAL: reduced to a rank of each server, a ring of these, handed out:
 *    to compare with, where servers have several ranks
 */
#define FS_STRAGGLER_MAP(X)                           \
    X(FS_STRAGGLER_STRAGGLAR, "stragglar", stragglar) \
    X(FS_STRAGGLER_RING, "ring", ring)                \
    X(FS_STRAGGLER_RHD, "rhd", rhd)                   \
    X(FS_STRAGGLER_BROADCAST, "broadcast", broadcast) \
    X(FS_STRAGGLER_ALLPAIRS, "all-pairs", allpairs)   \
    X(FS_STRAGGLER_STREAM, "stream", stream)          \
    X(FS_STRAGGLER_HIERARCHICAL, "hierarchical", hierarchical)

typedef enum fs_straggler_kind {
    FS_STRAGGLER_MAP(FS_LIST_VALUE)
} fs_straggler_kind_t;

enum { FS_STRAGGLER_N_KINDS = FS_STRAGGLER_MAP(FS_LIST_ONE) };

/** One message: a range of chunks. */
typedef struct fs_straggler_msg {
    uint32_t src;
    uint32_t dst;
    uint32_t chunk;    /**< first of the range */
    uint32_t n_chunks; /**< 1 or more */
    bool     reduce;   /**< add to what dst has; otherwise replace that */
} fs_straggler_msg_t;

/**
 * Who sends what in which round. Messages of a round happen at once: what is
 * sent is what the sender had before the round. Read-only.
 *
 * Punctual ranks have an index, their position among the punctual. After the
 * early rounds of STRAGGLAR the one with index i has chunk i, reduced over all
 * but the straggler, and needs nothing else that it received so far: any
 * reduce-scatter with this outcome can take their place. After those of
 * BROADCAST each punctual rank has every chunk so reduced, after those of STREAM
 * chunk index and every so many punctual ranks further on: n_pieces chunks.
 */
typedef struct fs_straggler {
    fs_straggler_kind_t kind;
    uint32_t            n_ranks;
    uint32_t            straggler; /**< rank; of several the last */
    uint32_t            n_late;    /**< 1 but for STREAM */
    uint32_t           *late;      /**< [n_late] ranks, as they are to enter */
    uint32_t            n_pieces;  /**< chunks of a punctual rank, STREAM */
    uint32_t            n_local;   /**< ranks of a server, HIERARCHICAL */
    uint32_t            n_chunks;
    uint32_t            n_rounds; /**< early and late */
    uint32_t            n_early;  /**< the first so many rounds are early */
    /** Chunks sent one after another: summed over rounds, the most that one
     *  rank sends or receives. Times the size of a chunk, the bytes of the
     *  alpha-beta model; the rounds are its alphas. */
    uint64_t            early_chunks;
    uint64_t            late_chunks;
    size_t              n_msgs;
    size_t             *first; /**< [n_rounds + 1] messages of round r are
                                    msgs[first[r]] to msgs[first[r + 1] - 1] */
    fs_straggler_msg_t *msgs;  /**< by round, then src, then dst */
} fs_straggler_t;

/** A schedule of StragglAR for 4096 ranks takes 0.7 GB. */
#define FS_STRAGGLER_MAX_RANKS 4096

/**
 * @param[in]  n_ranks     1 to FS_STRAGGLER_MAX_RANKS. With 1 nothing is sent.
 * @param[in]  straggler   The rank that comes late, below n_ranks. RING, RHD
 *                         and ALLPAIRS do not depend on it.
 * @param[out] schedule_p  Set on FS_OK only; fs_straggler_destroy() frees it.
 * @return FS_OK; FS_ERR_INVAL (unknown kind, a number out of range);
 *         FS_ERR_NOMEM. O(n_ranks^2), for STRAGGLAR as for the others; STREAM as
 *         below, with one late rank and one piece; HIERARCHICAL with servers of one
 *         rank.
 */
fs_status_t fs_straggler_create(fs_straggler_kind_t kind, uint32_t n_ranks,
                                uint32_t         straggler,
                                fs_straggler_t **schedule_p);

/** A STREAM for 128 ranks takes about a second. */
enum { FS_STRAGGLER_MAX_STREAM = 128, FS_STRAGGLER_MAX_PIECES = 64 };

/**
 * STREAM, for late ranks that are to enter in this order. Others do not make it
 * wrong: all is done so long after the last entry, or sooner.
 *
 * @param[in]  n_ranks     2 to FS_STRAGGLER_MAX_STREAM.
 * @param[in]  late        [n_late] different ranks. Read during the call only.
 * @param[in]  n_late      1 to n_ranks / 2.
 * @param[in]  n_pieces    1 to FS_STRAGGLER_MAX_PIECES.
 * @param[out] schedule_p  Set on FS_OK only; fs_straggler_destroy() frees it.
 * @return FS_OK; FS_ERR_INVAL (a number out of range, a rank twice);
 *         FS_ERR_NOMEM. About n_pieces * n_ranks^3 * log n_ranks steps.
 */
fs_status_t fs_straggler_create_stream(uint32_t n_ranks, const uint32_t *late,
                                       uint32_t n_late, uint32_t n_pieces,
                                       fs_straggler_t **schedule_p);

/** Finer pieces than these save little more. A STREAM for so many ranks takes a few
 *  milliseconds. */
enum { FS_STRAGGLER_PIECES = 4, FS_STRAGGLER_FEW_RANKS = 32 };

/**
 * Does STREAM, in FS_STRAGGLER_PIECES pieces, need less time after the entry of one
 * late rank than STRAGGLAR? It sends fewer bytes in more rounds, each of which costs
 * as much as round_bytes to start (fs_plan_params_t.stage_cost). No with more than
 * FS_STRAGGLER_FEW_RANKS.
 */
bool fs_straggler_streams(uint32_t n_ranks, uint64_t n_bytes,
                          uint64_t round_bytes);

/**
 * HIERARCHICAL, for n_servers servers of n_local ranks, which follow each other.
 *
 * @return FS_OK; FS_ERR_INVAL (none, or more than FS_STRAGGLER_MAX_RANKS ranks);
 *         FS_ERR_NOMEM
 */
fs_status_t fs_straggler_create_hierarchical(uint32_t         n_servers,
                                             uint32_t         n_local,
                                             fs_straggler_t **schedule_p);

/** NULL is fine. */
void fs_straggler_destroy(fs_straggler_t *schedule);

/** The word users type: "stragglar", "ring", "rhd", "broadcast", "all-pairs",
 *  "stream", "hierarchical". NULL for a value that is not in the enum. */
const char *fs_straggler_name(fs_straggler_kind_t kind);

/**
 * Fewest late rounds of any schedule that starts where STRAGGLAR's early rounds
 * end and in which each rank exchanges one chunk with one partner per round:
 * n_ranks + log n_ranks - 2 (0 for one rank), one more for most odd n_ranks,
 * where somebody is idle in every round. Proof: sched/allreduce/fs_straggler.c.
 * STRAGGLAR needs no more, or one more for some odd n_ranks just above a power
 * of two (5, 9, 17, 33, 35, 65, 67, ...).
 */
uint32_t fs_straggler_min_rounds(uint32_t n_ranks);

/**
 * Prove a schedule right, or find out why it is not. Shares no code with what
 * makes schedules.
 *
 * Follows, for every chunk and every rank, whose contributions it has. Nothing
 * may be added twice, nothing lost, nothing sent that the receiver has, and in
 * the end everyone has everything. Early rounds leave late ranks alone and
 * end as fs_straggler_t says; late rounds use nothing but that. Ranks have the
 * ports of their kind; in the late rounds of STRAGGLAR and BROADCAST and in RHD
 * a rank sends to nobody but the one it receives from.
 *
 * @param[in]  schedule  Sizes and pointers must be true, the rest may be wrong.
 * @param[out] why       On FS_ERR_INVAL: one line that says what is wrong, and
 *                       where.
 * @param[in]  why_len   Bytes at why.
 * @return FS_OK, FS_ERR_INVAL, FS_ERR_NOMEM
 *
 * O(n_ranks^3 / 64): 1024 ranks in 0.1 s.
 */
fs_status_t fs_straggler_check(const fs_straggler_t *schedule, char *why,
                               size_t why_len);

#endif
