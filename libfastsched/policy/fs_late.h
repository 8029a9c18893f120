/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who comes late to the allreduces of a communicator, and what serves them best.
 *
 * Ranks leave an allreduce when they have all of the result: from a ring those before
 * the late rank far sooner than that one. So the time in a call does not say when a
 * rank came. But all ranks leave a round of votes at about the same time: two rounds
 * are a clock that all have in common for what is between them, whatever their own
 * clocks show and however fast they go. Each rank notes when it enters the calls of an
 * epoch, which are of about one size; then the ranks find who entered last on average,
 * and by how much, and all conclude the same. One that is always late leads over the
 * second by its delay; a rank that is late now and then does not.
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

/* What may serve a call. A list as in fastsched.h. STREAM: in finer pieces than
 * StragglAR's. */
#define FS_LATE_MAP(X)                                \
    X(FS_LATE_NATIVE, native, FS_ALG_NATIVE)          \
    X(FS_LATE_STRAGGLAR, stragglar, FS_ALG_STRAGGLAR) \
    X(FS_LATE_STREAM, stream, FS_ALG_STRAGGLAR)       \
    X(FS_LATE_RING, ring, FS_ALG_RING)

typedef enum fs_late_candidate {
    FS_LATE_MAP(FS_LIST_VALUE)
} fs_late_candidate_t;

enum { FS_LATE_CANDIDATES = FS_LATE_MAP(FS_LIST_ONE) };

typedef struct fs_late_class {
    bool                is_trial; /* the epoch is a short one */
    fs_late_candidate_t serves;
    uint32_t            straggler;   /* or FS_LATE_NOBODY */
    uint32_t            n_calls;     /* of the epoch; the first one of another
                                      algorithm does not count */
    uint64_t            began_ns;    /* the votes before the epoch were over; 0:
                                      there were none. This rank's clock */
    uint64_t            entered_ns;  /* since then, sum over the calls */
    uint64_t            spent_ns;    /* in the calls, likewise */
    uint32_t            n_epochs;    /* since others were tried */
    uint32_t            pause;       /* epochs in which neither StragglAR nor
                                      STREAM is tried, */
    uint32_t            next_pause;  /* and after the next trial that fails */
    uint64_t ns[FS_LATE_CANDIDATES]; /* after the last entry; 0: unknown */
} fs_late_class_t;

typedef struct fs_late_setup {
    uint32_t n_servers;
    bool compares; /* the MPI's own is a candidate, and the fastest serves */
    bool looks;    /* for a late rank */
    bool streams;  /* STREAM is a candidate */
} fs_late_setup_t;

typedef struct fs_late {
    fs_late_setup_t setup;
    fs_late_class_t classes[FS_LATE_CLASSES];
} fs_late_t;

/* Of this rank, at the end of an epoch, by its clock; averages over the calls. */
typedef struct fs_late_epoch {
    uint64_t began_ns;   /* 0: the epoch is to begin, nothing else is known */
    uint64_t entered_ns; /* a call */
    uint64_t spent_ns;   /* in it */
} fs_late_epoch_t;

/* What all ranks have found then. */
typedef struct fs_late_found {
    uint64_t now_ns;   /* a round of votes was over, on this rank's clock */
    uint64_t least_ns; /* spent in a call */
    uint32_t rank;     /* that entered last */
    uint64_t lead_ns;  /* after the second to last */
} fs_late_found_t;

typedef struct fs_late_choice {
    fs_alg_t    alg;
    uint32_t    straggler; /* of StragglAR */
    bool        streams;   /* likewise */
    const char *reason;
} fs_late_choice_t;

void fs_late_init(fs_late_t *late, const fs_late_setup_t *setup);

/* What serves a call of so many bytes, above 0. */
fs_late_choice_t fs_late_choose(const fs_late_t *late, uint64_t bytes);

/* Such a call is over. True: so is an epoch, or one is to begin, and the ranks are to
 * find out what fs_late_found_t says. */
bool fs_late_add(fs_late_t *late, uint64_t bytes, uint64_t entered_ns,
                 uint64_t left_ns, fs_late_epoch_t *epoch);

/* How long before the votes that were over at now_ns this rank has entered a call, by
 * the common clock, on which the epoch took length_ns: equal on all ranks. Not 0. */
uint64_t fs_late_ahead(const fs_late_epoch_t *epoch, uint64_t now_ns,
                       uint64_t length_ns);

/* They have: the next epoch begins. Of one that was to begin now_ns alone is read. */
void fs_late_conclude(fs_late_t *late, uint64_t bytes,
                      const fs_late_found_t *found);

#endif
