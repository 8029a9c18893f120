/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random MPI_Alltoallv on random communicators, each made twice: by fast, and
 * by the MPI's own algorithm. What is received must be the same, byte by byte,
 * gaps included, and what was sent.
 *
 *   mpirun ... stress [--seed S] [--calls N] [--from K | --only K]
 *                     [--log2-sum B] [--sound 0|1] [--again TEXT]
 *   stress --seed S --job       print the options of this seed's job
 *
 * --from K makes the communicators of all calls, but only the calls from K on;
 * --only K stops after it. --log2-sum 22: a call has at most 2^22 bytes, all
 * ranks together. --sound 1 leaves out what MPICH 4.0.2 itself does wrong: pair
 * types, and other types than bytes in place. --again TEXT: the command that
 * makes a call that fails again, without --only. run_stress.sh starts many jobs.
 *
 * A call here is one or more: on several communicators in turn, on one a random
 * number of times (the halves of a split differ in it), or in two threads with a
 * communicator each. Who is no member goes on at once, so calls on different
 * communicators are under way at the same time all along.
 */
#include "stress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDS   = 16, /* in one call, at most */
    NEW_COMM = 8,  /* one call in so many makes a communicator */
    LIMIT_S  = 90, /* for one call */
    NAP_US   = 3000
};

stress_t stress = {.seed = 1, .n_calls = 200, .from = 1, .log2_sum = 22};

static const char *again = "";
static char        name[512];

uint32_t roll(dice_t *dice, uint32_t n)
{
    return draw(dice->key[0], dice->key[1], dice->n_thrown++) % n;
}

/* ---- one call ---- */

/* On one communicator, one to three times. */
static void burst(uint32_t place, uint32_t round)
{
    const comm_t *c = &comms[place];
    uint32_t      n = 1 + draw(stress.seed, round, (uint32_t)c->leader) % 3;

    for (uint32_t k = 0; k < n && c->comm != MPI_COMM_NULL; ++k) {
        call_on(c, round + k);
    }
}

typedef struct work {
    pthread_t thread;
    uint32_t  place;
    uint32_t  round;
} work_t;

static void *work_on(void *arg)
{
    const work_t *work = arg;

    burst(work->place, work->round);
    return NULL;
}

static void two_threads(dice_t *dice, uint32_t round)
{
    uint32_t place = roll(dice, N_COMMS);
    uint32_t other = (place + 1 + roll(dice, N_COMMS - 1)) % N_COMMS;
    work_t   a     = {.place = place, .round = round};
    work_t   b     = {.place = other, .round = round + ROUNDS / 2};

    if (pthread_create(&a.thread, NULL, work_on, &a) != 0) {
        fail("no thread");
    }
    work_on(&b);
    pthread_join(a.thread, NULL);
}

static void in_turn(dice_t *dice, uint32_t round)
{
    uint32_t n = 2 + roll(dice, ROUNDS / 4 - 1);

    for (uint32_t k = 0; k < n; ++k) {
        burst(roll(dice, N_COMMS), round + 4 * k);
    }
}

/* Some ranks come late. */
static void nap(dice_t *dice, uint32_t call)
{
    if (roll(dice, 16) == 0) {
        usleep(draw(stress.seed, call, 100u + (uint32_t)test.rank) % NAP_US);
    }
}

static void make_call(dice_t *dice, uint32_t call)
{
    uint32_t kind = roll(dice, 8), round = call * ROUNDS;

    snprintf(name, sizeof(name), "%u (%s --only %u)", call, again, call);
    limit_time(LIMIT_S);
    nap(dice, call);
    if (kind == 0 && job_has_threads()) {
        two_threads(dice, round);
    } else if (kind < 3) {
        in_turn(dice, round);
    } else {
        burst(roll(dice, N_COMMS), round);
    }
}

static void run(void)
{
    for (uint32_t call = 1; call <= stress.n_calls; ++call) {
        dice_t dice = {{stress.seed, call}, 0};

        if (roll(&dice, NEW_COMM) == 0) {
            comms_renew(&dice, call);
        }
        if (call >= stress.from) {
            make_call(&dice, call);
        }
    }
}

/* ---- */

/* Has fast seen the calls that were meant for it, and not the others? */
static void check_counters(void)
{
    if (pvars_calls() != stress.n_fast) {
        fail("%llu calls were for fast, but it has counted %llu",
             (unsigned long long)stress.n_fast,
             (unsigned long long)pvars_calls());
    }
}

static void report(double start)
{
    uint64_t mine[3] = {stress.n_compared, stress.n_fast, pvars_calls_served()};
    uint64_t sum[3];

    MPI_Reduce(mine, sum, 3, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (test.rank == 0) {
        printf("stress: seed %u, calls %u to %u: %llu on %d ranks and %u "
               "communicators compared, %llu served by %s, %.1f s\n",
               stress.seed, stress.from, stress.n_calls,
               (unsigned long long)sum[0], test.size, comms_made(),
               (unsigned long long)sum[2], test.algorithm, MPI_Wtime() - start);
    }
}

static void usage(void)
{
    fprintf(stderr, "stress: see the head of stress.c\n");
    exit(2);
}

/* Returns 1 if the value was used. */
static int read_option(const char *option, const char *value)
{
    uint32_t number = value != NULL ? (uint32_t)strtoul(value, NULL, 10) : 0;

    if (strcmp(option, "--job") == 0) {
        job_print();
        exit(0);
    } else if (value == NULL) {
        usage();
    } else if (strcmp(option, "--seed") == 0) {
        stress.seed = number;
    } else if (strcmp(option, "--calls") == 0) {
        stress.n_calls = number;
    } else if (strcmp(option, "--from") == 0) {
        stress.from = number;
    } else if (strcmp(option, "--only") == 0) {
        stress.from = stress.n_calls = number;
    } else if (strcmp(option, "--log2-sum") == 0) {
        stress.log2_sum = number;
    } else if (strcmp(option, "--sound") == 0) {
        stress.sound = number;
    } else if (strcmp(option, "--again") == 0) {
        again = value;
    } else {
        usage();
    }
    return 1;
}

int main(int argc, char **argv)
{
    int    provided;
    double start;

    for (int k = 1; k < argc; ++k) {
        k += read_option(argv[k], argv[k + 1]);
    }
    MPI_Init_thread(&argc, &argv,
                    job_has_threads() ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    test.program   = "stress";
    test.name      = name;
    test.algorithm = strcmp(job_algorithm(), "auto") == 0 ? "staged"
                                                          : job_algorithm();
    pvars_init();
    start = MPI_Wtime();
    comms_init();
    run();
    comms_fini();
    check_counters();
    report(start);
    limit_time(0);
    pvars_fini();
    MPI_Finalize();
    return 0;
}
