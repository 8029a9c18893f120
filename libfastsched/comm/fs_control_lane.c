/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each pair of servers has a lane for its heads: their proxies send each other one
 * message with the server's vote, its row and the bundle, or as much of the bundle as
 * is this lane's: a long one is cut among the lanes of the pair. The others know what
 * they have to receive when that message is here; if the bundle before was cut they
 * receive at once, whatever comes.
 */
#include "comm/fs_control_state.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

/* ---- lanes of a pair of servers ---- */

/* Does the lane exchange messages with that server? */
static bool exchanges(const fs_control_t *control, uint32_t server)
{
    return server != control->server &&
           control->servers[server].place < control->pairs[server].n_lanes;
}

/* Bytes from to from + len of the bundle of a pair. */
typedef struct range {
    uint64_t from;
    uint64_t len; /* 0: none */
} range_t;

fs_lane_share_t fs_lane_share(const fs_control_t *control, uint32_t server,
                              uint64_t bundle_len)
{
    const fs_lane_pair_t *pair = &control->pairs[server];

    uint64_t len   = bundle_len / (control->coarse ? FS_LANE_COARSE : 1);
    uint32_t lanes = pair->n_lanes;
    uint32_t k = (control->servers[server].place + lanes - pair->head) % lanes;
    uint64_t n = len < pair->cut_bytes
                     ? 1
                     : fs_u64_min(len / FS_LANE_RANGE_BYTES, lanes);

    return exchanges(control, server) && k < n
               ? (fs_lane_share_t){k, (uint32_t)n}
               : (fs_lane_share_t){0, 0};
}

/* What of a bundle is this lane's. */
static range_t own_range(const fs_control_t *control, uint32_t server,
                         uint64_t bundle_len)
{
    fs_lane_share_t share = fs_lane_share(control, server, bundle_len);
    uint64_t        each, from;

    if (share.n == 0) {
        return (range_t){0, 0};
    }
    each = fs_u64_div_up(bundle_len, share.n);
    from = share.k * each;
    return from < bundle_len
               ? (range_t){from, fs_u64_min(each, bundle_len - from)}
               : (range_t){0, 0};
}

/* To a server, from here: neither has more memory for it. */
static uint64_t longest_bundle(const fs_control_t *control, uint32_t server)
{
    return fs_u64_min(
        control->block.bundle_bytes,
        fs_control_bundle_bytes(control->topo, server, control->bundle_memory));
}

static uint64_t to_number(uint64_t bytes)
{
    return fs_u64_div_up(bytes, sizeof(uint64_t)) * sizeof(uint64_t);
}

/* Room for what a lane has of a bundle if it is cut; the next begins at a number. */
static uint64_t cut_room(const fs_control_t *control, uint32_t server)
{
    uint64_t lanes = control->pairs[server].n_lanes;
    uint64_t most  = longest_bundle(control, server);
    uint64_t range = 2 * FS_LANE_COARSE * FS_LANE_RANGE_BYTES;

    return to_number(
        fs_u64_min(most, fs_u64_max(fs_u64_div_up(most, lanes), range)));
}

/* Room for a message to another server; the next begins at a number. */
static uint64_t message_room(const fs_control_t *control, uint32_t server)
{
    uint64_t whole = fs_u64_min(longest_bundle(control, server),
                                FS_LANE_COARSE * FS_LANE_CUT_BYTES);
    uint64_t cut   = cut_room(control, server);

    if (!fs_lane_has_head(control, server)) {
        return cut;
    }
    return fs_control_head_len(control->topo) +
           to_number(fs_bundle_ends_len(control->n_local)) +
           (control->all_share ? fs_u64_max(to_number(whole), cut) : 0);
}

/* Where not all servers share memory only lanes 0 exchange messages, and there is one for
 * each pair. */
static void find_peer(fs_control_t *control, uint32_t server)
{
    const fs_topo_t *topo  = control->topo;
    uint32_t         place = 0, lane = 0;

    if (!control->all_share) {
        control->pairs[server] = (fs_lane_pair_t){1, 0, FS_LANE_CUT_BYTES};
    } else {
        place = fs_topo_place(topo, control->server, control->lane, server);
        lane  = (place + fs_topo_first_lane(topo, server, control->server)) %
               fs_topo_n_lanes(topo, server);
    }
    control->servers[server].place = place;
    control->servers[server].peer =
        fs_topo_rank(topo, server, fs_topo_proxy(topo, server, lane));
}

