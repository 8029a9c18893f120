/* SPDX-License-Identifier: BSD-3-Clause */
/* The traffic of a run: matrix, layout, buffers, and what must be in them. */
#ifndef OSU_SKEW_DATA_H
#define OSU_SKEW_DATA_H

#include "osu_fast_device.h"
#include "osu_fast_util.h"
#include "osu_nic_counters.h"

typedef struct bench {
    const osu_options_t *options;
    const osu_device_t  *device;
    osu_cluster_t        cluster;
    osu_algorithm_t      algorithm;
    MPI_Comm             comm;
    MPI_Comm             peers_comm; /* of the calls; comm, or with --siblings
                                           a part of it */
    uint32_t             n_peers;
    uint32_t            *peers;   /* [n_peers] their ranks in comm */
    uint32_t            *scratch; /* [2 x n] */
    MPI_Request   *requests; /* [burst] of the calls that are not blocking */
    MPI_Status    *statuses; /* [burst], which nobody reads */
    uint32_t       rank, n;
    uint64_t      *file;   /* [n x n] of -p file:PATH, as it stands */
    uint64_t      *matrix; /* [n x n] bytes of the current call, of a burst
                                    the first */
    uint64_t      *total;  /* [n x n] of a burst: the sum over its calls; with
                                    --siblings scratch */
    uint64_t      *sums;   /* [4 x n] scratch */
    int           *ints;   /* [4 x burst x n_peers] the four below */
    int           *send_counts, *send_displs, *recv_counts, *recv_displs;
    unsigned char *send, *recv; /* where -d says, for MPI */
    unsigned char *send_host;   /* what the CPU writes and reads: the */
    unsigned char *recv_host;   /* same, or with -c copies; or NULL */
    uint64_t       send_size, recv_size; /* bytes allocated */
    uint64_t       send_used, recv_used; /* of these, by the layout */
    MPI_Datatype  *types;        /* [n_peers] of alltoallw, all MPI_CHAR */
    double        *times;        /* [iterations] seconds, slowest rank */
    double        *computed;     /* likewise: the computation alone, */
    double        *overall;      /* and both at once */
    double         work_per_s;   /* osu_work.h */
    double        *mtms;         /* [iterations] osu_bound() of each, or */
    double        *nics;         /* [1] if they are all the same */
    double        *sorted;       /* [iterations] scratch */
    uint64_t      *entry_ns;     /* [n] fs_arrival_draw() */
    double        *spreads;      /* [iterations] seconds, last minus first */
    double        *entry_bounds; /* [iterations] fs_arrival_bound(), seconds */
    uint64_t       n_calls;      /* so far; makes each call's bytes unique */
    bool           wrong;        /* this rank got a wrong byte */
    double         ceiling_mbit; /* 0: not measured */
    osu_nic_counters_t counters; /* with --nic-counters */
    osu_nic_counts_t   counts;   /* of the timed calls of this size; complete
                                    on rank 0 */
} bench_t;

/* Collective. With -p file:PATH, b->file; it is freed by osu_skew_release().
 * False on every rank, and why on rank 0, if it cannot be had. */
bool osu_skew_read_file(bench_t *b, char *why);

/* Bytes per pair of b->file on average, rounded up. */
uint64_t osu_skew_mean(const bench_t *b);

/* Collective. Who takes part in this rank's calls: b->peers. False, and why, on
 * every rank; osu_skew_release() frees it. */
bool osu_skew_join(bench_t *b, char *why);

/* Draw the matrix of an iteration at an average size, bytes per pair; if it is
 * taken as it is, there is but one. FS_OK or what fs_pattern_fill() and
 * fs_pattern_scale() say. */
fs_status_t osu_skew_draw(bench_t *b, uint64_t size, uint64_t iteration);

/* Counts and displacements of this rank from the matrix, of one call of a burst
 * behind the other; osu_skew_claim() made sure that they fit. */
void osu_skew_lay_out(bench_t *b);

/* [n x n] bytes of all calls that are made at once. */
const uint64_t *osu_skew_total(bench_t *b);

/* Collective. Allocate what all sizes need. False, and why, on every rank if it
 * is too much. */
bool osu_skew_claim(bench_t *b, char *why);
void osu_skew_release(bench_t *b);

/* Before a call: bytes that tell where they are from, canaries and poison. */
void osu_skew_fill(bench_t *b);

/* After it: every byte and every canary. Sets b->wrong and tells stderr of the
 * first mistake. */
void osu_skew_check(bench_t *b);

#endif
