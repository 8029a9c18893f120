/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round, rank by rank.
 *
 *   COLLECT   lane: all local ranks have said     others: over to WAIT
 *             -> EXCHANGE
 *   EXCHANGE  lane: the messages of its servers are here, say so
 *             -> WAIT
 *   WAIT      all lanes have said so -> IDLE
 *
 * Each pair of servers has a lane, and its proxies send each other one message
 * with the server's vote, its row and the bundle, or as much of the bundle as is
 * this lane's: a long one is cut among the lanes of the pair. The others know from
 * the first what they have to receive.
 *
 * Where a server's ranks have no memory in common, messages carry what each has to
 * say to the proxy of lane 0, the leader, and the result back. Then lane 0 of every
 * server does all, and there are no bundles.
 */
#include "comm/fs_control.h"

#include "accel/fs_accel.h"
#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "comm/fs_control_block.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

/* Number in the key. */
enum { TO_LEADER, FROM_LEADER, HEAD, RANGE };

/* A bundle is cut among lanes from here on, about two packets each. */
enum { CUT_BYTES = 3000 };

typedef enum state { IDLE, COLLECT, EXCHANGE, WAIT } state_t;

typedef struct pending {
    fs_xfer_t     xfer; /* first */
    fs_control_t *control;
    uint64_t      len_bytes; /* expected, at least; then what has come */
    uint32_t      peer;
    bool          receives;
    bool          at_least;
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
    uint32_t           n_lanes;   /* of this server, that exchange messages */
    uint32_t           lane;      /* this rank's; FS_NO_LANE: none of these */
    bool               messages;  /* inside the server */
    bool               all_share; /* all servers share memory */
    bool               summary;
    uint64_t           limit; /* of bundles, in this summary */
    uint64_t           round;
    uint32_t           n_said; /* lane: local ranks below have said */
    state_t            state;
    fs_status_t        status;
    uint32_t           n_pending;
    uint32_t           n_receiving; /* of these, receives */
    uint32_t           n_posted;
    pending_t         *pending; /* [max_pending] of this round */
    uint64_t           wire_bytes;
    fs_vote_t          vote; /* the result */
    fs_control_block_t block;
    uint64_t          *up; /* messages to the leader: one; there [n_local] */
    /* Of a lane: */
    fs_control_head_t *head;   /* what its server says */
    fs_bytes_t        *pieces; /* [1 + n_local] of a bundle */
    uint32_t          *ends;   /* [n_local] of its parts */
    char              *out;    /* messages under way */
    uint32_t          *todo;   /* [N] servers whose messages are not received or
                                  expected yet */
    uint32_t           n_todo;
    pending_t        **heads; /* [N] of those in todo, that are this lane's */
};

uint32_t fs_control_leader(const fs_topo_t *topo, uint32_t server)
{
    return fs_topo_rank(topo, server, fs_topo_proxy(topo, server, 0));
}

size_t fs_control_shared_bytes(const fs_topo_t *topo, uint32_t server,
                               uint64_t bundle_memory)
{
    return fs_topo_n_local(topo, server) == 1
               ? 0
               : fs_control_block_bytes(topo, server, bundle_memory);
}

static bool is_leader(const fs_control_t *control)
{
    return control->rank == control->leader;
}

/* ---- lanes of a pair of servers ---- */

static uint32_t pair_lanes(const fs_control_t *control, uint32_t server)
{
    return control->all_share
               ? fs_u32_min(fs_topo_n_lanes(control->topo, control->server),
                            fs_topo_n_lanes(control->topo, server))
               : 1;
}

/* The lane of a pair's heads. */
static uint32_t head_lane(const fs_control_t *control, uint32_t server)
{
    return (control->server + server) % pair_lanes(control, server);
}

/* The rank of another server that this lane talks to. */
static uint32_t peer_of(const fs_control_t *control, uint32_t server)
{
    return fs_topo_rank(control->topo, server,
                        fs_topo_proxy(control->topo, server, control->lane));
}

