/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Few rounds are left, and who lacks as many chunks as there are rounds must
 * receive one in each: call such a rank pressed. So each round is a matching
 * that leaves no pressed rank without a gift. Two ranks that lack equally many,
 * but not the same, always have something for each other, so matchings are
 * plenty, and the art is in what is sent. Rare chunks first: those who have the
 * rarest look for a partner that lacks it, best one that has a rare chunk for
 * them in return. Pressed ranks that are left over take a partner away from
 * another pair that can do without it. Whether that works out to the end is
 * seen in the end; if not, another try starts the search elsewhere.
 *
 * Limits: a heuristic. For even n it has always found the fewest rounds there
 * can be (tests/unit/sched/test_straggler.c); it promises only to come to an end.
 */
#include "sched/allreduce/fs_straggler_epilogue.h"
#include "sched/model/fs_rng.h"

#include <string.h>

enum { MAX_LIVE = 32, TRIES = 16 };

/* One round of one try. */
typedef struct round {
    uint32_t        n;
    uint32_t        left;            /* rounds, this one included */
    uint32_t        n_live;          /* bits that somebody lacks */
    uint32_t        order[MAX_LIVE]; /* [n_live] bits, the rarest first */
    const uint32_t *live;
    const uint32_t *old;
    uint32_t       *partner; /* [n] index, or FS_REST_NONE */
    uint32_t        start;   /* where searches begin */
} round_t;

/* ---- who can do what ---- */

static uint32_t n_lacked(const round_t *round, uint32_t u)
{
    return (uint32_t)__builtin_popcount(round->live[u]) +
           (round->old[u] != FS_REST_NONE);
}

static bool is_pressed(const round_t *round, uint32_t u)
{
    return n_lacked(round, u) >= round->left;
}

/* Has u something that v lacks? */
static bool has_for(const round_t *round, uint32_t u, uint32_t v)
{
    return (round->live[v] & ~round->live[u]) != 0 ||
           round->old[v] != FS_REST_NONE;
}

static bool suits(const round_t *round, uint32_t u, uint32_t v)
{
    bool u_gets = has_for(round, v, u), v_gets = has_for(round, u, v);

    return u != v && (u_gets || !is_pressed(round, u)) &&
           (v_gets || !is_pressed(round, v)) && (u_gets || v_gets);
}

/* Position in the order of the rarest live chunk that u has for v; n_live:
 * there is none. */
static uint32_t rarest_for(const round_t *round, uint32_t u, uint32_t v)
{
    uint32_t gifts = round->live[v] & ~round->live[u], k = 0;

    while (k < round->n_live && !(gifts >> round->order[k] & 1)) {
        ++k;
    }
    return k;
}

/* ---- a matching ---- */

static void match(round_t *round, uint32_t u, uint32_t v)
{
    round->partner[u] = v;
    round->partner[v] = u;
}

/* A free partner for u, who has a chunk (bit) that the partner must lack. */
static uint32_t find_taker(const round_t *round, uint32_t u, uint32_t bit)
{
    uint32_t best = FS_REST_NONE, best_cost = UINT32_MAX;

    for (uint32_t k = 0; k < round->n && best_cost > 0; ++k) {
        uint32_t v = (round->start + k) % round->n, cost;

        if (round->partner[v] != FS_REST_NONE || !(round->live[v] >> bit & 1) ||
            !suits(round, u, v)) {
            continue;
        }
        cost = 2 * rarest_for(round, v, u) + !is_pressed(round, v);
        if (cost < best_cost) {
            best      = v;
            best_cost = cost;
        }
    }
    return best;
}

static uint32_t n_takers(const round_t *round, uint32_t bit)
{
    uint32_t n = 0;

    for (uint32_t v = 0; v < round->n; ++v) {
        n += round->partner[v] == FS_REST_NONE && (round->live[v] >> bit & 1);
    }
    return n;
}

static void offer(round_t *round, uint32_t bit)
{
    uint32_t takers = n_takers(round, bit);

    for (uint32_t k = 0; k < round->n && takers > 0; ++k) {
        uint32_t u = (round->start + k) % round->n, v;

        if (round->partner[u] != FS_REST_NONE || (round->live[u] >> bit & 1)) {
            continue;
        }
        v = find_taker(round, u, bit);
        if (v != FS_REST_NONE) {
            takers -= 1 + (round->live[u] >> bit & 1);
            match(round, u, v);
        }
    }
}

/* A free partner for u, any that suits. */
static uint32_t find_any(const round_t *round, uint32_t u, uint32_t but)
{
    for (uint32_t v = 0; v < round->n; ++v) {
        if (v != but && round->partner[v] == FS_REST_NONE &&
            suits(round, u, v)) {
            return v;
        }
    }
    return FS_REST_NONE;
}

/* u takes x from y, if y finds another or needs none. */
static bool take_from_pair(round_t *round, uint32_t u)
{
    for (uint32_t x = 0; x < round->n; ++x) {
        uint32_t y = round->partner[x], z;

        if (y == FS_REST_NONE || !suits(round, u, x)) {
            continue;
        }
        z = find_any(round, y, u);
        if (z == FS_REST_NONE && is_pressed(round, y)) {
            continue;
        }
        round->partner[y] = FS_REST_NONE;
        match(round, u, x);
        if (z != FS_REST_NONE) {
            match(round, y, z);
        }
        return true;
    }
    return false;
}

