/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far apart ranks enter the calls of a communicator, and who is last.
 *
 * All ranks leave the exchange of counts at about the same time, the last one's message
 * after they have waited: who waited least was last, and the difference to who waited
 * most is how far apart they came. Pure: times come from outside, in votes, so every
 * rank learns the same.
 */
#ifndef FS_ENTRIES_H
#define FS_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: nothing seen. */
typedef struct fs_entries {
    uint64_t  n_calls;
    uint64_t  sum_ns; /* over the calls, of apart_ns */
    uint64_t  max_ns;
    bool      is_known; /* the next two, of the call that was added last */
    uint64_t  apart_ns; /* from its first entry to its last */
    uint32_t  last;     /* rank */
    uint32_t  n_ranks;  /* 0: nobody counts */
    uint64_t *n_last; /* [n_ranks] calls in which a rank was last; owned by the
                          communicator */
} fs_entries_t;

/* What a rank says of a call: how long it waited for others. The smallest word is that
 * of the rank that was last. 0: unknown. */
uint64_t fs_entries_word(uint64_t waited_ns, uint32_t rank);

/* How far apart they came, by the longest wait of a rank and the smallest word that is
 * not 0; 0 if unknown. */
uint64_t fs_entries_apart(uint64_t max_waited_ns, uint64_t least_word);

/* What a word says. */
uint64_t fs_entries_time(uint64_t word);
uint32_t fs_entries_rank(uint64_t word);

/* A call: the longest wait of a rank, and the smallest word that is not 0. */
void fs_entries_add(fs_entries_t *entries, uint64_t max_waited_ns,
                    uint64_t least_word);

/* The rank that was last most often, the lowest of several; 0 if nobody counts. */
uint32_t fs_entries_latest(const fs_entries_t *entries);

#endif
