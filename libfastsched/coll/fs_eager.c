/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/fs_eager.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

/* Messages of a pair have one tag: they match in the order in which both ends post
 * them, which is that of the block's bytes and of the communicator's calls. */
enum { TAG = 1 };

/* A message that was posted. */
typedef struct piece {
    void    *request;
    uint64_t len_bytes;
    bool     is_receive;
} piece_t;

typedef struct eager eager_t;
struct eager {
    eager_t         *next; /* of those that were abandoned */
    fs_comm_t       *comm;
    const fs_call_t *call;
    piece_t         *piece; /* all receives, then all sends */
    size_t           n_pieces;
    char *packed; /* blocks that have no place of their own, those that
                                are sent first */
};

bool fs_eager_can(const fs_comm_t *comm)
{
    return comm->native.p2p != NULL && comm->own_net == NULL &&
           !comm->has_accel && !comm->eager_failed;
}

bool fs_eager_open(fs_comm_t *comm)
{
    const fs_native_t *native = &comm->native;
    fs_status_t        mine   = FS_OK;

    if (!comm->eager_open && !comm->eager_failed) {
        /* In open() our network may make no progress: all are here first. */
        (void)native->agree(native->ctx, FS_OK);
        if (native->p2p->open != NULL) {
            mine = native->p2p->open(native->ctx);
        }
        comm->eager_open   = native->agree(native->ctx, mine) == FS_OK;
        comm->eager_failed = !comm->eager_open;
    }
    return comm->eager_open;
}

/* ---- where the bytes are ---- */

static uint64_t sum(const uint64_t *bytes, uint32_t n)
{
    uint64_t all = 0;

    for (uint32_t r = 0; r < n; ++r) {
        all += bytes[r];
    }
    return all;
}

static uint64_t packed_bytes(const fs_call_t *call)
{
    const fs_counts_t *counts = call->counts;

    return (call->send_block == NULL ? sum(counts->send_bytes, counts->n_ranks)
                                     : 0) +
           (call->recv_block == NULL ? sum(counts->recv_bytes, counts->n_ranks)
                                     : 0);
}

/* A call that nobody has looked at may have blocks of any length. */
static uint64_t piece_bytes(const eager_t *e, uint32_t peer,
                            uint64_t block_bytes)
{
    const fs_topo_t *topo = e->comm->topo;

    return fs_topo_server(topo, peer) == fs_topo_server(topo, e->comm->rank) ||
                   block_bytes > 4 * FS_EAGER_MOST / topo->n_ranks
               ? FS_EAGER_LARGE
               : FS_EAGER_PIECE;
}

static size_t count_pieces(const eager_t *e)
{
    const fs_counts_t *counts = e->call->counts;
    size_t             n      = 0;

    for (uint32_t r = 0; r < counts->n_ranks; ++r) {
        uint64_t out = counts->send_bytes[r], in = counts->recv_bytes[r];

        n += fs_u64_div_up(out, piece_bytes(e, r, out)) +
             fs_u64_div_up(in, piece_bytes(e, r, in));
    }
    return n;
}

/* ---- messages ---- */

static fs_status_t post_piece(eager_t *e, uint32_t peer, char *at, uint64_t len,
                              bool is_receive)
{
    const fs_native_t *native = &e->comm->native;
    piece_t           *p      = &e->piece[e->n_pieces];
    fs_status_t        status =
        is_receive
                   ? native->p2p->irecv(native->ctx, at, len, peer, TAG, &p->request)
                   : native->p2p->isend(native->ctx, at, len, peer, TAG, &p->request);

    p->len_bytes  = len;
    p->is_receive = is_receive;
    e->n_pieces += status == FS_OK;
    return status;
}

static fs_status_t post_block(eager_t *e, uint32_t peer, char *block,
                              uint64_t bytes, bool is_receive)
{
    uint64_t    most   = piece_bytes(e, peer, bytes), len;
    fs_status_t status = FS_OK;

    for (uint64_t at = 0; at < bytes && status == FS_OK; at += len) {
        len    = fs_u64_min(bytes - at, most);
        status = post_piece(e, peer, block + at, len, is_receive);
    }
    return status;
}

static fs_status_t post_receives(eager_t *e, char *packed)
{
    const fs_call_t *call   = e->call;
    const uint64_t  *bytes  = call->counts->recv_bytes;
    uint32_t         n      = call->counts->n_ranks;
    fs_status_t      status = FS_OK;

    for (uint32_t r = 0; r < n && status == FS_OK; ++r) {
        status = post_block(
            e, r, call->recv_block != NULL ? call->recv_block[r] : packed,
            bytes[r], true);
        packed += call->recv_block != NULL ? 0 : bytes[r];
    }
    return status;
}

