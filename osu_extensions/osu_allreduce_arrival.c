/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OSU-style latency of MPI_Allreduce when ranks enter it apart.
 *
 *   for each size                      bytes of the vector, doubling
 *     for each iteration
 *       fill, poison, barrier          outside the clock
 *       sleep, with --arrival          until this rank's entry
 *       MPI_Allreduce                  a sum, of all ranks
 *       barrier                        outside
 *       check every element            with -c; outside
 *     maximum over ranks, less the last entry; percentiles, one row
 *
 * Rank r contributes w(r) * v(k) to element k, so each rank knows the sum, and one that
 * lacks a rank, or has one twice, is wrong. Of doubles all sums are exact.
 */
#include "base/fs_digest.h"
#include "osu_fast_device.h"
#include "osu_fast_util.h"
#include "sched/model/fs_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "osu_allreduce_arrival"

enum { ELEMENT = 8, EXACT_BITS = 20 /* of each factor: sums of 2^13 fit */ };

typedef struct options {
    uint64_t     min_size, max_size; /* bytes */
    uint64_t     iterations, warmup, seed, nics;
    double       rate; /* bits per second and NIC, 0: unknown */
    bool         doubles, in_place, validate, json;
    osu_memory_t memory;
    fs_arrival_t arrival;
    const char  *arrival_text; /* as given; NULL: together */
    const char  *servers, *impl;
} options_t;

typedef struct bench {
    const options_t *options;
    osu_cluster_t    cluster;
    osu_algorithm_t  algorithm;
    uint32_t         rank, n;
    osu_device_t    *device;
    uint64_t        *send, *recv;     /* elements */
    void            *source, *target; /* what the MPI is given: these, or memory
                                         of the device */
    uint64_t        *entry_ns;        /* [n] */
    double          *times;           /* [iterations] from the first entry */
    double          *from_last;       /* likewise, on rank 0 */
    bool             wrong;
} bench_t;

typedef struct row {
    uint64_t size;
    double   p50, min, max, avg; /* from the last entry */
    double   from_first;         /* median */
    double   bound;              /* NAN: unknown */
    bool     valid;
    char     algorithm[OSU_NAME_LEN];
} row_t;

/* ---- values ---- */

static uint64_t factor(const options_t *o, uint64_t a, uint64_t b)
{
    uint64_t word = fs_mix64(fs_digest_add(fs_digest_add(o->seed, a), b)) | 1;

    return o->doubles ? word & ((UINT64_C(1) << EXACT_BITS) - 1) : word;
}

static uint64_t weight_of(const bench_t *b, uint32_t rank)
{
    return factor(b->options, rank, UINT64_MAX);
}

/* A number as an element. */
static uint64_t element(const options_t *o, uint64_t value)
{
    double number = (double)value;

    if (o->doubles) {
        memcpy(&value, &number, sizeof(value));
    }
    return value;
}

static void fill(bench_t *b, uint64_t n_elems, uint64_t call)
{
    const options_t *o      = b->options;
    uint64_t         weight = weight_of(b, b->rank);

    for (uint64_t k = 0; k < n_elems; ++k) {
        b->send[k] = element(o, weight * factor(o, k, call));
        b->recv[k] = o->in_place ? b->send[k] : ~b->send[k];
    }
}

static void check(bench_t *b, uint64_t n_elems, uint64_t call)
{
    const options_t *o   = b->options;
    uint64_t         sum = 0;

    for (uint32_t r = 0; r < b->n; ++r) {
        sum += weight_of(b, r);
    }
    for (uint64_t k = 0; k < n_elems && !b->wrong; ++k) {
        b->wrong = b->recv[k] != element(o, sum * factor(o, k, call));
        if (b->wrong) {
            fprintf(
                stderr, PROGRAM ": rank %u: element %llu of %llu is wrong\n",
                b->rank, (unsigned long long)k, (unsigned long long)n_elems);
        }
    }
}

/* Those on a device are filled and checked here. */
static void put(bench_t *b, uint64_t n_elems)
{
    if (b->device->driver != NULL) {
        osu_device_copy(b->device, b->source, b->send, n_elems * ELEMENT);
        osu_device_copy(b->device, b->target, b->recv, n_elems * ELEMENT);
    }
}

