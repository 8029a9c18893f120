/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * List scheduling by priority. Servers are numbered by load, the busiest first.
 * When transfers end, each of their senders takes the first free receiver for
 * which it still has something, then each of their receivers that is still free
 * the first free sender that still has something for it. "Still to send" and
 * "free" are bit rows in that order.
 *
 * Ends of transfers wait in buckets of time, so their order is exact to a bucket
 * only. With many servers, all transfers of a bucket end before the first of their
 * servers starts the next one: that is quicker, and with so many free servers each
 * finds a partner.
 * Start times are exact: a transfer starts when both are free.
 *
 * O(n / 64) for each pair with bytes. The total is about a row and a column
 * together at most.
 */
#include "sched/decompose/fs_openshop.h"

#include "base/fs_arith.h"
#include "base/fs_bits.h"

#include <stdlib.h>
#include <string.h>

enum {
    NONE    = FS_NO_BIT,
    MANY    = 128, /* servers, from which on transfers end in batches, */
    BUCKETS = 256, /* with so many buckets for each; half of them below */
};

/* Servers by load. */
typedef struct order {
    uint32_t *server; /* [n] at a position */
    uint32_t *pos;    /* [n] of a server */
} order_t;

/* A transfer that has been started and not yet timed, by positions. */
typedef struct started {
    const uint64_t *bytes;
    uint32_t        s;
    uint32_t        r;
} started_t;

typedef struct list {
    fs_shop_t       *shop;
    uint32_t         n;
    uint32_t         n_words;
    order_t          senders;
    order_t          receivers;
    const uint64_t **line;      /* [n] the row of the matrix of a sender */
    uint64_t        *to_send;   /* [n x n_words] receivers of a sender, by
                                   position */
    uint64_t        *to_recv;   /* [n x n_words] senders of a receiver */
    uint64_t        *idle_send; /* [n_words] */
    uint64_t        *idle_recv; /* [n_words] */
    uint32_t        *partner;   /* [n] the receiver of a sender's transfer */
    uint32_t        *next;      /* [n] the next sender in its bucket */
    uint32_t        *bucket;    /* [n_buckets] the first */
    uint32_t         n_buckets;
    unsigned         shift;      /* time to bucket */
    uint32_t         batch;      /* transfers that end together, at most */
    uint32_t         now;        /* the bucket whose transfers end */
    uint32_t        *freed_send; /* [n] senders of these transfers */
    uint32_t        *freed_recv; /* [n] receivers */
    started_t       *started;    /* [n] */
    uint32_t         n_started;
} list_t;

/* ---- bits ---- */

/* n bits. */
static void set_all(uint64_t *row, uint32_t n)
{
    memset(row, 0xff, n / 64 * sizeof(uint64_t));
    if (n % 64 != 0) {
        row[n / 64] = (UINT64_C(1) << n % 64) - 1;
    }
}

static inline uint64_t *row_of(const list_t *list, uint64_t *rows, uint32_t k)
{
    return rows + (size_t)k * list->n_words;
}

/* The first two cache lines of it. */
static inline void prefetch_row(const uint64_t *row)
{
    __builtin_prefetch(row);
    __builtin_prefetch(row + 8);
}

/* The lowest word with a number in both rows, or NONE. No early end: where it
 * would be is not foreseeable, and a wrong guess takes longer. */
static inline uint32_t first_word(const uint64_t *a, const uint64_t *b,
                                  uint32_t n_words)
{
    uint32_t first = NONE;

    for (uint32_t w = n_words; w-- > 0;) {
        first = (a[w] & b[w]) != 0 ? w : first;
    }
    return first;
}

/* ---- transfers ---- */

/* Time the transfers that have been started, and take them from what is to be
 * received. When they were started, that was only fetched: of a large matrix
 * nothing is in a near cache, and each pair of it is read once, in no order. No
 * receiver can take one of these senders before: they are busy. */
