/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of control messages: every rank hears the same, and it is true, whether the
 * ranks of a server share memory or not; in some tests some servers do. What comes in
 * bundles is what was sent. */
#include "base/fs_digest.h"
#include "comm/fs_control_block.h"
#include "fs_test_util.h"
#include "fs_transport_loop.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TURNS = 5000000, MAX_LOCAL = 4 };

typedef struct actor {
    fs_net_t       *net;
    fs_transport_t *transport;
    fs_control_t   *control;
    fs_vote_t       vote; /* what it says */
} actor_t;

typedef struct round_table {
    fs_test_case_t tc;
    fs_loop_t     *loop;
    actor_t       *actors;
    void         **shared; /* [n_servers], NULL: messages */
    bool           all_share;
    uint64_t       memory;      /* for bundles */
    uint64_t       limit;       /* of bundles; */
    bool           coarse;      /* they are */
    uint64_t       block_bytes; /* of every block; 0: they differ */
    uint32_t       summary; /* how many there were; the bytes depend on it */
} table_t;

/* Either all servers share memory, or one in three does not. */
static void share(table_t *table)
{
    uint32_t n = fs_topo_n_servers(table->tc.topo);

    table->shared = fs_test_alloc(n, sizeof(*table->shared));
    for (uint32_t u = 0; u < n; ++u) {
        size_t bytes =
            fs_control_shared_bytes(table->tc.topo, u, table->memory);

        table->shared[u] = bytes > 0 && (table->all_share ||
                                         fs_rng_below(&table->tc.rng, 3) > 0)
                               ? fs_test_alloc(bytes, 1)
                               : NULL;
    }
}

static void table_start(table_t *table, uint64_t seed)
{
    uint32_t n = table->tc.n_ranks;

    table->loop   = fs_loop_create(n, seed);
    table->actors = fs_test_alloc(n, sizeof(*table->actors));
    share(table);
    for (uint32_t r = 0; r < n; ++r) {
        actor_t *a = &table->actors[r];

        a->net       = fs_loop_net(table->loop, r);
        a->transport = fs_loop_transport(table->loop, r, 0);
        ck_assert_int_eq(
            fs_control_create(
                &(fs_control_setup_t){
                    .topo      = table->tc.topo,
                    .transport = a->transport,
                    .shared = table->shared[fs_topo_server(table->tc.topo, r)],
                    .all_share     = table->all_share,
                    .bundle_memory = table->memory},
                r, &a->control),
            FS_OK);
    }
}

static void table_init(table_t *table, uint64_t seed)
{
    *table = (table_t){0};
    fs_test_case_init(&table->tc, seed);
    table->all_share = fs_rng_below(&table->tc.rng, 3) > 0;
    table->memory    = fs_rng_below(&table->tc.rng, 3) > 0
                           ? fs_rng_below(&table->tc.rng, 1 << 20)
                           : 0;
    table_start(table, seed);
}

static void table_fini(table_t *table)
{
    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        actor_t *a = &table->actors[r];

        a->transport->ops->destroy(a->transport);
        fs_control_destroy(a->control);
    }
    for (uint32_t u = 0; u < fs_topo_n_servers(table->tc.topo); ++u) {
        free(table->shared[u]);
    }
    free(table->shared);
    free(table->actors);
    fs_loop_destroy(table->loop);
    fs_test_case_fini(&table->tc);
}

/* Turns in random order until all ranks have their results. */
static void finish(table_t *table)
{
    uint32_t n = table->tc.n_ranks, n_busy = n;
    bool    *busy = fs_test_alloc(n, sizeof(*busy));

    memset(busy, true, n);
    for (uint32_t k = 0; n_busy > 0; ++k) {
        uint32_t    r = (uint32_t)fs_rng_below(&table->tc.rng, n);
        actor_t    *a = &table->actors[r];
        fs_status_t status;

        if (k == MAX_TURNS) {
            ck_abort_msg("%u ranks wait for ever", n_busy);
        }
        a->net->ops->progress(a->net);
        if (!busy[r]) {
            continue;
        }
        status = fs_control_progress(a->control);
        if (status != FS_OK && status != FS_INPROGRESS) {
            ck_abort_msg("rank %u: %s", r, fs_strerror(status));
        }
        busy[r] = status == FS_INPROGRESS;
        n_busy -= !busy[r];
    }
    free(busy);
}

static fs_vote_t random_vote(table_t *table)
{
    fs_rng_t *rng = &table->tc.rng;

    return (fs_vote_t){
        .flags     = fs_rng_below(rng, 4) == 0,
        .max_inter = fs_rng_below(rng, 1000),
        .max_ns    = fs_rng_below(rng, 1000),
        .sum = {fs_rng_below(rng, UINT64_MAX), fs_rng_below(rng, UINT64_MAX)}};
}

