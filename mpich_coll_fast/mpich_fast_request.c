/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking calls: generalized requests of MPICH, which ask us how far they are.
 *
 * The MPI does not progress our network while it waits for something else. So they are
 * ours only where the thread of parameter progress_thread does, on every rank, and
 * where an earlier call has set the communicator up; all else is left to the MPI.
 *
 * The thread ends a call; whoever asks next unpacks what has come and completes the
 * request. Until then the caller may change his arrays and free his types: what is
 * needed for that is kept.
 */
#include "mpich_fast.h"

#include "coll/fs_collective.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    mpich_fast_call_t call; /* first */
    mpich_fast_args_t args;
    mpich_fast_comm_t *state;
    MPI_Request handle;
    int rc;
    bool is_over;
    unsigned n_users; /* the call, and the MPI */
    /* Of the receive side, where it has to be unpacked: */
    void *counts, *displs;
    MPI_Datatype *types;
    uint32_t n_types;
} request_t;

static void release(request_t *r)
{
    if (0 == __atomic_sub_fetch(&r->n_users, 1, __ATOMIC_ACQ_REL)) {
        mpich_fast_comm_release(r->state);
        free(r);
    }
}

/* ---- what is kept ---- */

/* NULL stays NULL. *missing: out of memory. */
static void *copy_of(const void *from, size_t n, size_t len, bool *missing)
{
    void *copy = NULL != from ? malloc(n * len + 1) : NULL;

    if (NULL != copy) {
        memcpy(copy, from, n * len);
    }
    *missing = *missing || (NULL == copy && NULL != from);
    return copy;
}

/* Own handles of the types of blocks that are not empty. */
static bool keep_types(request_t *r, const fs_buffers_t *b)
{
    mpich_fast_side_t *side = &r->call.recv;
    bool each = NULL != side->types;
    uint32_t n = each ? b->counts.n_ranks : 1;

    r->types = calloc(n, sizeof(*r->types));
    if (NULL == r->types) {
        return false;
    }
    for (; r->n_types < n; ++r->n_types) {
        MPI_Datatype type = each ? side->types[r->n_types] : side->type;

        r->types[r->n_types] = MPI_DATATYPE_NULL;
        if ((!each || b->counts.recv_bytes[r->n_types] > 0)
            && MPI_SUCCESS != mpi.Type_dup(type, &r->types[r->n_types])) {
            return false;
        }
    }
    side->types = each ? r->types : NULL;
    side->type = each ? side->type : r->types[0];
    return true;
}

static bool keep(request_t *r, const fs_buffers_t *b)
{
    mpich_fast_side_t *side = &r->call.recv;
    size_t n = side->even ? 1 : b->counts.n_ranks;
    bool missing = false;

    r->counts = copy_of(side->counts, n, side->large ? sizeof(MPI_Count) : sizeof(int), &missing);
    r->displs = copy_of(side->displs, n, side->large ? sizeof(MPI_Aint) : sizeof(int), &missing);
    side->counts = r->counts;
    side->displs = r->displs;
    return !missing && keep_types(r, b);
}

static void drop(request_t *r)
{
    for (uint32_t k = 0; k < r->n_types; ++k) {
        if (MPI_DATATYPE_NULL != r->types[k]) {
            (void) mpi.Type_free(&r->types[k]);
        }
    }
    free(r->types);
    free(r->counts);
    free(r->displs);
}

/* The send side is packed in the call. */
static bool describe(void *ctx, fs_buffers_t *b)
{
    return mpich_fast_describe(ctx, b) && (b->recv_contiguous || keep(ctx, b));
}

/* ---- its end ---- */

/* Not in a call of ours: MPI_Wait and the like return it. */
static int raise_error(void *ctx, fs_status_t status)
{
    (void) ctx;
    return mpich_fast_raise(MPI_COMM_NULL, status);
}

#define CALLS(_name, _collective)                                                                 \
    {                                                                                             \
        .name = _name, .collective = &_collective, .describe = describe, .pack = mpich_fast_pack, \
        .unpack = mpich_fast_unpack, .raise = raise_error                                         \
    }

