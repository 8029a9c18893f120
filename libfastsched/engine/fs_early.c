/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/fs_early_state.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

enum {
    MOST_RANKS = 1024, /* each looks at all of them, often */
    MOST_PEERS = 64,   /* connections cost memory and set-up */
    AHEAD      = FS_EARLY_AHEAD,
    OFFERS     = FS_EARLY_OFFERS,
    CHUNKS     = 256, /* of a call, most often: what is offered in the end keeps
                         all waiting */
    LEAST      = 16384,
    ALIGN      = 64,
    CHANNEL    = FS_CH_LAST + 1,
    AS_ASKED   = 5 /* its digest's share */
};

/* ---- life ---- */

bool fs_early_can(const fs_topo_t *topo)
{
    return topo->n_servers > 1 && topo->n_ranks <= MOST_RANKS &&
           fs_topo_all_have_lanes(topo);
}

bool fs_early_talk(const fs_topo_t *topo, uint32_t a, uint32_t b)
{
    uint32_t near   = fs_u32_max(MOST_PEERS / (topo->n_servers - 1), 1);
    uint32_t lane_a = topo->lane[a], lane_b = topo->lane[b];
    uint32_t n = fs_u32_max(topo->n_lanes[topo->server[a]],
                            topo->n_lanes[topo->server[b]]);

    return topo->server[a] != topo->server[b] &&
           ((lane_a + n - lane_b) % n * 2 < near ||
            (lane_b + n - lane_a) % n * 2 < near);
}

uint64_t fs_early_chunk(uint64_t bound, uint64_t most)
{
    return fs_u64_min(fs_u64_max(bound / CHUNKS / ALIGN * ALIGN, LEAST), most);
}

fs_status_t fs_early_create(fs_transport_t *transport, const fs_topo_t *topo,
                            uint32_t rank, const uint8_t *reach,
                            fs_early_t **early_p)
{
    uint32_t    n     = topo->n_ranks;
    fs_early_t *early = calloc(1, sizeof(*early));

    if (early == NULL) {
        return FS_ERR_NOMEM;
    }
    *early = (fs_early_t){.transport  = transport,
                          .topo       = topo,
                          .rank       = rank,
                          .is_closed  = true,
                          .peer       = calloc(n, sizeof(*early->peer)),
                          .send_block = calloc(n, sizeof(*early->send_block)),
                          .recv_block = calloc(n, sizeof(*early->recv_block))};
    if (early->peer == NULL || early->send_block == NULL ||
        early->recv_block == NULL ||
        fs_counts_init(&early->counts, n, rank) != FS_OK) {
        fs_early_destroy(early, false);
        return FS_ERR_NOMEM;
    }
    for (uint32_t r = 0; r < n; ++r) {
        early->peer[r].rank    = r;
        early->peer[r].is_ours = reach[r] != FS_REACH_NONE &&
                                 fs_early_talk(topo, rank, r);
    }
    transport->noted     = fs_early_noted;
    transport->noted_arg = early;
    *early_p             = early;
    return FS_OK;
}

void fs_early_destroy(fs_early_t *early, bool lost)
{
    if (early == NULL) {
        return;
    }
    early->transport->noted = NULL;
    if (lost && early->n_sending + early->n_receives > 0) {
        return;
    }
    fs_counts_fini(&early->counts);
    free(early->send_block);
    free(early->recv_block);
    free(early->peer);
    free(early);
}

/* ---- chunks ---- */

static bool has_waited(const fs_early_t *early, uint64_t since_ns)
{
    return early->patience_ns > 0 &&
           early->now_ns - since_ns > early->patience_ns;
}

static bool has_chunk(const fs_early_t *early, uint64_t bytes, uint32_t k)
{
    return (uint64_t)k * early->chunk < bytes;
}

static uint64_t chunk_len(const fs_early_t *early, uint64_t bytes, uint32_t k)
{
    return fs_u64_min(early->chunk, bytes - (uint64_t)k * early->chunk);
}

