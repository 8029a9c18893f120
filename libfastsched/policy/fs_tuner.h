/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuner finds the fastest way to serve a call, with few probes.
 *
 * Calls fall into classes: the collective, bytes between servers, their skew (MTM)
 * and the skew inside servers. The ways to serve a call are candidates, the native algorithm
 * among them; the caller says by a model what each would take. In each class
 *
 *   EXPLORE  the candidate that should be the fastest, twice; then one call, a
 *            probe, for each other one that may be faster. A candidate becomes
 *            the choice after two calls that were both clearly faster than it.
 *            After EXPLORE_CALLS calls at most                       -> SETTLED
 *   SETTLED  the choice. If it takes clearly longer than another candidate did,
 *            PATIENCE calls in a row; or after SOON calls, and each time
 *            after twice as many, with those that are not seen       -> RECHECK
 *   RECHECK  two probes of that other candidate, and a third one if only the second
 *            was clearly faster; after two that were it is the choice  -> SETTLED
 *
 * No candidate is probed that should take more than FAR times what the best is
 * known to take. What should a candidate take? What it took in this class; else
 * what the model says, corrected by how wrong it was about this candidate in a
 * neighbouring class (half or twice the bytes, or a band of skew away), or about
 * others in this one. The native algorithm, which the program would have without
 * fast, is not left out by the model alone: SOON it gets a probe all the same. And calls
 * may have been slow by chance, as peers connect, buffers are made or another call
 * has left its traces: where the model still has a candidate in front it is looked
 * at again, and sooner than others.
 *
 * A price is time over the lower bound of the call, so that calls of a class
 * compare though their sizes differ. The first WARM_UPS probes of the native algorithm
 * on a communicator are warm-ups, because an MPI connects its ranks at their first
 * messages: if they are slow they prove nothing, and SOON there is another one.
 *
 * Times are those from the last rank's entry to the last one's end; of the native
 * algorithm, which begins when a summary is over, the longest of a rank. A rank alone does
 * not know that time: calls that are compared have to be closed, by a round of
 * control messages. Of SETTLED ones that are few; the others have a rough time, and if
 * it is FAR from what the choice takes the next call is closed.
 *
 * The classes of the last FS_TUNER_CLASSES that were called are kept, in memory
 * that is there from the start: no rank forgets what others remember.
 *
 * Pure, integers only: times come from outside, the same on all ranks, so every rank
 * reaches the same verdicts.
 */
#ifndef FS_TUNER_H
#define FS_TUNER_H

#include "fastsched.h"

/* A row for each way to serve a call: constant, word, what it is. */
#define FS_CANDIDATE_MAP(X)                                               \
    X(FS_CANDIDATE_NATIVE, native, "the MPI's own algorithm")             \
    X(FS_CANDIDATE_BUNDLES, bundles,                                      \
      "one message for the small blocks of two servers")                  \
    X(FS_CANDIDATE_BUNDLES_COARSE, bundles_coarse,                        \
      "cut among lanes only where 16 times as long")                      \
    X(FS_CANDIDATE_STAGED, staged, "one pair of servers at a time")       \
    X(FS_CANDIDATE_COARSE, staged_coarse, "with chunks 4 times as large") \
    X(FS_CANDIDATE_PIPE2D, pipe2d, "along rails")                         \
    X(FS_CANDIDATE_EAGER, eager, "all at once, in short messages")

typedef enum fs_candidate { FS_CANDIDATE_MAP(FS_LIST_VALUE) } fs_candidate_t;

enum { FS_N_CANDIDATES = 0 FS_CANDIDATE_MAP(FS_LIST_ONE) };

enum { FS_TUNER_COARSE = 4 }; /* chunks of FS_CANDIDATE_COARSE, in others */

/* A row for each collective that is tuned: the MPI serves each in its own way. */
#define FS_TUNED_MAP(X)                               \
    X(FS_TUNED_ALLTOALLV, alltoallv, "MPI_Alltoallv") \
    X(FS_TUNED_ALLTOALL, alltoall, "MPI_Alltoall")    \
    X(FS_TUNED_ALLTOALLW, alltoallw, "MPI_Alltoallw")

typedef enum fs_tuned { FS_TUNED_MAP(FS_LIST_VALUE) } fs_tuned_t;

enum { FS_N_TUNED = 0 FS_TUNED_MAP(FS_LIST_ONE) };

