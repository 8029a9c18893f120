/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The summary exchange (DESIGN: metadata).
 *
 *   leader                                      local rank
 *   COLLECT   all local ranks have spoken       COLLECT  the result is here
 *             -> EXCHANGE                                -> IDLE
 *   EXCHANGE  all leaders' rows are here
 *             -> DELIVER
 *   DELIVER   the result is out -> IDLE
 *
 * Inside a server the ranks use a board in shared memory, or messages that
 * carry the same from board to board; fs_control_block.h says what and in which order.
 * All messages are arrays of 64-bit numbers. Which rank sends what is fixed, so
 * lengths are too.
 */
#include "comm/fs_control.h"

#include "base/fs_arith.h"
#include "comm/fs_control_block.h"

#include <stdlib.h>
#include <string.h>

enum { TO_LEADER, AMONG_LEADERS, FROM_LEADER }; /* number in the key */

typedef enum state { IDLE, COLLECT, EXCHANGE, DELIVER } state_t;

typedef struct pending {
    fs_xfer_t  xfer; /* first */
    fs_meta_t *meta;
    uint64_t   len_bytes; /* expected */
    uint32_t   peer;      /* for people */
    bool       ended;
} pending_t;

struct fs_meta {
    const fs_topo_t *topo;
    fs_transport_t  *transport;
    uint32_t         rank;
    uint32_t         server;
    uint32_t         leader;
    uint32_t         n_local;
    uint32_t         local;  /* this rank's position there */
    uint32_t         n_said; /* leader: local ranks below have spoken */
    uint64_t         round;
    bool             shared; /* the board */
    bool             summary;
    state_t          state;
    fs_status_t      status;
    uint32_t         n_pending;
    pending_t       *pending; /* [max_pending] of this step */
    uint32_t         n_posted;
    uint64_t         wire_bytes;
    fs_board_t       board;
    uint64_t        *up;   /* messages to the leader: one; there [n_local] */
    uint64_t        *rows; /* leader: [N] of word and N cells */
};

uint32_t fs_meta_leader(const fs_topo_t *topo, uint32_t server)
{
    return fs_topo_rank(topo, server, fs_topo_proxy(topo, server, 0));
}

size_t fs_meta_shared_bytes(const fs_topo_t *topo, uint32_t server)
{
    return fs_topo_n_local(topo, server) == 1 ? 0
                                              : fs_board_bytes(topo, server);
}

static bool is_leader(const fs_meta_t *meta)
{
    return meta->rank == meta->leader;
}

static size_t row_len(const fs_meta_t *meta)
{
    return FS_WORD_LEN + (meta->summary ? fs_topo_n_servers(meta->topo) : 0);
}

static size_t up_len(const fs_meta_t *meta)
{
    return fs_board_message_len(&meta->board, meta->summary);
}

/* ---- create, destroy ---- */

static fs_status_t alloc(fs_meta_t *meta, void *shared)
{
    size_t n = fs_topo_n_servers(meta->topo), p = fs_topo_n_ranks(meta->topo);
    fs_status_t status =
        fs_board_init(&meta->board, meta->topo, meta->server, shared);

    if (status != FS_OK) {
        return status;
    }
    meta->shared  = shared != NULL;
    meta->summary = true; /* the largest lengths */
    meta->pending = calloc(2 * (n + p), sizeof(*meta->pending));
    if (!meta->shared) {
        meta->up = calloc((is_leader(meta) ? meta->n_local : 1) * up_len(meta),
                          sizeof(*meta->up));
    }
    if (is_leader(meta)) {
        meta->rows = calloc(n * row_len(meta), sizeof(*meta->rows));
    }
    return meta->pending != NULL && (meta->shared || meta->up != NULL) &&
                   (!is_leader(meta) || meta->rows != NULL)
               ? FS_OK
               : FS_ERR_NOMEM;
}

