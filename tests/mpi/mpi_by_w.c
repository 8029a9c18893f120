/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Alltoallw in place of MPI_Alltoallv: every second block is one element of a type
 * of its own. Types are freed while the call is under way. */
#include "mpi_buffer.h"
#include "mpi_exchange.h"

#include <stdlib.h>

/* Of Open MPI's own: the type of an empty block has to be one, and persistent calls do
 * not hold their types. */
#ifdef OPEN_MPI
#define EMPTY_TYPE  MPI_CHAR
#define NEEDS_TYPES test.persistent
#else
#define EMPTY_TYPE  MPI_DATATYPE_NULL
#define NEEDS_TYPES 0
#endif

typedef struct side {
    int           n_peers;
    int          *counts;
    int          *displs; /* bytes */
    MPI_Datatype *types;
} side_t;

static int has_type_of_its_own(const int *counts, int peer)
{
    return peer % 2 == 1 && counts[peer] > 0;
}

static side_t side_open(int n_peers, const int *counts, const int *displs,
                        MPI_Datatype type)
{
    side_t   side = {n_peers, zalloc((size_t)n_peers, sizeof(int)),
                     zalloc((size_t)n_peers, sizeof(int)),
                     zalloc((size_t)n_peers, sizeof(MPI_Datatype))};
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    for (int p = 0; p < n_peers; ++p) {
        side.counts[p] = counts[p];
        side.displs[p] = (int)(displs[p] * extent);
        side.types[p]  = counts[p] > 0 ? type : EMPTY_TYPE;
        if (has_type_of_its_own(counts, p)) {
            side.counts[p] = 1;
            MPI_Type_contiguous(counts[p], type, &side.types[p]);
            MPI_Type_commit(&side.types[p]);
        }
    }
    return side;
}

static void free_types(side_t *side, const int *counts)
{
    for (int p = 0; p < side->n_peers; ++p) {
        if (has_type_of_its_own(counts, p)) {
            MPI_Datatype type = side->types[p]; /* the array has to stay */

            MPI_Type_free(&type);
        }
    }
}

static void side_close(side_t *side)
{
    free(side->counts);
    free(side->displs);
    free(side->types);
}

#define BUFFERS                                                              \
    sendbuf, send->counts, send->displs, send->types, recvbuf, recv->counts, \
        recv->displs, recv->types, comm

static int make(const void *sendbuf, const side_t *send, void *recvbuf,
                const side_t *recv, MPI_Comm comm, MPI_Request *request)
{
#ifdef ALLTOALLW_INIT
    if (test.persistent) {
        return ALLTOALLW_INIT(BUFFERS, MPI_INFO_NULL, request);
    }
#endif
    return test.nonblocking ? MPI_Ialltoallw(BUFFERS, request)
                            : MPI_Alltoallw(BUFFERS);
}

int alltoallv_by_w(const void *sendbuf, const int *sendcounts,
                   const int *sdispls, MPI_Datatype sendtype, void *recvbuf,
                   const int *recvcounts, const int *rdispls,
                   MPI_Datatype recvtype, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    side_t      send    = {0}, recv;
    int         n_peers, inter, rc;

    MPI_Comm_test_inter(comm, &inter);
    if (inter) {
        MPI_Comm_remote_size(comm, &n_peers);
    } else {
        MPI_Comm_size(comm, &n_peers);
    }
    recv = side_open(n_peers, recvcounts, rdispls, recvtype);
    if (sendbuf != MPI_IN_PLACE) {
        send = side_open(n_peers, sendcounts, sdispls, sendtype);
    }
    rc = make(sendbuf, &send, recvbuf, &recv, comm, &request);
    if (!NEEDS_TYPES) {
        free_types(&send, sendcounts);
        free_types(&recv, recvcounts);
    }
    if (rc == MPI_SUCCESS && test.persistent) {
        rc = MPI_Start(&request);
    }
    if (rc == MPI_SUCCESS) {
        rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (NEEDS_TYPES) {
        free_types(&send, sendcounts);
        free_types(&recv, recvcounts);
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Request_free(&request);
    }
    side_close(&send);
    side_close(&recv);
    return rc;
}
