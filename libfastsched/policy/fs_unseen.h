/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that go to the MPI, or by its messages, without a summary.
 *
 * Where the tuner has settled on that, and it takes little longer than a summary,
 * summaries are what is lost. So once PATIENCE calls in a row were left to
 * it, the next ones go there unseen: 1, 3, 7, then MOST between two that are seen.
 *
 * A call that should not be served so may be among them. A rank
 * notices that from its own counts, if they are not like those of the last call
 * that was seen, and its vote says so in the next one: then four times as many calls have
 * to be left to the MPI before any goes unseen again. So of large calls that come
 * at intervals between small ones few are missed.
 *
 * Pure; equal on all ranks but for what a rank notices of its own.
 */
#ifndef FS_UNSEEN_H
#define FS_UNSEEN_H

#include "policy/fs_tuner.h"

enum {
    FS_UNSEEN_PATIENCE      = 1,
    FS_UNSEEN_PATIENCE_MOST = 1 << 20,
    FS_UNSEEN_MOST          = 15,
    FS_UNSEEN_PART = 50 /* of a call: a round that takes longer counts */
};

/* All zero: all calls are seen. */
typedef struct fs_unseen {
    uint32_t left;      /* calls that go unseen from now on */
    uint32_t run;       /* as many as the last time */
    uint32_t n_taken;   /* of them, since a call was seen, */
    uint32_t of_class;  /* which was of this class, fs_tuner.h */
    uint32_t n_settled; /* of those seen in a row that could have gone unseen */
    uint32_t factor;    /* of PATIENCE; 0 is 1 */
    fs_tuned_t     tuned;     /* the collective of all of these */
    fs_candidate_t served;    /* and what serves them */
    uint64_t       own_bytes; /* of this rank in the last of them */
    bool           unlike;    /* it has noticed one that was not like that */
} fs_unseen_t;

/* A call that was seen. */
typedef struct fs_seen {
    fs_tuned_t     tuned;
    uint32_t       of_class;
    bool           settled; /* the tuner has found what needs no summary: */
    fs_candidate_t served;
    bool           counts; /* the summary, that is: it takes more than a PART */
    bool           unlike; /* some rank has noticed */
    uint64_t       own_bytes; /* of this rank */
} fs_seen_t;

/* Can the MPI's messages begin it without a summary? */
static inline bool fs_unseen_can(fs_candidate_t candidate)
{
    return candidate == FS_CANDIDATE_NATIVE || candidate == FS_CANDIDATE_EAGER;
}

/* A call is about to begin: does it go unseen? The same on all ranks. */
bool fs_unseen_take(fs_unseen_t *unseen, fs_tuned_t tuned, uint64_t own_bytes);

/* A call has been seen of which no more is known than if some rank has noticed one that
 * was unlike. */
void fs_unseen_heed(fs_unseen_t *unseen, bool unlike);

/* A call has been seen. */
void fs_unseen_note(fs_unseen_t *unseen, const fs_seen_t *seen);

#endif
