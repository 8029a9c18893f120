/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that come and go: each is made from one that is alive, in one
 * of five ways. After a split of one that was split a rank has another
 * communicator than its neighbour in the same place, or none. */
#include "stress.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum kind { DUP, SPLIT, CREATED, GROUP, MERGED, N_KINDS } kind_t;

static const char *const words[N_KINDS] = {"dup", "split", "created", "group",
                                           "merged"};

comm_t comms[N_COMMS];

static uint32_t n_made;

uint32_t comms_made(void)
{
    return n_made;
}

/* ---- from a parent; a rank's part in it follows from the key and its rank
 * there ---- */

static MPI_Comm make_dup(MPI_Comm parent)
{
    MPI_Comm comm;

    must(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup");
    return comm;
}

/* One to three colours, in any order; now and then somebody stays out. */
static MPI_Comm make_split(MPI_Comm parent, uint32_t key, int rank)
{
    uint32_t me     = (uint32_t)rank;
    int      color  = (int)(draw(key, me, 1) % (1 + draw(key, 0, 2) % 3));
    int      orders = (int)(draw(key, me, 3) % 100);
    MPI_Comm comm;

    if (draw(key, me, 4) % 8 == 0) {
        color = MPI_UNDEFINED;
    }
    must(MPI_Comm_split(parent, color, orders, &comm), "MPI_Comm_split");
    return comm;
}

/* Any ranks of the parent in any order, at least two if there are two. */
static MPI_Group draw_group(MPI_Comm parent, uint32_t key, int size)
{
    int      *ranks = zalloc((size_t)size, sizeof(int));
    int       n     = size - (int)(draw(key, 0, 5) % (uint32_t)size / 2);
    MPI_Group all, some;

    for (int k = 0; k < size; ++k) {
        int other = (int)(draw(key, (uint32_t)k, 6) % (uint32_t)(k + 1));

        ranks[k]     = ranks[other];
        ranks[other] = k;
    }
    must(MPI_Comm_group(parent, &all), "MPI_Comm_group");
    must(MPI_Group_incl(all, n, ranks, &some), "MPI_Group_incl");
    MPI_Group_free(&all);
    free(ranks);
    return some;
}

static MPI_Comm make_created(MPI_Comm parent, uint32_t key, int size)
{
    MPI_Group group = draw_group(parent, key, size);
    MPI_Comm  comm;

    must(MPI_Comm_create(parent, group, &comm), "MPI_Comm_create");
    MPI_Group_free(&group);
    return comm;
}

/* Only the members call. */
static MPI_Comm make_group(MPI_Comm parent, uint32_t key, int size)
{
    MPI_Group group = draw_group(parent, key, size);
    MPI_Comm  comm  = MPI_COMM_NULL;
    int       rank;

    MPI_Group_rank(group, &rank);
    if (rank != MPI_UNDEFINED) {
        must(MPI_Comm_create_group(parent, group, 5, &comm),
             "MPI_Comm_create_group");
    }
    MPI_Group_free(&group);
    return comm;
}

/* Rank 0 is in the one half, the last rank in the other. */
static int half_of(uint32_t key, int rank, int size)
{
    return rank == size - 1 ||
           (rank != 0 && draw(key, (uint32_t)rank, 7) % 2 == 0);
}

static MPI_Comm make_merged(MPI_Comm parent, uint32_t key, int rank, int size)
{
    int      mine = half_of(key, rank, size), leader = 0;
    int      high = mine == (int)(draw(key, 0, 8) % 2);
    MPI_Comm half, inter, merged;

    while (half_of(key, leader, size) == mine) {
        ++leader;
    }
    must(MPI_Comm_split(parent, mine, rank, &half), "MPI_Comm_split");
    must(MPI_Intercomm_create(half, 0, parent, leader, 3, &inter),
         "MPI_Intercomm_create");
    must(MPI_Intercomm_merge(inter, high, &merged), "MPI_Intercomm_merge");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return merged;
}

static MPI_Comm make(kind_t kind, MPI_Comm parent, uint32_t key)
{
    int rank, size;

    if (parent == MPI_COMM_NULL) {
        return MPI_COMM_NULL;
    }
    MPI_Comm_rank(parent, &rank);
    MPI_Comm_size(parent, &size);
    switch (kind) {
    case SPLIT:
        return make_split(parent, key, rank);
    case CREATED:
        return make_created(parent, key, size);
    case GROUP:
        return make_group(parent, key, size);
    case MERGED:
        if (size > 1) {
            return make_merged(parent, key, rank, size);
        }
        break;
    case DUP:
    case N_KINDS:
        break;
    }
    return make_dup(parent);
}

/* ---- the places ---- */

/* For messages: "merged before call 120: 4 0 2". Returns the first of them. */
static int give_name(MPI_Comm comm, const char *kind, uint32_t call)
{
    char      name[MPI_MAX_OBJECT_NAME];
    MPI_Group world, group;
    int       size, len, rank = 0, first = 0;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(comm, &group);
    MPI_Comm_size(comm, &size);
    len = snprintf(name, sizeof(name), "%s before call %u:", kind, call);
    for (int k = size - 1; k >= 0; --k) {
        MPI_Group_translate_ranks(group, 1, &k, world, &first);
    }
    for (int k = 0; k < size && len < (int)sizeof(name) - 4; ++k) {
        MPI_Group_translate_ranks(group, 1, &k, world, &rank);
        len += snprintf(name + len, sizeof(name) - (size_t)len, " %d", rank);
    }
    MPI_Comm_set_name(comm, name);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return first;
}

static comm_t open_place(MPI_Comm comm, const char *kind, uint32_t call)
{
    comm_t c = {.comm = comm, .reference = MPI_COMM_NULL, .born = call};

    if (comm != MPI_COMM_NULL) {
        /* It is we who say which call fails. */
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        c.leader    = give_name(comm, kind, call);
        c.reference = reference_open(comm);
    }
    return c;
}

static void close_place(comm_t *c)
{
    if (c->comm != MPI_COMM_NULL) {
        reference_close(&c->reference);
        must(MPI_Comm_free(&c->comm), "MPI_Comm_free");
    }
}

/* The child is there before its place is free: it may be the parent's. */
void comms_renew(dice_t *dice, uint32_t call)
{
    comm_t  *place  = &comms[1 + roll(dice, N_COMMS - 1)];
    uint32_t parent = roll(dice, 2) == 0 ? 0 : roll(dice, N_COMMS);
    kind_t   kind   = (kind_t)roll(dice, N_KINDS);
    MPI_Comm comm = make(kind, comms[parent].comm, draw(stress.seed, call, 9));

    close_place(place);
    *place = open_place(comm, words[kind], call);
    ++n_made;
}

void comms_init(void)
{
    for (int k = 1; k < N_COMMS; ++k) {
        comms[k].comm = MPI_COMM_NULL;
    }
    comms[0] = open_place(MPI_COMM_WORLD, "world", 1);
}

void comms_fini(void)
{
    for (int k = 1; k < N_COMMS; ++k) {
        close_place(&comms[k]);
    }
    reference_close(&comms[0].reference);
}
