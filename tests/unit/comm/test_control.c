/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary exchange: every rank hears the same, and it is true, whether the
 * ranks of a server share memory or not; here some servers do. */
#include "base/fs_digest.h"
#include "comm/fs_control.h"
#include "fs_test_util.h"
#include "fs_transport_loop.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TURNS = 5000000 };

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
} table_t;

/* One server in three has no shared memory. */
static void share(table_t *table)
{
    uint32_t n = fs_topo_n_servers(table->tc.topo);

    table->shared = fs_test_alloc(n, sizeof(*table->shared));
    for (uint32_t u = 0; u < n; ++u) {
        size_t bytes = fs_control_shared_bytes(table->tc.topo, u);

        table->shared[u] = bytes > 0 && fs_rng_below(&table->tc.rng, 3) > 0
                               ? fs_test_alloc(bytes, 1)
                               : NULL;
    }
}

static void table_init(table_t *table, uint64_t seed)
{
    uint32_t n;

    fs_test_case_init(&table->tc, seed);
    n             = table->tc.n_ranks;
    table->loop   = fs_loop_create(n, seed);
    table->actors = fs_test_alloc(n, sizeof(*table->actors));
    share(table);
    for (uint32_t r = 0; r < n; ++r) {
        actor_t *a = &table->actors[r];

        a->net       = fs_loop_net(table->loop, r);
        a->transport = fs_loop_transport(table->loop, r, 0);
        ck_assert_int_eq(
            fs_control_create(table->tc.topo, r, a->transport,
                              table->shared[fs_topo_server(table->tc.topo, r)],
                              &a->control),
            FS_OK);
    }
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
        const fs_vote_t *all = fs_control_vote(table->actors[r].control);

        ck_assert_mem_eq(all, &want, sizeof(want));
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

/* With the vote of the actor. */
static void start_summary(table_t *table, uint32_t rank, const uint64_t *send,
                          const uint64_t *recv)
{
    actor_t    *a      = &table->actors[rank];
    fs_counts_t counts = fs_test_call_counts(table->tc.topo, rank, send, recv);

    MUST(fs_control_start_summary(a->control, &a->vote, &counts) == FS_OK);
    fs_counts_fini(&counts);
}

static void summary_round(table_t *table)
{
    uint32_t  n    = table->tc.n_ranks;
    uint64_t *recv = fs_test_alloc(n, sizeof(*recv));

    for (uint32_t r = 0; r < n; ++r) {
        actor_t *a = &table->actors[r];

        for (uint32_t k = 0; k < n; ++k) {
            recv[k] = table->tc.counts[(size_t)k * n + r];
        }
        a->vote = random_vote(table);
        start_summary(table, r, table->tc.counts + (size_t)r * n, recv);
    }
    free(recv);
    finish(table);
    check_votes(table);
    for (uint32_t r = 0; r < n; ++r) {
        check_matrix(table, r);
    }
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

/* More rounds than the key has numbers for, of both kinds. */
START_TEST(prop_all_hear_the_same)
{
    table_t table;

    table_init(&table, (uint64_t)_i);
    for (int round = 0; round < 20; ++round) {
        if (fs_rng_below(&table.tc.rng, 2) == 0) {
            summary_round(&table);
        } else {
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
        sent += fs_control_wire_bytes(table.actors[r].control);
    }
    ck_assert_uint_eq(sent, n * (n - 1) * (sizeof(fs_vote_t) + 8 * n));
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

        MUST(k < MAX_TURNS);
        a->net->ops->progress(a->net);
        if (round[r] > ROUNDS || fs_control_progress(a->control) != FS_OK) {
            continue;
        }
        MUST(round[r] == 0 ||
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
    return summary * 1000003 + src * 1009 + dst * 17;
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
    start_summary(table, r, send, recv);
    free(send);
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

            MUST(fs_control_local_send(control)[at] ==
                 bytes_of(summary, peer, k));
            MUST(fs_control_local_recv(control)[at] ==
                 bytes_of(summary, k, peer));
        }
    }
    for (uint32_t k = 0; k < n * n; ++k) {
        if (fs_topo_server(topo, k / n) == server &&
            fs_topo_server(topo, k % n) == 0) {
            cell += bytes_of(summary, k / n, k % n);
        }
    }
    MUST(fs_control_matrix(control)[server * fs_topo_n_servers(topo)] == cell);
}

/* A rank reads its results as late as it may, just before it starts the next
 * summary, when others have written theirs; rounds of words lie between. */
START_TEST(prop_late_readers_see_their_round)
{
    enum { ROUNDS = 30 };
    table_t   table;
    uint32_t *round, n, n_left;

    table_init(&table, 700 + (uint64_t)_i);
    n = n_left = table.tc.n_ranks;
    round      = fs_test_alloc(n, sizeof(*round));
    for (uint32_t k = 0; n_left > 0; ++k) {
        uint32_t  r    = (uint32_t)fs_rng_below(&table.tc.rng, n);
        actor_t  *a    = &table.actors[r];
        fs_vote_t vote = {.max_inter = round[r] / 3};

        MUST(k < MAX_TURNS);
        a->net->ops->progress(a->net);
        if (round[r] > ROUNDS || fs_control_progress(a->control) != FS_OK) {
            continue;
        }
        if (round[r] > 0) {
            MUST(fs_control_vote(a->control)->max_inter == (round[r] - 1) / 3);
            check_numbered(&table, r, (round[r] - 1) / 3);
        }
        if (round[r] == ROUNDS) {
            --n_left;
        } else if (round[r] % 3 == 0) { /* a summary, then two of words */
            start_numbered(&table, r, round[r] / 3);
        } else {
            MUST(fs_control_start_agree(a->control, &vote) == FS_OK);
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
    for (uint32_t k = 0; k < 200 * n; ++k) {
        actor_t *a = &table.actors[fs_rng_below(&table.tc.rng, n)];

        a->net->ops->progress(a->net);
        (void)fs_control_progress(a->control);
    }
    for (uint32_t r = 0; r < n; ++r) {
        const fs_control_t *control = table.actors[r].control;
        uint32_t            u       = fs_topo_server(topo, r);
        bool                leader  = r == fs_control_leader(topo, u);
        bool knows = leader || (u == server && table.shared[u] != NULL);

        ck_assert(!fs_control_awaits(control, r));
        if (r == late) {
            continue;
        }
        if (u != server) { /* through leaders */
            ck_assert(fs_control_awaits(
                control, fs_control_leader(topo, leader ? server : u)));
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
        start_summary(&table, r, table.tc.counts + (size_t)r * n, zero);
    }
    finish(&table);
    ck_assert_uint_eq(fs_control_matrix(table.actors[0].control)[far],
                      UINT64_MAX);
    free(zero);
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
    tcase_add_test(tcase, leader_tells_of_its_failure);
    tcase_add_test(tcase, large_counts_do_not_wrap);
    tcase_add_test(tcase, wire_bytes_are_n_by_n);
    tcase_add_test(tcase, short_message_is_an_error);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
