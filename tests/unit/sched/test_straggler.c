/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce schedules: every one is proved by the checker, has the rounds it
 * should have, and the checker itself finds what is wrong. */
#include "sched/allreduce/fs_straggler.h"

#include "base/fs_digest.h"
#include "fs_test_group.h"
#include "sched/allreduce/fs_straggler_steady.h"

#include <stdlib.h>
#include <string.h>

enum { N_KINDS = FS_STRAGGLER_N_KINDS };

static fs_straggler_t *make(fs_straggler_kind_t kind, uint32_t n, uint32_t r)
{
    fs_straggler_t *schedule = NULL;

    ck_assert(fs_straggler_create(kind, n, r, &schedule) == FS_OK);
    ck_assert(schedule->kind == kind && schedule->n_ranks == n);
    ck_assert(schedule->straggler == r);
    return schedule;
}

static void prove(const fs_straggler_t *schedule)
{
    char        why[200] = "";
    fs_status_t status   = fs_straggler_check(schedule, why, sizeof(why));

    if (status != FS_OK) {
        ck_abort_msg("%s, %u ranks, straggler %u: %s",
                     fs_straggler_name(schedule->kind), schedule->n_ranks,
                     schedule->straggler, why);
    }
}

/* Rounds that need the straggler. */
static uint32_t n_late(const fs_straggler_t *schedule)
{
    return schedule->n_rounds - schedule->n_early;
}

/* By round, then src, then dst. */
static bool is_sorted(const fs_straggler_t *schedule)
{
    for (uint32_t r = 0; r < schedule->n_rounds; ++r) {
        for (size_t i = schedule->first[r] + 1; i < schedule->first[r + 1];
             ++i) {
            const fs_straggler_msg_t *a = &schedule->msgs[i - 1], *b = a + 1;

            if (a->src > b->src || (a->src == b->src && a->dst >= b->dst)) {
                return false;
            }
        }
    }
    return true;
}

static uint64_t digest(const fs_straggler_t *schedule)
{
    uint64_t d = 0;

    for (uint32_t r = 0; r <= schedule->n_rounds; ++r) {
        d = fs_digest_add(d, schedule->first[r]);
    }
    for (size_t i = 0; i < schedule->n_msgs; ++i) {
        const fs_straggler_msg_t *msg = &schedule->msgs[i];

        d = fs_digest_add(d, (uint64_t)msg->src << 32 | msg->dst);
        d = fs_digest_add(d, (uint64_t)msg->chunk << 32 | msg->n_chunks);
        d = fs_digest_add(d, msg->reduce);
    }
    return d;
}

/* ---- StragglAR ---- */

/* Rounds as promised, and as few as can be but for a few odd n. */
static void count_rounds(const fs_straggler_t *schedule)
{
    uint32_t n = schedule->n_ranks, late = n_late(schedule);
    uint32_t promised = n + fs_test_log2_up(n) - 2 + (n % 2 == 1 && n > 3);
    uint32_t least    = fs_straggler_min_rounds(n);

    ck_assert(schedule->n_early == n - 2 && schedule->n_chunks == n - 1);
    ck_assert(schedule->early_chunks == schedule->n_early);
    ck_assert(schedule->late_chunks == late);
    if (n % 2 == 0) {
        ck_assert(late == promised && late == least);
    } else {
        ck_assert(late <= promised && late >= least && late <= least + 1);
    }
}

static void prove_stragglar(uint32_t n, uint32_t straggler)
{
    fs_straggler_t *schedule = make(FS_STRAGGLER_STRAGGLAR, n, straggler);

    count_rounds(schedule);
    ck_assert(is_sorted(schedule));
    prove(schedule);
    fs_straggler_destroy(schedule);
}

/* Every n, every straggler. */
START_TEST(small_n_every_straggler)
{
    for (uint32_t n = 2; n <= 48; ++n) {
        for (uint32_t straggler = 0; straggler < n; ++straggler) {
            prove_stragglar(n, straggler);
        }
    }
}
END_TEST

START_TEST(powers_of_two_every_straggler)
{
    for (uint32_t n = 64; n <= 128; n *= 2) {
        for (uint32_t straggler = 0; straggler < n; ++straggler) {
            prove_stragglar(n, straggler);
        }
    }
}
END_TEST