/* With or without the flags that no rank sets. */
static void check_votes(const table_t *table)
{
    fs_vote_t want = {0};

    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        const fs_vote_t *said = &table->actors[r].vote;

        want.flags |= said->flags;
        want.max_inter = said->max_inter > want.max_inter ? said->max_inter
                                                          : want.max_inter;
        want.max_ns = said->max_ns > want.max_ns ? said->max_ns : want.max_ns;
        want.sum[0] += said->sum[0];
        want.sum[1] += said->sum[1];
    }
    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        fs_vote_t all = *fs_control_vote(table->actors[r].control);

        all.flags &= ~(FS_VOTE_REST | FS_VOTE_BUNDLED | FS_VOTE_ROWS |
                       FS_VOTE_UNIFORM | FS_VOTE_EQUAL);
        ck_assert_mem_eq(&all, &want, sizeof(want));
    }
}

static void check_matrix(const table_t *table, uint32_t rank)
{
    const fs_test_case_t *tc      = &table->tc;
    const fs_control_t   *control = table->actors[rank].control;
    uint32_t              n       = fs_topo_n_servers(tc->topo);
    uint32_t  local = fs_topo_n_local(tc->topo, fs_topo_server(tc->topo, rank));
    size_t    cells = (size_t)local * tc->n_ranks;
    uint64_t *send  = fs_test_alloc(2 * cells, 8);
    uint64_t *recv  = send + cells;

    fs_test_local_rows(tc->topo, tc->counts, rank, send, recv);
    ck_assert_mem_eq(fs_control_matrix(control), tc->traffic.bytes,
                     (size_t)n * n * sizeof(uint64_t));
    ck_assert_mem_eq(fs_control_local_send(control), send,
                     cells * sizeof(*send));
    ck_assert_mem_eq(fs_control_local_recv(control), recv,
                     cells * sizeof(*recv));
    free(send);
}

/* ---- bundles ---- */

/* Byte k of a block in a summary. */
static char byte_of(uint32_t summary, uint32_t src, uint32_t dst, uint64_t k)
{
    return (char)(summary * 31 + src * 61 + dst * 17 + k * 7 + (k >> 8));
}

typedef struct sender {
    uint32_t rank;
    uint32_t summary;
} sender_t;

static fs_status_t pack(void *ctx, uint32_t block, uint64_t offset,
                        uint64_t len_bytes, void *dst)
{
    const sender_t *sender = ctx;

    for (uint64_t k = 0; k < len_bytes; ++k) {
        ((char *)dst)[k] =
            byte_of(sender->summary, sender->rank, block, offset + k);
    }
    return FS_OK;
}

static void check_block(const table_t *table, uint32_t summary, uint32_t src,
                        uint32_t dst, uint64_t len_bytes)
{
    fs_bytes_t block;

    ck_assert(fs_control_block_of(table->actors[dst].control, src, &block));
    ck_assert(block.len == len_bytes);
    for (uint64_t k = 0; k < len_bytes; ++k) {
        ck_assert(block.at[k] == byte_of(summary, src, dst, k));
    }
}

/* Which pairs have bundles all ranks know, and what is in them. Returns the bytes
 * of all. */
static uint64_t check_bundles(const table_t *table)
{
    const fs_topo_t *topo   = table->tc.topo;
    uint32_t         n      = fs_topo_n_servers(topo);
    const uint64_t  *matrix = fs_control_matrix(table->actors[0].control);
    const uint64_t  *rest   = fs_control_rest(table->actors[0].control);
    uint64_t         bytes = 0, left = 0;

    for (uint32_t k = 0; k < n * n; ++k) {
        ck_assert(rest[k] == 0 || rest[k] == matrix[k]);
        ck_assert(rest[k] == matrix[k] || matrix[k] <= table->limit);
        bytes += matrix[k] - rest[k];
        left += rest[k];
    }
    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        const fs_control_t *control = table->actors[r].control;

        ck_assert_mem_eq(fs_control_rest(control), rest, n * n * sizeof(*rest));
        ck_assert_int_eq((fs_control_vote(control)->flags & FS_VOTE_REST) != 0,
                         left > 0);
        ck_assert_int_eq((fs_control_vote(control)->flags & FS_VOTE_BUNDLED) !=
                             0,
                         bytes > 0);
        for (uint32_t src = 0; src < table->tc.n_ranks; ++src) {
            uint32_t pair = fs_topo_server(topo, src) * n +
                            fs_topo_server(topo, r);

            if (rest[pair] == 0 && matrix[pair] > 0) {
                check_block(
                    table, table->summary, src, r,
                    table->tc.counts[(size_t)src * table->tc.n_ranks + r]);
            }
        }
    }
    return bytes;
}

/* With the vote of the actor. */
static void start_summary(table_t *table, uint32_t rank, uint32_t summary,
                          const uint64_t *send, const uint64_t *recv)
{
    actor_t    *a      = &table->actors[rank];
    fs_counts_t counts = fs_test_call_counts(table->tc.topo, rank, send, recv);
    sender_t    sender = {rank, summary};
    fs_call_t   call   = {.counts = &counts, .ctx = &sender, .pack = pack};

    (void)fs_control_offer(a->control, &call, table->limit, table->coarse,
                           table->block_bytes);
    ck_assert(fs_control_start_summary(a->control, &a->vote) == FS_OK);
    fs_counts_fini(&counts);
}

