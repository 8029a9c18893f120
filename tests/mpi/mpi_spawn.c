/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that are spawned: each world exchanges on its own, then both
 * together on the merged communicator, several times. Every process prints one
 * line. Plain MPI-3.
 *
 *   mpi_spawn       with any number of ranks; it spawns as many
 */
#include "mpi_pattern.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CALLS = 3, MAX_LEN = 100000, GAP = 16, PLACE = MAX_LEN + GAP };

/* What src sends to dst: no two pairs alike. */
static int len_of(int src, int dst)
{
    return MAX_LEN - 1000 * src - 7 * dst;
}

static long check(const unsigned char *recv, int rank, int size, int call)
{
    long n_wrong = 0;

    for (int r = 0; r < size; ++r) {
        uint64_t key = pattern_key((uint32_t)r, (uint32_t)rank, (uint32_t)call);
        size_t   len = (size_t)len_of(r, rank);

        for (size_t k = 0; k < PLACE; ++k) {
            n_wrong += recv[(size_t)r * PLACE + k] !=
                       (k < len ? pattern_byte(key, k) : 0xEE);
        }
    }
    return n_wrong;
}

/* Bytes that are wrong. */
static long exchange(MPI_Comm comm)
{
    long           n_wrong = 0;
    int            rank, size, *counts;
    unsigned char *send, *recv;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    counts = malloc(3 * (size_t)size * sizeof(int));
    send   = malloc((size_t)size * PLACE);
    recv   = malloc((size_t)size * PLACE);
    for (int call = 0; call < N_CALLS; ++call) {
        for (int r = 0; r < size; ++r) {
            counts[r]            = len_of(rank, r);
            counts[size + r]     = len_of(r, rank);
            counts[2 * size + r] = r * PLACE;
            pattern_write(
                pattern_key((uint32_t)rank, (uint32_t)r, (uint32_t)call), 0,
                MAX_LEN, send + (size_t)r * PLACE);
        }
        memset(recv, 0xEE, (size_t)size * PLACE);
        MPI_Alltoallv(send, counts, counts + 2 * size, MPI_BYTE, recv,
                      counts + size, counts + 2 * size, MPI_BYTE, comm);
        n_wrong += check(recv, rank, size, call);
    }
    free(counts);
    free(send);
    free(recv);
    return n_wrong;
}

int main(int argc, char **argv)
{
    MPI_Comm others, merged;
    int      rank, size;
    long     n_wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n_wrong = exchange(MPI_COMM_WORLD);
    MPI_Comm_get_parent(&others);
    if (others == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, size, MPI_INFO_NULL, 0,
                       MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
        MPI_Intercomm_merge(others, 0, &merged);
    } else {
        MPI_Intercomm_merge(others, 1, &merged);
    }
    n_wrong += exchange(merged);
    MPI_Comm_rank(merged, &rank);
    printf("mpi_spawn: rank %d: wrong %ld\n", rank, n_wrong);
    fflush(stdout);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&others);
    MPI_Finalize();
    return n_wrong > 0;
}
