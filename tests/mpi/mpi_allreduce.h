/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cases about MPI_Allreduce share: vectors, and the result that each rank
 * computes alone. */
#ifndef MPI_ALLREDUCE_H
#define MPI_ALLREDUCE_H

#include "mpi_pattern.h"
#include "mpi_test.h"

typedef struct allreduce_test {
    int all;         /* floating point may be ours */
    int late;        /* a rank, or below 0 */
    int nonblocking; /* such calls may be ours */
    int persistent;
    int threads;
} allreduce_test_t;

extern allreduce_test_t allreduce_test;

/* The rank that is late sleeps. */
void come_late(void);

/* ---- vectors ---- */

typedef enum kind {
    INTEGER,
    LOGICAL,
    BYTES,
    PAIR,
    REAL,
    COMPLEX,
    REAL_PAIR
} kind_t;

typedef struct type {
    const char  *name;
    MPI_Datatype type;
    kind_t       kind;
    size_t       size;
} type_t;

/* A call. */
typedef struct plan {
    MPI_Comm      comm;
    const type_t *type;
    MPI_Op        op;
    const char   *op_name;
    int           count;
    int           in_place;
    uint32_t      round;
} plan_t;

/* On MPI_COMM_WORLD, with values of its own. */
plan_t sum(MPI_Datatype type, int count, int in_place);

typedef struct vectors {
    plan_t      plan;
    int         rank; /* in its communicator, which may be gone */
    char       *send, *recv, *want;
    uint64_t    send_device, recv_device; /* with guards; 0: on the host */
    const void *source;                   /* for the MPI, like the next */
    void       *target;
    MPI_Request request;
} vectors_t;

void vectors_make(vectors_t *v, const plan_t *p);
/* Write what is reduced, in another round say. */
void vectors_fill(vectors_t *v);
void vectors_check(vectors_t *v);
void vectors_free(vectors_t *v);

/* A blocking call; and was it ours? */
void call(const plan_t *p);
void check_call(const plan_t *p);
/* Were so many calls ours, since before? */
void expect_served(uint64_t before, uint64_t n);

/* Commutative, of integers. */
void add_ints(void *in, void *inout, int *len, MPI_Datatype *type);

/* ---- an MPI_Ialltoallv ---- */

typedef struct exchange {
    int        *counts, *displs;
    int        *send, *recv;
    MPI_Request request;
} exchange_t;

void exchange_init(exchange_t *x);
void exchange_fini(exchange_t *x); /* and look at what has come */

/* ---- mpi_allreduce_later.c: nonblocking and persistent ---- */

/* A nonblocking call, and its end. */
void post(vectors_t *v, const plan_t *p, MPI_Op op);
void take(vectors_t *v);

extern const test_case_t later_cases[];
extern const size_t      n_later_cases;

/* ---- mpi_allreduce_threads.c: only with --threads ---- */

extern const test_case_t threaded_cases[];
extern const size_t      n_threaded_cases;

#endif
