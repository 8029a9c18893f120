/* SPDX-License-Identifier: BSD-3-Clause */
/* One alltoallv with every byte checked: data, gaps, and the memory around. */
#ifndef MPI_EXCHANGE_H
#define MPI_EXCHANGE_H

#include "mpi_buffer.h"
#include "mpi_test.h"

/* Units that world rank src sends to dst in a round. */
typedef uint32_t (*units_fn)(int src, int dst, uint32_t round);

typedef enum call {
    CALL_BLOCKING,
    CALL_NONBLOCKING,
    CALL_PERSISTENT /* started twice; nonblocking where MPI has none */
} call_t;

typedef struct exchange {
    /* What to do; zero is a plain exchange of bytes. */
    MPI_Comm               comm;
    units_fn               units;
    uint32_t               round;
    int                    family;
    int                    send_layout; /* which of the family */
    int                    recv_layout;
    placement_t            placement;
    call_t                 call;
    int                    in_place;   /* units must be symmetric */
    int                    any_server; /* do not look at what served the call */
    struct exchange_state *state;
} exchange_t;

/* Begin and end; a blocking call is made by begin. */
void exchange_begin(exchange_t *x);
void exchange_end(exchange_t *x);

/* Both. */
void exchange(exchange_t x);

/* Units that many cases use: 0 to 20000 bytes, a quarter of the pairs zero. */
uint32_t units_ragged(int src, int dst, uint32_t round);
/* 0 to 600 and at times 16 times as many, for types. */
uint32_t units_few(int src, int dst, uint32_t round);

#endif