/* Bytes from to from + len of the bundle of a pair. */
typedef struct range {
    uint64_t from;
    uint64_t len; /* 0: none */
} range_t;

/* What of a bundle is this lane's. */
static range_t own_range(const fs_control_t *control, uint32_t server,
                         uint64_t bundle_len)
{
    uint32_t lanes = pair_lanes(control, server);
    uint32_t k = (control->lane + lanes - head_lane(control, server)) % lanes;
    uint64_t n_ranges = fs_u64_min(fs_u64_div_up(bundle_len, CUT_BYTES), lanes);
    uint64_t each;

    if (control->lane >= lanes || k >= n_ranges) {
        return (range_t){0, 0};
    }
    each = fs_u64_div_up(bundle_len, n_ranges);
    return k * each < bundle_len
               ? (range_t){k * each, fs_u64_min(each, bundle_len - k * each)}
               : (range_t){0, 0};
}

/* Of one message between servers, at most. */
static uint64_t longest_message(const fs_control_t *control, uint32_t server)
{
    uint64_t lanes = pair_lanes(control, server);
    uint64_t most  = control->block.bundle_bytes;

    return fs_control_head_len(control->topo) +
           fs_u64_min(most, fs_u64_max(fs_u64_div_up(most, lanes), CUT_BYTES));
}

/* ---- create, destroy ---- */

static size_t up_len(const fs_control_t *control)
{
    return fs_control_block_message_len(&control->block, control->summary);
}

static fs_status_t alloc_lane(fs_control_t *control)
{
    uint32_t n   = fs_topo_n_servers(control->topo);
    size_t   out = 0;

    for (uint32_t u = 0; u < n; ++u) {
        out += longest_message(control, u);
    }
    control->head = calloc(1, fs_control_head_len(control->topo));
    control->pieces =
        calloc(1 + (size_t)control->n_local, sizeof(*control->pieces));
    control->ends  = calloc(control->n_local, sizeof(*control->ends));
    control->out   = calloc(out, 1);
    control->todo  = calloc(n, sizeof(*control->todo));
    control->heads = calloc(n, sizeof(*control->heads));
    return control->head != NULL && control->pieces != NULL &&
                   control->ends != NULL && control->out != NULL &&
                   control->todo != NULL && control->heads != NULL
               ? FS_OK
               : FS_ERR_NOMEM;
}

static fs_status_t alloc(fs_control_t *control, const fs_control_setup_t *setup)
{
    size_t      n      = fs_topo_n_servers(control->topo);
    fs_status_t status = fs_control_block_init(
        &control->block, control->topo, control->server,
        control->messages ? 0 : setup->bundle_memory, setup->shared);

    if (status != FS_OK) {
        return status;
    }
    control->summary = true; /* the largest lengths */
    control->pending =
        calloc(2 * (n + control->n_local), sizeof(*control->pending));
    if (control->messages) {
        control->up = calloc((is_leader(control) ? control->n_local : 1) *
                                 up_len(control),
                             sizeof(*control->up));
    }
    if (control->lane != FS_NO_LANE) {
        status = alloc_lane(control);
    }
    return control->pending != NULL &&
                   (!control->messages || control->up != NULL)
               ? status
               : FS_ERR_NOMEM;
}

