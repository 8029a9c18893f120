/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that enter a call in any order exchange blocks until the last one has
 * come: then both ends of each pair agree on what has moved, and its bytes are right. */
#include "engine/fs_early.h"
#include "fs_test_util.h"
#include "fs_transport_loop.h"
#include "sched/model/fs_ports.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 9, MAX_TURNS = 2000000, N_CALLS = 3, LONGEST = 3000 };

typedef enum place { OUTSIDE, INSIDE, CLOSED, SETTLED, OVER } place_t;

typedef struct actor {
    fs_net_t       *net;
    fs_transport_t *transport;
    fs_early_t     *early;
    fs_counts_t     counts;
    fs_call_t       call;
    unsigned char  *send[MAX_RANKS], *recv[MAX_RANKS];
    place_t         place;
    uint32_t        delay;  /* turns until it enters */
    uint32_t        number; /* of its call */
} actor_t;

typedef struct play {
    fs_rng_t   rng;
    uint32_t   n;
    fs_topo_t *topo;
    fs_loop_t *loop;
    uint64_t   bytes[MAX_RANKS][MAX_RANKS];
    uint32_t   number; /* of the newest call; the first is 1 */
    /* Ranks that have come so far, per call. */
    uint32_t n_inside[N_CALLS + 1], n_settled[N_CALLS + 1], n_over[N_CALLS + 1];
    uint64_t chunk, patience, now; /* turns, if there is a patience */
    actor_t  actors[MAX_RANKS];
} play_t;

static unsigned char byte_of(uint32_t src, uint32_t dst, uint64_t k,
                             uint32_t number)
{
    return (unsigned char)(src * 61 + dst * 17 + k * 7 + (k >> 8) +
                           number * 29);
}

/* ---- a play ---- */

static void begin(play_t *play, uint64_t seed, uint32_t n,
                  const uint32_t *servers)
{
    uint8_t reach[MAX_RANKS];

    memset(reach, FS_REACH_WIRE, sizeof(reach));
    memset(play, 0, sizeof(*play));
    fs_rng_init(&play->rng, seed);
    play->n = n;
    ck_assert_int_eq(fs_topo_create(n, servers, 0, &play->topo), FS_OK);
    play->loop = fs_loop_create(n, seed + 1);
    for (uint32_t r = 0; r < n; ++r) {
        actor_t *a   = &play->actors[r];
        a->net       = fs_loop_net(play->loop, r);
        a->transport = fs_loop_transport(play->loop, r, 0);
        ck_assert_int_eq(
            fs_early_create(a->transport, play->topo, r, reach, &a->early),
            FS_OK);
        ck_assert_int_eq(fs_counts_init(&a->counts, n, r), FS_OK);
    }
}

static void end(play_t *play)
{
    for (uint32_t r = 0; r < play->n; ++r) {
        actor_t *a = &play->actors[r];

        fs_early_destroy(a->early, false);
        a->transport->ops->destroy(a->transport);
        fs_counts_fini(&a->counts);
    }
    fs_loop_destroy(play->loop);
    fs_topo_destroy(play->topo);
}

static void draw_bytes(play_t *play)
{
    for (uint32_t u = 0; u < play->n; ++u) {
        for (uint32_t v = 0; v < play->n; ++v) {
            play->bytes[u][v] = fs_rng_below(&play->rng, 4) == 0
                                    ? 0
                                    : fs_rng_below(&play->rng, LONGEST);
        }
    }
}

/* Its next call. */
static void fill(play_t *play, uint32_t me)
{
    actor_t *a = &play->actors[me];

    a->number    = a->number + 1;
    play->number = a->number > play->number ? a->number : play->number;
    for (uint32_t r = 0; r < play->n; ++r) {
        uint64_t n_send = play->bytes[me][r], n_recv = play->bytes[r][me];

        a->send[r] = fs_test_alloc(n_send + 1, 1);
        a->recv[r] = fs_test_alloc(n_recv + 1, 1);
        for (uint64_t k = 0; k < n_send; ++k) {
            a->send[r][k] = byte_of(me, r, k, a->number);
        }
    }
}