/* Who has no head receives before it knows what comes. */
static uint64_t early_room(const fs_control_t *control, uint32_t server)
{
    return fs_lane_has_head(control, server) ? 0 : cut_room(control, server);
}

static fs_status_t alloc_messages(fs_control_t *control)
{
    uint32_t n    = fs_topo_n_servers(control->topo);
    size_t   room = 0;

    for (uint32_t u = 0; u < n; ++u) {
        if (exchanges(control, u)) {
            room += message_room(control, u) + early_room(control, u);
        }
    }
    control->room = calloc(room + 1, 1);
    if (control->room == NULL) {
        return FS_ERR_NOMEM;
    }
    control->room_bytes = room;
    room                = 0;
    for (uint32_t u = 0; u < n; ++u) {
        if (exchanges(control, u)) {
            control->servers[u].out = control->room + room;
            room += message_room(control, u);
            control->servers[u].early = control->room + room;
            room += early_room(control, u);
        }
    }
    return FS_OK;
}

fs_status_t fs_lane_alloc(fs_control_t *control)
{
    uint32_t n = fs_topo_n_servers(control->topo);

    control->head = calloc(1, fs_control_head_len(control->topo));
    control->pieces =
        calloc(1 + (size_t)control->n_local, sizeof(*control->pieces));
    control->ends    = calloc(control->n_local, sizeof(*control->ends));
    control->todo    = calloc(n, sizeof(*control->todo));
    control->servers = calloc(n, sizeof(*control->servers));
    if (control->head == NULL || control->pieces == NULL ||
        control->ends == NULL || control->todo == NULL ||
        control->servers == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t u = 0; u < n; ++u) {
        find_peer(control, u);
    }
    return alloc_messages(control);
}

/* ---- numbers ---- */

/* 0 is none. */
static uint64_t least(uint64_t a, uint64_t b)
{
    return fs_u64_min(a - 1, b - 1) + 1; /* 0 - 1: most */
}

static void combine(fs_vote_t *into, const fs_vote_t *vote)
{
    into->flags |= vote->flags;
    into->max_inter  = fs_u64_max(into->max_inter, vote->max_inter);
    into->max_ns     = fs_u64_max(into->max_ns, vote->max_ns);
    into->min_ns     = least(into->min_ns, vote->min_ns);
    into->whole_ns   = least(into->whole_ns, vote->whole_ns);
    into->posted     = least(into->posted, vote->posted);
    into->max_waited = fs_u64_max(into->max_waited, vote->max_waited);
    into->last       = least(into->last, vote->last);
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

/* Do rows travel in this round? */
static bool has_rows(const fs_control_t *control)
{
    return control->summary && !control->all_know;
}

/* The numbers of a server, for all ranks of this one. */
static void keep_numbers(fs_control_t *control, uint32_t server,
                         const fs_control_head_t *head)
{
    fs_control_block_t *block = &control->block;
    size_t              n = fs_topo_n_servers(control->topo), at = server * n;

    fs_control_block_votes(block, control->round)[server] = head->vote;
    for (uint32_t v = 0; v < n && has_rows(control); ++v) {
        uint64_t cell         = head->row[v];
        block->matrix[at + v] = cell & ~FS_CONTROL_BUNDLED;
        block->rest[at + v]   = cell & FS_CONTROL_BUNDLED ? 0 : cell;
    }
}

uint64_t fs_control_uniform_cell(const fs_control_t *control, uint32_t u,
                                 uint32_t v)
{
    uint64_t n_blocks = (uint64_t)fs_topo_n_local(control->topo, u) *
                        fs_topo_n_local(control->topo, v);
    uint64_t bytes;

    return fs_u64_mul(n_blocks, control->block_bytes, &bytes)
               ? add_bytes(bytes, 0)
               : FS_CONTROL_BUNDLED - 1;
}

/* The matrix of a round without rows; it may be in this set. */
static void keep_matrix(fs_control_t *control)
{
    uint64_t *kept  = &control->kept_bytes[control->block.set];
    uint64_t *cell  = control->block.matrix;
    uint32_t  n     = fs_topo_n_servers(control->topo);
    uint64_t  bytes = control->all_know ? control->block_bytes : 0;
    bool      same  = *kept == bytes;

    *kept = bytes;
    for (uint32_t u = 0; u < n && !same && *kept > 0; ++u) {
        for (uint32_t v = 0; v < n; ++v) {
            *cell++ = fs_control_uniform_cell(control, u, v);
        }
    }
}

void fs_lane_add_votes(fs_control_t *control)
{
    const fs_vote_t *votes =
        fs_control_block_votes(&control->block, control->round);

    control->vote = (fs_vote_t){0};
    for (uint32_t u = 0; u < fs_topo_n_servers(control->topo); ++u) {
        combine(&control->vote, &votes[u]);
    }
    if (control->summary) {
        control->has_bundles = control->vote.flags & FS_VOTE_BUNDLED;
    }
}

/* ---- bundles ---- */

/* The length of the bundle for a server, whose parts are pieces[1] and so on then;
 * 0: there is none. For its own there is no message to be too long. */
static uint64_t bundle_to(fs_control_t *control, uint32_t server)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < control->n_local; ++i) {
        fs_bytes_t part = fs_control_part_of(control, i, server);

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
    return server == control->server || sum <= longest_bundle(control, server)
               ? sum
               : 0;
}