fs_status_t fs_control_create(const fs_control_setup_t *setup, uint32_t rank,
                              fs_control_t **control_p)
{
    const fs_topo_t *topo    = setup->topo;
    fs_control_t    *control = calloc(1, sizeof(*control));
    fs_status_t      status;

    if (control == NULL) {
        return FS_ERR_NOMEM;
    }
    control->topo      = topo;
    control->transport = setup->transport;
    control->rank      = rank;
    control->server    = fs_topo_server(topo, rank);
    control->leader    = fs_control_leader(topo, control->server);
    control->n_local   = fs_topo_n_local(topo, control->server);
    control->local     = fs_topo_local(topo, rank);
    control->messages  = setup->shared == NULL && control->n_local > 1;
    control->all_share = setup->all_share;
    control->n_lanes = setup->all_share ? fs_topo_n_lanes(topo, control->server)
                                        : 1;
    control->lane    = fs_topo_lane(topo, rank);
    if (control->lane >= control->n_lanes) {
        control->lane = FS_NO_LANE;
    }
    status = alloc(control, setup);
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
        free(control->pending);
        free(control->head);
        free(control->pieces);
        free(control->ends);
        free(control->out);
        free(control->todo);
        free(control->heads);
        free(control);
    }
}

/* ---- messages ---- */

static void message_ended(fs_xfer_t *xfer, fs_status_t status,
                          uint64_t len_bytes)
{
    pending_t    *pending = (pending_t *)xfer;
    fs_control_t *control = pending->control;
    bool          fits    = pending->at_least ? len_bytes >= pending->len_bytes
                                              : len_bytes == pending->len_bytes;

    --control->n_pending;
    control->n_receiving -= pending->receives;
    pending->ended     = true;
    pending->len_bytes = len_bytes;
    if (control->status == FS_OK) {
        control->status = status != FS_OK ? status
                          : fits          ? FS_OK
                                          : FS_ERR_TRUNCATE;
    }
}

/* A transfer that is about to be posted. */
static pending_t *add_pending(fs_control_t *control, uint32_t peer,
                              uint64_t len_bytes, bool at_least)
{
    pending_t *pending = &control->pending[control->n_posted];

    *pending = (pending_t){.xfer.done = message_ended,
                           .control   = control,
                           .len_bytes = len_bytes,
                           .at_least  = at_least,
                           .peer      = peer};
    ++control->n_posted;
    ++control->n_pending;
    return pending;
}

static void check_post(pending_t *pending, fs_status_t status)
{
    fs_control_t *control = pending->control;

    if (status != FS_OK) {
        --control->n_pending;
        control->n_receiving -= pending->receives;
        control->status = status;
    }
}

static uint32_t key_of(const fs_control_t *control, uint32_t kind)
{
    return fs_key(FS_CH_LAST, (uint32_t)control->round, kind);
}

static void post_send(fs_control_t *control, uint32_t peer, uint32_t kind,
                      const void *message, uint64_t len_bytes)
{
    if (control->status == FS_OK) {
        pending_t *pending = add_pending(control, peer, len_bytes, false);

        check_post(pending, control->transport->ops->send(
                                control->transport, peer, key_of(control, kind),
                                message, len_bytes, &pending->xfer));
    }
}

/* A message of least to most bytes. NULL after an error. */
static pending_t *post_recv(fs_control_t *control, uint32_t peer, uint32_t kind,
                            void *message, uint64_t least, uint64_t most)
{
    pending_t *pending;

    if (control->status != FS_OK) {
        return NULL;
    }
    pending           = add_pending(control, peer, least, least < most);
    pending->receives = true;
    ++control->n_receiving;
    check_post(pending, control->transport->ops->recv(
                            control->transport, peer, key_of(control, kind),
                            message, most, &pending->xfer));
    return pending;
}

/* ---- what ranks do with numbers ---- */

static void combine(fs_vote_t *into, const fs_vote_t *vote)
{
    into->flags |= vote->flags;
    into->max_inter = fs_u64_max(into->max_inter, vote->max_inter);
    into->max_ns    = fs_u64_max(into->max_ns, vote->max_ns);
    into->min_ns    = fs_u64_min(into->min_ns - 1, vote->min_ns - 1) +
                   1; /* 0 - 1: most */
    into->sum[0] += vote->sum[0];
    into->sum[1] += vote->sum[1];
}

static const fs_vote_t *vote_of(const fs_control_t *control, uint32_t local)
{
    return (const fs_vote_t *)fs_control_block_row(&control->block, local);
}