/* Rank r enters the summary with its counts. */
static void enter_summary(table_t *table, uint32_t r)
{
    uint32_t  n    = table->tc.n_ranks;
    uint64_t *recv = fs_test_alloc(n, sizeof(*recv));

    for (uint32_t k = 0; k < n; ++k) {
        recv[k] = table->tc.counts[(size_t)k * n + r];
    }
    table->actors[r].vote = random_vote(table);
    start_summary(table, r, table->summary, table->tc.counts + (size_t)r * n,
                  recv);
    free(recv);
}

/* Some turns of all ranks; those that have not entered have nothing to do. */
static void take_turns(table_t *table, uint32_t n_turns)
{
    for (uint32_t k = 0; k < n_turns; ++k) {
        actor_t *a =
            &table->actors[fs_rng_below(&table->tc.rng, table->tc.n_ranks)];

        a->net->ops->progress(a->net);
        (void)fs_control_progress(a->control);
    }
}

/* Ranks enter from a random one on, and those that are there do not wait for them. */
static void summary_round(table_t *table)
{
    uint32_t n     = table->tc.n_ranks;
    uint32_t first = (uint32_t)fs_rng_below(&table->tc.rng, n);

    ++table->summary;
    for (uint32_t k = 0; k < n; ++k) {
        enter_summary(table, (first + k) % n);
        take_turns(table, (uint32_t)fs_rng_below(&table->tc.rng, 2 * n));
    }
    finish(table);
    check_votes(table);
    for (uint32_t r = 0; r < n; ++r) {
        check_matrix(table, r);
    }
    (void)check_bundles(table);
}

static void agree_round(table_t *table)
{
    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        actor_t *a = &table->actors[r];

        a->vote = random_vote(table);
        ck_assert_int_eq(fs_control_start_agree(a->control, &a->vote), FS_OK);
    }
    finish(table);
    check_votes(table);
}

/* The counts are others now. */
static void update_traffic(table_t *table)
{
    fs_test_traffic_fini(&table->tc.traffic);
    table->tc.traffic = fs_test_traffic(table->tc.topo, table->tc.counts);
}

/* All blocks are equal, as in MPI_Alltoall. */
static void set_blocks(table_t *table, uint64_t block_bytes)
{
    size_t n_ranks = table->tc.n_ranks;

    table->block_bytes = block_bytes;
    for (size_t k = 0; k < n_ranks * n_ranks; ++k) {
        table->tc.counts[k] = block_bytes;
    }
    update_traffic(table);
}

/* Bytes of a bundle to the server that takes the longest. */
static uint64_t longest_bundle(const table_t *table)
{
    uint64_t most = 0;

    for (uint32_t u = 0; u < fs_topo_n_servers(table->tc.topo); ++u) {
        most = fs_u64_max(
            most, fs_control_bundle_bytes(table->tc.topo, u, table->memory));
    }
    return table->all_share ? most : 0;
}

/* Likewise, of any length; returns whether rows must not travel. */
static bool make_uniform(table_t *table)
{
    uint64_t max = fs_u64_min(table->limit, longest_bundle(table));

    set_blocks(table, 1 + fs_rng_below(&table->tc.rng, max == 0 ? 9 : 2 * max));
    return table->block_bytes > max;
}

/* Of all ranks, since this was last asked. */
static uint64_t wire_bytes(table_t *table)
{
    uint64_t sum = 0;

    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        sum += fs_control_take_wire_bytes(table->actors[r].control);
    }
    return sum;
}

/* What all know does not travel: as many bytes as in a round of votes. */
static void uniform_round(table_t *table)
{
    bool     only_votes = make_uniform(table);
    uint64_t n          = fs_topo_n_servers(table->tc.topo);
    uint64_t votes      = n * (n - 1) * sizeof(fs_vote_t);

    (void)wire_bytes(table);
    summary_round(table);
    table->block_bytes = 0;
    if (only_votes) {
        ck_assert_uint_eq(wire_bytes(table), votes);
    } else {
        ck_assert(n == 1 || wire_bytes(table) > votes);
    }
}

/* More rounds than the key has numbers for, of all kinds. */
START_TEST(prop_all_hear_the_same)
{
    table_t table;

    table_init(&table, (uint64_t)_i);
    for (int round = 0; round < 20; ++round) {
        table.limit  = fs_rng_below(&table.tc.rng, 3) > 0
                           ? fs_rng_below(&table.tc.rng, 1 << 17)
                           : 0;
        table.coarse = fs_rng_below(&table.tc.rng, 2) > 0;
        switch (fs_rng_below(&table.tc.rng, 3)) {
        case 0:
            summary_round(&table);
            break;
        case 1:
            uniform_round(&table);
            break;
        default:
            agree_round(&table);
        }
        fs_test_case_redraw(&table.tc);
    }
    table_fini(&table);
}
END_TEST