enum {
    FS_TUNER_MTM_BANDS     = 4, /* MTM 1, 2, 4, 8 and more */
    FS_TUNER_SKEW_BANDS    = 3, /* fs_tuner_class() */
    FS_TUNER_KEYS          = 64 * FS_TUNER_MTM_BANDS * FS_TUNER_SKEW_BANDS,
    FS_TUNER_CLASSES       = 64, /* kept at a time */
    FS_TUNER_MARGIN        = 5,  /* percent: less is noise */
    FS_TUNER_FAR           = 2,
    FS_TUNER_EXPLORE_CALLS = 6,
    FS_TUNER_WARM_UPS      = 2, /* of the native algorithm, in a communicator */
    FS_TUNER_PATIENCE      = 4,
    FS_TUNER_SOON          = 10,    /* calls of SETTLED until RECHECK */
    FS_TUNER_WITHDRAWN_MOST = 2,    /* questions of a class in a row */
    FS_TUNER_CLOSE          = 32,   /* calls of SETTLED, one of them is timed */
    FS_TUNER_RECHECK        = 1000, /* likewise, of what an earlier run found */
    FS_TUNER_RECHECK_MOST   = 64000
};

/* An estimate: it is possible, and that is all. 0: it is not possible. */
#define FS_TUNER_UNKNOWN UINT64_MAX

typedef enum fs_tuner_state {
    FS_TUNER_EXPLORE,
    FS_TUNER_SETTLED,
    FS_TUNER_RECHECKS
} fs_tuner_state_t;

/* A candidate in a class. Prices and estimates are nanoseconds per MiB of the
 * lower bound. */
typedef struct fs_tuner_seen {
    uint64_t price[2]; /* of its last two calls, the latest first; 0: none */
    uint64_t estimate; /* by the model, of the last call of the class */
    uint64_t promise;  /* what it should take, when it was last probed */
    uint8_t  n_asked;  /* calls in EXPLORE or RECHECK */
    uint8_t  n_won;    /* of these in a row, clearly faster than the choice */
    uint32_t n_looks;  /* RECHECKs of it as it was its turn, with this choice */
} fs_tuner_seen_t;

typedef struct fs_tuner_class {
    uint64_t used;     /* when; 0: this place is free */
    uint32_t key;      /* fs_tuner_class() */
    uint8_t  state;    /* fs_tuner_state_t */
    uint8_t  choice;   /* fs_candidate_t */
    uint8_t  rival;    /* in RECHECK */
    bool     measured; /* here, not only told by fs_tuner_seed() */
    bool     alarmed;  /* a rough time was FAR from what it should be */
    /* What came after it, where another class had been before it, and where itself: the
     * class of the last time, and 1 (0: none); and was it that of the time before? */
    uint32_t        follower[2];
    bool            follows[2];
    uint8_t         n_withdrawn; /* questions, since one was answered */
    uint32_t        in_state;    /* calls */
    uint32_t        n_unseen;    /* and fs_tuner_count() */
    uint32_t        recheck;     /* calls of SETTLED until then */
    uint32_t        n_worse;     /* calls in a row */
    uint32_t        patience;
    uint64_t        n_calls;
    uint64_t        n_timed;  /* calls whose time was told, with the sums of */
    uint64_t        timed_ns; /* these times and */
    uint64_t        timed_bytes; /* of their bounds */
    fs_tuner_seen_t seen[FS_N_CANDIDATES];
} fs_tuner_class_t;

typedef enum fs_tuner_reason {
    FS_TUNER_NONE,  /* the tuner has not been asked */
    FS_TUNER_GUESS, /* it should be the fastest */
    FS_TUNER_PROBE, /* to compare */
    FS_TUNER_FOUND  /* it is the fastest of those that were tried */
} fs_tuner_reason_t;

/* What serves a call, and what its time is to tell. All zero: nothing. */
typedef struct fs_tuner_question {
    fs_tuner_reason_t reason;
    fs_candidate_t    candidate;
    uint32_t          of_class;
    uint64_t          bound;
    bool              warm_up;
    bool              closes; /* its time has to be exact */
} fs_tuner_question_t;

/* What the tuner has to know of a call. */
typedef struct fs_tuner_call {
    uint32_t of_class;
    uint64_t bound; /* bytes per lane, 1 or more */
    /* Nanoseconds, of all candidates the same factor of what they are. */
    uint64_t estimate[FS_N_CANDIDATES];
} fs_tuner_call_t;

/* The last call of a sequence. All zero: there was none. */
typedef struct fs_tuner_history {
    uint32_t last;  /* its class, and 1 */
    bool     again; /* the one before was of that class, too */
} fs_tuner_history_t;

/* All zero: nothing seen. */
typedef struct fs_tuner {
    fs_tuner_class_t classes[FS_TUNER_CLASSES];
    uint64_t         now; /* counts calls and measurements */
    uint32_t n_warm_ups;  /* calls of the native algorithm, at most WARM_UPS */
    uint32_t n_native;    /* classes settled on the native algorithm */
} fs_tuner_t;

/* "native" and so on; "alltoallv" and so on. */
const char *fs_candidate_name(fs_candidate_t candidate);
const char *fs_tuned_name(fs_tuned_t tuned);
/* Of its skew inside servers: "even" and so on. */
const char *fs_tuner_skew_name(uint32_t of_class);

