/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The summary exchange.
 *
 *   leader                                      local rank
 *   COLLECT   all local votes are here          COLLECT  the result is here
 *             -> EXCHANGE                                -> IDLE
 *   EXCHANGE  all leaders' rows are here
 *             -> DELIVER
 *   DELIVER   the result is out -> IDLE
 *
 * Inside a server the ranks use a control block in shared memory, or messages
 * between blocks of their own; for contents and order see fs_control_block.h.
 * All messages are arrays of 64-bit numbers. Which rank sends what is fixed,
 * and so are the lengths.
 */
#include "comm/fs_control.h"

#include "base/fs_arith.h"
#include "comm/fs_control_block.h"

#include <stdlib.h>
#include <string.h>

enum { TO_LEADER, AMONG_LEADERS, FROM_LEADER }; /* number in the key */

typedef enum state { IDLE, COLLECT, EXCHANGE, DELIVER } state_t;

typedef struct pending {
    fs_xfer_t     xfer; /* first */
    fs_control_t *control;
    uint64_t      len_bytes; /* expected */
    uint32_t      peer;      /* for messages to the user */
    bool          ended;
} pending_t;

struct fs_control {
    const fs_topo_t   *topo;
    fs_transport_t    *transport;
    uint32_t           rank;
    uint32_t           server;
    uint32_t           leader;
    uint32_t           n_local;
    uint32_t           local;     /* this rank's position there */
    uint32_t           n_written; /* leader: local ranks below have voted */
    uint64_t           round;
    bool               shared; /* the block is */
    bool               summary;
    state_t            state;
    fs_status_t        status;
    uint32_t           n_pending;
    pending_t         *pending; /* [max_pending] of this step */
    uint32_t           n_posted;
    uint64_t           wire_bytes;
    fs_control_block_t block;
    uint64_t          *up;   /* messages to the leader: one; there [n_local] */
    uint64_t          *rows; /* leader: [N] of a vote and N cells */
};

uint32_t fs_control_leader(const fs_topo_t *topo, uint32_t server)
{
    return fs_topo_rank(topo, server, fs_topo_proxy(topo, server, 0));
}

size_t fs_control_shared_bytes(const fs_topo_t *topo, uint32_t server)
{
    return fs_topo_n_local(topo, server) == 1
               ? 0
               : fs_control_block_bytes(topo, server);
}

static bool is_leader(const fs_control_t *control)
{
    return control->rank == control->leader;
}

static size_t row_len(const fs_control_t *control)
{
    return FS_VOTE_LEN +
           (control->summary ? fs_topo_n_servers(control->topo) : 0);
}

static size_t up_len(const fs_control_t *control)
{
    return fs_control_block_message_len(&control->block, control->summary);
}

/* ---- create, destroy ---- */

static fs_status_t alloc(fs_control_t *control, void *shared)
{
    size_t n           = fs_topo_n_servers(control->topo),
           p           = fs_topo_n_ranks(control->topo);
    fs_status_t status = fs_control_block_init(&control->block, control->topo,
                                               control->server, shared);

    if (status != FS_OK) {
        return status;
    }
    control->shared  = shared != NULL;
    control->summary = true; /* the largest lengths */
    control->pending = calloc(2 * (n + p), sizeof(*control->pending));
    if (!control->shared) {
        control->up = calloc((is_leader(control) ? control->n_local : 1) *
                                 up_len(control),
                             sizeof(*control->up));
    }
    if (is_leader(control)) {
        control->rows = calloc(n * row_len(control), sizeof(*control->rows));
    }
    return control->pending != NULL &&
                   (control->shared || control->up != NULL) &&
                   (!is_leader(control) || control->rows != NULL)
               ? FS_OK
               : FS_ERR_NOMEM;
}

fs_status_t fs_control_create(const fs_topo_t *topo, uint32_t rank,
                              fs_transport_t *transport, void *shared,
                              fs_control_t **control_p)
{
    fs_control_t *control = calloc(1, sizeof(*control));
    fs_status_t   status;

    if (control == NULL) {
        return FS_ERR_NOMEM;
    }
    control->topo      = topo;
    control->transport = transport;
    control->rank      = rank;
    control->server    = fs_topo_server(topo, rank);
    control->leader    = fs_control_leader(topo, control->server);
    control->n_local   = fs_topo_n_local(topo, control->server);
    control->local     = fs_topo_local(topo, rank);
    status             = alloc(control, shared);
    if (status != FS_OK) {
        fs_control_destroy(control);
        return status;
    }
    *control_p = control;
    return FS_OK;
}

void fs_control_destroy(fs_control_t *control)
{
    if (control != NULL) {
        fs_control_block_fini(&control->block);
        free(control->up);
        free(control->rows);
        free(control->pending);
        free(control);
    }
}

/* ---- messages ---- */

