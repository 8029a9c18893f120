/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library inside of an MPICH that has the algorithm "fast". Nothing here
 * calls the MPI: MPICH, which has called us, may hold its lock. What we need of
 * it is in a table; see native/mpich_fast_native.h.
 */
#include "mpich_fast_native_host.h"

#include "base/fs_digest.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- communicators ---- */

static int comm_create(const mpich_fast_native_comm_t *comm, void **state_p)
{
    const uint32_t *world_server = mpich_fast_wrapper.world_server;
    mpich_fast_comm_t blank = {.comm = MPI_COMM_NULL,
                               .own = MPI_COMM_NULL,
                               .endless = MPI_REQUEST_NULL,
                               .in_mpich = comm->comm,
                               .n_users = 1};
    mpich_fast_comm_t *kept = malloc(sizeof(*kept));
    mpich_fast_comm_t *state = NULL == kept ? &blank : kept;
    fs_native_t native;
    uint32_t label = (uint32_t) comm->node;
    fs_status_t status = NULL == kept ? FS_ERR_NOMEM : FS_OK;

    blank.shared.rank = (uint32_t) comm->rank;
    blank.shared.n_ranks = (uint32_t) comm->size;
    strncpy(blank.name, comm->name, sizeof(blank.name) - 1);
    if (NULL != kept) {
        *kept = blank;
    }
    native = mpich_fast_native_host(comm->comm);
    if (NULL != world_server) {
        label = world_server[comm->world_rank];
    }
    status = mpich_fast_comm_open(state, &native, label, comm->world_rank, status);
    if (NULL == kept || FS_OK != status) {
        free(kept);
        return mpich_fast_raise(MPI_COMM_NULL, FS_OK == status ? FS_ERR_NOMEM : status);
    }
    mpich_fast_comm_list(state);
    *state_p = state;
    return MPI_SUCCESS;
}

static void comm_free(void *state)
{
    mpich_fast_comm_free(state);
}

/* ---- a call ---- */

/* comm is what MPICH calls the call. */
static int by_mpi(const mpich_fast_args_t *a)
{
    mpich_fast_native_args_t args = {.sendbuf = a->sendbuf,
                                     .sendcounts = a->sendcounts,
                                     .sdispls = a->sdispls,
                                     .sendtype = (int) a->sendtype,
                                     .recvbuf = a->recvbuf,
                                     .recvcounts = a->recvcounts,
                                     .rdispls = a->rdispls,
                                     .recvtype = (int) a->recvtype,
                                     .sendtypes = a->sendtypes,
                                     .recvtypes = a->recvtypes,
                                     .even = a->even,
                                     .reduces = a->reduces,
                                     .count = (ptrdiff_t) a->count,
                                     .op = (int) a->op};

    return mpich_fast_services->run((void *) a->comm, &args);
}

static mpich_fast_args_t args_of(const mpich_fast_native_args_t *a, void *call)
{
    return (mpich_fast_args_t){.sendbuf = a->sendbuf,
                               .sendcounts = a->sendcounts,
                               .sdispls = a->sdispls,
                               .sendtype = a->sendtype,
                               .recvbuf = a->recvbuf,
                               .recvcounts = a->recvcounts,
                               .rdispls = a->rdispls,
                               .recvtype = a->recvtype,
                               .sendtypes = a->sendtypes,
                               .recvtypes = a->recvtypes,
                               .comm = (mpich_fast_word_t) call,
                               .large = true,
                               .even = a->even,
                               .reduces = a->reduces,
                               .count = a->count,
                               .op = a->op,
                               .by_mpi = by_mpi};
}

static int reductions(void)
{
    const fs_params_t *params = &mpich_fast_wrapper.params;
    uint64_t digest = fs_digest_add(params->allreduce, params->allreduce_min);

    return FS_ALLREDUCE_OFF == params->allreduce ? 0 : (int) (1 + digest % (INT_MAX - 1));
}

static bool takes(const mpich_fast_native_args_t *a, bool blocking)
{
    mpich_fast_args_t args = args_of(a, NULL);

    return mpich_fast_takes_reduction(&args, blocking);
}

static int serve(void *state, const mpich_fast_native_args_t *a, void *call)
{
    mpich_fast_args_t args = args_of(a, call);

    return mpich_fast_serve_on(state, &args);
}

/* ---- a nonblocking or persistent call ---- */

typedef struct operation {
    mpich_fast_operation_t op; /* first */
    mpich_fast_comm_t *state;
    int rc;
    bool is_over;
} operation_t;

