/* SPDX-License-Identifier: BSD-3-Clause */
/* OSU-style latency of MPI_Alltoallv under skewed traffic.
 *
 * osu_alltoallv gives every pair the same count, and averages over ranks, so
 * the rank that all others wait for disappears. Here the counts come from a
 * pattern, and the time of an iteration is that of its slowest rank.
 *
 *   for each size                      average bytes per pair, doubling
 *     draw the matrix                  fs_pattern_fill(), same on every rank
 *     for each iteration
 *       fill, poison, barrier          outside the clock
 *       MPI_Alltoallv                  inside
 *       barrier                        outside: a rank that is done takes no processor
 *                                      from ranks that are still in the call
 *       check every byte               with -c; outside
 *     maximum over ranks, percentiles, one row
 *
 * Limits: counts and displacements are int, so one rank sends and receives less
 * than 2 GiB in a call. Memory is claimed once, for the largest size. */
#include "osu_skew_data.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef FS_VERSION
#define FS_VERSION "unknown" /* configure knows it */
#endif

/* One row of the table. Times in seconds, NAN: unknown. */
typedef struct row {
    uint64_t size, iterations;
    double   avg, min, max, p50, p99, tails[OSU_MAX_TAILS];
    double   mtm, alg_bw, bound, efficiency;
    char     algorithm[OSU_NAME_LEN];
    bool     valid;
} row_t;

static unsigned size_class(uint64_t size)
{
    return size > OSU_LARGE_SIZE;
}

/* ---- measurement ---- */

/* One call; seconds on this rank. */
static double run_call(bench_t *b)
{
    bool   validate = b->options->validate;
    double seconds;

    if (validate) {
        osu_skew_fill(b);
    }
    MPI_Barrier(b->comm);
    seconds = MPI_Wtime();
    MPI_Alltoallv(b->send, b->send_counts, b->send_displs, MPI_CHAR, b->recv,
                  b->recv_counts, b->recv_displs, MPI_CHAR, b->comm);
    seconds = MPI_Wtime() - seconds;
    MPI_Barrier(b->comm);
    if (validate) {
        osu_skew_check(b);
    }
    b->n_calls++;
    return seconds;
}

/* osu_skew_claim() has drawn the largest ones: only memory can be missing. */
static void draw_or_abort(bench_t *b, uint64_t size, uint64_t iteration)
{
    if (osu_skew_draw(b, size, iteration) != FS_OK) {
        fprintf(stderr,
                OSU_SKEW_PROGRAM ": rank %u: no memory to draw a matrix\n",
                b->rank);
        MPI_Abort(b->comm, 3);
    }
}

/* Times, MTM and link bytes of each iteration; complete on rank 0. */
static void run_size(bench_t *b, uint64_t size)
{
    const osu_options_t *o          = b->options;
    uint64_t             iterations = o->iterations[size_class(size)];
    uint64_t             warmup     = o->warmup[size_class(size)];

    for (uint64_t k = 0; k < warmup + iterations; ++k) {
        /* Timed matrices do not depend on how many calls warmed up. */
        uint64_t iteration = k < warmup ? iterations + k : k - warmup;
        double   seconds;

        if (k == 0 || o->dynamic) {
            draw_or_abort(b, size, o->dynamic ? iteration : 0);
            osu_skew_lay_out(b);
        }
        seconds = run_call(b);
        if (k < warmup) {
            continue;
        }
        b->times[iteration] = seconds;
        if (b->rank == 0 && (iteration == 0 || o->dynamic)) {
            osu_bound_t bound = osu_bound(&b->cluster, b->matrix, b->sums);

            b->mtms[iteration] = bound.mtm;
            b->nics[iteration] = bound.bytes_per_nic;
        }
    }
    MPI_Reduce(b->rank == 0 ? MPI_IN_PLACE : b->times, b->times,
               (int)iterations, MPI_DOUBLE, MPI_MAX, 0, b->comm);
}

/* Seconds that the busiest NIC needs, NAN if its rate is not known. */
static double bound_s(const bench_t *b, double nic_bytes)
{
    double rate = b->options->rate;

    return rate > 0 ? nic_bytes * 8 / rate : NAN;
}

/* In b->sorted until the next call; the values stay in the order of time. */
static const double *sort(bench_t *b, const double *values, size_t n)
{
    memcpy(b->sorted, values, n * sizeof(*values));
    osu_sort(b->sorted, n);
    return b->sorted;
}

/* Rank 0 turns what run_size() left into a row. */
static row_t summarize(bench_t *b, uint64_t size)
{
    const osu_options_t *o          = b->options;
    size_t               n          = o->iterations[size_class(size)];
    size_t               n_matrices = o->dynamic ? n : 1;
    const double        *times      = sort(b, b->times, n);
    row_t                row        = {.size = size, .iterations = n};

    for (size_t i = 0; i < n; ++i) {
        row.avg += times[i] / (double)n;
    }
    row.min = times[0];
    row.max = times[n - 1];
    row.p50 = osu_percentile(times, n, 50);
    row.p99 = osu_percentile(times, n, 99);
    for (unsigned i = 0; i < o->n_tails; ++i) {
        row.tails[i] = osu_percentile(times, n, o->tails[i]);
    }
    row.mtm    = osu_percentile(sort(b, b->mtms, n_matrices), n_matrices, 50);
    row.alg_bw = (double)size * b->n / row.p50 / 1e6;
    row.bound  = bound_s(
         b, osu_percentile(sort(b, b->nics, n_matrices), n_matrices, 50));
    row.efficiency = row.bound > 0 ? row.bound / row.p50 : NAN;
    osu_algorithm_last(&b->algorithm, row.algorithm);
    return row;
}