static uint64_t to_come(const fs_early_t *early, const peer_t *p)
{
    return early->call->counts->recv_bytes[p->rank];
}

static uint64_t to_go(const fs_early_t *early, const peer_t *p)
{
    return early->call->counts->send_bytes[p->rank];
}

static void end_chunk(chunk_t *c, fs_status_t status)
{
    fs_early_t *early = c->early;

    ++early->transport->net->n_ended;
    c->in_flight     = false;
    early->has_moved = true;
    /* A message of another length: the summary finds out that counts differ. */
    if (status != FS_OK && status != FS_ERR_TRUNCATE && !c->is_cancelled) {
        fs_early_fail(early, status);
    }
}

static void sent(fs_xfer_t *xfer, fs_status_t status, uint64_t len_bytes)
{
    chunk_t *c = (chunk_t *)xfer;

    --c->early->n_sending;
    c->early->sent_bytes += len_bytes;
    end_chunk(c, status);
}

static void received(fs_xfer_t *xfer, fs_status_t status, uint64_t len_bytes)
{
    chunk_t *c = (chunk_t *)xfer;

    --c->early->n_receives;
    if (!c->is_cancelled) {
        ++c->peer->n_arrived;
        c->peer->got_bytes += len_bytes;
        c->peer->says_more = true;
        fs_early_heard_from(c->early, c->peer);
    }
    end_chunk(c, status);
}

/* ---- the receiver ---- */

/* Offers that the peer has neither declined nor fulfilled. */
static uint32_t n_open(const peer_t *p)
{
    return p->n_offered - p->n_declined - p->n_arrived;
}

static void post_receive(fs_early_t *early, peer_t *p)
{
    fs_transport_t *t     = early->transport;
    uint32_t        k     = p->n_posted++;
    chunk_t        *c     = &p->in[k % AHEAD];
    char           *block = early->call->recv_block[p->rank];
    fs_status_t     status;

    *c = (chunk_t){.xfer      = {.done = received, .mem = FS_MEM_HOST},
                   .early     = early,
                   .peer      = p,
                   .number    = k,
                   .in_flight = true};
    ++early->n_receives;
    status = t->ops->recv(t, p->rank, fs_key(CHANNEL, early->number, k),
                          block + (uint64_t)k * early->chunk,
                          chunk_len(early, to_come(early, p), k), &c->xfer);
    if (status != FS_OK) {
        c->in_flight = false;
        --early->n_receives;
        fs_early_fail(early, status);
    }
}

/* For chunks that it may send now; some may have been declined once. */
static void post_receives(fs_early_t *early, peer_t *p)
{
    uint32_t end = p->n_offered - p->n_declined;

    end = fs_u32_min(end, p->n_arrived + AHEAD);
    while (early->status == FS_OK && p->n_posted < end &&
           !p->in[p->n_posted % AHEAD].in_flight) {
        post_receive(early, p);
    }
}

/* Is there a chunk that it has not been offered to send? */
static bool has_more(const fs_early_t *early, const peer_t *p)
{
    return has_chunk(early, to_come(early, p), p->n_offered - p->n_declined);
}

/* Not to be mistaken for fewer by who hears of several words the last alone. */
static uint32_t n_unanswered(const peer_t *p)
{
    return p->n_offered - p->n_declined -
           fs_u32_min(p->n_arrived, p->n_taken_there);
}

static bool has_answered(const peer_t *p)
{
    return p->n_declined + p->n_taken_there + p->n_arrived > 0;
}

static void offer(const fs_early_t *early, peer_t *p)
{
    uint32_t most = early->patience_ns == 0 || has_answered(p) ? OFFERS : AHEAD;

    while (n_unanswered(p) < most && has_more(early, p)) {
        ++p->n_offered;
        p->says_more = true;
    }
}

