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
 * An event for each pair that ends or line that becomes tight, O(n) for each
 * but for the search of a path: O(n^2 / 64) for each octave at most.
 */
#include "sched/decompose/fs_openshop.h"

#include "base/fs_arith.h"
#include "base/fs_bits.h"

#define NEVER UINT64_MAX

enum {
    NONE      = FS_NO_BIT,
    MAX_PARTS = 4, /* of a pair */
    OCTAVES   = 16 /* of size; the last one has all that is smaller */
};

/* All senders or all receivers. */
typedef struct side {
    uint64_t *load;      /* [n] bytes left when its part began */
    uint32_t *partner;   /* [n] or NONE */
    uint32_t *came_from; /* [n] scratch: the line that reached this one */
    uint64_t *idle;      /* [n_words] has bytes left and no partner */
    uint64_t *tight;     /* [n_words] has no slack, and never will again */
    uint64_t *last;      /* [n_words] in the last part of a pair */
    uint64_t *large;     /* [OCTAVES x n x n_words] lines of the other side with
                            which it has a pair of that octave or a higher one */
} side_t;

typedef struct slack {
    fs_shop_t *shop;
    uint32_t   n;
    uint32_t   n_words;
    uint32_t   n_left; /* pairs */
    uint64_t   limit;  /* when all shall have ended */
    uint64_t   now;
    uint64_t  *left;    /* [n x n] when the pair's part began */
    uint8_t   *n_parts; /* [n x n] of a pair so far */
    uint32_t  *running; /* [n] the receiver of a sender's part, or NONE */
    uint64_t  *begin;   /* [n] of the part */
    uint64_t  *end;     /* [n] of the pair if it goes on, or NEVER */
    uint32_t  *queue;   /* [n] scratch of a search */
    uint64_t  *unseen;  /* [n_words] scratch of a search */
    side_t     senders;
    side_t     receivers;
} slack_t;

static uint64_t *large_row(const slack_t *slack, const side_t *side,
                           uint32_t octave, uint32_t line)
{
    return side->large + ((size_t)octave * slack->n + line) * slack->n_words;
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
}

/* Look from line i of a, over pairs of this octave or higher, at lines not seen
 * before. The first that is idle or whose partner has slack; or NONE, and their
 * partners are queued. */
