/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding between servers: each bundle and each row of sums arrives exactly
 * once, for all small clusters and all radices; and what it costs.
 */
#include "fs_test_util.h"
#include "sched/plan/fs_radix.h"

#include <string.h>

enum { MAX_N = 65, NOWHERE = UINT32_MAX };

/* Where everything is. Phases move what was there when they began. */
typedef struct world {
    uint32_t n;
    uint32_t radix;
    uint32_t at[MAX_N][MAX_N];    /* bundle from, to: on which server */
    uint32_t to[MAX_N][MAX_N];    /* and after this phase */
    bool     knows[MAX_N][MAX_N]; /* server, whose row */
    bool     hears[MAX_N][MAX_N];
} world_t;

static void world_init(world_t *w, uint32_t n, uint32_t radix)
{
    memset(w, 0, sizeof(*w));
    w->n     = n;
    w->radix = radix;
    for (uint32_t u = 0; u < n; ++u) {
        w->knows[u][u] = true;
        for (uint32_t t = 0; t < n; ++t) {
            w->at[u][t] = u;
        }
    }
    memcpy(w->to, w->at, sizeof(w->to));
    memcpy(w->hears, w->knows, sizeof(w->hears));
}

static void end_phase(world_t *w)
{
    memcpy(w->at, w->to, sizeof(w->at));
    memcpy(w->knows, w->hears, sizeof(w->knows));
}

#define HOLDS(_yes, _w, _m, _u)                                               \
    do {                                                                      \
        if (!(_yes)) {                                                        \
            ck_abort_msg("%s: N %u, radix %u, phase %u, hop %u, sender %u",   \
                         #_yes, (_w)->n, (_w)->radix, (_m)->phase, (_m)->hop, \
                         _u);                                                 \
        }                                                                     \
    } while (0)

static void send_rows(world_t *w, const fs_radix_message_t *m, uint32_t u)
{
    uint32_t to = (u + m->hop) % w->n;

    for (uint32_t k = 0; k < m->n_rows; ++k) {
        uint32_t row = (u + w->n - k) % w->n;

        HOLDS(w->knows[u][row], w, m, u);
        HOLDS(!w->hears[to][row], w, m, u);
        w->hears[to][row] = true;
    }
}

static void send_bundles(world_t *w, const fs_radix_message_t *m, uint32_t u)
{
    uint32_t to = (u + m->hop) % w->n, forwarded = 0;

    for (uint32_t k = 0; k < m->n_bundles; ++k) {
        fs_radix_bundle_t b = fs_radix_bundle(w->n, w->radix, m, u, k);

        HOLDS(b.origin < w->n && b.target < w->n, w, m, u);
        HOLDS(w->at[b.origin][b.target] == u, w, m, u);
        HOLDS(w->to[b.origin][b.target] == u, w, m, u);
        HOLDS(b.target != u, w, m, u);
        /* Its length is known where it arrives. */
        HOLDS(w->hears[to][b.origin], w, m, u);
        w->to[b.origin][b.target] = to;
        forwarded += b.origin != u;
    }
    HOLDS(forwarded == m->n_forwarded, w, m, u);
}

static void check_all_there(const world_t *w)
{
    for (uint32_t u = 0; u < w->n; ++u) {
        for (uint32_t t = 0; t < w->n; ++t) {
            ck_assert_msg(w->at[u][t] == t && w->knows[t][u],
                          "N %u, radix %u: from %u to %u is on %u", w->n,
                          w->radix, u, t, w->at[u][t]);
        }
    }
}

static void run_all(world_t *w)
{
    fs_radix_message_t m     = {0};
    uint32_t           phase = 0, in_phase = 0, expected = 0;

    while (fs_radix_next(w->n, w->radix, &m)) {
        if (m.phase != phase) {
            ck_assert_uint_eq(m.phase, phase + 1);
            ck_assert_uint_eq(in_phase, expected);
            end_phase(w);
            phase    = m.phase;
            in_phase = 0;
        }
        ++in_phase;
        expected = m.n_in_phase;
        ck_assert_uint_gt(m.n_bundles, 0);
        for (uint32_t u = 0; u < w->n; ++u) {
            send_rows(w, &m, u);
            send_bundles(w, &m, u);
        }
    }
    ck_assert_uint_eq(in_phase, expected);
    end_phase(w);
}

