/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoallv, every byte checked. Plain MPI-3: what is tested is decided
 * by how it is started.
 *
 *   mpirun -np 4 ... mpi_alltoallv [OPTION...] [CASE...]
 *     --list             print the names of all cases; those that run only
 *                        when they are named come last
 *     --expect WHO       staged, pipe2d, direct, bundles, eager, native, absent: what must serve
 *                        the calls, by the performance variables of the
 *                        component; without, nobody looks
 *     --servers SPEC     the servers: those of parameter servers; --nodes does
 *                        the same
 *     --threads          the cases under MPI_THREAD_MULTIPLE
 *     --large BYTES      the largest pair of case "large"
 *     --device           two buffers of three are on a device, as far as their
 *                        types are predefined; with the driver of tests/accel
 *     --device-packs     whatever their types: the MPI can pack there
 *     --alltoallw        blocking calls are MPI_Alltoallw
 *     --nonblocking      each of them is nonblocking, and waited for at once
 *     --unprimed         no blocking call comes before nonblocking ones
 *     --persistent       each of them is persistent, and started twice
 *     --limit SECONDS    a case that takes longer has failed
 *     --verbose          rank 0 prints the time of each case
 */
#include "mpi_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    int         threads;
    int         list;
    int         verbose;
    unsigned    limit_s;
    const char *servers;
    char      **names; /* of cases; none: all */
    int         n_names;
} options_t;

static const test_case_t *const families_of_cases[] = {
    count_cases,  type_cases,  comm_cases, plan_cases,
    flight_cases, other_cases, end_cases,  NULL};
static const test_case_t *const threaded[]   = {thread_cases, NULL};
static const test_case_t *const only_named[] = {
    huge_cases, check_cases, nonblocking_cases, persistent_cases, NULL};

static void usage(const char *problem)
{
    fprintf(stderr, "mpi_alltoallv: %s (see the head of mpi_alltoallv.c)\n",
            problem);
    exit(2);
}

/* ---- options ---- */

static void read_expect(const char *word)
{
    static const char *const words[] = {"any",    "native", "absent",  "staged",
                                        "pipe2d", "direct", "bundles", "eager"};

    for (int k = 0; k < 8; ++k) {
        if (strcmp(word, words[k]) == 0) {
            test.expect    = k < EXPECT_SERVED ? (expect_t)k : EXPECT_SERVED;
            test.algorithm = k < EXPECT_SERVED ? "staged" : word;
            return;
        }
    }
    usage("--expect wants any, native, absent, staged, pipe2d, direct, "
          "bundles or eager");
}

/* Returns 1 if the value was used. */
static int read_option(options_t *o, const char *name, const char *value)
{
    if (strcmp(name, "--threads") == 0) {
        o->threads = 1;
        return 0;
    }
    if (strcmp(name, "--device-packs") == 0) {
        test.device = test.device_packs = 1;
        return 0;
    }
    if (strcmp(name, "--device") == 0) {
        test.device = 1;
        return 0;
    }
    if (strcmp(name, "--alltoallw") == 0) {
        test.by_w = 1;
        return 0;
    }
    if (strcmp(name, "--nonblocking") == 0) {
        test.nonblocking = 1;
        return 0;
    }
    if (strcmp(name, "--unprimed") == 0) {
        test.unprimed = 1;
        return 0;
    }
    if (strcmp(name, "--persistent") == 0) {
        test.persistent = 1;
        return 0;
    }
    if (strcmp(name, "--list") == 0) {
        o->list = 1;
        return 0;
    }
    if (strcmp(name, "--verbose") == 0) {
        o->verbose = 1;
        return 0;
    }
    if (value == NULL) {
        usage("an option lacks its value, or is unknown");
    } else if (strcmp(name, "--expect") == 0) {
        read_expect(value);
    } else if (strcmp(name, "--servers") == 0 || strcmp(name, "--nodes") == 0) {
        o->servers = value;
    } else if (strcmp(name, "--large") == 0) {
        test.large_bytes = strtoul(value, NULL, 10);
    } else if (strcmp(name, "--limit") == 0) {
        o->limit_s = (unsigned)atoi(value);
    } else {
        usage("unknown option");
    }
    return 1;
}

