/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays a recording of a program (parameter record) back through MPI_Alltoallv.
 *
 *   for each time that it is played
 *     for each recorded call, in the order of their entries
 *       barrier on its communicator      outside the clock
 *       MPI_Alltoallv                    inside
 *       check every byte                 with -c; outside
 *   maximum over ranks of each call, a row for each kind of calls, and a sum
 *
 * A rank makes the calls of the communicators that it is in: those of disjoint ones
 * are made at once, as the program made them. What the program did between its calls
 * is left out. */
#include "osu_fast_util.h"
#include "osu_replay_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "osu_alltoallv_replay"

enum { GUARD = 64 }; /* bytes behind a buffer that nobody may write */

typedef struct replay_options {
    const char *dir, *impl;
    uint64_t    iterations, warmup;
    bool        validate, json;
} replay_options_t;

typedef struct play {
    const replay_options_t *options;
    osu_replay_t            replay;
    osu_algorithm_t         algorithm;
    int                     rank, n;
    unsigned char          *send, *recv;
    double *times; /* [iterations x n_calls] seconds, slowest rank */
    bool    wrong;
} play_t;

/* ---- bytes ---- */

/* Byte k of a block says which block of which call it is from. */
static unsigned char byte_of(uint64_t call, int src, int dst, int k)
{
    return (unsigned char)(call * 31 + (uint64_t)src * 7 + (uint64_t)dst * 13 +
                           (uint64_t)k + (uint64_t)k / 251);
}

static void fill(play_t *p, const int *ints, int size, int me, uint64_t call)
{
    for (int peer = 0; peer < size; ++peer) {
        for (int k = 0; k < ints[peer]; ++k) {
            p->send[ints[size + peer] + k] = byte_of(call, me, peer, k);
        }
        for (int k = 0; k < ints[2 * size + peer]; ++k) {
            p->recv[ints[3 * size + peer] + k] =
                (unsigned char)~byte_of(call, peer, me, k);
        }
    }
    memset(p->recv + ints[3 * size + size - 1] + ints[2 * size + size - 1],
           0x5a, GUARD);
}

static void complain(play_t *p, uint64_t call, int peer, int k)
{
    if (!p->wrong) {
        fprintf(stderr,
                PROGRAM ": rank %d: byte %d from rank %d of the communicator "
                        "is wrong in call %llu\n",
                p->rank, k, peer, (unsigned long long)call);
    }
    p->wrong = true;
}

static void check(play_t *p, const int *ints, int size, int me, uint64_t call)
{
    const unsigned char *end = p->recv + ints[3 * size + size - 1] +
                               ints[2 * size + size - 1];

    for (int peer = 0; peer < size; ++peer) {
        for (int k = 0; k < ints[2 * size + peer]; ++k) {
            if (p->recv[ints[3 * size + peer] + k] !=
                byte_of(call, peer, me, k)) {
                complain(p, call, peer, k);
                return;
            }
        }
    }
    for (int k = 0; k < GUARD; ++k) {
        if (end[k] != 0x5a) {
            complain(p, call, size - 1, ints[2 * size + size - 1] + k);
            return;
        }
    }
}

/* ---- calls ---- */

/* Seconds on this rank; 0: it is not in it. */
static double run_call(play_t *p, uint64_t call)
{
    uint32_t   kind = p->replay.calls[call];
    MPI_Comm   comm = p->replay.comms[p->replay.kinds[kind].comm];
    const int *ints = p->replay.ints[kind];
    double     seconds;
    int        size, me;

    if (comm == MPI_COMM_NULL) {
        return 0;
    }
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    if (p->options->validate) {
        fill(p, ints, size, me, call);
    }
    MPI_Barrier(comm);
    seconds = MPI_Wtime();
    MPI_Alltoallv(p->send, ints, ints + size, MPI_CHAR, p->recv,
                  ints + 2 * size, ints + 3 * size, MPI_CHAR, comm);
    seconds = MPI_Wtime() - seconds;
    if (p->options->validate) {
        check(p, ints, size, me, call);
    }
    return seconds;
}

