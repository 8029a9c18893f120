/* SPDX-License-Identifier: BSD-3-Clause */
/* One alltoallv with every byte checked: data, gaps, and the memory around. */
#ifndef MPI_EXCHANGE_H
#define MPI_EXCHANGE_H

#include "mpi_buffer.h"
#include "mpi_init.h"
#include "mpi_test.h"

/* Units that world rank src sends to dst in a round. */
typedef uint32_t (*units_fn)(int src, int dst, uint32_t round);

typedef enum call {
    CALL_BLOCKING,
    CALL_LARGE, /* blocking, MPI_Alltoallv_c where MPI has it */
    CALL_NONBLOCKING,
    CALL_PERSISTENT /* started twice; nonblocking where MPI has none */
} call_t;

typedef int (*alltoallv_fn)(const void *sendbuf, const int *sendcounts,
                            const int *sdispls, MPI_Datatype sendtype,
                            void *recvbuf, const int *recvcounts,
                            const int *rdispls, MPI_Datatype recvtype,
                            MPI_Comm comm);

typedef struct exchange {
    /* What to do; zero is a plain exchange of bytes. */
    MPI_Comm    comm;
    units_fn    units;
    uint32_t    round;
    int         family;
    int         send_layout; /* which of the family */
    int         recv_layout;
    placement_t placement;
    call_t      call;
    int         in_place;    /* units must be symmetric */
    int         any_server;  /* do not look at what served the call */
    int         send_bottom; /* MPI_BOTTOM, and a type that has the */
    int         recv_bottom; /* address in it */
    /* A blocking call can be made twice, the second time (or the first) with
     * this function, on a communicator of the same ranks, and into memory of
     * its own. Both must receive the same. */
    alltoallv_fn           reference;
    MPI_Comm               reference_comm;
    int                    reference_first;
    struct exchange_state *state;
} exchange_t;

/* Begin and end; a blocking call is made by begin. */
void exchange_begin(exchange_t *x);
void exchange_end(exchange_t *x);

/* In between: see whether a nonblocking one is over, many times. */
void exchange_look(exchange_t *x);

/* Both. */
void exchange(exchange_t x);

/* MPI_Alltoallv by way of MPI_Alltoallw. */
int alltoallv_by_w(const void *sendbuf, const int *sendcounts,
                   const int *sdispls, MPI_Datatype sendtype, void *recvbuf,
                   const int *recvcounts, const int *rdispls,
                   MPI_Datatype recvtype, MPI_Comm comm);

/* Units that many cases use: 0 to 20000 bytes, a quarter of the pairs zero. */
uint32_t units_ragged(int src, int dst, uint32_t round);
/* 0 to 600 and at times 16 times as many, for types. */
uint32_t units_few(int src, int dst, uint32_t round);

#endif
