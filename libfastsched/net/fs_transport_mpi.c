/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport of one communicator over the MPI's point-to-point.
 *
 * Tags. MPI promises 15 bits, a key has 32, so the call's number is left out
 * and the message's may be cut short:
 *
 *   0                                        grants
 *   1 + channel * max_seq + seq % max_seq    everything else
 *
 * Two messages of one pair with the same tag must then be posted in the same
 * order on both sides; MPI keeps that order. They are:
 *   - of different calls (or rounds of the summary): a rank has posted all of
 *     one call, sends and receives, before the first of the next;
 *   - of one call on the wire, max_seq apart: wire messages are posted strictly
 *     in plan order by sender and receiver (fs_exec.c);
 *   - of one call inside a server, max_seq apart: these are posted when they
 *     are ready, in any order, so a plan with that many is refused, by
 *     fs_exec_reserve(). With 2^20 tags and chunks of 64k these are 8 GB
 *     between two ranks.
 * A receive that is cancelled breaks the count, but then the communicator is
 * lost anyway.
 *
 * Grants come from any peer into a few receives that are always posted: if more
 * have arrived since the last turn, they wait in the MPI. To each peer at most
 * one grant is in flight; later ones wait, the newest replaces them, and the
 * call does not end before it is sent.
 *
 * All memory is allocated when the communicator is created: a message in flight
 * is a link in a list of its caller's.
 *
 * Unlike over UCX, a grant queues behind data to the same peer if the MPI sends
 * both the same way.
 */
#include "net/fs_transport_mpi.h"

#include "base/fs_arith.h"
#include "base/fs_assert.h"

#include <stdlib.h>
#include <string.h>

enum {
    GRANT_TAG     = 0,
    CHANNELS      = 8, /* FS_CH_LAST, the summaries', is one of them */
    GRANT_RECVS   = 8,
    TESTS         = 64, /* of one progress; more would slow down each look */
    MAX_END_TURNS = 1000
};

typedef struct grant {
    uint64_t count;
    uint64_t rank; /* who grants */
} grant_t;

typedef struct grant_in {
    grant_t grant;
    void   *request;
} grant_in_t;

/* To one peer. */
typedef struct grant_out {
    grant_t  grant; /* in flight while busy */
    void    *request;
    uint64_t wanted; /* newest count */
    bool     busy;
    bool     waits; /* the newest, for the one in flight */
} grant_out_t;

typedef struct mpi_net {
    fs_net_t       super;     /* first */
    fs_transport_t transport; /* its only one */
    fs_native_t    native;
    uint32_t       rank;
    uint32_t       n_ranks;
    uint8_t       *reach;  /* [n_ranks] fs_reach_t */
    fs_xfer_t     *posted; /* a ring, from where progress goes on looking */
    uint32_t       n_posted;
    grant_in_t     in[GRANT_RECVS];
    grant_out_t   *out;  /* [n_ranks] */
    uint32_t      *busy; /* [n_ranks] peers with a grant in flight */
    uint32_t       n_busy;
    fs_status_t    grant_status; /* of grants that failed after the call */
} mpi_net_t;

static mpi_net_t *net_of(const fs_transport_t *transport)
{
    return (mpi_net_t *)transport->net;
}

static fs_status_t test(const mpi_net_t *net, void *request, uint64_t *len_p)
{
    return net->native.p2p->test(net->native.ctx, request, len_p);
}

/* ---- messages ---- */

static uint32_t make_tag(const mpi_net_t *net, uint32_t key)
{
    uint32_t channel = key >> 28, seq = key & 0xffffff;

    fs_assert(channel < CHANNELS);
    return 1 + channel * net->transport.max_seq + seq % net->transport.max_seq;
}

