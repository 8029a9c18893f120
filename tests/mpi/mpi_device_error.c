/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call that sends from a device, with the driver of tests/accel. Plain MPI-3.
 * Errors come back, and every rank prints one line.
 *
 *   mpi_device_error --gaps | --plain     MPI_Alltoallv; rank 1's send type has gaps, or
 *                                         none
 *   mpi_device_error --allreduce          rank 1's vectors are on a device
 *   mpi_device_error --later              likewise, after a call with all on the host
 */
#include "mpi_test.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { LEN = 1000, MAX_RANKS = 64 };

static int           counts[MAX_RANKS], displs[MAX_RANKS];
static unsigned char recv_buf[MAX_RANKS * LEN * sizeof(int)];

/* Every other int of a pair. */
static MPI_Datatype make_type(int gaps)
{
    MPI_Datatype type;

    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * (gaps ? 2 : 1),
                            &type);
    MPI_Type_commit(&type);
    return type;
}

static int exchange(void *device, MPI_Datatype type)
{
    for (int r = 0; r < test.size; ++r) {
        counts[r] = LEN;
        displs[r] = r * LEN;
    }
    return MPI_Alltoallv(device, counts, displs, type, recv_buf, counts, displs,
                         MPI_INT, MPI_COMM_WORLD);
}

static int reduce(void *device)
{
    return MPI_Allreduce(MPI_IN_PLACE, test.rank == 1 ? device : recv_buf, LEN,
                         MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char    *what = argc > 1 ? argv[1] : "";
    int            gaps = strcmp(what, "--gaps") == 0, rc;
    unsigned char *alias;
    uint64_t       device;
    MPI_Datatype   type;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    device_open();
    device_alloc(sizeof(recv_buf) * 2, 0, &device, &alias);
    memset(alias, test.rank, sizeof(recv_buf) * 2);
    type = make_type(gaps && test.rank == 1);
    if (strcmp(what, "--later") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        reduce(recv_buf);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    rc = strcmp(what, "--gaps") == 0 || strcmp(what, "--plain") == 0
             ? exchange((void *)(uintptr_t)device, type)
             : reduce((void *)(uintptr_t)device);
    printf("mpi_device_error: rank %d: %s\n", test.rank,
           rc == MPI_SUCCESS ? "ok" : "error");
    fflush(stdout);
    MPI_Type_free(&type);
    device_free(device);
    MPI_Finalize();
    return 0;
}