static const uint64_t *row_of(const fs_control_t *control, uint32_t local)
{
    return fs_control_block_row(&control->block, local) + FS_VOTE_LEN;
}

/* A sum that does not fit must look too large: fs_traffic_sum() refuses it. */
static uint64_t add_bytes(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return fs_u64_add(a, b, &sum) && sum < FS_CONTROL_BUNDLED
               ? sum
               : FS_CONTROL_BUNDLED - 1;
}

/* All local ranks have said: what the server says. */
static void sum_up(fs_control_t *control)
{
    uint32_t n = fs_topo_n_servers(control->topo);

    memset(control->head, 0, fs_control_head_len(control->topo));
    for (uint32_t i = 0; i < control->n_local; ++i) {
        const uint64_t *row = row_of(control, i);

        combine(&control->head->vote, vote_of(control, i));
        for (uint32_t v = 0; v < n && control->summary; ++v) {
            control->head->row[v] = add_bytes(control->head->row[v], row[v]);
        }
    }
}

/* The numbers of a server, for all ranks of this one. */
static void keep_numbers(fs_control_t *control, uint32_t server,
                         const fs_control_head_t *head)
{
    fs_control_block_t *block = &control->block;
    size_t              n = fs_topo_n_servers(control->topo), at = server * n;

    fs_control_block_votes(block, control->round)[server] = head->vote;
    for (uint32_t v = 0; v < n && control->summary; ++v) {
        uint64_t cell         = head->row[v];
        block->matrix[at + v] = cell & ~FS_CONTROL_BUNDLED;
        block->rest[at + v]   = cell & FS_CONTROL_BUNDLED ? 0 : cell;
    }
}

/* ---- bundles ---- */

static fs_bytes_t part_of(const fs_control_t *control, uint32_t local,
                          uint32_t server)
{
    const fs_control_part_t *part =
        &fs_control_block_parts(&control->block, local)[server];

    return (fs_bytes_t){
        fs_control_block_pool(&control->block, local) + part->at, part->len};
}

/* The length of the bundle for a server, whose parts are pieces[1] and so on then;
 * 0: there is none. For its own there is no message to be too long. */
static uint64_t bundle_to(fs_control_t *control, uint32_t server)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < control->n_local; ++i) {
        fs_bytes_t part = part_of(control, i, server);

        if (part.len == FS_PART_NONE) {
            return 0;
        }
        sum += part.len;
        control->ends[i]       = (uint32_t)sum;
        control->pieces[1 + i] = part;
    }
    control->pieces[0] = (fs_bytes_t){(const char *)control->ends,
                                      fs_bundle_ends_len(control->n_local)};
    sum += control->pieces[0].len;
    return server == control->server || sum <= control->block.bundle_bytes ? sum
                                                                           : 0;
}

/* Which pairs have one: a mark in the row. And is that all? */
static void mark_bundles(fs_control_t *control)
{
    for (uint32_t v = 0; v < fs_topo_n_servers(control->topo); ++v) {
        uint64_t *cell = &control->head->row[v];

        if (*cell == 0) {
            continue;
        }
        if (*cell <= control->limit && bundle_to(control, v) > 0) {
            *cell |= FS_CONTROL_BUNDLED;
        } else {
            control->head->vote.flags |= FS_VOTE_REST;
        }
    }
}

/* ---- between servers ---- */

