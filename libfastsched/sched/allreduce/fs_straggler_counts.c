/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which exchanges the steady state makes, for every number of ranks.
 *
 * k is log2 n rounded up. "a gets b | c gets d" is an exchange of two ranks by
 * the live chunks they have. A rank without the oldest chunk must get it,
 * because this is the last round for it; a rank that has it can get any younger
 * one.
 *
 * Single patterns have one live chunk per rank; the oldest age is k. Half of
 * the ranks have the oldest chunk, and each other rank meets one of them:
 *     {a} gets k | {k} gets a         for every age a below k
 * Every chunk but the oldest doubles: 1, 2, 4, ... This is Algorithm 1 of
 * StragglAR, where its "critical window" comes for free: the rank at place 0
 * has the oldest chunk, because the walk puts it there. It also works if one
 * {a} is idle. Then a chunk misses one doubling, at age a: a pattern for 2^k -
 * (2^(k-a) - 1) ranks, which is odd.
 *
 * All other n get a double pattern: two live chunks per rank, oldest age K = k +
 * 1. At most one of the two is young, that is younger than k. Call {a, K} an
 * A, {a, k} a B, and {k, K}, a rank that has no young one, full. Let g = k - 1,
 * the age at which the young are grown up.
 *     A(a) gets k | full gets a        B(a) gets K | full gets a
 *     A(a) gets g | A(g) gets a        B(a) gets K | A(g) gets a      a < g
 *     A(g) gets k | full gets g        B(g) gets K | full gets g
 *     B(g) gets K | A(g) gets k        B(g) idle, if n is odd
 *     A(g - 1) gets k | B(g - 1) gets K
 * The straggler meets an A(g). All young chunks double, unless they are in the
 * last line, which is for n just above a power of two: the young would double
 * into more ranks than there are. How often each is made follows from counting
 * who becomes what, up to three numbers, which are tried in turn (settle()).
 *
 * Limit: it is not proved that there always are such numbers. There are for
 * every n up to FS_STRAGGLER_MAX_RANKS (tests/unit/sched/test_straggler.c).
 */
#include "sched/allreduce/fs_straggler_build.h"
#include "sched/allreduce/fs_straggler_steady.h"

#include "base/fs_assert.h"

static fs_steady_side_t side(uint32_t young, uint32_t old, uint32_t gets)
{
    return (fs_steady_side_t){{young, old}, gets};
}

static void add(fs_steady_counts_t *exchanges, uint32_t count,
                fs_steady_side_t a, fs_steady_side_t b)
{
    fs_assert(exchanges->n_rules < FS_STEADY_MAX_RULES);
    exchanges->rules[exchanges->n_rules++] =
        (fs_steady_rule_t){count, false, a, b};
}

static void add_alone(fs_steady_counts_t *exchanges, fs_steady_side_t a)
{
    fs_assert(exchanges->n_rules < FS_STEADY_MAX_RULES);
    exchanges->rules[exchanges->n_rules++] = (fs_steady_rule_t){1, true, a, a};
}

/* ---- single ---- */

/* The age that is idle once; 0: none. False: no single pattern for this n. */
static bool idle_age(uint32_t n_ranks, uint32_t k, uint32_t *age_p)
{
    uint32_t lacking = (1u << k) - n_ranks;

    if ((lacking & (lacking + 1)) != 0) {
        return false;
    }
    *age_p = lacking == 0 ? 0 : k - fs_log2_up(lacking + 1);
    return true;
}

static void count_single(uint32_t k, uint32_t idle,
                         fs_steady_counts_t *exchanges)
{
    uint32_t n_have = 1;

    exchanges->oldest = k;
    exchanges->n_more = k - 1;
    add_alone(exchanges, side(0, k, FS_STEADY_BORN));
    for (uint32_t age = 1; age < k; ++age) {
        uint32_t count = n_have - (age == idle);

        add(exchanges, count, side(0, age, k), side(0, k, age));
        n_have += count;
    }
    if (idle > 0) {
        add_alone(exchanges, side(0, idle, FS_STEADY_NOTHING));
    }
}

/* ---- double ---- */

/* How often the exchanges are made. The first three numbers are free. */
typedef struct counts {
    uint32_t meet_full; /* bit a - 1: the young of age a < g - 1 meet full ones,
                           else they meet A(g). So it is also how many do */
    uint32_t pause;     /* A(g - 1) | B(g - 1) */
    uint32_t b_grown;   /* B(g) gets K | A(g) gets k */
    uint32_t a_full, b_full; /* of age g - 1, with full */
    uint32_t a_meet, b_meet; /* of age g - 1, with A(g) */
    uint32_t a_last, b_last; /* A(g), B(g) with full */
} counts_t;

/* How many A and B there are of an age up to g - 1, doubling since age 1. */
static void grow(uint32_t meet_full, uint32_t age, uint32_t *a_p, uint32_t *b_p)
{
    *a_p = 0;
    *b_p = 1; /* born at an A(g), which keeps its g */
    for (uint32_t below = 1; below < age; ++below) {
        uint32_t a = *a_p, b = *b_p;

        *a_p = meet_full >> (below - 1) & 1 ? 2 * (a + b) : b;
        *b_p = meet_full >> (below - 1) & 1 ? 0 : 2 * a + b;
    }
}