START_TEST(every_bundle_and_row_arrives_once)
{
    static world_t w;
    uint32_t       n = (uint32_t)_i;

    for (uint32_t radix = 2; radix <= n + 1; ++radix) {
        world_init(&w, n, radix);
        run_all(&w);
        check_all_there(&w);
    }
}
END_TEST

START_TEST(one_server_sends_nothing)
{
    fs_radix_message_t m = {0};

    ck_assert(!fs_radix_next(1, 2, &m));
}
END_TEST

static uint32_t count_messages(uint32_t n, uint32_t radix)
{
    fs_radix_message_t m     = {0};
    uint32_t           count = 0;

    while (fs_radix_next(n, radix, &m)) {
        ++count;
    }
    return count;
}

START_TEST(messages_are_counted)
{
    ck_assert_uint_eq(count_messages(1024, 2), 10);
    ck_assert_uint_eq(count_messages(1000, 2), 10);
    ck_assert_uint_eq(count_messages(1024, 32), 62);
    ck_assert_uint_eq(count_messages(65, 8), 7 + 7 + 1);
    ck_assert_uint_eq(count_messages(65, 65), 64);
    ck_assert_uint_eq(count_messages(65, UINT32_MAX), 64);
    ck_assert_uint_eq(count_messages(UINT32_C(1) << 31, 2), 31);
}
END_TEST

START_TEST(without_forwarding_it_is_direct)
{
    fs_radix_message_t m = {0};

    for (uint32_t hop = 1; hop < 40; ++hop) {
        ck_assert(fs_radix_next(40, 40, &m));
        ck_assert_uint_eq(m.hop, hop);
        ck_assert_uint_eq(m.n_bundles, 1);
        ck_assert_uint_eq(m.n_forwarded, 0);
        ck_assert_uint_eq(m.n_rows, 1);
        ck_assert_uint_eq(m.n_in_phase, 39);
    }
    ck_assert(!fs_radix_next(40, 40, &m));
}
END_TEST

START_TEST(lanes_share_messages)
{
    fs_radix_message_t m = {.n_in_phase = 3, .n_bundles = 100};

    ck_assert_uint_eq(fs_radix_parts(&m, 1), 1);
    ck_assert_uint_eq(fs_radix_parts(&m, 5), 1);
    ck_assert_uint_eq(fs_radix_parts(&m, 8), 2);
    m.n_bundles = 1;
    ck_assert_uint_eq(fs_radix_parts(&m, 8), 1);
}
END_TEST

/* ---- cost ---- */

static const fs_radix_cost_t typical = {.overhead_ns = 500,
                                        .latency_ns  = 1000,
                                        .gap_ns      = 50,
                                        .rate        = 25000000000,
                                        .rate_copy   = 5000000000,
                                        .block_ns    = 20,
                                        .sync_ns     = 100};

START_TEST(two_servers_by_hand)
{
    fs_radix_load_t load = {2, 1, 25000, 0};

    /* o, the bytes, L, o */
    ck_assert_uint_eq(fs_radix_time_ns(&typical, &load, 2),
                      500 + 1000 + 1000 + 500);
    load.bundle_bytes = 1;
    ck_assert_uint_eq(fs_radix_time_ns(&typical, &load, 2),
                      500 + 50 + 1000 + 500);
    load = (fs_radix_load_t){2, 1, 0, 25000};
    ck_assert_uint_eq(fs_radix_time_ns(&typical, &load, 2), 3000);
}
END_TEST