static void ended(mpich_fast_operation_t *op, int rc)
{
    operation_t *o = (operation_t *) op;

    o->rc = rc;
    __atomic_store_n(&o->is_over, true, __ATOMIC_RELEASE);
}

/* NULL: out of memory. */
static operation_t *make_operation(mpich_fast_comm_t *state)
{
    operation_t *o = calloc(1, sizeof(*o));

    if (NULL != o) {
        o->op.ended = ended;
        o->state = state;
        mpich_fast_services->hold_comm(state->in_mpich);
    }
    return o;
}

static void free_operation(void *operation)
{
    operation_t *o = operation;

    if (o->op.is_persistent && NULL != o->op.ours) {
        mpich_fast_operation_free(&o->op);
    }
    mpich_fast_services->release_comm(o->state->in_mpich);
    free(o);
}

/* One that has not been made is freed. Without memory init still has its ranks agree. */
static int make(void *state, const mpich_fast_native_args_t *a, bool is_persistent,
                void **operation)
{
    mpich_fast_comm_t *comm = state;
    mpich_fast_args_t args = args_of(a, NULL);
    operation_t *o;
    fs_status_t status;

    *operation = NULL;
    if (!mpich_fast_operation_is_ours(comm, &args, is_persistent)) {
        return MPI_SUCCESS;
    }
    o = make_operation(comm);
    status = is_persistent ? mpich_fast_operation_init(NULL != o ? &o->op : NULL, comm, &args)
             : NULL == o   ? FS_ERR_NOMEM
                           : mpich_fast_operation_start(&o->op, comm, &args);
    if (NULL != o && NULL == o->op.ours) {
        free_operation(o);
        o = NULL;
    }
    *operation = o;
    return FS_OK == status ? MPI_SUCCESS : mpich_fast_raise(MPI_COMM_NULL, status);
}

static int start(void *state, const mpich_fast_native_args_t *a, void **operation)
{
    return make(state, a, false, operation);
}

static int init(void *state, const mpich_fast_native_args_t *a, void **operation)
{
    return make(state, a, true, operation);
}

static void start_again(void *operation)
{
    operation_t *o = operation;

    __atomic_store_n(&o->is_over, false, __ATOMIC_RELAXED);
    fs_wrapper_start_persistent(o->op.ours);
}

static int test(void *operation, bool *done)
{
    operation_t *o = operation;

    mpich_fast_end_operations();
    *done = __atomic_load_n(&o->is_over, __ATOMIC_ACQUIRE);
    return *done ? o->rc : MPI_SUCCESS;
}

/* ---- the table ---- */

static unsigned poll_net(void)
{
    return fs_net_progress(mpich_fast_wrapper.net);
}

static void net_is_up(fs_net_t *net)
{
    (void) net;
    if (MPI_SUCCESS != mpich_fast_services->watch(poll_net)) {
        mpich_fast_say(
            "MPICH's progress engine does not progress our network: it has no free hook");
    }
}

static const mpich_fast_native_t table = {
    .reductions = reductions,
    .takes = takes,
    .comm_create = comm_create,
    .comm_free = comm_free,
    .serve = serve,
    .start = start,
    .init = init,
    .start_again = start_again,
    .test = test,
    .free = free_operation,
    .finalize = mpich_fast_finish,
};

__attribute__((visibility("default"))) mpich_fast_native_open_t mpich_fast_native_open;

const mpich_fast_native_t *mpich_fast_native_open(int version,
                                                  const mpich_fast_services_t *services,
                                                  int world_rank, int world_size,
                                                  mpich_fast_refusal_t *refusal)
{
    if (MPICH_FAST_NATIVE_VERSION != version) { /* refusal may be another thing */
        mpich_fast_say_last("not used: this MPICH knows version %d of our tables, the library has "
                            "version %d; build both from one source",
                            version, MPICH_FAST_NATIVE_VERSION);
        return NULL;
    }
    if (mpich_fast_enabled) {
        strcpy(refusal->why, "the library is loaded before this MPICH already (LD_PRELOAD), "
                             "which has the algorithm fast itself; leave out one of the two");
        return NULL;
    }
    mpich_fast_services = services;
    mpich_fast_engine = &mpich_fast_native_engine;
    mpich_fast_serves_alltoall = true;
    mpich_fast_chosen_for_allreduce = true; /* where it is not, no allreduce comes */
    mpich_fast_wrapper.net_is_up = net_is_up;
    mpich_fast_wrapper.is_driven = true;
    refusal->stop =
        !mpich_fast_read_params(world_rank, world_size, refusal->why, sizeof(refusal->why));
    return refusal->stop ? NULL : &table;
}