static void enter(play_t *play, uint32_t me)
{
    actor_t *a = &play->actors[me];

    fs_counts_begin(&a->counts, play->topo);
    for (uint32_t r = 0; r < play->n; ++r) {
        fs_counts_add(&a->counts, r, play->bytes[me][r], play->bytes[r][me]);
    }
    a->call = (fs_call_t){.counts     = &a->counts,
                          .send_block = (const void *const *)a->send,
                          .recv_block = (void *const *)a->recv};
    fs_early_begin(a->early, &a->call, a->number, play->chunk, play->patience);
    a->place = INSIDE;
    ++play->n_inside[a->number];
}

/* As a request does; that all have entered is known here, and that all are settled,
 * which they are when there is a summary. */
static void take_turn(play_t *play, uint32_t me)
{
    actor_t *a = &play->actors[me];

    if (a->place == OVER) {
        return; /* it computes for long */
    }
    (void)a->net->ops->progress(a->net);
    if (a->place == OUTSIDE) {
        if (a->delay-- == 0) {
            enter(play, me);
        }
        return;
    }
    ck_assert_int_eq(fs_early_progress(a->early, play->now), FS_OK);
    if (a->place == INSIDE && play->n_inside[a->number] == play->n &&
        fs_rng_below(&play->rng, 5) == 0) {
        fs_early_close(a->early, 1000, fs_rng_below(&play->rng, 1000));
        a->place = CLOSED;
    } else if (a->place == CLOSED && fs_early_is_settled(a->early)) {
        a->place = SETTLED;
        ++play->n_settled[a->number];
        (void)fs_early_rest(a->early);
    } else if (a->place == SETTLED && play->n_settled[a->number] == play->n &&
               fs_early_is_over(a->early) && a->transport->n_grants_out == 0) {
        a->place = OVER;
        ++play->n_over[a->number];
    }
}

/* Some may be inside. */
static void run(play_t *play)
{
    for (uint32_t turn = 0; play->n_over[play->number] < play->n; ++turn) {
        ck_assert_uint_lt(turn, MAX_TURNS);
        take_turn(play, (uint32_t)fs_rng_below(&play->rng, play->n));
    }
}

/* ---- what must be so ---- */

/* Bytes that have moved from u to v, as both say. */
static uint64_t moved(play_t *play, uint32_t u, uint32_t v)
{
    const fs_call_t *sends = fs_early_rest(play->actors[u].early);
    const fs_call_t *recvs = fs_early_rest(play->actors[v].early);
    uint64_t         gone  = play->bytes[u][v] - sends->counts->send_bytes[v];

    ck_assert_uint_eq(gone, play->bytes[u][v] - recvs->counts->recv_bytes[u]);
    ck_assert_ptr_eq(sends->send_block[v], play->actors[u].send[v] + gone);
    ck_assert_ptr_eq(recvs->recv_block[u], play->actors[v].recv[u] + gone);
    return gone;
}

/* As the summary finds out whether counts differ. */
static bool digests_agree(play_t *play)
{
    uint64_t difference = 0;

    for (uint32_t r = 0; r < play->n; ++r) {
        const fs_counts_t *rest = fs_early_rest(play->actors[r].early)->counts;

        difference += rest->send_digest - rest->received_digest;
    }
    return difference == 0;
}

static uint64_t check(play_t *play)
{
    uint64_t all = 0;

    ck_assert(digests_agree(play));
    for (uint32_t u = 0; u < play->n; ++u) {
        for (uint32_t v = 0; v < play->n; ++v) {
            uint64_t gone = moved(play, u, v);

            for (uint64_t k = 0; k < gone; ++k) {
                ck_assert_uint_eq(play->actors[v].recv[u][k],
                                  byte_of(u, v, k, play->number));
            }
            if (play->topo->server[u] == play->topo->server[v]) {
                ck_assert_uint_eq(gone, 0);
            }
            all += gone;
        }
    }
    return all;
}

