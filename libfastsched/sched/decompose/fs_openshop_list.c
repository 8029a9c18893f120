/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * List scheduling by priority. Servers are numbered by load, the busiest first;
 * when a transfer ends, its sender takes the first free receiver for which it
 * still has something, its receiver then the first free sender that still has
 * something for it. "Still to send" and "free" are bit rows in that order.
 *
 * Ends of transfers wait in buckets of time, so their order is exact to a
 * bucket only. Start times are exact: a transfer starts when both are free.
 *
 * O(n^2) transfers, O(n / 64) for each. The total is about a row and a column
 * together at most.
 */
#include "sched/decompose/fs_openshop.h"

#include "base/fs_arith.h"
#include "base/fs_bits.h"

#include <stdlib.h>
#include <string.h>

enum {
    NONE    = FS_NO_BIT,
    BUCKETS = 128, /* per server */
    FETCH   = 8    /* pairs that are fetched from memory at a time */
};

/* Servers by load. */
typedef struct order {
    uint32_t *server; /* [n] at a position */
    uint32_t *pos;    /* [n] of a server */
} order_t;

typedef struct list {
    fs_shop_t *shop;
    uint32_t   n;
    uint32_t   n_words;
    order_t    senders;
    order_t    receivers;
    uint64_t  *to_send;   /* [n x n_words] receivers of a sender, by position */
    uint64_t  *to_recv;   /* [n x n_words] senders of a receiver */
    uint64_t  *idle_send; /* [n_words] */
    uint64_t  *idle_recv; /* [n_words] */
    uint32_t  *partner;   /* [n] the receiver of a sender's transfer */
    uint32_t  *next;      /* [n] the next sender in its bucket */
    uint32_t  *bucket;    /* [n_buckets] the first */
    uint32_t   n_buckets;
    unsigned   shift;          /* time to bucket */
    uint32_t   now;            /* the bucket whose transfers end */
    uint32_t   waiting[FETCH]; /* senders of transfers not yet timed */
    uint32_t   n_waiting;
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

static uint64_t *row_of(const list_t *list, uint64_t *rows, uint32_t k)
{
    return rows + (size_t)k * list->n_words;
}

/* ---- transfers ---- */

static const uint64_t *pair_of(const list_t *list, uint32_t s)
{
    return &list->shop->demand
                ->bytes[(size_t)list->senders.server[s] * list->n +
                        list->receivers.server[list->partner[s]]];
}

/* Time the transfers that have been started. */
static void time_waiting(list_t *list)
{
    for (uint32_t k = 0; k < list->n_waiting; ++k) {
        uint32_t s   = list->waiting[k];
        uint64_t end = fs_shop_send(list->shop, list->senders.server[s],
                                    list->receivers.server[list->partner[s]],
                                    *pair_of(list, s));
        uint32_t at  = (uint32_t)(end >> list->shift);

        at               = at > list->now ? at : list->now;
        at               = fs_u32_min(at, list->n_buckets - 1);
        list->next[s]    = list->bucket[at];
        list->bucket[at] = s;
    }
    list->n_waiting = 0;
}

/* The two are no longer free. How long they will not be is found out a little
 * later: a large matrix is in no near cache, and each pair of it is read once,
 * in no order. */
static void start_transfer(list_t *list, uint32_t s, uint32_t r)
{
    fs_bits_clear(row_of(list, list->to_send, s), r);
    fs_bits_clear(row_of(list, list->to_recv, r), s);
    fs_bits_clear(list->idle_send, s);
    fs_bits_clear(list->idle_recv, r);
    list->partner[s]                 = r;
    list->waiting[list->n_waiting++] = s;
    __builtin_prefetch(pair_of(list, s));
    if (list->n_waiting == FETCH) {
        time_waiting(list);
    }
}

static void sender_is_free(list_t *list, uint32_t s)
{
    uint32_t r = fs_bits_first_common(row_of(list, list->to_send, s),
                                      list->idle_recv, list->n_words);

    if (r != NONE) {
        start_transfer(list, s, r);
    }
}

static void receiver_is_free(list_t *list, uint32_t r)
{
    uint32_t s = fs_bits_first_common(row_of(list, list->to_recv, r),
                                      list->idle_send, list->n_words);

    if (s != NONE) {
        start_transfer(list, s, r);
    }
}

static void end_transfer(list_t *list, uint32_t s)
{
    uint32_t r = list->partner[s];

    fs_bits_set(list->idle_send, s);
    fs_bits_set(list->idle_recv, r);
    sender_is_free(list, s);
    if (fs_bits_has(list->idle_recv, r)) {
        receiver_is_free(list, r);
    }
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
    uint64_t end = 2 * list->shop->demand->bound;

    while (end >> list->shift > (uint64_t)BUCKETS * list->n) {
        ++list->shift;
    }
    list->n_buckets = (uint32_t)(end >> list->shift) + 1;
}

static fs_status_t list_init(list_t *list, fs_shop_t *shop, fs_arena_t *arena)
{
    size_t n = shop->n, words = (n + 63) / 64;

    *list = (list_t){.shop = shop, .n = shop->n, .n_words = (uint32_t)words};
    size_buckets(list);
    list->to_send = fs_arena_calloc(arena, (2 * n + 2) * words, 8);
    list->partner = fs_arena_calloc(arena, 2 * n, sizeof(uint32_t));
    list->bucket  = fs_arena_calloc(arena, list->n_buckets, sizeof(uint32_t));
    if (list->to_send == NULL || list->partner == NULL ||
        list->bucket == NULL ||
        !order_by_load(&list->senders, list->n, shop->demand->row, arena) ||
        !order_by_load(&list->receivers, list->n, shop->demand->col, arena)) {
        return FS_ERR_NOMEM;
    }
    list->to_recv   = list->to_send + n * words;
    list->idle_send = list->to_recv + n * words;
    list->idle_recv = list->idle_send + words;
    list->next      = list->partner + n;
    return FS_OK;
}

/* Pairs without bytes, the diagonal among them, are not to be sent. */
static void clear_empty(list_t *list, uint32_t s)
{
    uint32_t        i     = list->senders.server[s];
    const uint64_t *bytes = list->shop->demand->bytes + (size_t)i * list->n;

    for (uint32_t j = 0; j < list->n; ++j) {
        if (bytes[j] == 0 || j == i) {
            uint32_t r = list->receivers.pos[j];

            fs_bits_clear(row_of(list, list->to_send, s), r);
            fs_bits_clear(row_of(list, list->to_recv, r), s);
        }
    }
}

/* Everything is to be sent, everybody is free. */
static void fill(list_t *list)
{
    for (uint32_t k = 0; k < 2 * list->n + 2; ++k) {
        set_all(row_of(list, list->to_send, k), list->n);
    }
    for (uint32_t s = 0; s < list->n; ++s) {
        clear_empty(list, s);
    }
    memset(list->bucket, 0xff, list->n_buckets * sizeof(uint32_t));
}

/* What the end of a sender's transfer will look at. */
static void fetch_rows(const list_t *list, uint32_t s)
{
    for (uint32_t w = 0; s != NONE && w < list->n_words; w += 8) {
        __builtin_prefetch(row_of(list, list->to_send, s) + w);
        __builtin_prefetch(row_of(list, list->to_recv, list->partner[s]) + w);
    }
}

/* End the transfers of this bucket, those included that begin in it. */
static void end_bucket(list_t *list)
{
    do {
        while (list->bucket[list->now] != NONE) {
            uint32_t s = list->bucket[list->now];

            list->bucket[list->now] = list->next[s];
            fetch_rows(list, list->bucket[list->now]);
            end_transfer(list, s);
        }
        time_waiting(list);
    } while (list->bucket[list->now] != NONE);
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
    for (list.now = 0; list.now < list.n_buckets; ++list.now) {
        end_bucket(&list);
    }
    return FS_OK;
}
