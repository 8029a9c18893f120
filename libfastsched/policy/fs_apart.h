/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks come apart: do the next calls begin early?
 *
 * They do after a call whose entries were further apart than a PART of what it took,
 * if it was so LONG that the rounds of an early begin would not have counted.
 *
 * Whether it is worth them is measured: what calls take after the last entry, early or
 * not, per byte. After LOST early calls in a row that took no less than those that did not
 * begin early, none does for a while, which doubles each time. After an early call that
 * has none to be compared with the next one does not begin early.
 *
 * Pure: times come from outside, in votes, so every rank learns the same.
 */
#ifndef FS_APART_H
#define FS_APART_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FS_APART_CALLS     = 4, /* that begin early: */
    FS_APART_PART      = 4,
    FS_APART_LONG      = 32, /* rounds */
    FS_APART_LOST      = 2,
    FS_APART_REST      = 32, /* calls that do not begin early */
    FS_APART_REST_MOST = 1 << 16
};

/* All zero: none begins early. */
typedef struct fs_apart {
    uint32_t left;   /* calls that begin early from now on */
    uint32_t rest;   /* calls from now on after which they may again */
    uint32_t rested; /* the last such number */
    uint32_t n_lost; /* early calls in a row that gained nothing */
    uint64_t bytes;  /* of the last call that did not begin early */
    uint64_t price;  /* of those that did not: picoseconds per byte, an average
                        over the last ones. 0: unknown */
    uint64_t usual;  /* from the first entry on, of the last ones in a row that
                       all did, or did not */
    uint64_t usual_bytes; /* of the last of them */
    bool     early;       /* they did */
} fs_apart_t;

/* A call that is over. Times in nanoseconds, 0: unknown. */
typedef struct fs_apart_call {
    bool     early;
    bool     computes; /* the ranks' own work may be in its times */
    uint64_t bytes;    /* largest volume of a rank between servers */
    uint64_t round_ns;
    uint64_t run_ns;   /* after the summary */
    uint64_t apart_ns; /* from the first entry to the last */
    uint64_t after_ns; /* from the last entry to the end */
} fs_apart_call_t;

void fs_apart_note(fs_apart_t *apart, const fs_apart_call_t *call);

/* Did its ranks come further apart than this part of what it took, and was it LONG? */
bool fs_apart_counts(const fs_apart_call_t *call, uint32_t part);

/* So long, per byte: never 0. */
uint64_t fs_apart_price(uint64_t ns, uint64_t bytes);

/* An average over the last ones, and one more; 0: it is the first. */
uint64_t fs_apart_average(uint64_t average, uint64_t price);

#endif
