/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the tuner share:
 *
 *   fs_tuner.c          classes, and what their next calls are for
 *   fs_tuner_predict.c  what a candidate should take
 *   fs_tuner_verdict.c  what the time of a call says
 */
#ifndef FS_TUNER_STATE_H
#define FS_TUNER_STATE_H

#include "base/fs_arith.h"
#include "policy/fs_tuner.h"

/* Calls in a row that are clearly faster than the choice make another one. */
enum { FS_TUNER_TO_WIN = 2 };

/* ---- prices ---- */

/* Nanoseconds per MiB of the lower bound, never 0. */
static inline uint64_t fs_tuner_price_of(uint64_t ns, uint64_t bound)
{
    fs_u128_t price = ((fs_u128_t)ns << 20) / bound;

    return price >= UINT64_MAX ? UINT64_MAX - 1
                               : fs_u64_max((uint64_t)price, 1);
}

/* a x b / c, and below UNKNOWN. */
static inline uint64_t fs_tuner_scale(uint64_t a, uint64_t b, uint64_t c)
{
    fs_u128_t x = (fs_u128_t)a * b / fs_u64_max(c, 1);

    return x >= UINT64_MAX ? UINT64_MAX - 1 : fs_u64_max((uint64_t)x, 1);
}

/* a is more than the margin above b. */
static inline bool fs_tuner_is_above(uint64_t a, uint64_t b)
{
    return (fs_u128_t)a * 100 > (fs_u128_t)b * (100 + FS_TUNER_MARGIN);
}

static inline bool fs_tuner_is_known(uint64_t estimate)
{
    return estimate != 0 && estimate != FS_TUNER_UNKNOWN;
}

/* ---- classes ---- */

/* fs_tuner_find(), to be changed. */
fs_tuner_class_t *fs_tuner_class_to_change(fs_tuner_t *tuner,
                                           uint32_t    of_class);

/* Has it settled on the native algorithm? */
bool fs_tuner_is_native(const fs_tuner_class_t *class);

void fs_tuner_enter(fs_tuner_class_t *class, fs_tuner_state_t state);

/* ---- what a candidate should take ---- */

/* The candidate of the lowest price, of those that the model has an estimate of if
 * `modelled`; FS_N_CANDIDATES: nothing has been measured. */
unsigned fs_tuner_best_measured(const fs_tuner_class_t *class, bool modelled);

/* The candidate of the lowest price, of those that are possible, without the choice. */
unsigned fs_tuner_best_other(const fs_tuner_class_t *class);

/* A price; FS_TUNER_UNKNOWN; 0: it is not possible. */
uint64_t fs_tuner_predict(const fs_tuner_t *tuner,
                          const fs_tuner_class_t *class, unsigned c);

/* The lowest index wins a tie; unknown is the last. */
fs_candidate_t fs_tuner_guess(const fs_tuner_t *tuner,
                              const fs_tuner_class_t *class);

/* May the call be lent to this candidate? *price_p: what it should take. */
bool fs_tuner_is_rival(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                       unsigned c, uint64_t *price_p);

/* Can a rival of this price wait until the class is settled? */
bool fs_tuner_can_wait(const fs_tuner_t *tuner, const fs_tuner_class_t *class,
                       unsigned c, uint64_t price);

/* Has nobody looked whether the native algorithm is worth a call? */
bool fs_tuner_is_native_overlooked(const fs_tuner_t *tuner,
                                   const fs_tuner_class_t *class);

#endif