/* ---- output, rank 0 ---- */

#define FIRST_WIDTH 10
#define FIELD_WIDTH 20

static void put_text(const char *text)
{
    printf("%*s", FIELD_WIDTH, text);
}

static void put_number(double value)
{
    if (isnan(value)) {
        put_text("-");
    } else {
        printf("%*.2f", FIELD_WIDTH, value);
    }
}

static void print_header(const bench_t *b)
{
    const osu_options_t *o = b->options;
    char                 tail[32];

    printf("# OSU MPI%s Skewed All-to-Allv Personalized Exchange Latency Test "
           "v" FS_VERSION "\n",
           o->memory == OSU_CUDA   ? "-CUDA"
           : o->memory == OSU_ROCM ? "-ROCM"
                                   : "");
    if (o->memory != OSU_HOST) {
        const char *where = o->memory == OSU_MANAGED ? "MANAGED (M)"
                                                     : "DEVICE (D)";

        printf("# Send Buffer on %s and Receive Buffer on %s\n", where, where);
    }
    printf("# Datatype: MPI_CHAR.\n");
    printf("# Pattern: %s, seed %llu%s. Servers: %u, ranks per server: %s.\n",
           o->pattern_text, (unsigned long long)o->seed,
           o->dynamic ? ", a new matrix each iteration" : "",
           fs_topo_n_servers(b->cluster.topo), b->cluster.shape);
    printf("# Size: average bytes per pair. Times: slowest rank of each "
           "iteration.\n");
    if (o->ceiling && b->ceiling_mbit > 0) {
        printf("# Plain stream per NIC: %.2f Mbit/s.\n", b->ceiling_mbit);
    } else if (o->ceiling) {
        printf("# Plain stream per NIC: not measured, there is only one "
               "server.\n");
    }
    printf("%-*s", FIRST_WIDTH, "# Size");
    put_text("Avg Latency(us)");
    if (o->full) {
        put_text("Min Latency(us)");
    }
    put_text("Max Latency(us)");
    if (o->full) {
        put_text("Iterations");
    }
    put_text("P50 Latency(us)");
    put_text("P99 Latency(us)");
    for (unsigned i = 0; i < o->n_tails; ++i) {
        snprintf(tail, sizeof(tail), "P%u Tail Lat(us)", o->tails[i]);
        put_text(tail);
    }
    put_text("MTM");
    put_text("AlgBW(MB/s)");
    put_text("Lower Bound(us)");
    put_text("Efficiency(%)");
    put_text("Algorithm");
    if (o->validate) {
        put_text("Validation");
    }
    printf("\n");
    fflush(stdout);
}

static void print_row(const bench_t *b, const row_t *row)
{
    const osu_options_t *o = b->options;

    printf("%-*llu", FIRST_WIDTH, (unsigned long long)row->size);
    put_number(row->avg * 1e6);
    if (o->full) {
        put_number(row->min * 1e6);
    }
    put_number(row->max * 1e6);
    if (o->full) {
        printf("%*llu", FIELD_WIDTH, (unsigned long long)row->iterations);
    }
    put_number(row->p50 * 1e6);
    put_number(row->p99 * 1e6);
    for (unsigned i = 0; i < o->n_tails; ++i) {
        put_number(row->tails[i] * 1e6);
    }
    put_number(row->mtm);
    put_number(row->alg_bw);
    put_number(row->bound * 1e6);
    put_number(row->efficiency * 100);
    put_text(row->algorithm);
    if (o->validate) {
        put_text(row->valid ? "Pass" : "Fail");
    }
    printf("\n");
    fflush(stdout);
}

/* "key": value, or null if the value is unknown. */
static void json_number(const char *key, double value)
{
    if (isnan(value)) {
        printf(", \"%s\": null", key);
    } else {
        printf(", \"%s\": %.9g", key, value);
    }
}

/* Of each iteration, in the order of time: how long it took, and could have. */
static void json_times(const bench_t *b, uint64_t n)
{
    printf(", \"times_s\": [");
    for (uint64_t i = 0; i < n; ++i) {
        printf("%s%.9g", i == 0 ? "" : ", ", b->times[i]);
    }
    printf("]");
    if (b->options->rate > 0) {
        printf(", \"bounds_s\": [");
        for (uint64_t i = 0; i < n; ++i) {
            printf("%s%.9g", i == 0 ? "" : ", ",
                   bound_s(b, b->nics[b->options->dynamic ? i : 0]));
        }
        printf("]");
    }
}

