/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/fs_sim_transport.h"

#include "base/fs_grow.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

/* Tags of the network: the key of a message, below 2^32; the alarm of the first word;
 * or an alarm and its id. */
#define WORD_TAG  (UINT64_C(1) << 32)
#define ALARM_TAG (UINT64_C(1) << 33)

/* An operation that has not ended. */
typedef struct posted {
    fs_xfer_t *xfer;
    uint32_t   peer;
    uint32_t   key;
} posted_t;

typedef struct posts {
    posted_t *list; /* [n] in no order that matters */
    size_t    n, max;
} posts_t;

struct fs_sim_transport {
    fs_transport_t super; /* first */
    fs_sim_wire_t *wire;
    uint32_t       rank;
    bool           is_woken;
    posts_t        sends, recvs;
};

/* ---- operations ---- */

static fs_status_t post(posts_t *posts, uint32_t peer, uint32_t key,
                        fs_xfer_t *xfer)
{
    posted_t *list =
        fs_grow(posts->list, posts->n, &posts->max, UINT32_MAX, sizeof(*list));

    if (list == NULL) {
        return FS_ERR_NOMEM;
    }
    posts->list      = list;
    list[posts->n++] = (posted_t){xfer, peer, key};
    return FS_OK;
}

static fs_xfer_t *take(posts_t *posts, size_t k)
{
    fs_xfer_t *xfer = posts->list[k].xfer;

    posts->list[k] = posts->list[--posts->n];
    return xfer;
}

/* NULL: there is none. */
static fs_xfer_t *take_key(posts_t *posts, uint32_t peer, uint32_t key)
{
    for (size_t k = 0; k < posts->n; ++k) {
        if (posts->list[k].peer == peer && posts->list[k].key == key) {
            return take(posts, k);
        }
    }
    return NULL;
}

static fs_status_t sim_send(fs_transport_t *transport, uint32_t peer,
                            uint32_t key, const void *buf, uint64_t len_bytes,
                            fs_xfer_t *xfer)
{
    fs_sim_transport_t *t      = (fs_sim_transport_t *)transport;
    fs_status_t         status = post(&t->sends, peer, key, xfer);

    (void)buf;
    if (status == FS_OK) {
        fs_sim_net_begin(&t->wire->net, t->rank, peer, len_bytes, key);
        status = t->wire->net.status;
    }
    return status;
}

static fs_status_t sim_recv(fs_transport_t *transport, uint32_t peer,
                            uint32_t key, void *buf, uint64_t len_bytes,
                            fs_xfer_t *xfer)
{
    fs_sim_transport_t *t = (fs_sim_transport_t *)transport;

    (void)buf;
    (void)len_bytes;
    return post(&t->recvs, peer, key, xfer);
}

static void sim_cancel(fs_transport_t *transport, fs_xfer_t *xfer)
{
    fs_sim_transport_t *t = (fs_sim_transport_t *)transport;

    for (size_t k = 0; k < t->recvs.n; ++k) {
        if (t->recvs.list[k].xfer == xfer) {
            (void)take(&t->recvs, k);
            xfer->done(xfer, FS_ERR_TRANSPORT, 0);
            return;
        }
    }
}

/* Room for one more: where delivered ones were, or more. */
static fs_status_t make_room(fs_sim_wire_t *wire)
{
    fs_sim_word_t *words;

    if (wire->n_words == wire->max_words &&
        2 * wire->first_word > wire->n_words) {
        wire->n_words -= wire->first_word;
        memmove(wire->words, wire->words + wire->first_word,
                wire->n_words * sizeof(*words));
        wire->first_word = 0;
    }
    words = fs_grow(wire->words, wire->n_words, &wire->max_words, UINT32_MAX,
                    sizeof(*words));
    if (words == NULL) {
        return FS_ERR_NOMEM;
    }
    wire->words = words;
    return FS_OK;
}