/* The message for a server, if this lane has one; its end. */
static char *send_to(fs_control_t *control, uint32_t server, char *out)
{
    fs_control_head_t *head    = (fs_control_head_t *)out;
    bool               first   = head_lane(control, server) == control->lane;
    bool               bundled = control->summary &&
                   control->head->row[server] & FS_CONTROL_BUNDLED;
    uint64_t len   = bundled ? bundle_to(control, server) : 0;
    range_t  range = own_range(control, server, len);
    size_t   front = !first             ? 0
                     : control->summary ? fs_control_head_len(control->topo)
                                        : sizeof(fs_vote_t);

    if (!first && range.len == 0) {
        return out;
    }
    memcpy(out, control->head, front);
    if (first && control->summary) {
        head->bundle_len = len;
    }
    fs_bundle_copy(control->pieces, 1 + control->n_local, range.from, range.len,
                   out + front);
    post_send(control, peer_of(control, server), first ? HEAD : RANGE, out,
              front + range.len);
    control->wire_bytes += front + range.len;
    return out + fs_u64_div_up(front + range.len, sizeof(uint64_t)) *
                     sizeof(uint64_t);
}

static void send_all(fs_control_t *control)
{
    uint32_t n   = fs_topo_n_servers(control->topo);
    char    *out = control->out;

    for (uint32_t k = 1; k < n; ++k) {
        uint32_t v = (control->server + k) % n;

        if (control->lane < pair_lanes(control, v)) {
            out = send_to(control, v, out);
        }
    }
}

/* Before anyone can have sent it, mostly. */
static void post_heads(fs_control_t *control)
{
    fs_control_block_t *block = &control->block;
    uint32_t            n     = fs_topo_n_servers(control->topo);
    size_t              head  = fs_control_head_len(control->topo);

    control->n_todo = 0;
    for (uint32_t k = 1; k < n; ++k) {
        uint32_t u     = (control->server + k) % n;
        bool     first = head_lane(control, u) == control->lane;

        if (!first &&
            (!control->summary || control->lane >= pair_lanes(control, u))) {
            continue;
        }
        control->todo[control->n_todo++] = u;
        control->heads[u]                = NULL;
        if (first && control->summary) {
            control->heads[u] = post_recv(control, peer_of(control, u), HEAD,
                                          fs_control_block_inbox(block, u),
                                          head, head + block->bundle_bytes);
        } else if (first) {
            control->heads[u] =
                post_recv(control, peer_of(control, u), HEAD,
                          &fs_control_block_votes(block, control->round)[u],
                          sizeof(fs_vote_t), sizeof(fs_vote_t));
        }
    }
}

/* A head has come. */
static void take_head(fs_control_t *control, uint32_t server)
{
    const fs_control_head_t *head =
        (const fs_control_head_t *)fs_control_block_inbox(&control->block,
                                                          server);
    uint64_t len;

    if (control->summary) {
        len = fs_control_head_len(control->topo);
        if (head->bundle_len > control->block.bundle_bytes ||
            control->heads[server]->len_bytes !=
                len + own_range(control, server, head->bundle_len).len) {
            control->status = FS_ERR_TRUNCATE;
            return;
        }
        keep_numbers(control, server, head);
    }
    fs_control_block_write_round(&control->block.here[server], control->round);
}

/* Another lane has the head of a server: receive what of its bundle is ours. */
static void expect_range(fs_control_t *control, uint32_t server)
{
    char *inbox = fs_control_block_inbox(&control->block, server);
    const fs_control_head_t *head = (const fs_control_head_t *)inbox;
    range_t range = own_range(control, server, head->bundle_len);

    if (range.len > 0) {
        (void)post_recv(control, peer_of(control, server), RANGE,
                        inbox + fs_control_head_len(control->topo) + range.from,
                        range.len, range.len);
    }
}

static bool is_head_here(const fs_control_t *control, uint32_t server)
{
    return control->heads[server] != NULL
               ? control->heads[server]->ended
               : fs_control_block_is_round(&control->block.here[server],
                                           control->round);
}

/* Is the lane through with all servers? */
static bool take_all(fs_control_t *control)
{
    uint32_t n_left = 0;

    for (uint32_t k = 0; k < control->n_todo && control->status == FS_OK; ++k) {
        uint32_t u = control->todo[k];

        if (!is_head_here(control, u)) {
            control->todo[n_left++] = u;
        } else if (control->heads[u] != NULL) {
            take_head(control, u);
        } else {
            expect_range(control, u);
        }
    }
    control->n_todo = n_left;
    return n_left == 0 && control->n_receiving == 0;
}