static void fetch(bench_t *b, uint64_t n_elems)
{
    if (b->device->driver != NULL) {
        osu_device_copy(b->device, b->recv, b->target, n_elems * ELEMENT);
    }
}

/* ---- measurement ---- */

/* Of all allreduces of such vectors whose ranks come together: what each server has to
 * send, over its NICs. NAN: unknown. */
static double bound_s(const bench_t *b, uint64_t size)
{
    double n    = fs_topo_n_servers(b->cluster.topo);
    double nics = b->options->nics > 0 ? (double)b->options->nics
                                       : (double)b->n / n;

    return b->options->rate > 0
               ? 2 * (n - 1) / n * (double)size * 8 / nics / b->options->rate
               : NAN;
}

static void draw_entries(bench_t *b, uint64_t size, uint64_t iteration)
{
    const options_t *o = b->options;

    memset(b->entry_ns, 0, b->n * sizeof(*b->entry_ns));
    if (o->arrival_text != NULL) {
        fs_arrival_draw(&o->arrival, o->seed, iteration, b->n,
                        (uint64_t)(bound_s(b, size) * 1e9), b->entry_ns);
    }
}

/* Seconds on this rank, from the first entry. */
static double run_call(bench_t *b, uint64_t size, uint64_t call)
{
    const options_t *o       = b->options;
    uint64_t         n_elems = size / ELEMENT;
    double           seconds;

    if (o->validate) {
        fill(b, n_elems, call);
        put(b, n_elems);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime();
    osu_sleep(b->entry_ns[b->rank]);
    MPI_Allreduce(o->in_place ? MPI_IN_PLACE : b->source, b->target,
                  (int)n_elems, o->doubles ? MPI_DOUBLE : MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    seconds = MPI_Wtime() - seconds;
    MPI_Barrier(MPI_COMM_WORLD);
    if (o->validate) {
        fetch(b, n_elems);
        check(b, n_elems, call);
    }
    return seconds;
}

static void run_size(bench_t *b, uint64_t size)
{
    const options_t *o = b->options;

    for (uint64_t k = 0; k < o->warmup + o->iterations; ++k) {
        /* Timed entries do not depend on how many calls warmed up. */
        uint64_t iteration = k < o->warmup ? o->iterations + k : k - o->warmup;
        double   seconds;

        draw_entries(b, size, iteration);
        seconds = run_call(b, size, k);
        if (k >= o->warmup) {
            b->times[iteration] = seconds;
            b->from_last[iteration] =
                -1e-9 * (double)fs_arrival_last(b->entry_ns, b->n);
        }
    }
    MPI_Reduce(b->rank == 0 ? MPI_IN_PLACE : b->times, b->times,
               (int)o->iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &b->wrong, 1, MPI_C_BOOL, MPI_LOR,
                  MPI_COMM_WORLD);
}

static row_t summarize(bench_t *b, uint64_t size)
{
    size_t n   = b->options->iterations;
    row_t  row = {.size = size, .bound = bound_s(b, size), .valid = !b->wrong};

    for (size_t k = 0; k < n; ++k) {
        b->from_last[k] += b->times[k];
        row.avg += b->from_last[k] / (double)n;
    }
    osu_sort(b->times, n);
    osu_sort(b->from_last, n);
    row.from_first = osu_percentile(b->times, n, 50);
    row.p50        = osu_percentile(b->from_last, n, 50);
    row.min        = b->from_last[0];
    row.max        = b->from_last[n - 1];
    osu_algorithm_last(&b->algorithm, row.algorithm);
    return row;
}

/* ---- output ---- */

static const char *arrival_of(const options_t *o)
{
    return o->arrival_text != NULL ? o->arrival_text : "together";
}

static const char *type_of(const options_t *o)
{
    return o->doubles ? "double" : "uint64";
}

static void print_header(const bench_t *b)
{
    const options_t *o = b->options;

    printf("# " PROGRAM
           ", sums of %s%s in %s memory, %u ranks on %u servers, entries: %s\n"
           "# times after the last entry, in microseconds\n"
           "%-12s %12s %12s %12s %12s %14s %12s %-12s%s\n",
           type_of(o), o->in_place ? ", in place," : "",
           osu_memory_name(o->memory), b->n, fs_topo_n_servers(b->cluster.topo),
           arrival_of(o), "# Size", "Avg", "Min", "P50", "Max",
           "P50 from first", "Bound", "Algorithm",
           o->validate ? " Validation" : "");
}

static void print_row(const bench_t *b, const row_t *row)
{
    printf("%-12llu %12.1f %12.1f %12.1f %12.1f %14.1f %12.1f %-12s%s\n",
           (unsigned long long)row->size, row->avg * 1e6, row->min * 1e6,
           row->p50 * 1e6, row->max * 1e6, row->from_first * 1e6,
           row->bound * 1e6, row->algorithm,
           !b->options->validate ? ""
           : row->valid          ? " Pass"
                                 : " Fail");
    fflush(stdout);
}

/* A number that JSON has no word for is null. */
static void print_number(const char *name, double value)
{
    if (isfinite(value)) {
        printf(", \"%s\": %.9g", name, value);
    } else {
        printf(", \"%s\": null", name);
    }
}

static void print_json(const bench_t *b, const row_t *row)
{
    const options_t *o = b->options;
    char             impl[OSU_NAME_LEN];

    osu_impl_name(impl);
    printf("{\"impl\": \"%s\", \"algorithm\": \"%s\", \"type\": \"%s\", "
           "\"in_place\": %s, \"memory\": \"%s\", \"ranks\": %u, \"servers\": "
           "%u, \"size\": %llu, "
           "\"arrival\": \"%s\"",
           o->impl != NULL ? o->impl : impl, row->algorithm, type_of(o),
           o->in_place ? "true" : "false", osu_memory_name(o->memory), b->n,
           fs_topo_n_servers(b->cluster.topo), (unsigned long long)row->size,
           arrival_of(o));
    print_number("time_s", row->p50);
    print_number("time_avg_s", row->avg);
    print_number("time_min_s", row->min);
    print_number("time_max_s", row->max);
    print_number("from_first_s", row->from_first);
    print_number("lower_bound_s", row->bound);
    printf(", \"iterations\": %llu, \"valid\": %s}\n",
           (unsigned long long)o->iterations,
           !o->validate ? "null"
           : row->valid ? "true"
                        : "false");
    fflush(stdout);
}

/* ---- the run ---- */

static void *claim_for_mpi(const bench_t *b, uint64_t *here)
{
    return b->device->driver == NULL
               ? here
               : osu_device_alloc(b->device, b->options->max_size);
}

/* Collective; false, on every rank, without memory. */
static bool claim(bench_t *b, char *why)
{
    const options_t *o  = b->options;
    int              ok = 1;

    b->send      = calloc(o->max_size / ELEMENT, ELEMENT);
    b->recv      = calloc(o->max_size / ELEMENT, ELEMENT);
    b->source    = claim_for_mpi(b, b->send);
    b->target    = claim_for_mpi(b, b->recv);
    b->entry_ns  = calloc(b->n, sizeof(*b->entry_ns));
    b->times     = calloc(o->iterations, sizeof(*b->times));
    b->from_last = calloc(o->iterations, sizeof(*b->from_last));
    ok           = b->send != NULL && b->recv != NULL && b->source != NULL &&
         b->target != NULL && b->entry_ns != NULL && b->times != NULL &&
         b->from_last != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!ok) {
        osu_bad(why, "out of memory");
        return false;
    }
    put(b, o->max_size / ELEMENT);
    return true;
}

static void release(bench_t *b)
{
    if (b->device->driver != NULL) {
        osu_device_free(b->device, b->source);
        osu_device_free(b->device, b->target);
    }
    free(b->send);
    free(b->recv);
    free(b->entry_ns);
    free(b->times);
    free(b->from_last);
    osu_cluster_fini(&b->cluster);
}

/* All sizes, or those up to the first wrong element. */
static void run_all(bench_t *b)
{
    const options_t *o = b->options;

    if (b->rank == 0 && !o->json) {
        print_header(b);
    }
    for (uint64_t size = o->min_size; size <= o->max_size && !b->wrong;
         size *= 2) {
        run_size(b, size);
        if (b->rank == 0) {
            row_t row = summarize(b, size);

            (o->json ? print_json : print_row)(b, &row);
        }
    }
}

/* Exit status of every rank: 0; 1: wrong elements; 2: cannot run like this. */
static int run(const options_t *options, osu_device_t *device, char *why)
{
    bench_t b = {.options = options, .device = device};
    int     rank, n, status = 2;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    b.rank = (uint32_t)rank;
    b.n    = (uint32_t)n;
    if (osu_check_arrival(&options->arrival, options->arrival_text, b.n, why) &&
        osu_device_ready(MPI_COMM_WORLD, device, why) &&
        osu_cluster_init(MPI_COMM_WORLD, options->servers,
                         (uint32_t)options->nics, &b.cluster, why) == FS_OK &&
        claim(&b, why)) {
        osu_algorithm_init(MPI_COMM_WORLD, &b.algorithm);
        run_all(&b);
        osu_algorithm_fini(&b.algorithm);
        status = b.wrong ? 1 : 0;
    } else if (rank == 0) {
        fprintf(stderr, PROGRAM ": %s\n", why);
    }
    release(&b);
    return status;
}

/* ---- options ---- */

enum {
    OPT_TYPE = 256,
    OPT_IN_PLACE,
    OPT_ARRIVAL,
    OPT_SEED,
    OPT_RATE,
    OPT_NICS,
    OPT_SERVERS,
    OPT_IMPL,
    OPT_JSON
};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {"message-size", required_argument, NULL, 'm'},
    {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'x'},
    {"validation", no_argument, NULL, 'c'},
    {"accelerator", required_argument, NULL, 'd'},
    {"type", required_argument, NULL, OPT_TYPE},
    {"in-place", no_argument, NULL, OPT_IN_PLACE},
    {"arrival", required_argument, NULL, OPT_ARRIVAL},
    {"seed", required_argument, NULL, OPT_SEED},
    {"rate", required_argument, NULL, OPT_RATE},
    {"nics", required_argument, NULL, OPT_NICS},
    {"servers", required_argument, NULL, OPT_SERVERS},
    {"impl", required_argument, NULL, OPT_IMPL},
    {"json", no_argument, NULL, OPT_JSON},
    {NULL, 0, NULL, 0},
};