static uint32_t look(slack_t *slack, const side_t *a, side_t *b,
                     uint32_t octave, uint32_t i, uint32_t *tail)
{
    const uint64_t *large = large_row(slack, a, octave, i);

    for (uint32_t w = 0; w < slack->n_words; ++w) {
        uint64_t hits = large[w] & slack->unseen[w];

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

/* The end of the widest path from a line of a, or NONE. */
static uint32_t search(slack_t *slack, const side_t *a, side_t *b,
                       uint32_t root)
{
    uint32_t tail = 1;

    slack->queue[0] = root;
    for (uint32_t w = 0; w < slack->n_words; ++w) {
        slack->unseen[w] = ~b->last[w];
    }
    for (uint32_t octave = 0; octave < OCTAVES; ++octave) {
        for (uint32_t head = 0; head < tail; ++head) {
            uint32_t end = look(slack, a, b, octave, slack->queue[head], &tail);

            if (end != NONE) {
                return end;
            }
        }
    }
    return NONE;
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
    const side_t *side  = &slack->senders;
    uint64_t     *idle  = slack->receivers.idle;
    uint32_t      words = slack->n_words, octave = 0;
    uint64_t     *any = large_row(slack, side, OCTAVES - 1, src);
    uint32_t      dst = fs_bits_first_common(any, idle, words);

    if (dst == NONE) {
        return NONE;
    }
    do {
        dst = fs_bits_first_common(large_row(slack, side, octave++, src), idle,
                                   words);
    } while (dst == NONE);
    return dst;
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
    uint32_t  end  = octave_of(slack, bytes);

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
    slack->end[src]     = slack->now + slack->left[at];
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
    set_left(slack, src, dst, slack->end[src] - slack->now);
    slack->senders.load[src] -= bytes;
    slack->receivers.load[dst] -= bytes;
    slack->running[src] = NONE;
    slack->end[src]     = NEVER;
}

/* The pair is done. */
static void leave(side_t *side, uint32_t line)
{
    side->partner[line] = NONE;
    fs_bits_clear(side->last, line);
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

/* Parts whose sender has another partner end, then others begin. */
static void change_parts(slack_t *slack)
{
    const uint32_t *partner = slack->senders.partner;

    for (uint32_t i = 0; i < slack->n; ++i) {
        if (slack->running[i] != partner[i] && slack->running[i] != NONE) {
            end_part(slack, i);
        }
    }
    for (uint32_t i = 0; i < slack->n; ++i) {
        if (slack->running[i] != partner[i]) {
            begin_part(slack, i, partner[i]);
        }
    }
}

/* ---- time ---- */

/* Idle lines without slack become tight; when will the next one? */
static uint64_t find_tight(const slack_t *slack, side_t *side)
{
    uint64_t next = NEVER;

    for (uint32_t w = 0; w < slack->n_words; ++w) {
        uint64_t bits = side->idle[w] & ~side->tight[w];

        for (; bits != 0; bits &= bits - 1) {
            uint32_t i  = w * 64 + (uint32_t)__builtin_ctzll(bits);
            uint64_t at = slack->limit - side->load[i];

            if (at <= slack->now) {
                fs_bits_set(side->tight, i);
            } else {
                next = fs_u64_min(next, at);
            }
        }
    }
    return next;
}

/* Until a pair is done or a line becomes tight. */
static void go_on(slack_t *slack)
{
    uint64_t next = fs_u64_min(find_tight(slack, &slack->senders),
                               find_tight(slack, &slack->receivers));

    for (uint32_t i = 0; i < slack->n; ++i) {
        next = fs_u64_min(next, slack->end[i]);
    }
    slack->now = next;
    for (uint32_t i = 0; i < slack->n; ++i) {
        if (slack->end[i] == next) {
            end_pair(slack, i);
        }
    }
    find_tight(slack, &slack->senders);
    find_tight(slack, &slack->receivers);
}

/* ---- set-up ---- */

static bool side_init(slack_t *slack, side_t *side, const uint64_t *load,
                      fs_arena_t *arena)
{
    uint32_t n = slack->n, words = slack->n_words;
    size_t   rows = (size_t)OCTAVES * n;

    side->load    = fs_arena_calloc(arena, n, sizeof(uint64_t));
    side->partner = fs_arena_calloc(arena, 2 * (size_t)n, sizeof(uint32_t));
    side->large = fs_arena_calloc(arena, (rows + 3) * words, sizeof(uint64_t));
    if (side->load == NULL || side->partner == NULL || side->large == NULL) {
        return false;
    }
    side->came_from = side->partner + n;
    side->idle      = side->large + rows * words;
    side->tight     = side->idle + words;
    side->last      = side->tight + words;
    for (uint32_t i = 0; i < n; ++i) {
        side->load[i]    = load[i];
        side->partner[i] = NONE;
        if (load[i] > 0) {
            fs_bits_set(side->idle, i);
        }
    }
    return true;
}

static void fill_pair(slack_t *slack, uint32_t src, uint32_t dst)
{
    size_t   at    = pair_of(slack, src, dst);
    uint64_t bytes = slack->shop->demand->bytes[at];
    uint32_t octave;

    if (src == dst || bytes == 0) {
        return;
    }
    octave          = octave_of(slack, bytes);
    slack->left[at] = bytes;
    ++slack->n_left;
    fs_bits_set(large_row(slack, &slack->senders, octave, src), dst);
    fs_bits_set(large_row(slack, &slack->receivers, octave, dst), src);
}

/* Each octave has the pairs of the higher ones too. */
static void add_higher(slack_t *slack, side_t *side)
{
    size_t words = (size_t)slack->n * slack->n_words;

    for (size_t w = words; w < OCTAVES * words; ++w) {
        side->large[w] |= side->large[w - words];
    }
}

static void fill(slack_t *slack)
{
    for (uint32_t i = 0; i < slack->n; ++i) {
        slack->running[i] = NONE;
        slack->end[i]     = NEVER;
        for (uint32_t j = 0; j < slack->n; ++j) {
            fill_pair(slack, i, j);
        }
    }
    add_higher(slack, &slack->senders);
    add_higher(slack, &slack->receivers);
    find_tight(slack, &slack->senders);
    find_tight(slack, &slack->receivers);
}

static fs_status_t slack_init(slack_t *slack, fs_shop_t *shop, uint64_t limit,
                              fs_arena_t *arena)
{
    size_t   n     = shop->n;
    uint32_t words = (shop->n + 63) / 64;

    *slack = (slack_t){
        .shop    = shop,
        .n       = shop->n,
        .n_words = words,
        .limit   = limit,
        .left    = fs_arena_calloc(arena, n * n, sizeof(uint64_t)),
        .n_parts = fs_arena_calloc(arena, n * n, sizeof(uint8_t)),
        .begin   = fs_arena_calloc(arena, 2 * n, sizeof(uint64_t)),
        .running = fs_arena_calloc(arena, 2 * n, sizeof(uint32_t)),
        .unseen  = fs_arena_calloc(arena, words, sizeof(uint64_t)),
    };
    if (slack->left == NULL || slack->n_parts == NULL || slack->begin == NULL ||
        slack->running == NULL || slack->unseen == NULL ||
        !side_init(slack, &slack->senders, shop->demand->row, arena) ||
        !side_init(slack, &slack->receivers, shop->demand->col, arena)) {
        return FS_ERR_NOMEM;
    }
    slack->end   = slack->begin + n;
    slack->queue = slack->running + n;
    return FS_OK;
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
    return FS_OK;
}
