/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool as there are many: counts calls by the profiling interface. */
#include <mpi.h>
#include <stdio.h>

static int n_calls;

int MPI_Alltoallv(const void *sendbuf, const int *sendcounts,
                  const int *sdispls, MPI_Datatype sendtype, void *recvbuf,
                  const int *recvcounts, const int *rdispls,
                  MPI_Datatype recvtype, MPI_Comm comm)
{
    ++n_calls;
    return PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                          recvcounts, rdispls, recvtype, comm);
}

int MPI_Finalize(void)
{
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("pmpi_tool: %d calls\n", n_calls);
        fflush(stdout);
    }
    return PMPI_Finalize();
}