/* False: a pressed rank goes without. */
static bool match_all(round_t *round)
{
    for (uint32_t k = 0; k < round->n_live; ++k) {
        offer(round, round->order[k]);
    }
    for (uint32_t u = 0; u < round->n; ++u) {
        if (round->partner[u] == FS_REST_NONE) {
            uint32_t v = find_any(round, u, FS_REST_NONE);

            if (v != FS_REST_NONE) {
                match(round, u, v);
            }
        }
    }
    for (uint32_t u = 0; u < round->n; ++u) {
        if (round->partner[u] == FS_REST_NONE && is_pressed(round, u) &&
            !take_from_pair(round, u)) {
            return false;
        }
    }
    return true;
}

/* ---- a round ---- */

/* Sort the live chunks by how many have them. False: one is so rare that it
 * cannot double often enough any more, or a rank lacks too many. */
static bool survey(round_t *round)
{
    uint64_t n_have[MAX_LIVE];

    round->n_live = 0;
    for (uint32_t bit = 0; bit < MAX_LIVE; ++bit) {
        uint32_t k = round->n_live;

        n_have[bit] = 0;
        for (uint32_t u = 0; u < round->n; ++u) {
            n_have[bit] += !(round->live[u] >> bit & 1);
        }
        if (n_have[bit] == round->n) {
            continue;
        }
        if (round->left < 32 && n_have[bit] << round->left < round->n) {
            return false;
        }
        for (; k > 0 && n_have[round->order[k - 1]] > n_have[bit]; --k) {
            round->order[k] = round->order[k - 1];
        }
        round->order[k] = bit;
        round->n_live++;
    }
    for (uint32_t u = 0; u < round->n; ++u) {
        if (n_lacked(round, u) > round->left) {
            return false;
        }
    }
    return true;
}

/* What u sends to its partner. */
static fs_epilogue_send_t send_of(const fs_epilogue_t *rest,
                                  const round_t *round, uint32_t u)
{
    uint32_t           v    = round->partner[u], k;
    fs_epilogue_send_t send = {FS_REST_NONE, FS_REST_NONE};

    if (v == FS_REST_NONE || !has_for(round, u, v)) {
        return send;
    }
    k          = rarest_for(round, u, v);
    send.dst   = v;
    send.chunk = k < round->n_live ? rest->youngest - round->order[k]
                                   : round->old[v];
    return send;
}

static void deliver(fs_epilogue_t *rest, const fs_epilogue_send_t *send)
{
    for (uint32_t u = 0; u < rest->n; ++u) {
        uint32_t v = send[u].dst;

        if (v == FS_REST_NONE) {
            continue;
        }
        if (send[u].chunk == rest->old_now[v]) {
            rest->old_now[v] = FS_REST_NONE;
        } else {
            rest->live_now[v] &= ~(1u << (rest->youngest - send[u].chunk));
        }
    }
}

static bool make_round(fs_epilogue_t *rest, uint32_t left, uint32_t start,
                       fs_epilogue_send_t *send)
{
    round_t round = {.n       = rest->n,
                     .left    = left,
                     .live    = rest->live_now,
                     .old     = rest->old_now,
                     .partner = rest->partner,
                     .start   = start};

    for (uint32_t u = 0; u < rest->n; ++u) {
        rest->partner[u] = FS_REST_NONE;
    }
    if (!survey(&round) || !match_all(&round)) {
        return false;
    }
    for (uint32_t u = 0; u < rest->n; ++u) {
        send[u] = send_of(rest, &round, u);
    }
    deliver(rest, send);
    return true;
}

/* ---- tries ---- */

static bool try_once(fs_epilogue_t *rest, uint32_t n_rounds, fs_rng_t *rng)
{
    memcpy(rest->live_now, rest->live, rest->n * sizeof(rest->live[0]));
    memcpy(rest->old_now, rest->old, rest->n * sizeof(rest->old[0]));
    for (uint32_t k = 0; k < n_rounds; ++k) {
        uint32_t start = (uint32_t)fs_rng_below(rng, rest->n);

        if (!make_round(rest, n_rounds - k, start,
                        rest->send + (size_t)k * rest->n)) {
            return false;
        }
    }
    for (uint32_t u = 0; u < rest->n; ++u) {
        if (rest->live_now[u] != 0 || rest->old_now[u] != FS_REST_NONE) {
            return false;
        }
    }
    return true;
}

bool fs_epilogue_find(fs_epilogue_t *rest, uint32_t n_rounds)
{
    fs_rng_t rng;

    fs_rng_init(&rng, n_rounds);
    for (uint32_t try = 0; try < TRIES; ++try) {
        if (try_once(rest, n_rounds, &rng)) {
            return true;
        }
    }
    return false;
}

fs_status_t fs_epilogue_init(fs_epilogue_t *rest, uint32_t n_ranks,
                             uint32_t max_rounds, fs_arena_t *arena)
{
    uint32_t **arrays[] = {&rest->live, &rest->old, &rest->live_now,
                           &rest->old_now, &rest->partner};

    rest->n        = n_ranks;
    rest->youngest = n_ranks - 2;
    rest->send     = fs_arena_calloc(arena, (size_t)max_rounds * n_ranks,
                                     sizeof(rest->send[0]));
    if (rest->send == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t k = 0; k < sizeof(arrays) / sizeof(arrays[0]); ++k) {
        *arrays[k] = fs_arena_calloc(arena, n_ranks, sizeof(uint32_t));
        if (*arrays[k] == NULL) {
            return FS_ERR_NOMEM;
        }
    }
    return FS_OK;
}