/* May the bundle for a server go? In instalments it has the length that both ends
 * expect; if not ranks are in different calls. */
static bool has_bundle(fs_control_t *control, uint32_t server)
{
    uint64_t len = control->head->row[server] <= control->limit
                       ? bundle_to(control, server)
                       : 0;

    return len > 0 &&
           (control->servers[server].goes.n == 0 ||
            len == fs_instalments_len(control, control->server, server));
}

/* Which pairs have one: a mark in the row. And is that all? */
static void mark_bundles(fs_control_t *control)
{
    for (uint32_t v = 0; v < fs_topo_n_servers(control->topo); ++v) {
        uint64_t *cell = &control->head->row[v];

        if (*cell == 0) {
            continue;
        }
        if (has_bundle(control, v)) {
            *cell |= FS_CONTROL_BUNDLED;
            control->head->vote.flags |= FS_VOTE_BUNDLED;
        } else {
            control->head->vote.flags |= FS_VOTE_REST;
        }
    }
}

/* ---- messages ---- */

/* Had this lane a range of the last bundle, which was so long, but no head? */
static bool had_range(const fs_control_t *control, uint32_t server,
                      uint64_t bundle_len)
{
    return control->summary && !fs_lane_has_head(control, server) &&
           own_range(control, server, bundle_len).len > 0;
}

/* What of a bundle goes with the head, or as the range of another lane: in instalments,
 * which go by themselves, its ends with the head. */
static range_t message_range(const fs_control_t *control, uint32_t server,
                             const fs_instalments_t *due, uint64_t bundle_len)
{
    return due->n == 0 ? own_range(control, server, bundle_len)
           : fs_lane_has_head(control, server) && bundle_len > 0
               ? (range_t){0, due->ends_len}
               : (range_t){0, 0};
}

/* The message for a server, if this lane has one. */
static void send_to(fs_control_t *control, uint32_t server)
{
    fs_lane_server_t  *s       = &control->servers[server];
    fs_control_head_t *head    = (fs_control_head_t *)s->out;
    bool               first   = fs_lane_has_head(control, server);
    bool               bundled = control->summary &&
                   control->head->row[server] & FS_CONTROL_BUNDLED;
    bool     again = s->goes.n == 0 && had_range(control, server, s->sent);
    uint64_t len   = bundled ? bundle_to(control, server) : 0;
    range_t  range = message_range(control, server, &s->goes, len);
    size_t   front = !first              ? 0
                     : has_rows(control) ? fs_control_head_len(control->topo)
                                         : sizeof(fs_vote_t);

    if (control->summary) {
        s->sent = len;
    }
    if (!first && !again && range.len == 0) {
        return;
    }
    memcpy(s->out, control->head, front);
    if (first && has_rows(control)) {
        head->bundle_len = len == 0 && s->goes.n > 0 ? FS_CONTROL_DROPPED : len;
    }
    fs_bundle_copy(control->pieces, 1 + control->n_local, range.from, range.len,
                   s->out + front);
    fs_control_send(control, s->peer,
                    first ? FS_CONTROL_HEAD : FS_CONTROL_RANGE, s->out,
                    front + range.len);
}