/* The class of an MPI_Alltoallv of so many bytes between servers, 1 or more: a number
 * that grows with them. skew_milli: the busiest rank's bytes over the mean of the ranks
 * of the busiest server, in thousandths; its bands are below 1.5, below 3, and
 * the rest. */
uint32_t fs_tuner_class(uint64_t inter_bytes, uint64_t mtm_milli,
                        uint64_t skew_milli);

/* The same of another collective. */
static inline uint32_t fs_tuner_class_for(fs_tuned_t tuned, uint32_t of_class)
{
    return (uint32_t)tuned * FS_TUNER_KEYS + of_class % FS_TUNER_KEYS;
}

static inline fs_tuned_t fs_tuner_tuned(uint32_t of_class)
{
    return (fs_tuned_t)(of_class / FS_TUNER_KEYS);
}

/* Its parts, from 0. */
static inline uint32_t fs_tuner_bytes_log2(uint32_t of_class)
{
    return of_class / (FS_TUNER_MTM_BANDS * FS_TUNER_SKEW_BANDS) % 64;
}

static inline uint32_t fs_tuner_mtm_band(uint32_t of_class)
{
    return of_class / FS_TUNER_SKEW_BANDS % FS_TUNER_MTM_BANDS;
}

static inline uint32_t fs_tuner_skew_band(uint32_t of_class)
{
    return of_class % FS_TUNER_SKEW_BANDS;
}

/* The class of an MPI_Alltoallv with these parts. */
static inline uint32_t fs_tuner_class_of(uint32_t bytes_log2, uint32_t mtm_band,
                                         uint32_t skew_band)
{
    return (bytes_log2 * FS_TUNER_MTM_BANDS + mtm_band) * FS_TUNER_SKEW_BANDS +
           skew_band;
}

/* A call: what serves it? Some estimate is not 0. */
fs_tuner_question_t fs_tuner_next(fs_tuner_t            *tuner,
                                  const fs_tuner_call_t *call);

/* So many calls, which should have been of this class, were served by its choice and are
 * not known. */
void fs_tuner_count(fs_tuner_t *tuner, uint32_t of_class, uint32_t n_calls);

/* The call cannot be served so, as it was prepared for another candidate: the next
 * one of the class is asked the same. False: there is no question, or it has been put
 * off often enough. */
bool fs_tuner_withdraw(fs_tuner_t *tuner, const fs_tuner_question_t *question);

/* What should serve this call, of the candidates whose bit 1 << c is set? The choice, or
 * what should be the fastest; nothing is counted. All zero: none of them can. */
fs_tuner_question_t fs_tuner_best(fs_tuner_t            *tuner,
                                  const fs_tuner_call_t *call,
                                  uint32_t               candidates);

/* A call of a class has come after those of the history. Which class comes next? The one
 * that came the last two times; else the same again. */
uint32_t fs_tuner_follow(fs_tuner_t *tuner, fs_tuner_history_t *history,
                         uint32_t of_class);

/* What would serve a call of this class, with the estimates of the last one?
 * Nothing is counted. Reason NONE: there has been none. */
fs_tuner_question_t fs_tuner_peek(const fs_tuner_t *tuner, uint32_t of_class);

/* And if nothing were to be compared? There has been one. */
fs_candidate_t fs_tuner_choice(const fs_tuner_t *tuner, uint32_t of_class);

/* What the call of a question took, from the last entry to the last end. 0: nobody
 * knows. This or the next function once for each question at most, in the order of
 * calls. */
void fs_tuner_update(fs_tuner_t *tuner, const fs_tuner_question_t *question,
                     uint64_t run_ns);

/* What it took about: a call that was not closed. It decides nothing. */
void fs_tuner_hear(fs_tuner_t *tuner, const fs_tuner_question_t *question,
                   uint64_t about_ns);

/* A class is settled, as an earlier run has found. Prices of 0: not known. */
void fs_tuner_seed(fs_tuner_t *tuner, uint32_t of_class, fs_candidate_t choice,
                   const uint64_t prices[FS_N_CANDIDATES]);

/* What is known of a class; NULL: nothing. */
const fs_tuner_class_t *fs_tuner_find(const fs_tuner_t *tuner,
                                      uint32_t          of_class);

/* What calls took, and what they would have taken, all by the MPI's own algorithm, in
 * classes where that was measured; elsewhere their number alone is known. */
typedef struct fs_tuner_gain {
    uint64_t n_calls;
    uint64_t ns;
    uint64_t native_ns;
    uint64_t n_unknown;
} fs_tuner_gain_t;

fs_tuner_gain_t fs_tuner_gain(const fs_tuner_t *tuner);

/* The price of a candidate, the better of its last two calls; 0: none. */
uint64_t fs_tuner_price(const fs_tuner_class_t *class,
                        fs_candidate_t candidate);

#endif