static void run_all(play_t *p)
{
    uint64_t n = p->replay.n_calls, warmup = p->options->warmup;

    for (uint64_t i = 0; i < warmup + p->options->iterations; ++i) {
        for (uint64_t call = 0; call < n; ++call) {
            double seconds = run_call(p, call);

            if (i >= warmup) {
                p->times[(i - warmup) * n + call] = seconds;
            }
        }
    }
    for (uint64_t i = 0; i < p->options->iterations; ++i) {
        double *times = p->times + i * n;

        MPI_Reduce(p->rank == 0 ? MPI_IN_PLACE : times, times, (int)n,
                   MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    }
}

/* ---- output; on rank 0 ---- */

typedef struct row {
    const char *name; /* of the function; NULL: the sum */
    uint64_t    kind; /* from 1 */
    uint64_t    n;    /* calls of one time it is played */
    double      bytes, avg, min, max, total; /* bytes of a call */
} row_t;

/* kind: n_kinds: of all. */
static row_t row_of(const play_t *p, uint64_t kind)
{
    const osu_replay_t *r   = &p->replay;
    uint64_t            all = p->options->iterations * r->n_calls, n = 0;
    row_t               row = {.kind = kind + 1, .min = INFINITY, .max = 0};

    for (uint64_t k = 0; k < all; ++k) {
        uint32_t of = r->calls[k % r->n_calls];

        if (kind == r->n_kinds || kind == of) {
            row.total += p->times[k];
            row.min = fmin(row.min, p->times[k]);
            row.max = fmax(row.max, p->times[k]);
            row.bytes += (double)r->kinds[of].bytes;
            ++n;
        }
    }
    row.n   = n / p->options->iterations;
    row.avg = row.total / (double)n;
    row.bytes /= (double)n;
    row.total /= (double)p->options->iterations;
    row.name = kind < r->n_kinds ? fs_record_function(r->kinds[kind].function)
                                 : NULL;
    return row;
}

static void print_header(const play_t *p)
{
    const osu_replay_t *r = &p->replay;

    printf("# OSU MPI All-to-Allv Replay Latency Test v" FS_VERSION "\n");
    printf("# Datatype: MPI_CHAR.\n");
    printf("# Recording: %s, %llu calls on %llu communicators of up to %llu "
           "ranks, here %d.\n",
           p->options->dir, (unsigned long long)r->n_calls,
           (unsigned long long)r->n_comms, (unsigned long long)r->n_recorded,
           p->n);
    printf("# Kind: as \"fastsched compare\" counts. Times: slowest rank of "
           "each call.\n");
    printf("%-10s%20s%20s%20s%20s%20s%20s%22s%s\n", "# Kind", "Calls", "Bytes",
           "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Total(s)",
           "Recorded", p->options->validate ? "          Validation" : "");
}

static void print_row(const play_t *p, const row_t *row, bool valid)
{
    if (row->name != NULL) {
        printf("%-10llu", (unsigned long long)row->kind);
    } else {
        printf("%-10s", "all");
    }
    printf("%20llu%20.0f%20.2f%20.2f%20.2f%20.6f%22s",
           (unsigned long long)row->n, row->bytes, row->avg * 1e6,
           row->min * 1e6, row->max * 1e6, row->total,
           row->name != NULL ? row->name : "-");
    if (p->options->validate) {
        printf("%20s", valid ? "Pass" : "Fail");
    }
    printf("\n");
}

static void print_json(const play_t *p, const row_t *row, bool valid)
{
    char impl[OSU_NAME_LEN], algorithm[OSU_NAME_LEN];

    osu_impl_name(impl);
    osu_algorithm_last(&p->algorithm, algorithm);
    printf("{\"impl\": \"%s\", \"kind\": ",
           p->options->impl != NULL ? p->options->impl : impl);
    if (row->name != NULL) {
        printf("%llu, \"function\": \"%s\"", (unsigned long long)row->kind,
               row->name);
    } else {
        printf("\"all\", \"function\": null");
    }
    printf(", \"ranks\": %d, \"recorded_ranks\": %llu, \"calls\": %llu, "
           "\"bytes\": %.0f, \"time_s\": %.9g, \"time_min_s\": %.9g, "
           "\"time_max_s\": %.9g, \"total_s\": %.9g, \"valid\": %s, "
           "\"algorithm\": \"%s\", \"iterations\": %llu}\n",
           p->n, (unsigned long long)p->replay.n_recorded,
           (unsigned long long)row->n, row->bytes, row->avg, row->min, row->max,
           row->total,
           !p->options->validate ? "null"
           : valid               ? "true"
                                 : "false",
           algorithm, (unsigned long long)p->options->iterations);
}

static void print_all(const play_t *p, bool valid)
{
    if (!p->options->json) {
        print_header(p);
    }
    for (uint64_t k = 0; k <= p->replay.n_kinds; ++k) {
        row_t row = row_of(p, k);

        (p->options->json ? print_json : print_row)(p, &row, valid);
    }
}

/* ---- the run ---- */

static size_t most(size_t before, int bytes)
{
    return before > (size_t)bytes ? before : (size_t)bytes;
}

/* For the largest call of this rank. */
static bool claim(play_t *p, char *why)
{
    size_t send = 0, recv = 0;
    int    ready;

    for (uint64_t k = 0; k < p->replay.n_kinds; ++k) {
        const int *ints = p->replay.ints[k];
        int        size;

        if (ints != NULL) {
            MPI_Comm_size(p->replay.comms[p->replay.kinds[k].comm], &size);
            send = most(send, ints[2 * size - 1] + ints[size - 1]);
            recv = most(recv, ints[4 * size - 1] + ints[3 * size - 1]);
        }
    }
    p->send = malloc(send + 1);
    p->recv = malloc(recv + GUARD);
    p->times =
        calloc(p->options->iterations * p->replay.n_calls, sizeof(*p->times));
    ready = p->send != NULL && p->recv != NULL && p->times != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!ready) {
        snprintf(why, OSU_WHY_LEN, "out of memory");
        return false;
    }
    memset(p->send, 1, send + 1); /* the pages exist before the clock */
    memset(p->recv, 2, recv + GUARD);
    return true;
}

