/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording (parameter record) on the ranks of this job: rank 0 reads it and tells
 * the others, so that the files need not be on every server.
 *
 * Rank r of the recorded program is rank r mod P here; bytes between ranks that are
 * one rank here are what it sends to itself. Each recorded communicator has one here,
 * of the ranks that have a rank of it. */
#ifndef OSU_REPLAY_DATA_H
#define OSU_REPLAY_DATA_H

#include "osu_parse.h"
#include "trace/fs_recording.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* What is the same on all ranks. */
typedef struct osu_kind {
    uint64_t comm, n_calls, bytes; /* bytes of one call */
    uint64_t function;             /* fs_record_function() */
    uint64_t most;      /* bytes that a rank sends or receives in it */
    uint64_t most_rank; /* and which */
} osu_kind_t;

typedef struct osu_replay {
    uint64_t    n_comms, n_kinds, n_calls, n_recorded;
    osu_kind_t *kinds; /* [n_kinds] as "fastsched compare" counts them */
    uint32_t   *calls; /* [n_calls] their kinds, in the order of entries */
    MPI_Comm   *comms; /* [n_comms] MPI_COMM_NULL: this rank is not in it */
    int       **ints;  /* [n_kinds] counts to send, displacements, counts to
                          receive, displacements, each [size]; or NULL */
} osu_replay_t;

/* Collective. False on every rank, and why on rank 0. In any case
 * osu_replay_fini(). */
bool osu_replay_init(osu_replay_t *replay, const char *dir, char *why);
void osu_replay_fini(osu_replay_t *replay);

#endif
