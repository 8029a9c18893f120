/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank has a list of events: messages for it, sends of it that have
 * ended, grants for it. progress() takes one at random. So all callbacks of a
 * rank run in its own progress() or calls, under its own net's lock; the lists
 * are under the loop's.
 */
#include "fs_transport_loop.h"

#include "fs_test_device.h"
#include "fs_test_util.h"

#include <stdlib.h>
#include <string.h>

enum { RUBBISH = 0xa5, MAX_GROUPS = 64 };

typedef struct rank_net rank_net_t;

typedef enum event_kind {
    MESSAGE,
    SEND_ENDED,
    RECV_ENDED,
    GRANT,
    NOTE
} event_kind_t;

typedef struct event {
    event_kind_t kind;
    uint32_t     group; /* of the rank whose event it is */
    uint32_t     src;   /* MESSAGE, GRANT: rank in the group */
    uint32_t     key;
    uint64_t     count; /* GRANT, NOTE */
    uint64_t     len_bytes;
    const void  *buf;    /* MESSAGE whose bytes are still with the sender */
    void        *copy;   /* MESSAGE whose bytes are not */
    fs_xfer_t   *xfer;   /* the sender's while buf is set; whose end it is */
    uint32_t     sender; /* world rank and group, to report the end */
    uint32_t     sender_group;
    bool         held; /* MESSAGE, GRANT: still in the sender, on its way */
    uint32_t     to;   /* to this world rank */
    fs_status_t  status;
} event_t;

typedef struct posted {
    uint32_t   group;
    uint32_t   src;
    uint32_t   key;
    void      *buf;
    uint64_t   len_bytes;
    fs_xfer_t *xfer;
} posted_t;

typedef struct loop_transport {
    fs_transport_t super; /* first */
    rank_net_t    *home;
    uint32_t       group; /* own name */
    uint32_t       rank;
    uint32_t       n_ranks;
    uint32_t      *world;      /* [n_ranks] */
    uint32_t      *peer_group; /* [n_ranks] */
    uint8_t       *reach;      /* [n_ranks] */
    uint64_t      *granted;    /* [n_ranks] by us, so far */
    uint32_t      *wire_recvs; /* [n_ranks] posted */
    uint32_t      *wire_sends; /* [n_ranks] in flight */
} loop_transport_t;

struct rank_net {
    fs_net_t          super; /* first */
    fs_loop_t        *loop;
    uint32_t          world_rank;
    uint32_t          n_groups; /* names given out */
    loop_transport_t *groups[MAX_GROUPS];
    event_t          *events;
    uint32_t          n_events;
    uint32_t          max_events;
    posted_t         *posted;
    uint32_t          n_posted;
    uint32_t          max_posted;
    bool              has_sent;   /* since the last progress() */
    uint32_t          granted_to; /* since then, the last one; or NONE */
    uint32_t          n_grants;   /* for the faults */
    uint32_t          n_sends;    /* for the faults */
    uint32_t          n_messages;
};

struct fs_loop {
    pthread_mutex_t  lock;
    fs_rng_t         rng;
    uint32_t         n_ranks;
    rank_net_t      *nets;
    fs_loop_faults_t faults;
    fs_loop_seen_t   seen;
    uint32_t         n_groups; /* alive */
};

static bool one_in(fs_loop_t *loop, uint32_t n)
{
    return fs_rng_below(&loop->rng, n) == 0;
}

static void *grow(void *array, uint32_t n, uint32_t *max, size_t elem_bytes)
{
    if (n < *max) {
        return array;
    }
    *max  = *max == 0 ? 16 : 2 * *max;
    array = realloc(array, *max * elem_bytes);
    ck_assert_ptr_nonnull(array);
    return array;
}

static void push_event(rank_net_t *net, event_t event)
{
    net->events = grow(net->events, net->n_events, &net->max_events,
                       sizeof(*net->events));
    net->events[net->n_events++] = event;
}

static event_t take_event(rank_net_t *net, uint32_t k)
{
    event_t event = net->events[k];

    net->events[k] = net->events[--net->n_events];
    return event;
}

/* ---- what is watched ---- */

static bool is_wire(uint32_t key)
{
    return key >> 28 == FS_CH_WIRE;
}

