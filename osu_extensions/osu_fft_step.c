/* SPDX-License-Identifier: BSD-3-Clause */
/* The time of a step of a program that transforms a 3D box there and back: four
 * transposes between pencils, with a computation before each.
 *
 *   barrier
 *   for each step, without waiting for each other in between
 *     for axes 2, 1, 0, 1
 *       compute                       add 1 to each value; sleep, with --compute
 *       transpose                     MPI_Alltoallv or MPI_Alltoallw, in all rows
 *                                     or all columns of the grid at once
 *   a step ends when its slowest rank has ended it
 *   check every value                 a mistake in any step is still in it
 *
 * The computation is a sleep, so that ranks may share cores, as in an emulated
 * network; not a moment of it is the MPI's. */
#include "osu_fast_util.h"
#include "osu_pencil.h"

#include "sched/model/fs_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "osu_fft_step"

enum { N_PHASES = 4 };
/* The axis that is whole at the beginning of each phase. */
static const int whole_axis[N_PHASES + 1] = {2, 1, 0, 1, 2};

typedef struct fft_options {
    osu_grid_t  grid;      /* ranks: 0 x 0, as MPI_Dims_create() likes it */
    bool        subarrays; /* alltoallw, else alltoallv */
    uint64_t    iterations, warmup, seed, nics;
    uint64_t    compute_us; /* before each transpose, on average */
    double      uneven;     /* ranks' are from 1 - this to 1 + this of it */
    double      rate;       /* bits per second and NIC, 0: unknown */
    const char *servers, *impl;
    bool        json;
} fft_options_t;

typedef struct fft {
    const fft_options_t *options;
    osu_grid_t           grid;
    osu_cluster_t        cluster;
    int                  rank, n;
    osu_transpose_t      transposes[N_PHASES];
    osu_value_t         *in, *out; /* of a phase */
    double *ends;    /* [iterations] seconds from the start, slowest rank */
    double  bound_s; /* of the transposes of a step; NAN: unknown */
} fft_t;

/* ---- values ---- */

/* A value before the first step; no two are the same. */
static osu_value_t value_at(const osu_grid_t *grid, const osu_block_t *block,
                            uint64_t at)
{
    uint64_t place[3], size1 = (uint64_t)block->size[1],
                       size2 = (uint64_t)block->size[2];

    place[0] = (uint64_t)block->start[0] + at / size2 / size1;
    place[1] = (uint64_t)block->start[1] + at / size2 % size1;
    place[2] = (uint64_t)block->start[2] + at % size2;
    at       = (place[0] * (uint64_t)grid->box[1] + place[1]) *
             (uint64_t)grid->box[2] +
         place[2];
    return (double)(at % 1021) + (double)at * I;
}

static void fill(fft_t *f)
{
    const osu_block_t *block = &f->transposes[0].from;

    for (uint64_t k = 0; k < osu_block_values(block); ++k) {
        f->in[k] = value_at(&f->grid, block, k);
    }
}