static void time_started(list_t *list)
{
    uint64_t *send_end = list->shop->send_end, *recv_end = list->shop->recv_end;
    uint32_t *bucket = list->bucket, last = list->n_buckets - 1;

    for (uint32_t k = 0; k < list->n_started; ++k) {
        uint32_t s = list->started[k].s, r = list->started[k].r;
        uint64_t bytes = *list->started[k].bytes;
        uint64_t start = fs_u64_max(send_end[s], recv_end[r]);
        uint32_t at    = (uint32_t)((start + bytes) >> list->shift);

        fs_bits_clear(row_of(list, list->to_recv, r), s);
        fs_draft_transfer(list->shop->draft, list->senders.server[s],
                          list->receivers.server[r], bytes, start);
        send_end[s] = recv_end[r] = start + bytes;
        at                        = fs_u32_min(fs_u32_max(at, list->now), last);
        list->next[s]             = bucket[at];
        bucket[at]                = s;
    }
    list->n_started = 0;
}

static inline void start_transfer(list_t *list, uint32_t s, uint32_t r)
{
    const uint64_t *bytes = list->line[s] + list->receivers.server[r];

    __builtin_prefetch(bytes);
    __builtin_prefetch(row_of(list, list->to_recv, r) + s / 64, 1);
    list->partner[s]                 = r;
    list->started[list->n_started++] = (started_t){bytes, s, r};
}

/* The lowest of the numbers in both words. */
static inline uint64_t lowest(uint64_t a, uint64_t b)
{
    return (a & b) & -(a & b);
}

static inline uint32_t number_of(uint32_t word, uint64_t bit)
{
    return word * 64 + (uint32_t)__builtin_ctzll(bit);
}

static inline void sender_is_free(list_t *list, uint32_t s)
{
    uint64_t *row = row_of(list, list->to_send, s), bit;
    uint32_t  w   = first_word(row, list->idle_recv, list->n_words), r;

    if (w == NONE) {
        fs_bits_set(list->idle_send, s);
        return;
    }
    bit = lowest(row[w], list->idle_recv[w]);
    r   = number_of(w, bit);
    row[w] ^= bit;
    list->idle_recv[w] ^= bit;
    start_transfer(list, s, r);
}

static inline void receiver_is_free(list_t *list, uint32_t r)
{
    uint64_t *row = row_of(list, list->to_recv, r), bit;
    uint32_t  w   = first_word(row, list->idle_send, list->n_words), s;

    if (w == NONE) {
        return;
    }
    bit = lowest(row[w], list->idle_send[w]);
    s   = number_of(w, bit);
    row[w] ^= bit;
    list->idle_send[w] ^= bit;
    fs_bits_clear(list->idle_recv, r);
    fs_bits_clear(row_of(list, list->to_send, s), r);
    start_transfer(list, s, r);
}

/* ---- set-up ---- */

typedef struct loaded {
    uint64_t bytes;
    uint32_t server;
} loaded_t;

static int by_load(const void *a, const void *b)
{
    const loaded_t *x = a, *y = b;

    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->server < y->server ? -1 : x->server > y->server;
}

static bool order_by_load(order_t *order, uint32_t n, const uint64_t *load,
                          fs_arena_t *arena)
{
    loaded_t *sorted = fs_arena_calloc(arena, n, sizeof(*sorted));

    order->server = fs_arena_calloc(arena, 2 * (size_t)n, sizeof(uint32_t));
    if (sorted == NULL || order->server == NULL) {
        return false;
    }
    order->pos = order->server + n;
    for (uint32_t i = 0; i < n; ++i) {
        sorted[i] = (loaded_t){load[i], i};
    }
    qsort(sorted, n, sizeof(*sorted), by_load);
    for (uint32_t i = 0; i < n; ++i) {
        order->server[i]             = sorted[i].server;
        order->pos[sorted[i].server] = i;
    }
    return true;
}

static void size_buckets(list_t *list)
{
    uint64_t end  = 2 * list->shop->demand->bound;
    uint64_t most = (uint64_t)BUCKETS / (list->n < MANY ? 2 : 1) * list->n;

    while (end >> list->shift > most) {
        ++list->shift;
    }
    list->n_buckets = (uint32_t)(end >> list->shift) + 1;
}