/* Peer k in an order in which other ranks begin elsewhere. */
static peer_t *peer_at(const fs_early_t *early, uint32_t k)
{
    const fs_topo_t *topo    = early->topo;
    uint32_t         n_local = fs_topo_n_local(topo, topo->server[early->rank]);

    return &early->peer[(early->rank + n_local + k) % topo->n_ranks];
}

static bool is_free(const fs_early_t *early, const peer_t *p)
{
    return p->is_ours && p->is_here && !p->is_busy && has_more(early, p) &&
           !p->was_silent;
}

/* The first peer that is here, and not known to be busy, with most left for us. */
static peer_t *choose(const fs_early_t *early)
{
    peer_t  *best = NULL;
    uint64_t most = 0;

    for (uint32_t k = 0; k < early->topo->n_ranks; ++k) {
        peer_t  *p    = peer_at(early, k);
        uint64_t left = to_come(early, p) - p->got_bytes;

        if (is_free(early, p) && left > most) {
            best = p;
            most = left;
        }
    }
    return best;
}

/* Is the next one's first chunk to follow the last of this one? */
static bool is_done_with(const fs_early_t *early, const peer_t *p)
{
    return p->is_busy || (!has_more(early, p) && n_open(p) < AHEAD);
}

/* It was offered something, and nothing has come from it for long. */
static bool is_silent(const fs_early_t *early)
{
    return !early->is_closed && early->from != NULL &&
           n_open(early->from) > 0 && has_waited(early, early->from_ns);
}

static void receive(fs_early_t *early)
{
    peer_t *p = early->from;

    if (is_silent(early)) {
        p->was_silent = true;
    }
    if (!early->is_closed && early->takes_part) {
        if (p == NULL || is_done_with(early, p) || is_silent(early)) {
            early->from = p = choose(early);
            early->from_ns  = early->now_ns;
        }
        if (p != NULL) {
            offer(early, p);
        }
    }
    for (uint32_t r = 0; r < early->topo->n_ranks; ++r) {
        if (n_open(&early->peer[r]) > 0) {
            post_receives(early, &early->peer[r]);
        }
    }
}

/* ---- the sender ---- */

static uint32_t n_pending(const peer_t *p)
{
    return p->n_asked - p->n_refused - p->n_taken;
}

static void send_chunk(fs_early_t *early, peer_t *p)
{
    fs_transport_t *t     = early->transport;
    uint32_t        k     = p->n_sent++;
    chunk_t        *c     = &p->out[k % AHEAD];
    const char     *block = early->call->send_block[p->rank];
    fs_status_t     status;

    *c = (chunk_t){.xfer      = {.done = sent, .mem = FS_MEM_HOST},
                   .early     = early,
                   .peer      = p,
                   .in_flight = true};
    ++early->n_sending;
    ++early->n_chunks;
    status = t->ops->send(t, p->rank, fs_key(CHANNEL, early->number, k),
                          block + (uint64_t)k * early->chunk,
                          chunk_len(early, to_go(early, p), k), &c->xfer);
    if (status != FS_OK) {
        c->in_flight = false;
        --early->n_sending;
        fs_early_fail(early, status);
    }
}

static void be_free(fs_early_t *early)
{
    early->to = NULL;
    for (uint32_t r = 0; r < early->topo->n_ranks; ++r) {
        peer_t *p = &early->peer[r];

        if (p->waits && !early->is_closed) {
            p->waits = false;
            ++p->n_frees;
            p->says_more = true;
        }
    }
}

static void decline(peer_t *p)
{
    p->n_refused += n_pending(p);
    p->waits     = true;
    p->says_more = true;
}

/* What of the offers is to be taken now: one chunk at a time, but when it is closed
 * what will still go. A peer may expect more than there is: what is wrong then the
 * summary finds out. */