/* ---- inside the server: by messages ---- */

static void post_up(fs_control_t *control)
{
    uint64_t len = up_len(control) * sizeof(*control->up);
    uint64_t down =
        fs_control_block_result_len(&control->block, control->summary) *
        sizeof(uint64_t);

    if (!is_leader(control)) {
        fs_control_block_pack(&control->block, control->local, control->summary,
                              control->up);
        (void)post_recv(control, control->leader, FROM_LEADER,
                        control->block.vote, down, down);
        post_send(control, control->leader, TO_LEADER, control->up, len);
        return;
    }
    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (i != control->local) {
            (void)post_recv(
                control, fs_topo_rank(control->topo, control->server, i),
                TO_LEADER, control->up + i * up_len(control), len, len);
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
    uint64_t len =
        fs_control_block_result_len(&control->block, control->summary) *
        sizeof(uint64_t);

    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (i != control->local) {
            post_send(control, fs_topo_rank(control->topo, control->server, i),
                      FROM_LEADER, control->block.vote, len);
        }
    }
}

/* ---- inside the server: in shared memory ---- */

static bool all_said(fs_control_t *control)
{
    while (control->n_said < control->n_local &&
           fs_control_block_is_round(
               fs_control_block_said(&control->block, control->n_said),
               control->round)) {
        ++control->n_said;
    }
    return control->n_said == control->n_local;
}

static bool lanes_are_through(const fs_control_t *control)
{
    for (uint32_t k = 0; k < control->n_lanes; ++k) {
        if (!fs_control_block_is_round(
                fs_control_block_lane(&control->block, k), control->round)) {
            return false;
        }
    }
    return true;
}

/* An error of a lane is one of all local ranks. */
static void share_failure(fs_control_t *control)
{
    if (control->messages) {
        return;
    }
    if (control->status != FS_OK) {
        fs_control_block_write_round(control->block.failed, 1);
    } else if (fs_control_block_is_round(control->block.failed, 1)) {
        control->status = FS_ERR_TRANSPORT;
    }
}

/* ---- steps ---- */

static bool is_lane(const fs_control_t *control)
{
    return control->lane != FS_NO_LANE;
}

static void add_votes(fs_control_t *control)
{
    const fs_vote_t *votes =
        fs_control_block_votes(&control->block, control->round);

    control->vote = (fs_vote_t){0};
    for (uint32_t u = 0; u < fs_topo_n_servers(control->topo); ++u) {
        combine(&control->vote, &votes[u]);
    }
}

static void enter_collect(fs_control_t *control)
{
    control->state  = COLLECT;
    control->n_said = 0;
    if (is_lane(control)) {
        post_heads(control);
    }
    if (control->messages) {
        post_up(control);
    } else {
        fs_control_block_write_round(
            fs_control_block_said(&control->block, control->local),
            control->round);
    }
}

static void enter_exchange(fs_control_t *control)
{
    control->state = EXCHANGE;
    if (control->messages) {
        unpack_all(control);
    }
    sum_up(control);
    if (control->summary) {
        mark_bundles(control);
    }
    if (control->lane == 0) {
        keep_numbers(control, control->server, control->head);
    }
    send_all(control);
}

static void enter_wait(fs_control_t *control)
{
    control->state = WAIT;
    if (!control->messages && is_lane(control)) {
        fs_control_block_write_round(
            fs_control_block_lane(&control->block, control->lane),
            control->round);
    } else if (control->messages && is_leader(control)) {
        add_votes(control);
        *control->block.vote = control->vote;
        post_down(control);
    }
}

static void enter_idle(fs_control_t *control)
{
    control->state = IDLE;
    if (control->messages) {
        control->vote = *control->block.vote;
    } else {
        add_votes(control);
    }
}