/* Progress looks at it last. */
static void link_xfer(mpi_net_t *net, fs_xfer_t *xfer)
{
    if (net->n_posted++ == 0) {
        net->posted = xfer->next = xfer->prev = xfer;
        return;
    }
    xfer->next       = net->posted;
    xfer->prev       = net->posted->prev;
    xfer->prev->next = xfer->next->prev = xfer;
}

static void unlink_xfer(mpi_net_t *net, fs_xfer_t *xfer)
{
    xfer->prev->next = xfer->next;
    xfer->next->prev = xfer->prev;
    if (net->posted == xfer) {
        net->posted = xfer->next;
    }
    if (--net->n_posted == 0) {
        net->posted = NULL;
    }
}

/* Has the message ended? */
static bool probe_at(mpi_net_t *net, fs_xfer_t *xfer)
{
    uint64_t    len = xfer->len_bytes;
    fs_status_t status =
        test(net, xfer->request, xfer->in_flight ? &len : NULL);

    if (status == FS_INPROGRESS) {
        return false;
    }
    unlink_xfer(net, xfer);
    xfer->in_flight = false;
    xfer->done(xfer, status, len);
    return true;
}

/* Small sends are often over at once. */
static void note(mpi_net_t *net, fs_xfer_t *xfer, bool receive,
                 uint64_t len_bytes)
{
    xfer->in_flight = receive;
    xfer->len_bytes = len_bytes;
    link_xfer(net, xfer);
    probe_at(net, xfer);
}

static fs_status_t mpi_send(fs_transport_t *transport, uint32_t peer,
                            uint32_t key, const void *buf, uint64_t len_bytes,
                            fs_xfer_t *xfer)
{
    mpi_net_t  *net = net_of(transport);
    fs_status_t status;

    if (net->reach[peer] == FS_REACH_NONE) {
        return FS_ERR_UNREACHABLE;
    }
    status = net->native.p2p->isend(net->native.ctx, buf, len_bytes, peer,
                                    make_tag(net, key), &xfer->request);
    if (status == FS_OK) {
        note(net, xfer, false, len_bytes);
    }
    return status;
}

static fs_status_t mpi_recv(fs_transport_t *transport, uint32_t peer,
                            uint32_t key, void *buf, uint64_t len_bytes,
                            fs_xfer_t *xfer)
{
    mpi_net_t  *net = net_of(transport);
    fs_status_t status;

    if (net->reach[peer] == FS_REACH_NONE) {
        return FS_ERR_UNREACHABLE;
    }
    status = net->native.p2p->irecv(net->native.ctx, buf, len_bytes, peer,
                                    make_tag(net, key), &xfer->request);
    if (status == FS_OK) {
        note(net, xfer, true, 0);
    }
    return status;
}

static void mpi_cancel(fs_transport_t *transport, fs_xfer_t *xfer)
{
    mpi_net_t *net = net_of(transport);

    if (xfer->in_flight) {
        net->native.p2p->cancel(net->native.ctx, xfer->request);
    }
}

/* ---- grants ---- */

static fs_status_t await_grant(mpi_net_t *net, grant_in_t *in)
{
    return net->native.p2p->irecv(net->native.ctx, &in->grant,
                                  sizeof(in->grant), FS_ANY_PEER, GRANT_TAG,
                                  &in->request);
}

/* Messages come in order, their completions need not; the executor keeps the
 * largest count. */
static unsigned take_grants(mpi_net_t *net)
{
    const fs_transport_t *t      = &net->transport;
    unsigned              events = 0;

    for (uint32_t k = 0; k < GRANT_RECVS; ++k) {
        grant_in_t *in  = &net->in[k];
        uint64_t    len = 0;
        fs_status_t status;

        if (in->request == NULL) {
            continue;
        }
        status = test(net, in->request, &len);
        if (status == FS_INPROGRESS) {
            continue;
        }
        in->request = NULL;
        ++events;
        if (status == FS_OK && in->grant.rank < net->n_ranks) {
            t->granted(t->granted_arg, (uint32_t)in->grant.rank,
                       in->grant.count);
            status = await_grant(net, in);
        }
        net->grant_status = status != FS_OK ? status : net->grant_status;
    }
    return events;
}

