/* SPDX-License-Identifier: BSD-3-Clause */
/* Random traffic: how much each rank sends to each, the same on all ranks. */
#ifndef MPI_COUNTS_H
#define MPI_COUNTS_H

#include <stdint.h>

typedef enum pattern {
    PATTERN_RANDOM,
    PATTERN_WIDE,     /* log-uniform: each pair has a size of its own */
    PATTERN_SPARSE,   /* three of four pairs are empty */
    PATTERN_BALANCED, /* all the same */
    PATTERN_SENDER,   /* one rank sends much, all others little */
    PATTERN_RECEIVER,
    PATTERN_PAIR, /* two ranks, and nobody else */
    PATTERN_ROWS, /* half of the ranks send nothing */
    PATTERN_ZIPF, /* some receivers get up to 64 times as much as others */
    PATTERN_NONE,
    N_PATTERNS
} pattern_t;

typedef struct counts {
    pattern_t pattern;
    uint32_t  most; /* units of a pair */
    uint32_t  salt;
    uint32_t  victim; /* a rank of MPI_COMM_WORLD */
} counts_t;

/* src and dst are ranks of MPI_COMM_WORLD. */
uint32_t counts_of_pair(const counts_t *counts, int src, int dst);

/* The same both ways, for MPI_IN_PLACE. */
uint32_t counts_symmetric(const counts_t *counts, int src, int dst);

#endif
