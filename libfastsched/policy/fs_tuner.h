/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do no harm: is the host's own algorithm faster than ours?
 *
 * Calls fall into classes: bytes between servers and their skew (MTM), both by
 * powers of two. In each class a few calls are lent to the host's algorithm,
 * and what they took is compared with ours just before:
 *
 *   TRY   ours, ours, a look at the host's; if it was not clearly slower,
 *         another look a few calls later
 *           ours clearly faster in one look      -> OURS
 *           ours slower in two looks             -> HOST
 *           two looks without a verdict          -> OURS
 *   OURS, HOST
 *         after RECHECK calls; after SOON calls if there was no verdict, where
 *         a look costs nothing                   -> TRY
 *
 * A price is time over the lower bound of the call, so that calls of a class
 * compare though their sizes differ. The first look of a communicator is a
 * rehearsal, because an MPI connects its ranks at their first messages: it may
 * be lost, but proves nothing for us.
 *
 * Pure: times come from outside, maxima over all ranks, so every rank reaches
 * the same verdicts.
 */
#ifndef FS_GUARD_H
#define FS_GUARD_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FS_GUARD_BANDS   = 4, /* MTM 1, 2, 4, 8 and more */
    FS_GUARD_CLASSES = 64 * FS_GUARD_BANDS,
    FS_GUARD_MARGIN  = 5, /* percent: less is noise */
    FS_GUARD_RECHECK = 1000,
    FS_GUARD_SOON    = 50
};

typedef enum fs_guard_turn {
    FS_GUARD_OURS,
    FS_GUARD_LOOK, /* the host's algorithm, to compare */
    FS_GUARD_HOST  /* the host's algorithm: it is faster */
} fs_guard_turn_t;

typedef enum fs_guard_state {
    FS_GUARD_STATE_TRY,
    FS_GUARD_STATE_OURS,
    FS_GUARD_STATE_HOST
} fs_guard_state_t;

typedef struct fs_guard_class {
    uint16_t calls;   /* in this state */
    uint8_t  state;   /* fs_guard_state_t */
    uint8_t  n_looks; /* begun since TRY, rehearsal included */
    uint8_t  n_judged;
    uint8_t  n_lost;
    uint64_t ours[2]; /* prices of our last two calls; 0: none */
    uint64_t host;    /* price in the last look */
} fs_guard_class_t;

/* What a call's time is to tell. All zero: nothing. */
typedef struct fs_guard_question {
    fs_guard_turn_t turn;
    uint32_t        of_class;
    uint64_t        bound;
    bool            waiting; /* for the time */
    bool            rehearsal;
} fs_guard_question_t;

/* All zero: nothing seen. */
typedef struct fs_guard {
    fs_guard_class_t classes[FS_GUARD_CLASSES];
    bool             rehearsed;
    /* For people. */
    uint64_t n_looks;
    uint32_t n_gone_back; /* classes in HOST */
} fs_guard_t;

/* The class of a call of so many bytes between servers, 1 or more. */
uint32_t fs_guard_class(uint64_t inter_bytes, uint64_t mtm_milli);

/* For people: prices of a class, ours the better of the last two. */
uint64_t fs_guard_ours(const fs_guard_class_t *class);

/* Whose turn is it? The call's lower bound, bytes per lane, 1 or more. */
fs_guard_question_t fs_guard_next(fs_guard_t *guard, uint32_t of_class,
                                  uint64_t bound);

/* What the call of a question took on the slowest rank, without and with all that
 * the host's algorithm would not need (summary). 0: nobody knows. Once for each
 * question, in the order of calls. */
void fs_guard_hear(fs_guard_t *guard, const fs_guard_question_t *question,
                   uint64_t run_ns, uint64_t extra_ns);

#endif
