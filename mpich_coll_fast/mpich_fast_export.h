/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call as it comes in, before anybody knows whose handles these are: words
 * that hold an int of MPICH or a pointer of another MPI. No mpi.h here.
 */
#ifndef MPICH_FAST_EXPORT_H
#define MPICH_FAST_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

typedef intptr_t mpich_fast_word_t;

typedef struct mpich_fast_args {
    const void *sendbuf;
    const void *sendcounts; /* int, or MPI_Count if large; displacements alike. Even: one number,
                               and no displacements */
    const void *sdispls;
    mpich_fast_word_t sendtype;
    void *recvbuf;
    const void *recvcounts;
    const void *rdispls;
    mpich_fast_word_t recvtype;
    mpich_fast_word_t comm;
    const void *sendtypes; /* MPI_Alltoallw: of each block, and displacements are bytes; not to be
                              read of an empty one. Else NULL */
    const void *recvtypes;
    bool large;   /* the call's name ends in _c */
    bool even;    /* MPI_Alltoall: all blocks alike, one behind the other */
    bool reduces; /* MPI_Allreduce: so many elements of recvtype, by op; the other counts and types
                      are not set */
    int64_t count;
    mpich_fast_word_t op;
    void *request; /* of a nonblocking call; else NULL */
    /* The MPI's own algorithm. Returns an MPI error code. */
    int (*by_mpi)(const struct mpich_fast_args *args);
} mpich_fast_args_t;

/* The user has chosen us for some collective, and nothing speaks against it; and for these. */
extern bool mpich_fast_enabled;
extern bool mpich_fast_serves_alltoall; /* MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw */

/* mpich_fast_next.c: the next function of this name. */
void *mpich_fast_next(const char *name);

/* Of a tool behind us, the function of this name, which starts with MPI_. NULL: there is none, or
 * it would not come to us. */
void *mpich_fast_tool(const char *name);

/* Tools call PMPI_, and so come to us. One that calls the MPI_ behind itself does not: MPI_Init has
 * told. */
extern bool mpich_fast_is_passed;

/* mpich_fast_pmi.c: MPI_Init or MPI_Session_init is about to begin. */
void mpich_fast_before_init(void);

/* mpich_fast_init.c: MPI_Init has been successful. mpich_fast_is_passed is known. */
void mpich_fast_after_init(void);

/* mpich_fast_serve.c: a call, by us or by the MPI. Returns an MPI error code. */
int mpich_fast_serve(const mpich_fast_args_t *args);

/* mpich_fast_allreduce.c: likewise, blocking or not. */
int mpich_fast_serve_allreduce(const mpich_fast_args_t *args);

/* mpich_fast_comm.c: a communicator is about to be freed, here and on its other ranks. *comm is its
 * handle. */
void mpich_fast_before_free(const void *comm);

/* mpich_fast_request.c: the same, nonblocking. */
int mpich_fast_serve_nonblocking(const mpich_fast_args_t *args);
/* End what can be ended: before somebody looks at a request without asking us. */
void mpich_fast_end_requests(void);

#endif
