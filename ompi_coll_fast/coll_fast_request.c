/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of nonblocking and persistent calls. Open MPI's progress ends them, see
 * progress() in coll_fast_host.c.
 *
 * A request keeps its communicator alive, and longer than itself: Open MPI frees a
 * request with an error first and then asks its communicator for the error handler.
 * So what is freed waits for the next turn.
 *
 * A first nonblocking call begins the set-up of its communicator, and those that come
 * before it is over wait for it in a queue. If it turns out that they are not ours it
 * is too late for what served the communicator before: see coll_fast_by_pair.c. Whose
 * a call is depends on its place in the program, not on when the set-up is over on
 * this rank.
 *
 * Open MPI keeps the datatypes of a nonblocking call alive until it is complete.
 * Persistent ones are complete at first, so theirs are kept here; and so are the
 * operations of all.
 *
 * Of MPI_Ialltoallw Open MPI 4.1 notes where the caller's arrays of types are, and reads
 * them when the request is complete. The program has to leave its arrays there; but from
 * Fortran they are Open MPI's own, which are gone when the call returns. So it gets a copy.
 */
#include "coll_fast.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/request/request.h"

struct mca_coll_fast_request {
    ompi_coll_base_nbc_request_t super; /* Open MPI keeps datatypes in it */
    mca_coll_fast_call_t call;
    mca_coll_fast_block_t *kept; /* [2 * n_ranks] of its two sides; of an allreduce NULL */
    ompi_datatype_t **types;     /* [2 * n_ranks] see own_types_copy(); NULL: there is none */
    fs_operation_t *persistent;  /* NULL: it is not */
    const fs_wrapper_calls_t *calls;
    int tag; /* of a call while the communicator is_beside */
    fast_by_pair_t by_pair;
    mca_coll_fast_request_t *next; /* on a stack or in the module's queue */
};

/* ---- stacks ---- */

/* Not Open MPI's: those need instructions for 128 bits, which not every compiler has by default. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mca_coll_fast_request_t *freed, *spare, *by_pairs;

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

/* ---- the arrays of types of MPI_Ialltoallw ---- */

#if defined(MCA_COLL_BASE_VERSION_2_0_0) /* 4.1 */
/* To receive, then to send, as the caller has given them. False: out of memory. */
static bool own_types_copy(const mca_coll_fast_call_t *call, ompi_datatype_t ***types_p)
{
    size_t n = (size_t) ompi_comm_size(call->module->comm);
    ompi_datatype_t **types;

    if (NULL == call->recv.dtypes) {
        return true;
    }
    types = calloc(n, 2 * sizeof(*types));
    if (NULL == types) {
        return false;
    }
    memcpy(types, call->recv.dtypes, n * sizeof(*types));
    if (MPI_IN_PLACE != call->sbuf) {
        memcpy(types + n, call->send.dtypes, n * sizeof(*types));
    }
    *types_p = types;
    return true;
}

/* Before it is complete: in place of those that are noted. */
static void own_types_give(mca_coll_fast_request_t *r)
{
    if (NULL != r->types && NULL != r->super.data.vecs.rtypes) {
        r->super.data.vecs.rtypes = r->types;
    }
    if (NULL != r->types && NULL != r->super.data.vecs.stypes && MPI_IN_PLACE != r->call.sbuf) {
        r->super.data.vecs.stypes = r->types + ompi_comm_size(r->call.module->comm);
    }
}
#else
static bool own_types_copy(const mca_coll_fast_call_t *call, ompi_datatype_t ***types_p)
{
    (void) call;
    (void) types_p;
    return true;
}

static void own_types_give(mca_coll_fast_request_t *r)
{
    (void) r;
}
#endif

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

static int start_requests(size_t n, ompi_request_t **requests)
{
    for (size_t k = 0; k < n; ++k) {
        mca_coll_fast_request_t *r = (mca_coll_fast_request_t *) requests[k];

        if (OMPI_REQUEST_INACTIVE != r->super.super.req_state) {
            return MPI_ERR_REQUEST;
        }
        r->super.super.req_complete = REQUEST_PENDING;
        r->super.super.req_state = OMPI_REQUEST_ACTIVE;
        r->super.super.req_status.MPI_ERROR = MPI_SUCCESS;
        fs_wrapper_start_persistent(r->persistent);
    }
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
    r->super.super.req_start = start_requests;
}

OBJ_CLASS_DECLARATION(mca_coll_fast_request_t);
OBJ_CLASS_INSTANCE(mca_coll_fast_request_t, ompi_coll_base_nbc_request_t, construct, NULL);

