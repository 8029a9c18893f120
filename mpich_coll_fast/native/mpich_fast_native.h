/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between an MPICH that knows the algorithm "fast" and libmpich_coll_fast.so:
 * two tables of functions. Neither side includes a header of the other, and
 * neither is linked with the other.
 *
 * All functions that return int return an MPI error class, 0 for success. A
 * communicator is what the glue makes of the user's; in a call all its ranks are
 * there for collective operations of ours.
 */
#ifndef MPICH_FAST_NATIVE_H
#define MPICH_FAST_NATIVE_H

#include <stdbool.h>
#include <stddef.h>

/* Grows when anything below changes. */
#define MPICH_FAST_NATIVE_VERSION 7

typedef struct mpich_fast_native_type {
    ptrdiff_t size, extent, true_lb;
    bool contiguous; /* one element looks packed as in memory */
} mpich_fast_native_type_t;

/* Of a call, as those of MPI_Alltoallv_c. */
typedef struct mpich_fast_native_args {
    const void *sendbuf;
    const ptrdiff_t *sendcounts; /* even: one number, and no displacements */
    const ptrdiff_t *sdispls;
    int sendtype;
    void *recvbuf;
    const ptrdiff_t *recvcounts;
    const ptrdiff_t *rdispls;
    int recvtype;
    const int *sendtypes; /* MPI_Alltoallw: of each block, and displacements are bytes; else NULL */
    const int *recvtypes;
    bool even; /* MPI_Alltoall: all blocks alike, one behind the other */
    bool reduces; /* MPI_Allreduce: so many elements of recvtype, by op; the other counts and types
                     are not set */
    ptrdiff_t count;
    int op;
} mpich_fast_native_args_t;

/* What MPICH does for the library. */
typedef struct mpich_fast_services {
    int (*allgather)(void *comm, const void *in, ptrdiff_t len, void *out);
    /* Collective, before the first message on it: now it gets messages that nobody else uses. */
    int (*open)(void *comm);
    /* The least of all ranks' numbers. */
    int (*least)(void *comm, int mine, int *least);
    /* Move MPICH's own messages, and let other threads in. */
    void (*progress)(void);
    /* From now on MPICH's progress calls poll(), which returns how much it has done. */
    int (*watch)(unsigned (*poll)(void));

    /* A request ends when test() has set *done, or has failed. source -1: any. */
    int (*isend)(void *comm, const void *buf, ptrdiff_t len, int dest, int tag, void **request);
    int (*irecv)(void *comm, void *buf, ptrdiff_t len, int source, int tag, void **request);
    int (*test)(void *request, bool *done, ptrdiff_t *len);
    void (*cancel)(void *request);

    /* Types are handles of MPI. n elements are len bytes. */
    void (*describe)(int type, mpich_fast_native_type_t *description);
    int (*pack)(const void *from, ptrdiff_t n, int type, void *packed, ptrdiff_t len);
    int (*unpack)(const void *packed, ptrdiff_t len, void *to, ptrdiff_t n, int type);

    /* A type of one element as programs name it: below its functions MPICH may have others. */
    int (*name_of)(int type);
    /* Add n elements, by an operation of MPI. */
    int (*reduce)(const void *from, void *to, ptrdiff_t n, int type, int op);
    bool (*commutes)(int op);

    /* Its handle stays valid until it is released. */
    void (*hold)(int type);
    void (*release)(int type);
    /* A call on it is under way: comm_free() waits for release_comm(), which may call it. */
    void (*hold_comm)(void *comm);
    void (*release_comm)(void *comm);

    /* Serve the call by MPICH's own algorithm: what serve() was given, perhaps other buffers. */
    int (*run)(void *call, const mpich_fast_native_args_t *args);

    void (*abort)(int exit_status);
} mpich_fast_services_t;

/* A communicator of two ranks or more. */
typedef struct mpich_fast_native_comm {
    void *comm;
    const char *name; /* of the user's communicator; not kept */
    int rank, size;
    int node; /* the same on ranks of one node, and only there */
    int world_rank;
} mpich_fast_native_comm_t;

/* What the library does for MPICH. */
typedef struct mpich_fast_native {
    /* What says, to a rank alone, which allreduces it serves: alike on ranks where it is alike; 0:
     * none. */
    int (*reductions)(void);
    /* Is this allreduce one of them? Only these may be served, started and made. */
    bool (*takes)(const mpich_fast_native_args_t *args, bool blocking);

    /* Collective; alike on every rank. After an error there is no state, and calls are to be left to
     * MPICH's own algorithms. */
    int (*comm_create)(const mpich_fast_native_comm_t *comm, void **state_p);
    /* Local; the last use of comm. */
    void (*comm_free)(void *state);
    /* Collective. What is not for the library goes to run(), with call. */
    int (*serve)(void *state, const mpich_fast_native_args_t *args, void *call);

    /* A nonblocking call begins, or, collectively, a persistent one is made. *operation NULL: it is
     * for MPICH's own algorithm, on all ranks. What args refers to may go, types too. */
    int (*start)(void *state, const mpich_fast_native_args_t *args, void **operation);
    int (*init)(void *state, const mpich_fast_native_args_t *args, void **operation);
    /* Once for each init(), or after an end: the persistent call begins. Local. */
    void (*start_again)(void *operation);
    /* Has it ended? Then its error class. */
    int (*test)(void *operation, bool *done);
    void (*free)(void *operation);

    /* MPI_Finalize. Communicators that are still there are freed. */
    void (*finalize)(void);
} mpich_fast_native_t;

/* Why the library does not serve, for one rank to say. */
typedef struct mpich_fast_refusal {
    char why[768];
    bool stop; /* the job; else the calls are MPICH's on all ranks */
} mpich_fast_refusal_t;

/* The one symbol that MPICH looks up, "mpich_fast_native_open". NULL if the library cannot serve.
 * Called once. */
typedef const mpich_fast_native_t *mpich_fast_native_open_t(int version,
                                                            const mpich_fast_services_t *services,
                                                            int world_rank, int world_size,
                                                            mpich_fast_refusal_t *refusal);

#endif
