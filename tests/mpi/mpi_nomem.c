/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every allocation of ours in MPI_Alltoallv fails once, on one rank. Plain MPI-3,
 * with libfail_alloc.so preloaded.
 *
 * A new communicator each time: its first call, or its second, with the n-th
 * allocation failing on one rank, n from 1 until none is left. All ranks must end
 * alike, with an error or with the right bytes; so must the next call there,
 * with memory for all. In the end our algorithm must serve a call.
 */
#include "mpi_pattern.h"
#include "mpi_test.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A cell with gaps is more than what MPICH takes apart on the stack. */
enum { CELL = 5000, LONG = 6, MAX_RANKS = 16, MAX_INTS = CELL * LONG * 2 };
enum { HANG_SECONDS = 50 };

/* How a call looks. */
typedef struct kind {
    const char *name;
    bool        gaps; /* between the ints, on both sides */
    bool        in_place;
    bool        second; /* it is the second one that fails */
    bool        all;    /* all allocations from the n-th on */
} kind_t;

static const kind_t kinds[] = {
    /* With what the process needs only once: that fails if all before it has. */
    {.name = "first call, all from there", .all = true},
    {.name = "first call"},
    {.name = "first call, in place", .in_place = true},
    {.name = "first call, gaps", .gaps = true},
    {.name = "first call, all from there", .gaps = true, .all = true},
    {.name = "first call"},
    {.name = "first call"},
    {.name = "second call, gaps, in place", true, true, true},
    {.name = "second call, all from there", .second = true, .all = true},
    {.name = "second call", .second = true},
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

typedef struct outcome {
    int class;  /* of the error */
    int right;  /* bytes */
    int failed; /* an allocation has */
} outcome_t;

static MPI_Datatype cell_with_gaps;
static uint32_t    *send_buf, *recv_buf; /* [size][MAX_INTS] */
static int          n_failed, n_errors;
static char         now[200];

static void (*arm)(unsigned n, int and_all);
static int (*disarm)(void);

static void find_allocator(void)
{
    *(void **)&arm    = dlsym(RTLD_DEFAULT, "fail_alloc_arm");
    *(void **)&disarm = dlsym(RTLD_DEFAULT, "fail_alloc_disarm");
    if (arm == NULL || disarm == NULL) {
        fail("libfail_alloc.so is not preloaded");
    }
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    (void)!write(STDERR_FILENO, "no end: ", 8);
    (void)!write(STDERR_FILENO, now, strlen(now));
    _exit(1);
}

/* ---- a call ---- */

/* One pair has most; symmetric, for in place. */
static int cells(int a, int b, uint32_t round)
{
    bool longest = a + b == test.size - 1 && (a == 0 || b == 0);

    return longest ? LONG - (int)(round % 2) : 1 + (int)(round % 2);
}

static uint32_t *at(uint32_t *buf, int peer, int k, const kind_t *kind)
{
    return buf + (size_t)peer * MAX_INTS + k * (kind->gaps ? 2 : 1);
}

static void fill(const kind_t *kind, uint32_t round)
{
    size_t len = (size_t)test.size * MAX_INTS * sizeof(*recv_buf);

    memset(send_buf, 0xDD, len);
    memset(recv_buf, 0xEE, len);
    for (int r = 0; r < test.size; ++r) {
        uint64_t key = pattern_key((uint32_t)test.rank, (uint32_t)r, round);

        for (int k = 0; k < CELL * cells(test.rank, r, round); ++k) {
            *at(kind->in_place ? recv_buf : send_buf, r, k, kind) =
                (uint32_t)pattern_word(key, (size_t)k);
        }
    }
}

/* The blocks, and nothing between or behind them. */
static bool arrived(const kind_t *kind, uint32_t round)
{
    int step = kind->gaps ? 2 : 1;

    for (int r = 0; r < test.size; ++r) {
        uint64_t key = pattern_key((uint32_t)r, (uint32_t)test.rank, round);
        int      end = CELL * cells(test.rank, r, round) * step;

        for (int k = 0; k < MAX_INTS; ++k) {
            uint32_t want =
                k < end && k % step == 0
                    ? (uint32_t)pattern_word(key, (size_t)(k / step))
                    : 0xEEEEEEEEu;

            if (recv_buf[(size_t)r * MAX_INTS + (size_t)k] != want) {
                return false;
            }
        }
    }
    return true;
}

/* With the n-th allocation failing; 0: none. */
static outcome_t call(MPI_Comm comm, const kind_t *kind, uint32_t round,
                      unsigned n)
{
    int          counts[MAX_RANKS], displs[MAX_RANKS], rc;
    MPI_Datatype type = kind->gaps ? cell_with_gaps : MPI_UINT32_T;
    outcome_t    o    = {.class = MPI_SUCCESS};

    for (int r = 0; r < test.size; ++r) {
        counts[r] = cells(test.rank, r, round) * (kind->gaps ? 1 : CELL);
        displs[r] = r * (kind->gaps ? LONG : MAX_INTS);
    }
    fill(kind, round);
    MPI_Barrier(MPI_COMM_WORLD);
    arm(n, kind->all);
    rc = MPI_Alltoallv(kind->in_place ? MPI_IN_PLACE : send_buf, counts, displs,
                       type, recv_buf, counts, displs, type, comm);
    o.failed = n > 0 && disarm();
    MPI_Error_class(rc, &o.class);
    o.right = arrived(kind, round);
    return o;
}

/* ---- all ranks ---- */

/* Has one been made to fail? */
static bool judge(outcome_t mine, const char *which)
{
    outcome_t all[MAX_RANKS];
    int       n_good = 0, failed = 0;

    MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int r = 0; r < test.size; ++r) {
        n_good += all[r].class == MPI_SUCCESS;
        failed += all[r].failed;
    }
    if (n_good != 0 && n_good != test.size) {
        fail("%s: %s: %d of %d ranks have an error, this one %s", now, which,
             test.size - n_good, test.size,
             mine.class == MPI_SUCCESS ? "none" : "too");
    }
    if (mine.class == MPI_SUCCESS && !mine.right) {
        fail("%s: %s: wrong bytes", now, which);
    }
    n_failed += failed;
    n_errors += n_good == 0;
    return failed > 0;
}

