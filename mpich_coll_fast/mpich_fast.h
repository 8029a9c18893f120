/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmpich_coll_fast: translates between MPICH, or an MPI of the same ABI, and
 * libfastsched. Stands before the MPI, by LD_PRELOAD or by the order of linking.
 * Compiled for the other ABI it is libfastsched_mpi_abi, see mpich_fast_abi.h.
 */
#ifndef MPICH_FAST_H
#define MPICH_FAST_H

#include "wrapper/fs_wrapper.h"
#include "mpich_fast_abi.h"
#include "mpich_fast_export.h"

/* ---- mpich_fast_next.c: what we call of the MPI, by the PMPI_ names ---- */

/* clang-format off */
#define MPICH_FAST_CALLS(DO) \
    DO(Abort) DO(Add_error_class) DO(Add_error_code) DO(Add_error_string) DO(Allreduce) \
    DO(Barrier) DO(Bcast) DO(Cancel) DO(Comm_call_errhandler) DO(Comm_create_keyval) \
    DO(Comm_delete_attr) DO(Comm_free) DO(Comm_get_attr) DO(Comm_get_errhandler) \
    DO(Comm_get_name) DO(Comm_rank) DO(Comm_set_attr) DO(Comm_set_errhandler) DO(Comm_size) \
    DO(Comm_split) DO(Comm_split_type) DO(Comm_test_inter) DO(Errhandler_free) DO(Error_class) \
    DO(Get_count) \
    DO(Grequest_complete) DO(Grequest_start) DO(Iallgather) DO(Iallreduce) DO(Initialized) \
    DO(Iprobe) DO(Irecv) DO(Isend) DO(Op_commutative) DO(Pack) DO(Recv) DO(Reduce_local) DO(Request_free) DO(Send) DO(Status_set_cancelled) \
    DO(Status_set_elements) DO(Test) DO(Type_commit) DO(Type_dup) \
    DO(Type_create_hindexed) DO(Type_free) DO(Type_get_contents) DO(Type_get_envelope) \
    DO(Type_get_extent) DO(Type_get_true_extent) DO(Type_size_x) DO(Unpack)
/* clang-format on */
/* What MPIs before MPI 4 lack; then NULL. */
#define MPICH_FAST_NEW_CALLS(DO) \
    DO(Pack_c) DO(Type_get_contents_c) DO(Type_get_envelope_c) DO(Unpack_c)

#define MPICH_FAST_FIELD(name) __typeof__(&PMPI_##name) name;

typedef struct mpich_fast_mpi {
    MPICH_FAST_CALLS(MPICH_FAST_FIELD)
    MPICH_FAST_NEW_CALLS(MPICH_FAST_FIELD)
    /* MPICH's own; or NULL. */
    int (*Xgrequest_start)(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free,
                           MPI_Grequest_cancel_function *cancel,
                           int (*poll)(void *extra, MPI_Status *status),
                           int (*wait)(int n, void **extras, double timeout, MPI_Status *status),
                           void *extra, MPI_Request *request);
    int (*Async_start)(int (*poll)(void *thing), void *extra, int stream); /* of 4.3 */
} mpich_fast_mpi_t;

extern mpich_fast_mpi_t mpi;

/* Fill mpi. NULL; or why not: the MPI of this process is not of this ABI. */
const char *mpich_fast_find_mpi(void);

/* ---- mpich_fast_params.c ---- */

/* What a launcher that has loaded the library hands on to the ranks. */
#define MPICH_FAST_ALIAS           "FASTSCHED_ALLTOALLV"
#define MPICH_FAST_ALLREDUCE_ALIAS "FASTSCHED_ALLREDUCE_ALGORITHM"

extern fs_wrapper_t mpich_fast_wrapper;

