/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call that sends from a device, with the driver of tests/accel. Plain MPI-3.
 * Errors come back, and every rank prints one line. Without an error all data are checked.
 *
 *   mpi_device_error --gaps | --plain     MPI_Alltoallv; rank 1's send type has gaps, or
 *                                         none
 *   mpi_device_error --nonblocking        as --gaps by MPI_Ialltoallv, after a blocking
 *                                         call with all on the host
 *   mpi_device_error --allreduce          rank 1's vectors are on a device
 *   mpi_device_error --later              likewise, after a call with all on the host
 */
#include "mpi_pattern.h"
#include "mpi_test.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { LEN = 1000, MAX_RANKS = 64 };

static int counts[MAX_RANKS], displs[MAX_RANKS];
static int recv_buf[MAX_RANKS * LEN];
static int n_wrong;

/* Memory of the device, for the MPI and for us. */
static uint64_t       device;
static unsigned char *alias;

/* Every other int of a pair. */
static MPI_Datatype make_type(int gaps)
{
    MPI_Datatype type;

    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * (gaps ? 2 : 1),
                            &type);
    MPI_Type_commit(&type);
    return type;
}

static int number(int src, int dst, int k)
{
    return (int)pattern_word(pattern_key((uint32_t)src, (uint32_t)dst, 0),
                             (size_t)k);
}

/* What all ranks have sent is right. */
static void check_exchange(void)
{
    for (int r = 0; r < test.size; ++r) {
        for (int k = 0; k < LEN; ++k) {
            n_wrong += recv_buf[r * LEN + k] != number(r, test.rank, k);
        }
    }
}

/* Ints that are so many apart. */
static int send_from(const void *from, int *ints, MPI_Datatype type, int step,
                     int is_nonblocking)
{
    MPI_Request request;
    int         rc;

    for (int r = 0; r < test.size; ++r) {
        counts[r] = LEN;
        displs[r] = r * LEN;
        for (int k = 0; k < LEN; ++k) {
            ints[(r * LEN + k) * step] = number(test.rank, r, k);
        }
    }
    if (is_nonblocking) {
        rc = MPI_Ialltoallv(from, counts, displs, type, recv_buf, counts,
                            displs, MPI_INT, MPI_COMM_WORLD, &request);
        rc = rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
    } else {
        rc = MPI_Alltoallv(from, counts, displs, type, recv_buf, counts, displs,
                           MPI_INT, MPI_COMM_WORLD);
    }
    if (rc == MPI_SUCCESS) {
        check_exchange();
    }
    return rc;
}

static int exchange(MPI_Datatype type, int step, int is_nonblocking)
{
    static int host[MAX_RANKS * LEN];

    if (is_nonblocking) {
        n_wrong += send_from(host, host, MPI_INT, 1, 0) != MPI_SUCCESS;
    }
    return send_from((const void *)(uintptr_t)device, (int *)alias, type, step,
                     is_nonblocking);
}

static int reduce(int on_device)
{
    int   there = on_device && test.rank == 1, rc;
    int  *ours  = there ? (int *)alias : recv_buf;
    void *given = there ? (void *)(uintptr_t)device : recv_buf;

    for (int k = 0; k < LEN; ++k) {
        ours[k] = 1000 * test.rank + k;
    }
    rc = MPI_Allreduce(MPI_IN_PLACE, given, LEN, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD);
    for (int k = 0; k < LEN && rc == MPI_SUCCESS; ++k) {
        n_wrong += ours[k] != 500 * test.size * (test.size - 1) + test.size * k;
    }
    return rc;
}

int main(int argc, char **argv)
{
    const char  *what = argc > 1 ? argv[1] : "";
    int          is_nonblocking, gaps, rc;
    MPI_Datatype type;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    device_open();
    device_alloc(sizeof(recv_buf) * 2, 0, &device, &alias);
    memset(alias, 0xDD, sizeof(recv_buf) * 2);
    is_nonblocking = strcmp(what, "--nonblocking") == 0;
    gaps = (is_nonblocking || strcmp(what, "--gaps") == 0) && test.rank == 1;
    type = make_type(gaps);
    if (strcmp(what, "--later") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        reduce(0);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    rc = is_nonblocking || strcmp(what, "--gaps") == 0 ||
                 strcmp(what, "--plain") == 0
             ? exchange(type, gaps ? 2 : 1, is_nonblocking)
             : reduce(1);
    printf("mpi_device_error: rank %d: %s\n", test.rank,
           n_wrong > 0         ? "WRONG DATA"
           : rc == MPI_SUCCESS ? "ok"
                               : "error");
    fflush(stdout);
    MPI_Type_free(&type);
    device_free(device);
    MPI_Finalize();
    return n_wrong > 0;
}
