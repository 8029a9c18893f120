/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much processor time a rank takes from MPI_Start to the first byte that it gives to a
 * socket. Loaded before the MPI (LD_PRELOAD); each rank prints the median of its starts.
 *
 *   mpicc -O2 -fPIC -shared -o first_byte.so first_byte.c -ldl
 *   lab run --name NAME --mpi ompi --mca coll fast -x LD_PRELOAD=$PWD/first_byte.so -- \
 *       osu_alltoallv_skew_persistent -p zipf:0.8 -m 100000:100000 -i 15
 */
#define _GNU_SOURCE

#include <mpi.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

enum { MAX_STARTS = 10000 };

static double        until_byte[MAX_STARTS]; /* us */
static int           n_starts;
static __thread bool is_starting;
static double        began;

static double processor_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void note_byte(void)
{
    if (is_starting && n_starts < MAX_STARTS) {
        until_byte[n_starts++] = processor_us() - began;
    }
    is_starting = false;
}

int MPI_Start(MPI_Request *request)
{
    int rc;

    is_starting = true;
    began       = processor_us();
    rc          = PMPI_Start(request);
    is_starting = false;
    return rc;
}

ssize_t send(int fd, const void *buf, size_t len, int flags)
{
    ssize_t (*next)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");

    note_byte();
    return next(fd, buf, len, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t (*next)(int, const struct msghdr *, int) =
        dlsym(RTLD_NEXT, "sendmsg");

    note_byte();
    return next(fd, message, flags);
}

ssize_t writev(int fd, const struct iovec *pieces, int n)
{
    ssize_t (*next)(int, const struct iovec *, int) =
        dlsym(RTLD_NEXT, "writev");

    note_byte();
    return next(fd, pieces, n);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

int MPI_Finalize(void)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (n_starts > 0) {
        qsort(until_byte, (size_t)n_starts, sizeof(*until_byte), by_size);
        printf("rank %d: %d starts sent at once, median %.1f us to the first "
               "byte\n",
               rank, n_starts, until_byte[n_starts / 2]);
    }
    return PMPI_Finalize();
}
