/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator that MPICH keeps on some ranks when all free it: rank 0 and rank 1
 * have a persistent request on it.
 *
 *   mpich_freed                MPI_Comm_free, then a barrier, then the requests are freed
 *   mpich_freed --disconnect   MPI_Comm_disconnect, and there are no requests
 *
 * Its name is "freed". Every byte of its call is checked.
 */
#include "mpi_pattern.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RANKS = 16, LEN = 3000 };

static int           rank, size;
static unsigned char send[MAX_RANKS * LEN], recv[MAX_RANKS * LEN];

/* Returns the number of wrong blocks. */
static int use(MPI_Comm comm)
{
    int           lens[MAX_RANKS], displs[MAX_RANKS], n_wrong = 0;
    unsigned char want[LEN];

    for (int r = 0; r < size; ++r) {
        lens[r]   = LEN;
        displs[r] = r * LEN;
        pattern_write(pattern_key((uint32_t)rank, (uint32_t)r, 1), 0, LEN,
                      send + r * LEN);
    }
    MPI_Alltoallv(send, lens, displs, MPI_BYTE, recv, lens, displs, MPI_BYTE,
                  comm);
    for (int r = 0; r < size; ++r) {
        pattern_write(pattern_key((uint32_t)r, (uint32_t)rank, 1), 0, LEN,
                      want);
        n_wrong += memcmp(recv + r * LEN, want, LEN) != 0;
    }
    return n_wrong;
}

static void free_before_requests(MPI_Comm *comm)
{
    MPI_Request request;
    int         token;

    if (rank < 2) {
        MPI_Recv_init(&token, 1, MPI_INT, rank, 5, *comm, &request);
    }
    MPI_Comm_free(comm);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2) {
        MPI_Request_free(&request);
    }
}

int main(int argc, char **argv)
{
    int      disconnects = argc > 1 && strcmp(argv[1], "--disconnect") == 0;
    int      n_wrong;
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MAX_RANKS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "freed");
    n_wrong = use(comm);
    if (disconnects) {
        MPI_Comm_disconnect(&comm);
    } else {
        free_before_requests(&comm);
    }
    printf("mpich_freed: rank %d: %s\n", rank,
           n_wrong == 0 ? "ok" : "wrong bytes");
    MPI_Finalize();
    return n_wrong > 0;
}
