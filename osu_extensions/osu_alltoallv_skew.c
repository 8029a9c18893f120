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
 *       check every byte               with -c; outside
 *     maximum over ranks, percentiles, one row
 *
 * Limits: counts and displacements are int, so one rank sends and receives less
 * than 2 GiB in a call. Memory is claimed once, for the largest size. */
#include "osu_fast_util.h"

#include "base/fs_digest.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef FS_VERSION
#define FS_VERSION "unknown" /* configure knows it */
#endif
#define PROGRAM "osu_alltoallv_skew"

#define CANARY_BYTES 16 /* at least, before, between and after blocks */

typedef struct bench {
    const osu_options_t *options;
    osu_cluster_t        cluster;
    osu_algorithm_t      algorithm;
    MPI_Comm             comm;
    uint32_t             rank, n;
    uint64_t            *matrix; /* [n x n] bytes of the current call */
    uint64_t            *sums;   /* [4 x n] scratch */
    int                 *ints;   /* [4 x n] the four below */
    int                 *send_counts, *send_displs, *recv_counts, *recv_displs;
    unsigned char       *send, *recv;
    uint64_t             send_size, recv_size; /* bytes allocated */
    double              *times;  /* [iterations] seconds, slowest rank */
    double              *mtms, *links; /* [iterations] osu_bound() of each */
    uint64_t             n_calls; /* so far; makes each call's bytes unique */
    bool                 wrong;   /* this rank got a wrong byte */
    double               ceiling_mbit; /* 0: not measured */
} bench_t;

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

/* ---- matrix and layout ---- */

/* Room of a block in the receive buffer. With -c a gap of canary bytes follows
 * it; without, blocks are packed as in osu_alltoallv. */
static uint64_t slot_bytes(const bench_t *b, uint64_t count)
{
    if (!b->options->validate) {
        return count;
    }
    return (count + 2 * CANARY_BYTES - 1) / CANARY_BYTES * CANARY_BYTES;
}

static uint64_t first_slot(const bench_t *b)
{
    return b->options->validate ? CANARY_BYTES : 0;
}

static fs_status_t draw_matrix(bench_t *b, uint64_t size, uint64_t iteration)
{
    return fs_pattern_fill(&b->options->pattern, b->n, b->cluster.server_of,
                           size, b->options->seed + iteration, b->matrix);
}

/* Counts and displacements of this rank. claim_memory() made sure they fit. */
static void lay_out(bench_t *b)
{
    uint64_t send_at = 0, recv_at = first_slot(b);

    for (uint32_t peer = 0; peer < b->n; ++peer) {
        uint64_t out = b->matrix[(size_t)b->rank * b->n + peer];
        uint64_t in  = b->matrix[(size_t)peer * b->n + b->rank];

        b->send_counts[peer] = (int)out;
        b->send_displs[peer] = (int)send_at;
        b->recv_counts[peer] = (int)in;
        b->recv_displs[peer] = (int)recv_at;
        send_at += out;
        recv_at += slot_bytes(b, in);
    }
    if (send_at > b->send_size || recv_at > b->recv_size) {
        fprintf(stderr, PROGRAM ": rank %u: a matrix outgrew its buffers\n",
                b->rank);
        MPI_Abort(b->comm, 3);
    }
}

/* ---- validation ---- */

/* What a block holds follows from its source, destination and call: a block
 * that is late, or lands in the place of another, differs in nearly every
 * byte. */
static uint64_t block_key(const bench_t *b, uint32_t src, uint32_t dst)
{
    return fs_digest_add(fs_mix64((uint64_t)src << 32 | dst), b->n_calls);
}

static void fill_block(unsigned char *p, size_t len, uint64_t key)
{
    uint64_t word;

    for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
        word = fs_mix64(key++);
        memcpy(p, &word, sizeof(word));
    }
    word = fs_mix64(key);
    memcpy(p, &word, len);
}

/* Offset of the first wrong byte, len if there is none. */
static size_t check_block(const unsigned char *p, size_t len, uint64_t key,
                          unsigned char *expected_p)
{
    unsigned char expected[sizeof(uint64_t)];

    for (size_t at = 0; at < len; at += sizeof(expected)) {
        uint64_t word = fs_mix64(key++);
        size_t   n    = len - at < sizeof(word) ? len - at : sizeof(word);

        if (memcmp(p + at, &word, n) == 0) {
            continue;
        }
        memcpy(expected, &word, n);
        for (size_t i = 0; i < n; ++i) {
            if (p[at + i] != expected[i]) {
                *expected_p = expected[i];
                return at + i;
            }
        }
    }
    return len;
}

