/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open-shop scheduling by slack. A line, a sender or a receiver, has slack as
 * long as the time left is more than its bytes left take; without slack it is
 * tight and must be busy. Transfers run to their end, and an idle line starts
 * its largest available pair: so most pairs are one message. Others are
 * interrupted only when a tight line is idle: along an alternating path the
 * line gets a partner, that one's partner another, until a line is found that
 * was idle or has slack. Of the paths, the one whose smallest new pair is the
 * largest is taken, because its transfers last long. Sizes are compared by
 * octaves below the bound; then the number of interruptions decides.
 *
 * Without a limit of parts all would end in time, because a matrix whose lines
 * all fit always has a matching of all its tight lines (Birkhoff). The last
 * part that a pair may have is not interrupted, so a tight line may come late.
 *
 * An event for each pair that ends or line that becomes tight, O(n / 16) for each
 * but for the search of a path: O(n^2 / 64) for each octave at most.
 */
#include "sched/decompose/fs_openshop.h"

#include "base/fs_arith.h"
#include "base/fs_bits.h"
#include "base/fs_minima.h"

#define NEVER UINT64_MAX

enum {
    NONE      = FS_NO_BIT,
    MAX_PARTS = 4, /* of a pair */
    OCTAVES   = 16 /* of size; the last one has all that is smaller */
};

/* All senders or all receivers. */
typedef struct side {
    uint64_t   *load;      /* [n] bytes left when its part began */
    uint32_t   *partner;   /* [n] or NONE */
    uint32_t   *came_from; /* [n] scratch: the line that reached this one */
    uint32_t   *n_parts;   /* [n] so far */
    uint64_t   *idle;      /* [n_words] has bytes left and no partner */
    uint64_t   *tight;     /* [n_words] has no slack, and never will again */
    uint64_t   *last;      /* [n_words] in the last part of a pair */
    uint64_t   *changed;   /* [n_words] partner or load have changed */
    uint64_t   *any;   /* [n x n_words] lines of the other side with which it
                              has a pair */
    uint64_t   *large; /* [n x OCTAVES x n_words] of these, those whose pair is
                              of that octave or a higher one; others may be in it,
                              too, whose pair is done */
    fs_minima_t tight_at; /* [n] when an idle line becomes tight */
} side_t;

typedef struct slack {
    fs_shop_t  *shop;
    uint32_t    n;
    uint32_t    n_words;
    size_t      n_left; /* pairs */
    uint32_t    top;    /* the octave of the largest pair */
    uint64_t    limit;  /* when all shall have ended */
    uint64_t    now;
    uint64_t   *left;    /* [n x n] when the pair's part began */
    uint8_t    *n_parts; /* [n x n] of a pair so far */
    uint32_t   *running; /* [n] the receiver of a sender's part, or NONE */
    uint64_t   *begin;   /* [n] of the part */
    fs_minima_t end;     /* [n] of the pair if it goes on, or NEVER */
    uint32_t   *queue;   /* [n] scratch of a search */
    uint64_t   *unseen;  /* [n_words] scratch of a search */
    side_t      senders;
    side_t      receivers;
} slack_t;

static uint64_t *any_row(const slack_t *slack, const side_t *side,
                         uint32_t line)
{
    return side->any + (size_t)line * slack->n_words;
}

static uint64_t *large_row(const slack_t *slack, const side_t *side,
                           uint32_t octave, uint32_t line)
{
    return side->large + ((size_t)line * OCTAVES + octave) * slack->n_words;
}

static size_t pair_of(const slack_t *slack, uint32_t src, uint32_t dst)
{
    return (size_t)src * slack->n + dst;
}

/* Below the bound; OCTAVES is no bytes at all. */
static uint32_t octave_of(const slack_t *slack, uint64_t bytes)
{
    uint64_t bound = slack->shop->demand->bound;

    if (bytes == 0) {
        return OCTAVES;
    }
    return fs_u32_min(
        (uint32_t)(__builtin_clzll(bytes) - __builtin_clzll(bound)),
        OCTAVES - 1);
}