static void forget(play_t *play)
{
    for (uint32_t u = 0; u < play->n; ++u) {
        actor_t *a = &play->actors[u];

        (void)fs_early_take_bytes(a->early);
        a->place = OUTSIDE;
        for (uint32_t v = 0; v < play->n; ++v) {
            free(a->send[v]);
            free(a->recv[v]);
        }
    }
}

/* One call; returns the bytes that have moved early. */
static uint64_t play_call(play_t *play)
{
    fs_loop_seen_t seen;
    uint64_t       all, sent = 0;

    for (uint32_t r = 0; r < play->n; ++r) {
        fill(play, r);
    }
    run(play);
    all = check(play);
    for (uint32_t r = 0; r < play->n; ++r) {
        sent += fs_early_take_bytes(play->actors[r].early);
    }
    ck_assert_uint_eq(sent, all);
    seen = fs_loop_take_seen(play->loop);
    ck_assert_uint_eq(seen.twins, 0);
    forget(play);
    return all;
}

/* ---- tests ---- */

static const struct {
    uint32_t n, servers[MAX_RANKS];
} layouts[] = {
    {3, {0, 1, 2}},
    {4, {0, 0, 1, 1}},
    {4, {0, 1, 2, 3}},
    {6, {0, 1, 0, 2, 1, 2}},
    {9, {0, 0, 0, 0, 1, 1, 2, 3, 3}},
};
enum { N_LAYOUTS = sizeof(layouts) / sizeof(layouts[0]), N_SEEDS = 40 };

START_TEST(random_entries)
{
    play_t play;

    for (uint64_t seed = 0; seed < N_SEEDS; ++seed) {
        begin(&play, 1000 * (uint64_t)_i + seed, layouts[_i].n,
              layouts[_i].servers);
        for (int call = 0; call < N_CALLS; ++call) {
            uint32_t spread = (uint32_t)fs_rng_below(&play.rng, 2000) + 1;

            play.chunk = 1 + fs_rng_below(&play.rng, 700);
            draw_bytes(&play);
            for (uint32_t r = 0; r < play.n; ++r) {
                play.actors[r].delay =
                    (uint32_t)fs_rng_below(&play.rng, spread);
            }
            (void)play_call(&play);
        }
        end(&play);
    }
}
END_TEST

/* Entry k of permutation number p of n ranks. */
static void permute(uint32_t p, uint32_t n, uint32_t *order)
{
    for (uint32_t k = 0; k < n; ++k) {
        order[k] = k;
    }
    for (uint32_t k = n; k > 1; --k) {
        uint32_t at = p % k, rank = order[at];

        p /= k;
        order[at]    = order[k - 1];
        order[k - 1] = rank;
    }
}

/* Of 3 and 4 ranks, with each gap either none or long. */
START_TEST(every_order)
{
    uint32_t n = layouts[_i].n, n_orders = n == 3 ? 6 : 24, order[MAX_RANKS];
    play_t   play;

    for (uint32_t p = 0; p < n_orders; ++p) {
        for (uint32_t gaps = 0; gaps < 1U << (n - 1); ++gaps) {
            uint32_t at = 0;

            begin(&play, 100 * p + gaps, n, layouts[_i].servers);
            permute(p, n, order);
            play.chunk = 300;
            draw_bytes(&play);
            for (uint32_t k = 0; k < n; ++k) {
                play.actors[order[k]].delay = at;
                at += gaps >> k & 1 ? 800 : 0;
            }
            (void)play_call(&play);
            end(&play);
        }
    }
}
END_TEST

/* ---- where others stand when a rank enters ---- */

/* Messages and words that have come so far. */
static uint64_t n_events(const play_t *play)
{
    uint64_t n = 0;

    for (uint32_t r = 0; r < play->n; ++r) {
        n += play->actors[r].net->n_ended;
    }
    return n;
}