START_TEST(every_n_one_straggler)
{
    for (uint32_t n = 49; n <= 200; ++n) {
        prove_stragglar(n, (n * 7 + 3) % n);
    }
}
END_TEST

START_TEST(large_n)
{
    static const uint32_t n[] = {256, 257, 258, 300, 384, 510, 511, 512};

    for (size_t k = 0; k < sizeof(n) / sizeof(n[0]); ++k) {
        prove_stragglar(n[k], n[k] / 3);
    }
    prove_stragglar(1024, 1023);
    prove_stragglar(1024, 0);
}
END_TEST

/* Whether the straggler is last or not is a matter of names: rank_of() gives
 * every schedule's names from the one with the last. */
static uint32_t rename_rank(uint32_t rank, uint32_t n, uint32_t straggler)
{
    return rank == n - 1 ? straggler : rank + (rank >= straggler);
}

static int by_src(const void *a, const void *b)
{
    const fs_straggler_msg_t *x = a, *y = b;

    return x->src < y->src ? -1 : x->src > y->src;
}

/* Same as base, but for the names. */
static void compare_renamed(const fs_straggler_t *base, uint32_t straggler)
{
    uint32_t            n      = base->n_ranks;
    fs_straggler_t     *other  = make(base->kind, n, straggler);
    fs_straggler_msg_t *msgs   = fs_test_alloc(n, sizeof(msgs[0]));
    size_t              n_msgs = base->n_msgs;

    ck_assert(other->n_rounds == base->n_rounds && other->n_msgs == n_msgs);
    for (uint32_t r = 0; r < base->n_rounds; ++r) {
        size_t first = base->first[r], count = base->first[r + 1] - first;

        ck_assert(other->first[r] == first && count <= n);
        for (size_t i = 0; i < count; ++i) {
            msgs[i]     = base->msgs[first + i];
            msgs[i].src = rename_rank(msgs[i].src, n, straggler);
            msgs[i].dst = rename_rank(msgs[i].dst, n, straggler);
        }
        qsort(msgs, count, sizeof(msgs[0]), by_src);
        for (size_t i = 0; i < count; ++i) {
            const fs_straggler_msg_t *m = &other->msgs[first + i];

            ck_assert(m->src == msgs[i].src && m->dst == msgs[i].dst);
            ck_assert(m->chunk == msgs[i].chunk && m->reduce == msgs[i].reduce);
        }
    }
    free(msgs);
    fs_straggler_destroy(other);
}

/* For n = 1024 the schedule of every straggler cannot be proved here in time.
 * It is the proved one with other names; names are a bijection whoever the
 * straggler is. */
START_TEST(straggler_is_a_name)
{
    static const uint32_t n[] = {256, 1024};

    for (size_t k = 0; k < 2; ++k) {
        fs_straggler_t *base = make(FS_STRAGGLER_STRAGGLAR, n[k], n[k] - 1);

        for (uint32_t straggler = 0; straggler < n[k];
             straggler += n[k] == 256 ? 37 : 400) {
            compare_renamed(base, straggler);
        }
        for (uint32_t straggler = 0; straggler < n[k]; ++straggler) {
            uint64_t sum = 0, squares = 0;

            for (uint32_t rank = 0; rank < n[k]; ++rank) {
                uint64_t name = rename_rank(rank, n[k], straggler);

                ck_assert(name < n[k]);
                sum += name - rank; /* modulo 2^64 */
                squares += name * name - (uint64_t)rank * rank;
            }
            ck_assert(sum == 0 && squares == 0);
        }
        fs_straggler_destroy(base);
    }
}
END_TEST

/* Algorithm 1 of the paper by hand, n = 4, straggler 3. The last two rounds
 * leave a choice: any rank with chunk 0 may be the one that meets rank 1, any
 * holder of chunk 2 the one that gives it to rank 0. */