void mpich_fast_say(const char *line);
void mpich_fast_sayf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, before something that may end the job: there is time to read it. */
void mpich_fast_say_last(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Once. False: the job has to stop, and wrong is the line that one rank
 * prints. */
bool mpich_fast_read_params(int world_rank, int world_size, char *wrong, size_t len);

/* ---- mpich_fast_init.c ---- */

/* The user has chosen us for MPI_Allreduce by a variable of MPICH. */
extern bool mpich_fast_chosen_for_allreduce;

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
    /* A type of one element as programs name it. */
    MPI_Datatype (*name)(MPI_Datatype type);
    void (*describe)(MPI_Datatype type, mpich_fast_layout_t *layout);
    /* Does one element look packed as in memory? */
    bool (*is_dense)(MPI_Datatype type);
    /* n elements are len bytes; more than INT_MAX only where it packs_large. */
    int (*pack)(const void *from, int n, MPI_Datatype type, void *packed, MPI_Count len);
    int (*unpack)(const void *packed, MPI_Count len, void *to, int n, MPI_Datatype type);
    bool (*packs_large)(void);
    /* Add n elements, by an operation of the MPI. */
    int (*reduce)(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op);
    bool (*commutes)(MPI_Op op);
    /* A handle of one's own, for when the user's is gone. */
    int (*hold)(MPI_Datatype type, MPI_Datatype *own_p);
    void (*release)(MPI_Datatype *own);
} mpich_fast_engine_t;

extern const mpich_fast_engine_t *mpich_fast_engine;

/* ---- mpich_fast_dtype.c: counts, displacements and types as bytes ---- */

typedef struct mpich_fast_side {
    MPI_Datatype type;
    const MPI_Datatype *types; /* if not NULL, of each block */
    const void *counts;
    const void *displs;
    bool large; /* they are MPI_Count and MPI_Aint */
    bool even;  /* one count, no displacements */
    char *buf;
    mpich_fast_layout_t layout; /* of type */
} mpich_fast_side_t;

/* One in hand. */
typedef struct mpich_fast_call {
    const mpich_fast_args_t *args;
    MPI_Comm comm;
    mpich_fast_side_t send; /* in place: the receive side */
    mpich_fast_side_t recv;
} mpich_fast_call_t;

/* Elements for a rank, or from it. */
MPI_Count mpich_fast_count_of(const mpich_fast_side_t *side, uint32_t rank);

/* For fs_wrapper_calls_t; ctx is an mpich_fast_call_t. */
fs_status_t mpich_fast_describe(void *ctx, fs_buffers_t *buffers);
fs_status_t mpich_fast_pack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes,
                            void *dst);
fs_status_t mpich_fast_unpack(void *ctx, uint32_t block, uint64_t offset, uint64_t len_bytes,
                              const void *src);

/* ---- mpich_fast_allreduce.c: likewise, of MPI_Allreduce ---- */

fs_status_t mpich_fast_describe_reduction(void *ctx, fs_buffers_t *buffers);
fs_status_t mpich_fast_reduce(void *ctx, const void *src, void *dst, uint64_t len_bytes);
/* With parameter allreduce, not off: the same on all ranks. */
bool mpich_fast_takes_reduction(const mpich_fast_args_t *args, bool blocking);

/* ---- mpich_fast_comm.c: one communicator ---- */

typedef struct mpich_fast_comm mpich_fast_comm_t;
struct mpich_fast_comm {
    /* In an MPICH that has called us these are its own business, and MPI_COMM_NULL. */
    MPI_Comm comm;       /* the user's */
    MPI_Comm own;        /* the same ranks, for messages of transport mpi; else MPI_COMM_NULL */
    MPI_Request endless; /* a test of it drives the MPI */
    void *in_mpich;      /* there: what it calls this one; else NULL */
    char name[MPI_MAX_OBJECT_NAME];
    bool counts; /* its calls: it has other ranks, all in one group */
    fs_wrapper_comm_t shared;
    mpich_fast_comm_t *next;
    unsigned n_users; /* the communicator, and each nonblocking call */
};

/* fs_wrapper_open(). mine: what this rank has failed at before. After FS_ERR_NOMEM calls go to the
 * MPI, but no rank may keep the state, since one may have none: the next call comes here again. */
fs_status_t mpich_fast_comm_open(mpich_fast_comm_t *state, const fs_native_t *native,
                                 uint32_t server_label, int world_rank, fs_status_t mine);