/* ---- the next pair ---- */

static void join(side_t *a, uint32_t i, side_t *b, uint32_t j)
{
    a->partner[i] = j;
    b->partner[j] = i;
    fs_bits_clear(a->idle, i);
    fs_bits_clear(b->idle, j);
    fs_bits_set(a->changed, i);
    fs_bits_set(b->changed, j);
}

/* Look from line i of a, over pairs of this octave or higher, at lines not seen
 * before. The first that is idle or whose partner has slack; or NONE, and their
 * partners are queued. */
static uint32_t look(slack_t *slack, const side_t *a, side_t *b,
                     uint32_t octave, uint32_t i, uint32_t *tail)
{
    const uint64_t *large = large_row(slack, a, octave, i);
    const uint64_t *any   = any_row(slack, a, i);

    for (uint32_t w = 0; w < slack->n_words; ++w) {
        uint64_t hits = large[w] & any[w] & slack->unseen[w];

        slack->unseen[w] &= ~hits;
        for (; hits != 0; hits &= hits - 1) {
            uint32_t j       = w * 64 + (uint32_t)__builtin_ctzll(hits);
            uint32_t partner = b->partner[j];

            b->came_from[j] = i;
            if (partner == NONE || !fs_bits_has(a->tight, partner)) {
                return j;
            }
            slack->queue[(*tail)++] = partner;
        }
    }
    return NONE;
}

/* The end of the path from a line of a whose smallest pair is of the first octave
 * for which there is one, or NONE. */
static uint32_t search_from(slack_t *slack, const side_t *a, side_t *b,
                            uint32_t root, uint32_t first_octave)
{
    uint32_t tail = 1;

    slack->queue[0] = root;
    for (uint32_t w = 0; w < slack->n_words; ++w) {
        slack->unseen[w] = ~b->last[w];
    }
    for (uint32_t octave = first_octave; octave < OCTAVES; ++octave) {
        for (uint32_t head = 0; head < tail; ++head) {
            uint32_t end = look(slack, a, b, octave, slack->queue[head], &tail);

            if (end != NONE) {
                return end;
            }
        }
    }
    return NONE;
}

/* The end of the widest path from a line of a, or NONE. Half of all lines have no
 * path at all: that is found out at once, over pairs of any octave. */
static uint32_t search(slack_t *slack, const side_t *a, side_t *b,
                       uint32_t root)
{
    return search_from(slack, a, b, root, OCTAVES - 1) == NONE
               ? NONE
               : search_from(slack, a, b, root, slack->top);
}

/* Find a partner for an idle line of a. */
static void rescue(slack_t *slack, side_t *a, side_t *b, uint32_t root)
{
    uint32_t j = search(slack, a, b, root), i, old;

    if (j == NONE) {
        return;
    }
    if (b->partner[j] != NONE) {
        a->partner[b->partner[j]] = NONE;
        fs_bits_set(a->idle, b->partner[j]);
        fs_bits_set(a->changed, b->partner[j]);
    }
    do {
        i   = b->came_from[j];
        old = a->partner[i];
        join(a, i, b, j);
        j = old;
    } while (i != root);
}

static void rescue_tight(slack_t *slack, side_t *a, side_t *b)
{
    for (uint32_t w = 0; w < slack->n_words; ++w) {
        uint64_t bits = a->idle[w] & a->tight[w];

        for (; bits != 0; bits &= bits - 1) {
            rescue(slack, a, b, w * 64 + (uint32_t)__builtin_ctzll(bits));
        }
    }
}

/* The idle receiver for which a sender has most, or NONE. */
static uint32_t idle_receiver(const slack_t *slack, uint32_t src)
{
    const side_t *side   = &slack->senders;
    uint64_t     *any    = any_row(slack, side, src);
    uint64_t     *idle   = slack->receivers.idle;
    uint32_t      octave = slack->top;

    if (fs_bits_first_common(any, idle, slack->n_words) == NONE) {
        return NONE;
    }
    for (;; ++octave) {
        const uint64_t *large = large_row(slack, side, octave, src);

        for (uint32_t w = 0; w < slack->n_words; ++w) {
            uint64_t hits = large[w] & any[w] & idle[w];

            if (hits != 0) {
                return w * 64 + (uint32_t)__builtin_ctzll(hits);
            }
        }
    }
}

