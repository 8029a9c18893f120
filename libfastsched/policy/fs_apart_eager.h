/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks come apart: do the next calls go eager, without a summary?
 *
 * What goes eager waits for nobody but its receiver, so balanced traffic loses less time
 * to late ranks than by a schedule, even by one that begins early. Whether it does is
 * measured: what calls take from their first entry to the end, per byte. (From the last
 * entry on, what goes eager takes the less the later that is: one call would say little.)
 *
 * After some calls in a row whose ranks came apart, one goes eager and is timed. After
 * TO_WIN of those that took less than the others do, 7 go eager at a time, then 15, and
 * so on to MOST; the last of them is timed, and two that are seen come between. One that
 * took no less, or was seen and did not come apart, leads back to one trial and to
 * shorter runs. After LOST in a row that took no less none goes for a while, which doubles
 * each time. One of a communicator is not lost, in which the MPI may connect its ranks.
 *
 * Pure: times come from outside, in votes, so every rank learns the same.
 */
#ifndef FS_APART_EAGER_H
#define FS_APART_EAGER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FS_APART_EAGER_PART      = 12, /* of a call: entries further apart count */
    FS_APART_EAGER_FIRST     = 3,  /* calls that are seen before one is tried */
    FS_APART_EAGER_TO_WIN    = 2,
    FS_APART_EAGER_LOST      = 2,
    FS_APART_EAGER_LEAST     = 7, /* calls at a time, to */
    FS_APART_EAGER_MOST      = 63,
    FS_APART_EAGER_REST      = 16, /* calls that are seen */
    FS_APART_EAGER_REST_MOST = 1 << 16
};

/* All zero: none goes eager. */
typedef struct fs_apart_eager {
    uint32_t left;    /* calls that go eager from now on */
    uint32_t run;     /* as many the last time, if they were several */
    uint32_t n_seen;  /* in a row whose ranks came apart */
    uint32_t n_won;   /* that were timed, in a row */
    uint32_t n_lost;  /* likewise */
    bool     is_warm; /* one was timed */
    uint32_t rest;    /* calls from now on after which one may be tried */
    uint32_t rested;  /* the last such number */
    uint64_t price; /* of those that were timed, an average as in fs_apart_t */
} fs_apart_eager_t;

/* A call that was seen is over. apart: its ranks came apart so far that it counts, and
 * eager ones may be faster. */
void fs_apart_eager_note(fs_apart_eager_t *eager, bool apart);

/* A call begins that may go eager: it does. Returns if it is to be timed. */
bool fs_apart_eager_take(fs_apart_eager_t *eager);

/* It has taken so much from the first entry on, others take usual: picoseconds per byte,
 * 0 if unknown. */
void fs_apart_eager_timed(fs_apart_eager_t *eager, uint64_t price,
                          uint64_t usual);

#endif