/* N numbers per leader and message cross the wire, not P. */
START_TEST(wire_bytes_are_n_by_n)
{
    table_t  table;
    uint64_t sent = 0, n;

    table_init(&table, 77);
    n = fs_topo_n_servers(table.tc.topo);
    summary_round(&table);
    for (uint32_t r = 0; r < table.tc.n_ranks; ++r) {
        sent += fs_control_take_wire_bytes(table.actors[r].control);
    }
    ck_assert_uint_eq(sent, n * (n - 1) * (sizeof(fs_vote_t) + 8 + 8 * n));
    table_fini(&table);
}
END_TEST

/* A length that is not the agreed one is an error, not a wrong decision. */
START_TEST(short_message_is_an_error)
{
    fs_loop_faults_t faults = {.cut_message = 1, .cut_rank = 0};
    fs_status_t      status = FS_INPROGRESS;
    table_t          table;

    table_init(&table, 78);
    ck_assert_uint_gt(table.tc.n_ranks, 1);
    fs_loop_set_faults(table.loop, &faults);
    for (uint32_t r = 0; r < table.tc.n_ranks; ++r) {
        fs_control_start_agree(table.actors[r].control, &table.actors[r].vote);
    }
    for (uint32_t k = 0; k < MAX_TURNS && status == FS_INPROGRESS; ++k) {
        actor_t *a = &table.actors[k % table.tc.n_ranks];

        a->net->ops->progress(a->net);
        (void)fs_control_progress(a->control);
        status = fs_control_progress(table.actors[0].control);
    }
    ck_assert_int_eq(status, FS_ERR_TRUNCATE);
    table_fini(&table);
}
END_TEST

/* No rank waits for the others between rounds: a fast leader's next row may
 * overtake its last one. */
START_TEST(prop_rounds_overlap)
{
    enum { ROUNDS = 40 };
    table_t   table;
    uint32_t *round, n, n_left;

    table_init(&table, 500 + (uint64_t)_i);
    n = n_left = table.tc.n_ranks;
    round      = fs_test_alloc(n, sizeof(*round));
    for (uint32_t k = 0; n_left > 0; ++k) {
        uint32_t  r    = (uint32_t)fs_rng_below(&table.tc.rng, n);
        actor_t  *a    = &table.actors[r];
        fs_vote_t vote = {.max_inter = round[r] + 1};

        ck_assert(k < MAX_TURNS);
        a->net->ops->progress(a->net);
        if (round[r] > ROUNDS || fs_control_progress(a->control) != FS_OK) {
            continue;
        }
        ck_assert(round[r] == 0 ||
                  fs_control_vote(a->control)->max_inter == round[r]);
        if (round[r]++ == ROUNDS) {
            --n_left;
        } else {
            ck_assert_int_eq(fs_control_start_agree(a->control, &vote), FS_OK);
        }
    }
    ck_assert_uint_eq(fs_loop_take_seen(table.loop).twins, 0);
    free(round);
    table_fini(&table);
}
END_TEST

/* What rank src sends to dst in a summary; 0 in none. */
static uint64_t bytes_of(uint32_t summary, uint32_t src, uint32_t dst)
{
    return (summary * 101 + src * 109 + dst * 17) % 1500 + 1;
}

static void start_numbered(table_t *table, uint32_t r, uint32_t summary)
{
    uint32_t  n    = table->tc.n_ranks;
    uint64_t *send = fs_test_alloc(2 * (size_t)n, sizeof(*send));
    uint64_t *recv = send + n;

    for (uint32_t k = 0; k < n; ++k) {
        send[k] = bytes_of(summary, r, k);
        recv[k] = bytes_of(summary, k, r);
    }
    table->actors[r].vote = (fs_vote_t){.max_inter = summary};
    start_summary(table, r, summary, send, recv);
    free(send);
}

static bool is_bundled(const table_t *table, uint32_t src, uint32_t dst)
{
    const fs_topo_t    *topo    = table->tc.topo;
    const fs_control_t *control = table->actors[dst].control;
    uint32_t            n       = fs_topo_n_servers(topo);
    uint32_t pair = fs_topo_server(topo, src) * n + fs_topo_server(topo, dst);

    return fs_control_rest(control)[pair] == 0 &&
           fs_control_matrix(control)[pair] > 0;
}

/* All that a rank has heard is of this summary. */
static void check_numbered(const table_t *table, uint32_t r, uint32_t summary)
{
    const fs_topo_t    *topo    = table->tc.topo;
    const fs_control_t *control = table->actors[r].control;
    uint32_t            server = fs_topo_server(topo, r), n = table->tc.n_ranks;
    uint64_t            cell = 0;

    for (uint32_t i = 0; i < fs_topo_n_local(topo, server); ++i) {
        uint32_t peer = fs_topo_rank(topo, server, i);

        for (uint32_t k = 0; k < n; ++k) {
            size_t at = (size_t)i * n + k;

            ck_assert(fs_control_local_send(control)[at] ==
                      bytes_of(summary, peer, k));
            ck_assert(fs_control_local_recv(control)[at] ==
                      bytes_of(summary, k, peer));
        }
    }
    for (uint32_t k = 0; k < n * n; ++k) {
        if (fs_topo_server(topo, k / n) == server &&
            fs_topo_server(topo, k % n) == 0) {
            cell += bytes_of(summary, k / n, k % n);
        }
    }
    ck_assert(fs_control_matrix(control)[server * fs_topo_n_servers(topo)] ==
              cell);
    for (uint32_t k = 0; k < n; ++k) {
        if (is_bundled(table, k, r)) {
            check_block(table, summary, k, r, bytes_of(summary, k, r));
        }
    }
}

