/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases about what is beside the call: other collectives, nonblocking and
 * persistent ones, error handlers. */
#include "mpi_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void use(MPI_Comm comm, uint32_t round)
{
    exchange((exchange_t){.comm = comm, .units = units_ragged, .round = round});
}

/* ---- alltoallv of the other kinds, open across a blocking one ---- */

static void across(call_t call)
{
    exchange_t x = {.comm      = MPI_COMM_WORLD,
                    .units     = units_ragged,
                    .round     = 50,
                    .call      = call,
                    .placement = PLACE_HOLES};
    exchange_t y = {.comm        = MPI_COMM_WORLD,
                    .units       = units_few,
                    .round       = 51,
                    .call        = call,
                    .family      = FAMILY_INTS,
                    .send_layout = 3,
                    .recv_layout = 5};

    exchange_begin(&x);
    use(MPI_COMM_WORLD, 52);
    exchange_begin(&y);
    use(MPI_COMM_WORLD, 53);
    exchange_end(&y);
    exchange_end(&x);
}

static void case_nonblocking(void)
{
    across(CALL_NONBLOCKING);
}

static void case_persistent(void)
{
    across(CALL_PERSISTENT);
}

/* MPI_Alltoallv_c. */
static void case_counts_c(void)
{
    exchange_t x = {.comm        = MPI_COMM_WORLD,
                    .units       = units_ragged,
                    .round       = 56,
                    .call        = CALL_LARGE,
                    .family      = FAMILY_INTS,
                    .send_layout = 3,
                    .recv_layout = 5};

#if MPI_VERSION < 4
    if (test.rank == 0) {
        printf("skip MPI_Alltoallv_c: not in this MPI; MPI_Alltoallv instead\n");
    }
#endif
    exchange(x);
    x.send_layout = x.recv_layout = 0;
    x.family                      = FAMILY_BYTES;
    x.placement                   = PLACE_NEGATIVE;
    exchange(x);
}

/* The first call ever on a communicator is a nonblocking one. */
static void case_nonblocking_first(void)
{
    MPI_Comm   comm;
    exchange_t x = {.units = units_ragged, .call = CALL_NONBLOCKING};

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    x.comm = comm;
    exchange_begin(&x);
    use(comm, 60);
    exchange_end(&x);
    MPI_Comm_free(&comm);
}

/* ---- other collectives; their results are sums everybody can make ---- */

static void equal(const char *what, int got, int want)
{
    if (got != want) {
        fail("%s: %d instead of %d", what, got, want);
    }
}

static int sum_of_ranks(int n)
{
    return n * (n - 1) / 2;
}