/* Collective. Every value, after so many steps. */
static bool check(const fft_t *f, uint64_t n_steps)
{
    const osu_block_t *block = &f->transposes[0].from;
    int                right = 1;

    for (uint64_t k = 0; k < osu_block_values(block) && right; ++k) {
        osu_value_t expected = value_at(&f->grid, block, k) +
                               (double)(N_PHASES * n_steps);

        right = creal(f->in[k]) == creal(expected) &&
                cimag(f->in[k]) == cimag(expected);
        if (!right) {
            fprintf(stderr,
                    PROGRAM ": rank %d: value %llu is %.17g%+.17gi instead of "
                            "%.17g%+.17gi\n",
                    f->rank, (unsigned long long)k, creal(f->in[k]),
                    cimag(f->in[k]), creal(expected), cimag(expected));
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return right;
}

/* ---- steps ---- */

/* How long this rank computes, drawn from the seed. */
static double compute_s(const fft_t *f, uint64_t step, int phase)
{
    const fft_options_t *o    = f->options;
    uint64_t             seed = fs_digest_add(fs_mix64(o->seed), step);
    double               u;
    fs_rng_t             rng;

    seed = fs_digest_add(seed, (uint64_t)phase);
    fs_rng_init(&rng, fs_digest_add(seed, (uint64_t)f->rank));
    u = (double)(fs_rng_next(&rng) >> 12) / (double)(1ULL << 52);
    return (double)o->compute_us * 1e-6 * (1 + o->uneven * (2 * u - 1));
}

static void compute(fft_t *f, uint64_t step, int phase)
{
    uint64_t n       = osu_block_values(&f->transposes[phase].from);
    double   seconds = compute_s(f, step, phase);

    for (uint64_t k = 0; k < n; ++k) {
        f->in[k] += 1;
    }
    osu_sleep((uint64_t)(seconds * 1e9));
}

static void make_step(fft_t *f, uint64_t step)
{
    for (int phase = 0; phase < N_PHASES; ++phase) {
        osu_value_t *other = f->in;

        compute(f, step, phase);
        osu_transpose_run(&f->transposes[phase], f->in, f->out);
        f->in  = f->out;
        f->out = other;
    }
}

/* Warm up, then all steps; true if every value is right. */
static bool run_steps(fft_t *f)
{
    const fft_options_t *o = f->options;
    double               start;

    fill(f);
    for (uint64_t k = 0; k < o->warmup; ++k) {
        make_step(f, o->iterations + k);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (uint64_t k = 0; k < o->iterations; ++k) {
        make_step(f, k);
        f->ends[k] = MPI_Wtime() - start;
    }
    MPI_Reduce(f->rank == 0 ? MPI_IN_PLACE : f->ends, f->ends,
               (int)o->iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return check(f, o->warmup + o->iterations);
}

/* ---- the table ---- */

/* As --collective takes it. */
static const char *form_name(bool subarrays)
{
    return subarrays ? "alltoallw" : "alltoallv";
}

/* The rates of NICs say how long the transposes of a step take at least, one after the
 * other, each in all rows or columns at once. False: out of memory. */
static bool find_bound(fft_t *f)
{
    size_t    n     = (size_t)f->n;
    uint64_t *bytes = calloc(n * n, sizeof(*bytes));
    uint64_t *sums  = calloc(4 * n, sizeof(*sums));
    bool      ok    = bytes != NULL && sums != NULL;

    f->bound_s = f->options->rate > 0 ? 0 : NAN;
    for (int phase = 0; phase < N_PHASES && ok; ++phase) {
        osu_bound_t bound;

        memset(bytes, 0, n * n * sizeof(*bytes));
        osu_transpose_bytes(&f->grid, whole_axis[phase], whole_axis[phase + 1],
                            bytes);
        bound = osu_bound(&f->cluster, bytes, sums);
        f->bound_s += bound.bytes_per_nic * 8 / f->options->rate;
    }
    free(bytes);
    free(sums);
    return ok;
}

typedef struct fft_row {
    double avg, min, p50, max;
    bool   valid;
} fft_row_t;

/* Turns the ends of steps into the times of each, sorted. */
static void summarize(fft_t *f, fft_row_t *row)
{
    size_t n = (size_t)f->options->iterations;

    row->avg = f->ends[n - 1] / (double)n;
    for (size_t k = n; k-- > 1;) {
        f->ends[k] -= f->ends[k - 1];
    }
    osu_sort(f->ends, n);
    row->min = f->ends[0];
    row->max = f->ends[n - 1];
    row->p50 = osu_percentile(f->ends, n, 50);
}

static void print_row(const fft_t *f, const fft_row_t *row)
{
    const osu_grid_t *g = &f->grid;

    printf("# OSU MPI 3D FFT Step Test v" FS_VERSION "\n");
    printf("# Box: %dx%dx%d complex numbers, grid: %dx%d ranks. Servers: %u, "
           "ranks per server: %s.\n",
           g->box[0], g->box[1], g->box[2], g->ranks[0], g->ranks[1],
           fs_topo_n_servers(f->cluster.topo), f->cluster.shape);
    printf("# %s, %llu us of computation before each transpose, uneven by "
           "%g.\n",
           form_name(f->options->subarrays),
           (unsigned long long)f->options->compute_us, f->options->uneven);
    printf("%-16s%16s%16s%16s%20s%12s\n", "# Avg Step(us)", "Min Step(us)",
           "P50 Step(us)", "Max Step(us)", "Lower Bound(us)", "Validation");
    printf("%-16.2f%16.2f%16.2f%16.2f", row->avg * 1e6, row->min * 1e6,
           row->p50 * 1e6, row->max * 1e6);
    if (isnan(f->bound_s)) {
        printf("%20s", "-");
    } else {
        printf("%20.2f", f->bound_s * 1e6);
    }
    printf("%12s\n", row->valid ? "Pass" : "Fail");
}

static void json_known(const char *key, double value, bool known)
{
    if (known) {
        printf(", \"%s\": %.9g", key, value);
    } else {
        printf(", \"%s\": null", key);
    }
}

static void print_json(const fft_t *f, const fft_row_t *row)
{
    const fft_options_t *o     = f->options;
    const osu_grid_t    *g     = &f->grid;
    const char          *quote = f->cluster.even ? "" : "\"";
    char                 impl[OSU_NAME_LEN];

    osu_impl_name(impl);
    printf("{\"impl\": \"%s\", \"collective\": \"%s\", \"box\": \"%dx%dx%d\", "
           "\"grid\": \"%dx%d\", \"servers\": %u, "
           "\"ranks_per_server\": %s%s%s",
           o->impl != NULL ? o->impl : impl, form_name(o->subarrays), g->box[0],
           g->box[1], g->box[2], g->ranks[0], g->ranks[1],
           fs_topo_n_servers(f->cluster.topo), quote, f->cluster.shape, quote);
    json_known("nics", (double)o->nics, o->nics > 0);
    json_known("rate_mbit", o->rate / 1e6, o->rate > 0);
    printf(", \"compute_us\": %llu, \"uneven\": %g",
           (unsigned long long)o->compute_us, o->uneven);
    json_known("time_s", row->p50, true);
    json_known("time_avg_s", row->avg, true);
    json_known("time_min_s", row->min, true);
    json_known("time_max_s", row->max, true);
    json_known("lower_bound_s", f->bound_s, !isnan(f->bound_s));
    printf(", \"valid\": %s, \"iterations\": %llu, \"seed\": %llu}\n",
           row->valid ? "true" : "false", (unsigned long long)o->iterations,
           (unsigned long long)o->seed);
}

/* ---- the run ---- */

/* The grid, which is the only thing that the number of ranks can make impossible. */
static bool settle_grid(fft_t *f, char *why)
{
    int *ranks = f->grid.ranks;

    f->grid = f->options->grid;
    if (ranks[0] == 0) {
        MPI_Dims_create(f->n, 2, ranks);
    }
    if ((int64_t)ranks[0] * ranks[1] != f->n) {
        osu_bad(why,
                "-g \"%dx%d\": allowed: a product of %d, the number of "
                "ranks",
                ranks[0], ranks[1], f->n);
        return false;
    }
    return true;
}

/* Collective. Everything that a run needs; false, on every rank, if memory lacks, or a
 * rank's part of the box has more values than an int can count. */
static bool claim(fft_t *f, char *why)
{
    uint64_t most = 1;
    int      ok   = 1;

    for (int phase = 0; phase < N_PHASES; ++phase) {
        osu_block_t block =
            osu_pencil_block(&f->grid, whole_axis[phase], f->rank);
        uint64_t values = osu_block_values(&block);

        most = values > most ? values : most;
    }
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX,
                  MPI_COMM_WORLD);
    if (most > INT32_MAX) {
        osu_bad(why, "-n: a rank would have %llu values; allowed: 2147483647",
                (unsigned long long)most);
        return false;
    }
    for (int phase = 0; phase < N_PHASES; ++phase) {
        ok = osu_transpose_init(&f->transposes[phase], f->options->subarrays,
                                &f->grid, MPI_COMM_WORLD, whole_axis[phase],
                                whole_axis[phase + 1]) &&
             ok;
    }
    f->in   = calloc(most, sizeof(*f->in));
    f->out  = calloc(most, sizeof(*f->out));
    f->ends = calloc(f->options->iterations, sizeof(*f->ends));
    ok      = ok && f->in != NULL && f->out != NULL && f->ends != NULL &&
         find_bound(f);
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!ok) {
        osu_bad(why, "out of memory");
    }
    return ok;
}

static void release(fft_t *f)
{
    for (int phase = 0; phase < N_PHASES; ++phase) {
        if (f->transposes[phase].comm != MPI_COMM_NULL) {
            osu_transpose_fini(&f->transposes[phase]);
        }
    }
    free(f->in);
    free(f->out);
    free(f->ends);
    osu_cluster_fini(&f->cluster);
}

/* Exit status of every rank: 0; 1: wrong values; 2: cannot run like this. */
static int run(const fft_options_t *options, char *why)
{
    fft_t     f      = {.options = options};
    int       status = 2;
    fft_row_t row;

    for (int phase = 0; phase < N_PHASES; ++phase) {
        f.transposes[phase].comm = MPI_COMM_NULL;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &f.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &f.n);
    if (settle_grid(&f, why) &&
        osu_cluster_init(MPI_COMM_WORLD, options->servers,
                         (uint32_t)options->nics, &f.cluster, why) == FS_OK &&
        claim(&f, why)) {
        row.valid = run_steps(&f);
        if (f.rank == 0) {
            summarize(&f, &row);
            (options->json ? print_json : print_row)(&f, &row);
        }
        status = row.valid ? 0 : 1;
    } else if (f.rank == 0) {
        fprintf(stderr, PROGRAM ": %s\n", why);
    }
    release(&f);
    return status;
}

/* ---- options ---- */

enum {
    OPT_COLLECTIVE = 256,
    OPT_COMPUTE,
    OPT_UNEVEN,
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
    {"box", required_argument, NULL, 'n'},
    {"grid", required_argument, NULL, 'g'},
    {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'x'},
    {"collective", required_argument, NULL, OPT_COLLECTIVE},
    {"compute", required_argument, NULL, OPT_COMPUTE},
    {"uneven", required_argument, NULL, OPT_UNEVEN},
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
        "  -n, --box N|N0xN1xN2  complex numbers along each axis (64)\n"
        "  -g, --grid P0xP1     grid of ranks, rows by columns: ranks of a row are\n"
        "                       consecutive (nearly square)\n"
        "      --collective NAME  alltoallv (the default): packed and unpacked by\n"
        "                       the program; alltoallw: subarrays\n"
        "      --compute US     sleep so many microseconds before each of the four\n"
        "                       transposes of a step, on average (0)\n"
        "      --uneven F       each rank computes from 1-F to 1+F of that, drawn\n"
        "                       from the seed anew each time; 0 to 1 (0)\n"
        "      --seed N         seed of these lengths (1)\n"
        "  -i, --iterations N   timed steps (10)\n"
        "  -x, --warmup N       warm-up steps (2)\n"
        "      --rate RATE      rate of one NIC, each way, for the lower bound:\n"
        "                       50mbit, 2.5gbit (unknown)\n"
        "      --nics N         NICs of a server, for the lower bound; ranks\n"
        "                       share them in blocks (one per rank)\n"
        "      --servers SPEC   the servers, for the bound: 4x4, 4+4+2+1,\n"
        "                       @0,1,0,1 (the real hosts)\n"
        "      --json           one JSON object, and nothing else\n"
        "      --impl NAME      label in the JSON (the MPI in use)\n"
        "  -h, --help   -v, --version\n");
}
/* clang-format on */

/* n numbers with x between, each from 1 to 65536. */
static bool read_sizes(const char *text, int n, int *sizes)
{
    for (int k = 0; k < n; ++k) {
        uint64_t    value;
        const char *end;

        if (!osu_read_number(text, &value, &end) || value < 1 ||
            value > 65536 || *end != (k + 1 < n ? 'x' : '\0')) {
            return false;
        }
        sizes[k] = (int)value;
        text     = end + 1;
    }
    return true;
}

static osu_verdict_t parse_box(const char *text, int box[3], char *why)
{
    if (read_sizes(text, 1, box)) {
        box[1] = box[2] = box[0];
        return OSU_RUN;
    }
    return read_sizes(text, 3, box)
               ? OSU_RUN
               : osu_bad(why,
                         "-n \"%s\": allowed: N or N0xN1xN2, each from 1 to "
                         "65536",
                         text);
}

static osu_verdict_t parse_grid(const char *text, int ranks[2], char *why)
{
    return read_sizes(text, 2, ranks)
               ? OSU_RUN
               : osu_bad(why, "-g \"%s\": allowed: P0xP1, each from 1 to 65536",
                         text);
}

static osu_verdict_t parse_form(const char *text, bool *subarrays, char *why)
{
    *subarrays = strcmp(text, form_name(true)) == 0;
    return strcmp(text, form_name(*subarrays)) == 0
               ? OSU_RUN
               : osu_bad(why,
                         "--collective \"%s\": allowed: alltoallv, alltoallw",
                         text);
}

static osu_verdict_t parse_share(const char *text, double *share, char *why)
{
    char *end;

    *share = strtod(text, &end);
    return end != text && *end == '\0' && *share >= 0 && *share <= 1
               ? OSU_RUN
               : osu_bad(why, "--uneven \"%s\": allowed: 0 to 1, as in 0.3",
                         text);
}

static osu_verdict_t parse_option(int option, const char *value,
                                  fft_options_t *o, char *why)
{
    switch (option) {
    case 'n':
        return parse_box(value, o->grid.box, why);
    case 'g':
        return parse_grid(value, o->grid.ranks, why);
    case 'i':
        return osu_parse_count("-i", value, 1, 1000000, &o->iterations, why);
    case 'x':
        return osu_parse_count("-x", value, 0, 1000000, &o->warmup, why);
    case OPT_COLLECTIVE:
        return parse_form(value, &o->subarrays, why);
    case OPT_COMPUTE:
        return osu_parse_count("--compute", value, 0, 1000000000,
                               &o->compute_us, why);
    case OPT_UNEVEN:
        return parse_share(value, &o->uneven, why);
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

/* Same arguments, same verdict on every rank. */
static osu_verdict_t parse(int argc, char **argv, fft_options_t *o, char *why)
{
    osu_verdict_t verdict = OSU_RUN;
    int           option;

    *o = (fft_options_t){.grid       = {.box = {64, 64, 64}},
                         .iterations = 10,
                         .warmup     = 2,
                         .seed       = 1};
    while (verdict == OSU_RUN &&
           (option = osu_next_option(argc, argv, "+:hvn:g:i:x:", long_options,
                                     why)) != -1) {
        verdict = option == '?' ? OSU_BAD
                                : parse_option(option, optarg, o, why);
    }
    return verdict == OSU_RUN && optind < argc
               ? osu_bad(why,
                         "unexpected argument \"%s\"; -h lists all options",
                         argv[optind])
               : verdict;
}

int main(int argc, char **argv)
{
    fft_options_t options;
    char          why[OSU_WHY_LEN] = "";
    osu_verdict_t verdict          = parse(argc, argv, &options, why);
    int           status;

    MPI_Init(&argc, &argv);
    status = verdict == OSU_RUN
                 ? run(&options, why)
                 : osu_answer(verdict, PROGRAM, print_usage, why);
    MPI_Finalize();
    return status;
}