static fs_status_t list_init(list_t *list, fs_shop_t *shop, fs_arena_t *arena)
{
    size_t n = shop->n, words = shop->demand->n_words;

    *list = (list_t){.shop    = shop,
                     .n       = shop->n,
                     .n_words = (uint32_t)words,
                     .batch   = shop->n < MANY ? 1 : shop->n};
    size_buckets(list);
    list->to_send = fs_arena_calloc(arena, (2 * n + 2) * words, 8);
    list->partner = fs_arena_alloc(arena, 4 * n, sizeof(uint32_t));
    list->bucket  = fs_arena_alloc(arena, list->n_buckets, sizeof(uint32_t));
    list->started = fs_arena_alloc(arena, n, sizeof(*list->started));
    list->line    = fs_arena_alloc(arena, n, sizeof(*list->line));
    if (list->to_send == NULL || list->partner == NULL ||
        list->bucket == NULL || list->started == NULL || list->line == NULL ||
        !order_by_load(&list->senders, list->n, shop->demand->row, arena) ||
        !order_by_load(&list->receivers, list->n, shop->demand->col, arena)) {
        return FS_ERR_NOMEM;
    }
    list->to_recv    = list->to_send + n * words;
    list->idle_send  = list->to_recv + n * words;
    list->idle_recv  = list->idle_send + words;
    list->next       = list->partner + n;
    list->freed_send = list->next + n;
    list->freed_recv = list->freed_send + n;
    for (uint32_t s = 0; s < list->n; ++s) {
        list->line[s] = shop->demand->bytes + list->senders.server[s] * n;
    }
    return FS_OK;
}

/* Pairs that are to be sent, or, where those are the more, all but those that are
 * not: the others are flipped one by one. */
static void flip_row(list_t *list, uint32_t s, bool some)
{
    const fs_demand_t *demand = list->shop->demand;
    uint32_t           i      = list->senders.server[s];
    const uint64_t    *row    = demand->some + (size_t)i * demand->n_words;
    uint64_t          *sends  = row_of(list, list->to_send, s);

    for (uint32_t w = 0; w < demand->n_words; ++w) {
        uint64_t bits = some ? row[w] : ~row[w];

        for (; bits != 0; bits &= bits - 1) {
            uint32_t j = w * 64 + (uint32_t)__builtin_ctzll(bits), r;

            if (j >= list->n) {
                break;
            }
            r = list->receivers.pos[j];
            sends[r / 64] ^= UINT64_C(1) << r % 64;
            row_of(list, list->to_recv, r)[s / 64] ^= UINT64_C(1) << s % 64;
        }
    }
}

/* All receivers are free, and no sender has been found busy for want of one. */
static void fill(list_t *list)
{
    size_t n    = list->n;
    bool   some = list->shop->demand->n_pairs < n * n / 2;

    for (uint32_t k = 0; k < 2 * list->n && !some; ++k) {
        set_all(row_of(list, list->to_send, k), list->n);
    }
    set_all(list->idle_recv, list->n);
    for (uint32_t s = 0; s < list->n; ++s) {
        flip_row(list, s, some);
    }
    memset(list->bucket, 0xff, list->n_buckets * sizeof(uint32_t));
}

/* A batch of transfers of this bucket ends: both ends of each are free. Returns
 * how many there are. */
static uint32_t empty_bucket(list_t *list)
{
    uint32_t s = list->bucket[list->now], n = 0;

    for (; s != NONE && n < list->batch; s = list->next[s]) {
        prefetch_row(row_of(list, list->to_send, s));
        fs_bits_set(list->idle_recv, list->partner[s]);
        list->freed_send[n]   = s;
        list->freed_recv[n++] = list->partner[s];
    }
    list->bucket[list->now] = s;
    return n;
}

/* End the transfers of this bucket, those included that begin in it. */
static void end_bucket(list_t *list)
{
    uint32_t n;

    while ((n = empty_bucket(list)) > 0) {
        for (uint32_t k = 0; k < n; ++k) {
            sender_is_free(list, list->freed_send[k]);
        }
        for (uint32_t k = 0; k < n; ++k) {
            if (fs_bits_has(list->idle_recv, list->freed_recv[k])) {
                receiver_is_free(list, list->freed_recv[k]);
            }
        }
        time_started(list);
    }
}

fs_status_t fs_shop_by_priority(fs_shop_t *shop, fs_arena_t *arena)
{
    list_t list;

    if (list_init(&list, shop, arena) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    fill(&list);
    for (uint32_t s = 0; s < list.n; ++s) {
        sender_is_free(&list, s);
    }
    time_started(&list);
    for (list.now = 0; list.now < list.n_buckets; ++list.now) {
        end_bucket(&list);
    }
    fs_shop_close(shop, fs_demand_most_pairs(shop->demand));
    return FS_OK;
}
