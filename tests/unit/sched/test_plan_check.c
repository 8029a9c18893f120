/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker of programs is right about good ones, and finds every kind of
 * damage in bad ones. Where damage may be harmless, a slow oracle tells. Programs
 * written by hand are in test_plan_replay.c. */
#include "fs_test_util.h"
#include "sched/plan/fs_plan_check.h"

#include <stdlib.h>
#include <string.h>

/* All plans of one call, in memory that may be damaged. */
typedef struct bench {
    fs_test_case_t tc;
    fs_plan_t    **plans;
    char           why[256];
} bench_t;

/* A copy of the plan with room for one more edge. */
static fs_plan_t *thaw(const fs_plan_t *plan)
{
    size_t     ops_bytes  = plan->n_ops * sizeof(*plan->ops);
    size_t     next_bytes = (plan->n_next + (size_t)1) * sizeof(*plan->next);
    fs_plan_t *copy       = fs_test_alloc(1, sizeof(*copy));

    *copy      = *plan;
    copy->ops  = fs_test_alloc(ops_bytes, 1);
    copy->next = fs_test_alloc(next_bytes, 1);
    if (plan->n_ops > 0) {
        memcpy(copy->ops, plan->ops, ops_bytes);
    }
    if (plan->n_next > 0) {
        memcpy(copy->next, plan->next, plan->n_next * sizeof(*plan->next));
    }
    return copy;
}

static void bench_init(bench_t *b, uint64_t seed)
{
    memset(b, 0, sizeof(*b));
    fs_test_case_init(&b->tc, seed);
    b->plans = fs_test_alloc(b->tc.n_ranks, sizeof(*b->plans));
    for (uint32_t r = 0; r < b->tc.n_ranks; ++r) {
        bool       send_packed = fs_rng_below(&b->tc.rng, 2) == 0;
        bool       recv_packed = fs_rng_below(&b->tc.rng, 2) == 0;
        fs_plan_t *plan;

        ck_assert_int_eq(
            fs_test_plan(&b->tc, r, send_packed, recv_packed, &plan), FS_OK);
        b->plans[r] = thaw(plan);
        fs_plan_destroy(plan);
    }
}

static void bench_fini(bench_t *b)
{
    for (uint32_t r = 0; r < b->tc.n_ranks; ++r) {
        free(b->plans[r]->ops);
        free(b->plans[r]->next);
        free(b->plans[r]);
    }
    free(b->plans);
    fs_test_case_fini(&b->tc);
}

static fs_status_t check(bench_t *b)
{
    b->why[0] = '\0';
    return fs_plan_check(b->tc.topo, &b->tc.params, b->tc.counts, b->plans,
                         b->why, sizeof(b->why));
}

static uint32_t total_ops(const bench_t *b)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < b->tc.n_ranks; ++r) {
        n += b->plans[r]->n_ops;
    }
    return n;
}

START_TEST(prop_good_plans_pass)
{
    bench_t     b;
    fs_status_t status;

    bench_init(&b, (uint64_t)_i);
    status = check(&b);
    ck_assert_msg(status == FS_OK, "seed %d: %s", _i, b.why);
    bench_fini(&b);
}
END_TEST

/* ---- one number that is wrong ---- */

static uint8_t *damaged_byte(fs_op_t *op, int kind)
{
    switch (kind) {
    case 0:
        return &op->kind;
    case 1:
        return (uint8_t *)&op->n_after;
    case 2:
        return (uint8_t *)&op->n_next;
    case 3:
        return (uint8_t *)&op->len_bytes;
    case 4:
        return (uint8_t *)&op->len_bytes + 7;
    case 5:
        return (uint8_t *)&op->unused;
    default:
        break;
    }
    if (op->kind == FS_OP_COPY || kind >= 10) {
        fs_place_t *place = op->kind == FS_OP_RECV ? &op->dst : &op->src;

        if (op->kind == FS_OP_COPY && kind % 2 == 0) {
            place = &op->dst;
        }
        switch (kind / 2 % 4) {
        case 0:
            return (uint8_t *)&place->buffer;
        case 1:
            return (uint8_t *)&place->block;
        case 2:
            return (uint8_t *)&place->offset + 7;
        default:
            return (uint8_t *)&place->offset;
        }
    }
    switch (kind) {
    case 6:
        return &op->channel;
    case 7:
        return (uint8_t *)&op->peer;
    case 8:
        return (uint8_t *)&op->seq;
    default:
        return (uint8_t *)&op->seq + 3;
    }
}