START_TEST(golden_four_ranks)
{
    static const struct {
        uint32_t           round;
        fs_straggler_msg_t msg;
    } want[] = {
        {2, {0, 3, 0, 1, true}},  {2, {3, 0, 0, 1, true}},
        {3, {0, 2, 0, 1, false}}, {3, {1, 3, 1, 1, true}},
        {3, {3, 1, 1, 1, true}},  {4, {0, 1, 0, 1, false}},
        {4, {1, 0, 1, 1, false}}, {4, {2, 3, 2, 1, true}},
        {4, {3, 2, 2, 1, true}},  {5, {1, 2, 1, 1, false}},
        {5, {2, 1, 2, 1, false}}, {5, {3, 0, 2, 1, false}},
    };
    fs_straggler_t *schedule = make(FS_STRAGGLER_STRAGGLAR, 4, 3);
    size_t          n        = sizeof(want) / sizeof(want[0]);

    ck_assert_uint_eq(schedule->n_rounds, 6);
    ck_assert_uint_eq(schedule->n_msgs, schedule->first[2] + n);
    for (size_t k = 0; k < n; ++k) {
        size_t                    i    = schedule->first[2] + k;
        const fs_straggler_msg_t *msg  = &schedule->msgs[i];
        const fs_straggler_msg_t *gold = &want[k].msg;

        ck_assert_uint_lt(i, schedule->first[want[k].round + 1]);
        ck_assert_uint_ge(i, schedule->first[want[k].round]);
        ck_assert_uint_eq(msg->src, gold->src);
        ck_assert_uint_eq(msg->dst, gold->dst);
        ck_assert_uint_eq(msg->chunk, gold->chunk);
        ck_assert_uint_eq(msg->n_chunks, 1);
        ck_assert(msg->reduce == gold->reduce);
    }
    fs_straggler_destroy(schedule);
}
END_TEST

/* What Algorithm 1 says of every power of two (StragglAR §3.1, App. D): in
 * round r the straggler meets rank r; every chunk doubles in each round, and is
 * everywhere log n rounds after it was reduced. */
START_TEST(powers_of_two_double)
{
    for (uint32_t n = 4; n <= 256; n *= 2) {
        fs_straggler_t *s    = make(FS_STRAGGLER_STRAGGLAR, n, n - 1);
        uint32_t       *have = fs_test_alloc(n, sizeof(*have));

        for (uint32_t r = 0; r < n_late(s); ++r) {
            for (size_t i = s->first[s->n_early + r];
                 i < s->first[s->n_early + r + 1]; ++i) {
                const fs_straggler_msg_t *msg = &s->msgs[i];

                have[msg->chunk] += msg->dst != s->straggler;
                ck_assert(!msg->reduce || msg->chunk == r);
                ck_assert(!msg->reduce || msg->src == r || msg->dst == r);
            }
            for (uint32_t c = 0; c < n - 1 && c <= r; ++c) {
                uint32_t rounds = r - c + (c == n - 2), k = fs_test_log2_up(n);

                ck_assert(have[c] ==
                              (rounds < k ? 1u << rounds : n) - (rounds >= k) ||
                          (c == n - 2 && have[c] == (1u << rounds) - 1));
            }
        }
        free(have);
        fs_straggler_destroy(s);
    }
}
END_TEST

/* The exchange counts add up and the pattern has them, for every n there can
 * be. */
static void check_steady(uint32_t n_ranks)
{
    fs_arena_t         arena = {0};
    fs_steady_counts_t exchanges;
    fs_steady_t        steady;
    uint32_t           n_idle = 0;

    fs_steady_counts(n_ranks, &exchanges);
    ck_assert(fs_steady_init(&steady, &exchanges, &arena) == FS_OK);
    ck_assert(steady.n_places == n_ranks - 1);
    ck_assert(steady.oldest <= fs_test_log2_up(n_ranks) + 1);
    ck_assert(steady.side[0].gets == FS_STEADY_BORN && steady.partner[0] == 0);
    for (uint32_t p = 1; p < steady.n_places; ++p) {
        uint32_t                q     = steady.partner[p];
        const fs_steady_side_t *mine  = &steady.side[p],
                               *other = &steady.side[q];

        ck_assert(steady.partner[q] == p);
        if (p == q) {
            ck_assert(mine->gets == FS_STEADY_NOTHING);
            n_idle++;
            continue;
        }
        ck_assert(mine->gets >= 1 && mine->gets <= steady.oldest);
        ck_assert(other->has[0] == mine->gets || other->has[1] == mine->gets);
        ck_assert(mine->has[0] != mine->gets && mine->has[1] != mine->gets);
        /* who lacks the oldest gets it, who has it gets another */
        ck_assert((mine->gets == steady.oldest) ==
                  (mine->has[1] != steady.oldest));
    }
    ck_assert(n_idle == n_ranks % 2);
    fs_arena_fini(&arena);
}