enum { NEVER = 1 << 30, IDLE_TURNS = 200 };

/* Turns of those inside until so much has happened, or nothing will. */
static void let_happen(play_t *play, uint64_t gap)
{
    uint64_t from = n_events(play), seen = from;

    for (uint32_t idle = 0; seen - from < gap && idle < IDLE_TURNS; ++idle) {
        take_turn(play, (uint32_t)fs_rng_below(&play->rng, play->n));
        idle = n_events(play) != seen ? 0 : idle;
        seen = n_events(play);
    }
}

/* A call of ranks that enter in this order, with these gaps. */
static void enter_after(const uint32_t *servers, uint32_t n, uint64_t seed,
                        const uint32_t *order, const uint32_t *gaps)
{
    play_t play;

    begin(&play, seed, n, servers);
    play.chunk = 100;
    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t v = 0; v < n; ++v) {
            play.bytes[u][v] = fs_rng_below(&play.rng, 300);
        }
    }
    for (uint32_t r = 0; r < n; ++r) {
        fill(&play, r);
        play.actors[r].delay = NEVER;
    }
    for (uint32_t k = 0; k < n; ++k) {
        let_happen(&play, k == 0 ? 0 : gaps[k]);
        enter(&play, order[k]);
    }
    run(&play);
    (void)check(&play);
    forget(&play);
    end(&play);
}

/* Each rank enters after each number of events up to this, or when nothing happens
 * any more: then two ranks have exchanged all of their few chunks. */
enum { LAST_EVENT = 16 };

START_TEST(every_moment_of_three)
{
    uint32_t order[MAX_RANKS], gaps[MAX_RANKS];

    permute((uint32_t)_i, 3, order);
    for (gaps[1] = 0; gaps[1] <= LAST_EVENT; ++gaps[1]) {
        for (gaps[2] = 0; gaps[2] <= LAST_EVENT; ++gaps[2]) {
            enter_after(layouts[0].servers, 3,
                        100 * gaps[1] + gaps[2] + 10000 * (uint64_t)_i, order,
                        gaps);
        }
    }
}
END_TEST

/* Likewise of four, on two servers and on four, after some of these numbers. */
START_TEST(many_moments_of_four)
{
    static const uint32_t moments[] = {0, 1, 4, 11, NEVER};
    enum { N = sizeof(moments) / sizeof(moments[0]) };
    uint32_t order[MAX_RANKS], gaps[MAX_RANKS];

    permute((uint32_t)_i, 4, order);
    for (uint32_t k = 0; k < N * N * N; ++k) {
        gaps[1] = moments[k % N];
        gaps[2] = moments[k / N % N];
        gaps[3] = moments[k / N / N];
        enter_after(layouts[1 + k % 2].servers, 4, k + 1000 * (uint64_t)_i,
                    order, gaps);
    }
}
END_TEST

/* ---- one call after the other ---- */

/* What both ends say of a pair, per call. */
typedef struct account {
    uint64_t gone[N_CALLS + 1][MAX_RANKS][MAX_RANKS];
    uint64_t come[N_CALLS + 1][MAX_RANKS][MAX_RANKS];
} account_t;

/* Its part is over: what it has received is right, and nobody reads any more what it
 * has sent. */
static void close_account(play_t *play, uint32_t me, account_t *account)
{
    actor_t         *a    = &play->actors[me];
    const fs_call_t *rest = fs_early_rest(a->early);

    for (uint32_t r = 0; r < play->n; ++r) {
        uint64_t come = play->bytes[r][me] - rest->counts->recv_bytes[r];

        account->come[a->number][r][me] = come;
        account->gone[a->number][me][r] = play->bytes[me][r] -
                                          rest->counts->send_bytes[r];
        for (uint64_t k = 0; k < come; ++k) {
            ck_assert_uint_eq(a->recv[r][k], byte_of(r, me, k, a->number));
        }
        memset(a->send[r], 0xAA, play->bytes[me][r]);
        free(a->send[r]);
        free(a->recv[r]);
    }
}

