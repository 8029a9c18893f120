/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuner finds out where the native algorithm is faster than ours.
 *
 * Calls fall into classes: bytes between servers and their skew (MTM), both by
 * powers of two. In each class a few calls are probes: the native algorithm
 * runs them, and their time is compared with that of our calls just before:
 *
 *   TRY   ours, ours, a probe of the native one; if it was not clearly slower,
 *         another probe a few calls later
 *           ours clearly faster in one probe     -> OURS
 *           ours slower in two probes            -> NATIVE
 *           two probes without a verdict         -> OURS
 *   OURS, NATIVE
 *         after RECHECK calls; after SOON calls if there was no verdict, where
 *         a probe costs nothing                  -> TRY
 *
 * A price is time over the lower bound of the call, so that calls of a class
 * compare though their sizes differ. The first probe of a communicator is a
 * warm-up, because an MPI connects its ranks at their first messages: it can
 * only count against us.
 *
 * Pure: times come from outside, maxima over all ranks, so every rank reaches
 * the same verdicts.
 */
#ifndef FS_TUNER_H
#define FS_TUNER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FS_TUNER_BANDS   = 4, /* MTM 1, 2, 4, 8 and more */
    FS_TUNER_CLASSES = 64 * FS_TUNER_BANDS,
    FS_TUNER_MARGIN  = 5, /* percent: less is noise */
    FS_TUNER_RECHECK = 1000,
    FS_TUNER_SOON    = 50
};

typedef enum fs_tuner_turn {
    FS_TUNER_OURS,
    FS_TUNER_PROBE, /* the native algorithm, to measure it */
    FS_TUNER_NATIVE /* the native algorithm: it is faster */
} fs_tuner_turn_t;

typedef enum fs_tuner_state {
    FS_TUNER_STATE_TRY,
    FS_TUNER_STATE_OURS,
    FS_TUNER_STATE_NATIVE
} fs_tuner_state_t;

typedef struct fs_tuner_class {
    uint16_t calls;    /* in this state */
    uint8_t  state;    /* fs_tuner_state_t */
    uint8_t  n_probes; /* begun since TRY, warm_up included */
    uint8_t  n_judged;
    uint8_t  n_lost;
    uint64_t ours[2]; /* prices of our last two calls; 0: none */
    uint64_t native;  /* price in the last probe */
} fs_tuner_class_t;

/* What a call's time is needed for. All zero: nothing. */
typedef struct fs_tuner_question {
    fs_tuner_turn_t turn;
    uint32_t        of_class;
    uint64_t        bound;
    bool            waiting; /* for the time */
    bool            warm_up;
} fs_tuner_question_t;

/* All zero: nothing seen. */
typedef struct fs_tuner {
    fs_tuner_class_t classes[FS_TUNER_CLASSES];
    bool             warmed_up;
    /* For statistics. */
    uint64_t n_probes;
    uint32_t n_gone_back; /* classes in NATIVE */
} fs_tuner_t;

/* The class of a call of so many bytes between servers, 1 or more. */
uint32_t fs_tuner_class(uint64_t inter_bytes, uint64_t mtm_milli);

/* For messages: our price of a class, the better of the last two. */
uint64_t fs_tuner_ours(const fs_tuner_class_t *class);

/* Which algorithm runs the call? Its lower bound in bytes per lane, 1 or
 * more. */
fs_tuner_question_t fs_tuner_next(fs_tuner_t *tuner, uint32_t of_class,
                                  uint64_t bound);

/* The time of the call of a question on the slowest rank, and the extra time
 * that the native algorithm would not need (summary). 0: unknown. Once for each
 * question, in the order of calls. */
void fs_tuner_update(fs_tuner_t *tuner, const fs_tuner_question_t *question,
                     uint64_t run_ns, uint64_t extra_ns);

#endif