static bool fail_once(const kind_t *kind, int victim, unsigned n)
{
    static uint32_t round;
    MPI_Comm        comm;
    outcome_t       o;
    bool            failed;

    snprintf(now, sizeof(now), "%s, rank %d, allocation %u\n", kind->name,
             victim, n);
    alarm(HANG_SECONDS);
    must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    if (kind->second) {
        must(call(comm, kind, ++round, 0).class, "the call before");
    }
    o      = call(comm, kind, ++round, test.rank == victim ? n : 0);
    failed = judge(o, "the call");
    (void)judge(call(comm, kind, ++round, 0), "the next call");
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
    return failed;
}

static void sweep(const kind_t *kind, int victim)
{
    unsigned n = 1;

    while (fail_once(kind, victim, n)) {
        ++n;
    }
}

static void serve_one(void)
{
    uint64_t served = pvars_calls_served();
    MPI_Comm comm;

    must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    must(call(comm, &kinds[0], 0, 0).class, "the last call");
    if (pvars_calls_served() != served + 1) {
        fail("the last call was not served by %s", test.algorithm);
    }
    must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

static void make_type(void)
{
    MPI_Datatype vector;

    MPI_Type_vector(CELL, 1, 2, MPI_UINT32_T, &vector);
    MPI_Type_create_resized(vector, 0, CELL * 2 * sizeof(uint32_t),
                            &cell_with_gaps);
    MPI_Type_commit(&cell_with_gaps);
    MPI_Type_free(&vector);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    test.program   = "mpi_nomem";
    test.algorithm = "staged";
    find_allocator();
    pvars_init();
    if (test.size > MAX_RANKS) {
        fail("%d ranks are too many", test.size);
    }
    signal(SIGALRM, on_alarm);
    make_type();
    send_buf = malloc((size_t)test.size * MAX_INTS * sizeof(*send_buf));
    recv_buf = malloc((size_t)test.size * MAX_INTS * sizeof(*recv_buf));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int k = 0; k < N_KINDS; ++k) {
        sweep(&kinds[k], k % test.size);
    }
    serve_one();
    if (test.rank == 0) {
        printf("mpi_nomem: %d allocations failed, %d calls had an error\n",
               n_failed, n_errors);
    }
    free(send_buf);
    free(recv_buf);
    MPI_Type_free(&cell_with_gaps);
    pvars_fini();
    MPI_Finalize();
    return 0;
}