START_TEST(four_servers_by_hand)
{
    fs_radix_load_t load = {4, 1, 5000, 0};

    /* Direct: the first message is there after three were sent, then three
     * are taken in. */
    ck_assert_uint_eq(fs_radix_time_ns(&typical, &load, 4),
                      (500 + 200 + 1000) + 3 * 500);
    /* Bruck: 1 and 3 go to the next, then 2 and 3 go on: 3 is copied. */
    ck_assert_uint_eq(fs_radix_time_ns(&typical, &load, 2),
                      (1000 + 400 + 1000) + (1000 + 400 + 1000 + 1000 + 20));
    /* Four lanes: a message each, or half of one; they wait before they
     * forward. */
    load.n_lanes = 4;
    ck_assert_uint_eq(fs_radix_time_ns(&typical, &load, 4), 1000 + 200 + 1000);
    ck_assert_uint_eq(fs_radix_time_ns(&typical, &load, 2),
                      2 * (1000 + 200 + 1000) + 400 + 510);
}
END_TEST

START_TEST(start_up_costs_and_bytes_choose)
{
    fs_radix_cost_t cost = typical;
    fs_radix_load_t load = {1024, 1, 8, 0};
    uint32_t        tiny = fs_radix_choose(&cost, &load), larger;

    ck_assert_uint_gt(tiny, 2);
    ck_assert_uint_lt(tiny, 64);
    load.bundle_bytes = 2000;
    larger            = fs_radix_choose(&cost, &load);
    ck_assert_uint_gt(larger, tiny);
    load.bundle_bytes = 64 * 64 * 512;
    ck_assert_uint_eq(fs_radix_choose(&cost, &load), 1024);
    /* Only messages cost, hence as few as there can be: 10 with radix 2. */
    cost = (fs_radix_cost_t){
        .overhead_ns = 1000000, .rate = UINT64_MAX, .rate_copy = UINT64_MAX};
    load.bundle_bytes = 1;
    ck_assert_uint_eq(fs_radix_choose(&cost, &load), 2);
    /* Nothing but bytes, hence each of them once. */
    cost = (fs_radix_cost_t){.rate = 1, .rate_copy = 1};
    ck_assert_uint_eq(fs_radix_choose(&cost, &load), 1024);
}
END_TEST

START_TEST(the_choice_is_the_shortest)
{
    fs_rng_t rng;

    fs_rng_init(&rng, 7);
    for (int round = 0; round < 200; ++round) {
        fs_radix_load_t load = {(uint32_t)fs_rng_below(&rng, 200) + 2,
                                (uint32_t)fs_rng_below(&rng, 8) + 1,
                                fs_rng_below(&rng, 4000),
                                fs_rng_below(&rng, 2) * 1600};
        uint32_t        r    = fs_radix_choose(&typical, &load);
        uint64_t        best = fs_radix_time_ns(&typical, &load, r);

        ck_assert(r >= 2 && r <= load.n_servers);
        for (uint32_t q = 2; q <= load.n_servers; ++q) {
            uint64_t time = fs_radix_time_ns(&typical, &load, q);

            ck_assert_msg(q <= r ? best <= time : best < time,
                          "round %d: N %u, %u is not worse than %u", round,
                          load.n_servers, q, r);
        }
    }
}
END_TEST

START_TEST(extremes_do_not_overflow)
{
    fs_radix_cost_t cost = {.rate = 1, .rate_copy = 1};
    fs_radix_load_t load = {UINT32_C(1) << 31, 1, UINT64_C(1) << 62, 0};

    ck_assert_uint_eq(fs_radix_time_ns(&cost, &load, 2), UINT64_MAX);
    load = (fs_radix_load_t){1, 1, 8, 8};
    ck_assert_uint_eq(fs_radix_time_ns(&typical, &load, 2), 0);
    ck_assert_uint_eq(fs_radix_choose(&typical, &load), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("radix");
    TCase *tcase = tcase_create("radix");

    tcase_add_loop_test(tcase, every_bundle_and_row_arrives_once, 2, MAX_N + 1);
    tcase_add_test(tcase, one_server_sends_nothing);
    tcase_add_test(tcase, messages_are_counted);
    tcase_add_test(tcase, without_forwarding_it_is_direct);
    tcase_add_test(tcase, lanes_share_messages);
    tcase_add_test(tcase, two_servers_by_hand);
    tcase_add_test(tcase, four_servers_by_hand);
    tcase_add_test(tcase, start_up_costs_and_bytes_choose);
    tcase_add_test(tcase, the_choice_is_the_shortest);
    tcase_add_test(tcase, extremes_do_not_overflow);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
