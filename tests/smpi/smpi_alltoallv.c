/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One alltoallv under SMPI, by libfastsched or by SMPI itself: how long does it
 * take in simulated time?
 *
 *   smpi_alltoallv LABEL RANKS_PER_SERVER MEAN_BYTES CHUNK WINDOW
 *                  PATTERN...
 *
 * LABEL "ours" runs libfastsched over SMPI's point-to-point; with any other
 * label it is SMPI's own MPI_Alltoallv, whatever --cfg=smpi/alltoallv has
 * chosen. One line per pattern: ranks, pattern, label, seconds of the slowest
 * rank, the lower bound (the busiest server's bytes over its NICs), their
 * ratio, and that of the busiest rank's bytes over its NIC, below which nobody
 * comes who does not share out the bytes of a server.
 *
 * Payloads are not real: all blocks of all ranks are one piece of SMPI's shared
 * memory, which it does not copy.
 */
#include "smpi_host.h"

#include "sched/model/fs_pattern.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY = 256, MATRIX_SEED = 1 };

#define NIC_BYTES_PER_S 50e9

/* What all ranks have in common. They are one process, and this is not
 * privatised: whoever comes first draws a matrix. */
static struct {
    uint64_t *bytes;        /* [n_ranks x n_ranks] */
    char     *payload;      /* as large as the largest block */
    double    bound_s;      /* the busiest server's */
    double    rank_bound_s; /* the busiest rank's */
    bool      drawn;        /* the matrix of this pattern is there */
} common;

typedef struct job {
    const char *label;
    uint32_t    n_ranks;
    uint32_t    rank;
    uint32_t    per_server;
    uint64_t    mean_bytes;
    const char *chunk; /* parameters of libfastsched */
    const char *window;
} job_t;

static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "smpi_alltoallv: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void must(fs_status_t status, const char *what)
{
    if (status != FS_OK) {
        give_up(what, fs_strerror(status));
    }
}

/* ---- the matrix ---- */

/* Bytes that ranks first to first + n - 1 send to other servers, or receive. */
static uint64_t crossing(const job_t *job, uint32_t first, uint32_t n,
                         bool sent)
{
    uint64_t sum = 0;

    for (uint32_t i = first; i < first + n; ++i) {
        for (uint32_t r = 0; r < job->n_ranks; ++r) {
            size_t k = sent ? (size_t)i * job->n_ranks + r
                            : (size_t)r * job->n_ranks + i;

            sum += r / job->per_server != i / job->per_server ? common.bytes[k]
                                                              : 0;
        }
    }
    return sum;
}

/* The most that any group of n ranks sends or receives, over its NICs. */
static double bound_s(const job_t *job, uint32_t n)
{
    uint64_t most = 0;

    for (uint32_t first = 0; first < job->n_ranks; first += n) {
        uint64_t out = crossing(job, first, n, true);
        uint64_t in  = crossing(job, first, n, false);

        most = out > most ? out : most;
        most = in > most ? in : most;
    }
    return (double)most / n / NIC_BYTES_PER_S;
}

static void draw(const job_t *job, const char *text)
{
    size_t       n       = job->n_ranks;
    uint64_t     largest = 0;
    uint32_t    *server  = malloc(n * sizeof(*server));
    char         why[WHY];
    fs_pattern_t pattern;

    if (fs_pattern_parse(text, &pattern, why, sizeof(why)) != FS_OK) {
        give_up("pattern", why);
    }
    for (uint32_t r = 0; r < n; ++r) {
        server[r] = r / job->per_server;
    }
    free(common.bytes);
    common.bytes = malloc(n * n * sizeof(*common.bytes));
    must(fs_pattern_fill(&pattern, job->n_ranks, server, job->mean_bytes,
                         MATRIX_SEED, common.bytes),
         text);
    for (size_t k = 0; k < n * n; ++k) {
        largest = common.bytes[k] > largest ? common.bytes[k] : largest;
    }
    if (largest > INT_MAX) {
        give_up(text, "a block is more than an int can count");
    }
    if (common.payload != NULL) {
        SMPI_SHARED_FREE(common.payload);
    }
    common.payload      = SMPI_SHARED_MALLOC(largest + 1);
    common.bound_s      = bound_s(job, job->per_server);
    common.rank_bound_s = bound_s(job, 1);
    free(server);
}

/* ---- by SMPI ---- */

/* MPI_BYTE: SMPI would pack any other type into memory of its own. */
static void call_smpi(const job_t *job)
{
    size_t n      = job->n_ranks;
    int   *counts = calloc(3 * n, sizeof(*counts));
    int   *wanted = counts + n, *zeros = counts + 2 * n;

    for (uint32_t r = 0; r < n; ++r) {
        counts[r] = (int)common.bytes[job->rank * n + r];
        wanted[r] = (int)common.bytes[r * n + job->rank];
    }
    MPI_Alltoallv(common.payload, counts, zeros, MPI_BYTE, common.payload,
                  wanted, zeros, MPI_BYTE, MPI_COMM_WORLD);
    free(counts);
}

/* ---- by libfastsched ---- */

static void call_ours(const job_t *job, fs_comm_t *coll)
{
    size_t      n     = job->n_ranks;
    void      **block = malloc(2 * n * sizeof(*block));
    fs_counts_t counts;
    fs_call_t   call = {.counts     = &counts,
                        .send_block = (const void *const *)block,
                        .recv_block = block + n};
    bool        ran  = false;

    must(fs_counts_init(&counts, job->n_ranks, job->rank), "fs_counts_init");
    fs_counts_begin(&counts, fs_comm_topo(coll));
    for (uint32_t r = 0; r < n; ++r) {
        fs_counts_add(&counts, r, common.bytes[job->rank * n + r],
                      common.bytes[r * n + job->rank]);
        block[r]     = common.payload;
        block[n + r] = common.payload;
    }
    must(fs_comm_alltoallv(coll, &call, &ran), "fs_comm_alltoallv");
    if (!ran) {
        give_up("fs_comm_alltoallv", "left to the host");
    }
    fs_counts_fini(&counts);
    free(block);
}

static fs_comm_t *make_coll(const job_t *job, smpi_host_t *native)
{
    fs_native_t table  = smpi_host_table(native);
    fs_member_t member = {.n_ranks      = job->n_ranks,
                          .rank         = job->rank,
                          .server_label = job->rank / job->per_server};
    /* The first call is the one that counts: nothing learned, nothing lent to
     * the host. */
    const char *const set[][2] = {
        {"transport", "mpi"},   {"chunk", job->chunk}, {"window", job->window},
        {"stage_cost", "256k"}, {"calibrate", "0"},    {"tuner", "0"},
        {"bundle_memory", "0"}, {"watchdog", "0"}};
    fs_params_t params;
    fs_comm_t  *coll     = NULL;
    char        why[WHY] = "";

    fs_params_init(&params);
    for (size_t k = 0; k < sizeof(set) / sizeof(set[0]); ++k) {
        must(fs_params_set(&params, set[k][0], set[k][1], why, sizeof(why)),
             set[k][0]);
    }
    if (fs_comm_create(&table, &params, &member, &coll, why, sizeof(why)) !=
        FS_OK) {
        give_up("fs_comm_create", why);
    }
    return coll;
}

/* ---- one pattern ---- */

static void run(const job_t *job, fs_comm_t *coll, const char *pattern)
{
    double took_s, slowest_s = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    if (!common.drawn) {
        common.drawn = true;
        draw(job, pattern);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    common.drawn = false;
    took_s       = -MPI_Wtime();
    if (coll != NULL) {
        call_ours(job, coll);
    } else {
        call_smpi(job);
    }
    took_s += MPI_Wtime();
    MPI_Reduce(&took_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (job->rank == 0) {
        printf("%u,%s,%s,%.6f,%.6f,%.3f,%.3f\n", job->n_ranks, pattern,
               job->label, slowest_s, common.bound_s,
               slowest_s / common.bound_s,
               common.rank_bound_s / common.bound_s);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int          rank, size;
    smpi_host_t *native = NULL;
    fs_comm_t   *coll   = NULL;
    job_t        job;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 7) {
        give_up("usage", "smpi_alltoallv LABEL RANKS_PER_SERVER MEAN_BYTES "
                         "CHUNK PATTERN...");
    }
    job = (job_t){.label      = argv[1],
                  .n_ranks    = (uint32_t)size,
                  .rank       = (uint32_t)rank,
                  .per_server = (uint32_t)atoi(argv[2]),
                  .mean_bytes = (uint64_t)atoll(argv[3]),
                  .chunk      = argv[4],
                  .window     = argv[5]};
    if (strcmp(job.label, "ours") == 0) {
        host = smpi_host_create(MPI_COMM_WORLD);
        coll = make_coll(&job, native);
    }
    for (int k = 6; k < argc; ++k) {
        run(&job, coll, argv[k]);
    }
    if (coll != NULL) {
        fs_comm_destroy(coll);
        smpi_host_destroy(native);
    }
    MPI_Finalize();
    return 0;
}
