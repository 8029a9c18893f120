/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoall with blocks from nothing to a megabyte, as plain bytes, in place, with
 * a type that has gaps, and with types that differ at the two ends; on
 * MPI_COMM_WORLD, on its ranks backwards, and on halves of it in turn. Every byte
 * is checked, and gaps stay as they were. Last comes a call without data, with
 * one buffer for both sides on some ranks. Plain MPI-3.
 *
 *   mpi_alltoall [MOST [persistent]]
 *      MOST         bytes of a block, at most (default 300000)
 *      persistent   each call is MPI_Alltoall_init, started twice
 */
#include "mpi_init.h"
#include "mpi_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = 0xEE, GAP = 3, WORD = 4 };

typedef enum way { PLAIN, IN_PLACE, GAPS, TWO_TYPES, N_WAYS } way_t;

static const char *const ways[] = {"plain", "in place", "gaps", "two types"};

/* Four bytes, and a gap behind them. */
static MPI_Datatype gappy;
static int          n_wrong, world_rank;
static int          persistent;
static uint32_t     round_no;

typedef struct side {
    MPI_Datatype type;
    int          count; /* of a block */
    size_t stride; /* bytes of memory that WORD bytes take; 0: all are dense */
} side_t;

static side_t side_of(way_t way, int is_send, size_t len)
{
    if (way == GAPS || (way == TWO_TYPES && is_send)) {
        return (side_t){gappy, (int)(len / WORD), WORD + GAP};
    }
    return way == TWO_TYPES ? (side_t){MPI_INT32_T, (int)(len / WORD), 0}
                            : (side_t){MPI_BYTE, (int)len, 0};
}

static size_t block_bytes(const side_t *side, size_t len)
{
    return side->stride == 0 ? len : len / WORD * side->stride;
}

/* Byte k of a block in memory. */
static unsigned char *at(unsigned char *buffer, const side_t *side, size_t len,
                         int block, size_t k)
{
    unsigned char *start = buffer + (size_t)block * block_bytes(side, len);

    return side->stride == 0 ? start + k
                             : start + k / WORD * side->stride + k % WORD;
}

static void fill(MPI_Comm comm, unsigned char *send, const side_t *side,
                 size_t len)
{
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int d = 0; d < size; ++d) {
        uint64_t key = pattern_key((uint32_t)rank, (uint32_t)d, round_no);

        for (size_t k = 0; k < len; ++k) {
            *at(send, side, len, d, k) = pattern_byte(key, k);
        }
    }
}

/* The blocks, their gaps, and what is behind them in the most bytes of the buffer. */
static int check(MPI_Comm comm, unsigned char *recv, const side_t *side,
                 size_t len, size_t most)
{
    int rank, size, wrong = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int s = 0; s < size; ++s) {
        uint64_t key = pattern_key((uint32_t)s, (uint32_t)rank, round_no);

        for (size_t k = 0; k < len; ++k) {
            wrong += *at(recv, side, len, s, k) != pattern_byte(key, k);
        }
        for (size_t k = 0; side->stride > 0 && k < len; k += WORD) {
            for (size_t gap = 0; gap < GAP; ++gap) {
                wrong += at(recv, side, len, s, k)[WORD + gap] != UNTOUCHED;
            }
        }
    }
    for (size_t k = (size_t)size * block_bytes(side, len); k < most; ++k) {
        wrong += recv[k] != UNTOUCHED;
    }
    return wrong;
}

/* A call of one form or the other. */
typedef struct call {
    MPI_Comm       comm;
    way_t          way;
    size_t         len;
    side_t         send_side, recv_side;
    unsigned char *send, *recv;
    size_t         most; /* bytes of each */
    MPI_Request    request;
} call_t;

#define BUFFERS                                                              \
    c->way == IN_PLACE ? MPI_IN_PLACE : c->send, c->send_side.count,         \
        c->way == IN_PLACE ? MPI_DATATYPE_NULL : c->send_side.type, c->recv, \
        c->recv_side.count, c->recv_side.type, c->comm

