/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many random MPI_Alltoallv, every byte checked: sizes, patterns, datatypes,
 * in place and not, on communicators that come and go. Memory and descriptors
 * must not grow meanwhile.
 *
 *   mpirun ... soak [--calls N] [--seed S] [--sound 0|1] [--device 0|1]
 *                   [--apart US]
 *
 * Twice or more (after 2000 calls, 6000 with --apart or --device, or half of them if
 * that is less, then every 2000 and at the end) all communicators but MPI_COMM_WORLD
 * are freed, and each rank looks at its resident memory and its open descriptors. If
 * from the first look to the last memory has grown by more than 5% and 1 MiB, or
 * descriptors at all, the rank says so and the job fails. In fewer than 4000 calls not
 * all free lists of the MPI reach their length, so 4 MiB are no growth then.
 *
 * --sound 1 leaves out what MPICH 4.0.2 does wrong where it serves the calls: pair
 * types, and other types than bytes in place. --device 1 has two buffers of three on
 * a device, with the driver of tests/accel.
 *
 * --apart: before one call in four each rank computes, for up to so many microseconds,
 * or, one of them, for ten times as many.
 *
 * All ranks draw the same numbers, from a seed and the number of the call: a
 * failure names the call, and comes back with the same seed.
 */
#include "mpi_counts.h"
#include "mpi_exchange.h"

#include <dirent.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Where ranks come apart what nobody waits for yet piles up higher, and the free lists
 * of the MPI grow for longer. With a device memory settles later, too: after 100,000
 * calls it is where it was after 40,000. */
enum {
    SLOTS       = 8,  /* communicators beside MPI_COMM_WORLD */
    KINDS       = 5,  /* of communicators */
    LOG2_MOST   = 18, /* bytes of a pair, at most */
    LOOK_AT     = 2000,
    LATER_LOOK  = 6000,
    GROWTH      = 5, /* percent of memory */
    FEW_KIB     = 1024,
    MORE_KIB    = 4096, /* in few calls */
    NEW_COMM    = 16,   /* one call in so many makes a communicator */
    SAME_COUNTS = 4     /* one in so many has the counts of the call before */
};

typedef struct soak {
    uint32_t n_calls;
    uint32_t seed;
    uint32_t sound; /* 1: what MPICH 4.0.2 can serve itself */
    uint32_t apart_us;
    uint32_t call; /* the one in hand */
    MPI_Comm slots[SLOTS];
    char     name[64];
    /* For people. */
    double   start;
    uint32_t n_comms;
} soak_t;

typedef struct usage {
    long rss_kib;
    long n_fds;
} usage_t;

static soak_t soak = {.n_calls = 20000, .seed = 1};

/* ---- numbers that are the same on all ranks ---- */

/* 0 to n - 1; what tells draws of one call apart. */
static uint32_t pick(uint32_t what, uint32_t n)
{
    return draw(soak.seed, soak.call, what) % n;
}

/* ---- how many bytes ---- */

/* Of the call in hand. */
static counts_t counts;

static uint32_t units(int src, int dst, uint32_t round)
{
    (void)round;
    return counts_of_pair(&counts, src, dst);
}

static uint32_t units_symmetric(int src, int dst, uint32_t round)
{
    (void)round;
    return counts_symmetric(&counts, src, dst);
}

/* The largest pair is log-uniform, and more often small than large. */
static void draw_counts(size_t unit_bytes)
{
    uint32_t a = pick(10, LOG2_MOST + 1), b = pick(11, LOG2_MOST + 1);

    counts.pattern = (pattern_t)pick(12, N_PATTERNS);
    counts.most    = (uint32_t)((1u << (a < b ? a : b)) / unit_bytes);
    counts.salt    = pick(13, 1u << 30);
    counts.victim  = pick(14, (uint32_t)test.size);
}

/* ---- communicators ---- */

static MPI_Comm make_comm(uint32_t kind, MPI_Comm other)
{
    MPI_Comm comm;
    int      rank = test.rank, rc;

    switch (kind) {
    case 0:
        rc = MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
        break;
    case 1:
        rc = MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
        break;
    case 2: /* one rank is left alone */
        rc = MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &comm);
        break;
    case 3:
        rc = MPI_Comm_split(MPI_COMM_WORLD, rank < test.size / 2, -rank, &comm);
        break;
    default:
        rc = MPI_Comm_dup(other != MPI_COMM_NULL ? other : MPI_COMM_WORLD,
                          &comm);
    }
    must(rc, "a new communicator");
    ++soak.n_comms;
    return comm;
}

static void free_comm(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL) {
        must(MPI_Comm_free(comm), "MPI_Comm_free");
    }
}