/* Find the other numbers, for k and the ranks above 2^(k-1). In terms of the
 * exchange counts, with s = 2^(k-3) young of age g - 1, and half = n_above / 2
 * + pause exchanges that make two full ones each:
 *     with full meet      meet_full + a_full + b_full = half + b_grown + odd
 *     all of age g - 1    a_full + b_full + a_meet + b_meet + 2 pause = s
 *     become B(g)         2 a_meet + b_meet = b_last + b_grown + odd
 *     make full ones      a_last + b_last + b_grown = half
 * What is left to choose is the number of B(g): the least will do. */
static bool settle(uint32_t k, uint32_t n_above, counts_t *counts)
{
    int64_t  odd  = n_above % 2;
    int64_t  half = n_above / 2 + counts->pause;
    int64_t  full = half + counts->b_grown + odd - counts->meet_full;
    int64_t  meet = (INT64_C(1) << (k - 3)) - 2 * (int64_t)counts->pause - full;
    int64_t  a_free, b_free, grown;
    uint32_t a, b;

    grow(counts->meet_full, k - 2, &a, &b);
    a_free = (int64_t)a - counts->pause;
    b_free = (int64_t)b - counts->pause;
    grown  = meet; /* B(g): the least by each condition, and the most */
    grown  = grown < 2 * meet - b_free ? 2 * meet - b_free : grown;
    grown  = grown < counts->b_grown + odd ? counts->b_grown + odd : grown;
    if (full < 0 || meet < 0 || a_free < 0 || b_free < 0 ||
        grown > meet + a_free || grown > 2 * meet || grown > half + odd) {
        return false;
    }
    counts->a_meet = (uint32_t)(grown - meet);
    counts->b_meet = (uint32_t)(2 * meet - grown);
    counts->a_full = (uint32_t)(a_free - counts->a_meet);
    counts->b_full = (uint32_t)(b_free - counts->b_meet);
    counts->b_last = (uint32_t)(grown - odd - counts->b_grown);
    counts->a_last = (uint32_t)(half - counts->b_grown - counts->b_last);
    return true;
}

/* Without a pause if there are many ranks above the power of two, with one if
 * there are few. */
static bool find_counts(uint32_t k, uint32_t n_above, counts_t *counts)
{
    uint32_t s = 1u << (k - 3);

    *counts = (counts_t){0};
    for (; counts->meet_full < s; counts->meet_full++) {
        if (settle(k, n_above, counts)) {
            return true;
        }
    }
    for (*counts = (counts_t){0}; counts->pause <= s / 2; counts->pause++) {
        uint32_t most = n_above / 2 + counts->pause;

        for (counts->b_grown = 0; counts->b_grown <= most; counts->b_grown++) {
            if (settle(k, n_above, counts)) {
                return true;
            }
        }
    }
    return false;
}

/* The young of one age below g. */
static void add_young(fs_steady_counts_t *exchanges, uint32_t k, uint32_t age,
                      const uint32_t full[2], const uint32_t meet[2])
{
    add(exchanges, full[0], side(age, k + 1, k), side(k, k + 1, age));
    add(exchanges, full[1], side(age, k, k + 1), side(k, k + 1, age));
    add(exchanges, meet[0], side(age, k + 1, k - 1), side(k - 1, k + 1, age));
    add(exchanges, meet[1], side(age, k, k + 1), side(k - 1, k + 1, age));
}

static void count_double(uint32_t k, uint32_t n_above,
                         fs_steady_counts_t *exchanges)
{
    uint32_t g = k - 1;
    counts_t counts;
    bool     found = find_counts(k, n_above, &counts);

    fs_assert(found);
    (void)found;
    exchanges->oldest = k + 1;
    exchanges->n_more =
        k - 2; /* then an A(g) that is to get a young chunk has it */
    add_alone(exchanges, side(g, k + 1, FS_STEADY_BORN));
    for (uint32_t age = 1; age + 1 < g; ++age) {
        uint32_t some[2], none[2] = {0, 0};
        bool     full = counts.meet_full >> (age - 1) & 1;

        grow(counts.meet_full, age, &some[0], &some[1]);
        add_young(exchanges, k, age, full ? some : none, full ? none : some);
    }
    add_young(exchanges, k, g - 1, (uint32_t[]){counts.a_full, counts.b_full},
              (uint32_t[]){counts.a_meet, counts.b_meet});
    add(exchanges, counts.pause, side(g - 1, k + 1, k), side(g - 1, k, k + 1));
    add(exchanges, counts.a_last, side(g, k + 1, k), side(k, k + 1, g));
    add(exchanges, counts.b_last, side(g, k, k + 1), side(k, k + 1, g));
    add(exchanges, counts.b_grown, side(g, k, k + 1), side(g, k + 1, k));
    if (n_above % 2 == 1) {
        add_alone(exchanges, side(g, k, FS_STEADY_NOTHING));
    }
}

void fs_steady_counts(uint32_t n_ranks, fs_steady_counts_t *exchanges)
{
    uint32_t k = fs_log2_up(n_ranks), idle;

    exchanges->n_places = n_ranks - 1;
    exchanges->n_rules  = 0;
    if (idle_age(n_ranks, k, &idle)) {
        count_single(k, idle, exchanges);
    } else {
        count_double(k, n_ranks - (1u << (k - 1)), exchanges);
    }
}
