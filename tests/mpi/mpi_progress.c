/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who serves a network while its process is elsewhere? Four ranks, two to a
 * server (parameter servers), plain MPI-3.
 *
 *   mpi_progress leave   MPI_Alltoallv, MPI_Barrier: a rank whose messages are
 *                        sent leaves, and the receiver is still busy
 *   mpi_progress put     all but the last rank are in MPI_Alltoallv, which puts
 *                        something into the window of each before it follows
 *
 * Whoever waits for something that nobody serves waits for ever. Status 0: all
 * came to an end, and all bytes were right.
 */
#include "mpi_pattern.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_RANKS = 4, BUSY = 60 << 20, SMALL = 104, PUT = 4096 };

/* What two neighbours' sockets hold lies in between. */
enum { FIRST = 200000, LAST = 330000, STEP = 2000 };

static int            rank, round_now;
static int            sent[N_RANKS], received[N_RANKS], displs[N_RANKS];
static unsigned char *send_buf, *recv_buf;

static uint64_t key_of(int src, int dst)
{
    return pattern_key((uint32_t)src, (uint32_t)dst, (uint32_t)round_now);
}

/* A block of that pattern; true: it is there already. */
static bool is_block(const unsigned char *block, int src, int dst, int len)
{
    for (size_t k = 0; k < (size_t)len; ++k) {
        if (block[k] != pattern_byte(key_of(src, dst), k)) {
            printf(
                "mpi_progress: rank %d, round %d: byte %zu from %d is wrong\n",
                rank, round_now, k, src);
            return false;
        }
    }
    return true;
}

/* All blocks but what a rank sends to itself, which is there to keep it busy. */
static bool exchange(void)
{
    bool right = true;

    for (int r = 0; r < N_RANKS; ++r) {
        if (r != rank) {
            pattern_write(key_of(rank, r), 0, (size_t)sent[r],
                          send_buf + displs[r]);
            memset(recv_buf + displs[r], 0xEE, (size_t)received[r]);
        }
    }
    MPI_Alltoallv(send_buf, sent, displs, MPI_BYTE, recv_buf, received, displs,
                  MPI_BYTE, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < N_RANKS; ++r) {
        right = right && (r == rank ||
                          is_block(recv_buf + displs[r], r, rank, received[r]));
    }
    return right;
}

static void lay_out(void)
{
    displs[rank] = 0;
    for (int r = 0; r < N_RANKS; ++r) {
        displs[r] = r == rank ? 0 : BUSY + r * LAST;
    }
    send_buf = calloc(1, BUSY + N_RANKS * LAST);
    recv_buf = calloc(1, BUSY + N_RANKS * LAST);
}

/* The even rank of a server sends to the odd one, which copies BUSY bytes
 * meanwhile; a little crosses servers. */
static bool leave(void)
{
    bool right = true;

    sent[rank ^ 2] = received[rank ^ 2] = SMALL;
    for (int len = FIRST; len <= LAST && right; len += STEP) {
        ++round_now;
        if (rank % 2 == 0) {
            sent[rank + 1] = len;
        } else {
            received[rank - 1] = len;
            sent[rank] = received[rank] = BUSY;
        }
        right = exchange();
    }
    return right;
}

/* A window that is not shared memory: its owner has to take part. */
static bool put(void)
{
    unsigned char *window = calloc(1, PUT), *bytes = malloc(PUT);
    bool           right = true;
    MPI_Win        win;

    MPI_Win_create(window, PUT, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (round_now = 1; round_now <= 20 && right; ++round_now) {
        for (int r = 0; r < N_RANKS; ++r) {
            sent[r] = received[r] = r == rank ? 0 : LAST;
        }
        for (int r = 0; rank == N_RANKS - 1 && r < rank; ++r) {
            pattern_write(key_of(r, r), 0, PUT, bytes);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r, 0, win);
            MPI_Put(bytes, PUT, MPI_BYTE, r, 0, PUT, MPI_BYTE, win);
            MPI_Win_unlock(r, win);
        }
        right = exchange();
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
        right = right &&
                (rank == N_RANKS - 1 || is_block(window, rank, rank, PUT));
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    free(window);
    free(bytes);
    return right;
}

int main(int argc, char **argv)
{
    int  size;
    bool right;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 2 || size != N_RANKS) {
        fprintf(stderr, "mpi_progress: see the top of mpi_progress.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    lay_out();
    right = strcmp(argv[1], "put") == 0 ? put() : leave();
    printf("mpi_progress: rank %d: %s\n", rank, right ? "ok" : "WRONG");
    free(send_buf);
    free(recv_buf);
    MPI_Finalize();
    return !right;
}