enum { DAMAGES = 18 };

/* One byte of one number of one operation is not what it was: whichever it is,
 * the programs do not fit together any more. */
START_TEST(prop_damage_is_found)
{
    bench_t b;

    bench_init(&b, 10000 + (uint64_t)_i);
    for (int kind = 0; kind < DAMAGES && total_ops(&b) > 0; ++kind) {
        for (int k = 0; k < 4; ++k) {
            fs_plan_t *plan;
            fs_op_t   *op, saved;
            uint8_t   *byte;

            do {
                plan = b.plans[fs_rng_below(&b.tc.rng, b.tc.n_ranks)];
            } while (plan->n_ops == 0);
            op    = &plan->ops[fs_rng_below(&b.tc.rng, plan->n_ops)];
            saved = *op;
            byte  = damaged_byte(op, kind);
            *byte ^= (uint8_t)(1 + fs_rng_below(&b.tc.rng, 255));
            ck_assert_msg(check(&b) == FS_ERR_INVAL,
                          "seed %d: damage %d is not found", _i, kind);
            ck_assert_int_eq(strncmp(b.why, "rank ", 5), 0);
            *op = saved;
        }
    }
    ck_assert_int_eq(check(&b), FS_OK);
    bench_fini(&b);
}
END_TEST

/* What the checker is told about the call must be true, too. */
START_TEST(prop_other_call_is_found)
{
    bench_t   b;
    size_t    cell;
    uint64_t *count;

    bench_init(&b, 20000 + (uint64_t)_i);
    cell =
        (size_t)fs_rng_below(&b.tc.rng, (uint64_t)b.tc.n_ranks * b.tc.n_ranks);
    count = &b.tc.counts[cell];
    ++*count;
    ck_assert_int_eq(check(&b), FS_ERR_INVAL);
    *count -= 2;
    if (*count + 1 > 0) {
        ck_assert_int_eq(check(&b), FS_ERR_INVAL);
    }
    ++*count;
    ck_assert_int_eq(check(&b), FS_OK);
    bench_fini(&b);
}
END_TEST

/* ---- totals ---- */

static void expect(bench_t *b, const char *what)
{
    ck_assert_int_eq(check(b), FS_ERR_INVAL);
    ck_assert_msg(strstr(b->why, what) != NULL, "'%s', not '%s'", b->why, what);
}

/* A bench with traffic of every kind. */
static void bench_busy(bench_t *b)
{
    uint64_t seed = 77;

    for (bench_init(b, seed); b->tc.n_ranks < 6 || b->plans[0]->n_next < 100 ||
                              b->plans[0]->moved_gather == 0;
         bench_init(b, seed)) {
        bench_fini(b);
        ++seed;
    }
}

START_TEST(totals_must_agree)
{
    bench_t    b;
    fs_plan_t *last;

    bench_busy(&b);
    last = b.plans[b.tc.n_ranks - 1];
    ++last->digest;
    expect(&b, "has stages that differ from those of rank 0");
    --last->digest;
    ++last->n_stages;
    expect(&b, "has stages that differ from those of rank 0");
    --last->n_stages;
    ++last->total_per_lane;
    expect(&b, "has stages that differ from those of rank 0");
    --last->total_per_lane;
    ++last->moved_gather;
    expect(&b, "moved bytes");
    --last->moved_gather;
    ++last->moved_redist;
    expect(&b, "moved bytes");
    --last->moved_redist;
    ++last->window;
    expect(&b, "window");
    --last->window;
    last->staging_bytes += b.tc.params.staging_limit;
    expect(&b, "more staging");
    last->staging_bytes -= b.tc.params.staging_limit;
    b.tc.params.staging_limit = b.plans[0]->staging_bytes - 1;
    expect(&b, "more staging");
    b.tc.params.staging_limit += 1;
    ++last->n_next; /* an edge that no operation owns */
    expect(&b, "without a source");
    --last->n_next;
    --b.tc.params.chunk;
    expect(&b, "longer than a chunk");
    bench_fini(&b);
}
END_TEST

/* ---- edges: is there an order, is there an end? ---- */