static uint32_t n_nonzero(const uint32_t *a, uint32_t n, uint32_t *sum_p)
{
    uint32_t nonzero = 0;

    for (uint32_t k = *sum_p = 0; k < n; ++k) {
        nonzero += a[k] != 0;
        *sum_p += a[k];
    }
    return nonzero;
}

static void raise_to(uint32_t *max_p, uint32_t value)
{
    *max_p = value > *max_p ? value : *max_p;
}

static void watch_wire_recv(loop_transport_t *t, uint32_t peer)
{
    fs_loop_seen_t *seen = &t->home->loop->seen;
    uint32_t        n_recvs, n_senders;

    ++t->wire_recvs[peer];
    n_senders = n_nonzero(t->wire_recvs, t->n_ranks, &n_recvs);
    raise_to(&seen->max_wire_recvs, n_recvs);
    raise_to(&seen->max_wire_senders, n_senders);
}

static void watch_wire_send(loop_transport_t *t, uint32_t peer)
{
    uint32_t n_sends;

    ++t->wire_sends[peer];
    raise_to(&t->home->loop->seen.max_wire_receivers,
             n_nonzero(t->wire_sends, t->n_ranks, &n_sends));
}

/* ---- messages on a device: they are looked at there if it was said ---- */

static void *reach(fs_mem_kind_t mem, const void *buf)
{
    return mem == FS_MEM_HOST ? (void *)(uintptr_t)buf
                              : fs_test_device_alias(buf);
}

/* ---- matching ---- */

enum { NONE = UINT32_MAX };

static uint32_t find_posted(const rank_net_t *net, uint32_t group, uint32_t src,
                            uint32_t key)
{
    for (uint32_t k = 0; k < net->n_posted; ++k) {
        const posted_t *p = &net->posted[k];

        if (p->group == group && p->src == src && p->key == key) {
            return k;
        }
    }
    return NONE;
}

static uint32_t find_message(const rank_net_t *net, uint32_t group,
                             uint32_t src, uint32_t key)
{
    for (uint32_t k = 0; k < net->n_events; ++k) {
        const event_t *e = &net->events[k];

        if (e->kind == MESSAGE && !e->held && e->group == group &&
            e->src == src && e->key == key) {
            return k;
        }
    }
    return NONE;
}

static posted_t take_posted(rank_net_t *net, uint32_t k)
{
    posted_t          p = net->posted[k];
    loop_transport_t *t = net->groups[p.group];

    net->posted[k] = net->posted[--net->n_posted];
    if (is_wire(p.key)) {
        --t->wire_recvs[p.src];
    }
    return p;
}

/* The bytes are out: the sender may hear of it. */
static void release_sender(fs_loop_t *loop, event_t *message)
{
    if (message->buf != NULL) {
        push_event(&loop->nets[message->sender],
                   (event_t){.kind      = SEND_ENDED,
                             .group     = message->sender_group,
                             .src       = message->count, /* peer there */
                             .key       = message->key,
                             .xfer      = message->xfer,
                             .len_bytes = message->xfer->len_bytes});
        message->buf = NULL;
    }
}

static void deliver(rank_net_t *net, event_t *message, const posted_t *posted)
{
    fs_loop_t  *loop   = net->loop;
    const void *bytes  = message->buf != NULL ? message->buf : message->copy;
    uint64_t    len    = message->len_bytes;
    fs_status_t status = FS_OK;

    if (++net->n_messages == loop->faults.cut_message &&
        net->world_rank == loop->faults.cut_rank && len > 0) {
        --len;
    }
    if (len > posted->len_bytes) {
        status = FS_ERR_TRUNCATE;
    } else if (len > 0) {
        memcpy(posted->buf, bytes, len);
    }
    release_sender(loop, message);
    free(message->copy);
    posted->xfer->done(posted->xfer, status, len);
}

/* ---- the transport's table ---- */

static bool is_parted(const loop_transport_t *t, uint32_t peer)
{
    const fs_loop_faults_t *faults = &t->home->loop->faults;

    return faults->parted && faults->parted_src == t->home->world_rank &&
           faults->parted_dst == t->world[peer];
}