static uint32_t n_to_take(const fs_early_t *early, const peer_t *p)
{
    uint64_t bytes = to_go(early, p);
    uint64_t rest  = fs_u64_div_up(bytes, early->chunk) - p->n_taken;
    uint32_t most  = early->is_closed ? early->n_more
                                      : p->n_there + AHEAD - p->n_taken;

    if (early->to != p && (early->to != NULL || early->is_closed)) {
        return 0;
    }
    return (uint32_t)fs_u64_min(fs_u32_min(most, n_pending(p)), rest);
}

/* Can it not be served now, or is it the end? */
static bool is_to_decline(const fs_early_t *early, const peer_t *p)
{
    return early->is_closed || (early->to != NULL && early->to != p) ||
           !has_chunk(early, to_go(early, p), p->n_taken);
}

static void answer(fs_early_t *early, peer_t *p)
{
    uint32_t n = n_to_take(early, p);

    if (n > 0) {
        early->to_ns = early->to == p ? early->to_ns : early->now_ns;
        early->to    = p;
        p->n_taken += n;
        early->n_more -= early->is_closed ? n : 0;
        p->says_more = true;
    }
    if (n_pending(p) > 0 && is_to_decline(early, p)) {
        decline(p);
    }
}

static bool is_through(const peer_t *to)
{
    return n_pending(to) == 0 && to->n_taken == to->n_sent &&
           to->n_sent - to->n_there < AHEAD;
}

/* What has been sent does not arrive: the receiver does not look. */
static bool is_stuck(const fs_early_t *early)
{
    return early->to != NULL && early->to->n_sent > early->to->n_there &&
           has_waited(early, early->to_ns);
}

static void serve(fs_early_t *early)
{
    peer_t *to = early->to;

    if (to != NULL && (is_through(to) || is_stuck(early))) {
        if (n_pending(to) > 0) {
            decline(to);
        }
        be_free(early);
    }
    for (uint32_t k = 0; k < early->topo->n_ranks; ++k) {
        peer_t *p = peer_at(early, k);

        if (n_pending(p) > 0) {
            answer(early, p);
        }
        while (early->status == FS_OK && p->n_sent < p->n_taken &&
               p->n_sent - p->n_there < AHEAD &&
               !p->out[p->n_sent % AHEAD].in_flight) {
            send_chunk(early, p);
        }
    }
}

/* ---- a call ---- */

static bool is_usable(const fs_call_t *call)
{
    return call->send_block != NULL && call->recv_block != NULL &&
           call->prepare == NULL && !call->send_late && !call->recv_late &&
           call->fetch == NULL && call->landed == NULL &&
           call->device.consent == FS_CONSENT_YES &&
           call->device.send_mem.kind == FS_MEM_HOST &&
           call->device.recv_mem.kind == FS_MEM_HOST;
}

static void reset_peer(peer_t *p)
{
    *p = (peer_t){.rank     = p->rank,
                  .is_ours  = p->is_ours,
                  .heard    = p->heard,
                  .has_news = true}; /* it may have come before us */
}

void fs_early_begin(fs_early_t *early, const fs_call_t *call, uint32_t number,
                    uint64_t chunk, uint64_t patience_ns)
{
    early->call        = call;
    early->number      = number;
    early->chunk       = chunk;
    early->patience_ns = patience_ns;
    early->takes_part  = is_usable(call);
    early->is_closed   = false;
    early->has_moved   = true;
    early->status      = FS_OK;
    early->from = early->to = NULL;
    early->n_chunks         = 0;
    for (uint32_t r = 0; r < early->topo->n_ranks; ++r) {
        peer_t *p = &early->peer[r];

        reset_peer(p);
        p->says_more = p->is_ours && early->takes_part &&
                       (to_go(early, p) > 0 || to_come(early, p) > 0);
    }
}