/* Alternates, so that what one call leaves behind is not poison to the next. */
static unsigned char poison(const bench_t *b)
{
    return b->n_calls % 2 == 0 ? 0xa5 : 0x5a;
}

static void prepare_buffers(bench_t *b)
{
    for (uint32_t dst = 0; dst < b->n; ++dst) {
        fill_block(b->send + b->send_displs[dst], (size_t)b->send_counts[dst],
                   block_key(b, b->rank, dst));
    }
    memset(b->recv, poison(b), b->recv_size);
}

/* The first mistake of this rank is described, the others are only counted as
 * a failure. */
static void report(bench_t *b, uint32_t src, const char *where, int64_t offset,
                   unsigned got, unsigned expected)
{
    if (!b->wrong) {
        fprintf(stderr,
                PROGRAM ": wrong byte %s: source %u, destination %u, offset "
                "%lld of %d, call %llu: got 0x%02x, expected 0x%02x\n",
                where, src, b->rank, (long long)offset,
                b->recv_counts[src], (unsigned long long)b->n_calls, got,
                expected);
    }
    b->wrong = true;
}

static void check_canaries(bench_t *b, uint32_t src, uint64_t from, uint64_t to,
                           const char *where)
{
    for (uint64_t at = from; at < to; ++at) {
        if (b->recv[at] != poison(b)) {
            report(b, src, where, (int64_t)at - b->recv_displs[src],
                   b->recv[at], poison(b));
            return;
        }
    }
}

static void check_buffers(bench_t *b)
{
    check_canaries(b, 0, 0, first_slot(b), "before the blocks");
    for (uint32_t src = 0; src < b->n; ++src) {
        const unsigned char *block = b->recv + b->recv_displs[src];
        size_t               len   = (size_t)b->recv_counts[src];
        uint64_t             start = (uint64_t)b->recv_displs[src];
        unsigned char        expected = 0;
        size_t at = check_block(block, len, block_key(b, src, b->rank),
                                &expected);

        if (at < len) {
            report(b, src, "in the block", (int64_t)at, block[at], expected);
        }
        check_canaries(b, src, start + len,
                       src + 1 < b->n ? (uint64_t)b->recv_displs[src + 1]
                                      : b->recv_size,
                       "behind the block");
    }
}

/* ---- memory ---- */