static const fs_wrapper_calls_t ialltoallv = CALLS("MPI_Ialltoallv", fs_alltoallv);
static const fs_wrapper_calls_t ialltoallw = CALLS("MPI_Ialltoallw", fs_alltoallw);
static const fs_wrapper_calls_t ialltoall = CALLS("MPI_Ialltoall", fs_alltoall);

void mpich_fast_end_requests(void)
{
    fs_operation_t *operation;
    void *ctx;

    while (NULL != (operation = fs_wrapper_next_ended(&mpich_fast_wrapper))) {
        int rc = fs_wrapper_end(operation, &ctx);
        request_t *r = ctx;

        drop(r);
        r->rc = rc;
        __atomic_store_n(&r->is_over, true, __ATOMIC_RELEASE);
        (void) mpi.Grequest_complete(r->handle);
        release(r);
    }
}

/* ---- what MPICH asks ---- */

static int on_query(void *extra, MPI_Status *status)
{
    const request_t *r = extra;

    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    (void) mpi.Status_set_elements(status, MPI_BYTE, 0);
    (void) mpi.Status_set_cancelled(status, 0);
    return r->rc;
}

static int on_free(void *extra)
{
    release(extra);
    return MPI_SUCCESS;
}

static int on_cancel(void *extra, int complete)
{
    (void) extra;
    (void) complete;
    return MPI_SUCCESS;
}

/* Peers may wait for messages of the MPI before they come to this call: it has to be driven, and it
 * is by a probe that finds nothing. */
static void look(void)
{
    enum { NOBODYS_TAG = 32767 };
    int found;

    (void) fs_net_progress(mpich_fast_wrapper.net);
    mpich_fast_end_requests();
    (void) mpi.Iprobe(0, NOBODYS_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

static int on_poll(void *extra, MPI_Status *status)
{
    (void) extra;
    (void) status;
    look();
    (void) sched_yield();
    return MPI_SUCCESS;
}

static bool all_over(int n, void **extras)
{
    for (int k = 0; k < n; ++k) {
        if (!__atomic_load_n(&((request_t *) extras[k])->is_over, __ATOMIC_ACQUIRE)) {
            return false;
        }
    }
    return true;
}

static int on_wait(int n, void **extras, double timeout, MPI_Status *status)
{
    (void) timeout;
    (void) status;
    while (!all_over(n, extras)) {
        look();
        (void) sched_yield();
    }
    return MPI_SUCCESS;
}

/* ---- a call ---- */

static request_t *make(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    request_t *r = calloc(1, sizeof(*r));

    if (NULL == r) {
        return NULL;
    }
    r->args = *args;
    r->state = state;
    r->n_users = 2;
    r->call = (mpich_fast_call_t){.args = &r->args, .comm = state->comm};
    if (MPI_SUCCESS
        != mpi.Xgrequest_start(on_query, on_free, on_cancel, on_poll, on_wait, r, &r->handle)) {
        free(r);
        return NULL;
    }
    mpich_fast_comm_retain(state);
    return r;
}

/* It has not begun. */
static void unmake(request_t *r)
{
    drop(r);
    (void) mpi.Grequest_complete(r->handle);
    (void) mpi.Request_free(&r->handle);
    release(r);
}

static int start(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    const fs_wrapper_calls_t *calls = args->even                ? &ialltoall
                                      : NULL != args->recvtypes ? &ialltoallw
                                                                : &ialltoallv;
    request_t *r = make(state, args);
    fs_operation_t *operation;
    fs_status_t status;

    if (NULL == r) {
        return mpich_fast_raise(state->comm, FS_ERR_NOMEM);
    }
    *(MPI_Request *) args->request = r->handle;
    status = fs_wrapper_start(&state->shared, calls, r, &operation);
    if (NULL != operation) {
        return MPI_SUCCESS;
    }
    unmake(r);
    return FS_OK == status ? args->by_mpi(args) : mpich_fast_raise(state->comm, status);
}

int mpich_fast_serve_nonblocking(const mpich_fast_args_t *args)
{
    mpich_fast_comm_t *state = NULL;

    if (NULL != mpi.Xgrequest_start && MPI_COMM_NULL != (MPI_Comm) args->comm) {
        state = mpich_fast_comm_find((MPI_Comm) args->comm);
    }
    return NULL != state && state->counts && fs_wrapper_takes_nonblocking(&state->shared)
               ? start(state, args)
               : args->by_mpi(args);
}