/* clang-format off */
static void print_usage(FILE *out)
{
    fprintf(out,
        "Usage: " PROGRAM " [options]\n\n"
        "  -m, --message-size [MIN:]MAX  bytes of the vector, a multiple of 8;\n"
        "                       each size is twice the last (1m:8m)\n"
        "  -i, --iterations N   timed calls of a size (20)\n"
        "  -x, --warmup N       calls before these (5)\n"
        "  -c, --validation     check every element\n"
        "  -d, --accelerator TYPE  memory of the vectors: host, cuda, rocm or managed\n"
        "                       (host); a device is the local rank modulo their\n"
        "                       number\n"
        "      --type NAME      uint64 (the default) or double\n"
        "      --in-place       with MPI_IN_PLACE\n"
        "      --arrival WHEN   when ranks enter a call, in shares F of the lower\n"
        "                       bound: uniform:F, late:RANK:F, exp:F (together)\n"
        "      --seed N         seed of values and entries (1)\n"
        "      --rate RATE      rate of one NIC, each way, for the lower bound:\n"
        "                       50mbit, 2.5gbit (unknown)\n"
        "      --nics N         NICs of a server, for the bound (one per rank)\n"
        "      --servers SPEC   the servers, for the bound: 8x1, 4x4 (the real\n"
        "                       hosts)\n"
        "      --json           one JSON object a line, and nothing else\n"
        "      --impl NAME      label in the JSON (the MPI in use)\n"
        "  -h, --help   -v, --version\n");
}
/* clang-format on */

