/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Few rounds are left, and a rank that lacks as many chunks as there are rounds
 * must receive one in each: such a rank is called pressed. So each round is a
 * matching in which every pressed rank receives a chunk. Two ranks that lack
 * equally many chunks, but not the same ones, always have a chunk for each
 * other, so there are many matchings; the choice of the chunks matters. Rare
 * chunks come first: a rank that has the rarest one looks for a partner that
 * lacks it, preferably one that has a rare chunk in return. Pressed ranks that
 * are left over take a partner from another pair that is not pressed. If chunks
 * are lacking in the end, another try starts the search elsewhere.
 *
 * Limits: a heuristic. For even n it has always found the smallest possible
 * number of rounds (tests/unit/sched/test_straggler.c); only termination is
 * guaranteed.
 */
#include "sched/allreduce/fs_straggler_epilogue.h"
#include "sched/model/fs_rng.h"

#include <string.h>

enum { MAX_LIVE = 32, TRIES = 16 };

/* One round of one try. */
typedef struct round {
    uint32_t        n;
    uint32_t        left;            /* rounds, this one included */
    uint32_t        n_live;          /* bits that some rank lacks */
    uint32_t        order[MAX_LIVE]; /* [n_live] bits, the rarest first */
    const uint32_t *live;
    const uint32_t *old;
    uint32_t       *partner; /* [n] index, or FS_EPILOGUE_NONE */
    uint32_t        start;   /* where searches begin */
} round_t;

/* ---- possible partners ---- */

static uint32_t n_lacked(const round_t *round, uint32_t u)
{
    return (uint32_t)__builtin_popcount(round->live[u]) +
           (round->old[u] != FS_EPILOGUE_NONE);
}

static bool is_pressed(const round_t *round, uint32_t u)
{
    return n_lacked(round, u) >= round->left;
}