/* bit b of reach[a]: a path leads from a to b */
static uint64_t *paths(const fs_plan_t *plan, size_t words)
{
    uint64_t *reach   = fs_test_alloc(plan->n_ops * words, sizeof(*reach));
    bool      changed = true;

    while (changed) {
        changed = false;
        for (uint32_t a = plan->n_ops; a-- > 0;) {
            for (uint32_t e = 0; e < plan->ops[a].n_next; ++e) {
                uint32_t next = plan->next[plan->ops[a].next + e];

                for (size_t w = 0; w < words; ++w) {
                    uint64_t old = reach[a * words + w];
                    uint64_t bit = next / 64 == w ? UINT64_C(1) << next % 64
                                                  : 0;

                    reach[a * words + w] |= reach[next * words + w] | bit;
                    changed |= reach[a * words + w] != old;
                }
            }
        }
    }
    return reach;
}

/* The bytes of staging that an operation reads or writes. */
static const fs_place_t *staged(const fs_op_t *op, bool written)
{
    const fs_place_t *place = written ? &op->dst : &op->src;

    return op->kind != (written ? FS_OP_SEND : FS_OP_RECV) &&
                   place->buffer == FS_BUF_STAGING
               ? place
               : NULL;
}

static bool overlap(const fs_op_t *a, const fs_place_t *x, const fs_op_t *b,
                    const fs_place_t *y)
{
    return x != NULL && y != NULL && x->offset < y->offset + b->len_bytes &&
           y->offset < x->offset + a->len_bytes;
}

static bool conflict(const fs_op_t *a, const fs_op_t *b)
{
    return overlap(a, staged(a, true), b, staged(b, true)) ||
           overlap(a, staged(a, true), b, staged(b, false)) ||
           overlap(a, staged(a, false), b, staged(b, true));
}

/* Two operations of which one writes where the other reads or writes, and no
 * path: all pairs, the slow way. */
static bool has_race(const fs_plan_t *plan)
{
    size_t    words = plan->n_ops / 64 + 1;
    uint64_t *reach = paths(plan, words);
    bool      race  = false;

    for (uint32_t a = 0; a < plan->n_ops; ++a) {
        for (uint32_t b = a + 1; b < plan->n_ops; ++b) {
            race |= conflict(&plan->ops[a], &plan->ops[b]) &&
                    (reach[a * words + b / 64] >> b % 64 & 1) == 0 &&
                    (reach[b * words + a / 64] >> a % 64 & 1) == 0;
        }
    }
    free(reach);
    return race;
}

/* Remove edge number e; the successor lists behind it move up. */
static void remove_edge(fs_plan_t *plan, uint32_t e)
{
    --plan->ops[plan->next[e]].n_after;
    memmove(plan->next + e, plan->next + e + 1,
            (plan->n_next - e - 1) * sizeof(*plan->next));
    --plan->n_next;
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        fs_op_t *op = &plan->ops[k];

        if (op->next > e) {
            --op->next;
        } else if (op->next + op->n_next > e) {
            --op->n_next;
        }
    }
}

static void add_edge(fs_plan_t *plan, uint32_t before, uint32_t then)
{
    uint32_t at = plan->ops[before].next;

    memmove(plan->next + at + 1, plan->next + at,
            (plan->n_next - at) * sizeof(*plan->next));
    plan->next[at] = then;
    ++plan->n_next;
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        plan->ops[k].next += k != before && plan->ops[k].next >= at;
    }
    ++plan->ops[before].n_next;
    ++plan->ops[then].n_after;
}

/* A plan with edges, or NULL. */
static fs_plan_t *pick(bench_t *b)
{
    for (int k = 0; k < 30; ++k) {
        fs_plan_t *plan = b->plans[fs_rng_below(&b->tc.rng, b->tc.n_ranks)];

        if (plan->n_next > 0 && plan->n_ops < 600) {
            return plan;
        }
    }
    return NULL;
}

static void restore(fs_plan_t *plan, fs_plan_t *saved)
{
    free(plan->ops);
    free(plan->next);
    *plan = *saved;
    free(saved);
}

/* Without an edge there is a race exactly if all pairs say so. */
START_TEST(prop_missing_edges)
{
    bench_t    b;
    fs_plan_t *plan;

    bench_init(&b, 30000 + (uint64_t)_i);
    plan = pick(&b);
    for (int k = 0; k < 12 && plan != NULL; ++k) {
        fs_plan_t *saved = thaw(plan);
        bool       race;

        remove_edge(plan, (uint32_t)fs_rng_below(&b.tc.rng, plan->n_next));
        race = has_race(plan);
        ck_assert_msg(check(&b) == (race ? FS_ERR_INVAL : FS_OK),
                      "seed %d: %s, the checker says '%s'", _i,
                      race ? "a race" : "no race", b.why);
        restore(plan, saved);
    }
    bench_fini(&b);
}
END_TEST

