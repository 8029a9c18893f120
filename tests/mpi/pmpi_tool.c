/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tool as there are many: counts calls by the profiling interface, and rank 0
 * prints at the end how many there were. Compiled with -DNEXT it is one as there
 * are some: calls the MPI_ function behind itself, not PMPI_.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#ifdef NEXT
#define TOOL       "next_tool"
#define CALL(name) ((__typeof__(&PMPI_##name))dlsym(RTLD_NEXT, "MPI_" #name))
#else
#define TOOL       "pmpi_tool"
#define CALL(name) PMPI_##name
#endif

static int n_inits, n_alltoallv, n_ialltoallv, n_waits;

int MPI_Init(int *argc, char ***argv)
{
    ++n_inits;
    return CALL(Init)(argc, argv);
}

int MPI_Alltoallv(const void *sendbuf, const int *sendcounts,
                  const int *sdispls, MPI_Datatype sendtype, void *recvbuf,
                  const int *recvcounts, const int *rdispls,
                  MPI_Datatype recvtype, MPI_Comm comm)
{
    ++n_alltoallv;
    return CALL(Alltoallv)(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                           recvcounts, rdispls, recvtype, comm);
}

int MPI_Ialltoallv(const void *sendbuf, const int *sendcounts,
                   const int *sdispls, MPI_Datatype sendtype, void *recvbuf,
                   const int *recvcounts, const int *rdispls,
                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    ++n_ialltoallv;
    return CALL(Ialltoallv)(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                            recvcounts, rdispls, recvtype, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    ++n_waits;
    return CALL(Wait)(request, status);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    ++n_waits;
    return CALL(Waitall)(count, requests, statuses);
}

int MPI_Finalize(void)
{
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf(TOOL ": %d MPI_Init, %d MPI_Alltoallv, %d MPI_Ialltoallv, "
                    "%d MPI_Wait and MPI_Waitall\n",
               n_inits, n_alltoallv, n_ialltoallv, n_waits);
        fflush(stdout);
    }
    return CALL(Finalize)();
}
