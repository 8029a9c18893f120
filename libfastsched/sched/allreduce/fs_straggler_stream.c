/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several late ranks: each streams its contributions past the punctual ones.
 *
 * The m punctual ranks reduce and scatter among themselves. Each then owns some
 * chunks, its pieces. A step is one piece of one owner: the pieces number 0 of all
 * owners, in order, then the pieces number 1, and so on. In late round r the late
 * rank that enters first adds its contribution to step r at its owner, the second
 * to step r - 1, and so on. The last exchanges: it and the owner then both have
 * the sum. So a late rank sends each chunk once, and what the first ones do while
 * the last is awaited is done when it comes.
 *
 * Whatever ports are left in a round spread the sums: a matching of those that have
 * a sum with those that lack it. The chunk that fewest have goes first, to the rank
 * that has fewest; a rank that stays without partner may move others
 * (augmenting paths), lowest index first.
 *
 * Cost. An owner receives what the n_late late ranks contribute to its chunks, and
 * the sums of all others: n - 1 rounds for each m chunks. So no schedule in which
 * the owners add has fewer than n_pieces * (n - 1) rounds, of a chunk each, and the
 * last sum needs log n to reach everybody. What comes out is at most n_pieces *
 * (n - 1) + log n + n_late - 1, log rounded up, with up to three late ranks of 4 to 33
 * (tests/unit/sched/test_straggler_stream.c has which), some more with more. In bytes
 * that is (n - 1) / m of the vector, and little more the more pieces there are; each
 * costs the start of n - 1 messages. A ring takes 2 (n - 1) / n.
 *
 * Limits: late ranks only receive sums, they do not add for each other; with
 * half of all late nothing is gained over a ring.
 */
#include "sched/allreduce/fs_straggler_build.h"

#include "base/fs_arith.h"
#include "base/fs_bits.h"

#include <stdlib.h>

enum { NOBODY = UINT32_MAX };

/* Ranks by position: the punctual first, then the late as they enter. */
typedef struct stream {
    fs_straggler_build_t *build;
    uint32_t              n;
    uint32_t              n_punctual;
    uint32_t              n_steps;
    uint32_t              n_words; /* of a row of steps */
    uint64_t             *have;    /* [n x n_words] sums */
    uint32_t             *n_have;  /* [n] */
    uint32_t             *copies;  /* [n_steps] ranks that have the sum */
    uint32_t             *live; /* [n_live] steps that some have and some lack,
                                      those with fewest copies first */
    uint32_t              n_live;
    uint32_t             *wanting; /* [n] positions, those with fewest first */
    uint32_t *best;  /* [n x n] of sender and receiver: index in live, or
                                   NOBODY */
    uint32_t *to;    /* [n] whom a position sends to in this round */
    uint32_t *from;  /* [n] whom it receives from */
    uint32_t *step;  /* [n] what it sends */
    bool     *adds;  /* [n] it sends a contribution, not a sum */
    bool     *seen;  /* [n] receiver, in this search */
    uint32_t *least; /* [n] of best, of a sender */
} stream_t;

static uint64_t *row_of(const stream_t *st, uint32_t position)
{
    return st->have + (size_t)position * st->n_words;
}

static uint32_t owner_of(const stream_t *st, uint32_t step)
{
    return step % st->n_punctual;
}

static void send(stream_t *st, uint32_t src, uint32_t dst, uint32_t step,
                 bool adds)
{
    st->to[src]   = dst;
    st->from[dst] = src;
    st->step[src] = step;
    st->adds[src] = adds;
}

/* ---- contributions ---- */

static void stream_by(stream_t *st, uint32_t round)
{
    uint32_t n_late = st->n - st->n_punctual;

    for (uint32_t k = 0; k < n_late && k <= round; ++k) {
        uint32_t late = st->n_punctual + k, step = round - k;

        if (step < st->n_steps) {
            send(st, late, owner_of(st, step), step, true);
            if (k == n_late - 1) {
                send(st, owner_of(st, step), late, step, true);
            }
        }
    }
}

/* ---- sums ---- */

/* A list by key of its items, the least first; it is nearly in order already. */
static void sort_by(const uint32_t *key, uint32_t *list, uint32_t n)
{
    for (uint32_t i = 1; i < n; ++i) {
        uint32_t item = list[i], k = i;

        for (; k > 0 && key[list[k - 1]] > key[item]; --k) {
            list[k] = list[k - 1];
        }
        list[k] = item;
    }
}

/* The rarest that src has and dst lacks. */
static uint32_t find_best(const stream_t *st, uint32_t src, uint32_t dst)
{
    for (uint32_t i = 0; i < st->n_live; ++i) {
        if (fs_bits_has(row_of(st, src), st->live[i]) &&
            !fs_bits_has(row_of(st, dst), st->live[i])) {
            return i;
        }
    }
    return NOBODY;
}

/* Returns the least of all receivers. */
static uint32_t find_all_best(stream_t *st, uint32_t src)
{
    uint32_t least = NOBODY;

    for (uint32_t dst = 0; dst < st->n; ++dst) {
        uint32_t *best   = &st->best[(size_t)src * st->n + dst];
        bool      is_met = st->from[dst] != NOBODY && st->adds[st->from[dst]];

        *best = is_met ? NOBODY : find_best(st, src, dst);
        least = fs_u32_min(least, *best);
    }
    return least;
}

static bool find_receiver(stream_t *st, uint32_t src);