/* Has u something that v lacks? */
static bool has_for(const round_t *round, uint32_t u, uint32_t v)
{
    return (round->live[v] & ~round->live[u]) != 0 ||
           round->old[v] != FS_EPILOGUE_NONE;
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

/* A free partner for u, which has a chunk (bit) that the partner must lack. */
static uint32_t find_taker(const round_t *round, uint32_t u, uint32_t bit)
{
    uint32_t best = FS_EPILOGUE_NONE, best_cost = UINT32_MAX;

    for (uint32_t k = 0; k < round->n && best_cost > 0; ++k) {
        uint32_t v = (round->start + k) % round->n, cost;

        if (round->partner[v] != FS_EPILOGUE_NONE ||
            !(round->live[v] >> bit & 1) || !suits(round, u, v)) {
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
        n += round->partner[v] == FS_EPILOGUE_NONE &&
             (round->live[v] >> bit & 1);
    }
    return n;
}

static void offer(round_t *round, uint32_t bit)
{
    uint32_t takers = n_takers(round, bit);

    for (uint32_t k = 0; k < round->n && takers > 0; ++k) {
        uint32_t u = (round->start + k) % round->n, v;

        if (round->partner[u] != FS_EPILOGUE_NONE ||
            (round->live[u] >> bit & 1)) {
            continue;
        }
        v = find_taker(round, u, bit);
        if (v != FS_EPILOGUE_NONE) {
            takers -= 1 + (round->live[u] >> bit & 1);
            match(round, u, v);
        }
    }
}

/* A free partner for u, any that suits. */
static uint32_t find_any(const round_t *round, uint32_t u, uint32_t but)
{
    for (uint32_t v = 0; v < round->n; ++v) {
        if (v != but && round->partner[v] == FS_EPILOGUE_NONE &&
            suits(round, u, v)) {
            return v;
        }
    }
    return FS_EPILOGUE_NONE;
}

/* u takes x from y, if y finds another or needs none. */
static bool take_from_pair(round_t *round, uint32_t u)
{
    for (uint32_t x = 0; x < round->n; ++x) {
        uint32_t y = round->partner[x], z;

        if (y == FS_EPILOGUE_NONE || !suits(round, u, x)) {
            continue;
        }
        z = find_any(round, y, u);
        if (z == FS_EPILOGUE_NONE && is_pressed(round, y)) {
            continue;
        }
        round->partner[y] = FS_EPILOGUE_NONE;
        match(round, u, x);
        if (z != FS_EPILOGUE_NONE) {
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
        if (round->partner[u] == FS_EPILOGUE_NONE) {
            uint32_t v = find_any(round, u, FS_EPILOGUE_NONE);

            if (v != FS_EPILOGUE_NONE) {
                match(round, u, v);
            }
        }
    }
    for (uint32_t u = 0; u < round->n; ++u) {
        if (round->partner[u] == FS_EPILOGUE_NONE && is_pressed(round, u) &&
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
static fs_epilogue_send_t send_of(const fs_epilogue_t *epilogue,
                                  const round_t *round, uint32_t u)
{
    uint32_t           v    = round->partner[u], k;
    fs_epilogue_send_t send = {FS_EPILOGUE_NONE, FS_EPILOGUE_NONE};

    if (v == FS_EPILOGUE_NONE || !has_for(round, u, v)) {
        return send;
    }
    k          = rarest_for(round, u, v);
    send.dst   = v;
    send.chunk = k < round->n_live ? epilogue->youngest - round->order[k]
                                   : round->old[v];
    return send;
}

static void deliver(fs_epilogue_t *epilogue, const fs_epilogue_send_t *send)
{
    for (uint32_t u = 0; u < epilogue->n; ++u) {
        uint32_t v = send[u].dst;

        if (v == FS_EPILOGUE_NONE) {
            continue;
        }
        if (send[u].chunk == epilogue->old_now[v]) {
            epilogue->old_now[v] = FS_EPILOGUE_NONE;
        } else {
            epilogue->live_now[v] &=
                ~(1u << (epilogue->youngest - send[u].chunk));
        }
    }
}

static bool make_round(fs_epilogue_t *epilogue, uint32_t left, uint32_t start,
                       fs_epilogue_send_t *send)
{
    round_t round = {.n       = epilogue->n,
                     .left    = left,
                     .live    = epilogue->live_now,
                     .old     = epilogue->old_now,
                     .partner = epilogue->partner,
                     .start   = start};

    for (uint32_t u = 0; u < epilogue->n; ++u) {
        epilogue->partner[u] = FS_EPILOGUE_NONE;
    }
    if (!survey(&round) || !match_all(&round)) {
        return false;
    }
    for (uint32_t u = 0; u < epilogue->n; ++u) {
        send[u] = send_of(epilogue, &round, u);
    }
    deliver(epilogue, send);
    return true;
}

/* ---- tries ---- */

static bool try_once(fs_epilogue_t *epilogue, uint32_t n_rounds, fs_rng_t *rng)
{
    memcpy(epilogue->live_now, epilogue->live,
           epilogue->n * sizeof(epilogue->live[0]));
    memcpy(epilogue->old_now, epilogue->old,
           epilogue->n * sizeof(epilogue->old[0]));
    for (uint32_t k = 0; k < n_rounds; ++k) {
        uint32_t start = (uint32_t)fs_rng_below(rng, epilogue->n);

        if (!make_round(epilogue, n_rounds - k, start,
                        epilogue->send + (size_t)k * epilogue->n)) {
            return false;
        }
    }
    for (uint32_t u = 0; u < epilogue->n; ++u) {
        if (epilogue->live_now[u] != 0 ||
            epilogue->old_now[u] != FS_EPILOGUE_NONE) {
            return false;
        }
    }
    return true;
}

bool fs_epilogue_find(fs_epilogue_t *epilogue, uint32_t n_rounds)
{
    fs_rng_t rng;

    fs_rng_init(&rng, n_rounds);
    for (uint32_t try = 0; try < TRIES; ++try) {
        if (try_once(epilogue, n_rounds, &rng)) {
            return true;
        }
    }
    return false;
}

fs_status_t fs_epilogue_init(fs_epilogue_t *epilogue, uint32_t n_ranks,
                             uint32_t max_rounds, fs_arena_t *arena)
{
    uint32_t **arrays[] = {&epilogue->live, &epilogue->old, &epilogue->live_now,
                           &epilogue->old_now, &epilogue->partner};

    epilogue->n        = n_ranks;
    epilogue->youngest = n_ranks - 2;
    epilogue->send     = fs_arena_calloc(arena, (size_t)max_rounds * n_ranks,
                                         sizeof(epilogue->send[0]));
    if (epilogue->send == NULL) {
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