static bool refuse_send(loop_transport_t *t, uint32_t peer)
{
    const fs_loop_faults_t *faults = &t->home->loop->faults;

    return is_parted(t, peer) || (++t->home->n_sends == faults->fail_send &&
                                  t->home->world_rank == faults->fail_rank);
}

static bool is_mute(const rank_net_t *net)
{
    return net->loop->faults.mute &&
           net->loop->faults.mute_rank == net->world_rank;
}

static void watch_message(loop_transport_t *t, uint32_t peer, uint32_t key)
{
    fs_loop_t  *loop = t->home->loop;
    rank_net_t *to   = &loop->nets[t->world[peer]];

    ++loop->seen.messages;
    loop->seen.twins += find_message(to, t->peer_group[peer], t->rank, key) !=
                        NONE;
    t->home->has_sent = true;
    if (is_wire(key)) {
        loop->seen.ungranted +=
            find_posted(to, t->peer_group[peer], t->rank, key) == NONE;
    }
}

/* The leaders' words of a summary are so short that a socket has room for them. */
static bool may_stay(const loop_transport_t *t, uint32_t peer, uint32_t key)
{
    bool is_word  = key >> 28 == FS_CH_LAST;
    bool is_early = key >> 28 > FS_CH_LAST;

    return is_wire(key) || is_early ||
           (!t->home->super.local_arrives &&
            (!is_word || t->reach[peer] == FS_REACH_LOCAL));
}

static bool is_word(event_kind_t kind)
{
    return kind == GRANT || kind == NOTE;
}

/* What has left the caller's hands may stay in its process. */
static void push_out(loop_transport_t *t, event_t event, bool may_hold)
{
    rank_net_t *home = t->home;

    event.held = may_hold && one_in(home->loop, 3);
    t->super.n_grants_out += event.held && is_word(event.kind);
    push_event(event.held ? home : &home->loop->nets[event.to], event);
}

static void let_go(rank_net_t *net, event_t event)
{
    loop_transport_t *t = net->groups[event.sender_group];

    event.held = false;
    if (is_word(event.kind) && t != NULL) {
        --t->super.n_grants_out;
    }
    push_event(&net->loop->nets[event.to], event);
}

/* Either the bytes leave at once, or they are fetched when they arrive. */
static fs_status_t loop_send(fs_transport_t *transport, uint32_t peer,
                             uint32_t key, const void *buf, uint64_t len_bytes,
                             fs_xfer_t *xfer)
{
    loop_transport_t *t    = (loop_transport_t *)transport;
    fs_loop_t        *loop = t->home->loop;
    event_t           event;
    bool              now = false;

    if (t->reach[peer] == FS_REACH_NONE) {
        return FS_ERR_UNREACHABLE;
    }
    pthread_mutex_lock(&loop->lock);
    if (refuse_send(t, peer)) {
        pthread_mutex_unlock(&loop->lock);
        return FS_ERR_TRANSPORT;
    }
    if (is_mute(t->home) && is_wire(key)) {
        pthread_mutex_unlock(&loop->lock);
        return FS_OK; /* and it never ends */
    }
    watch_message(t, peer, key);
    buf             = reach(xfer->mem, buf);
    xfer->len_bytes = len_bytes;
    event           = (event_t){.kind         = MESSAGE,
                                .group        = t->peer_group[peer],
                                .src          = t->rank,
                                .key          = key,
                                .count        = peer,
                                .len_bytes    = len_bytes,
                                .buf          = buf,
                                .xfer         = xfer,
                                .sender       = t->home->world_rank,
                                .sender_group = t->group,
                                .to           = t->world[peer]};
    if (one_in(loop, 3)) {
        event.copy = fs_test_alloc(len_bytes, 1);
        memcpy(event.copy, buf, len_bytes);
        now = one_in(loop, 2);
        if (!now) {
            release_sender(loop, &event);
        }
        event.buf = NULL;
    }
    if (is_wire(key) && !now) {
        watch_wire_send(t, peer);
    }
    push_out(t, event, may_stay(t, peer, key));
    if (now) {
        xfer->done(xfer, FS_OK, len_bytes);
    }
    pthread_mutex_unlock(&loop->lock);
    return FS_OK;
}

