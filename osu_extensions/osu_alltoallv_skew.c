/* SPDX-License-Identifier: BSD-3-Clause */
/* OSU-style latency of MPI_Alltoallv under skewed traffic, of MPI_Alltoallw and
 * MPI_Alltoall; built with OSU_NONBLOCKING or OSU_PERSISTENT, of those forms.
 *
 * osu_alltoallv gives every pair the same count, and averages over ranks, so
 * the rank that all others wait for disappears. Here the counts come from a
 * pattern, and the time of an iteration is that of its slowest rank.
 *
 *   for each size                      average bytes per pair, doubling
 *     draw the matrix                  osu_skew_draw(), same on every rank
 *     make the persistent call         outside the clock
 *     for each iteration
 *       fill, poison, barrier          outside the clock
 *       sleep, with --arrival          inside, from the first rank's end on
 *       MPI_Alltoallv or the like      inside; MPI_Start and MPI_Wait
 *       barrier                        outside: a rank that is done takes none
 *                                      from ranks that are still in the call
 *       check every byte               with -c; outside
 *       the same again, nonblocking (of a burst, all calls), with a computation that takes as long
 *                                      between start and wait: overlap, as OSU
 *                                      defines it
 *     maximum over ranks, percentiles, one row
 *
 * Limits: counts and displacements are int, so one rank sends and receives less
 * than 2 GiB in a call. Memory is claimed once, for the largest size. */
#include "osu_skew_data.h"
#include "osu_skew_output.h"
#include "osu_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static unsigned size_class(uint64_t size)
{
    return size > OSU_LARGE_SIZE;
}

/* ---- measurement ---- */

#if defined(OSU_NONBLOCKING)
#define ALLTOALL(...)  MPI_Ialltoall(__VA_ARGS__, b->peers_comm, request)
#define ALLTOALLV(...) MPI_Ialltoallv(__VA_ARGS__, b->peers_comm, request)
#define ALLTOALLW(...) MPI_Ialltoallw(__VA_ARGS__, b->peers_comm, request)
#elif defined(OSU_PERSISTENT)
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define INIT(_name, ...) \
    MPI_##_name##_init(__VA_ARGS__, b->peers_comm, MPI_INFO_NULL, request)
#else /* Open MPI 4.1 */
#include <mpi-ext.h>
#define INIT(_name, ...) \
    MPIX_##_name##_init(__VA_ARGS__, b->peers_comm, MPI_INFO_NULL, request)
#endif
#define ALLTOALL(...)  INIT(Alltoall, __VA_ARGS__)
#define ALLTOALLV(...) INIT(Alltoallv, __VA_ARGS__)
#define ALLTOALLW(...) INIT(Alltoallw, __VA_ARGS__)
#else
#define ALLTOALL(...)  MPI_Alltoall(__VA_ARGS__, b->peers_comm)
#define ALLTOALLV(...) MPI_Alltoallv(__VA_ARGS__, b->peers_comm)
#define ALLTOALLW(...) MPI_Alltoallw(__VA_ARGS__, b->peers_comm)
#endif

/* Make call k of a burst; a persistent one is not started by that. */
static void call(bench_t *b, uint64_t k)
{
    MPI_Request *request     = &b->requests[k];
    const int   *send_counts = b->send_counts + k * b->n_peers;
    const int   *send_displs = b->send_displs + k * b->n_peers;
    const int   *recv_counts = b->recv_counts + k * b->n_peers;
    const int   *recv_displs = b->recv_displs + k * b->n_peers;

    *request = MPI_REQUEST_NULL;
    switch (b->options->collective) {
    case OSU_ALLTOALL:
        ALLTOALL(b->send + send_displs[0], send_counts[0], MPI_CHAR,
                 b->recv + recv_displs[0], recv_counts[0], MPI_CHAR);
        break;
    case OSU_ALLTOALLW:
        ALLTOALLW(b->send, send_counts, send_displs, b->types, b->recv,
                  recv_counts, recv_displs, b->types);
        break;
    default:
        ALLTOALLV(b->send, send_counts, send_displs, MPI_CHAR, b->recv,
                  recv_counts, recv_displs, MPI_CHAR);
    }
}