static void open_collectives(MPI_Request requests[3], int values[3])
{
    static int mine;

    mine      = test.rank;
    values[0] = test.rank == 0 ? 99 : -1;
    MPI_Ibcast(&values[0], 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&mine, &values[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                   &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
}

static void case_across(void)
{
    MPI_Request requests[3];
    MPI_Status  statuses[3];
    int         values[3] = {0, 0, 0};

    open_collectives(requests, values);
    use(MPI_COMM_WORLD, 1);
    use(MPI_COMM_WORLD, 2);
    must(MPI_Waitall(3, requests, statuses), "MPI_Waitall");
    equal("MPI_Ibcast", values[0], 99);
    equal("MPI_Iallreduce", values[1], sum_of_ranks(test.size));
}

/* The same with messages that need a handshake, which nobody but the ranks in
 * the call can answer; and rank 0 is late. */
static void case_across_large(void)
{
    enum { N = 100000 };
    MPI_Request requests[2];
    MPI_Status  statuses[2];
    int        *root = calloc(N, sizeof(int)), *mine = calloc(N, sizeof(int));
    int        *sum = calloc(N, sizeof(int));

    for (int k = 0; k < N; ++k) {
        root[k] = test.rank == 0 ? 3 * k + 1 : -1;
        mine[k] = test.rank + k;
    }
    usleep(test.rank == 0 ? 50000 : 0);
    MPI_Ibcast(root, N, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(mine, sum, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                   &requests[1]);
    use(MPI_COMM_WORLD, 6);
    use(MPI_COMM_WORLD, 7);
    must(MPI_Waitall(2, requests, statuses), "MPI_Waitall");
    for (int k = 0; k < N; ++k) {
        equal("MPI_Ibcast, large", root[k], 3 * k + 1);
        equal("MPI_Iallreduce, large", sum[k],
              sum_of_ranks(test.size) + test.size * k);
    }
    free(root);
    free(mine);
    free(sum);
}

static void reductions(void)
{
    int mine = test.rank, got = -1;

    MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    equal("MPI_Allreduce", got, sum_of_ranks(test.size));
    use(MPI_COMM_WORLD, 3);
    MPI_Scan(&mine, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    equal("MPI_Scan", got, sum_of_ranks(test.rank + 1));
    got = 0;
    MPI_Exscan(&mine, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    equal("MPI_Exscan", got, sum_of_ranks(test.rank));
    MPI_Reduce(&mine, &got, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    equal("MPI_Reduce", test.rank == 0 ? got : test.size - 1, test.size - 1);
}

/* One number for each other rank. */
static void alltoall(int *out, int *in)
{
    for (int r = 0; r < test.size; ++r) {
        out[r] = 1000 * test.rank + r;
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < test.size; ++r) {
        equal("MPI_Alltoall", in[r], 1000 * r + test.rank);
    }
}

static void moves(int *all, int *mine)
{
    int n = test.size, got = -1;

    MPI_Allgather(&test.rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < n; ++r) {
        equal("MPI_Allgather", all[r], r);
    }
    alltoall(all, mine);
    use(MPI_COMM_WORLD, 4);
    MPI_Reduce_scatter_block(all, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    equal("MPI_Reduce_scatter_block", got,
          1000 * sum_of_ranks(n) + n * test.rank);
    MPI_Gather(&test.rank, 1, MPI_INT, all, 1, MPI_INT, n - 1, MPI_COMM_WORLD);
    MPI_Scatter(all, 1, MPI_INT, &got, 1, MPI_INT, n - 1, MPI_COMM_WORLD);
    equal("MPI_Gather, MPI_Scatter", got, test.rank);
    MPI_Bcast(&got, 1, MPI_INT, n - 1, MPI_COMM_WORLD);
    equal("MPI_Bcast", got, n - 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void case_collectives(void)
{
    int *all  = calloc((size_t)test.size, sizeof(int));
    int *mine = calloc((size_t)test.size, sizeof(int));

    reductions();
    moves(all, mine);
    use(MPI_COMM_WORLD, 5);
    free(all);
    free(mine);
}

/* ---- errors ---- */

/* Wrong arguments come back as an error, everywhere, and do no harm. */
static void case_errors_return(void)
{
    MPI_Comm comm;
    int class = MPI_SUCCESS, rc;
    int *bad  = calloc((size_t)test.size, sizeof(int));
    int *zero = calloc((size_t)test.size, sizeof(int));

    bad[test.size - 1] = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use(comm, 1);
    rc =
        MPI_Alltoallv(zero, bad, zero, MPI_INT, bad, zero, zero, MPI_INT, comm);
    MPI_Error_class(rc, &class);
    if (class != MPI_ERR_COUNT && class != MPI_ERR_ARG) {
        fail("negative count: error class %d", class);
    }
    use(comm, 2);
    MPI_Comm_free(&comm);
    free(bad);
    free(zero);
}

const test_case_t other_cases[] = {
    {"nonblocking", case_nonblocking},
    {"nonblocking-first", case_nonblocking_first},
    {"persistent", case_persistent},
    {"counts-c", case_counts_c},
    {"across", case_across},
    {"across-large", case_across_large},
    {"collectives", case_collectives},
    {"errors-return", case_errors_return},
    {NULL, NULL}};

/* ---- counts that disagree, under parameter check ---- */

static int n_handled;

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    ++n_handled;
}

/* What the MPI returns of an error that a handler of the program has had: MPICH 5.0 none. */
static int is_returned(MPI_Comm comm)
{
    int none;

    return MPI_Bcast(&none, -1, MPI_INT, 0, comm) != MPI_SUCCESS;
}

/* The last rank expects a byte less of rank 0. This error on every rank, and nothing has
 * been written. */
static void mismatch(MPI_Comm comm, int error_class)
{
    int   *one = calloc((size_t)test.size, sizeof(int));
    int   *at = calloc((size_t)test.size, sizeof(int)), rc, class = MPI_SUCCESS;
    int   *expected = calloc((size_t)test.size, sizeof(int));
    size_t len      = 4 * (size_t)test.size;
    char  *out = calloc(len, 1), *in = calloc(len, 1);

    for (int r = 0; r < test.size; ++r) {
        one[r] = expected[r] = 4;
        at[r]                = 4 * r;
    }
    expected[0] -= test.rank == test.size - 1;
    memset(out, 'x', len);
    rc =
        MPI_Alltoallv(out, one, at, MPI_BYTE, in, expected, at, MPI_BYTE, comm);
    MPI_Error_class(rc, &class);
    equal("error class", class, error_class);
    for (size_t k = 0; k < len; ++k) {
        equal("byte after an error", in[k], 0);
    }
    free(one);
    free(at);
    free(expected);
    free(out);
    free(in);
}

/* Errors that return, and a handler of the user's; what is next is served. */
static void case_mismatch(void)
{
    MPI_Errhandler handler;
    MPI_Comm       comm;
    int            error_class;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use(comm, 1);
    mismatch(comm, MPI_ERR_TRUNCATE);
    use(comm, 2);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    error_class = is_returned(comm) ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    n_handled   = 0;
    mismatch(comm, error_class);
    mismatch(comm, error_class);
    equal("calls of an error handler", n_handled, 2);
    use(comm, 3);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

const test_case_t check_cases[] = {{"mismatch", case_mismatch}, {NULL, NULL}};
