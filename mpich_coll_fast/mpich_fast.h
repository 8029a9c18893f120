/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmpich_coll_fast: translates between MPICH, or an MPI of the same ABI, and
 * libfastsched. Stands before the MPI, by LD_PRELOAD or by the order of linking.
 */
#ifndef MPICH_FAST_H
#define MPICH_FAST_H

#include "exec/fs_wrapper.h"
#include "mpich_fast_export.h"

#include <mpi.h>

/* ---- mpich_fast_next.c: what we call of the MPI, by the PMPI_ names ---- */

/* clang-format off */
#define MPICH_FAST_CALLS(DO) \
    DO(Abort) DO(Add_error_class) DO(Add_error_code) DO(Add_error_string) DO(Allreduce) \
    DO(Barrier) DO(Bcast) DO(Cancel) DO(Comm_call_errhandler) DO(Comm_create_keyval) \
    DO(Comm_delete_attr) DO(Comm_free) DO(Comm_get_attr) DO(Comm_get_errhandler) \
    DO(Comm_get_name) DO(Comm_rank) DO(Comm_set_attr) DO(Comm_set_errhandler) DO(Comm_size) \
    DO(Comm_split) DO(Comm_split_type) DO(Comm_test_inter) DO(Errhandler_free) DO(Get_count) \
    DO(Grequest_complete) DO(Grequest_start) DO(Iallgather) DO(Iallreduce) DO(Initialized) \
    DO(Irecv) DO(Isend) DO(Pack) DO(Recv) DO(Request_free) DO(Send) DO(Test) DO(Type_commit) \
    DO(Type_create_hindexed) DO(Type_free) DO(Type_get_contents) DO(Type_get_envelope) \
    DO(Type_get_extent) DO(Type_get_true_extent) DO(Type_size_x) DO(Unpack)
/* clang-format on */
/* What MPIs before MPI 4 lack; then NULL. */
#define MPICH_FAST_NEW_CALLS(DO) DO(Type_get_contents_c) DO(Type_get_envelope_c)

#define MPICH_FAST_FIELD(name) __typeof__(&PMPI_##name) name;

typedef struct mpich_fast_mpi {
    MPICH_FAST_CALLS(MPICH_FAST_FIELD)
    MPICH_FAST_NEW_CALLS(MPICH_FAST_FIELD)
} mpich_fast_mpi_t;

extern mpich_fast_mpi_t mpi;

/* Fill mpi. NULL; or why not: the MPI of this process is not of MPICH's ABI. */
const char *mpich_fast_find_mpi(void);

/* ---- mpich_fast_params.c ---- */

/* What a launcher that has loaded the library hands on to the ranks. */
#define MPICH_FAST_ALIAS "FASTSCHED_ALLTOALLV"

extern fs_wrapper_t mpich_fast_wrapper;

