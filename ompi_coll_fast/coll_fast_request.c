/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of nonblocking calls. Open MPI's progress ends them, see progress() in
 * coll_fast_host.c.
 *
 * A request keeps its communicator alive, and longer than itself: Open MPI frees a
 * request with an error first and then asks its communicator for the error handler.
 * So what is freed waits for the next turn.
 */
#include "coll_fast.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/request/request.h"

typedef struct mca_coll_fast_request mca_coll_fast_request_t;

struct mca_coll_fast_request {
    ompi_coll_base_nbc_request_t super; /* Open MPI keeps datatypes in it */
    mca_coll_fast_call_t call;
    mca_coll_fast_block_t *kept;   /* [2 * n_ranks] of its two sides */
    mca_coll_fast_request_t *next; /* on one of two stacks */
};

/* ---- stacks ---- */

/* Not Open MPI's: those need instructions for 128 bits, which not every compiler has by default. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mca_coll_fast_request_t *freed, *spare;

static void push(mca_coll_fast_request_t **stack, mca_coll_fast_request_t *r)
{
    pthread_mutex_lock(&lock);
    r->next = *stack;
    *stack = r;
    pthread_mutex_unlock(&lock);
}

/* NULL: there is none. */
static mca_coll_fast_request_t *pop(mca_coll_fast_request_t **stack)
{
    mca_coll_fast_request_t *r;

    if (NULL == __atomic_load_n(stack, __ATOMIC_RELAXED)) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    r = *stack;
    if (NULL != r) {
        *stack = r->next;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---- the life of a request ---- */

static int free_request(ompi_request_t **request)
{
    mca_coll_fast_request_t *r = (mca_coll_fast_request_t *) *request;

    if (!REQUEST_COMPLETE(*request)) {
        return MPI_ERR_REQUEST;
    }
    OMPI_REQUEST_FINI(*request);
    push(&freed, r);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static int cancel_request(ompi_request_t *request, int complete)
{
    (void) request;
    (void) complete;
    return MPI_ERR_REQUEST;
}

static void construct(mca_coll_fast_request_t *r)
{
    r->super.super.req_type = OMPI_REQUEST_COLL;
    r->super.super.req_free = free_request;
    r->super.super.req_cancel = cancel_request;
}

OBJ_CLASS_DECLARATION(mca_coll_fast_request_t);
OBJ_CLASS_INSTANCE(mca_coll_fast_request_t, ompi_coll_base_nbc_request_t, construct, NULL);

static void recycle(mca_coll_fast_request_t *r)
{
    ompi_communicator_t *comm = r->call.module->comm;

    free(r->kept);
    push(&spare, r);
    OBJ_RELEASE(comm);
}

static void recycle_freed(void)
{
    mca_coll_fast_request_t *r;

    while (NULL != (r = pop(&freed))) {
        recycle(r);
    }
}

/* Its communicator is kept from here to recycle(). NULL: out of memory. */
static mca_coll_fast_request_t *make_request(const mca_coll_fast_call_t *call)
{
    ompi_communicator_t *comm = call->module->comm;
    size_t n = (size_t) ompi_comm_size(comm);
    mca_coll_fast_block_t *kept = calloc(n, 2 * sizeof(*kept));
    mca_coll_fast_request_t *r = pop(&spare);

    r = NULL != r ? r : OBJ_NEW(mca_coll_fast_request_t);
    if (NULL == kept || NULL == r) {
        free(kept);
        if (NULL != r) {
            push(&spare, r);
        }
        return NULL;
    }
    OMPI_REQUEST_INIT(&r->super.super, false);
    r->super.super.req_state = OMPI_REQUEST_ACTIVE;
    r->super.super.req_mpi_object.comm = comm;
    r->super.super.req_status = (ompi_status_public_t){
        .MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS};
    memset(&r->super.data, 0, sizeof(r->super.data));
    r->call = *call;
    r->kept = kept;
    r->call.send.kept = kept;
    r->call.recv.kept = kept + n;
    OBJ_RETAIN(comm);
    return r;
}

/* ---- calls ---- */

int mca_coll_fast_start(const fs_wrapper_calls_t *calls, const mca_coll_fast_call_t *call,
                        ompi_request_t **request)
{
    mca_coll_fast_module_t *module = call->module;
    mca_coll_fast_request_t *r;
    fs_operation_t *operation;
    fs_status_t status;

    *request = NULL;
    if (!module->is_set_up || !fs_wrapper_takes_nonblocking(&module->shared)) {
        return OMPI_SUCCESS;
    }
    r = make_request(call);
    if (NULL == r) {
        return MPI_ERR_NO_MEM;
    }
    status = fs_wrapper_start(&module->shared, calls, &r->call, &operation);
    if (NULL != operation) {
        *request = &r->super.super;
        return OMPI_SUCCESS;
    }
    recycle(r);
    return mca_coll_fast_raise(NULL, status);
}

/* Who waits for a request may free it as soon as it is complete. */
void mca_coll_fast_end_requests(void)
{
    fs_wrapper_t *wrapper = &mca_coll_fast_component.wrapper;
    mca_coll_fast_request_t *r;
    fs_operation_t *operation;
    void *call;
    int rc;

    recycle_freed();
    while (NULL != (operation = fs_wrapper_next_ended(wrapper))) {
        rc = fs_wrapper_end(operation, &call);
        r = (mca_coll_fast_request_t *) ((char *) call - offsetof(mca_coll_fast_request_t, call));
        r->super.super.req_status.MPI_ERROR = rc;
        (void) ompi_request_complete(&r->super.super, true);
    }
}

void mca_coll_fast_close_requests(void)
{
    mca_coll_fast_request_t *r;

    recycle_freed();
    while (NULL != (r = pop(&spare))) {
        OBJ_RELEASE(r);
    }
}