fs_status_t fs_meta_create(const fs_topo_t *topo, uint32_t rank,
                           fs_transport_t *transport, void *shared,
                           fs_meta_t **meta_p)
{
    fs_meta_t  *meta = calloc(1, sizeof(*meta));
    fs_status_t status;

    if (meta == NULL) {
        return FS_ERR_NOMEM;
    }
    meta->topo      = topo;
    meta->transport = transport;
    meta->rank      = rank;
    meta->server    = fs_topo_server(topo, rank);
    meta->leader    = fs_meta_leader(topo, meta->server);
    meta->n_local   = fs_topo_n_local(topo, meta->server);
    meta->local     = fs_topo_local(topo, rank);
    status          = alloc(meta, shared);
    if (status != FS_OK) {
        fs_meta_destroy(meta);
        return status;
    }
    *meta_p = meta;
    return FS_OK;
}

void fs_meta_destroy(fs_meta_t *meta)
{
    if (meta != NULL) {
        fs_board_fini(&meta->board);
        free(meta->up);
        free(meta->rows);
        free(meta->pending);
        free(meta);
    }
}

/* ---- messages ---- */

static void message_ended(fs_xfer_t *xfer, fs_status_t status,
                          uint64_t len_bytes)
{
    pending_t *pending = (pending_t *)xfer;
    fs_meta_t *meta    = pending->meta;

    --meta->n_pending;
    pending->ended = true;
    if (meta->status != FS_OK) {
        return;
    }
    meta->status = status != FS_OK                   ? status
                   : len_bytes != pending->len_bytes ? FS_ERR_TRUNCATE
                                                     : FS_OK;
}

static void post(fs_meta_t *meta, bool send, uint32_t peer, uint32_t step,
                 uint64_t *words, uint64_t n_words)
{
    const fs_transport_ops_t *ops     = meta->transport->ops;
    pending_t                *pending = &meta->pending[meta->n_posted];
    uint32_t    key = fs_key(FS_CH_LAST, (uint32_t)meta->round, step);
    uint64_t    len = n_words * sizeof(*words);
    fs_status_t status;

    if (meta->status != FS_OK) {
        return;
    }
    *pending = (pending_t){.xfer.done = message_ended,
                           .meta      = meta,
                           .len_bytes = len,
                           .peer      = peer};
    ++meta->n_posted;
    ++meta->n_pending;
    status =
        send
            ? ops->send(meta->transport, peer, key, words, len, &pending->xfer)
            : ops->recv(meta->transport, peer, key, words, len, &pending->xfer);
    if (status != FS_OK) {
        --meta->n_pending;
        meta->status = status;
    }
}

/* ---- what ranks do with numbers ---- */

static void combine(uint64_t *into, const uint64_t *word)
{
    fs_meta_word_t       *a = (fs_meta_word_t *)into;
    const fs_meta_word_t *b = (const fs_meta_word_t *)word;

    a->flags |= b->flags;
    a->max_inter = fs_u64_max(a->max_inter, b->max_inter);
    a->max_ns    = fs_u64_max(a->max_ns, b->max_ns);
    a->min_ns = fs_u64_min(a->min_ns - 1, b->min_ns - 1) + 1; /* 0 - 1: most */
    a->sum[0] += b->sum[0];
    a->sum[1] += b->sum[1];
}

/* A sum that does not fit must look too large: fs_traffic_sum() refuses it. */
static void add_bytes(uint64_t *cell, uint64_t bytes)
{
    if (!fs_u64_add(*cell, bytes, cell)) {
        *cell = UINT64_MAX;
    }
}

/* The local rows become this server's. */
static void add_rows(fs_meta_t *meta)
{
    uint64_t *sum = meta->rows + meta->server * row_len(meta);

    memset(sum, 0, row_len(meta) * sizeof(*sum));
    for (uint32_t i = 0; i < meta->n_local; ++i) {
        const uint64_t *row = fs_board_row(&meta->board, i);

        combine(sum, row);
        for (size_t k = FS_WORD_LEN; k < row_len(meta); ++k) {
            add_bytes(&sum[k], row[k]);
        }
    }
}

