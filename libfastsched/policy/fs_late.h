/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who comes late to the allreduces of a communicator, and what serves them best.
 *
 * All ranks leave an allreduce at about the same time, whatever its algorithm. So the
 * rank that was in the call for the shortest time came last, and that time is what the
 * call took from then on. Each rank adds up its times over an epoch of calls of about
 * one size; then the ranks find the two smallest sums, and all conclude the same. One
 * rank that is always late leads over the second by its delay; a rank that is late now
 * and then does not.
 *
 * Pure: times come from outside. Calls, and what is concluded, are equal on all ranks.
 */
#ifndef FS_LATE_H
#define FS_LATE_H

#include "fastsched.h"

enum {
    FS_LATE_EPOCH   = 16, /* calls */
    FS_LATE_TRIAL   = 4,  /* of an algorithm that is tried */
    FS_LATE_FORGETS = 32, /* epochs, then others are tried again */
    FS_LATE_CLASSES = 64  /* powers of two */
};

#define FS_LATE_NOBODY UINT32_MAX

/* What may serve a call. A list as in fastsched.h. */
#define FS_LATE_MAP(X)                                \
    X(FS_LATE_NATIVE, native, FS_ALG_NATIVE)          \
    X(FS_LATE_STRAGGLAR, stragglar, FS_ALG_STRAGGLAR) \
    X(FS_LATE_RING, ring, FS_ALG_RING)

typedef enum fs_late_candidate {
    FS_LATE_MAP(FS_LIST_VALUE)
} fs_late_candidate_t;

enum { FS_LATE_CANDIDATES = FS_LATE_MAP(FS_LIST_ONE) };

typedef struct fs_late_class {
    bool                is_trial; /* the epoch is a short one */
    fs_late_candidate_t serves;
    uint32_t            straggler; /* or FS_LATE_NOBODY */
    uint32_t            n_calls;   /* of the epoch; the first one of another
                                      algorithm does not count */
    uint64_t            sum_ns;    /* of this rank */
    uint32_t            n_epochs;  /* since others were tried */
    uint32_t            pause;     /* epochs in which StragglAR is not tried, */
    uint32_t            next_pause;  /* and after the next trial that fails */
    uint64_t ns[FS_LATE_CANDIDATES]; /* after the last entry; 0: unknown */
} fs_late_class_t;

typedef struct fs_late {
    uint32_t        n_servers;
    bool            compares; /* the MPI's own is a candidate, and the fastest
                                 serves */
    bool            looks;    /* for a late rank */
    fs_late_class_t classes[FS_LATE_CLASSES];
} fs_late_t;

/* What all ranks have found at the end of an epoch. */
typedef struct fs_late_sums {
    uint64_t least_ns;
    uint32_t rank; /* whose it is */
    uint64_t second_ns;
} fs_late_sums_t;

typedef struct fs_late_choice {
    fs_alg_t    alg;
    uint32_t    straggler; /* of StragglAR */
    const char *reason;
} fs_late_choice_t;

void fs_late_init(fs_late_t *late, uint32_t n_servers, bool compares,
                  bool looks);

/* What serves a call of so many bytes, above 0. */
fs_late_choice_t fs_late_choose(const fs_late_t *late, uint64_t bytes);

/* Such a call took this rank so long. True: an epoch is over, and the ranks are to
 * combine *sum_p. */
bool fs_late_add(fs_late_t *late, uint64_t bytes, uint64_t ns, uint64_t *sum_p);

/* They have: the next epoch begins. */
void fs_late_conclude(fs_late_t *late, uint64_t bytes,
                      const fs_late_sums_t *sums);

#endif