static options_t read_options(int argc, char **argv)
{
    options_t o = {.limit_s = 60, .servers = ""};
    int       k = 1;

    test.large_bytes = 4 << 20;
    test.algorithm   = "staged";
    while (k < argc && argv[k][0] == '-') {
        k += 1 + read_option(&o, argv[k], k + 1 < argc ? argv[k + 1] : NULL);
    }
    o.names   = argv + k;
    o.n_names = argc - k;
    return o;
}

/* ---- cases ---- */

static int named(const options_t *o, const char *name)
{
    for (int k = 0; k < o->n_names; ++k) {
        if (strcmp(o->names[k], name) == 0) {
            return 1;
        }
    }
    return 0;
}

static int is_in(const test_case_t *const *family, const char *name)
{
    for (; *family != NULL; ++family) {
        for (const test_case_t *c = *family; c->name != NULL; ++c) {
            if (strcmp(c->name, name) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

static void check_names(const options_t *o)
{
    for (int k = 0; k < o->n_names; ++k) {
        if (!is_in(o->threads ? threaded : families_of_cases, o->names[k]) &&
            !is_in(only_named, o->names[k])) {
            fail("there is no case \"%s\"%s", o->names[k],
                 o->threads ? " with --threads" : "");
        }
    }
}

/* Returns 0 if this MPI lacks what the case needs. */
static int run_case(const options_t *o, const test_case_t *c)
{
    double start = MPI_Wtime();

    test.name = c->name;
    if (c->run == NULL) {
        if (test.rank == 0) {
            printf("left out: %s\n", c->name);
        }
        return 0;
    }
    limit_time(o->limit_s);
    c->run();
    MPI_Barrier(MPI_COMM_WORLD);
    limit_time(0);
    if (o->verbose && test.rank == 0) {
        printf("  %-18s %6.2f s\n", c->name, MPI_Wtime() - start);
        fflush(stdout);
    }
    return 1;
}

static int run_cases(const options_t *o, const test_case_t *const *family,
                     int all)
{
    int n_run = 0;

    for (; *family != NULL; ++family) {
        for (const test_case_t *c = *family; c->name != NULL; ++c) {
            if (all || named(o, c->name)) {
                n_run += run_case(o, c);
            }
        }
    }
    return n_run;
}

static void list_cases(const test_case_t *const *family)
{
    for (; *family != NULL; ++family) {
        for (const test_case_t *c = *family; c->name != NULL; ++c) {
            printf("%s\n", c->name);
        }
    }
}

static void start_mpi(const options_t *o, int *argc, char ***argv)
{
    int want = o->threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int provided;

    must(MPI_Init_thread(argc, argv, want, &provided), "MPI_Init_thread");
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    if (provided < want) {
        fail("MPI_THREAD_MULTIPLE is not there");
    }
    test.server = calloc((size_t)test.size, sizeof(int));
    read_servers(o->servers);
    /* Open MPI 4.1.4 crashes at exit when MPI_T encloses MPI. */
    pvars_init();
    if (test.device) {
        device_open();
    }
}

int main(int argc, char **argv)
{
    options_t o = read_options(argc, argv);
    int       n_run;

    if (o.list) {
        list_cases(o.threads ? threaded : families_of_cases);
        list_cases(only_named);
        return 0;
    }
    start_mpi(&o, &argc, &argv);
    check_names(&o);
    n_run = run_cases(&o, o.threads ? threaded : families_of_cases,
                      o.n_names == 0) +
            run_cases(&o, only_named, 0);
    test.name = "end";
    if (test.rank == 0) {
        printf("mpi_alltoallv: %d cases on %d ranks: ok\n", n_run, test.size);
    }
    pvars_fini();
    MPI_Finalize();
    free(test.server);
    return end_cases_owe();
}
