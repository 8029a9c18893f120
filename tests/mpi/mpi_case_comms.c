/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases about communicators: made, used in turn, freed. */
#include "mpi_exchange.h"

#include <unistd.h>

enum { MANY = 8, CHURN = 24 };

static void use(MPI_Comm comm, uint32_t round)
{
    if (comm != MPI_COMM_NULL) {
        exchange(
            (exchange_t){.comm = comm, .units = units_ragged, .round = round});
    }
}

static MPI_Comm split(int color, int key)
{
    MPI_Comm comm;

    must(MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm), "MPI_Comm_split");
    return comm;
}

static MPI_Comm duplicate(MPI_Comm parent)
{
    MPI_Comm comm;

    must(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
    return comm;
}

/* Some split, of eight kinds. */
static MPI_Comm make(int kind)
{
    switch (kind % 8) {
    case 0:
        return duplicate(MPI_COMM_WORLD);
    case 1:
        return split(test.rank % 2, test.rank);
    case 2:
        return split(0, -test.rank);
    case 3:
        return split(test.rank % 2, -test.rank);
    case 4: /* the last rank is alone */
        return split(test.rank == test.size - 1, test.rank);
    case 5: /* halves in different servers, mostly */
        return split(test.rank < test.size / 2, test.rank % 2);
    case 6: /* rank 0 stays out */
        return split(test.rank == 0 ? MPI_UNDEFINED : 7, test.rank);
    default: /* everybody alone */
        return split(test.rank, 0);
    }
}

static void give_back(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL) {
        must(MPI_Comm_free(comm), "MPI_Comm_free");
    }
}

static void case_split(void)
{
    for (int kind = 0; kind < 8; ++kind) {
        MPI_Comm comm = make(kind);

        use(comm, (uint32_t)kind);
        use(comm, (uint32_t)kind + 100);
        give_back(&comm);
    }
}

static void case_self(void)
{
    use(MPI_COMM_SELF, 1);
    use(MPI_COMM_SELF, 2);
}

/* A child outlives its parent. */
static void case_dup(void)
{
    MPI_Comm parent = duplicate(MPI_COMM_WORLD), child;

    use(parent, 1);
    child = duplicate(parent);
    use(child, 2);
    use(parent, 3);
    give_back(&parent);
    use(child, 4);
    parent = duplicate(child);
    give_back(&child);
    use(parent, 5);
    give_back(&parent);
    use(MPI_COMM_WORLD, 6);
}

/* Eight at once, in changing order, freed in another. */
static void case_many(void)
{
    MPI_Comm comms[MANY];

    for (int k = 0; k < MANY; ++k) {
        comms[k] = make(k);
    }
    for (uint32_t round = 0; round < 3; ++round) {
        for (uint32_t k = 0; k < MANY; ++k) {
            uint32_t which = round % 2 == 0 ? k : MANY - 1 - k;

            use(comms[which], 10 * round + which);
        }
    }
    for (int k = 0; k < MANY; ++k) {
        give_back(&comms[(5 * k) % MANY]);
    }
}

/* The memory and the numbers of a communicator are used again at once, while
 * its last messages may still be under way. */
static void case_churn(void)
{
    for (int k = 0; k < CHURN; ++k) {
        MPI_Comm comm = make(k % 4 == 3 ? k / 4 : 0);

        use(comm, (uint32_t)k);
        give_back(&comm);
    }
}

/* Never used: nothing to set up, nothing to tear down. */
static void case_unused(void)
{
    for (int k = 0; k < 8; ++k) {
        MPI_Comm comm = make(k);

        give_back(&comm);
    }
}

/* Ranks come one after the other, and leave while others are still in it. */
static void case_late(void)
{
    MPI_Comm comm = duplicate(MPI_COMM_WORLD);

    for (uint32_t round = 0; round < 3; ++round) {
        usleep((useconds_t)(5000 * ((test.rank + (int)round) % 3)));
        use(comm, round);
    }
    give_back(&comm);
    comm = duplicate(MPI_COMM_WORLD);
    use(comm, 9);
    give_back(&comm);
}

static void case_idup(void)
{
    MPI_Request request;
    MPI_Comm    comm;

    must(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request), "MPI_Comm_idup");
    use(MPI_COMM_WORLD, 1);
    must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    use(comm, 2);
    give_back(&comm);
}

/* Only the members call. */
static void case_create_group(void)
{
    MPI_Group world, even;
    MPI_Comm  comm     = MPI_COMM_NULL;
    int       range[3] = {0, test.size - 1, 2};

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, &range, &even);
    if (test.rank % 2 == 0) {
        must(MPI_Comm_create_group(MPI_COMM_WORLD, even, 5, &comm),
             "MPI_Comm_create_group");
    }
    use(comm, 1);
    give_back(&comm);
    MPI_Group_free(&even);
    MPI_Group_free(&world);
}

static void case_inter(void)
{
    int      upper = test.rank >= test.size / 2;
    MPI_Comm half, inter, merged;

    if (test.size < 2) {
        return;
    }
    half = split(upper, test.rank);
    must(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD,
                              upper ? 0 : test.size / 2, 3, &inter),
         "MPI_Intercomm_create");
    use(inter, 1);
    use(half, 2);
    must(MPI_Intercomm_merge(inter, upper, &merged), "MPI_Intercomm_merge");
    use(inter, 3);
    use(merged, 4);
    give_back(&inter);
    give_back(&merged);
    give_back(&half);
}

const test_case_t comm_cases[] = {{"split", case_split},
                                  {"self", case_self},
                                  {"dup", case_dup},
                                  {"many", case_many},
                                  {"churn", case_churn},
                                  {"unused", case_unused},
                                  {"late", case_late},
                                  {"idup", case_idup},
                                  {"create-group", case_create_group},
                                  {"inter", case_inter},
                                  {NULL, NULL}};
