/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nonblocking or persistent call, whoever asks how far it is.
 *
 * When the call returns the caller may change his arrays, unless it is persistent, and
 * free his types: what is needed later is kept. That is the receive side where it has
 * to be unpacked, and of a persistent call, which is packed at each start, both sides.
 */
#include "mpich_fast.h"

#include "coll/fs_collectives.h"

#include <stdlib.h>
#include <string.h>

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
static bool keep_types(mpich_fast_kept_t *kept, mpich_fast_side_t *side, uint32_t n_ranks)
{
    bool each = NULL != side->types;
    uint32_t n = each ? n_ranks : 1;

    kept->types = calloc(n, sizeof(*kept->types));
    if (NULL == kept->types) {
        return false;
    }
    for (; kept->n_types < n; ++kept->n_types) {
        MPI_Datatype type = each ? side->types[kept->n_types] : side->type;
        MPI_Datatype *own = &kept->types[kept->n_types];

        *own = MPI_DATATYPE_NULL;
        if ((!each || mpich_fast_count_of(side, kept->n_types) > 0)
            && MPI_SUCCESS != mpich_fast_engine->hold(type, own)) {
            return false;
        }
    }
    side->types = each ? kept->types : NULL;
    side->type = each ? side->type : kept->types[0];
    return true;
}

static bool keep_side(mpich_fast_kept_t *kept, mpich_fast_side_t *side, uint32_t n_ranks)
{
    size_t n = side->even ? 1 : n_ranks;
    bool missing = false;

    kept->counts =
        copy_of(side->counts, n, side->large ? sizeof(MPI_Count) : sizeof(int), &missing);
    kept->displs = copy_of(side->displs, n, side->large ? sizeof(MPI_Aint) : sizeof(int), &missing);
    side->counts = kept->counts;
    side->displs = kept->displs;
    return !missing && keep_types(kept, side, n_ranks);
}

/* So that the call can be described again. */
static void refer_to_kept(mpich_fast_operation_t *op)
{
    const mpich_fast_side_t *send = &op->call.send, *recv = &op->call.recv;
    mpich_fast_args_t *args = &op->args;

    args->recvcounts = recv->counts;
    args->rdispls = recv->displs;
    args->recvtype = (mpich_fast_word_t) recv->type;
    args->recvtypes = recv->types;
    args->sendcounts = send->counts;
    args->sdispls = send->displs;
    args->sendtype = (mpich_fast_word_t) send->type;
    args->sendtypes = send->types;
}

static bool keep_both(mpich_fast_operation_t *op, const fs_buffers_t *b)
{
    mpich_fast_call_t *call = &op->call;
    uint32_t n = b->counts.n_ranks;

    if (!keep_side(&op->recv, &call->recv, n)) {
        return false;
    }
    if (b->in_place) {
        call->send = call->recv;
    } else if (!keep_side(&op->send, &call->send, n)) {
        return false;
    }
    refer_to_kept(op);
    return true;
}

static void drop_side(mpich_fast_kept_t *kept)
{
    for (uint32_t k = 0; k < kept->n_types; ++k) {
        if (MPI_DATATYPE_NULL != kept->types[k]) {
            mpich_fast_engine->release(&kept->types[k]);
        }
    }
    free(kept->types);
    free(kept->counts);
    free(kept->displs);
    *kept = (mpich_fast_kept_t){.n_types = 0};
}

static void drop(mpich_fast_operation_t *op)
{
    drop_side(&op->send);
    drop_side(&op->recv);
}

static bool keep(mpich_fast_operation_t *op, const fs_buffers_t *b)
{
    return op->is_persistent
               ? keep_both(op, b)
               : b->recv_contiguous || keep_side(&op->recv, &op->call.recv, b->counts.n_ranks);
}

