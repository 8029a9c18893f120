/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress waits. In a simulation time passes only inside MPI calls, and a rank
 * that polls costs real time without end; but whatever a rank of ours waits for
 * comes as a message, and receives are posted ahead. So progress() sleeps until
 * one request of the rank has ended, and test() reads what it has seen.
 */
#include "smpi_host.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

enum { N_TAGS = 1 << 19 };

typedef struct pending {
    smpi_host_t *native;
    MPI_Request  request;
    uint32_t     at; /* in native->pending, while in flight */
    bool         ended;
    bool         cancelled;
    uint64_t     len_bytes;
} pending_t;

struct smpi_host {
    MPI_Comm     comm;
    pending_t  **pending;  /* in flight */
    MPI_Request *requests; /* theirs, as MPI_Waitany() wants them */
    uint32_t     n_pending;
    uint32_t     max_pending;
    uint32_t     n_unseen; /* ended, and test() has not said so */
};

static void *must(void *p)
{
    if (p == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

static void grow(smpi_host_t *h)
{
    uint32_t max = h->max_pending == 0 ? 64 : 2 * h->max_pending;

    h->pending     = must(realloc(h->pending, max * sizeof(*h->pending)));
    h->requests    = must(realloc(h->requests, max * sizeof(*h->requests)));
    h->max_pending = max;
}

static pending_t *add(smpi_host_t *h)
{
    pending_t *p = must(calloc(1, sizeof(*p)));

    if (h->n_pending == h->max_pending) {
        grow(h);
    }
    p->native                = h;
    p->at                    = h->n_pending;
    h->pending[h->n_pending] = p;
    return p;
}

static fs_status_t started(pending_t *p, int rc, void **request_p)
{
    smpi_host_t *h = p->native;

    if (rc != MPI_SUCCESS) {
        free(p);
        return FS_ERR_TRANSPORT;
    }
    h->requests[h->n_pending++] = p->request;
    *request_p                  = p;
    return FS_OK;
}

static fs_status_t host_isend(void *ctx, const void *buf, uint64_t len_bytes,
                              uint32_t peer, uint32_t tag, void **request_p)
{
    smpi_host_t *h = ctx;
    pending_t   *p;

    if (len_bytes > INT_MAX) {
        return FS_ERR_OVERFLOW;
    }
    p = add(h);
    return started(p,
                   MPI_Isend(buf, (int)len_bytes, MPI_BYTE, (int)peer, (int)tag,
                             h->comm, &p->request),
                   request_p);
}

static fs_status_t host_irecv(void *ctx, void *buf, uint64_t len_bytes,
                              uint32_t peer, uint32_t tag, void **request_p)
{
    smpi_host_t *h      = ctx;
    int          source = peer == FS_ANY_PEER ? MPI_ANY_SOURCE : (int)peer;
    pending_t   *p;

    if (len_bytes > INT_MAX) {
        return FS_ERR_OVERFLOW;
    }
    p = add(h);
    return started(p,
                   MPI_Irecv(buf, (int)len_bytes, MPI_BYTE, source, (int)tag,
                             h->comm, &p->request),
                   request_p);
}

static fs_status_t host_test(void *ctx, void *request, uint64_t *len_p)
{
    smpi_host_t *h = ctx;
    pending_t   *p = request;
    fs_status_t  status;

    if (!p->ended) {
        return FS_INPROGRESS;
    }
    if (len_p != NULL) {
        *len_p = p->len_bytes;
    }
    status = p->cancelled ? FS_ERR_TRANSPORT : FS_OK;
    --h->n_unseen;
    free(p);
    return status;
}

/* Request k is over; the last one takes its place. */
static void retire(smpi_host_t *h, uint32_t k)
{
    h->pending[k]->ended = true;
    ++h->n_unseen;
    --h->n_pending;
    h->pending[k]     = h->pending[h->n_pending];
    h->requests[k]    = h->requests[h->n_pending];
    h->pending[k]->at = k;
}

static void host_cancel(void *ctx, void *request)
{
    smpi_host_t *h = ctx;
    pending_t   *p = request;

    if (!p->ended) {
        MPI_Cancel(&h->requests[p->at]);
        p->cancelled = true;
        retire(h, p->at);
    }
}

/* One at a time: MPI_Waitsome() asks SMPI's kernel about every other request. */
static void host_progress(void *ctx)
{
    smpi_host_t *h = ctx;
    int          k = 0, count = 0;
    MPI_Status   status;

    if (h->n_unseen > 0 || h->n_pending == 0) {
        return;
    }
    MPI_Waitany((int)h->n_pending, h->requests, &k, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    h->pending[k]->len_bytes = (uint64_t)count;
    retire(h, (uint32_t)k);
}

static fs_status_t host_allgather(void *ctx, const void *in, size_t len,
                                  void *out)
{
    smpi_host_t *h = ctx;

    return MPI_Allgather(in, (int)len, MPI_BYTE, out, (int)len, MPI_BYTE,
                         h->comm) == MPI_SUCCESS
               ? FS_OK
               : FS_ERR_NATIVE;
}

static fs_status_t host_agree(void *ctx, fs_status_t mine)
{
    smpi_host_t *h  = ctx;
    int          in = mine, worst;

    return MPI_Allreduce(&in, &worst, 1, MPI_INT, MPI_MIN, h->comm) ==
                   MPI_SUCCESS
               ? (fs_status_t)worst
               : FS_ERR_NATIVE;
}

static fs_net_t *host_net(void *ctx)
{
    (void)ctx;
    return NULL;
}

static const fs_native_p2p_t p2p = {.n_tags = N_TAGS,
                                    .isend  = host_isend,
                                    .irecv  = host_irecv,
                                    .test   = host_test,
                                    .cancel = host_cancel};

smpi_host_t *smpi_host_create(MPI_Comm comm)
{
    smpi_host_t *h = must(calloc(1, sizeof(*h)));

    MPI_Comm_dup(comm, &h->comm);
    return h;
}

void smpi_host_destroy(smpi_host_t *h)
{
    MPI_Comm_free(&h->comm);
    free(h->pending);
    free(h->requests);
    free(h);
}

fs_native_t smpi_host_table(smpi_host_t *h)
{
    return (fs_native_t){.ctx       = h,
                         .process   = h,
                         .allgather = host_allgather,
                         .agree     = host_agree,
                         .progress  = host_progress,
                         .net       = host_net,
                         .p2p       = &p2p};
}
