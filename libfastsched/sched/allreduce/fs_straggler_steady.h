/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steady state of StragglAR: a pattern of exchanges that repeats itself one
 * rank further in every round.
 *
 * Punctual ranks have an index, 0 to n - 1; so have chunks. In round r the
 * straggler exchanges chunk r with index r, and both then have it fully
 * reduced: it is born. Positions rotate by one place in each round: in round r,
 * index x is at place (x - r) mod n, so that the rank that meets the straggler
 * is always at place 0. What happens at a place is the same
 * in every round. The place says who its partner is, which place that is, and
 * which chunk it receives: not its number, but its age, the rounds since it was
 * born. A chunk that is older than the oldest age is everywhere (but see
 * "idle"); the younger ones are alive.
 *
 * In the steady state every rank with a partner receives a chunk it lacks. So
 * from round
 * to round a rank gets one chunk and one expires, and each rank has the same
 * number of live chunks at all times. It is one (a "single" pattern, for powers
 * of two: StragglAR §3.1) or two (a "double" one).
 *
 * Idle: for odd n_ranks one place has no partner. It is one that would have
 * received the oldest chunk, so the rank there never gets it, one chunk per
 * rotation. fs_straggler_epilogue.h sends it later.
 *
 * A pattern is found in two steps. First the exchange counts: which exchanges
 * there are, how often, and what the ranks that make them have. Then a walk:
 * the exchange at a place decides what its rank will have at the place before
 * it, so the order of the places is a closed walk (Euler's) from having to
 * having that makes each of the counted exchanges once.
 */
#ifndef FS_STRAGGLER_STEADY_H
#define FS_STRAGGLER_STEADY_H

#include "base/fs_arena.h"
#include "sched/allreduce/fs_straggler.h"

enum {
    FS_STEADY_AGES      = 16, /* no age is as old as this */
    FS_STEADY_BORN      = 0,  /* receives: a chunk from the straggler */
    FS_STEADY_NOTHING   = 15, /* receives: idle */
    FS_STEADY_MAX_RULES = 64
};

/* What a rank has, and what it gets. */
typedef struct fs_steady_side {
    uint32_t has[2]; /* ages of its live chunks, ascending; 0: none */
    uint32_t gets;   /* an age, FS_STEADY_BORN or FS_STEADY_NOTHING */
} fs_steady_side_t;

/* An exchange that is made count times in every round. */
typedef struct fs_steady_rule {
    uint32_t         count;
    bool             alone; /* of the straggler, or nobody's: b is not used */
    fs_steady_side_t a;
    fs_steady_side_t b;
} fs_steady_rule_t;

typedef struct fs_steady_counts {
    uint32_t n_places; /* n_ranks - 1 */
    uint32_t oldest;   /* age; a chunk has arrived everywhere after it */
    uint32_t n_more;   /* rounds the pattern can go on after a rotation before
                                 a rank receives what it has */
    uint32_t n_rules;
    fs_steady_rule_t rules[FS_STEADY_MAX_RULES]; /* [0] is the straggler's */
} fs_steady_counts_t;

typedef struct fs_steady {
    uint32_t          n_places;
    uint32_t          oldest;
    uint32_t          n_more;
    fs_steady_side_t *side;    /* [n_places] */
    uint32_t         *partner; /* [n_places] place; its own: it has none */
} fs_steady_t;

/* The exchange counts for 2 to FS_STRAGGLER_MAX_RANKS ranks. */
void fs_steady_counts(uint32_t n_ranks, fs_steady_counts_t *exchanges);

/* Make the pattern. FS_OK, FS_ERR_NOMEM. O(n_places). */
fs_status_t fs_steady_init(fs_steady_t              *steady,
                           const fs_steady_counts_t *exchanges,
                           fs_arena_t               *arena);

#endif