/* For MPI_Finalize: some are never freed. */
void mpich_fast_comm_list(mpich_fast_comm_t *state);
/* Local. In front of an MPICH the sums of all ranks have been told: mpich_fast_before_free(). */
void mpich_fast_comm_free(mpich_fast_comm_t *state);
/* MPI_Finalize: report and free what is on the list. */
void mpich_fast_finish(void);
/* Have that called by an MPI that is not in league with us. */
void mpich_fast_watch_finalize(void);

/* State of a communicator, made at its first call, collectively; NULL once MPI_Finalize has begun.
 * Returns an MPI error code, of which the error handler knows. */
int mpich_fast_comm_get(MPI_Comm comm, mpich_fast_comm_t **state_p);

/* The same where it has been made; else NULL. Local. */
mpich_fast_comm_t *mpich_fast_comm_find(MPI_Comm comm);
/* One user more or less: the last one frees it. */
void mpich_fast_comm_retain(mpich_fast_comm_t *state);
void mpich_fast_comm_release(mpich_fast_comm_t *state);

/* Tell the communicator's error handler; without a communicator that is the caller's business.
 * Returns the MPI error code. */
int mpich_fast_raise(MPI_Comm comm, fs_status_t status);

/* Around calls of our own on the user's communicator: their errors are not for its error handler.
 * Returns that handler, for the end of it. */
MPI_Errhandler mpich_fast_silence(MPI_Comm comm);
void mpich_fast_speak(MPI_Comm comm, MPI_Errhandler theirs);

/* ---- mpich_fast_async.c: where MPICH has what it takes; else these do nothing ---- */

/* A nonblocking call is under way: MPICH's progress moves our network. It has ended. */
void mpich_fast_async_begin(void);
void mpich_fast_async_end(void);
/* MPI_Finalize has begun, and may find calls that nobody has waited for. */
void mpich_fast_async_stop(void);

/* ---- mpich_fast_serve.c ---- */

/* A call on a state that counts. Returns an MPI error code, of which the
 * error handler knows. */
int mpich_fast_serve_on(mpich_fast_comm_t *state, const mpich_fast_args_t *args);

/* ---- mpich_fast_operation.c: a nonblocking or persistent call ---- */

/* Of one side. */
typedef struct mpich_fast_kept {
    void *counts, *displs;
    MPI_Datatype *types;
    uint32_t n_types;
} mpich_fast_kept_t;

/* The owner sets ended, and the rest to zero. */
typedef struct mpich_fast_operation {
    mpich_fast_call_t call; /* first */
    mpich_fast_args_t args;
    fs_operation_t *ours; /* NULL: none has been made */
    bool is_persistent;
    /* In mpich_fast_end_operations(), with an MPI error code. One that is not persistent may be
     * freed then. */
    void (*ended)(struct mpich_fast_operation *op, int rc);
    mpich_fast_kept_t send, recv;
} mpich_fast_operation_t;

/* fs_wrapper_takes_nonblocking() */
bool mpich_fast_operation_is_ours(const mpich_fast_comm_t *state, const mpich_fast_args_t *args,
                                  bool is_persistent);

/* As fs_wrapper_start(), with op->ours. What args refers to may go. */
fs_status_t mpich_fast_operation_start(mpich_fast_operation_t *op, mpich_fast_comm_t *state,
                                       const mpich_fast_args_t *args);

/* End all that have come to their end. */
void mpich_fast_end_operations(void);

/* As fs_wrapper_init_persistent(), with op->ours. op is NULL for want of memory. */
fs_status_t mpich_fast_operation_init(mpich_fast_operation_t *op, mpich_fast_comm_t *state,
                                      const mpich_fast_args_t *args);
void mpich_fast_operation_free(mpich_fast_operation_t *op);

/* ---- mpich_fast_host.c: what libfastsched asks of the MPI ---- */

fs_native_t mpich_fast_host(mpich_fast_comm_t *state);
/* Before its first call; false: out of memory. Stop after its last. */
bool mpich_fast_host_start(mpich_fast_comm_t *state);
void mpich_fast_host_stop(mpich_fast_comm_t *state);
/* The lowest rank of the communicator on this rank's node, or what parameter servers says. Collective.
 * Returns an MPI error code. */
int mpich_fast_server_label(const mpich_fast_comm_t *state, uint32_t *label_p);

#endif