static uint64_t add_or_max(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* Most bytes that each rank sends (need[0 .. n-1]) and receives (need[n ..]) in
 * any call of the largest size. The matrices are shared out among the ranks;
 * a matrix that does not fit in 64 bits counts as one that needs them all. */
static void survey(bench_t *b, uint64_t *need)
{
    const osu_options_t *o = b->options;
    uint32_t             n = b->n;
    uint64_t n_matrices    = 1;

    if (o->dynamic) { /* run_size() uses no later seeds */
        n_matrices = o->iterations[0] + o->warmup[0];
    }
    memset(need, 0, 2 * (size_t)n * sizeof(*need));
    for (uint64_t i = b->rank; i < n_matrices; i += n) {
        bool fits = draw_matrix(b, o->max_size, i) == FS_OK;

        for (uint32_t r = 0; r < n; ++r) {
            uint64_t out = 0, in = first_slot(b);

            for (uint32_t peer = 0; peer < n && fits; ++peer) {
                out = add_or_max(out, b->matrix[(size_t)r * n + peer]);
                in  = add_or_max(
                    in, slot_bytes(b, b->matrix[(size_t)peer * n + r]));
            }
            out         = fits ? out : UINT64_MAX;
            need[r]     = out > need[r] ? out : need[r];
            need[n + r] = in > need[n + r] ? in : need[n + r];
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, need, (int)(2 * n), MPI_UINT64_T, MPI_MAX,
                  b->comm);
}

/* Allocate what all sizes need; says why not, the same on every rank. */
static bool claim_memory(bench_t *b, char *why)
{
    const osu_options_t *o = b->options;
    uint32_t n             = b->n;
    uint64_t tables        = (uint64_t)n * n * sizeof(*b->matrix);
    uint64_t slack         = 2 * (uint64_t)CANARY_BYTES * n; /* rounding */
    uint64_t most_total    = tables;
    int      ready;

    if (tables > o->mem_limit) {
        snprintf(why, OSU_WHY_LEN, "the matrix of %u ranks alone is above -M "
                 "%llu bytes", n, (unsigned long long)o->mem_limit);
        return false;
    }
    b->matrix = malloc(tables);
    b->sums   = malloc(4 * (size_t)n * sizeof(*b->sums));
    b->ints   = malloc(4 * (size_t)n * sizeof(*b->ints));
    ready     = b->matrix != NULL && b->sums != NULL && b->ints != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, b->comm);
    if (!ready) {
        snprintf(why, OSU_WHY_LEN, "out of memory");
        return false;
    }
    survey(b, b->sums);
    for (uint32_t r = 0; r < 2 * n; ++r) {
        if (b->sums[r] > INT_MAX - slack) {
            snprintf(why, OSU_WHY_LEN,
                     "-m: at %llu bytes per pair rank %u %s more than "
                     "MPI_Alltoallv can count in int (%d bytes); allowed: a "
                     "smaller MAX", (unsigned long long)o->max_size, r % n,
                     r < n ? "sends" : "receives", INT_MAX);
            return false;
        }
    }
    for (uint32_t r = 0; r < n; ++r) {
        uint64_t total = tables + b->sums[r] + b->sums[n + r] + 2 * slack +
                         3 * o->iterations[0] * sizeof(*b->times);

        most_total = total > most_total ? total : most_total;
    }
    if (most_total > o->mem_limit) {
        snprintf(why, OSU_WHY_LEN, "-M: a rank needs %llu bytes, the limit is "
                 "%llu; allowed: a smaller -m MAX or a larger -M",
                 (unsigned long long)most_total,
                 (unsigned long long)o->mem_limit);
        return false;
    }
    b->send_size   = b->sums[b->rank] + slack;
    b->recv_size   = b->sums[n + b->rank] + slack;
    b->send        = malloc(b->send_size);
    b->recv        = malloc(b->recv_size);
    b->times       = malloc(o->iterations[0] * sizeof(*b->times));
    b->mtms        = malloc(o->iterations[0] * sizeof(*b->mtms));
    b->links       = malloc(o->iterations[0] * sizeof(*b->links));
    b->send_counts = b->ints;
    b->send_displs = b->ints + n;
    b->recv_counts = b->ints + 2 * n;
    b->recv_displs = b->ints + 3 * n;
    ready = b->send != NULL && b->recv != NULL && b->times != NULL &&
            b->mtms != NULL && b->links != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, b->comm);
    if (!ready) {
        snprintf(why, OSU_WHY_LEN, "out of memory");
        return false;
    }
    memset(b->send, 1, b->send_size); /* the pages exist before the clock */
    memset(b->recv, 2, b->recv_size);
    return true;
}

static void release_memory(bench_t *b)
{
    free(b->matrix);
    free(b->sums);
    free(b->ints);
    free(b->send);
    free(b->recv);
    free(b->times);
    free(b->mtms);
    free(b->links);
}

/* ---- measurement ---- */

/* One call; seconds on this rank. */
static double run_call(bench_t *b)
{
    bool   validate = b->options->validate;
    double seconds;

    if (validate) {
        prepare_buffers(b);
    }
    MPI_Barrier(b->comm);
    seconds = MPI_Wtime();
    MPI_Alltoallv(b->send, b->send_counts, b->send_displs, MPI_CHAR, b->recv,
                  b->recv_counts, b->recv_displs, MPI_CHAR, b->comm);
    seconds = MPI_Wtime() - seconds;
    if (validate) {
        check_buffers(b);
    }
    b->n_calls++;
    return seconds;
}

/* Times, MTM and link bytes of each iteration; complete on rank 0. */
static void run_size(bench_t *b, uint64_t size)
{
    const osu_options_t *o = b->options;
    uint64_t iterations    = o->iterations[size_class(size)];
    uint64_t warmup        = o->warmup[size_class(size)];

    for (uint64_t k = 0; k < warmup + iterations; ++k) {
        /* Timed matrices do not depend on how many calls warmed up. */
        uint64_t iteration = k < warmup ? iterations + k : k - warmup;
        double   seconds;

        if (k == 0 || o->dynamic) {
            draw_matrix(b, size, o->dynamic ? iteration : 0);
            lay_out(b);
        }
        seconds = run_call(b);
        if (k < warmup) {
            continue;
        }
        b->times[iteration] = seconds;
        if (b->rank == 0 && (iteration == 0 || o->dynamic)) {
            osu_bound_t bound = osu_bound(&b->cluster, b->matrix, b->sums);

            b->mtms[iteration]  = bound.mtm;
            b->links[iteration] = bound.bytes_per_link;
        }
    }
    MPI_Reduce(b->rank == 0 ? MPI_IN_PLACE : b->times, b->times,
               (int)iterations, MPI_DOUBLE, MPI_MAX, 0, b->comm);
}