static void message_ended(fs_xfer_t *xfer, fs_status_t status,
                          uint64_t len_bytes)
{
    pending_t    *pending = (pending_t *)xfer;
    fs_control_t *control = pending->control;

    --control->n_pending;
    pending->ended = true;
    if (control->status != FS_OK) {
        return;
    }
    control->status = status != FS_OK                   ? status
                      : len_bytes != pending->len_bytes ? FS_ERR_TRUNCATE
                                                        : FS_OK;
}

static void post(fs_control_t *control, bool send, uint32_t peer, uint32_t step,
                 uint64_t *numbers, uint64_t n_numbers)
{
    const fs_transport_ops_t *ops     = control->transport->ops;
    pending_t                *pending = &control->pending[control->n_posted];
    uint32_t    key = fs_key(FS_CH_LAST, (uint32_t)control->round, step);
    uint64_t    len = n_numbers * sizeof(*numbers);
    fs_status_t status;

    if (control->status != FS_OK) {
        return;
    }
    *pending = (pending_t){.xfer.done = message_ended,
                           .control   = control,
                           .len_bytes = len,
                           .peer      = peer};
    ++control->n_posted;
    ++control->n_pending;
    status = send ? ops->send(control->transport, peer, key, numbers, len,
                              &pending->xfer)
                  : ops->recv(control->transport, peer, key, numbers, len,
                              &pending->xfer);
    if (status != FS_OK) {
        --control->n_pending;
        control->status = status;
    }
}

/* ---- combining ---- */

static void combine(uint64_t *into, const uint64_t *vote)
{
    fs_vote_t       *a = (fs_vote_t *)into;
    const fs_vote_t *b = (const fs_vote_t *)vote;

    a->flags |= b->flags;
    a->max_inter = fs_u64_max(a->max_inter, b->max_inter);
    a->max_ns    = fs_u64_max(a->max_ns, b->max_ns);
    a->min_ns = fs_u64_min(a->min_ns - 1, b->min_ns - 1) + 1; /* 0 - 1: most */
    a->sum[0] += b->sum[0];
    a->sum[1] += b->sum[1];
}

/* A sum that does not fit becomes the largest number: fs_traffic_sum() refuses
 * it. */
static void add_bytes(uint64_t *cell, uint64_t bytes)
{
    if (!fs_u64_add(*cell, bytes, cell)) {
        *cell = UINT64_MAX;
    }
}

/* The local rows are added up to this server's row. */
static void add_rows(fs_control_t *control)
{
    uint64_t *sum = control->rows + control->server * row_len(control);

    memset(sum, 0, row_len(control) * sizeof(*sum));
    for (uint32_t i = 0; i < control->n_local; ++i) {
        const uint64_t *row = fs_control_block_row(&control->block, i);

        combine(sum, row);
        for (size_t k = FS_VOTE_LEN; k < row_len(control); ++k) {
            add_bytes(&sum[k], row[k]);
        }
    }
}

static void fill_result(fs_control_t *control)
{
    uint64_t *result = control->block.result;
    size_t    n      = fs_topo_n_servers(control->topo);

    memset(result, 0, FS_VOTE_LEN * sizeof(*result));
    for (uint32_t u = 0; u < n; ++u) {
        const uint64_t *sum = control->rows + u * row_len(control);

        combine(result, sum);
        if (control->summary) {
            memcpy(result + FS_VOTE_LEN + u * n, sum + FS_VOTE_LEN,
                   n * sizeof(*sum));
        }
    }
}

/* ---- inside the server: by messages ---- */

static void post_up(fs_control_t *control)
{
    if (!is_leader(control)) {
        fs_control_block_pack(&control->block, control->local, control->summary,
                              control->up);
        post(control, false, control->leader, FROM_LEADER,
             control->block.result,
             fs_control_block_result_len(&control->block, control->summary));
        post(control, true, control->leader, TO_LEADER, control->up,
             up_len(control));
        return;
    }
    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (i != control->local) {
            post(control, false,
                 fs_topo_rank(control->topo, control->server, i), TO_LEADER,
                 control->up + i * up_len(control), up_len(control));
        }
    }
}

static void unpack_all(fs_control_t *control)
{
    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (i != control->local) {
            fs_control_block_unpack(&control->block, i, control->summary,
                                    control->up + i * up_len(control));
        }
    }
}

static void post_down(fs_control_t *control)
{
    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (i != control->local) {
            post(
                control, true, fs_topo_rank(control->topo, control->server, i),
                FROM_LEADER, control->block.result,
                fs_control_block_result_len(&control->block, control->summary));
        }
    }
}

/* ---- inside the server: through the shared block ---- */

static bool all_written(fs_control_t *control)
{
    while (control->n_written < control->n_local &&
           fs_control_block_is_written(&control->block, control->n_written,
                                       control->round)) {
        ++control->n_written;
    }
    return control->n_written == control->n_local;
}

static bool result_is_here(fs_control_t *control)
{
    uint64_t round = fs_control_block_read_round(control->block.result_round);

    if (round == FS_CONTROL_BLOCK_FAILED && control->status == FS_OK) {
        control->status = FS_ERR_TRANSPORT;
    }
    return round == control->round;
}

/* ---- steps ---- */