START_TEST(every_steady_state)
{
    for (uint32_t n = 2; n <= FS_STRAGGLER_MAX_RANKS; n += n < 1200 ? 1 : 7) {
        check_steady(n);
    }
    check_steady(FS_STRAGGLER_MAX_RANKS);
}
END_TEST

/* For 3 to 5 ranks, a search of all schedules has found the same. */
START_TEST(bound_of_few_ranks)
{
    ck_assert_uint_eq(fs_straggler_min_rounds(0), 0);
    ck_assert_uint_eq(fs_straggler_min_rounds(1), 0);
    ck_assert_uint_eq(fs_straggler_min_rounds(2), 1);
    ck_assert_uint_eq(fs_straggler_min_rounds(3), 3);
    ck_assert_uint_eq(fs_straggler_min_rounds(4), 4);
    ck_assert_uint_eq(fs_straggler_min_rounds(5), 6);
    ck_assert_uint_eq(fs_straggler_min_rounds(256), 262);
    ck_assert_uint_eq(fs_straggler_min_rounds(255), 262);
    ck_assert_uint_eq(fs_straggler_min_rounds(19), 23); /* not 22 */
}
END_TEST

/* ---- the others ---- */

static void prove_usual(fs_straggler_kind_t kind, uint32_t n,
                        uint32_t straggler)
{
    fs_straggler_t *s = make(kind, n, straggler);
    uint32_t        k = fs_test_log2_up(n), floor = k - ((n & (n - 1)) != 0);
    uint32_t        core = 1u << floor, late = n_late(s);

    ck_assert(is_sorted(s));
    prove(s);
    switch (kind) {
    case FS_STRAGGLER_STRAGGLAR:
        break;
    case FS_STRAGGLER_RING:
        ck_assert(s->n_early == 0 && s->n_chunks == n);
        ck_assert(late == 2 * (n - 1) && s->late_chunks == late);
        break;
    case FS_STRAGGLER_RHD:
        ck_assert(s->n_early == 0 && s->n_chunks == core);
        ck_assert(late == 2 * floor + 2 * (core != n));
        ck_assert(s->late_chunks == 2 * (core - 1) + 2 * core * (core != n));
        break;
    case FS_STRAGGLER_BROADCAST:
        ck_assert(s->n_chunks == n - 1 && s->n_early == 2 * (n - 2));
        ck_assert(s->early_chunks == s->n_early && late == k);
        ck_assert(s->late_chunks == (uint64_t)k * (n - 1));
        break;
    case FS_STRAGGLER_ALLPAIRS:
        ck_assert(s->n_early == 0 && s->n_chunks == n && late == 2);
        ck_assert(s->late_chunks == 2 * (uint64_t)(n - 1));
        break;
    case FS_STRAGGLER_HIERARCHICAL: /* a rank a server: a ring */
        ck_assert(s->n_early == 0 && s->n_chunks == n && late == 2 * (n - 1));
        break;
    case FS_STRAGGLER_STREAM:
        ck_assert(s->n_chunks == n - 1 && s->n_early == n - 2);
        ck_assert(late <= n + k - 1 && s->late_chunks == late);
        break;
    }
    fs_straggler_destroy(s);
}

START_TEST(usual_schedules)
{
    for (int kind = FS_STRAGGLER_RING; kind < N_KINDS; ++kind) {
        for (uint32_t n = 2; n <= (kind == FS_STRAGGLER_STREAM ? 20 : 40);
             ++n) {
            for (uint32_t straggler = 0; straggler < n; ++straggler) {
                prove_usual((fs_straggler_kind_t)kind, n, straggler);
            }
        }
        prove_usual((fs_straggler_kind_t)kind, 100, 50);
        if (kind != FS_STRAGGLER_STREAM) {
            prove_usual((fs_straggler_kind_t)kind, 256, 255);
        }
    }
}
END_TEST

START_TEST(hierarchical_schedules)
{
    for (uint32_t servers = 1; servers <= 9; ++servers) {
        for (uint32_t local = 1; local <= 6; ++local) {
            fs_straggler_t *s = NULL;

            ck_assert(fs_straggler_create_hierarchical(servers, local, &s) ==
                      FS_OK);
            ck_assert(s->kind == FS_STRAGGLER_HIERARCHICAL && is_sorted(s));
            ck_assert(s->n_ranks == servers * local);
            prove(s);
            fs_straggler_destroy(s);
        }
    }
}
END_TEST

