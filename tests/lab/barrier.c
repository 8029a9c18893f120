/* barrier [CALLS]  The median time of MPI_Barrier, in microseconds, of the slowest rank
 * of each call: what the processes need to hear of each other, without any data. A small
 * MPI_Alltoallv cannot take much less, as each rank needs to hear of all others.
 *
 *   mpicc -O2 -o barrier tests/lab/barrier.c
 *   tests/lab/lab up --name b --servers 2 --ranks 16 --nics 1 --rate 100mbit --burst 10kb
 *   tests/lab/lab run --name b --mpi ompi -- ./barrier
 *   tests/lab/lab run --name b --mpi ompi --mca coll_han_priority 100 -- ./barrier  */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100000, WARMUP = 200 };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double slowest[MOST];
    int           calls = argc > 1 ? atoi(argv[1]) : 1000, rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (calls < 1 || calls > MOST) {
        fprintf(stderr, "barrier: %s: not 1 to %d calls\n", argv[1], MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int k = -WARMUP; k < calls; ++k) {
        double began, took;

        MPI_Barrier(MPI_COMM_WORLD); /* all begin together */
        began = MPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
        took = MPI_Wtime() - began;
        MPI_Reduce(&took, &slowest[k < 0 ? 0 : k], 1, MPI_DOUBLE, MPI_MAX, 0,
                   MPI_COMM_WORLD);
    }
    if (rank == 0) {
        qsort(slowest, (size_t)calls, sizeof(*slowest), by_size);
        printf("%.1f\n", slowest[calls / 2] * 1e6);
    }
    MPI_Finalize();
    return 0;
}