static fs_status_t push_grant(mpi_net_t *net, uint32_t peer)
{
    grant_out_t *out = &net->out[peer];
    fs_status_t  status;

    out->grant = (grant_t){out->wanted, net->rank};
    status     = net->native.p2p->isend(net->native.ctx, &out->grant,
                                        sizeof(out->grant), peer, GRANT_TAG,
                                        &out->request);
    if (status == FS_OK) {
        out->busy                = true;
        net->busy[net->n_busy++] = peer;
    }
    return status;
}

/* The newest count waits no more, or does. */
static void set_waits(mpi_net_t *net, grant_out_t *out, bool waits)
{
    net->transport.n_grants_out += (uint32_t)waits - (uint32_t)out->waits;
    out->waits = waits;
}

/* Has the grant to busy peer k ended? Then the last of them takes its place. */
static bool reap_grant(mpi_net_t *net, uint32_t k)
{
    uint32_t     peer   = net->busy[k];
    grant_out_t *out    = &net->out[peer];
    fs_status_t  status = test(net, out->request, NULL);

    if (status == FS_INPROGRESS) {
        return false;
    }
    out->busy    = false;
    net->busy[k] = net->busy[--net->n_busy];
    if (status == FS_OK && out->waits) {
        status = push_grant(net, peer);
    }
    set_waits(net, out, false);
    net->grant_status = status != FS_OK ? status : net->grant_status;
    return true;
}

static unsigned reap_grants(mpi_net_t *net)
{
    unsigned events = 0;

    for (uint32_t k = net->n_busy; k-- > 0;) {
        events += reap_grant(net, k);
    }
    return events;
}

static fs_status_t mpi_grant(fs_transport_t *transport, uint32_t peer,
                             uint64_t count)
{
    mpi_net_t   *net = net_of(transport);
    grant_out_t *out = &net->out[peer];
    fs_status_t  status;

    if (net->reach[peer] == FS_REACH_NONE) {
        return FS_ERR_UNREACHABLE;
    }
    if (net->grant_status != FS_OK && count != FS_GIVEN_UP) {
        return net->grant_status; /* of an earlier one */
    }
    out->wanted = count;
    if (out->busy) {
        set_waits(net, out, count > out->grant.count);
        return FS_OK;
    }
    status = push_grant(net, peer);
    if (status == FS_OK) {
        reap_grant(net, net->n_busy - 1); /* often over at once */
    }
    return status;
}

static unsigned mpi_progress(fs_net_t *super)
{
    mpi_net_t *net    = (mpi_net_t *)super;
    unsigned   events = take_grants(net) + reap_grants(net);
    uint32_t   most   = fs_u32_min(net->n_posted, TESTS);

    for (uint32_t n = 0; n < most && net->posted != NULL; ++n) {
        fs_xfer_t *xfer = net->posted;

        net->posted = xfer->next;
        events += probe_at(net, xfer);
    }
    return events;
}

/* ---- life ---- */

/* Has the MPI unfinished requests? */
static bool is_busy(const mpi_net_t *net)
{
    bool busy = net->n_posted > 0 || net->n_busy > 0;

    for (uint32_t k = 0; k < GRANT_RECVS; ++k) {
        busy = busy || net->in[k].request != NULL;
    }
    return busy;
}

/* Grants are small, so the MPI can end them without their receiver. If it does
 * not, they keep their memory: see mpi_free(). */