static void join_idle(slack_t *slack)
{
    for (uint32_t w = 0; w < slack->n_words; ++w) {
        uint64_t bits = slack->senders.idle[w];

        for (; bits != 0; bits &= bits - 1) {
            uint32_t src = w * 64 + (uint32_t)__builtin_ctzll(bits);
            uint32_t dst = idle_receiver(slack, src);

            if (dst != NONE) {
                join(&slack->senders, src, &slack->receivers, dst);
            }
        }
    }
}

/* ---- parts ---- */

static void set_left(slack_t *slack, uint32_t src, uint32_t dst, uint64_t bytes)
{
    uint64_t *left = &slack->left[pair_of(slack, src, dst)];
    uint32_t  end;

    if (bytes == 0) {
        fs_bits_clear(any_row(slack, &slack->senders, src), dst);
        fs_bits_clear(any_row(slack, &slack->receivers, dst), src);
        return;
    }
    end = octave_of(slack, bytes);
    for (uint32_t octave = octave_of(slack, *left); octave < end; ++octave) {
        fs_bits_clear(large_row(slack, &slack->senders, octave, src), dst);
        fs_bits_clear(large_row(slack, &slack->receivers, octave, dst), src);
    }
    *left = bytes;
}

static void begin_part(slack_t *slack, uint32_t src, uint32_t dst)
{
    size_t at = pair_of(slack, src, dst);

    slack->running[src] = dst;
    slack->begin[src]   = slack->now;
    fs_minima_set(&slack->end, src, slack->now + slack->left[at]);
    ++slack->senders.n_parts[src];
    ++slack->receivers.n_parts[dst];
    if (++slack->n_parts[at] == MAX_PARTS) {
        fs_bits_set(slack->senders.last, src);
        fs_bits_set(slack->receivers.last, dst);
    }
}

static void end_part(slack_t *slack, uint32_t src)
{
    uint32_t dst   = slack->running[src];
    uint64_t bytes = slack->now - slack->begin[src];

    fs_shop_send(slack->shop, src, dst, bytes);
    set_left(slack, src, dst, slack->end.value[src] - slack->now);
    slack->senders.load[src] -= bytes;
    slack->receivers.load[dst] -= bytes;
    slack->running[src] = NONE;
}

/* The pair is done. */
static void leave(side_t *side, uint32_t line)
{
    side->partner[line] = NONE;
    fs_bits_clear(side->last, line);
    fs_bits_set(side->changed, line);
    if (side->load[line] > 0) {
        fs_bits_set(side->idle, line);
    }
}

static void end_pair(slack_t *slack, uint32_t src)
{
    uint32_t dst = slack->running[src];

    end_part(slack, src);
    --slack->n_left;
    leave(&slack->senders, src);
    leave(&slack->receivers, dst);
}

/* Parts whose sender has another partner end, then others begin. A sender without a
 * partner has no end. */
static void change_parts(slack_t *slack)
{
    const uint32_t *partner = slack->senders.partner;
    const uint64_t *changed = slack->senders.changed;

    for (uint32_t w = 0; w < slack->n_words; ++w) {
        for (uint64_t bits = changed[w]; bits != 0; bits &= bits - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);

            if (slack->running[i] != partner[i] && slack->running[i] != NONE) {
                end_part(slack, i);
            }
        }
    }
    for (uint32_t w = 0; w < slack->n_words; ++w) {
        for (uint64_t bits = changed[w]; bits != 0; bits &= bits - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);

            if (partner[i] == NONE) {
                fs_minima_set(&slack->end, i, NEVER);
            } else if (slack->running[i] != partner[i]) {
                begin_part(slack, i, partner[i]);
            }
        }
    }
}

/* ---- time ---- */

/* When an idle line will have no slack any more; of others, and of those that
 * have none, NEVER. Those that have none since now are tight. */
