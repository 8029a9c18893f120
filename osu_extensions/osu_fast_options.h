/* SPDX-License-Identifier: BSD-3-Clause */
/* OSU's options and some of ours. */
#ifndef OSU_FAST_OPTIONS_H
#define OSU_FAST_OPTIONS_H

#include "osu_fast_device.h"
#include "sched/model/fs_arrival.h"
#include "sched/model/fs_pattern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OSU_MAX_TAILS 5 /* as many as OSU's -z takes */
#define OSU_NAME_LEN  64

/* What is measured, and how --collective calls that: a list likewise. */
#define OSU_COLLECTIVE_MAP(X)        \
    X(OSU_ALLTOALLV, alltoallv)      \
    /* the same from each to each */ \
    X(OSU_ALLTOALL, alltoall)        \
    X(OSU_ALLTOALLW, alltoallw)

typedef enum osu_collective {
    OSU_COLLECTIVE_MAP(FS_LIST_VALUE) OSU_N_COLLECTIVES
} osu_collective_t;

/* The form of the calls, by program. */
#if defined(OSU_NONBLOCKING)
enum { OSU_IS_NONBLOCKING = 1, OSU_IS_PERSISTENT = 0 };
#define OSU_SKEW_PROGRAM "osu_ialltoallv_skew"
#elif defined(OSU_PERSISTENT)
enum { OSU_IS_NONBLOCKING = 0, OSU_IS_PERSISTENT = 1 };
#define OSU_SKEW_PROGRAM "osu_alltoallv_skew_persistent"
#else
enum { OSU_IS_NONBLOCKING = 0, OSU_IS_PERSISTENT = 0 };
#define OSU_SKEW_PROGRAM "osu_alltoallv_skew"
#endif

/* As --collective takes it. */
const char *osu_collective_name(osu_collective_t collective);

typedef struct osu_options {
    osu_collective_t collective;
    uint64_t         min_size, max_size; /* bytes per pair on average */
    uint64_t         iterations[2]; /* [0] up to OSU_LARGE_SIZE, [1] above */
    uint64_t         warmup[2];
    uint64_t         mem_limit; /* bytes per rank */
    uint64_t         seed;
    uint64_t         nics; /* of a server, 0: one per rank */
    double           rate; /* bits per second and NIC, 0: unknown */
    fs_pattern_t     pattern;
    osu_memory_t     memory;
    const char      *pattern_text; /* as given */
    const char  *path;  /* of the file whose matrix takes the place of pattern,
                           NULL: none */
    bool         as_is; /* that matrix is not scaled: -m was not given */
    const char  *servers; /* NULL: the real hosts */
    const char  *impl;    /* NULL: named after the MPI in use */
    bool         validate, full, json, times, dynamic, ceiling;
    bool         siblings; /* a communicator for each place on a server */
    fs_arrival_t arrival;
    const char  *arrival_text; /* as given; NULL: together */
    uint64_t     burst;        /* calls at once; more than 1: nonblocking */
    uint64_t     test_us; /* nonblocking: MPI_Test so often while computing, 0:
                            never */
    const char  *counted_nics; /* --nic-counters: shell patterns with commas
                                  between; NULL: nothing is counted */
    unsigned     n_tails;
    unsigned     tails[OSU_MAX_TAILS]; /* percentiles asked for with -z */
} osu_options_t;

#define OSU_LARGE_SIZE 8192 /* bytes; larger messages run fewer iterations */

/* Strings in *options point into argv. Same arguments, same verdict: no rank
 * has to ask another. */
osu_verdict_t osu_options_parse(int argc, char **argv, osu_options_t *options,
                                char why[OSU_WHY_LEN]);

void osu_usage(FILE *out, const char *program);

#endif