/* Take dst, if whoever has it finds another. */
static bool take(stream_t *st, uint32_t src, uint32_t dst)
{
    uint32_t other = st->from[dst];

    st->seen[dst] = true;
    if (other != NOBODY && !find_receiver(st, other)) {
        return false;
    }
    send(st, src, dst, st->live[st->best[(size_t)src * st->n + dst]], false);
    return true;
}

static bool find_receiver(stream_t *st, uint32_t src)
{
    for (uint32_t i = 0; i < st->n_live; ++i) {
        for (uint32_t k = 0; k < st->n; ++k) {
            uint32_t dst = st->wanting[k];

            if (!st->seen[dst] && st->best[(size_t)src * st->n + dst] == i &&
                take(st, src, dst)) {
                return true;
            }
        }
    }
    return false;
}

static void spread(stream_t *st)
{
    sort_by(st->copies, st->live, st->n_live);
    sort_by(st->n_have, st->wanting, st->n);
    for (uint32_t src = 0; src < st->n; ++src) {
        st->least[src] = st->to[src] == NOBODY ? find_all_best(st, src)
                                               : NOBODY;
    }
    for (uint32_t i = 0; i < st->n_live; ++i) {
        for (uint32_t src = 0; src < st->n; ++src) {
            if (st->least[src] == i) {
                for (uint32_t k = 0; k < st->n; ++k) {
                    st->seen[k] = false;
                }
                find_receiver(st, src);
            }
        }
    }
}

/* ---- rounds ---- */

static void note_sum(stream_t *st, uint32_t position, uint32_t step)
{
    fs_bits_set(row_of(st, position), step);
    st->n_have[position]++;
    st->copies[step]++;
}

static void say(stream_t *st, uint32_t src)
{
    const uint32_t *rank = st->build->ranks;

    fs_straggler_say(st->build,
                     (fs_straggler_msg_t){rank[src], rank[st->to[src]],
                                          st->step[src], 1, st->adds[src]});
}

/* Sums that all have are not live any more; a new one is. */
static void renew_live(stream_t *st, uint32_t round)
{
    uint32_t first = st->n - st->n_punctual - 1, n = 0;

    for (uint32_t i = 0; i < st->n_live; ++i) {
        if (st->copies[st->live[i]] < st->n) {
            st->live[n++] = st->live[i];
        }
    }
    if (round >= first && round - first < st->n_steps) {
        st->live[n++] = round - first;
    }
    st->n_live = n;
}

/* By rank, as the public header says. */
static void end_round(stream_t *st, uint32_t round)
{
    uint32_t last = st->n - 1;

    for (uint32_t rank = 0; rank < st->n; ++rank) {
        uint32_t src = st->build->position[rank];

        if (st->to[src] == NOBODY) {
            continue;
        }
        say(st, src);
        if (!st->adds[src] || src == last || st->to[src] == last) {
            note_sum(st, st->to[src], st->step[src]);
        }
    }
    fs_straggler_end_round(st->build);
    renew_live(st, round);
}

static bool is_over(const stream_t *st)
{
    for (uint32_t k = 0; k < st->n; ++k) {
        if (st->n_have[k] < st->n_steps) {
            return false;
        }
    }
    return true;
}

static void run(stream_t *st)
{
    for (uint32_t round = 0; st->build->status == FS_OK && !is_over(st);
         ++round) {
        for (uint32_t k = 0; k < st->n; ++k) {
            st->to[k]   = NOBODY;
            st->from[k] = NOBODY;
        }
        stream_by(st, round);
        spread(st);
        end_round(st, round);
    }
}

/* ---- all of it ---- */

static void *room(stream_t *st, size_t n, size_t elem_bytes)
{
    void *p = fs_arena_calloc(&st->build->arena, n, elem_bytes);

    if (p == NULL) {
        st->build->status = FS_ERR_NOMEM;
    }
    return p;
}

static void make_room(stream_t *st)
{
    size_t n = st->n;

    st->have    = room(st, n * st->n_words, sizeof(uint64_t));
    st->n_have  = room(st, n, sizeof(uint32_t));
    st->copies  = room(st, st->n_steps, sizeof(uint32_t));
    st->live    = room(st, st->n_steps, sizeof(uint32_t));
    st->wanting = room(st, n, sizeof(uint32_t));
    st->best    = room(st, n * n, sizeof(uint32_t));
    st->to      = room(st, n, sizeof(uint32_t));
    st->from    = room(st, n, sizeof(uint32_t));
    st->step    = room(st, n, sizeof(uint32_t));
    st->adds    = room(st, n, sizeof(bool));
    st->seen    = room(st, n, sizeof(bool));
    st->least   = room(st, n, sizeof(uint32_t));
}

void fs_straggler_make_stream(fs_straggler_build_t *build)
{
    fs_straggler_t *schedule = build->schedule;
    stream_t        st       = {.build      = build,
                                .n          = schedule->n_ranks,
                                .n_punctual = schedule->n_ranks - schedule->n_late};

    st.n_steps         = st.n_punctual * schedule->n_pieces;
    st.n_words         = (st.n_steps + 63) / 64;
    schedule->n_chunks = st.n_steps;
    fs_straggler_reduce_scatter(build, true);
    fs_straggler_end_early(build);
    make_room(&st);
    if (build->status != FS_OK) {
        return;
    }
    for (uint32_t k = 0; k < st.n; ++k) {
        st.wanting[k] = k;
    }
    run(&st);
}