static fs_status_t loop_recv(fs_transport_t *transport, uint32_t peer,
                             uint32_t key, void *buf, uint64_t len_bytes,
                             fs_xfer_t *xfer)
{
    loop_transport_t *t      = (loop_transport_t *)transport;
    rank_net_t       *net    = t->home;
    fs_loop_t        *loop   = net->loop;
    posted_t          posted = {.group     = t->group,
                                .src       = peer,
                                .key       = key,
                                .buf       = reach(xfer->mem, buf),
                                .len_bytes = len_bytes,
                                .xfer      = xfer};
    uint32_t          k;

    if (t->reach[peer] == FS_REACH_NONE) {
        return FS_ERR_UNREACHABLE;
    }
    pthread_mutex_lock(&loop->lock);
    if (len_bytes > 0) {
        memset(posted.buf, RUBBISH, len_bytes);
    }
    loop->seen.twins += find_posted(net, t->group, peer, key) != NONE;
    if (is_wire(key)) {
        watch_wire_recv(t, peer);
    }
    k           = find_message(net, t->group, peer, key);
    net->posted = grow(net->posted, net->n_posted, &net->max_posted,
                       sizeof(*net->posted));
    net->posted[net->n_posted++] = posted;
    if (k != NONE && one_in(loop, 3)) {
        event_t message = take_event(net, k);

        posted = take_posted(net, net->n_posted - 1);
        deliver(net, &message, &posted);
    }
    pthread_mutex_unlock(&loop->lock);
    return FS_OK;
}

/* The end comes now or later, as the rules say. */
static void loop_cancel(fs_transport_t *transport, fs_xfer_t *xfer)
{
    loop_transport_t *t    = (loop_transport_t *)transport;
    rank_net_t       *net  = t->home;
    fs_loop_t        *loop = net->loop;

    pthread_mutex_lock(&loop->lock);
    for (uint32_t k = 0; k < net->n_posted; ++k) {
        if (net->posted[k].xfer == xfer) {
            take_posted(net, k);
            if (one_in(loop, 2)) {
                xfer->done(xfer, FS_ERR_TRANSPORT, 0);
            } else {
                push_event(net, (event_t){.kind   = RECV_ENDED,
                                          .group  = t->group,
                                          .xfer   = xfer,
                                          .status = FS_ERR_TRANSPORT});
            }
            break;
        }
    }
    pthread_mutex_unlock(&loop->lock);
}

/* A grant may overtake an older one to the same peer: it then stands for it. */
static void drop_older_grant(rank_net_t *to, uint32_t group, uint32_t src)
{
    for (uint32_t k = 0; k < to->n_events; ++k) {
        const event_t *e = &to->events[k];

        if (e->kind == GRANT && !e->held && e->group == group &&
            e->src == src) {
            take_event(to, k);
            return;
        }
    }
}

static fs_status_t loop_grant(fs_transport_t *transport, uint32_t peer,
                              uint64_t count)
{
    loop_transport_t *t    = (loop_transport_t *)transport;
    fs_loop_t        *loop = t->home->loop;
    rank_net_t       *to   = &loop->nets[t->world[peer]];
    event_t           event;

    if (t->reach[peer] == FS_REACH_NONE) {
        return FS_ERR_UNREACHABLE;
    }
    if (is_mute(t->home)) {
        return FS_OK;
    }
    pthread_mutex_lock(&loop->lock);
    if (is_parted(t, peer) || (++t->home->n_grants == loop->faults.fail_grant &&
                               t->home->world_rank == loop->faults.fail_rank)) {
        pthread_mutex_unlock(&loop->lock);
        return FS_ERR_TRANSPORT;
    }
    loop->seen.shrunk_grants += count < t->granted[peer];
    if (count > t->granted[peer]) {
        loop->seen.late_grants += t->home->has_sent;
        loop->seen.split_grants += t->home->granted_to == t->world[peer];
        t->home->granted_to = t->world[peer];
    }
    t->granted[peer] = count;
    if (one_in(loop, 2)) {
        drop_older_grant(to, t->peer_group[peer], t->rank);
    }
    event = (event_t){.kind         = GRANT,
                      .group        = t->peer_group[peer],
                      .src          = t->rank,
                      .count        = count,
                      .sender_group = t->group,
                      .to           = t->world[peer]};
    push_out(t, event, true);
    pthread_mutex_unlock(&loop->lock);
    return FS_OK;
}

