/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which TCP ports a rank has opened by its first MPI_Alltoallv, and whether bytes
 * are still right after somebody has knocked there. Plain MPI-3.
 *
 *   mpi_doors [FILE]
 *
 * Each rank prints "door RANK ADDRESS PORT" for each port that it listens on since
 * MPI_Init, and then "rank RANK: N doors". With FILE all wait until it exists.
 * Then come as many calls as numbers of calls can be told apart, and at the end
 * each rank prints "rank RANK: ok", or how many bytes were wrong.
 */
#include "mpi_pattern.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEN = 1000, MAX_RANKS = 64, MAX_DOORS = 64, LISTENS = 10, CALLS = 17 };

typedef struct doors {
    int           n;
    unsigned long inode[MAX_DOORS];
} doors_t;

static int           rank, size;
static int           counts[MAX_RANKS], displs[MAX_RANKS];
static unsigned char from[MAX_RANKS * LEN], to[MAX_RANKS * LEN];

/* ---- ports ---- */

/* Is one of our descriptors this socket? */
static int is_mine(unsigned long inode)
{
    DIR           *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    char           path[300], link[64], socket[64];
    int            found = 0;

    snprintf(socket, sizeof(socket), "socket:[%lu]", inode);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        ssize_t len;

        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        len = readlink(path, link, sizeof(link) - 1);
        if (len > 0) {
            link[len] = '\0';
            found     = found || strcmp(link, socket) == 0;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

static int is_known(const doors_t *doors, unsigned long inode)
{
    for (int k = 0; k < doors->n; ++k) {
        if (doors->inode[k] == inode) {
            return 1;
        }
    }
    return 0;
}

/* Ports that listen and are not known yet become known. */
static int look(doors_t *doors, const char *table, int family, int told)
{
    FILE         *file = fopen(table, "r");
    char          line[512], address[64], text[64];
    unsigned      port, state, word[4];
    unsigned long inode;
    int           n = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%*d: %63[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %lu",
                   address, &port, &state, &inode) != 4 ||
            state != LISTENS || is_known(doors, inode) || !is_mine(inode) ||
            doors->n == MAX_DOORS) {
            continue;
        }
        doors->inode[doors->n++] = inode;
        for (int k = 0; k < (family == AF_INET ? 1 : 4); ++k) {
            sscanf(address + 8 * k, "%8x", &word[k]);
        }
        if (told) {
            printf("door %d %s %u\n", rank,
                   inet_ntop(family, word, text, sizeof(text)), port);
        }
        ++n;
    }
    if (file != NULL) {
        fclose(file);
    }
    return n;
}

static int look_at_all(doors_t *doors, int told)
{
    return look(doors, "/proc/self/net/tcp", AF_INET, told) +
           look(doors, "/proc/self/net/tcp6", AF_INET6, told);
}

/* ---- calls ---- */

static int exchange(uint32_t round)
{
    int n_wrong = 0;

    for (int r = 0; r < size; ++r) {
        counts[r] = LEN;
        displs[r] = r * LEN;
        pattern_write(pattern_key((uint32_t)rank, (uint32_t)r, round), 0, LEN,
                      from + r * LEN);
    }
    memset(to, 0, sizeof(to));
    MPI_Alltoallv(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) {
        uint64_t key = pattern_key((uint32_t)r, (uint32_t)rank, round);

        for (size_t k = 0; k < LEN; ++k) {
            n_wrong += to[r * LEN + (int)k] != pattern_byte(key, k);
        }
    }
    return n_wrong;
}

/* The MPI goes on looking at its network, and it may look at ours. */
static void wait_for(const char *name)
{
    struct stat st;
    int         flag;

    while (stat(name, &st) != 0) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
                   MPI_STATUS_IGNORE);
        usleep(1000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    doors_t doors = {0};
    int     n_wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MAX_RANKS) {
        fprintf(stderr, "mpi_doors: %d ranks; allowed: 1 to %d\n", size,
                MAX_RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* what the MPI opens late */
    (void)look_at_all(&doors, 0);
    n_wrong = exchange(0);
    printf("rank %d: %d doors\n", rank, look_at_all(&doors, 1));
    fflush(stdout);
    if (argc > 1) {
        wait_for(argv[1]);
    }
    for (uint32_t round = 1; round < CALLS; ++round) {
        n_wrong += exchange(round);
    }
    if (n_wrong > 0) {
        printf("rank %d: %d bytes are wrong\n", rank, n_wrong);
    } else {
        printf("rank %d: ok\n", rank);
    }
    MPI_Finalize();
    return n_wrong > 0;
}