static void fill_result(fs_meta_t *meta)
{
    uint64_t *result = meta->board.result;
    size_t    n      = fs_topo_n_servers(meta->topo);

    memset(result, 0, FS_WORD_LEN * sizeof(*result));
    for (uint32_t u = 0; u < n; ++u) {
        const uint64_t *sum = meta->rows + u * row_len(meta);

        combine(result, sum);
        if (meta->summary) {
            memcpy(result + FS_WORD_LEN + u * n, sum + FS_WORD_LEN,
                   n * sizeof(*sum));
        }
    }
}

/* ---- inside the server: by messages ---- */

static void post_up(fs_meta_t *meta)
{
    if (!is_leader(meta)) {
        fs_board_pack(&meta->board, meta->local, meta->summary, meta->up);
        post(meta, false, meta->leader, FROM_LEADER, meta->board.result,
             fs_board_result_len(&meta->board, meta->summary));
        post(meta, true, meta->leader, TO_LEADER, meta->up, up_len(meta));
        return;
    }
    for (uint32_t i = 0; i < meta->n_local; ++i) {
        if (i != meta->local) {
            post(meta, false, fs_topo_rank(meta->topo, meta->server, i),
                 TO_LEADER, meta->up + i * up_len(meta), up_len(meta));
        }
    }
}

static void unpack_all(fs_meta_t *meta)
{
    for (uint32_t i = 0; i < meta->n_local; ++i) {
        if (i != meta->local) {
            fs_board_unpack(&meta->board, i, meta->summary,
                            meta->up + i * up_len(meta));
        }
    }
}

static void post_down(fs_meta_t *meta)
{
    for (uint32_t i = 0; i < meta->n_local; ++i) {
        if (i != meta->local) {
            post(meta, true, fs_topo_rank(meta->topo, meta->server, i),
                 FROM_LEADER, meta->board.result,
                 fs_board_result_len(&meta->board, meta->summary));
        }
    }
}

/* ---- inside the server: on the board ---- */

static bool all_said(fs_meta_t *meta)
{
    while (meta->n_said < meta->n_local &&
           fs_board_said(&meta->board, meta->n_said, meta->round)) {
        ++meta->n_said;
    }
    return meta->n_said == meta->n_local;
}

static bool heard(fs_meta_t *meta)
{
    uint64_t round = fs_board_read_round(meta->board.heard);

    if (round == FS_BOARD_FAILED && meta->status == FS_OK) {
        meta->status = FS_ERR_TRANSPORT;
    }
    return round == meta->round;
}

/* ---- steps ---- */

static void enter_collect(fs_meta_t *meta)
{
    meta->state = COLLECT;
    if (meta->shared) {
        meta->n_said = 0;
        fs_board_say(&meta->board, meta->local, meta->round);
    } else {
        post_up(meta);
    }
}

static void enter_exchange(fs_meta_t *meta)
{
    uint64_t *own = meta->rows + meta->server * row_len(meta);

    meta->state = EXCHANGE;
    if (!meta->shared) {
        unpack_all(meta);
    }
    add_rows(meta);
    for (uint32_t u = 0; u < fs_topo_n_servers(meta->topo); ++u) {
        uint32_t peer = fs_meta_leader(meta->topo, u);

        if (u != meta->server) {
            post(meta, false, peer, AMONG_LEADERS,
                 meta->rows + u * row_len(meta), row_len(meta));
            post(meta, true, peer, AMONG_LEADERS, own, row_len(meta));
            meta->wire_bytes += row_len(meta) * sizeof(*own);
        }
    }
}

static void enter_deliver(fs_meta_t *meta)
{
    meta->state = DELIVER;
    fill_result(meta);
    if (meta->shared) {
        fs_board_write_round(meta->board.heard, meta->round);
    } else {
        post_down(meta);
    }
}