static fs_status_t fill(const fs_call_t *call, uint32_t block, char *packed)
{
    uint64_t    bytes  = call->counts->send_bytes[block];
    fs_status_t status = call->fetch != NULL ? call->fetch(call->owner, block)
                                             : FS_OK;

    return status == FS_OK && call->send_block == NULL && bytes > 0
               ? call->pack(call->ctx, block, 0, bytes, packed)
               : status;
}

/* The next rank first: not all send to rank 0 at once. */
static fs_status_t post_sends(eager_t *e, char *packed)
{
    const fs_call_t *call   = e->call;
    uint32_t         n      = call->counts->n_ranks;
    fs_status_t      status = FS_OK;

    for (uint32_t k = 0; k < n && status == FS_OK; ++k) {
        uint32_t r     = (e->comm->rank + 1 + k) % n;
        uint64_t bytes = call->counts->send_bytes[r];

        status = fill(call, r, packed);
        if (status == FS_OK) {
            /* It is only read. */
            status = post_block(e, r,
                                call->send_block != NULL
                                    ? (char *)(uintptr_t)call->send_block[r]
                                    : packed,
                                bytes, false);
        }
        packed += call->send_block != NULL ? 0 : bytes;
    }
    return status;
}

/* FS_INPROGRESS: it is under way. */
static fs_status_t look_at(const eager_t *e, const piece_t *p)
{
    const fs_native_t *native = &e->comm->native;
    uint64_t           len    = p->len_bytes;
    fs_status_t        status =
        native->p2p->test(native->ctx, p->request, p->is_receive ? &len : NULL);

    return status == FS_OK && len != p->len_bytes ? FS_ERR_TRUNCATE : status;
}

/* All in turn, as none is dispensable. */
static fs_status_t wait_for_all(const eager_t *e)
{
    const fs_comm_t *comm = e->comm;

    for (size_t k = 0; k < e->n_pieces; ++k) {
        fs_status_t status = look_at(e, &e->piece[k]);

        while (status == FS_INPROGRESS) {
            comm->native.progress(comm->native.ctx);
            (void)fs_net_progress(comm->net);
            status = fs_exec_lost_peer(comm->exec) != FS_NO_RANK
                         ? FS_ERR_PEER
                         : look_at(e, &e->piece[k]);
        }
        if (status != FS_OK) {
            return status;
        }
    }
    return FS_OK;
}

static fs_status_t take_in(const fs_call_t *call, const char *packed)
{
    const uint64_t *bytes  = call->counts->recv_bytes;
    fs_status_t     status = FS_OK;

    for (uint32_t r = 0; r < call->counts->n_ranks && status == FS_OK; ++r) {
        if (call->recv_block == NULL && bytes[r] > 0) {
            status = call->unpack(call->ctx, r, 0, bytes[r], packed);
            packed += bytes[r];
        }
        if (status == FS_OK && call->landed != NULL) {
            status = call->landed(call->owner, r, bytes[r]);
        }
    }
    return status;
}

static fs_status_t exchange(eager_t *e)
{
    const fs_call_t *call     = e->call;
    char            *received = e->packed;
    fs_status_t      status;

    if (call->send_block == NULL) {
        received += sum(call->counts->send_bytes, call->counts->n_ranks);
    }
    status = post_receives(e, received);
    if (status == FS_OK) {
        status = post_sends(e, e->packed);
    }
    if (status == FS_OK) {
        status = wait_for_all(e);
    }
    return status == FS_OK ? take_in(call, received) : status;
}

/* What the MPI may still use after an error, for the rest of the process. */
static eager_t *abandoned;

static void abandon(eager_t *e)
{
    e->next = __atomic_load_n(&abandoned, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&abandoned, &e->next, e, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

static void destroy(eager_t *e)
{
    free(e->packed);
    free(e->piece);
    free(e);
}

static eager_t *create(fs_comm_t *comm, const fs_call_t *call)
{
    eager_t *e = calloc(1, sizeof(*e));

    if (e == NULL) {
        return NULL;
    }
    *e        = (eager_t){.comm = comm, .call = call};
    e->piece  = malloc((count_pieces(e) + 1) * sizeof(*e->piece));
    e->packed = malloc(packed_bytes(call) + 1);
    if (e->piece == NULL || e->packed == NULL) {
        destroy(e);
        return NULL;
    }
    return e;
}

fs_status_t fs_eager_run(fs_comm_t *comm, const fs_call_t *call)
{
    eager_t    *e      = create(comm, call);
    fs_status_t status = e == NULL ? FS_ERR_NOMEM : exchange(e);

    if (status == FS_OK) {
        destroy(e);
    } else if (e != NULL) {
        abandon(e);
    }
    return status;
}
