/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Microseconds per MPI_Alltoallv of a few bytes, for summary_cost.sh.
 *
 *   summary_cost [BYTES-PER-PAIR [CALLS]]
 *
 * Rank 0 prints the time per call of the slowest rank, over all calls: small
 * calls in a row, as applications make them, with no barrier between.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct call {
    int  *counts;
    int  *displs;
    char *send;
    char *recv;
} call_t;

static call_t call_new(int size, int bytes)
{
    size_t n = (size_t)size;
    call_t c = {calloc(n, sizeof(int)), calloc(n, sizeof(int)),
                calloc(n, (size_t)bytes), calloc(n, (size_t)bytes)};

    if (c.counts == NULL || c.displs == NULL || c.send == NULL ||
        c.recv == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int r = 0; r < size; ++r) {
        c.counts[r] = bytes;
        c.displs[r] = r * bytes;
    }
    return c;
}

static void call_free(call_t *c)
{
    free(c->counts);
    free(c->displs);
    free(c->send);
    free(c->recv);
}

static void run(const call_t *c, int n)
{
    for (int k = 0; k < n; ++k) {
        MPI_Alltoallv(c->send, c->counts, c->displs, MPI_BYTE, c->recv,
                      c->counts, c->displs, MPI_BYTE, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int    bytes = argc > 1 ? atoi(argv[1]) : 8;
    int    n     = argc > 2 ? atoi(argv[2]) : 1000;
    int    rank, size;
    double mine, slowest;
    call_t c;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    c = call_new(size, bytes);
    run(&c, 1 + n / 10); /* sets up, and warms up */
    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    run(&c, n);
    mine = MPI_Wtime() - mine;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("us per call: %.2f\n", slowest / n * 1e6);
    }
    call_free(&c);
    MPI_Finalize();
    return 0;
}