static bool is_size(uint64_t size)
{
    return size >= ELEMENT && size % ELEMENT == 0 &&
           size / ELEMENT <= INT32_MAX;
}

static osu_verdict_t parse_sizes(const char *text, options_t *o, char *why)
{
    const char *end;
    bool        good = osu_read_number(text, &o->min_size, &end);

    o->max_size = o->min_size;
    if (good && *end == ':') {
        good = osu_read_number(end + 1, &o->max_size, &end);
    }
    return good && *end == '\0' && is_size(o->min_size) &&
                   is_size(o->max_size) && o->min_size <= o->max_size
               ? OSU_RUN
               : osu_bad(why,
                         "-m \"%s\": allowed: MAX or MIN:MAX, multiples of 8 "
                         "from 8 to 17179869176",
                         text);
}

static osu_verdict_t parse_type(const char *text, bool *doubles, char *why)
{
    *doubles = strcmp(text, "double") == 0;
    return *doubles || strcmp(text, "uint64") == 0
               ? OSU_RUN
               : osu_bad(why, "--type \"%s\": allowed: uint64, double", text);
}

static osu_verdict_t parse_arrival(const char *text, options_t *o, char *why)
{
    o->arrival_text = text;
    return fs_arrival_parse(text, &o->arrival) == FS_OK
               ? OSU_RUN
               : osu_bad(why, "--arrival \"%s\": allowed: " FS_ARRIVAL_ALLOWED,
                         text);
}