static uint64_t tight_from(const slack_t *slack, side_t *side, uint32_t line)
{
    uint64_t at = slack->limit - side->load[line];

    if (!fs_bits_has(side->idle, line) || fs_bits_has(side->tight, line)) {
        return NEVER;
    }
    if (at <= slack->now) {
        fs_bits_set(side->tight, line);
        return NEVER;
    }
    return at;
}

/* Lines with other partners: when are they to be looked at? */
static void watch_changed(const slack_t *slack, side_t *side)
{
    for (uint32_t w = 0; w < slack->n_words; ++w) {
        for (uint64_t bits = side->changed[w]; bits != 0; bits &= bits - 1) {
            uint32_t line = w * 64 + (uint32_t)__builtin_ctzll(bits);

            fs_minima_set(&side->tight_at, line, tight_from(slack, side, line));
        }
        side->changed[w] = 0;
    }
}

/* Lines whose slack is used up. */
static void tighten(const slack_t *slack, side_t *side)
{
    uint32_t line = 0;

    while ((line = fs_minima_find(&side->tight_at, line, slack->now)) != NONE) {
        fs_minima_set(&side->tight_at, line, tight_from(slack, side, line));
    }
}

/* Lines that are idle since now and have no slack. The others are watched as soon
 * as it is known whether they go on at once. */
static void tighten_changed(const slack_t *slack, side_t *side)
{
    for (uint32_t w = 0; w < slack->n_words; ++w) {
        for (uint64_t bits = side->changed[w]; bits != 0; bits &= bits - 1) {
            tight_from(slack, side, w * 64 + (uint32_t)__builtin_ctzll(bits));
        }
    }
}

/* Until a pair is done or a line becomes tight. */
static void go_on(slack_t *slack)
{
    side_t  *senders = &slack->senders, *receivers = &slack->receivers;
    uint64_t end, tight_sender, tight_receiver;
    uint32_t src = 0;

    watch_changed(slack, senders);
    watch_changed(slack, receivers);
    end            = fs_minima_least(&slack->end);
    tight_sender   = fs_minima_least(&senders->tight_at);
    tight_receiver = fs_minima_least(&receivers->tight_at);
    slack->now     = fs_u64_min(end, fs_u64_min(tight_sender, tight_receiver));
    while (end == slack->now &&
           (src = fs_minima_find(&slack->end, src, end)) != NONE) {
        end_pair(slack, src++);
    }
    if (tight_sender == slack->now) {
        tighten(slack, senders);
    }
    if (tight_receiver == slack->now) {
        tighten(slack, receivers);
    }
    tighten_changed(slack, senders);
    tighten_changed(slack, receivers);
}

/* ---- set-up ---- */

static bool side_init(slack_t *slack, side_t *side, const uint64_t *load,
                      fs_arena_t *arena)
{
    uint32_t n = slack->n, words = slack->n_words;
    size_t   rows = (size_t)(OCTAVES + 1) * n;

    side->load    = fs_arena_alloc(arena, n, sizeof(uint64_t));
    side->partner = fs_arena_calloc(arena, 3 * (size_t)n, sizeof(uint32_t));
    side->any = fs_arena_calloc(arena, (rows + 4) * words, sizeof(uint64_t));
    if (side->load == NULL || side->partner == NULL || side->any == NULL ||
        !fs_minima_init(&side->tight_at, n, arena)) {
        return false;
    }
    side->came_from = side->partner + n;
    side->n_parts   = side->came_from + n;
    side->large     = side->any + (size_t)n * words;
    side->idle      = side->any + rows * words;
    side->tight     = side->idle + words;
    side->last      = side->tight + words;
    side->changed   = side->last + words;
    for (uint32_t i = 0; i < n; ++i) {
        side->load[i]    = load[i];
        side->partner[i] = NONE;
        if (load[i] > 0) {
            fs_bits_set(side->idle, i);
            fs_bits_set(side->changed, i);
        }
    }
    return true;
}