static void send_each(fs_control_t *control)
{
    uint32_t n = fs_topo_n_servers(control->topo);

    for (uint32_t k = 1; k < n; ++k) {
        uint32_t v = (control->server + k) % n;

        if (exchanges(control, v)) {
            send_to(control, v);
        }
    }
}

/* Where instalments are expected they have the rest of the inbox. */
static fs_pending_t *receive_head(fs_control_t *control, uint32_t server)
{
    fs_control_block_t     *block = &control->block;
    const fs_lane_server_t *s     = &control->servers[server];
    size_t behind = s->comes.n > 0 ? s->comes.ends_len : block->bundle_bytes;

    return control->summary
               ? fs_control_recv(control, s->peer, FS_CONTROL_HEAD,
                                 fs_control_block_inbox(block, server),
                                 sizeof(fs_vote_t),
                                 fs_control_head_len(control->topo) + behind)
               : fs_control_recv(
                     control, s->peer, FS_CONTROL_HEAD,
                     &fs_control_block_votes(block, control->round)[server],
                     sizeof(fs_vote_t), sizeof(fs_vote_t));
}

/* NULL: it is not received before the head is here, or there is none. */
static fs_pending_t *receive_range(fs_control_t *control, uint32_t server)
{
    const fs_lane_server_t *s = &control->servers[server];

    return s->comes.n == 0 && had_range(control, server, s->came)
               ? fs_control_recv(control, s->peer, FS_CONTROL_RANGE, s->early,
                                 0, early_room(control, server))
               : NULL;
}

/* Before anyone can have sent it, mostly. */
void fs_lane_begin(fs_control_t *control)
{
    uint32_t n = fs_topo_n_servers(control->topo);

    control->n_todo = 0;
    fs_instalments_reset(control);
    for (uint32_t k = 1; k < n; ++k) {
        uint32_t u     = (control->server + k) % n;
        bool     first = fs_lane_has_head(control, u);

        if (!first && (!control->summary || !exchanges(control, u))) {
            continue;
        }
        control->todo[control->n_todo++] = u;
        fs_instalments_find(control, u);
        control->servers[u].incoming = first ? receive_head(control, u)
                                             : receive_range(control, u);
        fs_instalments_receive(control, u);
    }
}

/* Is a head with a row as long as it says, and does it say so of instalments if they
 * are expected? */
static bool is_whole(const fs_control_t *control, uint32_t server,
                     const fs_control_head_t *head, uint64_t len)
{
    const fs_instalments_t *due     = &control->servers[server].comes;
    bool                    dropped = head->bundle_len == FS_CONTROL_DROPPED;
    range_t                 range =
        message_range(control, server, due, dropped ? 0 : head->bundle_len);

    if (len != fs_control_head_len(control->topo) + range.len) {
        return false;
    }
    return due->n == 0 ? head->bundle_len <= control->block.bundle_bytes
                       : dropped || head->bundle_len ==
                                        fs_instalments_len(control, server,
                                                           control->server);
}

/* A head that is whole, but has another length than this end expects, is one of ranks in
 * different calls. Without rows the votes say so. */
static fs_status_t check_head(const fs_control_t *control, uint32_t server,
                              const fs_control_head_t *head, uint64_t len)
{
    if (len == sizeof(fs_vote_t)) {
        return control->servers[server].comes.n > 0 ? FS_ERR_MISMATCH : FS_OK;
    }
    return len < fs_control_head_len(control->topo) ? FS_ERR_TRUNCATE
           : is_whole(control, server, head, len)   ? FS_OK
                                                    : FS_ERR_MISMATCH;
}

