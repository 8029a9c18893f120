/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What only Open MPI's own headers show.
 *
 *   mpi_inside --who     rank 0 prints which component serves each collective on
 *                        MPI_COMM_WORLD, one of its halves and MPI_COMM_SELF
 *   mpi_inside --tags    after an alltoallv nonblocking collectives start again
 *                        with the first tag, as they do after 2^30 of them; all
 *                        bytes must still be right
 */
#include "ompi_config.h"

#include "mpi_pattern.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEN = 3000, MAX_RANKS = 16, ROUNDS = 12 };

static int rank, size;

/* ---- who ---- */

#define COLLECTIVES(DO)                                                      \
    DO(allgather)                                                            \
    DO(allgatherv) DO(allreduce) DO(alltoall) DO(alltoallv) DO(alltoallw)    \
        DO(barrier) DO(bcast) DO(exscan) DO(gather) DO(gatherv) DO(reduce)   \
            DO(reduce_scatter) DO(reduce_scatter_block) DO(scan) DO(scatter) \
                DO(scatterv) DO(iallgather) DO(iallgatherv) DO(iallreduce)   \
                    DO(ialltoall) DO(ialltoallv) DO(ialltoallw) DO(ibarrier) \
                        DO(ibcast) DO(iexscan) DO(igather) DO(igatherv)      \
                            DO(ireduce) DO(ireduce_scatter)                  \
                                DO(ireduce_scatter_block) DO(iscan)          \
                                    DO(iscatter) DO(iscatterv)               \
                                        DO(neighbor_allgather)               \
                                            DO(neighbor_alltoallv)           \
                                                DO(ineighbor_alltoallw)      \
                                                    DO(reduce_local)

static void print_server(const char *comm_name, const char *name,
                         void (*function)(void))
{
    Dl_info     info = {0};
    const char *file;

    if (function == NULL || dladdr(*(void **)&function, &info) == 0) {
        printf("%s %s: nobody\n", comm_name, name);
        return;
    }
    file = strrchr(info.dli_fname, '/');
    printf("%s %s: %s\n", comm_name, name,
           file != NULL ? file + 1 : info.dli_fname);
}

static void print_servers(const char *comm_name, MPI_Comm handle)
{
    const mca_coll_base_comm_coll_t *coll =
        ((ompi_communicator_t *)handle)->c_coll;

#define PRINT(_name) \
    print_server(comm_name, #_name, (void (*)(void))coll->coll_##_name);
    COLLECTIVES(PRINT)
#undef PRINT
}

static void who(void)
{
    MPI_Comm half;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    if (rank == 0) {
        print_servers("world", MPI_COMM_WORLD);
        print_servers("half", half);
        print_servers("self", MPI_COMM_SELF);
    }
    MPI_Comm_free(&half);
}

/* ---- tags ---- */

static unsigned char sent[MAX_RANKS * LEN], got[MAX_RANKS * LEN];
static int           counts[MAX_RANKS], displs[MAX_RANKS];

static void fill(int round)
{
    memset(got, 0xEE, sizeof(got));
    for (int r = 0; r < size; ++r) {
        counts[r] = LEN;
        displs[r] = r * LEN;
        pattern_write(pattern_key((uint32_t)rank, (uint32_t)r, (uint32_t)round),
                      0, LEN, sent + r * LEN);
    }
}

static void check(int round, const char *what)
{
    for (int r = 0; r < size; ++r) {
        uint64_t key =
            pattern_key((uint32_t)r, (uint32_t)rank, (uint32_t)round);

        for (int k = 0; k < LEN; ++k) {
            if (got[r * LEN + k] != pattern_byte(key, (uint64_t)k)) {
                printf("round %d, %s: rank %d has WRONG bytes of rank %d\n",
                       round, what, rank, r);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }
}

static void tags(void)
{
    ompi_communicator_t *world = (ompi_communicator_t *)MPI_COMM_WORLD;
    int32_t              first = world->c_nbc_tag;
    MPI_Request          request;

    for (int round = 0; round < ROUNDS; ++round) {
        fill(round);
        MPI_Alltoallv(sent, counts, displs, MPI_BYTE, got, counts, displs,
                      MPI_BYTE, MPI_COMM_WORLD);
        check(round, "MPI_Alltoallv");
        MPI_Barrier(MPI_COMM_WORLD);
        world->c_nbc_tag = first;
        fill(~round);
        MPI_Ialltoall(sent, LEN, MPI_BYTE, got, LEN, MPI_BYTE, MPI_COMM_WORLD,
                      &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(~round, "MPI_Ialltoall");
    }
    printf("mpi_inside: rank %d: ok\n", rank);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2 || size > MAX_RANKS) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    } else if (strcmp(argv[1], "--who") == 0) {
        who();
    } else {
        tags();
    }
    MPI_Finalize();
    return 0;
}
