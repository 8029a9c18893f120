/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking calls: generalized requests of MPICH, which ask us how far they are.
 *
 * Our network has to be progressed while the MPI waits for something else. So they are
 * ours only where MPICH does that, from 4.3 on, or where the thread of parameter
 * progress_thread does, on every rank; and where an earlier call has set the
 * communicator up: that takes messages, and all that the MPI has to set a context for
 * them up without waiting is MPI_Comm_idup, which calls the program's attribute
 * functions. All else is left to the MPI.
 *
 * Whoever asks next after a call has ended unpacks what has come and completes the
 * request.
 *
 * Locks: under that of our network MPI_Reduce_local is called, which in an MPICH of one
 * lock (--enable-thread-cs=global) takes that one. The reverse order does not occur: MPICH
 * has let go of it, in 4.0.2 and from 4.3.0 to 5.0.1, when it calls on_poll, on_wait and
 * on_query (MPIR_Grequest_poll and the like) and what an attribute is deleted by; on_free
 * and on_cancel, called under it, take none of ours, and mpich_fast_async.c, in its turns
 * of progress, does not wait for ours.
 */
#include "mpich_fast.h"

#include <sched.h>
#include <stdlib.h>

typedef struct request {
    mpich_fast_operation_t op; /* first */
    mpich_fast_comm_t *state;
    MPI_Request handle;
    int rc;
    bool is_over;
    unsigned n_users; /* the call, and the MPI */
} request_t;

static void release(request_t *r)
{
    if (0 == __atomic_sub_fetch(&r->n_users, 1, __ATOMIC_ACQ_REL)) {
        mpich_fast_comm_release(r->state);
        free(r);
    }
}

static void ended(mpich_fast_operation_t *op, int rc)
{
    request_t *r = (request_t *) op;

    mpich_fast_async_end();
    r->rc = rc;
    (void) mpi.Grequest_complete(r->handle);
    __atomic_store_n(&r->is_over, true, __ATOMIC_RELEASE);
    release(r);
}

void mpich_fast_end_requests(void)
{
    mpich_fast_end_operations();
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
    mpich_fast_end_operations();
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

static request_t *make(mpich_fast_comm_t *state)
{
    request_t *r = calloc(1, sizeof(*r));

    if (NULL == r) {
        return NULL;
    }
    r->op.ended = ended;
    r->state = state;
    r->n_users = 2;
    if (MPI_SUCCESS
        != mpi.Xgrequest_start(on_query, on_free, on_cancel, on_poll, on_wait, r, &r->handle)) {
        free(r);
        return NULL;
    }
    mpich_fast_comm_retain(state);
    mpich_fast_async_begin();
    return r;
}

/* It has not begun. */
static void unmake(request_t *r)
{
    mpich_fast_async_end();
    (void) mpi.Grequest_complete(r->handle);
    (void) mpi.Request_free(&r->handle);
    release(r);
}

static int start(mpich_fast_comm_t *state, const mpich_fast_args_t *args)
{
    request_t *r = make(state);
    fs_status_t status;

    if (NULL == r) {
        return mpich_fast_raise(state->comm, FS_ERR_NOMEM);
    }
    *(MPI_Request *) args->request = r->handle;
    status = mpich_fast_operation_start(&r->op, state, args);
    if (FS_OK == status && NULL != r->op.ours) {
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
    return NULL != state && state->counts && mpich_fast_operation_is_ours(state, args, false)
               ? start(state, args)
               : args->by_mpi(args);
}
