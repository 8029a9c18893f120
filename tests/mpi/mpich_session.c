/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions beside MPI_Init, for an MPICH that has them.
 *
 *   mpich_session --self     rank 0 makes a call in a session, then MPI_Init
 *   mpich_session --world    all ranks do that together
 *
 * Calls before MPI_Init are the MPI's. Those after it, on the session's
 * communicator and on MPI_COMM_WORLD, are served on every rank, by algorithm
 * "staged": they are counted, see mpich_coll_fast.h.
 */
#include "mpi_pattern.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 16, LEN = 1000 };

static void stop(const char *what)
{
    fprintf(stderr, "mpich_session: rank %s: %s\n", getenv("PMI_RANK"), what);
    exit(1);
}

static void use(MPI_Comm comm, uint32_t round)
{
    static unsigned char send[MAX_RANKS * LEN], recv[MAX_RANKS * LEN];
    int                  lens[MAX_RANKS], displs[MAX_RANKS], rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int r = 0; r < size; ++r) {
        lens[r]   = LEN;
        displs[r] = r * LEN;
        pattern_write(pattern_key((uint32_t)rank, (uint32_t)r, round), 0, LEN,
                      send + r * LEN);
    }
    memset(recv, 0xEE, sizeof(recv));
    if (MPI_Alltoallv(send, lens, displs, MPI_BYTE, recv, lens, displs,
                      MPI_BYTE, comm) != MPI_SUCCESS) {
        stop("MPI_Alltoallv failed");
    }
    for (int k = 0; k < size * LEN; ++k) {
        uint64_t key = pattern_key((uint32_t)(k / LEN), (uint32_t)rank, round);

        if (recv[k] != pattern_byte(key, (size_t)(k % LEN))) {
            stop("wrong bytes");
        }
    }
}

static MPI_Comm open_session(const char *pset, MPI_Session *session)
{
    MPI_Group group;
    MPI_Comm  comm;

    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session) !=
            MPI_SUCCESS ||
        MPI_Group_from_session_pset(*session, pset, &group) != MPI_SUCCESS ||
        MPI_Comm_create_from_group(group, "fastsched", MPI_INFO_NULL,
                                   MPI_ERRORS_RETURN, &comm) != MPI_SUCCESS) {
        stop("no session");
    }
    MPI_Group_free(&group);
    return comm;
}

static unsigned long long n_staged(void)
{
    void *library = dlopen("libmpich_coll_fast.so", RTLD_LAZY | RTLD_NOLOAD);
    unsigned long long (*counter)(const char *name);

    if (library == NULL) {
        stop("the library is not loaded");
    }
    *(void **)&counter = dlsym(library, "mpich_fast_counter");
    dlclose(library);
    return counter("calls_staged");
}

int main(int argc, char **argv)
{
    int         first = strcmp(getenv("PMI_RANK"), "0") == 0;
    int         world = argc > 1 && strcmp(argv[1], "--world") == 0;
    MPI_Comm    comm  = MPI_COMM_NULL;
    MPI_Session session;

    if (world || first) {
        comm = open_session(world ? "mpi://WORLD" : "mpi://SELF", &session);
    }
    if (comm != MPI_COMM_NULL) {
        use(comm, 1);
    }
    MPI_Init(&argc, &argv);
    if (comm != MPI_COMM_NULL) {
        use(comm, 2);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
    }
    use(MPI_COMM_WORLD, 3);
    use(MPI_COMM_WORLD, 4);
    if (n_staged() != (world ? 3 : 2)) {
        stop("fast has served another number of calls than those after "
             "MPI_Init");
    }
    MPI_Finalize();
    printf("mpich_session: ok\n");
    return 0;
}