/* Keep it alive, or do not any longer. */
static void keep_object(opal_object_t *object, bool keep)
{
    if (keep) {
        OBJ_RETAIN(object);
    } else {
        OBJ_RELEASE(object);
    }
}

/* Of an allreduce, whose type is Open MPI's own. */
static void keep_op(const mca_coll_fast_request_t *r, bool keep)
{
    ompi_op_t *op = r->call.op;

    if (NULL != op && !ompi_op_is_intrinsic(op)) {
        keep_object(&op->super, keep);
    }
}

/* Of all its blocks. */
static void keep_types(const mca_coll_fast_request_t *r, bool keep)
{
    size_t n = NULL != r->call.op ? 0 : 2 * (size_t) ompi_comm_size(r->call.module->comm);

    for (size_t k = 0; k < n; ++k) {
        ompi_datatype_t *dtype = r->kept[k].dtype;

        if (NULL != dtype && !ompi_datatype_is_predefined(dtype)) {
            keep_object(&dtype->super.super, keep);
        }
    }
}

static void recycle(mca_coll_fast_request_t *r)
{
    ompi_communicator_t *comm = r->call.module->comm;

    if (NULL != r->persistent) {
        fs_wrapper_free_persistent(r->persistent);
        keep_types(r, false);
    }
    keep_op(r, false);
    free(r->types);
    free(r->kept);
    mca_coll_fast_free_by_pair(&r->by_pair);
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
static mca_coll_fast_request_t *make_request(const mca_coll_fast_call_t *call, bool persistent)
{
    ompi_communicator_t *comm = call->module->comm;
    size_t n = (size_t) ompi_comm_size(comm);
    bool reduces = NULL != call->op;
    mca_coll_fast_block_t *kept = reduces ? NULL : calloc(n, 2 * sizeof(*kept));
    ompi_datatype_t **types = NULL;
    mca_coll_fast_request_t *r = pop(&spare);

    r = NULL != r ? r : OBJ_NEW(mca_coll_fast_request_t);
    if ((NULL == kept && !reduces) || NULL == r || (!persistent && !own_types_copy(call, &types))) {
        free(kept);
        if (NULL != r) {
            push(&spare, r);
        }
        return NULL;
    }
    OMPI_REQUEST_INIT(&r->super.super, persistent);
    r->super.super.req_state = persistent ? OMPI_REQUEST_INACTIVE : OMPI_REQUEST_ACTIVE;
    r->super.super.req_mpi_object.comm = comm;
    r->super.super.req_status = (ompi_status_public_t){
        .MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS};
    memset(&r->super.data, 0, sizeof(r->super.data));
    r->persistent = NULL;
    r->by_pair = (fast_by_pair_t){.rc = MPI_SUCCESS};
    r->call = *call;
    r->kept = kept;
    r->types = types;
    if (!reduces) {
        mca_coll_fast_keep(&r->call, kept);
    }
    keep_op(r, true);
    OBJ_RETAIN(comm);
    return r;
}

/* Open MPI marks it without a barrier of its own: a thread that sees the mark must see what was
 * received as well. */
static void complete(mca_coll_fast_request_t *r, int rc)
{
    own_types_give(r);
    r->super.super.req_status.MPI_ERROR = rc;
    opal_atomic_wmb();
    (void) ompi_request_complete(&r->super.super, true);
}

/* ---- between all pairs of ranks ---- */

static void end_by_pairs(void)
{
    mca_coll_fast_request_t *r, *unfinished = NULL;

    while (NULL != (r = pop(&by_pairs))) {
        if (mca_coll_fast_by_pair_is_over(&r->by_pair, &r->call)) {
            complete(r, r->by_pair.rc);
        } else {
            r->next = unfinished;
            unfinished = r;
        }
    }
    while (NULL != (r = unfinished)) {
        unfinished = r->next;
        push(&by_pairs, r);
    }
}

/* ---- before the set-up is over ---- */

/* It is over. FS_ERR_UNREACHABLE: parameter transport forbids the MPI's messages. */
static void begin_beside(mca_coll_fast_request_t *r)
{
    mca_coll_fast_module_t *module = r->call.module;
    fs_operation_t *operation = NULL;
    fs_status_t status = FS_ERR_UNREACHABLE;

    if (FS_ERR_UNREACHABLE != module->setup_status) {
        if (!fs_wrapper_takes_nonblocking(&module->shared, r->calls, &r->call)) {
            mca_coll_fast_begin_by_pair(&r->by_pair, &r->call, r->tag);
            push(&by_pairs, r);
            return;
        }
        status = fs_wrapper_start(&module->shared, r->calls, &r->call, &operation);
    }
    if (NULL == operation) {
        complete(r, FS_OK == status ? MPI_ERR_ARG : mca_coll_fast_raise(NULL, status));
    }
}

/* False: there is nothing to wait for. */
static bool wait_in_queue(mca_coll_fast_request_t *r)
{
    mca_coll_fast_module_t *module = r->call.module;
    mca_coll_fast_request_t **at = &module->early;
    bool waits;

    pthread_mutex_lock(&lock);
    waits = module->is_pending;
    while (waits && NULL != *at) {
        at = &(*at)->next;
    }
    if (waits) {
        r->next = NULL;
        *at = r;
    }
    pthread_mutex_unlock(&lock);
    return waits;
}

/* NULL: there is none, and from now on none will be. */
static mca_coll_fast_request_t *next_in_queue(mca_coll_fast_module_t *module)
{
    mca_coll_fast_request_t *r;

    pthread_mutex_lock(&lock);
    r = module->early;
    if (NULL != r) {
        module->early = r->next;
    } else {
        __atomic_store_n(&module->is_pending, false, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return r;
}

void mca_coll_fast_begin_early(mca_coll_fast_module_t *module)
{
    mca_coll_fast_request_t *r;

    while (NULL != (r = next_in_queue(module))) {
        begin_beside(r);
    }
}

/* ---- calls ---- */

/* While its communicator is_beside. */
static int start_beside(const fs_wrapper_calls_t *calls, const mca_coll_fast_call_t *call,
                        ompi_request_t **request)
{
    int tag = ompi_coll_base_nbc_reserve_tags(call->module->comm, 1); /* as the other ranks do */
    mca_coll_fast_request_t *r = make_request(call, false);

    if (NULL == r) {
        return MPI_ERR_NO_MEM;
    }
    r->calls = calls;
    r->tag = tag;
    if (!wait_in_queue(r)) {
        begin_beside(r);
    }
    *request = &r->super.super;
    return OMPI_SUCCESS;
}

int mca_coll_fast_start(const fs_wrapper_calls_t *calls, mca_coll_fast_call_t *call,
                        ompi_request_t **request)
{
    mca_coll_fast_module_t *module = call->module;
    mca_coll_fast_request_t *r;
    fs_operation_t *operation;
    fs_status_t status;

    *request = NULL;
    if (NULL == call->op) {
        mca_coll_fast_begin_set_up(module);
    }
    if (module->is_beside && NULL == call->op) {
        return start_beside(calls, call, request);
    }
    if (module->is_beside || !fs_wrapper_takes_nonblocking(&module->shared, calls, call)) {
        return OMPI_SUCCESS;
    }
    r = make_request(call, false);
    if (NULL == r) {
        return MPI_ERR_NO_MEM;
    }
    status = fs_wrapper_start(&module->shared, calls, &r->call, &operation);
    if (NULL == operation) {
        recycle(r);
        return mca_coll_fast_raise(NULL, status);
    }
    *request = &r->super.super;
    return OMPI_SUCCESS;
}

int mca_coll_fast_init(const fs_wrapper_calls_t *calls, mca_coll_fast_call_t *call,
                       ompi_request_t **request)
{
    mca_coll_fast_module_t *module = call->module;
    mca_coll_fast_request_t *r;
    fs_operation_t *operation;
    fs_status_t status;
    int rc = mca_coll_fast_set_up(module);

    *request = NULL;
    recycle_freed(); /* their memory counts in staging_limit */
    if (OMPI_SUCCESS != rc || !fs_wrapper_takes_nonblocking(&module->shared, calls, call)) {
        return rc;
    }
    r = make_request(call, true);
    status =
        fs_wrapper_init_persistent(&module->shared, calls, NULL != r ? &r->call : NULL, &operation);
    if (NULL != operation) {
        r->persistent = operation;
        keep_types(r, true);
        *request = &r->super.super;
    } else if (NULL != r) {
        recycle(r);
    }
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
    end_by_pairs();
    while (NULL != (operation = fs_wrapper_next_ended(wrapper))) {
        rc = fs_wrapper_end(operation, &call);
        r = (mca_coll_fast_request_t *) ((char *) call - offsetof(mca_coll_fast_request_t, call));
        complete(r, rc);
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