/* A new one, perhaps a duplicate of one of the others, in a slot that may have
 * had one. */
static void renew_slot(void)
{
    MPI_Comm *slot = &soak.slots[pick(20, SLOTS)];
    MPI_Comm  comm = make_comm(pick(21, KINDS), soak.slots[pick(22, SLOTS)]);

    free_comm(slot);
    *slot = comm;
}

static MPI_Comm pick_comm(void)
{
    uint32_t slot = pick(23, SLOTS + 2);

    return slot < SLOTS && soak.slots[slot] != MPI_COMM_NULL ? soak.slots[slot]
                                                             : MPI_COMM_WORLD;
}

/* ---- one call ---- */

static size_t unit_bytes(int family)
{
    layout_t layout = families[family].make(0);
    size_t   bytes  = layout.size * (size_t)layout.per_unit;

    layout_free(&layout);
    return bytes > 0 ? bytes : 1;
}

/* Half of the calls are plain bytes. Columns are for another test: they take
 * memory for the whole matrix. */
static int pick_family(bool in_place)
{
    static const int choice[] = {FAMILY_INTS,  FAMILY_STRUCTS, FAMILY_DOUBLES,
                                 FAMILY_EMPTY, FAMILY_PAIRS_S, FAMILY_PAIRS_D};

    return pick(30, 2) == 0 || (soak.sound && in_place)
               ? FAMILY_BYTES
               : choice[pick(31, soak.sound ? 4 : 6)];
}

static void one_call(void)
{
    bool       in_place = pick(35, 8) == 0;
    int        family   = pick_family(in_place);
    uint32_t   n        = (uint32_t)families[family].n_layouts;
    int        place    = (int)pick(34, 4);
    exchange_t x        = {.comm        = pick_comm(),
                           .round       = soak.call,
                           .family      = family,
                           .send_layout = (int)pick(32, n),
                           .recv_layout = (int)pick(33, n),
                           .placement   = (placement_t)place,
                           .in_place    = in_place};

    if (pick(36, SAME_COUNTS) != 0) {
        draw_counts(unit_bytes(family));
    }
    x.units = x.in_place ? units_symmetric : units;
    exchange(x);
}

/* Ranks enter the next call at different times; one of some keeps all the others. */
static void come_apart(void)
{
    uint32_t us = soak.apart_us;

    if (us == 0 || pick(50, 4) != 0) {
        return;
    }
    if (pick(51, 2) == 0) {
        us = pick(52, (uint32_t)test.size) == (uint32_t)test.rank ? us * 10 : 0;
    } else {
        us = draw(soak.seed, soak.call, 1000 + (uint32_t)test.rank) % (us + 1);
    }
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000L}, NULL);
}

/* Layout 0 has no gaps, layout 2 has. */
static void largest_call(MPI_Comm comm, pattern_t pattern, int layout)
{
    exchange_t x = {.comm        = comm,
                    .units       = units,
                    .round       = soak.call,
                    .family      = FAMILY_INTS,
                    .send_layout = layout,
                    .recv_layout = layout};

    counts.pattern = pattern;
    counts.most    = (1u << LOG2_MOST) / 12;
    exchange(x);
}

/* Everybody sends everybody messages that nobody waits for yet: the MPI's own
 * buffers, in memory that ranks share, will not be needed in larger number. */
static void flood(int len)
{
    enum { BURST = 300 };
    int            n     = BURST * test.size;
    MPI_Request   *sends = zalloc((size_t)n, sizeof(*sends));
    unsigned char *bytes = zalloc((size_t)len, 1);

    for (int k = 0; k < n; ++k) {
        must(MPI_Isend(bytes, len, MPI_BYTE, k % test.size, len, MPI_COMM_WORLD,
                       &sends[k]),
             "MPI_Isend");
    }
    for (int k = 0; k < n; ++k) {
        unsigned char *in = zalloc((size_t)len, 1);

        must(MPI_Recv(in, len, MPI_BYTE, k % test.size, len, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE),
             "MPI_Recv");
        free(in);
    }
    for (int k = 0; k < n; ++k) {
        must(MPI_Wait(&sends[k], MPI_STATUS_IGNORE), "MPI_Wait");
    }
    free(sends);
    free(bytes);
}

/* Afterwards memory that is kept for all calls to come, as the staging pool is,
 * has been touched to the end. */
static void warm_up(void)
{
    flood(100);
    flood(4000);
    for (uint32_t kind = 0; kind < KINDS; ++kind) {
        MPI_Comm comm = make_comm(kind, MPI_COMM_NULL);

        largest_call(comm, PATTERN_BALANCED, 0);
        free_comm(&comm);
    }
    for (int k = 0; k < 2 * N_PATTERNS; ++k) {
        largest_call(MPI_COMM_WORLD, (pattern_t)(k / 2), k % 2 * 2);
    }
}