fs_status_t fs_early_progress(fs_early_t *early, uint64_t now_ns)
{
    early->now_ns = now_ns;
    if (!early->has_moved && !is_silent(early) && !is_stuck(early)) {
        return early->status;
    }
    early->has_moved = false;
    for (uint32_t r = 0; r < early->topo->n_ranks; ++r) {
        if (early->peer[r].has_news) {
            fs_early_hear(early, &early->peer[r]);
        }
    }
    receive(early);
    serve(early);
    for (uint32_t r = 0; r < early->topo->n_ranks; ++r) {
        if (early->peer[r].says_more) {
            fs_early_say(early, &early->peer[r]);
        }
    }
    return early->status;
}

/* All, or those of chunks that their senders have not taken: nothing will come. */
static void cancel_receives(fs_early_t *early, bool all)
{
    fs_transport_t *t = early->transport;

    for (uint32_t r = 0; r < early->topo->n_ranks; ++r) {
        for (uint32_t k = 0; k < AHEAD; ++k) {
            peer_t  *p = &early->peer[r];
            chunk_t *c = &p->in[k];

            if (c->in_flight && !c->is_cancelled &&
                (all || c->number >= p->n_taken_there)) {
                c->is_cancelled = true;
                t->ops->cancel(t, &c->xfer);
            }
        }
    }
}

void fs_early_close(fs_early_t *early, uint64_t elapsed_ns, uint64_t more_ns)
{
    fs_u128_t more = (fs_u128_t)early->n_chunks * more_ns / (elapsed_ns + 1);

    early->n_more    = more < OFFERS ? (uint32_t)more : OFFERS;
    early->is_closed = early->has_moved = true;
}

bool fs_early_is_settled(fs_early_t *early)
{
    for (uint32_t r = 0; r < early->topo->n_ranks; ++r) {
        const peer_t *p = &early->peer[r];

        if (p->n_offered - p->n_declined != p->n_taken_there) {
            return false;
        }
    }
    cancel_receives(early, false); /* all offers have been answered */
    early->n_more = 0;
    return true;
}

void fs_early_give_up(fs_early_t *early)
{
    cancel_receives(early, true);
}

bool fs_early_is_over(const fs_early_t *early)
{
    for (uint32_t r = 0; r < early->topo->n_ranks; ++r) {
        const peer_t *p = &early->peer[r];

        if (p->n_there != p->n_taken || n_open(p) > 0) {
            return false;
        }
    }
    return fs_early_is_quiet(early);
}

bool fs_early_is_quiet(const fs_early_t *early)
{
    return early->n_sending + early->n_receives == 0;
}

/* ---- what is left ---- */

static uint64_t bytes_of(const fs_early_t *early, uint32_t n_chunks,
                         uint64_t bytes)
{
    return fs_u64_min(n_chunks * early->chunk, bytes);
}

/* Digests are of what the call has asked for as well: the rest may agree where it does
 * not. */
const fs_call_t *fs_early_rest(fs_early_t *early)
{
    const fs_call_t *call = early->call;

    fs_counts_begin(&early->counts, early->topo);
    for (uint32_t r = 0; r < early->topo->n_ranks; ++r) {
        const peer_t *p    = &early->peer[r];
        uint64_t      gone = bytes_of(early, p->n_taken, to_go(early, p));
        uint64_t come = bytes_of(early, p->n_taken_there, to_come(early, p));

        fs_counts_add(&early->counts, r, to_go(early, p) - gone,
                      to_come(early, p) - come);
        if (early->takes_part) {
            early->send_block[r] = (const char *)call->send_block[r] + gone;
            early->recv_block[r] = (char *)call->recv_block[r] + come;
        }
    }
    early->counts.send_digest += AS_ASKED * call->counts->send_digest;
    early->counts.received_digest += AS_ASKED * call->counts->received_digest;
    early->rest        = *call;
    early->rest.counts = &early->counts;
    if (early->takes_part) {
        early->rest.send_block = early->send_block;
        early->rest.recv_block = early->recv_block;
    }
    return &early->rest;
}

uint64_t fs_early_take_bytes(fs_early_t *early)
{
    uint64_t bytes = early->sent_bytes;

    early->sent_bytes = 0;
    return bytes;
}