static fs_status_t describe(void *ctx, fs_buffers_t *b)
{
    mpich_fast_operation_t *op = ctx;
    bool is_kept = NULL != op->recv.types;
    fs_status_t status = mpich_fast_describe(&op->call, b);

    return FS_OK == status && !is_kept && !keep(op, b) ? FS_ERR_NOMEM : status;
}

/* ---- calls ---- */

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

static const fs_wrapper_calls_t calls_of[2][3] = {
    {CALLS("MPI_Ialltoallv", fs_alltoallv), CALLS("MPI_Ialltoallw", fs_alltoallw),
     CALLS("MPI_Ialltoall", fs_alltoall)},
    {CALLS("MPI_Alltoallv_init", fs_alltoallv), CALLS("MPI_Alltoallw_init", fs_alltoallw),
     CALLS("MPI_Alltoall_init", fs_alltoall)},
};

#define REDUCING(_name)                                                                        \
    {                                                                                          \
        .name = _name, .collective = &fs_allreduce, .describe = mpich_fast_describe_reduction, \
        .reduce = mpich_fast_reduce, .raise = raise_error                                      \
    }

static const fs_wrapper_calls_t reducing[2] = {REDUCING("MPI_Iallreduce"),
                                               REDUCING("MPI_Allreduce_init")};

static const fs_wrapper_calls_t *calls_for(const mpich_fast_args_t *args, bool is_persistent)
{
    return args->reduces ? &reducing[is_persistent]
                         : &calls_of[is_persistent][args->even                ? 2
                                                    : NULL != args->recvtypes ? 1
                                                                              : 0];
}

/* Nothing is kept of it here. */
bool mpich_fast_operation_is_ours(const mpich_fast_comm_t *state, const mpich_fast_args_t *args,
                                  bool is_persistent)
{
    mpich_fast_call_t call = {.args = args, .comm = state->comm};
    fs_wrapper_calls_t calls = *calls_for(args, is_persistent);

    calls.describe = mpich_fast_describe;
    return fs_wrapper_takes_nonblocking(&state->shared, &calls, &call);
}

static const fs_wrapper_calls_t *begin(mpich_fast_operation_t *op, mpich_fast_comm_t *state,
                                       const mpich_fast_args_t *args, bool is_persistent)
{
    op->args = *args;
    op->call = (mpich_fast_call_t){.args = &op->args, .comm = state->comm};
    op->is_persistent = is_persistent;
    return calls_for(args, is_persistent);
}

fs_status_t mpich_fast_operation_start(mpich_fast_operation_t *op, mpich_fast_comm_t *state,
                                       const mpich_fast_args_t *args)
{
    const fs_wrapper_calls_t *calls = begin(op, state, args, false);
    fs_status_t status = fs_wrapper_start(&state->shared, calls, op, &op->ours);

    if (NULL == op->ours) {
        drop(op);
    }
    return status;
}

void mpich_fast_end_operations(void)
{
    fs_operation_t *ours;
    void *ctx;

    while (NULL != (ours = fs_wrapper_next_ended(&mpich_fast_wrapper))) {
        int rc = fs_wrapper_end(ours, &ctx);
        mpich_fast_operation_t *op = ctx;

        if (!op->is_persistent) {
            drop(op);
        }
        op->ended(op, rc);
    }
}

/* ---- persistent ---- */

fs_status_t mpich_fast_operation_init(mpich_fast_operation_t *op, mpich_fast_comm_t *state,
                                      const mpich_fast_args_t *args)
{
    const fs_wrapper_calls_t *calls =
        NULL != op ? begin(op, state, args, true) : &calls_of[true][0];
    fs_operation_t *none, **ours = NULL != op ? &op->ours : &none;
    fs_status_t status = fs_wrapper_init_persistent(&state->shared, calls, op, ours);

    if (NULL != op && NULL == op->ours) {
        drop(op);
    }
    return status;
}

void mpich_fast_operation_free(mpich_fast_operation_t *op)
{
    fs_wrapper_free_persistent(op->ours);
    drop(op);
}