/* For so many seconds, if nobody takes this core. */
static void compute(bench_t *b, double seconds)
{
    double step = (double)b->options->test_us * 1e-6;
    int    flag;

    for (; step > 0 && seconds > step; seconds -= step) {
        osu_work(step * b->work_per_s);
        MPI_Testall((int)b->options->burst, b->requests, &flag, b->statuses);
    }
    osu_work(seconds * b->work_per_s);
}

static void exchange(bench_t *b, double compute_s)
{
    if (OSU_IS_PERSISTENT) {
        MPI_Start(b->requests);
    }
    for (uint64_t k = 0; k < b->options->burst && !OSU_IS_PERSISTENT; ++k) {
        call(b, k);
    }
    if (compute_s > 0) {
        compute(b, compute_s);
    }
    if (OSU_IS_NONBLOCKING || OSU_IS_PERSISTENT) {
        MPI_Waitall((int)b->options->burst, b->requests, b->statuses);
    }
}

/* The persistent call: free the last one; make the next, of the counts and buffers
 * of now. */
static void make_persistent(bench_t *b, bool next)
{
    if (!OSU_IS_PERSISTENT) {
        return;
    }
    if (b->requests[0] != MPI_REQUEST_NULL) {
        MPI_Request_free(b->requests);
    }
    if (next) {
        call(b, 0);
    }
}

/* Barriers before a call. Ranks that share a core leave the first one after a long
 * computation far apart; then they are close together. */
static uint64_t n_barriers(const bench_t *b)
{
    return b->options->dynamic ? 5 : 1;
}

/* With --arrival: when each rank enters the call of this iteration. */
static void draw_entries(bench_t *b, uint64_t iteration, bool is_timed)
{
    const osu_options_t *o     = b->options;
    const uint64_t      *total = osu_skew_total(b);
    osu_bound_t          bound = osu_bound(&b->cluster, total, b->sums);
    uint64_t             bound_ns;

    bound_ns = (uint64_t)(osu_skew_bound_s(b, bound.bytes_per_nic) * 1e9);
    fs_arrival_draw(&o->arrival, o->seed, iteration, b->n, bound_ns,
                    b->entry_ns);
    if (is_timed && b->rank == 0) {
        b->spreads[iteration] = (double)fs_arrival_last(b->entry_ns, b->n) *
                                1e-9;
        b->entry_bounds[iteration] =
            fs_arrival_bound(b->cluster.topo, total, b->entry_ns,
                             (uint64_t)o->rate, &bound_ns) == FS_OK
                ? (double)bound_ns * 1e-9
                : NAN;
    }
}