/* A head has come. If the ranks are not in the same call, its server may have a row
 * where this one has none, or the reverse: then the votes say so. */
static void take_head(fs_control_t *control, uint32_t server)
{
    fs_control_head_t *head =
        (fs_control_head_t *)fs_control_block_inbox(&control->block, server);
    uint64_t len = control->servers[server].incoming->len_bytes;

    if (control->summary) {
        control->status = check_head(control, server, head, len);
        if (control->status != FS_OK) {
            return;
        }
        if (len == sizeof(fs_vote_t) ||
            head->bundle_len == FS_CONTROL_DROPPED) {
            head->bundle_len = 0;
        }
        control->servers[server].came = head->bundle_len;
        keep_numbers(control, server, head);
    }
    fs_control_block_write_round(&control->block.here[server], control->round);
}

/* Another lane has the head of a server, and it is here: what of its bundle is ours
 * has come, or is received now. False: not yet. */
static bool take_range(fs_control_t *control, uint32_t server)
{
    fs_lane_server_t *s     = &control->servers[server];
    char             *inbox = fs_control_block_inbox(&control->block, server);
    uint64_t          len   = ((fs_control_head_t *)inbox)->bundle_len;
    range_t           range = message_range(control, server, &s->comes, len);
    char *at = inbox + fs_control_head_len(control->topo) + range.from;

    if (s->incoming == NULL && range.len > 0) {
        (void)fs_control_recv(control, s->peer, FS_CONTROL_RANGE, at, range.len,
                              range.len);
    } else if (s->incoming != NULL && !s->incoming->ended) {
        return false;
    } else if (s->incoming != NULL && s->incoming->len_bytes != range.len) {
        control->status = FS_ERR_MISMATCH;
    } else if (s->incoming != NULL) {
        memcpy(at, s->early, range.len);
    }
    s->came = len;
    return true;
}

static bool is_head_here(const fs_control_t *control, uint32_t server)
{
    return fs_lane_has_head(control, server)
               ? control->servers[server].incoming->ended
               : fs_control_block_is_round(&control->block.here[server],
                                           control->round);
}

/* Is the lane through with all servers? */
bool fs_lane_progress(fs_control_t *control)
{
    uint32_t n_left = 0;

    for (uint32_t k = 0; k < control->n_todo && control->status == FS_OK; ++k) {
        uint32_t u = control->todo[k];

        if (!is_head_here(control, u)) {
            control->todo[n_left++] = u;
        } else if (fs_lane_has_head(control, u)) {
            take_head(control, u);
        } else if (!take_range(control, u)) {
            control->todo[n_left++] = u;
        }
    }
    control->n_todo = n_left;
    return control->status == FS_OK && n_left == 0 && control->n_receiving == 0;
}

/* Is another lane in the call that this one is in? */
static bool is_alike(const fs_control_t *control, uint32_t lane)
{
    const fs_topo_t *topo  = control->topo;
    uint32_t         local = fs_topo_proxy(topo, control->server, lane);
    size_t           at    = (size_t)local * fs_topo_n_ranks(topo);
    bool             equal = vote_of(control, local)->flags & FS_VOTE_EQUAL;

    return equal ? control->block.sends[at] == control->block_bytes
                 : control->block_bytes == 0;
}

/* If not, others may wait for instalments that it will never send. */
static void check_lanes(fs_control_t *control)
{
    bool any = false;

    for (uint32_t u = 0; u < fs_topo_n_servers(control->topo); ++u) {
        any = any || control->servers[u].goes.n > 0;
    }
    for (uint32_t k = 0; k < control->n_lanes && any; ++k) {
        if (!is_alike(control, k)) {
            control->status = FS_ERR_MISMATCH;
        }
    }
}

void fs_lane_send(fs_control_t *control)
{
    sum_up(control);
    if (control->summary) {
        mark_bundles(control);
    }
    if (control->lane == 0) {
        keep_numbers(control, control->server, control->head);
    }
    if (control->lane == 0 && control->summary) {
        keep_matrix(control);
    }
    if (control->summary) {
        check_lanes(control);
        fs_instalments_send(control);
    }
    send_each(control);
}