/* One that is still on its way, in our process or in theirs. */
static event_t *find_note(rank_net_t *at, uint32_t group, uint32_t src,
                          uint32_t to)
{
    for (uint32_t k = 0; k < at->n_events; ++k) {
        event_t *e = &at->events[k];

        if (e->kind == NOTE && e->group == group && e->src == src &&
            e->to == to) {
            return e;
        }
    }
    return NULL;
}

/* Notes stay in order: a newer one takes the place of the one before. */
static fs_status_t loop_note(fs_transport_t *transport, uint32_t peer,
                             uint64_t word)
{
    loop_transport_t *t    = (loop_transport_t *)transport;
    fs_loop_t        *loop = t->home->loop;
    uint32_t          to   = t->world[peer];
    event_t          *older;

    if (t->reach[peer] == FS_REACH_NONE || is_parted(t, peer)) {
        return FS_ERR_UNREACHABLE;
    }
    if (is_mute(t->home)) {
        return FS_OK;
    }
    pthread_mutex_lock(&loop->lock);
    older = find_note(t->home, t->peer_group[peer], t->rank, to);
    if (older == NULL) {
        older = find_note(&loop->nets[to], t->peer_group[peer], t->rank, to);
    }
    if (older != NULL) {
        older->count = word;
    } else {
        push_out(t,
                 (event_t){.kind         = NOTE,
                           .group        = t->peer_group[peer],
                           .src          = t->rank,
                           .count        = word,
                           .sender_group = t->group,
                           .to           = to},
                 true);
    }
    pthread_mutex_unlock(&loop->lock);
    return FS_OK;
}

static void loop_destroy_transport(fs_transport_t *transport)
{
    loop_transport_t *t    = (loop_transport_t *)transport;
    fs_loop_t        *loop = t->home->loop;

    pthread_mutex_lock(&loop->lock);
    t->home->groups[t->group] = NULL;
    --loop->n_groups;
    pthread_mutex_unlock(&loop->lock);
    free(t->world);
    free(t->peer_group);
    free(t->reach);
    free(t->granted);
    free(t->wire_recvs);
    free(t->wire_sends);
    free(t);
}

static const fs_transport_ops_t transport_ops = {
    .send    = loop_send,
    .recv    = loop_recv,
    .cancel  = loop_cancel,
    .grant   = loop_grant,
    .note    = loop_note,
    .destroy = loop_destroy_transport,
};

/* ---- the net's table ---- */

/* Handle event k if its time has come. */
static bool handle(rank_net_t *net, uint32_t k)
{
    event_t           event = net->events[k];
    loop_transport_t *t     = net->groups[event.group];
    uint32_t          p;

    if (event.held) {
        let_go(net, take_event(net, k));
        return true;
    }
    if (t == NULL) { /* for a communicator that is gone, or not yet here */
        return false;
    }
    switch (event.kind) {
    case MESSAGE:
        p = find_posted(net, event.group, event.src, event.key);
        if (p != NONE) {
            posted_t posted = take_posted(net, p);

            event = take_event(net, k);
            deliver(net, &event, &posted);
        }
        return p != NONE;
    case SEND_ENDED:
        take_event(net, k);
        if (is_wire(event.key)) {
            --t->wire_sends[event.src];
        }
        event.xfer->done(event.xfer, FS_OK, event.len_bytes);
        return true;
    case RECV_ENDED:
        take_event(net, k);
        event.xfer->done(event.xfer, event.status, 0);
        return true;
    case GRANT:
        take_event(net, k);
        if (t->super.granted != NULL) {
            t->super.granted(t->super.granted_arg, event.src, event.count);
        }
        return true;
    case NOTE:
        take_event(net, k);
        if (t->super.noted != NULL) {
            t->super.noted(t->super.noted_arg, event.src, event.count);
        }
        return true;
    }
    return false;
}

