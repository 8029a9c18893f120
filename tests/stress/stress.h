/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the stress test share. Everything is drawn from the seed
 * and the number of a call, so all ranks decide alike without a message, and a
 * call can be made again without those before it. */
#ifndef STRESS_H
#define STRESS_H

#include "mpi_exchange.h"

typedef struct stress {
    uint32_t seed;
    uint32_t n_calls;
    uint32_t from;     /* the first call that is made; 1 */
    uint32_t log2_sum; /* bytes of a call, all ranks together, at most */
    uint32_t sound;    /* 1: what MPICH 4.0.2 itself does right */
    uint64_t n_compared;
    uint64_t n_fast; /* of them, on communicators that fast looks at */
} stress_t;

extern stress_t stress;

/* ---- numbers ---- */

/* All who throw the same dice in the same order get the same numbers. */
typedef struct dice {
    uint32_t key[2];
    uint32_t n_thrown;
} dice_t;

/* 0 to n - 1. */
uint32_t roll(dice_t *dice, uint32_t n);

/* ---- stress_job.c ---- */

/* Print the options of this seed's job, as Open MPI has them. */
void job_print(void);

const char *job_algorithm(void);

/* Does this seed's job have two threads on each rank? */
int job_has_threads(void);

/* ---- stress_comms.c ---- */

enum { N_COMMS = 9 }; /* alive at once; 0 is MPI_COMM_WORLD */

typedef struct comm {
    MPI_Comm comm;      /* MPI_COMM_NULL: this rank is no member */
    MPI_Comm reference; /* see stress_reference.c */
    uint32_t born;      /* the call before which it was made */
    int      leader;    /* in MPI_COMM_WORLD: after one split there are many */
} comm_t;

extern comm_t comms[N_COMMS];

void     comms_init(void);
void     comms_fini(void);
uint32_t comms_made(void);

/* A communicator goes, and another takes its place. Collective. */
void comms_renew(dice_t *dice, uint32_t call);

/* ---- stress_calls.c ---- */

/* One random call, made by fast and by the MPI, compared. round is its own. */
void call_on(const comm_t *c, uint32_t round);

/* ---- stress_reference.c ---- */

/* The MPI's own algorithm, on a communicator that fast never serves. */
MPI_Comm     reference_open(MPI_Comm comm);
void         reference_close(MPI_Comm *reference);
alltoallv_fn reference_function(void);

#endif