/* A rank reads its results as late as it may, just before it starts the next
 * summary, when others have written theirs; rounds of words lie between. */
START_TEST(prop_late_readers_see_their_round)
{
    enum { ROUNDS = 30 };
    table_t   table;
    uint32_t *round, n, n_left;

    table_init(&table, 700 + (uint64_t)_i);
    table.limit = fs_rng_below(&table.tc.rng, 3) > 0 ? 1 << 17 : 0;
    n = n_left = table.tc.n_ranks;
    round      = fs_test_alloc(n, sizeof(*round));
    for (uint32_t k = 0; n_left > 0; ++k) {
        uint32_t  r    = (uint32_t)fs_rng_below(&table.tc.rng, n);
        actor_t  *a    = &table.actors[r];
        fs_vote_t vote = {.max_inter = round[r] / 3};

        ck_assert(k < MAX_TURNS);
        a->net->ops->progress(a->net);
        if (round[r] > ROUNDS || fs_control_progress(a->control) != FS_OK) {
            continue;
        }
        if (round[r] > 0) {
            ck_assert(fs_control_vote(a->control)->max_inter ==
                      (round[r] - 1) / 3);
            check_numbered(&table, r, (round[r] - 1) / 3);
        }
        if (round[r] == ROUNDS) {
            --n_left;
        } else if (round[r] % 3 == 0) { /* a summary, then two of words */
            start_numbered(&table, r, round[r] / 3);
        } else {
            ck_assert(fs_control_start_agree(a->control, &vote) == FS_OK);
        }
        ++round[r];
    }
    free(round);
    table_fini(&table);
}
END_TEST

/* With shared memory only leaders send. */
START_TEST(shared_memory_saves_messages)
{
    table_t  table;
    uint64_t n, want;

    table_init(&table, (uint64_t)_i);
    n    = fs_topo_n_servers(table.tc.topo);
    want = n * (n - 1);
    for (uint32_t u = 0; u < n; ++u) {
        want += table.shared[u] == NULL
                    ? 2 * (uint64_t)(fs_topo_n_local(table.tc.topo, u) - 1)
                    : 0;
    }
    summary_round(&table);
    ck_assert_uint_eq(fs_loop_take_seen(table.loop).messages, want);
    table_fini(&table);
}
END_TEST

/* Rank r waits for somebody, and only for ranks of its own server and the late one. */
static void check_awaited(const table_t *table, uint32_t r,
                          uint32_t late_server)
{
    const fs_topo_t    *topo    = table->tc.topo;
    const fs_control_t *control = table->actors[r].control;
    bool                any     = false;

    for (uint32_t k = 0; k < table->tc.n_ranks; ++k) {
        uint32_t u = fs_topo_server(topo, k);

        if (fs_control_awaits(control, k)) {
            any = true;
            ck_assert(u == fs_topo_server(topo, r) || u == late_server);
        }
    }
    ck_assert(any);
}

/* One rank comes late: all of its server know whom they wait for. */
START_TEST(waits_for_the_late_rank)
{
    table_t          table;
    const fs_topo_t *topo;
    uint32_t         n, late, server;

    table_init(&table, (uint64_t)_i);
    topo   = table.tc.topo;
    n      = table.tc.n_ranks;
    late   = (uint32_t)fs_rng_below(&table.tc.rng, n);
    server = fs_topo_server(topo, late);
    for (uint32_t r = 0; r < n; ++r) {
        if (r != late) {
            fs_control_start_agree(table.actors[r].control,
                                   &table.actors[r].vote);
        }
    }
    take_turns(&table, 200 * n);
    for (uint32_t r = 0; r < n; ++r) {
        const fs_control_t *control = table.actors[r].control;
        uint32_t            u       = fs_topo_server(topo, r);
        bool                leader  = r == fs_control_leader(topo, u);
        bool knows = leader || (u == server && table.shared[u] != NULL);

        ck_assert(!fs_control_awaits(control, r));
        if (r == late) {
            continue;
        }
        if (u != server) { /* it, or one of its own that waits for it */
            check_awaited(&table, r, server);
        } else {
            ck_assert_int_eq(fs_control_awaits(control, late),
                             knows || late == fs_control_leader(topo, u));
        }
    }
    fs_control_start_agree(table.actors[late].control,
                           &table.actors[late].vote);
    finish(&table);
    for (uint32_t r = 0; r < n * n; ++r) {
        ck_assert(!fs_control_awaits(table.actors[r / n].control, r % n));
    }
    table_fini(&table);
}
END_TEST