/* A few events, from a random place in the list on; sometimes none. */
static unsigned loop_progress(fs_net_t *super)
{
    rank_net_t *net    = (rank_net_t *)super;
    fs_loop_t  *loop   = net->loop;
    unsigned    events = 0, wanted;

    pthread_mutex_lock(&loop->lock);
    net->has_sent   = false;
    net->granted_to = NONE;
    wanted          = (unsigned)fs_rng_below(&loop->rng, 4);
    while (events < wanted && net->n_events > 0) {
        uint32_t n     = net->n_events;
        uint32_t first = (uint32_t)fs_rng_below(&loop->rng, n), k = 0;

        while (k < n && !handle(net, (first + k) % n)) {
            ++k;
        }
        if (k == n) {
            break;
        }
        ++events;
    }
    pthread_mutex_unlock(&loop->lock);
    return events;
}

static fs_status_t loop_hello(fs_net_t *super, fs_net_hello_t *hello,
                              const void **address)
{
    rank_net_t *net  = (rank_net_t *)super;
    fs_loop_t  *loop = net->loop;

    if (loop->faults.no_hello && loop->faults.hello_rank == net->world_rank) {
        return FS_ERR_TRANSPORT;
    }
    pthread_mutex_lock(&loop->lock);
    /* Names differ from rank to rank: nobody may rely on his own. */
    if (net->n_groups == 0) {
        net->n_groups = net->world_rank % 7;
    }
    ck_assert_uint_lt(net->n_groups, MAX_GROUPS);
    *hello = (fs_net_hello_t){
        .process     = {net->world_rank, ~(uint64_t)net->world_rank},
        .group       = net->n_groups++,
        .address_len = (uint32_t)sizeof(net->world_rank),
    };
    *address = &net->world_rank;
    ++loop->n_groups;
    pthread_mutex_unlock(&loop->lock);
    return FS_OK;
}

static void loop_forget(fs_net_t *super, uint32_t group)
{
    fs_loop_t *loop = ((rank_net_t *)super)->loop;

    (void)group;
    pthread_mutex_lock(&loop->lock);
    --loop->n_groups;
    pthread_mutex_unlock(&loop->lock);
}

static loop_transport_t *new_transport(rank_net_t *net, uint32_t group,
                                       uint32_t rank, uint32_t n_ranks)
{
    loop_transport_t *t = fs_test_alloc(1, sizeof(*t));

    t->super      = (fs_transport_t){.ops = &transport_ops, .net = &net->super};
    t->home       = net;
    t->group      = group;
    t->rank       = rank;
    t->n_ranks    = n_ranks;
    t->world      = fs_test_alloc(n_ranks, sizeof(*t->world));
    t->peer_group = fs_test_alloc(n_ranks, sizeof(*t->peer_group));
    t->reach      = fs_test_alloc(n_ranks, sizeof(*t->reach));
    t->granted    = fs_test_alloc(n_ranks, sizeof(*t->granted));
    t->wire_recvs = fs_test_alloc(n_ranks, sizeof(*t->wire_recvs));
    t->wire_sends = fs_test_alloc(n_ranks, sizeof(*t->wire_sends));
    return t;
}

static fs_status_t loop_connect(fs_net_t *super, const fs_net_group_t *group,
                                fs_transport_t **transport_p,
                                uint32_t        *failed_p)
{
    rank_net_t       *net  = (rank_net_t *)super;
    fs_loop_t        *loop = net->loop;
    loop_transport_t *t;

    if (loop->faults.unreachable && loop->faults.lost_rank == net->world_rank) {
        *failed_p = (group->rank + 1) % group->n_ranks;
        loop_forget(super, group->group);
        return FS_ERR_UNREACHABLE;
    }
    t = new_transport(net, group->group, group->rank, group->n_ranks);
    for (uint32_t r = 0; r < group->n_ranks; ++r) {
        t->world[r] = (uint32_t)group->hello[r].process[0];
        ck_assert_int_eq(memcmp(group->address + r * group->stride,
                                &t->world[r], sizeof(t->world[r])),
                         0);
        t->peer_group[r] = group->hello[r].group;
        t->reach[r]      = group->reach[r];
    }
    pthread_mutex_lock(&loop->lock);
    net->groups[group->group] = t;
    pthread_mutex_unlock(&loop->lock);
    *transport_p = &t->super;
    return FS_OK;
}