/* Exit status of every rank: 0; 1: wrong bytes; 2: cannot run like this. */
static int run(const replay_options_t *options, char *why)
{
    play_t p      = {.options = options};
    int    status = 2;

    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.n);
    if (osu_replay_init(&p.replay, options->dir, why) && claim(&p, why)) {
        osu_algorithm_init(MPI_COMM_WORLD, &p.algorithm);
        run_all(&p);
        status = p.wrong;
        MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX,
                      MPI_COMM_WORLD);
        if (p.rank == 0) {
            print_all(&p, status == 0);
        }
        osu_algorithm_fini(&p.algorithm);
    } else if (p.rank == 0) {
        fprintf(stderr, PROGRAM ": %s\n", why);
    }
    osu_replay_fini(&p.replay);
    free(p.send);
    free(p.recv);
    free(p.times);
    return status;
}

/* ---- options ---- */

enum { OPT_JSON = 256, OPT_IMPL };

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
    {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'x'},
    {"validation", no_argument, NULL, 'c'},
    {"json", no_argument, NULL, OPT_JSON},
    {"impl", required_argument, NULL, OPT_IMPL},
    {NULL, 0, NULL, 0}};

static void print_usage(FILE *out)
{
    fputs(
        "Usage: " PROGRAM " [options] DIR\n\n"
        "Plays a recording of a program (parameter record) back through\n"
        "MPI_Alltoallv, on as many ranks as there are: rank r of the program\n"
        "is rank r mod P.\n\n"
        "  -i, --iterations N   play it N times (1)\n"
        "  -x, --warmup N       and before that N times without the clock (0)\n"
        "  -c, --validation     check every byte\n"
        "      --json           one JSON object for each kind of calls and "
        "one\n"
        "                       for all, and nothing else\n"
        "      --impl NAME      label in the JSON (the MPI in use)\n"
        "  -h, --help   -v, --version\n",
        out);
}

static osu_verdict_t parse_option(int option, const char *value,
                                  replay_options_t *o, char *why)
{
    switch (option) {
    case 'i':
        return osu_parse_count("-i", value, 1, 1000000, &o->iterations, why);
    case 'x':
        return osu_parse_count("-x", value, 0, 1000000, &o->warmup, why);
    case 'c':
        o->validate = true;
        return OSU_RUN;
    case OPT_JSON:
        o->json = true;
        return OSU_RUN;
    case OPT_IMPL:
        o->impl = value;
        return osu_check_label("--impl", value, why);
    case 'h':
        return OSU_HELP;
    default:
        return OSU_VERSION;
    }
}

/* Same arguments, same verdict on every rank. */
static osu_verdict_t parse(int argc, char **argv, replay_options_t *o,
                           char *why)
{
    osu_verdict_t verdict = OSU_RUN;
    int           option;

    *o = (replay_options_t){.iterations = 1};
    while (verdict == OSU_RUN &&
           (option = osu_next_option(argc, argv, ":hvci:x:", long_options,
                                     why)) != -1) {
        verdict = option == '?' ? OSU_BAD
                                : parse_option(option, optarg, o, why);
    }
    if (verdict == OSU_RUN && optind != argc - 1) {
        return osu_bad(why,
                       "%d arguments; allowed: one, the directory of a "
                       "recording",
                       argc - optind);
    }
    o->dir = argv[optind];
    return verdict;
}

int main(int argc, char **argv)
{
    replay_options_t options;
    char             why[OSU_WHY_LEN] = "";
    osu_verdict_t    verdict          = parse(argc, argv, &options, why);
    int              status;

    MPI_Init(&argc, &argv);
    status = verdict == OSU_RUN
                 ? run(&options, why)
                 : osu_answer(verdict, PROGRAM, print_usage, why);
    MPI_Finalize();
    return status;
}