START_TEST(one_rank_has_nothing_to_do)
{
    for (int kind = 0; kind < N_KINDS; ++kind) {
        fs_straggler_t *s = make((fs_straggler_kind_t)kind, 1, 0);

        ck_assert_uint_eq(s->n_rounds, 0);
        ck_assert_uint_eq(s->n_msgs, 0);
        ck_assert_uint_eq(s->n_chunks, 1);
        prove(s);
        fs_straggler_destroy(s);
    }
}
END_TEST

START_TEST(bad_arguments)
{
    fs_straggler_t *s = NULL;

    ck_assert_int_eq(fs_straggler_create(FS_STRAGGLER_RING, 0, 0, &s),
                     FS_ERR_INVAL);
    ck_assert_int_eq(fs_straggler_create(FS_STRAGGLER_RING, 4, 4, &s),
                     FS_ERR_INVAL);
    ck_assert_int_eq(
        fs_straggler_create((fs_straggler_kind_t)N_KINDS, 4, 0, &s),
        FS_ERR_INVAL);
    ck_assert_int_eq(fs_straggler_create(FS_STRAGGLER_RING,
                                         FS_STRAGGLER_MAX_RANKS + 1, 0, &s),
                     FS_ERR_INVAL);
    ck_assert_ptr_null(s);
    ck_assert_ptr_null(fs_straggler_name((fs_straggler_kind_t)N_KINDS));
    ck_assert_str_eq(fs_straggler_name(FS_STRAGGLER_ALLPAIRS), "all-pairs");
    fs_straggler_destroy(NULL);
}
END_TEST

/* Published exchanges belong to these schedules. */
START_TEST(schedules_stay_the_same)
{
    static const struct {
        uint32_t n;
        uint64_t digest;
    } want[] = {
        {8, UINT64_C(0xc40fedfd29dbfcac)},
        {12, UINT64_C(0x79150709d8d27deb)},
        {37, UINT64_C(0xa4f9c351d1afa51e)},
        {72, UINT64_C(0xba4e70d3d576ff54)},
    };

    for (size_t k = 0; k < sizeof(want) / sizeof(want[0]); ++k) {
        fs_straggler_t *s = make(FS_STRAGGLER_STRAGGLAR, want[k].n, 1);

        ck_assert_msg(digest(s) == want[k].digest, "%u ranks: 0x%016llx",
                      want[k].n, (unsigned long long)digest(s));
        fs_straggler_destroy(s);
    }
}
END_TEST

/* ---- the checker ---- */

typedef enum harm {
    HARM_DROP,      /* a message less */
    HARM_DUPLICATE, /* one twice */
    HARM_CHUNK,     /* another chunk */
    HARM_DST,       /* another receiver */
    HARM_SRC,       /* another sender */
    HARM_REDUCE,    /* add instead of replace, or the other way round */
    HARM_LATER,     /* in the next round */
    HARM_RANGE,     /* a chunk too many */
    HARM_SELF,      /* to itself */
    HARM_RANK,      /* to nobody */
    HARMS
} harm_t;

/* Take message i out, or put another one there. */
static void shift(fs_straggler_t *s, size_t i, int by)
{
    for (uint32_t r = 0; r <= s->n_rounds; ++r) {
        if (s->first[r] > i) {
            s->first[r] += (size_t)by;
        }
    }
    if (by < 0) {
        memmove(&s->msgs[i], &s->msgs[i + 1],
                (s->n_msgs - i - 1) * sizeof(s->msgs[0]));
    } else {
        s->msgs = realloc(s->msgs, (s->n_msgs + 1) * sizeof(s->msgs[0]));
        ck_assert(s->msgs != NULL);
        memmove(&s->msgs[i + 1], &s->msgs[i],
                (s->n_msgs - i) * sizeof(s->msgs[0]));
    }
    s->n_msgs += (size_t)by;
}

/* The next round begins with message i. */
static void delay_round_of(fs_straggler_t *s, size_t i)
{
    fs_straggler_msg_t msg = s->msgs[i];
    uint32_t           r   = 1;

    while (s->first[r] <= i) {
        ++r;
    }
    if (r < s->n_rounds) {
        memmove(&s->msgs[i], &s->msgs[i + 1],
                (s->first[r] - i - 1) * sizeof(msg));
        s->msgs[--s->first[r]] = msg;
    } else {
        shift(s, i, -1); /* there is no next round */
    }
}

