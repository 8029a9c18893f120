/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_frame_request.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

struct fs_frame_request {
    fs_request_t  request; /* first */
    fs_request_t *members; /* in the order of their calls */
    fs_counts_t counts; /* sums over them; its arrays are behind this struct */
    fs_call_t   call;
    uint64_t
        *lines; /* [2 x n_servers] bytes of the first member: to the others,
                            from the others */
};

/* A frame is to take at most so much of the time that its members take one by one,
 * by the lower bounds. */
enum { MOST_TENTHS = 9 };

/* After a frame that did not pay so many requests go alone, after the next one twice
 * as many: it costs two summaries to find out. */
enum { MOST_DOUBLINGS = 10 };

/* ---- blocks: those of the members, one behind the other ---- */

static fs_status_t read_piece(const fs_call_t *call, uint32_t block,
                              uint64_t offset, uint64_t len, void *dst)
{
    fs_status_t status = FS_OK;

    if (call->send_block == NULL || call->send_late) {
        return call->pack(call->ctx, block, offset, len, dst);
    }
    if (call->fetch != NULL) {
        status = call->fetch(call->owner, block);
    }
    if (status == FS_OK) {
        memcpy(dst, (const char *)call->send_block[block] + offset, len);
    }
    return status;
}

static fs_status_t write_piece(const fs_call_t *call, uint32_t block,
                               uint64_t offset, uint64_t len, const void *src)
{
    if (call->recv_block == NULL || call->recv_late) {
        return call->unpack(call->ctx, block, offset, len, src);
    }
    memcpy((char *)call->recv_block[block] + offset, src, len);
    return call->landed != NULL ? call->landed(call->owner, block, len) : FS_OK;
}

static fs_status_t pack(void *ctx, uint32_t block, uint64_t offset,
                        uint64_t len_bytes, void *dst)
{
    const fs_frame_request_t *frame  = ctx;
    const fs_request_t       *member = frame->members;
    fs_status_t               status = FS_OK;
    char                     *at     = dst;

    for (; len_bytes > 0 && status == FS_OK; member = member->next) {
        uint64_t size = member->call->counts->send_bytes[block];
        uint64_t from = fs_u64_min(offset, size);
        uint64_t len  = fs_u64_min(len_bytes, size - from);

        if (len > 0) {
            status = read_piece(member->call, block, from, len, at);
        }
        offset -= from;
        len_bytes -= len;
        at += len;
    }
    return status;
}

static fs_status_t unpack(void *ctx, uint32_t block, uint64_t offset,
                          uint64_t len_bytes, const void *src)
{
    const fs_frame_request_t *frame  = ctx;
    const fs_request_t       *member = frame->members;
    fs_status_t               status = FS_OK;
    const char               *at     = src;

    for (; len_bytes > 0 && status == FS_OK; member = member->next) {
        uint64_t size = member->call->counts->recv_bytes[block];
        uint64_t from = fs_u64_min(offset, size);
        uint64_t len  = fs_u64_min(len_bytes, size - from);

        if (len > 0) {
            status = write_piece(member->call, block, from, len, at);
        }
        offset -= from;
        len_bytes -= len;
        at += len;
    }
    return status;
}

static fs_status_t prepare(void *owner)
{
    const fs_frame_request_t *frame  = owner;
    fs_status_t               status = FS_OK;

    for (fs_request_t *m = frame->members; m != NULL && status == FS_OK;
         m               = m->next) {
        status = fs_request_prepare(m);
    }
    return status;
}

static void add_counts(fs_frame_request_t *frame)
{
    fs_counts_t *counts = &frame->counts;
    uint64_t     weight = 1;

    fs_counts_begin(counts, frame->request.comm->topo);
    for (uint32_t peer = 0; peer < counts->n_ranks; ++peer) {
        uint64_t send = 0, recv = 0;

        for (const fs_request_t *m = frame->members; m != NULL; m = m->next) {
            send += m->call->counts->send_bytes[peer];
            recv += m->call->counts->recv_bytes[peer];
        }
        fs_counts_add(counts, peer, send, recv);
    }
    /* What differs in two of them may be equal in all together, or in another order. */
    for (const fs_request_t *m = frame->members; m != NULL; m = m->next) {
        weight += 2;
        counts->send_digest += weight * m->call->counts->send_digest;
        counts->received_digest += weight * m->call->counts->received_digest;
    }
}

