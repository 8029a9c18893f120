/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The summary exchange (DESIGN: metadata).
 *
 *   leader                                      local rank
 *   COLLECT   all local words are here          COLLECT  word is sent and
 *             -> EXCHANGE                                the result is here
 *   EXCHANGE  all leaders' rows are here                 -> IDLE
 *             -> DELIVER
 *   DELIVER   results are sent -> IDLE
 *
 * All messages are arrays of 64-bit numbers: a word of 5, then in a summary
 * round the counts. Which rank sends what is fixed, so lengths are too.
 */
#include "exec/fs_meta.h"

#include "base/fs_arith.h"
#include "sched/fs_topo.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof(fs_meta_word_t) / sizeof(uint64_t) };
enum { TO_LEADER, AMONG_LEADERS, FROM_LEADER }; /* number in the key */

typedef enum state { IDLE, COLLECT, EXCHANGE, DELIVER } state_t;

typedef struct pending {
    fs_xfer_t  xfer; /* first */
    fs_meta_t *meta;
    uint64_t   len_bytes; /* expected */
} pending_t;

struct fs_meta {
    const fs_topo_t *topo;
    fs_transport_t  *transport;
    uint32_t         rank;
    uint32_t         server;
    uint32_t         leader;
    uint32_t         n_local;
    uint32_t         round;
    bool             summary;
    state_t          state;
    fs_status_t      status;
    uint32_t         n_pending;
    pending_t       *pending; /* [max_pending] of this step */
    uint32_t         n_posted;
    uint64_t         wire_bytes;
    uint64_t        *mine;   /* WORD + 2 P: what this rank says */
    uint64_t        *up;     /* leader: [n_local] of the same */
    uint64_t        *rows;   /* leader: [N] of WORD + N */
    uint64_t        *result; /* WORD + N N + n_local * 2 P */
};

static bool is_leader(const fs_meta_t *meta)
{
    return meta->rank == meta->leader;
}

static uint64_t up_len(const fs_meta_t *meta)
{
    return WORD + (meta->summary ? 2 * (uint64_t)meta->topo->n_ranks : 0);
}

static uint64_t row_len(const fs_meta_t *meta)
{
    return WORD + (meta->summary ? meta->topo->n_servers : 0);
}

static uint64_t result_len(const fs_meta_t *meta)
{
    uint64_t n = meta->topo->n_servers, p = meta->topo->n_ranks;

    return WORD + (meta->summary ? n * n + 2 * p * meta->n_local : 0);
}

fs_status_t fs_meta_create(const fs_topo_t *topo, uint32_t rank,
                           fs_transport_t *transport, fs_meta_t **meta_p)
{
    fs_meta_t *meta   = calloc(1, sizeof(*meta));
    uint32_t   server = fs_topo_server(topo, rank);
    size_t     p = topo->n_ranks, n = topo->n_servers;

    if (meta == NULL) {
        return FS_ERR_NOMEM;
    }
    meta->topo      = topo;
    meta->transport = transport;
    meta->rank      = rank;
    meta->server    = server;
    meta->n_local   = fs_topo_n_local(topo, server);
    meta->leader  = fs_topo_rank(topo, server, fs_topo_proxy(topo, server, 0));
    meta->summary = true; /* the largest lengths */
    meta->mine    = calloc(up_len(meta), 8);
    meta->result  = calloc(result_len(meta), 8);
    meta->pending = calloc(2 * (n + p), sizeof(*meta->pending));
    if (is_leader(meta)) {
        meta->up   = calloc(meta->n_local * up_len(meta), 8);
        meta->rows = calloc(n * row_len(meta), 8);
    }
    if (meta->mine == NULL || meta->result == NULL || meta->pending == NULL ||
        (is_leader(meta) && (meta->up == NULL || meta->rows == NULL))) {
        fs_meta_destroy(meta);
        return FS_ERR_NOMEM;
    }
    *meta_p = meta;
    return FS_OK;
}

