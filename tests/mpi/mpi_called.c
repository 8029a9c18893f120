/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known numbers of calls, for tools that count them: 5 of MPI_Alltoallv, 4 of
 * MPI_Ialltoallv, 3 of MPI_Wait and 1 of MPI_Waitall. The bytes of each exchange
 * are checked. Plain MPI-3.
 */
#include "mpi_pattern.h"

#include <mpi.h>
#include <stdio.h>

enum { MAX_RANKS = 16, LEN = 3000 };

static int           rank, size;
static int           counts[MAX_RANKS], displs[MAX_RANKS];
static unsigned char from[MAX_RANKS * LEN], to[MAX_RANKS * LEN];

static void fill(uint32_t round)
{
    memset(to, 0, sizeof(to));
    for (int r = 0; r < size; ++r) {
        pattern_write(pattern_key((uint32_t)rank, (uint32_t)r, round), 0, LEN,
                      from + displs[r]);
    }
}

static int check(uint32_t round)
{
    int n_wrong = 0;

    for (int r = 0; r < size; ++r) {
        unsigned char want[LEN];

        pattern_write(pattern_key((uint32_t)r, (uint32_t)rank, round), 0, LEN,
                      want);
        n_wrong += memcmp(to + displs[r], want, LEN) != 0;
    }
    return n_wrong;
}

/* Round 0 to 4 blocks; of the others the last one ends in MPI_Waitall. */
static void exchange(uint32_t round)
{
    MPI_Request request;
    MPI_Status  status; /* GCC warns of MPICH's MPI_STATUSES_IGNORE */

    if (round < 5) {
        MPI_Alltoallv(from, counts, displs, MPI_BYTE, to, counts, displs,
                      MPI_BYTE, MPI_COMM_WORLD);
        return;
    }
    MPI_Ialltoallv(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                   MPI_COMM_WORLD, &request);
    if (round < 8) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Waitall(1, &request, &status);
    }
}

int main(int argc, char **argv)
{
    int n_wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MAX_RANKS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int r = 0; r < size; ++r) {
        counts[r] = LEN;
        displs[r] = r * LEN;
    }
    for (uint32_t round = 0; round < 9; ++round) {
        fill(round);
        exchange(round);
        n_wrong += check(round);
    }
    printf("mpi_called: rank %d: %s\n", rank,
           n_wrong == 0 ? "ok" : "wrong bytes");
    MPI_Finalize();
    return n_wrong > 0;
}