static osu_verdict_t parse_option(int option, const char *value, options_t *o,
                                  char *why)
{
    switch (option) {
    case 'm':
        return parse_sizes(value, o, why);
    case 'i':
        return osu_parse_count("-i", value, 1, 1000000, &o->iterations, why);
    case 'x':
        return osu_parse_count("-x", value, 0, 1000000, &o->warmup, why);
    case 'c':
        o->validate = true;
        return OSU_RUN;
    case 'd':
        return osu_parse_memory(value, &o->memory, why);
    case OPT_TYPE:
        return parse_type(value, &o->doubles, why);
    case OPT_IN_PLACE:
        o->in_place = true;
        return OSU_RUN;
    case OPT_ARRIVAL:
        return parse_arrival(value, o, why);
    case OPT_SEED:
        return osu_parse_count("--seed", value, 0, UINT64_MAX, &o->seed, why);
    case OPT_RATE:
        return osu_parse_rate(value, &o->rate, why);
    case OPT_NICS:
        return osu_parse_count("--nics", value, 1, 4096, &o->nics, why);
    case OPT_SERVERS:
        o->servers = value;
        return OSU_RUN;
    case OPT_IMPL:
        o->impl = value;
        return osu_check_label("--impl", value, why);
    case OPT_JSON:
        o->json = true;
        return OSU_RUN;
    case 'h':
        return OSU_HELP;
    default:
        return OSU_VERSION;
    }
}

/* What options say together. */
static osu_verdict_t check_options(int argc, char **argv, const options_t *o,
                                   char *why)
{
    if (optind < argc) {
        return osu_bad(why, "unexpected argument \"%s\"; -h lists all options",
                       argv[optind]);
    }
    return o->arrival_text != NULL && o->rate == 0
               ? osu_bad(why,
                         "--arrival \"%s\" needs --rate: its shares are of the "
                         "lower bound",
                         o->arrival_text)
               : OSU_RUN;
}

/* Same arguments, same verdict on every rank. */
static osu_verdict_t parse(int argc, char **argv, options_t *o, char *why)
{
    osu_verdict_t verdict = OSU_RUN;
    int           option;

    *o = (options_t){.min_size   = UINT64_C(1) << 20,
                     .max_size   = UINT64_C(8) << 20,
                     .iterations = 20,
                     .warmup     = 5,
                     .seed       = 1};
    while (verdict == OSU_RUN &&
           (option = osu_next_option(argc, argv, "+:hvm:i:x:cd:", long_options,
                                     why)) != -1) {
        verdict = option == '?' ? OSU_BAD
                                : parse_option(option, optarg, o, why);
    }
    return verdict == OSU_RUN ? check_options(argc, argv, o, why) : verdict;
}

int main(int argc, char **argv)
{
    options_t     options;
    char          why[OSU_WHY_LEN] = "";
    osu_verdict_t verdict          = parse(argc, argv, &options, why);
    osu_device_t  device;
    int           status;

    osu_device_open(verdict == OSU_RUN ? options.memory : OSU_HOST, &device);
    MPI_Init(&argc, &argv);
    status = verdict == OSU_RUN
                 ? run(&options, &device, why)
                 : osu_answer(verdict, PROGRAM, print_usage, why);
    MPI_Finalize();
    return status;
}