/* ---- deadlock, by playing the executor's rules until nothing moves ---- */

typedef struct player {
    uint32_t *waits;
    bool     *over;
    bool     *posted; /* wire receives */
} player_t;

static bool is_wire(const fs_op_t *op, fs_op_kind_t kind)
{
    return op->kind == kind && op->channel == FS_CH_WIRE;
}

/* May the operation start, as far as plan order and window go? */
static bool in_turn(const bench_t *b, const player_t *p, uint32_t r, uint32_t k)
{
    const fs_op_t *ops     = b->plans[r]->ops;
    uint32_t       n_early = 0;

    for (uint32_t j = 0; j < k; ++j) {
        if (is_wire(&ops[k], FS_OP_SEND) && is_wire(&ops[j], FS_OP_SEND) &&
            !p[r].over[j]) {
            return false;
        }
        if (is_wire(&ops[k], FS_OP_RECV) && is_wire(&ops[j], FS_OP_RECV)) {
            if (!p[r].posted[j]) {
                return false;
            }
            n_early += !p[r].over[j];
        }
    }
    return n_early < b->plans[r]->window;
}

static uint32_t find_end(const bench_t *b, const fs_op_t *send, uint32_t me)
{
    const fs_plan_t *plan = b->plans[send->peer];

    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        const fs_op_t *op = &plan->ops[k];

        if (op->kind == FS_OP_RECV && op->channel == send->channel &&
            op->peer == me && op->seq == send->seq) {
            return k;
        }
    }
    ck_abort_msg("a message without a receiver");
}

static void finish(const bench_t *b, player_t *p, uint32_t r, uint32_t k)
{
    const fs_op_t *op = &b->plans[r]->ops[k];

    p[r].over[k] = true;
    for (uint32_t e = 0; e < op->n_next; ++e) {
        --p[r].waits[b->plans[r]->next[op->next + e]];
    }
}

/* One attempt to run an operation; true if something happened. */
static bool attempt(const bench_t *b, player_t *p, uint32_t r, uint32_t k)
{
    const fs_op_t *op = &b->plans[r]->ops[k];
    uint32_t       other;

    if (p[r].over[k] || p[r].waits[k] > 0) {
        return false;
    }
    if (op->kind == FS_OP_RECV) {
        bool posts = !p[r].posted[k] && in_turn(b, p, r, k);

        p[r].posted[k] |= posts;
        return posts;
    }
    if (op->kind == FS_OP_SEND) {
        other = find_end(b, op, r);
        if (!p[op->peer].posted[other] || !in_turn(b, p, r, k)) {
            return false;
        }
        finish(b, p, op->peer, other);
    }
    finish(b, p, r, k);
    return true;
}

/* In passes over everything until one changes nothing. */
static bool has_deadlock(const bench_t *b)
{
    uint32_t  n = b->tc.n_ranks, n_over = 0;
    player_t *p     = fs_test_alloc(n, sizeof(*p));
    bool      moved = true;

    for (uint32_t r = 0; r < n; ++r) {
        p[r].waits  = fs_test_alloc(b->plans[r]->n_ops, sizeof(uint32_t));
        p[r].over   = fs_test_alloc(b->plans[r]->n_ops, sizeof(bool));
        p[r].posted = fs_test_alloc(b->plans[r]->n_ops, sizeof(bool));
        for (uint32_t k = 0; k < b->plans[r]->n_ops; ++k) {
            p[r].waits[k] = b->plans[r]->ops[k].n_after;
        }
    }
    while (moved) {
        moved = false;
        for (uint32_t r = 0; r < n; ++r) {
            for (uint32_t k = 0; k < b->plans[r]->n_ops; ++k) {
                moved |= attempt(b, p, r, k);
            }
        }
    }
    for (uint32_t r = 0; r < n; ++r) {
        for (uint32_t k = 0; k < b->plans[r]->n_ops; ++k) {
            n_over += p[r].over[k];
        }
        free(p[r].waits);
        free(p[r].over);
        free(p[r].posted);
    }
    free(p);
    return n_over < total_ops(b);
}