/* On to the next call, while others are still in this one. */
static void go_on(play_t *play, uint32_t me, account_t *account)
{
    actor_t *a = &play->actors[me];

    close_account(play, me, account);
    if (a->number < N_CALLS) {
        fill(play, me);
        a->delay = (uint32_t)fs_rng_below(&play->rng, 2) *
                   (uint32_t)fs_rng_below(&play->rng, 1000);
        a->place = OUTSIDE;
    } else {
        a->number = N_CALLS + 1;
    }
}

/* A rank may be in its next call before others have left this one, and its words
 * come before theirs are over. */
START_TEST(calls_follow_at_once)
{
    for (uint64_t seed = 0; seed < N_SEEDS; ++seed) {
        account_t account = {0};
        play_t    play;

        begin(&play, 500 * (uint64_t)_i + seed, layouts[_i].n,
              layouts[_i].servers);
        play.chunk = 1 + fs_rng_below(&play.rng, 700);
        draw_bytes(&play);
        for (uint32_t r = 0; r < play.n; ++r) {
            fill(&play, r);
            play.actors[r].delay = (uint32_t)fs_rng_below(&play.rng, 1000);
        }
        for (uint32_t turn = 0, n_gone = 0; n_gone < play.n; ++turn) {
            uint32_t me = (uint32_t)fs_rng_below(&play.rng, play.n);

            ck_assert_uint_lt(turn, MAX_TURNS);
            if (play.actors[me].number <= N_CALLS) {
                take_turn(&play, me);
                if (play.actors[me].place == OVER) {
                    go_on(&play, me, &account);
                    n_gone += play.actors[me].number > N_CALLS;
                }
            }
        }
        ck_assert_int_eq(
            memcmp(account.gone, account.come, sizeof(account.gone)), 0);
        end(&play);
    }
}
END_TEST

/* The others have nothing to wait for: all between them has moved when it comes, and
 * something more before they know. */
START_TEST(one_comes_last)
{
    uint64_t expected = 0;
    play_t   play;

    begin(&play, (uint64_t)_i, layouts[4].n, layouts[4].servers);
    play.chunk = 500;
    draw_bytes(&play);
    play.actors[_i].delay = 20000;
    for (uint32_t u = 0; u < play.n; ++u) {
        for (uint32_t v = 0; v < play.n; ++v) {
            if (play.topo->server[u] != play.topo->server[v] &&
                u != (uint32_t)_i && v != (uint32_t)_i) {
                expected += play.bytes[u][v];
            }
        }
    }
    ck_assert_uint_ge(play_call(&play), expected);
    end(&play);
}
END_TEST

/* ---- a rank that computes ---- */

/* Turns of these; the others do not look at the network. */
static void let_look(play_t *play, const uint32_t *who, uint32_t n_who,
                     uint32_t n_turns)
{
    for (uint32_t k = 0; k < n_turns; ++k) {
        play->now++;
        take_turn(play, who[fs_rng_below(&play->rng, n_who)]);
    }
}

static void ck_has_all(const play_t *play, uint32_t src, uint32_t dst)
{
    for (uint64_t k = 0; k < play->bytes[src][dst]; ++k) {
        ck_assert_uint_eq(play->actors[dst].recv[src][k],
                          byte_of(src, dst, k, 1));
    }
}

/* It has entered, and looks at the network for some turns: at offers, maybe, or at
 * chunks that are under way. While it does not look the two others exchange all that
 * they have for each other; then all goes on. */