uint32_t fs_loop_n_wire_peers(const fs_transport_t *transport)
{
    const loop_transport_t *t = (const loop_transport_t *)transport;
    uint32_t                n = 0;

    for (uint32_t r = 0; r < t->n_ranks; ++r) {
        n += t->reach[r] == FS_REACH_WIRE;
    }
    return n;
}

static const fs_net_ops_t net_ops = {
    .hello    = loop_hello,
    .forget   = loop_forget,
    .connect  = loop_connect,
    .progress = loop_progress,
    .destroy  = NULL, /* fs_loop_destroy() frees all nets */
};

/* ---- the loop ---- */

fs_loop_t *fs_loop_create(uint32_t n_ranks, uint64_t seed)
{
    fs_loop_t *loop = fs_test_alloc(1, sizeof(*loop));

    pthread_mutex_init(&loop->lock, NULL);
    fs_rng_init(&loop->rng, ~seed);
    loop->n_ranks = n_ranks;
    loop->nets    = fs_test_alloc(n_ranks, sizeof(*loop->nets));
    for (uint32_t r = 0; r < n_ranks; ++r) {
        loop->nets[r].super.ops           = &net_ops;
        loop->nets[r].super.local_arrives = true;
        loop->nets[r].loop                = loop;
        loop->nets[r].world_rank          = r;
        pthread_mutex_init(&loop->nets[r].super.lock, NULL);
    }
    return loop;
}

void fs_loop_destroy(fs_loop_t *loop)
{
    for (uint32_t r = 0; r < loop->n_ranks; ++r) {
        rank_net_t *net = &loop->nets[r];

        for (uint32_t k = 0; k < net->n_events; ++k) {
            free(net->events[k].copy);
        }
        free(net->events);
        free(net->posted);
        pthread_mutex_destroy(&net->super.lock);
    }
    pthread_mutex_destroy(&loop->lock);
    free(loop->nets);
    free(loop);
}

void fs_loop_set_faults(fs_loop_t *loop, const fs_loop_faults_t *faults)
{
    loop->faults = *faults;
}

fs_loop_seen_t fs_loop_take_seen(fs_loop_t *loop)
{
    fs_loop_seen_t seen;

    pthread_mutex_lock(&loop->lock);
    seen       = loop->seen;
    loop->seen = (fs_loop_seen_t){0};
    pthread_mutex_unlock(&loop->lock);
    return seen;
}

uint32_t fs_loop_n_pending(fs_loop_t *loop)
{
    uint32_t n = 0;

    pthread_mutex_lock(&loop->lock);
    for (uint32_t r = 0; r < loop->n_ranks; ++r) {
        n += loop->nets[r].n_events + loop->nets[r].n_posted;
    }
    pthread_mutex_unlock(&loop->lock);
    return n;
}

uint32_t fs_loop_n_between(fs_loop_t *loop, uint32_t src, uint32_t dst)
{
    uint32_t n = 0;

    pthread_mutex_lock(&loop->lock);
    for (uint32_t r = 0; r < loop->n_ranks; ++r) {
        const rank_net_t *net = &loop->nets[r];

        for (uint32_t k = 0; k < net->n_events; ++k) {
            const event_t *e = &net->events[k];

            n += e->kind == MESSAGE && e->sender == src && e->to == dst;
        }
    }
    pthread_mutex_unlock(&loop->lock);
    return n;
}

uint32_t fs_loop_n_groups(fs_loop_t *loop)
{
    return loop->n_groups;
}

fs_net_t *fs_loop_net(fs_loop_t *loop, uint32_t rank)
{
    return &loop->nets[rank].super;
}

fs_transport_t *fs_loop_transport(fs_loop_t *loop, uint32_t rank,
                                  uint32_t group)
{
    rank_net_t       *net = &loop->nets[rank];
    loop_transport_t *t   = new_transport(net, group, rank, loop->n_ranks);

    for (uint32_t r = 0; r < loop->n_ranks; ++r) {
        t->world[r]      = r;
        t->peer_group[r] = group;
        t->reach[r]      = r == rank ? FS_REACH_NONE : FS_REACH_WIRE;
    }
    ++loop->n_groups;
    net->groups[group] = t;
    return &t->super;
}