/* One call, with a computation; seconds on this rank. */
static double run_call(bench_t *b, double compute_s)
{
    bool   validate = b->options->validate;
    double seconds;

    if (validate) {
        osu_skew_fill(b);
    }
    for (uint64_t k = 0; k < n_barriers(b); ++k) {
        MPI_Barrier(b->comm);
    }
    seconds = MPI_Wtime();
    if (b->options->arrival_text != NULL) {
        osu_sleep(b->entry_ns[b->rank]);
    }
    exchange(b, compute_s);
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

/* Add the counters of the NICs, or subtract them (times is -1). */
static void count(bench_t *b, int64_t times)
{
    osu_nic_counts_t counts;

    osu_nic_counters_read(&b->counters, &counts);
    osu_nic_counts_add(&b->counts, &counts, times);
}

/* Subtract the barriers between the timed calls: count the same number of
 * barriers without calls. */
static void count_barriers(bench_t *b, uint64_t n_calls)
{
    b->counts = (osu_nic_counts_t){0};
    count(b, 1);
    for (uint64_t k = 0; k < (n_barriers(b) + 1) * n_calls; ++k) {
        MPI_Barrier(b->comm);
    }
    count(b, -1);
}

/* That are counted: nonblocking ones are made twice. */
static uint64_t n_calls_of(uint64_t iterations)
{
    return OSU_IS_NONBLOCKING ? 2 * iterations : iterations;
}

/* Values of the slowest rank, on rank 0. */
static void reduce(bench_t *b, double *values, uint64_t n)
{
    MPI_Reduce(b->rank == 0 ? MPI_IN_PLACE : values, values, (int)n, MPI_DOUBLE,
               MPI_MAX, 0, b->comm);
}

/* Times, MTM, link bytes of each iteration and what the NICs have counted;
 * complete on rank 0. */
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
            make_persistent(b, true);
        }
        if (o->arrival_text != NULL) {
            draw_entries(b, iteration, k >= warmup);
        }
        if (k == warmup && o->counted_nics != NULL) {
            count_barriers(b, n_calls_of(iterations));
            count(b, -1);
        }
        seconds = run_call(b, 0);
        if (k < warmup) {
            continue;
        }
        b->times[iteration] = seconds;
        if (OSU_IS_NONBLOCKING) {
            b->computed[iteration] = seconds;
            b->overall[iteration]  = run_call(b, seconds);
        }
        if (b->rank == 0 && (iteration == 0 || o->dynamic)) {
            osu_bound_t bound =
                osu_bound(&b->cluster, osu_skew_total(b), b->sums);

            b->mtms[iteration] = bound.mtm;
            b->nics[iteration] = bound.bytes_per_nic;
        }
    }
    make_persistent(b, false);
    if (o->counted_nics != NULL) {
        count(b, 1);
        osu_nic_counters_sum(&b->counters, &b->counts);
    }
    reduce(b, b->times, iterations);
    if (OSU_IS_NONBLOCKING) {
        reduce(b, b->computed, iterations);
        reduce(b, b->overall, iterations);
    }
}

/* In b->sorted until the next call; the values stay in the order of time. */
static const double *sort(bench_t *b, const double *values, size_t n)
{
    memcpy(b->sorted, values, n * sizeof(*values));
    osu_sort(b->sorted, n);
    return b->sorted;
}

/* Packets and bytes of a call, NAN where nothing was counted. */
static void per_call(const bench_t *b, uint64_t n_calls, osu_row_t *row)
{
    bool   counted = b->options->counted_nics != NULL;
    double calls   = counted ? (double)n_calls : NAN;

    row->sent_packets     = (double)b->counts.sent_packets / calls;
    row->sent_bytes       = (double)b->counts.sent_bytes / calls;
    row->received_packets = (double)b->counts.received_packets / calls;
    row->received_bytes   = (double)b->counts.received_bytes / calls;
    row->data_packets     = counted && b->counters.has_data_packets
                                ? (double)b->counts.data_packets / calls
                                : NAN;
}

/* Rank 0 turns what run_size() left into a row. */
static osu_row_t summarize(bench_t *b, uint64_t size)
{
    const osu_options_t *o          = b->options;
    size_t               n          = o->iterations[size_class(size)];
    size_t               n_matrices = o->dynamic ? n : 1;
    const double        *times      = sort(b, b->times, n);
    osu_row_t            row        = {.size = size, .iterations = n};

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
    row.alg_bw = (double)size * b->n_peers / row.p50 / 1e6;
    row.bound  = osu_skew_bound_s(
         b, osu_percentile(sort(b, b->nics, n_matrices), n_matrices, 50));
    row.efficiency = row.bound > 0 ? row.bound / row.p50 : NAN;
    if (OSU_IS_NONBLOCKING) {
        row.computed = osu_percentile(sort(b, b->computed, n), n, 50);
        row.overall  = osu_percentile(sort(b, b->overall, n), n, 50);
        row.overlap  = fmax(0, 1 - (row.overall - row.computed) / row.p50);
    }
    if (o->arrival_text != NULL) {
        row.entry_bound = osu_percentile(sort(b, b->entry_bounds, n), n, 50);
        for (size_t i = 0; i < n; ++i) {
            b->sorted[i] = b->times[i] - b->spreads[i];
        }
        osu_sort(b->sorted, n);
        row.from_last = osu_percentile(b->sorted, n, 50);
    }
    osu_algorithm_last(&b->algorithm, row.algorithm);
    per_call(b, n_calls_of(n), &row);
    return row;
}