/* Where memory is shared, local ranks learn that their leader cannot go on. */
START_TEST(leader_tells_of_its_failure)
{
    fs_loop_faults_t faults = {.fail_send = 1};
    fs_status_t      status = FS_INPROGRESS;
    uint32_t         u      = 0, r;
    table_t          table;

    table_init(&table, 81);
    while (table.shared[u] == NULL) {
        ck_assert_uint_lt(++u, fs_topo_n_servers(table.tc.topo));
    }
    faults.fail_rank = fs_control_leader(table.tc.topo, u);
    r = fs_topo_rank(table.tc.topo, u, fs_topo_n_local(table.tc.topo, u) - 1);
    ck_assert_uint_ne(r, faults.fail_rank);
    fs_loop_set_faults(table.loop, &faults);
    for (uint32_t k = 0; k < table.tc.n_ranks; ++k) {
        fs_control_start_agree(table.actors[k].control, &table.actors[k].vote);
    }
    for (uint32_t k = 0; k < MAX_TURNS && status == FS_INPROGRESS; ++k) {
        actor_t *a = &table.actors[k % table.tc.n_ranks];

        a->net->ops->progress(a->net);
        (void)fs_control_progress(a->control);
        status = fs_control_progress(table.actors[r].control);
    }
    ck_assert_int_eq(status, FS_ERR_TRANSPORT);
    table_fini(&table);
}
END_TEST

/* A row that passes 2^64 must look too large, not small. */
START_TEST(large_counts_do_not_wrap)
{
    table_t   table;
    uint64_t *zero;
    uint32_t  n, far;

    table_init(&table, 80);
    n    = table.tc.n_ranks;
    zero = fs_test_alloc(n, sizeof(*zero));
    ck_assert_uint_gt(n, 2);
    far = fs_topo_server(table.tc.topo, n - 1);
    memset(table.tc.counts, 0, (size_t)n * n * sizeof(uint64_t));
    for (uint32_t i = 0; i < n; ++i) { /* to every rank of one server */
        if (fs_topo_server(table.tc.topo, i) == far) {
            table.tc.counts[i] = UINT64_MAX;
        }
    }
    ck_assert_uint_gt(fs_topo_n_local(table.tc.topo, far), 1);
    for (uint32_t r = 0; r < n; ++r) {
        table.actors[r].vote = (fs_vote_t){0};
        start_summary(&table, r, 0, table.tc.counts + (size_t)r * n, zero);
    }
    finish(&table);
    ck_assert_uint_gt(fs_control_matrix(table.actors[0].control)[far],
                      UINT64_MAX / 4);
    free(zero);
    table_fini(&table);
}
END_TEST

/* ---- bundles that lanes share ---- */

static const struct {
    uint32_t n, n_lanes;
    uint32_t labels[12];
} layouts[] = {{8, 0, {0, 0, 0, 0, 1, 1, 1, 1}},
               {8, 1, {0, 0, 0, 0, 1, 1, 1, 1}},
               {8, 2, {0, 1, 0, 1, 0, 1, 0, 1}},
               {9, 0, {0, 0, 0, 1, 1, 1, 2, 2, 2}},
               {9, 2, {0, 0, 0, 0, 1, 1, 1, 2, 2}},
               {12, 1, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}},
               {7, 2, {0, 0, 0, 0, 1, 1, 1}}};

/* All servers share memory, and there is room for every bundle. */
static void layout_table(table_t *table, int layout, uint64_t seed)
{
    uint32_t n = layouts[layout].n;

    *table = (table_t){.all_share = true, .memory = 1 << 20, .limit = 1 << 20};
    fs_rng_init(&table->tc.rng, seed);
    ck_assert_int_eq(fs_topo_create(n, layouts[layout].labels,
                                    layouts[layout].n_lanes, &table->tc.topo),
                     FS_OK);
    table->tc.counts  = fs_test_alloc((size_t)n * n, sizeof(uint64_t));
    table->tc.n_ranks = n;
    table_start(table, seed);
}

/* Four blocks for one rank, on four lanes: are they all used? */
static const struct {
    uint64_t block_bytes;
    bool     coarse;
    bool     shared;
} bundles[] = {{4000, false, true},
               {1000, false, true},
               {1000, true, false},
               {9000, true, false},
               {20000, true, true}};

/* A long bundle travels on all lanes of its pair, evenly; of two servers, a short
 * one does so too, unless it is coarse. */
START_TEST(lanes_share_a_bundle)
{
    uint64_t lane_bytes = bundles[_i].block_bytes;
    uint64_t least = UINT64_MAX, most = 0;
    table_t  table;

    layout_table(&table, 0, 5);
    table.coarse = bundles[_i].coarse;
    for (uint32_t k = 0; k < table.tc.n_ranks; ++k) { /* all to one rank */
        table.tc.counts[k * table.tc.n_ranks + 5] = lane_bytes;
    }
    update_traffic(&table);
    summary_round(&table);
    ck_assert_uint_gt(check_bundles(&table), 0);
    for (uint32_t r = 0; r < 4; ++r) {
        uint64_t sent = fs_control_take_wire_bytes(table.actors[r].control);

        least = sent < least ? sent : least;
        most  = sent > most ? sent : most;
    }
    if (bundles[_i].shared) {
        ck_assert_uint_ge(least, lane_bytes);
        ck_assert_uint_le(most, lane_bytes + 200);
    } else {
        ck_assert_uint_eq(least, 0);
        ck_assert_uint_ge(most, 4 * lane_bytes);
    }
    table_fini(&table);
}
END_TEST