static void enter_collect(fs_control_t *control)
{
    control->state = COLLECT;
    if (control->shared) {
        control->n_written = 0;
        fs_control_block_write_slot(&control->block, control->local,
                                    control->round);
    } else {
        post_up(control);
    }
}

static void enter_exchange(fs_control_t *control)
{
    uint64_t *own = control->rows + control->server * row_len(control);

    control->state = EXCHANGE;
    if (!control->shared) {
        unpack_all(control);
    }
    add_rows(control);
    for (uint32_t u = 0; u < fs_topo_n_servers(control->topo); ++u) {
        uint32_t peer = fs_control_leader(control->topo, u);

        if (u != control->server) {
            post(control, false, peer, AMONG_LEADERS,
                 control->rows + u * row_len(control), row_len(control));
            post(control, true, peer, AMONG_LEADERS, own, row_len(control));
            control->wire_bytes += row_len(control) * sizeof(*own);
        }
    }
}

static void enter_deliver(fs_control_t *control)
{
    control->state = DELIVER;
    fill_result(control);
    if (control->shared) {
        fs_control_block_write_round(control->block.result_round,
                                     control->round);
    } else {
        post_down(control);
    }
}

/* Is the step over? */
static bool step_done(fs_control_t *control)
{
    if (!control->shared || control->state != COLLECT) {
        return control->n_pending == 0;
    }
    return is_leader(control) ? all_written(control) : result_is_here(control);
}

static void take_step(fs_control_t *control)
{
    control->n_posted = 0;
    if (!is_leader(control)) {
        control->state = IDLE;
        return;
    }
    switch (control->state) {
    case COLLECT:
        enter_exchange(control);
        break;
    case EXCHANGE:
        enter_deliver(control);
        break;
    case DELIVER:
    case IDLE:
        control->state = IDLE;
        break;
    }
}

static fs_status_t start(fs_control_t *control, const fs_vote_t *mine)
{
    ++control->round;
    control->n_posted = 0;
    memcpy(fs_control_block_row(&control->block, control->local), mine,
           sizeof(*mine));
    enter_collect(control);
    return control->status;
}

fs_status_t fs_control_start_summary(fs_control_t      *control,
                                     const fs_vote_t   *mine,
                                     const fs_counts_t *counts)
{
    fs_control_block_t *block = &control->block;
    size_t p = fs_topo_n_ranks(control->topo), at = control->local * p;
    size_t n = fs_topo_n_servers(control->topo);

    control->summary = true;
    fs_control_block_turn(block);
    memcpy(fs_control_block_sends(block) + at, counts->send_bytes,
           p * sizeof(*control->up));
    memcpy(fs_control_block_receives(block) + at, counts->recv_bytes,
           p * sizeof(*control->up));
    memcpy(fs_control_block_row(block, control->local) + FS_VOTE_LEN,
           counts->row, n * sizeof(*control->up));
    return start(control, mine);
}

fs_status_t fs_control_start_agree(fs_control_t *control, const fs_vote_t *mine)
{
    control->summary = false;
    return start(control, mine);
}

fs_status_t fs_control_progress(fs_control_t *control)
{
    while (control->status == FS_OK && control->state != IDLE &&
           step_done(control)) {
        take_step(control);
    }
    if (control->status != FS_OK) {
        if (control->shared && is_leader(control)) {
            fs_control_block_write_round(control->block.result_round,
                                         FS_CONTROL_BLOCK_FAILED);
        }
        return control->status;
    }
    return control->state == IDLE ? FS_OK : FS_INPROGRESS;
}

/* ---- results ---- */

const fs_vote_t *fs_control_vote(const fs_control_t *control)
{
    return (const fs_vote_t *)control->block.result;
}

uint64_t *fs_control_matrix(const fs_control_t *control)
{
    return control->block.result + FS_VOTE_LEN;
}

const uint64_t *fs_control_local_send(const fs_control_t *control)
{
    return fs_control_block_sends(&control->block);
}

const uint64_t *fs_control_local_recv(const fs_control_t *control)
{
    return fs_control_block_receives(&control->block);
}

uint64_t fs_control_wire_bytes(const fs_control_t *control)
{
    return control->wire_bytes;
}

/* All local ranks see which local votes are missing. After that they wait for
 * the leader, and only the leader knows which servers are missing. */
static bool awaits_local(const fs_control_t *control, uint32_t rank)
{
    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (!fs_control_block_is_written(&control->block, i, control->round)) {
            return fs_topo_server(control->topo, rank) == control->server &&
                   !fs_control_block_is_written(
                       &control->block, fs_topo_local(control->topo, rank),
                       control->round);
        }
    }
    return rank == control->leader && !is_leader(control);
}

bool fs_control_awaits(const fs_control_t *control, uint32_t rank)
{
    if (control->shared && control->state == COLLECT) {
        return awaits_local(control, rank);
    }
    for (uint32_t k = 0; k < control->n_posted; ++k) {
        if (!control->pending[k].ended && control->pending[k].peer == rank) {
            return control->state != IDLE;
        }
    }
    return false;
}
