/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many communicators alive, of the 2048 that MPICH has, and some in use.
 *
 *   mpich_many COUNT      so many, and each eighth is used
 *   mpich_many --all      until there are no more, and the last three are used
 *
 * The communicators' error handler must not be called, nor be another one
 * afterwards.
 */
#include "mpi_pattern.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMMS = 4096, MAX_RANKS = 16, LEN = 600 };

static int      rank, size, n_handled;
static MPI_Comm comms[MAX_COMMS];

static void stop(const char *what, int which)
{
    fprintf(stderr, "mpich_many: rank %d: %s, communicator %d\n", rank, what,
            which);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void on_error(MPI_Comm *comm, int *mpi_errno, ...)
{
    (void)comm;
    (void)mpi_errno;
    ++n_handled;
}

/* Blocks of different lengths, one behind the other. */
static int block_len(int src, int dst)
{
    return LEN - 10 * src - dst;
}

static void use(int which)
{
    static unsigned char send[MAX_RANKS * LEN], recv[MAX_RANKS * LEN];
    int send_len[MAX_RANKS], recv_len[MAX_RANKS], displs[MAX_RANKS];

    memset(recv, 0xEE, sizeof(recv));
    for (int r = 0; r < size; ++r) {
        uint64_t key =
            pattern_key((uint32_t)rank, (uint32_t)r, (uint32_t)which);

        displs[r]   = r * LEN;
        send_len[r] = block_len(rank, r);
        recv_len[r] = block_len(r, rank);
        pattern_write(key, 0, (size_t)send_len[r], send + r * LEN);
    }
    if (MPI_Alltoallv(send, send_len, displs, MPI_BYTE, recv, recv_len, displs,
                      MPI_BYTE, comms[which]) != MPI_SUCCESS) {
        stop("MPI_Alltoallv failed", which);
    }
    for (int k = 0; k < size * LEN; ++k) {
        int      src = k / LEN, at = k % LEN;
        uint64_t key =
            pattern_key((uint32_t)src, (uint32_t)rank, (uint32_t)which);

        if (recv[k] !=
            (at < recv_len[src] ? pattern_byte(key, (size_t)at) : 0xEE)) {
            stop("wrong bytes", which);
        }
    }
}

static void check_handler(int which, MPI_Errhandler handler)
{
    MPI_Errhandler now;

    MPI_Comm_get_errhandler(comms[which], &now);
    if (now != handler || n_handled > 0) {
        stop(n_handled > 0 ? "the error handler was called"
                           : "another error handler than before",
             which);
    }
    MPI_Errhandler_free(&now);
}

/* Returns how many there are then. */
static int make(int wanted, MPI_Errhandler handler)
{
    int n = 0;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (n < wanted &&
           MPI_Comm_dup(MPI_COMM_WORLD, &comms[n]) == MPI_SUCCESS) {
        MPI_Comm_set_errhandler(comms[n++], handler);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return n;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    int            all    = argc > 1 && strcmp(argv[1], "--all") == 0;
    int            wanted = all ? MAX_COMMS : argc > 1 ? atoi(argv[1]) : 0;
    int            n;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MAX_RANKS || wanted < 1 || wanted > MAX_COMMS) {
        stop("a wrong COUNT, or too many ranks", wanted);
    }
    MPI_Comm_create_errhandler(on_error, &handler);
    n = make(wanted, handler);
    if (n < (all ? 3 : wanted)) {
        stop("too few communicators", n);
    }
    for (int k = all ? n - 3 : 0; k < n; k += all ? 1 : 8) {
        use(k);
        check_handler(k, handler);
    }
    for (int k = 0; k < n; ++k) {
        MPI_Comm_free(&comms[k]);
    }
    MPI_Errhandler_free(&handler);
    if (rank == 0) {
        printf("mpich_many: %s%d communicators: ok\n", all ? "all " : "", n);
    }
    MPI_Finalize();
    return 0;
}
