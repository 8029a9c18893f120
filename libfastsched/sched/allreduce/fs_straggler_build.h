/* SPDX-License-Identifier: BSD-3-Clause */
/* An allreduce schedule while it is made: messages one by one, round by round.
 * The first failure stays in status, and what follows does nothing, so that the
 * generators need not look after every message. */
#ifndef FS_STRAGGLER_BUILD_H
#define FS_STRAGGLER_BUILD_H

#include "base/fs_arena.h"
#include "base/fs_arith.h"
#include "sched/allreduce/fs_straggler.h"

typedef struct fs_straggler_build {
    fs_straggler_t *schedule;
    fs_status_t     status;
    size_t          msgs_room;
    size_t          rounds_room;
    uint64_t       *sent;  /* [n_ranks] chunks in the open round */
    uint64_t       *recvd; /* [n_ranks] likewise */
    uint32_t  *ranks; /* [n_ranks] by position: the punctual, then the late as
                              they are to enter */
    uint32_t  *position; /* [n_ranks] the other way round */
    fs_arena_t arena;    /* working memory of the generator */
} fs_straggler_build_t;

/* A generator makes everything from the number of chunks on, for n_ranks of 2
 * and more. Messages of a round come in the order of the public header. */
typedef void (*fs_straggler_make_t)(fs_straggler_build_t *build);

void fs_straggler_make_stragglar(fs_straggler_build_t *build);
void fs_straggler_make_ring(fs_straggler_build_t *build);
void fs_straggler_make_rhd(fs_straggler_build_t *build);
void fs_straggler_make_broadcast(fs_straggler_build_t *build);
void fs_straggler_make_allpairs(fs_straggler_build_t *build);
void fs_straggler_make_stream(fs_straggler_build_t *build);
void fs_straggler_make_hierarchical(fs_straggler_build_t *build);

/* Add a message to the open round. */
void fs_straggler_say(fs_straggler_build_t *build, fs_straggler_msg_t msg);

/* Close the round. A round may have no messages. */
void fs_straggler_end_round(fs_straggler_build_t *build);

/* All rounds so far were early. */
void fs_straggler_end_early(fs_straggler_build_t *build);

/* Ring reduce-scatter: in n - 1 rounds rank_of(0..n - 1) pass chunks on, each
 * to the next, and add their own. The i-th ends with chunk i; with several pieces,
 * one after another, with chunks i, n + i, ... as well. With all ranks, or with the
 * punctual ones only. */
void fs_straggler_reduce_scatter(fs_straggler_build_t *build, bool punctual);

/* Ring allgather: n - 1 rounds more, and all have all chunks. */
void fs_straggler_allgather(fs_straggler_build_t *build, bool punctual);

/* Rank of the punctual rank with an index. */
static inline uint32_t fs_punctual_rank(const fs_straggler_t *schedule,
                                        uint32_t              index)
{
    return index + (index >= schedule->straggler);
}

/* Index of a rank that is not the straggler. */
static inline uint32_t fs_punctual_index(const fs_straggler_t *schedule,
                                         uint32_t              rank)
{
    return rank - (rank > schedule->straggler);
}

#endif