static void fill_pair(slack_t *slack, uint32_t src, uint32_t dst)
{
    size_t   at     = pair_of(slack, src, dst);
    uint32_t octave = octave_of(slack, slack->shop->demand->bytes[at]);

    slack->left[at]    = slack->shop->demand->bytes[at];
    slack->n_parts[at] = 0;
    slack->top         = fs_u32_min(slack->top, octave);
    fs_bits_set(any_row(slack, &slack->senders, src), dst);
    fs_bits_set(any_row(slack, &slack->receivers, dst), src);
    fs_bits_set(large_row(slack, &slack->senders, octave, src), dst);
    fs_bits_set(large_row(slack, &slack->receivers, octave, dst), src);
}

/* Each octave has the pairs of the higher ones too. */
static void add_higher(slack_t *slack, side_t *side)
{
    size_t words = slack->n_words;

    for (uint32_t i = 0; i < slack->n; ++i) {
        uint64_t *large = large_row(slack, side, 0, i);

        for (size_t w = (slack->top + 1) * words; w < OCTAVES * words; ++w) {
            large[w] |= large[w - words];
        }
    }
}

static void fill(slack_t *slack)
{
    const fs_demand_t *demand = slack->shop->demand;

    for (uint32_t i = 0; i < slack->n; ++i) {
        const uint64_t *some = demand->some + (size_t)i * slack->n_words;

        slack->running[i] = NONE;
        for (uint32_t w = 0; w < slack->n_words; ++w) {
            for (uint64_t bits = some[w]; bits != 0; bits &= bits - 1) {
                fill_pair(slack, i, w * 64 + (uint32_t)__builtin_ctzll(bits));
            }
        }
    }
    add_higher(slack, &slack->senders);
    add_higher(slack, &slack->receivers);
    watch_changed(slack, &slack->senders);
    watch_changed(slack, &slack->receivers);
}

static fs_status_t slack_init(slack_t *slack, fs_shop_t *shop, uint64_t limit,
                              fs_arena_t *arena)
{
    size_t   n     = shop->n;
    uint32_t words = shop->demand->n_words;

    *slack = (slack_t){
        .shop    = shop,
        .n       = shop->n,
        .n_words = words,
        .n_left  = shop->demand->n_pairs,
        .top     = OCTAVES - 1,
        .limit   = limit,
        .left    = fs_arena_alloc(arena, n * n, sizeof(uint64_t)),
        .n_parts = fs_arena_alloc(arena, n * n, sizeof(uint8_t)),
        .begin   = fs_arena_alloc(arena, n, sizeof(uint64_t)),
        .running = fs_arena_alloc(arena, 2 * n, sizeof(uint32_t)),
        .unseen  = fs_arena_alloc(arena, words, sizeof(uint64_t)),
    };
    if (slack->left == NULL || slack->n_parts == NULL || slack->begin == NULL ||
        slack->running == NULL || slack->unseen == NULL ||
        !fs_minima_init(&slack->end, shop->n, arena) ||
        !side_init(slack, &slack->senders, shop->demand->row, arena) ||
        !side_init(slack, &slack->receivers, shop->demand->col, arena)) {
        return FS_ERR_NOMEM;
    }
    slack->queue = slack->running + n;
    return FS_OK;
}

/* Of a sender or a receiver. */
static uint32_t most_parts(const slack_t *slack)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < slack->n; ++i) {
        most = fs_u32_max(most, fs_u32_max(slack->senders.n_parts[i],
                                           slack->receivers.n_parts[i]));
    }
    return most;
}

fs_status_t fs_shop_by_slack(fs_shop_t *shop, uint64_t limit, fs_arena_t *arena)
{
    slack_t slack;

    if (slack_init(&slack, shop, limit, arena) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    fill(&slack);
    while (slack.n_left > 0) {
        rescue_tight(&slack, &slack.senders, &slack.receivers);
        rescue_tight(&slack, &slack.receivers, &slack.senders);
        join_idle(&slack);
        change_parts(&slack);
        go_on(&slack);
    }
    fs_shop_close(shop, most_parts(&slack));
    return FS_OK;
}