static void make(call_t *c)
{
#ifdef ALLTOALL_INIT
    if (persistent && c->request == MPI_REQUEST_NULL) {
        ALLTOALL_INIT(BUFFERS, MPI_INFO_NULL, &c->request);
    }
#endif
    if (c->request == MPI_REQUEST_NULL) {
        MPI_Alltoall(BUFFERS);
        return;
    }
    MPI_Start(&c->request);
    MPI_Wait(&c->request, MPI_STATUS_IGNORE);
}

/* Returns the number of wrong bytes. */
static int make_and_check(call_t *c)
{
    ++round_no;
    memset(c->recv, UNTOUCHED, c->most);
    fill(c->comm, c->way == IN_PLACE ? c->recv : c->send,
         c->way == IN_PLACE ? &c->recv_side : &c->send_side, c->len);
    make(c);
    return check(c->comm, c->recv, &c->recv_side, c->len, c->most);
}

static void exchange(MPI_Comm comm, const char *name, way_t way, size_t len)
{
    call_t c = {.comm      = comm,
                .way       = way,
                .len       = len,
                .send_side = side_of(way, 1, len),
                .recv_side = side_of(way, 0, len),
                .request   = MPI_REQUEST_NULL};
    int    size, wrong;

    MPI_Comm_size(comm, &size);
    c.most = (size_t)size * (len + len / WORD * GAP) + 1;
    c.send = malloc(c.most);
    c.recv = malloc(c.most);
    wrong  = make_and_check(&c);
    if (c.request != MPI_REQUEST_NULL) {
        wrong += make_and_check(&c);
        MPI_Request_free(&c.request);
    }
    if (wrong > 0 && n_wrong == 0) {
        printf(
            "rank %d of MPI_COMM_WORLD: %s, %s, blocks of %zu bytes: %d wrong "
            "bytes\n",
            world_rank, name, ways[way], len, wrong);
    }
    n_wrong += wrong;
    free(c.send);
    free(c.recv);
}

static void all_ways(MPI_Comm comm, const char *name, size_t most)
{
    static const size_t lens[] = {0,    4,     8,     64,     500,
                                  4096, 20000, 70000, 300000, 1000000};

    for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); ++k) {
        for (int way = 0; way < N_WAYS && lens[k] <= most; ++way) {
            exchange(comm, name, (way_t)way, lens[k]);
        }
    }
}

/* One after the other on communicators that share ranks. */
static void in_turn(MPI_Comm half, MPI_Comm backwards)
{
    for (int k = 0; k < 30; ++k) {
        exchange(half, "half", PLAIN, (size_t)(k * k));
        exchange(backwards, "backwards", k % 2 ? IN_PLACE : GAPS,
                 (size_t)(k * 40));
    }
}

/* With count 0 one buffer may be for both sides, here on every second rank. */
static void nothing_in_one_buffer(void)
{
    unsigned char both = UNTOUCHED, other = UNTOUCHED;

    MPI_Alltoall(world_rank % 2 ? &other : &both, 0, MPI_BYTE, &both, 0,
                 MPI_BYTE, MPI_COMM_WORLD);
    n_wrong += both != UNTOUCHED;
}

int main(int argc, char **argv)
{
    size_t       most = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 300000;
    MPI_Comm     backwards, half, dup;
    MPI_Datatype word;
    int          size, all_wrong;

    persistent = argc > 2 && strcmp(argv[2], "persistent") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(WORD, MPI_BYTE, &word);
    MPI_Type_create_resized(word, 0, WORD + GAP, &gappy);
    MPI_Type_commit(&gappy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - world_rank, &backwards);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    all_ways(MPI_COMM_WORLD, "MPI_COMM_WORLD", most);
    all_ways(backwards, "backwards", most);
    all_ways(half, "half", most);
    in_turn(half, backwards);
    all_ways(dup, "dup", most < 500 ? most : 500);
    nothing_in_one_buffer();
    MPI_Comm_free(&dup);
    MPI_Comm_free(&half);
    MPI_Comm_free(&backwards);
    MPI_Type_free(&gappy);
    MPI_Type_free(&word);
    MPI_Allreduce(&n_wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0) {
        printf("mpi_alltoall: %s\n", all_wrong == 0 ? "ok" : "WRONG");
    }
    MPI_Finalize();
    return all_wrong != 0;
}