/* Bytes of every block, of servers with 4, 3 and 2 ranks: do they fit in bundles? */
static const struct {
    uint64_t block_bytes;
    bool     fit;
} sizes[] = {{9, true}, {19000, true}, {21834, true}, {21840, false}};

/* Servers of more ranks have room for longer bundles, and what fits goes in these. */
START_TEST(what_fits_goes_in_bundles)
{
    uint64_t most = 4 * 3 * sizes[_i].block_bytes; /* and 4 x 4 inside */
    const fs_control_t *control;
    table_t             table;

    layout_table(&table, 4, 11);
    control = table.actors[0].control;
    set_blocks(&table, sizes[_i].block_bytes);
    table.block_bytes = 0;
    ck_assert_int_eq(
        fs_control_fits(control, table.tc.traffic.bytes, most * 4 / 3),
        sizes[_i].fit);
    ck_assert(_i == 0 ||
              most > fs_control_bundle_bytes(table.tc.topo, 2, table.memory));
    summary_round(&table);
    ck_assert_int_eq((fs_control_vote(control)->flags & FS_VOTE_REST) == 0,
                     sizes[_i].fit);
    ck_assert(!fs_control_fits(control, table.tc.traffic.bytes, 1 << 20));
    table_fini(&table);
}
END_TEST

/* Long bundles, which lanes share, short ones and none, one after the other: who had a
 * range in the summary before receives the next before it knows whether there is one. */
START_TEST(ranges_come_and_go)
{
    enum { ROUNDS = 60 };
    static const uint64_t lens[] = {0, 9, 700, 4000, 9000};
    uint32_t              n      = layouts[_i].n;
    table_t               table;

    layout_table(&table, _i, 7);
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        uint64_t len = lens[fs_rng_below(&table.tc.rng, 5)];

        table.coarse = fs_rng_below(&table.tc.rng, 3) == 0;
        for (uint32_t k = 0; k < n * n; ++k) {
            table.tc.counts[k] = fs_rng_below(&table.tc.rng, 8) > 0 ? len : 0;
        }
        update_traffic(&table);
        summary_round(&table);
        if (fs_rng_below(&table.tc.rng, 3) == 0) {
            agree_round(&table);
        }
    }
    table_fini(&table);
}
END_TEST

/* ---- instalments ---- */

enum { LONG_BLOCK = 9000 }; /* so long that bundles go in instalments */

/* A bundle goes in instalments when it has gone before; some do not, and others come
 * between. */
START_TEST(instalments_come_and_go)
{
    enum { ROUNDS = 60 };
    static const uint64_t lens[] = {9, 700, 9000, 9000, 20000};
    table_t               table;

    layout_table(&table, _i, 11);
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        if (fs_rng_below(&table.tc.rng, 3) == 0) {
            set_blocks(&table, lens[fs_rng_below(&table.tc.rng, 5)]);
        }
        table.limit  = fs_rng_below(&table.tc.rng, 6) > 0 ? 1 << 20 : 0;
        table.coarse = fs_rng_below(&table.tc.rng, 8) == 0;
        summary_round(&table);
        if (fs_rng_below(&table.tc.rng, 3) == 0) {
            agree_round(&table);
        }
    }
    table_fini(&table);
}
END_TEST

/* Two rounds, after which bundles of this length go in instalments. */
static void warm_up(table_t *table)
{
    set_blocks(table, LONG_BLOCK);
    summary_round(table);
    summary_round(table);
    (void)wire_bytes(table);
    ++table->summary;
}

/* One rank comes late: what the others send to other servers leaves without it, but for
 * its instalment. */
START_TEST(instalments_do_not_wait)
{
    table_t  table;
    uint32_t n    = layouts[_i].n;
    uint64_t cell = 0, sent;

    layout_table(&table, _i, 12);
    warm_up(&table);
    for (uint32_t r = 0; r < n - 1; ++r) {
        enter_summary(&table, r);
    }
    take_turns(&table, 400 * n);
    sent = wire_bytes(&table);
    enter_summary(&table, n - 1);
    finish(&table);
    ck_assert_uint_gt(check_bundles(&table), 0);
    for (uint32_t k = 0; k < n * n; ++k) {
        cell += fs_topo_server(table.tc.topo, k / n) !=
                        fs_topo_server(table.tc.topo, k % n)
                    ? LONG_BLOCK
                    : 0;
    }
    ck_assert_uint_gt(sent, cell / 2);
    ck_assert_uint_ge(sent + wire_bytes(&table), cell);
    table_fini(&table);
}
END_TEST

/* One rank, which is no lane, has other blocks than its server's lanes expect: its server
 * says that there is no bundle, and the counts of all are as they are. */