static void describe(fs_frame_request_t *frame)
{
    fs_call_t *call = &frame->call;

    add_counts(frame);
    *call = (fs_call_t){.counts = &frame->counts,
                        .ctx    = frame,
                        .pack   = pack,
                        .unpack = unpack,
                        .owner  = frame};
    for (const fs_request_t *m = frame->members; m != NULL; m = m->next) {
        if (m->call->prepare != NULL) {
            call->prepare = prepare;
        }
        if (m->call->device.consent != FS_CONSENT_YES) {
            call->device.consent = m->call->device.consent;
        }
    }
}

/* ---- members ---- */

static bool is_frame(const fs_request_t *request)
{
    return (const void *)request == request->comm->frame;
}

static bool is_on_host(const fs_call_t *call)
{
    return call->device.send_mem.kind == FS_MEM_HOST &&
           call->device.recv_mem.kind == FS_MEM_HOST;
}

/* Could it be in a frame with others? */
static bool is_mergeable(const fs_request_t *request)
{
    return request->comm->params.frames > 1 &&
           fs_request_is_nonblocking(request) && request->plan == NULL &&
           request->collective->vote != NULL &&
           request->number > request->comm->alone_until &&
           is_on_host(request->call);
}

/* The frame of a communicator. NULL: out of memory. */
static fs_frame_request_t *frame_of(fs_comm_t *comm)
{
    size_t              p = comm->topo->n_ranks, n = comm->topo->n_servers;
    fs_frame_request_t *frame = comm->frame;
    uint64_t           *arrays;

    if (frame == NULL) {
        frame = calloc(1, sizeof(*frame) + (2 * p + 5 * n) * sizeof(*arrays));
    }
    if (frame != NULL && comm->frame == NULL) {
        arrays        = (uint64_t *)(frame + 1);
        frame->counts = (fs_counts_t){.n_ranks    = comm->topo->n_ranks,
                                      .rank       = comm->rank,
                                      .send_bytes = arrays,
                                      .recv_bytes = arrays + p,
                                      .row        = arrays + 2 * p};
        frame->lines  = arrays + 2 * p + n;
        comm->frame   = frame;
    }
    return frame;
}

uint64_t fs_frame_posted(const fs_request_t *first)
{
    uint64_t posted = first->number;

    if (!is_mergeable(first) || first->next == NULL ||
        frame_of(first->comm) == NULL) {
        return posted;
    }
    for (const fs_request_t *r = first->next; r != NULL && is_mergeable(r);
         r                     = r->next) {
        posted = r->number;
    }
    return posted;
}

bool fs_frame_gathers(const fs_request_t *request)
{
    return is_mergeable(request) &&
           request->collective->bundle_limit(request) != UINT64_MAX;
}

/* ---- does it pay? ---- */

/* What each server sends to others and receives from them, in the last summary. */
static void sum_lines(const fs_comm_t *comm, uint64_t *lines)
{
    const uint64_t *matrix = fs_control_matrix(comm->control);
    uint32_t        n      = comm->topo->n_servers;

    memset(lines, 0, 2 * (size_t)n * sizeof(*lines));
    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t v = 0; v < n; ++v) {
            uint64_t bytes = u == v ? 0 : matrix[(size_t)u * n + v];

            lines[u] += bytes;
            lines[n + v] += bytes;
        }
    }
}

/* The lower bound of what is in the one and not in the other, which may be NULL;
 * bytes per lane. */
