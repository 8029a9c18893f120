/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary exchange: every rank hears the same, and it is true. */
#include "base/fs_digest.h"
#include "exec/fs_meta.h"
#include "fs_test_util.h"
#include "fs_transport_loop.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TURNS = 5000000 };

typedef struct actor {
    fs_net_t       *net;
    fs_transport_t *transport;
    fs_meta_t      *meta;
    fs_meta_word_t  word; /* what it says */
} actor_t;

typedef struct round_table {
    fs_test_case_t tc;
    fs_loop_t     *loop;
    actor_t       *actors;
} table_t;

static void table_init(table_t *table, uint64_t seed)
{
    uint32_t n;

    fs_test_case_init(&table->tc, seed);
    n             = table->tc.n_ranks;
    table->loop   = fs_loop_create(n, seed);
    table->actors = fs_test_alloc(n, sizeof(*table->actors));
    for (uint32_t r = 0; r < n; ++r) {
        actor_t *a = &table->actors[r];

        a->net       = fs_loop_net(table->loop, r);
        a->transport = fs_loop_transport(table->loop, r, 0);
        ck_assert_int_eq(
            fs_meta_create(table->tc.topo, r, a->transport, &a->meta), FS_OK);
    }
}

static void table_fini(table_t *table)
{
    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        actor_t *a = &table->actors[r];

        a->transport->ops->destroy(a->transport);
        fs_meta_destroy(a->meta);
    }
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
        status = fs_meta_progress(a->meta);
        if (status != FS_OK && status != FS_INPROGRESS) {
            ck_abort_msg("rank %u: %s", r, fs_strerror(status));
        }
        busy[r] = status == FS_INPROGRESS;
        n_busy -= !busy[r];
    }
    free(busy);
}

static fs_meta_word_t random_word(table_t *table)
{
    fs_rng_t *rng = &table->tc.rng;

    return (fs_meta_word_t){
        .flags     = fs_rng_below(rng, 4) == 0,
        .max_inter = fs_rng_below(rng, 1000),
        .sum = {fs_rng_below(rng, UINT64_MAX), fs_rng_below(rng, UINT64_MAX)}};
}

static void check_words(const table_t *table)
{
    fs_meta_word_t want = {0};

    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        const fs_meta_word_t *said = &table->actors[r].word;

        want.flags |= said->flags;
        want.max_inter = said->max_inter > want.max_inter ? said->max_inter
                                                          : want.max_inter;
        want.sum[0] += said->sum[0];
        want.sum[1] += said->sum[1];
    }
    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        const fs_meta_word_t *heard = fs_meta_word(table->actors[r].meta);

        ck_assert_mem_eq(heard, &want, sizeof(want));
    }
}

static void check_matrix(const table_t *table, uint32_t rank)
{
    const fs_test_case_t *tc   = &table->tc;
    const fs_meta_t      *meta = table->actors[rank].meta;
    uint32_t              n    = fs_topo_n_servers(tc->topo);
    uint32_t  local = fs_topo_n_local(tc->topo, fs_topo_server(tc->topo, rank));
    size_t    cells = (size_t)local * tc->n_ranks;
    uint64_t *send  = fs_test_alloc(2 * cells, 8);
    uint64_t *recv  = send + cells;

    fs_test_local_rows(tc->topo, tc->counts, rank, send, recv);
    ck_assert_mem_eq(fs_meta_matrix(meta), tc->traffic.bytes,
                     (size_t)n * n * sizeof(uint64_t));
    ck_assert_mem_eq(fs_meta_local_send(meta), send, cells * sizeof(*send));
    ck_assert_mem_eq(fs_meta_local_recv(meta), recv, cells * sizeof(*recv));
    free(send);
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
        a->word = random_word(table);
        ck_assert_int_eq(fs_meta_start_summary(a->meta, &a->word,
                                               table->tc.counts + (size_t)r * n,
                                               recv),
                         FS_OK);
    }
    free(recv);
    finish(table);
    check_words(table);
    for (uint32_t r = 0; r < n; ++r) {
        check_matrix(table, r);
    }
}

static void agree_round(table_t *table)
{
    for (uint32_t r = 0; r < table->tc.n_ranks; ++r) {
        actor_t *a = &table->actors[r];

        a->word = random_word(table);
        ck_assert_int_eq(fs_meta_start_agree(a->meta, &a->word), FS_OK);
    }
    finish(table);
    check_words(table);
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
        sent += fs_meta_wire_bytes(table.actors[r].meta);
    }
    ck_assert_uint_eq(sent, n * (n - 1) * 8 * (4 + n));
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
        fs_meta_start_agree(table.actors[r].meta, &table.actors[r].word);
    }
    for (uint32_t k = 0; k < MAX_TURNS && status == FS_INPROGRESS; ++k) {
        actor_t *a = &table.actors[k % table.tc.n_ranks];

        a->net->ops->progress(a->net);
        (void)fs_meta_progress(a->meta);
        status = fs_meta_progress(table.actors[0].meta);
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
        uint32_t       r    = (uint32_t)fs_rng_below(&table.tc.rng, n);
        actor_t       *a    = &table.actors[r];
        fs_meta_word_t word = {.max_inter = round[r] + 1};

        MUST(k < MAX_TURNS);
        a->net->ops->progress(a->net);
        if (round[r] > ROUNDS || fs_meta_progress(a->meta) != FS_OK) {
            continue;
        }
        MUST(round[r] == 0 || fs_meta_word(a->meta)->max_inter == round[r]);
        if (round[r]++ == ROUNDS) {
            --n_left;
        } else {
            ck_assert_int_eq(fs_meta_start_agree(a->meta, &word), FS_OK);
        }
    }
    ck_assert_uint_eq(fs_loop_take_seen(table.loop).twins, 0);
    free(round);
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
        actor_t *a = &table.actors[r];

        a->word = (fs_meta_word_t){0};
        ck_assert_int_eq(fs_meta_start_summary(a->meta, &a->word,
                                               table.tc.counts + (size_t)r * n,
                                               zero),
                         FS_OK);
    }
    finish(&table);
    ck_assert_uint_eq(fs_meta_matrix(table.actors[0].meta)[far], UINT64_MAX);
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
    tcase_add_test(tcase, large_counts_do_not_wrap);
    tcase_add_test(tcase, wire_bytes_are_n_by_n);
    tcase_add_test(tcase, short_message_is_an_error);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