void fs_meta_destroy(fs_meta_t *meta)
{
    if (meta != NULL) {
        free(meta->mine);
        free(meta->up);
        free(meta->rows);
        free(meta->result);
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
    uint32_t                  key     = fs_key(FS_CH_LAST, meta->round, step);
    uint64_t                  len     = n_words * sizeof(*words);
    fs_status_t               status;

    if (meta->status != FS_OK) {
        return;
    }
    *pending =
        (pending_t){.xfer.done = message_ended, .meta = meta, .len_bytes = len};
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

/* ---- what a leader does with numbers ---- */

static void combine(uint64_t *into, const uint64_t *word)
{
    fs_meta_word_t       *a = (fs_meta_word_t *)into;
    const fs_meta_word_t *b = (const fs_meta_word_t *)word;

    a->flags |= b->flags;
    a->max_inter = fs_u64_max(a->max_inter, b->max_inter);
    a->max_ns    = fs_u64_max(a->max_ns, b->max_ns);
    a->sum[0] += b->sum[0];
    a->sum[1] += b->sum[1];
}

/* Local words and send counts become this server's row. Sums may wrap here:
 * the digests still tell, and fs_traffic_sum() refuses what is too large. */
static void reduce_local(fs_meta_t *meta)
{
    uint64_t *row = meta->rows + meta->server * row_len(meta);

    memset(row, 0, row_len(meta) * sizeof(*row));
    for (uint32_t i = 0; i < meta->n_local; ++i) {
        const uint64_t *said = meta->up + i * up_len(meta);

        combine(row, said);
        for (uint32_t r = 0; meta->summary && r < meta->topo->n_ranks; ++r) {
            uint64_t *cell = row + WORD + fs_topo_server(meta->topo, r);

            if (!fs_u64_add(*cell, said[WORD + r], cell)) {
                *cell = UINT64_MAX;
            }
        }
    }
}

static void fill_result(fs_meta_t *meta)
{
    uint64_t  n = meta->topo->n_servers, p = meta->topo->n_ranks;
    uint64_t *matrix = meta->result + WORD;
    uint64_t *send = matrix + n * n, *recv = send + meta->n_local * p;

    memset(meta->result, 0, WORD * sizeof(*meta->result));
    for (uint32_t u = 0; u < n; ++u) {
        const uint64_t *row = meta->rows + u * row_len(meta);

        combine(meta->result, row);
        if (meta->summary) {
            memcpy(matrix + u * n, row + WORD, n * sizeof(*row));
        }
    }
    for (uint32_t i = 0; meta->summary && i < meta->n_local; ++i) {
        const uint64_t *said = meta->up + i * up_len(meta) + WORD;

        memcpy(send + i * p, said, p * sizeof(*said));
        memcpy(recv + i * p, said + p, p * sizeof(*said));
    }
}

/* ---- steps ---- */

static uint32_t leader_of(const fs_meta_t *meta, uint32_t server)
{
    return fs_topo_rank(meta->topo, server,
                        fs_topo_proxy(meta->topo, server, 0));
}

static void enter_collect(fs_meta_t *meta)
{
    uint32_t me = fs_topo_local(meta->topo, meta->rank);

    meta->state = COLLECT;
    if (!is_leader(meta)) {
        post(meta, false, meta->leader, FROM_LEADER, meta->result,
             result_len(meta));
        post(meta, true, meta->leader, TO_LEADER, meta->mine, up_len(meta));
        return;
    }
    memcpy(meta->up + me * up_len(meta), meta->mine,
           up_len(meta) * sizeof(uint64_t));
    for (uint32_t i = 0; i < meta->n_local; ++i) {
        if (i != me) {
            post(meta, false, fs_topo_rank(meta->topo, meta->server, i),
                 TO_LEADER, meta->up + i * up_len(meta), up_len(meta));
        }
    }
}

static void enter_exchange(fs_meta_t *meta)
{
    uint64_t *row = meta->rows + meta->server * row_len(meta);

    meta->state = EXCHANGE;
    reduce_local(meta);
    for (uint32_t u = 0; u < meta->topo->n_servers; ++u) {
        if (u != meta->server) {
            post(meta, false, leader_of(meta, u), AMONG_LEADERS,
                 meta->rows + u * row_len(meta), row_len(meta));
            post(meta, true, leader_of(meta, u), AMONG_LEADERS, row,
                 row_len(meta));
            meta->wire_bytes += row_len(meta) * sizeof(*row);
        }
    }
}

static void enter_deliver(fs_meta_t *meta)
{
    meta->state = DELIVER;
    fill_result(meta);
    for (uint32_t i = 0; i < meta->n_local; ++i) {
        uint32_t peer = fs_topo_rank(meta->topo, meta->server, i);

        if (peer != meta->rank) {
            post(meta, true, peer, FROM_LEADER, meta->result, result_len(meta));
        }
    }
}

static fs_status_t start(fs_meta_t *meta, const fs_meta_word_t *mine)
{
    ++meta->round;
    meta->n_posted = 0;
    memcpy(meta->mine, mine, sizeof(*mine));
    enter_collect(meta);
    return meta->status;
}

fs_status_t fs_meta_start_summary(fs_meta_t *meta, const fs_meta_word_t *mine,
                                  const uint64_t *send, const uint64_t *recv)
{
    size_t p = meta->topo->n_ranks;

    meta->summary = true;
    memcpy(meta->mine + WORD, send, p * sizeof(*send));
    memcpy(meta->mine + WORD + p, recv, p * sizeof(*recv));
    return start(meta, mine);
}

fs_status_t fs_meta_start_agree(fs_meta_t *meta, const fs_meta_word_t *mine)
{
    meta->summary = false;
    return start(meta, mine);
}

fs_status_t fs_meta_progress(fs_meta_t *meta)
{
    while (meta->status == FS_OK && meta->n_pending == 0 &&
           meta->state != IDLE) {
        meta->n_posted = 0;
        if (!is_leader(meta)) {
            meta->state = IDLE;
            continue;
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
    if (meta->status != FS_OK) {
        return meta->status;
    }
    return meta->state == IDLE ? FS_OK : FS_INPROGRESS;
}

const fs_meta_word_t *fs_meta_word(const fs_meta_t *meta)
{
    return (const fs_meta_word_t *)meta->result;
}

uint64_t *fs_meta_matrix(const fs_meta_t *meta)
{
    return meta->result + WORD;
}

const uint64_t *fs_meta_local_send(const fs_meta_t *meta)
{
    uint64_t n = meta->topo->n_servers;

    return meta->result + WORD + n * n;
}

const uint64_t *fs_meta_local_recv(const fs_meta_t *meta)
{
    return fs_meta_local_send(meta) +
           (size_t)meta->n_local * meta->topo->n_ranks;
}

uint64_t fs_meta_wire_bytes(const fs_meta_t *meta)
{
    return meta->wire_bytes;
}
