/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To be preloaded behind libmpich_coll_fast: an MPICH that seems to know GPUs, for
 * memory of fake_cuda.c. Its MPI_Alltoallv gets buffers at their aliases, so that
 * it can pack there what it likes.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define REAL(name) ((__typeof__(&PMPI_##name))find("PMPI_" #name))

static void *find(const char *name)
{
    return dlsym(dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD), name);
}

int MPIX_Query_cuda_support(void)
{
    return 1;
}

/* The address of a buffer may be outside of it: where is its first block? */
static void *reach(void *buffer, const int *counts, const int *displs,
                   MPI_Datatype type, int size)
{
    MPI_Aint  lb, extent, true_lb, true_extent;
    uintptr_t start = 0;
    char     *at;
    char *(*alias)(uint64_t address);

    REAL(Type_get_extent)(type, &lb, &extent);
    REAL(Type_get_true_extent)(type, &true_lb, &true_extent);
    for (int r = 0; r < size && start == 0; ++r) {
        if (counts[r] > 0 && true_extent > 0) {
            start = (uintptr_t)buffer +
                    (uintptr_t)(displs[r] * extent + true_lb);
        }
    }
    *(void **)&alias = dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD),
                             "fake_cuda_alias");
    at               = start == 0 ? NULL : alias(start);
    return at == NULL ? buffer : at - start + (uintptr_t)buffer;
}

int PMPI_Alltoallv(const void *sendbuf, const int *sendcounts,
                   const int *sdispls, MPI_Datatype sendtype, void *recvbuf,
                   const int *recvcounts, const int *rdispls,
                   MPI_Datatype recvtype, MPI_Comm comm)
{
    int size, inter;

    REAL(Comm_test_inter)(comm, &inter);
    if (inter) {
        REAL(Comm_remote_size)(comm, &size);
    } else {
        REAL(Comm_size)(comm, &size);
    }
    if (sendbuf != MPI_IN_PLACE) {
        sendbuf = reach((void *)(uintptr_t)sendbuf, sendcounts, sdispls,
                        sendtype, size);
    }
    recvbuf = reach(recvbuf, recvcounts, rdispls, recvtype, size);
    return REAL(Alltoallv)(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                           recvcounts, rdispls, recvtype, comm);
}
