/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nonblocking call that turns out not to be ours when it is too late for what served
 * its communicator before: all pairs of ranks exchange their blocks by plain messages,
 * with a tag of nonblocking collectives that the call has taken.
 */
#include "coll_fast.h"

#include <stdlib.h>

#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"
#include "ompi/runtime/mpiruntime.h"

/* Nobody else would know of an error. */
static void stop_job(ompi_communicator_t *comm)
{
    mca_coll_fast_complain("out of memory on rank %d in a nonblocking call; the job stops here",
                           ompi_comm_rank(comm));
    (void) ompi_mpi_abort(comm, MPI_ERR_NO_MEM);
}

static size_t packed_bytes(const mca_coll_fast_block_t *block)
{
    size_t size = 0;

    if (block->count > 0) {
        ompi_datatype_type_size(block->dtype, &size);
    }
    return block->count * size;
}

/* What is sent in place is packed first: it will be overwritten. */
static char *copy_sends(mca_coll_fast_call_t *call, mca_coll_fast_block_t *sends, uint32_t n)
{
    size_t total = 0;
    char *copy, *at;

    for (uint32_t k = 0; k < n; ++k) {
        total += packed_bytes(&call->recv.kept[k]);
    }
    copy = at = malloc(total + 1);
    if (NULL == copy) {
        stop_job(call->module->comm);
    }
    call->send = call->recv;
    for (uint32_t k = 0; k < n; ++k) {
        size_t len = packed_bytes(&call->recv.kept[k]);

        if (len > 0) {
            (void) mca_coll_fast_pack(call, k, 0, len, at);
        }
        sends[k] = (mca_coll_fast_block_t){at, MPI_BYTE, len};
        at += len;
    }
    return copy;
}

static void note(fast_by_pair_t *p, int rc)
{
    p->rc = MPI_SUCCESS != rc ? rc : p->rc;
}

void mca_coll_fast_begin_by_pair(fast_by_pair_t *p, mca_coll_fast_call_t *call, int tag)
{
    ompi_communicator_t *comm = call->module->comm;
    int n = ompi_comm_size(comm);
    mca_coll_fast_block_t *recvs = call->recv.kept, *sends = recvs + n;

    p->messages = malloc((size_t) n * 2 * sizeof(*p->messages));
    if (NULL == p->messages) {
        stop_job(comm);
    }
    if (MPI_IN_PLACE == call->sbuf) {
        p->copy = copy_sends(call, sends, (uint32_t) n);
    }
    for (int k = 0; k < 2 * n; ++k) {
        p->messages[k] = MPI_REQUEST_NULL;
    }
    for (int k = 0; k < n; ++k) {
        const mca_coll_fast_block_t *b = &recvs[k];

        if (b->count > 0) {
            note(p,
                 MCA_PML_CALL(irecv(b->start, b->count, b->dtype, k, tag, comm, &p->messages[k])));
        }
    }
    for (int k = 0; k < n; ++k) {
        const mca_coll_fast_block_t *b = &sends[k];

        if (b->count > 0) {
            note(p, MCA_PML_CALL(isend(b->start, b->count, b->dtype, k, tag,
                                       MCA_PML_BASE_SEND_STANDARD, comm, &p->messages[n + k])));
        }
    }
}

bool mca_coll_fast_by_pair_is_over(fast_by_pair_t *p, const mca_coll_fast_call_t *call)
{
    int n = 2 * ompi_comm_size(call->module->comm);

    for (int k = 0; k < n; ++k) {
        if (MPI_REQUEST_NULL != p->messages[k] && !REQUEST_COMPLETE(p->messages[k])) {
            return false;
        }
    }
    opal_atomic_rmb(); /* the bytes were there before the words that say so */
    for (int k = 0; k < n; ++k) {
        if (MPI_REQUEST_NULL != p->messages[k]) {
            note(p, p->messages[k]->req_status.MPI_ERROR);
            (void) ompi_request_free(&p->messages[k]);
        }
    }
    return true;
}

void mca_coll_fast_free_by_pair(fast_by_pair_t *p)
{
    free(p->messages);
    free(p->copy);
}
