/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI_Alltoallv takes where large calls, of uneven servers, and small ones alternate,
 * and where either is alone on a communicator. Prints medians of the later half of calls, of
 * the slowest rank.
 *
 *   mpicc -O2 -o alternate alternate.c
 *   lab run --name NAME --mpi ompi --mca coll fast -- alternate LARGE SMALL
 *
 * LARGE, SMALL: bytes per pair of ranks, four ranks per server.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { MAX_RANKS = 256, N_CALLS = 60, PER_SERVER = 4 };

typedef enum kind { LARGE, SMALL, N_KINDS } kind_t;

static const char *const names[N_KINDS] = {"large", "small"};

static int      bytes[N_KINDS];
static int      rank, size;
static MPI_Comm comm; /* a new one has a new tuner */
static char    *send, *recv;
static int      send_counts[MAX_RANKS], send_displs[MAX_RANKS];
static int      recv_counts[MAX_RANKS], recv_displs[MAX_RANKS];

/* Of large calls server 0 sends three times as much to server 1, and hardly anything goes
 * from server 2 to server 3. */
static int count_of(kind_t kind, int src, int dst)
{
    int from = src / PER_SERVER, to = dst / PER_SERVER;

    return kind == SMALL          ? bytes[kind]
           : from == 0 && to == 1 ? 3 * bytes[kind]
           : from == 2 && to == 3 ? bytes[kind] / 50
                                  : bytes[kind];
}

/* Seconds of one call. */
static double call(kind_t kind)
{
    double time, slowest;
    int    sent = 0, received = 0;

    for (int r = 0; r < size; ++r) {
        send_counts[r] = count_of(kind, rank, r);
        recv_counts[r] = count_of(kind, r, rank);
        send_displs[r] = sent;
        recv_displs[r] = received;
        sent += send_counts[r];
        received += recv_counts[r];
    }
    MPI_Barrier(comm);
    time = MPI_Wtime();
    MPI_Alltoallv(send, send_counts, send_displs, MPI_BYTE, recv, recv_counts,
                  recv_displs, MPI_BYTE, comm);
    time = MPI_Wtime() - time;
    MPI_Allreduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
    return slowest;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print(const char *what, kind_t kind, double *times)
{
    enum { HALF = N_CALLS / 2 };

    qsort(times + HALF, HALF, sizeof(*times), compare);
    if (rank == 0) {
        printf("%s, %s: %.3f ms\n", what, names[kind],
               1e3 * times[HALF + HALF / 2]);
    }
}

/* Calls of the kinds from first to last, in turn, on a communicator of their own. */
static void run(const char *what, kind_t first, kind_t last)
{
    double times[N_KINDS][N_CALLS];

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int k = 0; k < N_CALLS; ++k) {
        for (kind_t kind = first; kind <= last; ++kind) {
            times[kind][k] = call(kind);
        }
    }
    for (kind_t kind = first; kind <= last; ++kind) {
        print(what, kind, times[kind]);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    size_t most;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bytes[LARGE] = argc > 2 ? atoi(argv[1]) : 0;
    bytes[SMALL] = argc > 2 ? atoi(argv[2]) : 0;
    if (size > MAX_RANKS || bytes[LARGE] <= 0 || bytes[SMALL] <= 0) {
        fprintf(stderr,
                "usage: alternate LARGE SMALL, in bytes; at most %d ranks\n",
                MAX_RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    most = (size_t)size * (3 * (size_t)bytes[LARGE] + (size_t)bytes[SMALL]);
    send = calloc(most, 1);
    recv = calloc(most, 1);
    run("in turn", LARGE, SMALL);
    run("alone", LARGE, LARGE);
    run("alone", SMALL, SMALL);
    free(send);
    free(recv);
    MPI_Finalize();
}