START_TEST(odd_rank_makes_no_bundle)
{
    table_t  table;
    uint32_t n = layouts[_i].n, odd = 1;

    layout_table(&table, _i, 13);
    warm_up(&table);
    for (uint32_t k = 0; k < n; ++k) {
        table.tc.counts[odd * n + k] = LONG_BLOCK - 1;
    }
    update_traffic(&table);
    summary_round(&table);
    ck_assert(fs_control_vote(table.actors[0].control)->flags & FS_VOTE_REST);
    summary_round(&table);
    table_fini(&table);
}
END_TEST

/* The ranks of the last server are in another call, with other blocks, or without saying
 * that all are equal: all ranks learn of it. */
START_TEST(other_call_is_a_mismatch)
{
    table_t  table;
    uint32_t n = layouts[_i / 2].n, last, n_left = n;
    bool    *failed = fs_test_alloc(n, sizeof(*failed));

    layout_table(&table, _i / 2, 14);
    last = fs_topo_n_servers(table.tc.topo) - 1;
    warm_up(&table);
    for (uint32_t r = 0; r < n; ++r) {
        bool other = fs_topo_server(table.tc.topo, r) == last;

        table.block_bytes = other && _i % 2 == 1 ? 0 : LONG_BLOCK;
        if (other && _i % 2 == 0) {
            set_blocks(&table, LONG_BLOCK / 2);
        }
        enter_summary(&table, r);
        set_blocks(&table, LONG_BLOCK);
    }
    for (uint32_t k = 0; k < MAX_TURNS && n_left > 0; ++k) {
        uint32_t    r = k % n;
        actor_t    *a = &table.actors[r];
        fs_status_t status;

        a->net->ops->progress(a->net);
        status = failed[r] ? FS_INPROGRESS : fs_control_progress(a->control);
        if (status != FS_INPROGRESS) {
            ck_assert_int_eq(status, FS_ERR_MISMATCH);
            failed[r] = true;
            --n_left;
        }
    }
    ck_assert_uint_eq(n_left, 0);
    free(failed);
    table_fini(&table);
}
END_TEST

/* On uneven servers instalments may go one way only. Where they are expected, and the
 * ranks there have blocks too long for a bundle, all ranks here learn of it; those there
 * hear of it as of any other error. */
START_TEST(missing_instalments_are_a_mismatch)
{
    table_t  table;
    uint32_t n, n_left = 0;
    bool    *waits;

    layout_table(&table, 6, 15);
    n           = table.tc.n_ranks;
    waits       = fs_test_alloc(n, sizeof(*waits));
    table.limit = 16 * LONG_BLOCK;
    warm_up(&table);
    for (uint32_t r = 0; r < n; ++r) {
        waits[r] = fs_topo_server(table.tc.topo, r) == 1;
        n_left += waits[r];
        set_blocks(&table, waits[r] ? LONG_BLOCK : 2 * LONG_BLOCK);
        enter_summary(&table, r);
    }
    for (uint32_t k = 0; k < MAX_TURNS && n_left > 0; ++k) {
        actor_t    *a = &table.actors[k % n];
        fs_status_t status;

        a->net->ops->progress(a->net);
        status = fs_control_progress(a->control);
        if (waits[k % n] && status != FS_INPROGRESS) {
            ck_assert_int_eq(status, FS_ERR_MISMATCH);
            waits[k % n] = false;
            --n_left;
        }
    }
    ck_assert_uint_eq(n_left, 0);
    free(waits);
    table_fini(&table);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("meta");
    TCase *tcase = tcase_create("meta");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, prop_all_hear_the_same, 0, 15);
    tcase_add_loop_test(tcase, prop_rounds_overlap, 0, 20);
    tcase_add_loop_test(tcase, prop_late_readers_see_their_round, 0, 20);
    tcase_add_loop_test(tcase, shared_memory_saves_messages, 0, 10);
    tcase_add_loop_test(tcase, waits_for_the_late_rank, 0, 20);
    tcase_add_loop_test(tcase, what_fits_goes_in_bundles, 0,
                        sizeof(sizes) / sizeof(sizes[0]));
    tcase_add_loop_test(tcase, lanes_share_a_bundle, 0,
                        sizeof(bundles) / sizeof(bundles[0]));
    tcase_add_loop_test(tcase, ranges_come_and_go, 0,
                        sizeof(layouts) / sizeof(layouts[0]));
    tcase_add_loop_test(tcase, instalments_come_and_go, 0,
                        sizeof(layouts) / sizeof(layouts[0]));
    tcase_add_loop_test(tcase, instalments_do_not_wait, 0, 3);
    tcase_add_loop_test(tcase, odd_rank_makes_no_bundle, 1, 2);
    tcase_add_loop_test(tcase, other_call_is_a_mismatch, 0, 6);
    tcase_add_test(tcase, missing_instalments_are_a_mismatch);
    tcase_add_test(tcase, leader_tells_of_its_failure);
    tcase_add_test(tcase, large_counts_do_not_wrap);
    tcase_add_test(tcase, wire_bytes_are_n_by_n);
    tcase_add_test(tcase, short_message_is_an_error);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