START_TEST(one_computes)
{
    static const uint32_t all[] = {0, 1, 2};

    for (uint32_t looks = 0; looks < 60; ++looks) {
        play_t play;

        begin(&play, 77 * looks + (uint64_t)_i, layouts[2].n,
              layouts[2].servers);
        play.chunk    = 100;
        play.patience = 500;
        draw_bytes(&play);
        for (uint32_t r = 0; r < play.n; ++r) {
            fill(&play, r);
            play.actors[r].delay = r == 3 ? NEVER : 0;
        }
        enter(&play, 0);
        if (_i == 1) { /* it is the first to look */
            take_turn(&play, 0);
        }
        let_look(&play, all, 3, 3 * looks);
        let_look(&play, all + 1, 2, 20000);
        ck_has_all(&play, 1, 2);
        ck_has_all(&play, 2, 1);
        play.actors[3].delay = 0;
        run(&play);
        (void)check(&play);
        forget(&play);
        end(&play);
    }
}
END_TEST

/* Its blocks are not where they seem: it waits, and is not waited for. */
START_TEST(one_takes_no_part)
{
    play_t   play;
    actor_t *odd = &play.actors[2];

    begin(&play, 7, layouts[3].n, layouts[3].servers);
    play.chunk = 400;
    draw_bytes(&play);
    play.actors[5].delay = 5000;
    for (uint32_t r = 0; r < play.n; ++r) {
        fill(&play, r);
    }
    odd->delay = 0;
    while (odd->place == OUTSIDE) {
        take_turn(&play, 2);
    }
    odd->call.recv_late = true;
    fs_early_begin(odd->early, &odd->call, odd->number, play.chunk, 0);
    run(&play);
    ck_assert(digests_agree(&play));
    ck_assert_ptr_eq(fs_early_rest(odd->early)->send_block,
                     odd->call.send_block);
    ck_assert(fs_early_rest(odd->early)->recv_late);
    for (uint32_t r = 0; r < play.n; ++r) {
        if (r != 2) {
            ck_assert_uint_eq(
                fs_early_rest(play.actors[r].early)->counts->send_bytes[2],
                play.bytes[r][2]);
        }
    }
    forget(&play);
    end(&play);
}
END_TEST

static const uint64_t expected[] = {1950, 450, 999, 1001};
enum { N_EXPECTED = sizeof(expected) / sizeof(expected[0]) };

/* A rank does not expect what is sent, also where all chunks go: nothing hangs, and
 * the digests of the rest differ. */
START_TEST(counts_differ)
{
    play_t play;

    begin(&play, 11, layouts[1].n, layouts[1].servers);
    play.chunk           = 200;
    play.bytes[2][0]     = 300;
    play.actors[3].delay = 3000;
    play.bytes[0][2]     = expected[_i];
    fill(&play, 2);
    enter(&play, 2);
    play.bytes[0][2] = 1000;
    for (uint32_t r = 0; r < play.n; ++r) {
        if (r != 2) {
            fill(&play, r);
        }
    }
    run(&play);
    ck_assert(!digests_agree(&play));
    forget(&play);
    end(&play);
}
END_TEST

/* Who has no NIC of its own cannot. */
START_TEST(fewer_lanes_than_ranks)
{
    static const uint32_t proxy[] = {0};
    play_t                play;

    begin(&play, 3, layouts[1].n, layouts[1].servers);
    ck_assert(fs_early_can(play.topo));
    fs_topo_set_lanes(play.topo, 1, 1, proxy);
    fs_ports_set_width(play.topo);
    ck_assert(!fs_early_can(play.topo));
    end(&play);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("early");
    TCase *tcase = tcase_create("early");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, random_entries, 0, N_LAYOUTS);
    tcase_add_loop_test(tcase, every_order, 0, 3);
    tcase_add_loop_test(tcase, every_moment_of_three, 0, 6);
    tcase_add_loop_test(tcase, many_moments_of_four, 0, 24);
    tcase_add_loop_test(tcase, calls_follow_at_once, 0, N_LAYOUTS);
    tcase_add_loop_test(tcase, one_comes_last, 0, 9);
    tcase_add_loop_test(tcase, one_computes, 0, 2);
    tcase_add_test(tcase, one_takes_no_part);
    tcase_add_loop_test(tcase, counts_differ, 0, N_EXPECTED);
    tcase_add_test(tcase, fewer_lanes_than_ranks);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