/* ---- what it takes ---- */

static long resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long  size, pages = 0;

    if (file == NULL || fscanf(file, "%ld %ld", &size, &pages) != 2) {
        fail("cannot read /proc/self/statm");
    }
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    long n   = 0;

    if (dir == NULL) {
        fail("cannot read /proc/self/fd");
    }
    while (readdir(dir) != NULL) {
        ++n;
    }
    closedir(dir);
    return n - 3; /* ".", "..", and the directory's own */
}

/* With as little alive as there can be. What free() keeps for the next malloc()
 * is no leak. */
static usage_t look(void)
{
    usage_t usage;
    long    mine[2], most[2];

    for (int k = 0; k < SLOTS; ++k) {
        free_comm(&soak.slots[(3 * k) % SLOTS]);
    }
    largest_call(MPI_COMM_WORLD, PATTERN_BALANCED, 0);
    malloc_trim(0);
    usage = (usage_t){resident_kib(), count_fds()};
    memcpy(mine, &usage, sizeof(mine));
    MPI_Reduce(mine, most, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (test.rank == 0) {
        printf("soak: call %u of %u, %.0f s: at most %ld KiB and %ld "
               "descriptors on a rank; %u communicators so far\n",
               soak.call, soak.n_calls, MPI_Wtime() - soak.start, most[0],
               most[1], soak.n_comms);
        fflush(stdout);
    }
    return usage;
}

/* Returns 1 if something has grown. */
static int compare(const usage_t *first, const usage_t *last)
{
    long grown  = last->rss_kib - first->rss_kib;
    long few    = soak.n_calls < 2 * LOOK_AT ? MORE_KIB : FEW_KIB;
    int  memory = grown > few && grown * 100 > GROWTH * first->rss_kib;
    int  fds    = last->n_fds > first->n_fds;

    if (memory) {
        fprintf(stderr,
                "soak: FAILED rank %d: resident memory has grown from %ld to "
                "%ld KiB\n",
                test.rank, first->rss_kib, last->rss_kib);
    }
    if (fds) {
        fprintf(stderr,
                "soak: FAILED rank %d: open descriptors have grown from %ld to "
                "%ld\n",
                test.rank, first->n_fds, last->n_fds);
    }
    return memory || fds;
}

/* ---- */

static uint32_t first_look(void)
{
    uint32_t at = soak.apart_us > 0 || test.device != 0 ? LATER_LOOK : LOOK_AT;

    return soak.n_calls / 2 < at ? soak.n_calls / 2 : at;
}

static int run(void)
{
    usage_t first = {0, 0}, last = {0, 0};

    warm_up();
    for (soak.call = 1; soak.call <= soak.n_calls; ++soak.call) {
        snprintf(soak.name, sizeof(soak.name), "seed %u call %u", soak.seed,
                 soak.call);
        if (pick(40, NEW_COMM) == 0) {
            renew_slot();
        }
        come_apart();
        one_call();
        if (soak.call == first_look()) {
            first = last = look();
        } else if (soak.call % LOOK_AT == 0 || soak.call == soak.n_calls) {
            last = look();
        }
    }
    return compare(&first, &last);
}

static void read_options(int argc, char **argv)
{
    for (int k = 1; k < argc; k += 2) {
        uint32_t value = k + 1 < argc ? (uint32_t)atol(argv[k + 1]) : 0;

        if (strcmp(argv[k], "--calls") == 0 && value >= 2) {
            soak.n_calls = value;
        } else if (strcmp(argv[k], "--seed") == 0 && value > 0) {
            soak.seed = value;
        } else if (strcmp(argv[k], "--sound") == 0) {
            soak.sound = value;
        } else if (strcmp(argv[k], "--device") == 0) {
            test.device = (int)value;
        } else if (strcmp(argv[k], "--apart") == 0) {
            soak.apart_us = value;
        } else {
            fprintf(stderr, "soak: [--calls N] [--seed S] [--sound 0|1] "
                            "[--device 0|1] [--apart US]\n");
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    int mine, any;

    read_options(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    test.program = "soak";
    test.name    = soak.name;
    if (test.device) {
        device_open();
    }
    soak.start = MPI_Wtime();
    for (int k = 0; k < SLOTS; ++k) {
        soak.slots[k] = MPI_COMM_NULL;
    }
    mine = run();
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    if (any == 0 && test.rank == 0) {
        printf("soak: %u calls on %d ranks, %u communicators: ok\n",
               soak.n_calls, test.size, soak.n_comms);
    }
    return any;
}