/* Rank 0 turns what run_size() left into a row. */
static row_t summarize(bench_t *b, uint64_t size)
{
    const osu_options_t *o = b->options;
    size_t n               = o->iterations[size_class(size)];
    size_t n_matrices      = o->dynamic ? n : 1;
    row_t  row             = { .size = size, .iterations = n };

    for (size_t i = 0; i < n; ++i) {
        row.avg += b->times[i] / (double)n;
    }
    osu_sort(b->times, n);
    osu_sort(b->mtms, n_matrices);
    osu_sort(b->links, n_matrices);
    row.min = b->times[0];
    row.max = b->times[n - 1];
    row.p50 = osu_percentile(b->times, n, 50);
    row.p99 = osu_percentile(b->times, n, 99);
    for (unsigned i = 0; i < o->n_tails; ++i) {
        row.tails[i] = osu_percentile(b->times, n, o->tails[i]);
    }
    row.mtm    = osu_percentile(b->mtms, n_matrices, 50);
    row.alg_bw = (double)size * b->n / row.p50 / 1e6;
    row.bound  = o->rate > 0
                     ? osu_percentile(b->links, n_matrices, 50) * 8 / o->rate
                     : NAN;
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

    printf("# OSU MPI Skewed All-to-Allv Personalized Exchange Latency Test "
           "v" FS_VERSION "\n# Datatype: MPI_CHAR.\n");
    printf("# Pattern: %s, seed %llu%s. Servers: %u, ranks per server: %s.\n",
           o->pattern_text, (unsigned long long)o->seed,
           o->dynamic ? ", a new matrix each iteration" : "",
           fs_topo_n_servers(b->cluster.topo), b->cluster.shape);
    printf("# Size: average bytes per pair. Times: slowest rank of each "
           "iteration.\n");
    if (o->ceiling && b->ceiling_mbit > 0) {
        printf("# Plain stream per link: %.2f Mbit/s.\n", b->ceiling_mbit);
    } else if (o->ceiling) {
        printf("# Plain stream per link: not measured, there is one server.\n");
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
           !o->validate ? "null" : row->valid ? "true" : "false",
           row->algorithm, (unsigned long long)row->iterations,
           (unsigned long long)o->seed);
    json_number("ceiling_mbit", b->ceiling_mbit > 0 ? b->ceiling_mbit : NAN);
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
static int run(const osu_options_t *options, char *why)
{
    bench_t b = { .options = options, .comm = MPI_COMM_WORLD };
    int     rank, n, status = 2;

    MPI_Comm_rank(b.comm, &rank);
    MPI_Comm_size(b.comm, &n);
    b.rank = (uint32_t)rank;
    b.n    = (uint32_t)n;
    if (osu_cluster_init(b.comm, options->nodes, &b.cluster, why) == FS_OK &&
        claim_memory(&b, why)) {
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
        fprintf(stderr, PROGRAM ": %s\n", why);
    }
    release_memory(&b);
    osu_cluster_fini(&b.cluster);
    return status;
}

int main(int argc, char **argv)
{
    osu_options_t options;
    char          why[OSU_WHY_LEN] = "";
    int           rank, status = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    switch (osu_options_parse(argc, argv, &options, why)) {
    case OSU_RUN:
        status = run(&options, why);
        break;
    case OSU_HELP:
        if (rank == 0) {
            osu_usage(stdout, PROGRAM);
        }
        break;
    case OSU_VERSION:
        if (rank == 0) {
            printf(PROGRAM " " FS_VERSION "\n");
        }
        break;
    case OSU_BAD:
        if (rank == 0) {
            fprintf(stderr, PROGRAM ": %s\n", why);
        }
        status = 2;
        break;
    }
    MPI_Finalize();
    return status;
}