static void mpi_destroy(fs_transport_t *transport)
{
    mpi_net_t *net = net_of(transport);

    for (uint32_t k = 0; k < net->n_busy; ++k) {
        set_waits(net, &net->out[net->busy[k]], false);
    }
    for (uint32_t k = 0; k < GRANT_RECVS; ++k) {
        if (net->in[k].request != NULL) {
            net->native.p2p->cancel(net->native.ctx, net->in[k].request);
        }
    }
    for (uint32_t turn = 0; turn < MAX_END_TURNS && is_busy(net); ++turn) {
        for (uint32_t k = 0; k < GRANT_RECVS; ++k) {
            uint64_t len;

            if (net->in[k].request != NULL &&
                test(net, net->in[k].request, &len) != FS_INPROGRESS) {
                net->in[k].request = NULL;
            }
        }
        reap_grants(net);
        if (is_busy(net)) {
            net->native.progress(net->native.ctx);
        }
    }
}

static fs_status_t mpi_hello(fs_net_t *super, fs_net_hello_t *hello,
                             const void **address)
{
    (void)super;
    *hello   = (fs_net_hello_t){0}; /* the MPI knows its ranks */
    *address = NULL;
    return FS_OK;
}

static void mpi_forget(fs_net_t *super, uint32_t group)
{
    (void)super;
    (void)group;
}

static const fs_transport_ops_t transport_ops = {
    .send    = mpi_send,
    .recv    = mpi_recv,
    .cancel  = mpi_cancel,
    .grant   = mpi_grant,
    .destroy = mpi_destroy,
};

static fs_status_t mpi_connect(fs_net_t *super, const fs_net_group_t *spec,
                               fs_transport_t **transport_p, uint32_t *failed_p)
{
    mpi_net_t  *net    = (mpi_net_t *)super;
    fs_status_t status = FS_OK;

    *failed_p  = spec->rank;
    net->reach = malloc(spec->n_ranks);
    net->out   = calloc(spec->n_ranks, sizeof(*net->out));
    net->busy  = calloc(spec->n_ranks, sizeof(*net->busy));
    if (net->reach == NULL || net->out == NULL || net->busy == NULL) {
        return FS_ERR_NOMEM;
    }
    memcpy(net->reach, spec->reach, spec->n_ranks);
    net->rank    = spec->rank;
    net->n_ranks = spec->n_ranks;
    for (uint32_t k = 0; k < GRANT_RECVS && status == FS_OK; ++k) {
        status = await_grant(net, &net->in[k]);
    }
    if (status != FS_OK) {
        mpi_destroy(&net->transport);
        return status;
    }
    *transport_p = &net->transport;
    return FS_OK;
}

static void mpi_free(fs_net_t *super)
{
    mpi_net_t *net = (mpi_net_t *)super;

    if (is_busy(net)) {
        return; /* the MPI may still read or write there */
    }
    free(net->reach);
    free(net->out);
    free(net->busy);
    pthread_mutex_destroy(&net->super.lock);
    free(net);
}

static const fs_net_ops_t net_ops = {
    .hello    = mpi_hello,
    .forget   = mpi_forget,
    .connect  = mpi_connect,
    .progress = mpi_progress,
    .destroy  = mpi_free,
};

fs_status_t fs_mpi_create(const fs_native_t *native, fs_net_t **net_p)
{
    mpi_net_t *net;

    if (native->p2p->n_tags <= CHANNELS) {
        return FS_ERR_UNSUPPORTED;
    }
    net = calloc(1, sizeof(*net));
    if (net == NULL) {
        return FS_ERR_NOMEM;
    }
    net->super.ops           = &net_ops;
    net->super.mem_kinds     = native->mem_kinds;
    net->super.rdma          = true; /* as far as we know */
    net->super.local_arrives = true; /* the MPI sees to it */
    net->super.name          = "the MPI";
    net->native              = *native;
    net->transport.ops       = &transport_ops;
    net->transport.net       = &net->super;
    net->transport.max_seq   = (native->p2p->n_tags - 1) / CHANNELS;
    pthread_mutex_init(&net->super.lock, NULL);
    *net_p = &net->super;
    return FS_OK;
}