/* Is the step over? */
static bool step_done(fs_meta_t *meta)
{
    if (!meta->shared || meta->state != COLLECT) {
        return meta->n_pending == 0;
    }
    return is_leader(meta) ? all_said(meta) : heard(meta);
}

static void take_step(fs_meta_t *meta)
{
    meta->n_posted = 0;
    if (!is_leader(meta)) {
        meta->state = IDLE;
        return;
    }
    switch (meta->state) {
    case COLLECT:
        enter_exchange(meta);
        break;
    case EXCHANGE:
        enter_deliver(meta);
        break;
    case DELIVER:
    case IDLE:
        meta->state = IDLE;
        break;
    }
}

static fs_status_t start(fs_meta_t *meta, const fs_meta_word_t *mine)
{
    ++meta->round;
    meta->n_posted = 0;
    memcpy(fs_board_row(&meta->board, meta->local), mine, sizeof(*mine));
    enter_collect(meta);
    return meta->status;
}

fs_status_t fs_meta_start_summary(fs_meta_t *meta, const fs_meta_word_t *mine,
                                  const fs_counts_t *counts)
{
    fs_board_t *board = &meta->board;
    size_t      p = fs_topo_n_ranks(meta->topo), at = meta->local * p;
    size_t      n = fs_topo_n_servers(meta->topo);

    meta->summary = true;
    fs_board_turn(board);
    memcpy(fs_board_sends(board) + at, counts->send_bytes,
           p * sizeof(*meta->up));
    memcpy(fs_board_receives(board) + at, counts->recv_bytes,
           p * sizeof(*meta->up));
    memcpy(fs_board_row(board, meta->local) + FS_WORD_LEN, counts->row,
           n * sizeof(*meta->up));
    return start(meta, mine);
}

fs_status_t fs_meta_start_agree(fs_meta_t *meta, const fs_meta_word_t *mine)
{
    meta->summary = false;
    return start(meta, mine);
}

fs_status_t fs_meta_progress(fs_meta_t *meta)
{
    while (meta->status == FS_OK && meta->state != IDLE && step_done(meta)) {
        take_step(meta);
    }
    if (meta->status != FS_OK) {
        if (meta->shared && is_leader(meta)) {
            fs_board_write_round(meta->board.heard, FS_BOARD_FAILED);
        }
        return meta->status;
    }
    return meta->state == IDLE ? FS_OK : FS_INPROGRESS;
}

/* ---- results ---- */

const fs_meta_word_t *fs_meta_word(const fs_meta_t *meta)
{
    return (const fs_meta_word_t *)meta->board.result;
}

uint64_t *fs_meta_matrix(const fs_meta_t *meta)
{
    return meta->board.result + FS_WORD_LEN;
}

const uint64_t *fs_meta_local_send(const fs_meta_t *meta)
{
    return fs_board_sends(&meta->board);
}

const uint64_t *fs_meta_local_recv(const fs_meta_t *meta)
{
    return fs_board_receives(&meta->board);
}

uint64_t fs_meta_wire_bytes(const fs_meta_t *meta)
{
    return meta->wire_bytes;
}

/* All local ranks see who has not spoken yet. After that they wait for the
 * leader, and only the leader knows for whom. */
static bool awaits_local(const fs_meta_t *meta, uint32_t rank)
{
    for (uint32_t i = 0; i < meta->n_local; ++i) {
        if (!fs_board_said(&meta->board, i, meta->round)) {
            return fs_topo_server(meta->topo, rank) == meta->server &&
                   !fs_board_said(&meta->board, fs_topo_local(meta->topo, rank),
                                  meta->round);
        }
    }
    return rank == meta->leader && !is_leader(meta);
}

bool fs_meta_awaits(const fs_meta_t *meta, uint32_t rank)
{
    if (meta->shared && meta->state == COLLECT) {
        return awaits_local(meta, rank);
    }
    for (uint32_t k = 0; k < meta->n_posted; ++k) {
        if (!meta->pending[k].ended && meta->pending[k].peer == rank) {
            return meta->state != IDLE;
        }
    }
    return false;
}