static void do_harm(fs_straggler_t *s, harm_t harm, size_t i)
{
    fs_straggler_msg_t *msg = &s->msgs[i];
    uint32_t            n   = s->n_ranks;

    switch (harm) {
    case HARM_DROP:
        shift(s, i, -1);
        break;
    case HARM_DUPLICATE:
        shift(s, i, 1);
        break;
    case HARM_CHUNK:
        msg->n_chunks = 1;
        msg->chunk    = (msg->chunk + 1) % s->n_chunks;
        break;
    case HARM_DST:
        do {
            msg->dst = (msg->dst + 1) % n;
        } while (msg->dst == msg->src);
        break;
    case HARM_SRC:
        do {
            msg->src = (msg->src + 1) % n;
        } while (msg->dst == msg->src);
        break;
    case HARM_REDUCE:
        msg->reduce = !msg->reduce;
        break;
    case HARM_LATER:
        delay_round_of(s, i);
        break;
    case HARM_RANGE:
        msg->n_chunks = s->n_chunks - msg->chunk + 1;
        break;
    case HARM_SELF:
        msg->dst = msg->src;
        break;
    case HARM_RANK:
        msg->dst = n;
        break;
    case HARMS:
        break;
    }
}

/* Replay with counts instead of sets, and without ports: how often has each
 * rank's part of each chunk come to each rank? Slow, simple, and another way
 * than the checker's. */
static bool is_allreduce(const fs_straggler_t *s)
{
    size_t   n = s->n_ranks, n_counts = n * s->n_chunks * n;
    uint8_t *now = fs_test_alloc(n_counts, 1),
            *was = fs_test_alloc(n_counts, 1);
    bool ok      = true;

    for (size_t k = 0; k < n_counts; ++k) { /* [rank][chunk][whose] */
        now[k] = k / n / s->n_chunks == k % n;
    }
    for (uint32_t r = 0; r < s->n_rounds; ++r) {
        memcpy(was, now, n_counts);
        for (size_t i = s->first[r]; i < s->first[r + 1]; ++i) {
            const fs_straggler_msg_t *msg   = &s->msgs[i];
            size_t                    chunk = msg->chunk * n;

            for (size_t k = chunk; k < chunk + msg->n_chunks * n; ++k) {
                uint8_t *to = &now[msg->dst * s->n_chunks * n + k];

                *to = (uint8_t)(was[msg->src * s->n_chunks * n + k] +
                                (msg->reduce ? *to : 0));
            }
        }
    }
    for (size_t k = 0; k < n_counts; ++k) {
        ok = ok && now[k] == 1;
    }
    free(now);
    free(was);
    return ok;
}

/* Some harm does none: another may have the chunk as well, another round may
 * do. Then the replay must agree. */
static bool may_be_harmless(harm_t harm)
{
    return harm == HARM_DST || harm == HARM_SRC || harm == HARM_LATER;
}

/* Every harm to any message of any schedule. */
static void harm_one(fs_straggler_kind_t kind, harm_t harm, fs_rng_t *rng)
{
    char            why[200] = "";
    uint32_t        n        = 4 + (uint32_t)fs_rng_below(rng, 20);
    fs_straggler_t *s        = make(kind, n, (uint32_t)fs_rng_below(rng, n));
    size_t          i        = (size_t)fs_rng_below(rng, s->n_msgs);
    fs_status_t     status;

    ck_assert(is_allreduce(s));
    do_harm(s, harm, i);
    status = fs_straggler_check(s, why, sizeof(why));
    if (status == FS_OK && !(may_be_harmless(harm) && is_allreduce(s))) {
        ck_abort_msg("%s, %u ranks, straggler %u: harm %d to message %zu",
                     fs_straggler_name(kind), n, s->straggler, (int)harm, i);
    }
    ck_assert(status == FS_OK || (status == FS_ERR_INVAL && strlen(why) > 0));
    fs_straggler_destroy(s);
}

START_TEST(prop_harm_is_found)
{
    fs_rng_t rng;

    fs_rng_init(&rng, (uint64_t)_i);
    for (int k = 0; k < 300; ++k) {
        harm_one((fs_straggler_kind_t)(k % N_KINDS), (harm_t)_i, &rng);
    }
}
END_TEST