/* The MPI in use, in a word. */
static void name_impl(char name[OSU_NAME_LEN])
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int  len, n = 0;

    MPI_Get_library_version(text, &len);
    if (strncmp(text, "Open MPI", 8) == 0) {
        snprintf(name, OSU_NAME_LEN, "ompi");
        return;
    }
    for (; isalnum((unsigned char)text[n]) && n < OSU_NAME_LEN - 1; ++n) {
        name[n] = (char)tolower((unsigned char)text[n]);
    }
    name[n] = '\0';
}

static void print_json(const bench_t *b, const row_t *row)
{
    const osu_options_t *o     = b->options;
    const char          *quote = b->cluster.even ? "" : "\"";
    char                 impl[OSU_NAME_LEN];

    name_impl(impl);
    printf("{\"impl\": \"%s\", \"pattern\": \"%s\", \"servers\": %u, "
           "\"ranks_per_server\": %s%s%s",
           o->impl != NULL ? o->impl : impl, o->pattern_text,
           fs_topo_n_servers(b->cluster.topo), quote, b->cluster.shape, quote);
    json_number("nics", o->nics > 0 ? (double)o->nics : NAN);
    json_number("rate_mbit", o->rate > 0 ? o->rate / 1e6 : NAN);
    printf(", \"avg_bytes_per_pair\": %llu", (unsigned long long)row->size);
    json_number("mtm", row->mtm);
    json_number("time_s", row->p50);
    json_number("time_min_s", row->min);
    json_number("time_max_s", row->max);
    json_number("lower_bound_s", row->bound);
    json_number("efficiency", row->efficiency);
    printf(", \"valid\": %s, \"algorithm\": \"%s\", \"iterations\": %llu, "
           "\"seed\": %llu",
           !o->validate ? "null"
           : row->valid ? "true"
                        : "false",
           row->algorithm, (unsigned long long)row->iterations,
           (unsigned long long)o->seed);
    printf(", \"memory\": \"%s\"", osu_memory_name(o->memory));
    json_number("ceiling_mbit", b->ceiling_mbit > 0 ? b->ceiling_mbit : NAN);
    if (o->times) {
        json_times(b, row->iterations);
    }
    printf("}\n");
    fflush(stdout);
}

/* ---- the run ---- */

/* All sizes, or those up to the first wrong byte. True: every rank is content,
 * and every rank knows. */
static bool run_all(bench_t *b)
{
    const osu_options_t *o     = b->options;
    int                  wrong = 0;

    for (uint64_t size = o->min_size; size <= o->max_size && !wrong;
         size *= 2) {
        run_size(b, size);
        wrong = b->wrong;
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, b->comm);
        if (b->rank == 0) {
            row_t row = summarize(b, size);

            row.valid = !wrong;
            (o->json ? print_json : print_row)(b, &row);
        }
    }
    return !wrong;
}

/* Exit status of every rank: 0; 1: wrong bytes; 2: cannot run like this. */
static int run(const osu_options_t *options, osu_device_t *device, char *why)
{
    bench_t b = {.options = options, .device = device, .comm = MPI_COMM_WORLD};
    int     rank, n, status = 2;

    MPI_Comm_rank(b.comm, &rank);
    MPI_Comm_size(b.comm, &n);
    b.rank = (uint32_t)rank;
    b.n    = (uint32_t)n;
    if (osu_device_ready(b.comm, device, why) &&
        osu_cluster_init(b.comm, options->servers, (uint32_t)options->nics,
                         &b.cluster, why) == FS_OK &&
        osu_skew_claim(&b, why)) {
        osu_algorithm_init(b.comm, &b.algorithm);
        if (options->ceiling) {
            b.ceiling_mbit = osu_ceiling_mbit(b.comm, &b.cluster);
        }
        if (rank == 0 && !options->json) {
            print_header(&b);
        }
        status = run_all(&b) ? 0 : 1;
        osu_algorithm_fini(&b.algorithm);
    } else if (rank == 0) {
        fprintf(stderr, OSU_SKEW_PROGRAM ": %s\n", why);
    }
    osu_skew_release(&b);
    osu_cluster_fini(&b.cluster);
    return status;
}

int main(int argc, char **argv)
{
    osu_options_t options;
    osu_device_t  device;
    char          why[OSU_WHY_LEN] = "";
    osu_verdict_t verdict = osu_options_parse(argc, argv, &options, why);
    int           rank, status = 0;

    osu_device_open(verdict == OSU_RUN ? options.memory : OSU_HOST, &device);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    switch (verdict) {
    case OSU_RUN:
        status = run(&options, &device, why);
        break;
    case OSU_HELP:
        if (rank == 0) {
            osu_usage(stdout, OSU_SKEW_PROGRAM);
        }
        break;
    case OSU_VERSION:
        if (rank == 0) {
            printf(OSU_SKEW_PROGRAM " " FS_VERSION "\n");
        }
        break;
    case OSU_BAD:
        if (rank == 0) {
            fprintf(stderr, OSU_SKEW_PROGRAM ": %s\n", why);
        }
        status = 2;
        break;
    }
    MPI_Finalize();
    return status;
}