void mpich_fast_say(const char *line);
void mpich_fast_sayf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, before something that may end the job: there is time to read it. */
void mpich_fast_say_last(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Once. False: the job has to stop, and wrong is the line that one rank says. */
bool mpich_fast_read_params(int world_rank, int world_size, char *wrong, size_t len);

/* ---- mpich_fast_init.c ---- */

/* Read the parameters, unless that is done. in_init: all of MPI_COMM_WORLD is here. False: nothing
 * is known of this process yet, as MPI_Init was not called (sessions). */
bool mpich_fast_start(bool in_init);

/* ---- mpich_fast_pmi.c ---- */

/* In MPI_Init, on every rank that has the library and has chosen it: have all? The same on each of
 * them. False, and said. */
bool mpich_fast_all_here(int world_rank, int world_size);

/* ---- mpich_fast_engine.c: datatypes; an MPICH that has called us brings its own engine ---- */

typedef struct mpich_fast_layout {
    MPI_Count size;
    MPI_Aint extent;
    MPI_Aint true_lb;
} mpich_fast_layout_t;

/* What returns int returns an MPI error code. */
typedef struct mpich_fast_engine {
    MPI_Count (*size)(MPI_Datatype type);
    void (*describe)(MPI_Datatype type, mpich_fast_layout_t *layout);
    /* Does one element look packed as in memory? */
    bool (*is_dense)(MPI_Datatype type);
    /* n elements are len bytes. */
    int (*pack)(const void *from, int n, MPI_Datatype type, void *packed, int len);
    int (*unpack)(const void *packed, int len, void *to, int n, MPI_Datatype type);
} mpich_fast_engine_t;

extern const mpich_fast_engine_t *mpich_fast_engine;

/* ---- mpich_fast_dtype.c: counts, displacements and types as bytes ---- */

typedef struct mpich_fast_side {
    MPI_Datatype type;
    const void *counts;
    const void *displs;
    bool large; /* they are MPI_Count and MPI_Aint */
    char *buf;
    mpich_fast_layout_t layout;
    bool contiguous;
} mpich_fast_side_t;

typedef struct mpich_fast_call {
    fs_blocks_t blocks;
    bool in_place;
    mpich_fast_side_t send; /* in place: the receive side */
    mpich_fast_side_t recv;
    char *landing; /* of receive blocks of large elements, packed */
} mpich_fast_call_t;

/* Can we make sense of it? If not, it is the MPI that complains. */
bool mpich_fast_args_are_plain(const mpich_fast_args_t *args, int size);
/* All that this rank sends. */
uint64_t mpich_fast_sent_bytes(const mpich_fast_args_t *args, int size);
/* Valid until mpich_fast_call_end(). */
const fs_call_t *mpich_fast_call_begin(mpich_fast_call_t *call, const mpich_fast_args_t *args,
                                       fs_call_device_t device);
/* all_done: the exchange was successful, or nothing has moved (ran false). Otherwise the network may
 * still use what the call has allocated, which is then left alone for good. */
fs_status_t mpich_fast_call_end(mpich_fast_call_t *call, bool ran, bool all_done);

/* ---- mpich_fast_comm.c: one communicator ---- */

typedef struct mpich_fast_comm mpich_fast_comm_t;
struct mpich_fast_comm {
    /* In an MPICH that has called us these are its own business, and MPI_COMM_NULL. */
    MPI_Comm comm;       /* the user's */
    MPI_Comm own;        /* the same ranks, for messages of transport mpi; else MPI_COMM_NULL */
    MPI_Request endless; /* a test of it drives the MPI */
    int rank;
    int size;
    char name[MPI_MAX_OBJECT_NAME];
    bool counts;     /* its calls: it has other ranks, all in one group */
    fs_coll_t *coll; /* NULL: every call is left to the MPI */
    mpich_fast_call_t call;
    mpich_fast_call_t looked; /* where there are accelerators: says only where the blocks are */
    mpich_fast_comm_t *next;
};

/* fs_coll_create(), and what there is to say about it. Collective; alike on every rank. mine: what
 * this rank has failed at before. On FS_OK coll may be NULL. After FS_ERR_NOMEM calls go to the MPI,
 * but no rank may keep the state, since one may have none: the next call comes here again. */
fs_status_t mpich_fast_comm_open(mpich_fast_comm_t *state, const fs_host_t *host,
                                 uint32_t server_label, int world_rank, fs_status_t mine);

/* For MPI_Finalize: some are never freed. */
void mpich_fast_comm_list(mpich_fast_comm_t *state);
/* With parameter stats all ranks are here; in an MPICH that has called us this is local. */
void mpich_fast_comm_free(mpich_fast_comm_t *state);
/* MPI_Finalize. What is on the list ends, and the sums are told. */
void mpich_fast_finish(void);
/* Have that called by an MPI that is not in league with us. */
void mpich_fast_watch_finalize(void);

/* State of a communicator, made at its first call, collectively; NULL once MPI_Finalize has begun.
 * Returns an MPI error code, of which the error handler knows. */
int mpich_fast_comm_get(MPI_Comm comm, mpich_fast_comm_t **state_p);

/* Tell the communicator's error handler; without a communicator that is the caller's business.
 * Returns the MPI error code. */
int mpich_fast_raise(MPI_Comm comm, fs_status_t status);

/* ---- mpich_fast_alltoallv.c ---- */

/* A call on a state that counts; the arguments make sense. Returns an MPI error code, of which the
 * error handler knows. */
int mpich_fast_serve(mpich_fast_comm_t *state, const mpich_fast_args_t *args);

/* ---- mpich_fast_device.c: where there are accelerators ---- */

/* Serve a call. Returns an MPI error code. */
typedef int mpich_fast_next_t(mpich_fast_comm_t *state, const mpich_fast_args_t *args);

/* Go on with next, which learns by args->device whether a buffer is on a device. */
int mpich_fast_look_for_device(mpich_fast_comm_t *state, const mpich_fast_args_t *args,
                               mpich_fast_next_t *next);
/* Before our own turn: what goes into fs_call_t. */
fs_call_device_t mpich_fast_on_device(const mpich_fast_comm_t *state,
                                      const mpich_fast_args_t *args);
/* The MPI's turn, which gets memory that it can use. */
int mpich_fast_by_host(mpich_fast_comm_t *state, const mpich_fast_args_t *args,
                       mpich_fast_next_t *next);

/* ---- mpich_fast_host.c: what libfastsched asks of the MPI ---- */

fs_host_t mpich_fast_host(mpich_fast_comm_t *state);
/* Before its first call; false: out of memory. Stop after its last. */
bool mpich_fast_host_start(mpich_fast_comm_t *state);
void mpich_fast_host_stop(mpich_fast_comm_t *state);
/* Only what no MPI is needed for. */
fs_host_t mpich_fast_basic_host(void *ctx);
/* The lowest rank of the communicator on this rank's node, or what parameter nodes says. Collective.
 * Returns an MPI error code. */
int mpich_fast_server_label(const mpich_fast_comm_t *state, uint32_t *label_p);

#endif