static fs_status_t sim_note(fs_transport_t *transport, uint32_t peer,
                            uint64_t word)
{
    const fs_sim_transport_t *t    = (fs_sim_transport_t *)transport;
    fs_sim_wire_t            *wire = t->wire;
    double time = wire->net.now + wire->net.params->alpha_out;

    if (make_room(wire) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    if (wire->first_word == wire->n_words) {
        fs_sim_net_wait(&wire->net, time, WORD_TAG);
    }
    wire->words[wire->n_words++] = (fs_sim_word_t){time, word, t->rank, peer};
    ++wire->n_said;
    return wire->net.status;
}

static const fs_transport_ops_t ops = {
    .send   = sim_send,
    .recv   = sim_recv,
    .cancel = sim_cancel,
    .note   = sim_note,
};

/* ---- life ---- */

fs_status_t fs_sim_wire_init(fs_sim_wire_t *wire, const fs_topo_t *topo,
                             const fs_sim_params_t *params)
{
    uint32_t    n = topo->n_ranks;
    fs_status_t status;

    *wire            = (fs_sim_wire_t){.n_ranks = n};
    status           = fs_sim_net_init(&wire->net, topo, params);
    wire->transports = calloc(n, sizeof(*wire->transports));
    wire->woken      = calloc(n, sizeof(*wire->woken));
    if (wire->transports == NULL || wire->woken == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; r < n; ++r) {
        wire->transports[r].super =
            (fs_transport_t){.ops = &ops, .net = &wire->counts};
        wire->transports[r].wire = wire;
        wire->transports[r].rank = r;
    }
    return status;
}

void fs_sim_wire_fini(fs_sim_wire_t *wire)
{
    for (uint32_t r = 0; wire->transports != NULL && r < wire->n_ranks; ++r) {
        free(wire->transports[r].sends.list);
        free(wire->transports[r].recvs.list);
    }
    free(wire->transports);
    free(wire->woken);
    free(wire->words);
    fs_sim_net_fini(&wire->net);
}

fs_transport_t *fs_sim_wire_transport(fs_sim_wire_t *wire, uint32_t rank)
{
    return &wire->transports[rank].super;
}

/* ---- what happens ---- */

void fs_sim_wire_set_alarm(fs_sim_wire_t *wire, double time, uint32_t id)
{
    fs_sim_net_wait(&wire->net, time, ALARM_TAG | id);
}

void fs_sim_wire_wake(fs_sim_wire_t *wire, uint32_t rank)
{
    if (!wire->transports[rank].is_woken) {
        wire->transports[rank].is_woken = true;
        wire->woken[wire->n_woken++]    = rank;
    }
}

uint32_t fs_sim_wire_take_woken(fs_sim_wire_t *wire)
{
    uint32_t rank = wire->woken[--wire->n_woken];

    wire->transports[rank].is_woken = false;
    return rank;
}

static void end(fs_sim_wire_t *wire, uint32_t rank, fs_xfer_t *xfer,
                uint64_t len_bytes)
{
    xfer->done(xfer, FS_OK, len_bytes);
    fs_sim_wire_wake(wire, rank);
}

/* A message that nobody waits for cannot be: who sends has been asked to. */
static void deliver(fs_sim_wire_t *wire, const fs_sim_flow_t *flow)
{
    uint32_t   key = (uint32_t)flow->tag;
    fs_xfer_t *recv =
        take_key(&wire->transports[flow->dst].recvs, flow->src, key);
    fs_xfer_t *send =
        take_key(&wire->transports[flow->src].sends, flow->dst, key);

    if (recv == NULL || send == NULL) {
        wire->net.status = FS_ERR_MISMATCH;
        return;
    }
    wire->last_byte = wire->net.now;
    end(wire, flow->dst, recv, flow->bytes);
    end(wire, flow->src, send, flow->bytes);
}

static void deliver_words(fs_sim_wire_t *wire)
{
    while (wire->first_word < wire->n_words &&
           wire->words[wire->first_word].time <= wire->net.now) {
        const fs_sim_word_t *w = &wire->words[wire->first_word++];
        fs_transport_t      *t = &wire->transports[w->dst].super;

        t->noted(t->noted_arg, w->src, w->word);
        fs_sim_wire_wake(wire, w->dst);
    }
    if (wire->first_word < wire->n_words) {
        fs_sim_net_wait(&wire->net, wire->words[wire->first_word].time,
                        WORD_TAG);
    } else {
        wire->first_word = wire->n_words = 0;
    }
}

bool fs_sim_wire_next(fs_sim_wire_t *wire)
{
    fs_sim_net_t *net = &wire->net;

    if (!fs_sim_net_next(net)) {
        return false;
    }
    for (uint32_t k = 0; k < net->n_ended; ++k) {
        fs_sim_flow_t flow = net->flows[net->ended[k]];

        if (flow.tag == WORD_TAG) {
            deliver_words(wire);
        } else if (flow.tag >= ALARM_TAG) {
            wire->alarm(wire->ctx, (uint32_t)flow.tag);
        } else {
            deliver(wire, &flow);
        }
    }
    fs_sim_net_forget(net);
    return net->status == FS_OK;
}