/* ---- the run ---- */

/* A blocking call without bytes: some implementations set a communicator up in the
 * first one, and cannot in a nonblocking call. */
static void prime(bench_t *b)
{
    memset(b->ints, 0, 4 * b->options->burst * b->n_peers * sizeof(*b->ints));
    MPI_Alltoallv(b->send, b->send_counts, b->send_displs, MPI_CHAR, b->recv,
                  b->recv_counts, b->recv_displs, MPI_CHAR, b->peers_comm);
}

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
            osu_row_t row = summarize(b, size);

            row.valid = !wrong;
            (o->json ? osu_skew_print_json : osu_skew_print_row)(b, &row);
        }
    }
    return !wrong;
}

/* What the file says, where it is taken as it is: one size. */
static bool read_file(bench_t *b, osu_options_t *options, char *why)
{
    if (!osu_skew_read_file(b, why)) {
        return false;
    }
    if (options->as_is) {
        options->min_size = options->max_size = osu_skew_mean(b);
    }
    return true;
}

/* Exit status of every rank: 0; 1: wrong bytes; 2: cannot run like this. */
static int run(osu_options_t *options, osu_device_t *device, char *why)
{
    bench_t b = {.options    = options,
                 .device     = device,
                 .comm       = MPI_COMM_WORLD,
                 .peers_comm = MPI_COMM_NULL};
    int     rank, n, status = 2;

    MPI_Comm_rank(b.comm, &rank);
    MPI_Comm_size(b.comm, &n);
    b.rank = (uint32_t)rank;
    b.n    = (uint32_t)n;
    if (osu_device_ready(b.comm, device, why) &&
        osu_cluster_init(b.comm, options->servers, (uint32_t)options->nics,
                         &b.cluster, why) == FS_OK &&
        osu_skew_join(&b, why) &&
        osu_check_arrival(&options->arrival, options->arrival_text, b.n, why) &&
        read_file(&b, options, why) && osu_skew_claim(&b, why)) {
        osu_algorithm_init(b.peers_comm, &b.algorithm);
        if (OSU_IS_NONBLOCKING) {
            b.work_per_s = osu_work_per_second();
            prime(&b);
        }
        if (options->counted_nics != NULL) {
            osu_nic_counters_init(b.comm, options->counted_nics, &b.counters);
        }
        if (options->ceiling) {
            b.ceiling_mbit = osu_ceiling_mbit(b.comm, &b.cluster);
        }
        if (rank == 0 && !options->json) {
            osu_skew_print_header(&b);
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

static void print_usage(FILE *out)
{
    osu_usage(out, OSU_SKEW_PROGRAM);
}

int main(int argc, char **argv)
{
    osu_options_t options;
    osu_device_t  device;
    char          why[OSU_WHY_LEN] = "";
    osu_verdict_t verdict = osu_options_parse(argc, argv, &options, why);
    int           status;

    osu_device_open(verdict == OSU_RUN ? options.memory : OSU_HOST, &device);
    MPI_Init(&argc, &argv);
    status = verdict == OSU_RUN
                 ? run(&options, &device, why)
                 : osu_answer(verdict, OSU_SKEW_PROGRAM, print_usage, why);
    MPI_Finalize();
    return status;
}