/* With one more edge there is a deadlock exactly if the rules end in one. */
START_TEST(prop_edges_too_many)
{
    bench_t    b;
    fs_plan_t *plan;

    bench_init(&b, 40000 + (uint64_t)_i);
    plan = total_ops(&b) < 1500 ? pick(&b) : NULL;
    for (int k = 0; k < 6 && plan != NULL; ++k) {
        fs_plan_t *saved  = thaw(plan);
        uint32_t   before = (uint32_t)fs_rng_below(&b.tc.rng, plan->n_ops);
        uint32_t   then   = (uint32_t)fs_rng_below(&b.tc.rng, plan->n_ops);
        bool       dead;

        if (k % 2 == 0 && plan->n_ops > 4) { /* rather close together */
            then = (before + plan->n_ops - 1 -
                    (uint32_t)fs_rng_below(&b.tc.rng, 4)) %
                   plan->n_ops;
        }
        add_edge(plan, before, then);
        dead = has_deadlock(&b);
        ck_assert_msg(check(&b) == (dead ? FS_ERR_INVAL : FS_OK),
                      "seed %d: %s, the checker says '%s'", _i,
                      dead ? "a deadlock" : "no deadlock", b.why);
        ck_assert(!dead || strstr(b.why, "waits forever") != NULL);
        restore(plan, saved);
    }
    bench_fini(&b);
}
END_TEST

/* ---- messages ---- */

/* The n-th operation of a kind and channel on a rank, NULL if there is none. */
static fs_op_t *nth(fs_plan_t *plan, fs_op_kind_t kind, fs_channel_t channel,
                    uint32_t n)
{
    for (uint32_t k = 0; k < plan->n_ops; ++k) {
        if (plan->ops[k].kind == kind && plan->ops[k].channel == channel &&
            n-- == 0) {
            return &plan->ops[k];
        }
    }
    return NULL;
}

/* Take an operation out of sight: a copy of nothing would be refused for that,
 * so the last one is cut off, edges and all. */
static void drop_last(fs_plan_t *plan)
{
    uint32_t last = plan->n_ops - 1;

    for (uint32_t e = plan->n_next; e-- > 0;) {
        bool owned = e >= plan->ops[last].next &&
                     e < plan->ops[last].next + plan->ops[last].n_next;

        if (owned || plan->next[e] == last) {
            remove_edge(plan, e);
        }
    }
    --plan->n_ops;
}

START_TEST(prop_lost_operation_is_found)
{
    bench_t    b;
    fs_plan_t *plan;

    bench_init(&b, 50000 + (uint64_t)_i);
    plan = pick(&b);
    for (int k = 0; k < 20 && plan != NULL && plan->n_ops > 0; ++k) {
        drop_last(plan);
        ck_assert_msg(check(&b) == FS_ERR_INVAL, "seed %d", _i);
    }
    bench_fini(&b);
}
END_TEST

START_TEST(ends_of_messages)
{
    bench_t  b;
    fs_op_t *first, *second, saved;

    bench_busy(&b);
    first  = nth(b.plans[0], FS_OP_SEND, FS_CH_WIRE, 0);
    second = nth(b.plans[0], FS_OP_SEND, FS_CH_WIRE, 1);
    ck_assert(first != NULL && second != NULL);
    saved = *first;

    first->seq = 1 << 24;
    expect(&b, "a channel or a number that does not exist");
    *first      = saved;
    first->peer = b.tc.n_ranks;
    expect(&b, "has no valid peer");
    first->peer = 0;
    expect(&b, "has no valid peer");
    *first         = saved;
    first->channel = FS_CH_INTRA;
    expect(&b, "uses a wire channel");
    *first = saved;
    ++first->seq;
    expect(&b, "is not the next of its kind");
    *first = saved;
    --first->len_bytes;
    ck_assert_int_eq(check(&b), FS_ERR_INVAL);
    *first = saved;
    ck_assert_int_eq(check(&b), FS_OK);
    bench_fini(&b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_check");
    TCase *tcase = tcase_create("plan_check");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, prop_good_plans_pass, 0, 200);
    tcase_add_loop_test(tcase, prop_damage_is_found, 0, 60);
    tcase_add_loop_test(tcase, prop_other_call_is_found, 0, 60);
    tcase_add_test(tcase, totals_must_agree);
    tcase_add_loop_test(tcase, prop_missing_edges, 0, 40);
    tcase_add_loop_test(tcase, prop_edges_too_many, 0, 40);
    tcase_add_loop_test(tcase, prop_lost_operation_is_found, 0, 20);
    tcase_add_test(tcase, ends_of_messages);
    suite_add_tcase(suite, tcase);
    return fs_test_run(suite);
}