/* Refused, and why says part. */
START_TEST(checker_says_what_is_wrong)
{
    fs_straggler_t *s = make(FS_STRAGGLER_STRAGGLAR, 8, 7);
    size_t          i = s->first[s->n_early + 3];

    s->msgs[i].dst = s->msgs[i + 1].dst;
    fs_test_group_refuse(s, "receives from");
    fs_straggler_destroy(s);

    s = make(FS_STRAGGLER_STRAGGLAR, 8, 7);
    i = s->first[s->n_early];
    shift(s, i, 1);
    s->msgs[i].dst = 1;
    fs_test_group_refuse(s, "sends to");
    fs_straggler_destroy(s);

    /* rank 2 sends to 1 and gets from 3 */
    s                            = make(FS_STRAGGLER_STRAGGLAR, 4, 3);
    s->msgs[s->first[4]].src     = 2;
    s->msgs[s->first[4]].dst     = 1;
    s->msgs[s->first[4] + 2].src = 0;
    fs_test_group_refuse(s, "two partners");
    fs_straggler_destroy(s);

    /* without the early rounds' last one nobody has a whole chunk */
    s = make(FS_STRAGGLER_STRAGGLAR, 8, 3);
    shift(s, s->first[s->n_early] - 1, -1);
    fs_test_group_refuse(s, "after the early rounds");
    fs_straggler_destroy(s);

    s          = make(FS_STRAGGLER_STRAGGLAR, 8, 3);
    s->n_early = s->n_early + 1;
    fs_test_group_refuse(s, "needs rank 3, which is late");
    fs_straggler_destroy(s);

    /* rank 1 has chunk 1; of chunk 0 it has what the ring left behind */
    s = make(FS_STRAGGLER_STRAGGLAR, 8, 7);
    i = s->first[s->n_early + 1] + 1;
    ck_assert_uint_eq(s->msgs[i].src, 1);
    s->msgs[i].chunk = 0;
    fs_test_group_refuse(s, "left behind");
    fs_straggler_destroy(s);

    s = make(FS_STRAGGLER_RING, 5, 0);
    shift(s, s->n_msgs - 1, -1);
    fs_test_group_refuse(s, "in the end");
    fs_straggler_destroy(s);

    s           = make(FS_STRAGGLER_RING, 5, 0);
    s->n_rounds = s->n_rounds - 1;
    fs_test_group_refuse(s, "some messages are in no round");
    fs_straggler_destroy(s);
}
END_TEST

START_TEST(checker_refuses_nonsense)
{
    fs_straggler_t *s = make(FS_STRAGGLER_RING, 4, 0);

    s->kind = (fs_straggler_kind_t)N_KINDS;
    fs_test_group_refuse(s, "kind");
    s->kind     = FS_STRAGGLER_RING;
    s->n_chunks = 0;
    fs_test_group_refuse(s, "0 chunks");
    s->n_chunks = 4;
    s->n_early  = 99;
    fs_test_group_refuse(s, "rounds early");
    s->n_early  = 0;
    s->first[2] = 0;
    fs_test_group_refuse(s, "ends before it begins");
    fs_straggler_destroy(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("straggler");
    TCase *tcase = tcase_create("all");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, small_n_every_straggler);
    tcase_add_test(tcase, powers_of_two_every_straggler);
    tcase_add_test(tcase, every_n_one_straggler);
    tcase_add_test(tcase, large_n);
    tcase_add_test(tcase, straggler_is_a_name);
    tcase_add_test(tcase, golden_four_ranks);
    tcase_add_test(tcase, powers_of_two_double);
    tcase_add_test(tcase, every_steady_state);
    tcase_add_test(tcase, bound_of_few_ranks);
    tcase_add_test(tcase, usual_schedules);
    tcase_add_test(tcase, hierarchical_schedules);
    tcase_add_test(tcase, one_rank_has_nothing_to_do);
    tcase_add_test(tcase, bad_arguments);
    tcase_add_test(tcase, schedules_stay_the_same);
    tcase_add_loop_test(tcase, prop_harm_is_found, 0, HARMS);
    tcase_add_test(tcase, checker_says_what_is_wrong);
    tcase_add_test(tcase, checker_refuses_nonsense);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