/* COLLECT is over when a lane knows what its server has to say; with messages
 * those of its ranks are here, heads may be, too. */
static bool has_collected(fs_control_t *control)
{
    if (!control->messages) {
        return all_said(control);
    }
    for (uint32_t k = 0; k < control->n_posted; ++k) {
        if (!control->pending[k].ended &&
            fs_topo_server(control->topo, control->pending[k].peer) ==
                control->server) {
            return false;
        }
    }
    return true;
}

/* Is there another step to be taken at once? */
static bool take_step(fs_control_t *control)
{
    switch (control->state) {
    case COLLECT:
        if (!is_lane(control)) {
            enter_wait(control);
            return true;
        }
        if (has_collected(control)) {
            enter_exchange(control);
            return true;
        }
        break;
    case EXCHANGE:
        if (take_all(control)) {
            enter_wait(control);
            return true;
        }
        break;
    case WAIT:
        if (control->n_pending == 0 &&
            (control->messages || lanes_are_through(control))) {
            enter_idle(control);
        }
        break;
    case IDLE:
        break;
    }
    return false;
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

/* ---- a summary ---- */

static bool copy_part(const fs_control_t *control, const fs_call_t *call,
                      uint32_t server, char *part)
{
    const uint64_t *send_bytes = call->counts->send_bytes;
    const uint32_t *ranks      = fs_topo_ranks(control->topo, server);
    uint32_t        n          = fs_topo_n_local(control->topo, server);
    char           *at         = fs_part_begin(part, send_bytes, ranks, n);

    for (uint32_t k = 0; k < n; ++k) {
        uint64_t len = send_bytes[ranks[k]];

        if (len > 0 && call->send_block != NULL && !call->send_late) {
            memcpy(at, call->send_block[ranks[k]], len);
        } else if (len > 0 &&
                   call->pack(call->ctx, ranks[k], 0, len, at) != FS_OK) {
            return false;
        }
        at += len;
    }
    return true;
}

/* No parts of bytes that the CPU cannot read. */
static bool can_offer(const fs_call_t *call)
{
    return call->device.consent == FS_CONSENT_YES &&
           !fs_mem_is_device(call->device.send_mem);
}

/* The part for a server, at pool bytes used; what is used then. */
static uint64_t offer_part(fs_control_t *control, const fs_call_t *call,
                           uint32_t server, uint64_t limit, uint64_t used)
{
    fs_control_block_t *block = &control->block;
    fs_control_part_t  *part =
        &fs_control_block_parts(block, control->local)[server];
    char *pool = fs_control_block_pool(block, control->local);

    *part = (fs_control_part_t){(uint32_t)used, FS_PART_NONE};
    if (call->counts->row[server] <= limit && can_offer(call)) {
        part->len = fs_part_len(call->counts->send_bytes,
                                fs_topo_ranks(control->topo, server),
                                fs_topo_n_local(control->topo, server));
    }
    if (part->len != FS_PART_NONE && part->len > 0 &&
        (used + part->len > block->pool_bytes ||
         !copy_part(control, call, server, pool + used))) {
        part->len = FS_PART_NONE;
    }
    return part->len == FS_PART_NONE ? used : used + part->len;
}

uint64_t fs_control_offer(fs_control_t *control, const fs_call_t *call,
                          uint64_t limit)
{
    fs_control_block_t *block  = &control->block;
    const fs_counts_t  *counts = call->counts;
    size_t   p = fs_topo_n_ranks(control->topo), at = control->local * p;
    uint32_t n    = fs_topo_n_servers(control->topo);
    uint64_t used = 0, digest = 0;

    fs_control_block_turn(block);
    control->limit = control->all_share && block->bundle_bytes > 0 ? limit : 0;
    memcpy(block->sends + at, counts->send_bytes, p * sizeof(uint64_t));
    memcpy(block->receives + at, counts->recv_bytes, p * sizeof(uint64_t));
    memcpy(fs_control_block_row(block, control->local) + FS_VOTE_LEN,
           counts->row, n * sizeof(uint64_t));
    for (uint32_t k = 1; k <= n && control->limit > 0; ++k) {
        uint32_t v = (control->server + k) % n;

        used = offer_part(control, call, v, control->limit, used);
        digest += fs_digest_pair(
            control->rank, (uint32_t)p + v,
            fs_control_block_parts(block, control->local)[v].len ==
                FS_PART_NONE);
    }
    return digest;
}

fs_status_t fs_control_start_summary(fs_control_t    *control,
                                     const fs_vote_t *mine)
{
    control->summary = true;
    return start(control, mine);
}

fs_status_t fs_control_start_agree(fs_control_t *control, const fs_vote_t *mine)
{
    control->summary = false;
    return start(control, mine);
}

fs_status_t fs_control_progress(fs_control_t *control)
{
    while (control->status == FS_OK && take_step(control)) {
    }
    if (control->status != FS_OK || control->state != IDLE) {
        share_failure(control);
    }
    return control->status != FS_OK ? control->status
           : control->state == IDLE ? FS_OK
                                    : FS_INPROGRESS;
}

/* ---- results ---- */

const fs_vote_t *fs_control_vote(const fs_control_t *control)
{
    return &control->vote;
}

uint64_t *fs_control_matrix(const fs_control_t *control)
{
    return control->block.matrix;
}

uint64_t *fs_control_rest(const fs_control_t *control)
{
    return control->messages ? control->block.matrix : control->block.rest;
}

const uint64_t *fs_control_local_send(const fs_control_t *control)
{
    return control->block.sends;
}

const uint64_t *fs_control_local_recv(const fs_control_t *control)
{
    return control->block.receives;
}

bool fs_control_block_of(const fs_control_t *control, uint32_t src,
                         fs_bytes_t *block_p)
{
    uint32_t    server = fs_topo_server(control->topo, src);
    uint32_t    local  = fs_topo_local(control->topo, src);
    const char *inbox;
    fs_bytes_t  part, bundle;

    if (server == control->server) {
        part = part_of(control, local, server);
    } else {
        inbox  = fs_control_block_inbox(&control->block, server);
        bundle = (fs_bytes_t){inbox + fs_control_head_len(control->topo),
                              ((const fs_control_head_t *)inbox)->bundle_len};
        if (!fs_bundle_find(bundle, fs_topo_n_local(control->topo, server),
                            local, &part)) {
            return false;
        }
    }
    return fs_part_find(part, control->n_local, control->local, block_p);
}

uint64_t fs_control_wire_bytes(const fs_control_t *control)
{
    return control->wire_bytes;
}

/* All local ranks see who has not said anything yet. After that they wait for the
 * lanes, and only a lane knows for whom. */
static bool awaits_local(const fs_control_t *control, uint32_t rank)
{
    bool     same = fs_topo_server(control->topo, rank) == control->server;
    uint32_t lane = fs_topo_lane(control->topo, rank);

    for (uint32_t i = 0; i < control->n_local; ++i) {
        if (!fs_control_block_is_round(
                fs_control_block_said(&control->block, i), control->round)) {
            return same &&
                   !fs_control_block_is_round(
                       fs_control_block_said(
                           &control->block, fs_topo_local(control->topo, rank)),
                       control->round);
        }
    }
    return same && rank != control->rank && lane < control->n_lanes &&
           !fs_control_block_is_round(
               fs_control_block_lane(&control->block, lane), control->round);
}

bool fs_control_awaits(const fs_control_t *control, uint32_t rank)
{
    if (control->state == IDLE) {
        return false;
    }
    for (uint32_t k = 0; k < control->n_posted &&
                         (control->messages || control->state != COLLECT);
         ++k) {
        if (!control->pending[k].ended && control->pending[k].peer == rank) {
            return true;
        }
    }
    return !control->messages && awaits_local(control, rank);
}