static uint64_t bound_of(const fs_topo_t *topo, const uint64_t *lines,
                         const uint64_t *without)
{
    uint32_t n     = topo->n_servers;
    uint64_t bound = 0;

    for (uint32_t k = 0; k < 2 * n; ++k) {
        uint64_t bytes = lines[k] - (without != NULL ? without[k] : 0);

        bound = fs_u64_max(bound, fs_u64_div_up(bytes, topo->n_lanes[k % n]));
    }
    return bound;
}

bool fs_frame_pays(const fs_request_t *first)
{
    const fs_comm_t          *comm  = first->comm;
    const fs_frame_request_t *frame = comm->frame;
    uint64_t                 *all;
    uint64_t                  together, apart;

    if (!is_frame(first)) {
        return true;
    }
    all = frame->lines + 2 * (size_t)comm->topo->n_servers;
    sum_lines(comm, all);
    together = bound_of(comm->topo, all, NULL);
    apart    = bound_of(comm->topo, frame->lines, NULL) +
            bound_of(comm->topo, all, frame->lines);
    return (fs_u128_t)together * 10 <= (fs_u128_t)apart * MOST_TENTHS;
}

/* ---- in the queue ---- */

static fs_request_t *last_of(fs_request_t *first, uint32_t n)
{
    while (--n > 0) {
        first = first->next;
    }
    return first;
}

static void take_apart(fs_comm_t *comm)
{
    fs_frame_request_t *frame = comm->frame;

    last_of(frame->members, frame->request.n_calls)->next = frame->request.next;
    comm->first                                           = frame->members;
}

/* Who is told may free it. */
static void end_members(fs_request_t *request)
{
    fs_request_t *next;

    for (fs_request_t *m = ((fs_frame_request_t *)request)->members; m != NULL;
         m               = next) {
        next       = m->next;
        m->step    = FS_STEP_DONE;
        m->status  = request->status;
        m->ran     = request->ran;
        m->outcome = request->outcome;
        m->done(m);
    }
    request->comm->n_dissolved = 0;
    fs_request_fini(request);
}

/* How many requests, from the first one on, have all ranks posted? */
static uint32_t n_posted(const fs_comm_t *comm, const fs_request_t *first)
{
    uint64_t posted = fs_control_vote(comm->control)->posted;

    return posted < first->number
               ? 1
               : (uint32_t)fs_u64_min(posted - first->number + 1,
                                      comm->params.frames);
}

bool fs_frame_grows(fs_request_t *first)
{
    fs_comm_t *comm = first->comm;

    if (first->again || !is_mergeable(first) ||
        !(first->flags & FS_VOTE_REST) || n_posted(comm, first) < 2) {
        return false;
    }
    first->again = true;
    sum_lines(comm, comm->frame->lines);
    return true;
}

void fs_frame_form(fs_comm_t *comm)
{
    fs_request_t       *first = comm->first, *last;
    fs_frame_request_t *frame = comm->frame;
    uint32_t            n;

    if (!first->again || !is_mergeable(first)) {
        return;
    }
    n    = n_posted(comm, first);
    last = last_of(first, n);
    fs_request_init(&frame->request, comm, &fs_alltoallv, &frame->call);
    frame->request.done        = end_members;
    frame->request.call_number = first->call_number;
    frame->request.number      = first->number;
    frame->request.n_calls     = n;
    frame->request.again       = true;
    frame->request.is_early    = first->is_early;
    frame->request.outcome     = first->outcome;
    frame->request.next        = last->next;
    frame->members             = first;
    last->next                 = NULL;
    comm->first                = &frame->request;
    comm->stats.framed += n;
    describe(frame);
}

bool fs_frame_dissolve(fs_comm_t *comm)
{
    fs_request_t *first = comm->first;

    if (!is_frame(first)) {
        return false;
    }
    comm->alone_until = first->number + first->n_calls - 2 +
                        ((uint32_t)1 << comm->n_dissolved);
    comm->n_dissolved = fs_u32_min(comm->n_dissolved + 1, MOST_DOUBLINGS);
    comm->stats.framed -= first->n_calls;
    fs_request_fini(first);
    take_apart(comm);
    comm->first->again = true;
    return true;
}
