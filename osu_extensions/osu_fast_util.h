/* SPDX-License-Identifier: BSD-3-Clause */
/* What the benchmarks of this directory share: the servers behind the ranks,
 * the lower bound, order statistics, and the names of the MPI and of the
 * algorithm. Plain MPI-3; the look is that of the OSU micro-benchmarks 7, the
 * code is ours. */
#ifndef OSU_FAST_UTIL_H
#define OSU_FAST_UTIL_H

#include "fastsched.h"
#include "osu_fast_options.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifndef FS_VERSION
#define FS_VERSION "unknown" /* configure knows it */
#endif

/* ---- the servers behind the ranks ---- */

typedef struct osu_cluster {
    uint32_t   n_ranks;
    uint32_t  *server_of; /* [n_ranks] any label */
    fs_topo_t *topo;
    bool       even;  /* servers have the same number of ranks */
    char      *shape; /* "4", or "4+4+2+1" if uneven: ranks per server */
} osu_cluster_t;

/* Collective. servers as in fs_topo_parse(); NULL: ranks that can share memory
 * share a server. A server has nics NICs, or one per rank if it has fewer
 * ranks or nics is 0; they are the lanes of the topology. FS_ERR_INVAL sets
 * why, on every rank. */
fs_status_t osu_cluster_init(MPI_Comm comm, const char *servers, uint32_t nics,
                             osu_cluster_t *cluster, char why[OSU_WHY_LEN]);
void        osu_cluster_fini(osu_cluster_t *cluster);

/* What no algorithm can beat: the NICs of the busiest server. */
typedef struct osu_bound {
    double mtm;           /* SABRE §4: max-to-mean of inter-server bytes of
                              ranks, sent or received; 0 if there are none */
    double bytes_per_nic; /* of the busiest server, sent or received */
} osu_bound_t;

/* bytes: [n_ranks x n_ranks], [src][dst]. sums: [4 x n_ranks] scratch. */
osu_bound_t osu_bound(const osu_cluster_t *cluster, const uint64_t *bytes,
                      uint64_t *sums);

/* Collective. Mbit/s of plain streams that go round: one rank for each NIC sends
 * to one on the next server and receives from one on the server before, all at
 * once: what the NICs themselves allow. 0 with one server. */
double osu_ceiling_mbit(MPI_Comm comm, const osu_cluster_t *cluster);

/* ---- order statistics ---- */

void osu_sort(double *values, size_t n);

/* As a program that computes: not a moment of it is the MPI's. */
void osu_sleep(uint64_t ns);

/* Interpolates linearly between neighbours, so that 50 is the usual median.
 * sorted: [n], ascending; n is not 0. */
double osu_percentile(const double *sorted, size_t n, double percent);

/* ---- what ran ---- */

/* The MPI in use, in a word: ompi, mpich. */
void osu_impl_name(char name[OSU_NAME_LEN]);

/* The performance variable that coll/fast exports through MPI_T. */
typedef struct osu_algorithm {
    MPI_Comm           comm; /* the handle points here if it is bound to one */
    MPI_T_pvar_session session;
    MPI_T_pvar_handle  handle;
    MPI_T_enum         names;
    MPI_Datatype       type;
    bool               found;
} osu_algorithm_t;

/* Call after MPI_Init and, for fini, before MPI_Finalize: Open MPI 4.1 crashes
 * if MPI_T starts before or outlives MPI. The structure must not move. */
void osu_algorithm_init(MPI_Comm comm, osu_algorithm_t *algorithm);
/* Name of the algorithm of the last call; "-" if nobody says. */
void osu_algorithm_last(const osu_algorithm_t *algorithm,
                        char                   name[OSU_NAME_LEN]);
void osu_algorithm_fini(osu_algorithm_t *algorithm);

/* To anything but OSU_RUN: rank 0 prints usage, version or why. Returns the exit status of
 * every rank. */
int osu_answer(osu_verdict_t verdict, const char    *program,
               void (*usage)(FILE *out), const char *why);

#endif
