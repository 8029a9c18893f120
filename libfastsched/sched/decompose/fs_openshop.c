/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules without stages, named after the open-shop problem: a free server
 * starts its next transfer. A server gets an ordered list of receivers and one
 * of senders. Three rules; the first good one or the best one is taken.
 *
 *   rotation  Server i sends to i + 1, i + 2, ... Good when pairs are nearly
 *             equal: no server waits long, and no transfer is left over that
 *             does not fit. Given up when a server has idled too long. From 40 servers
 *             on, other first distances get a try before pairs are cut.
 *   priority  List scheduling, fs_openshop_list.c. Good when pairs differ: a
 *             busy server hardly ever idles.
 *   slack     Pairs are cut so that no server without slack has to wait,
 *             fs_openshop_slack.c. When there are few servers, as the other
 *             rules then end with gaps as long as a message; or few pairs; or
 *             when all servers send and receive as much.
 */
#include "sched/decompose/fs_openshop.h"

#include "base/fs_arith.h"

#include <string.h>

enum {
    FEW    = 40,  /* servers, below which pairs are cut unless it is good, */
    SOME   = 64,  /* below which a fair rotation is taken, */
    PLENTY = 128, /* below which it is looked for */
    GOOD   = 50,  /* 1/50 above the bound is good, */
    FAIR   = 20,  /* 1/20 is fair */
    TURNS  = 8,   /* rotations */
    TRIES  = 4    /* limits of the time */
};

/* Pairs times servers for which cutting takes some tenths of a second. */
#define TOO_MANY (UINT64_C(1) << 24)

fs_status_t fs_shop_init(fs_shop_t *shop, const fs_demand_t *demand,
                         fs_arena_t *arena)
{
    size_t n = demand->n;

    *shop = (fs_shop_t){
        .demand   = demand,
        .n        = demand->n,
        .send_end = fs_arena_calloc(arena, 3 * n, sizeof(uint64_t)),
        .n_sent   = fs_arena_calloc(arena, 2 * n, sizeof(uint32_t)),
    };
    if (shop->send_end == NULL || shop->n_sent == NULL) {
        return FS_ERR_NOMEM;
    }
    shop->recv_end = shop->send_end + n;
    shop->idle     = shop->recv_end + n;
    shop->n_recvd  = shop->n_sent + n;
    return FS_OK;
}

void fs_shop_open(fs_shop_t *shop, fs_draft_t *draft)
{
    memset(shop->send_end, 0, 3 * (size_t)shop->n * sizeof(uint64_t));
    memset(shop->n_sent, 0, 2 * (size_t)shop->n * sizeof(uint32_t));
    shop->draft = draft;
}

uint64_t fs_shop_send(fs_shop_t *shop, uint32_t src, uint32_t dst,
                      uint64_t bytes)
{
    fs_draft_t *draft    = shop->draft;
    uint64_t    start    = fs_u64_max(shop->send_end[src], shop->recv_end[dst]);
    uint64_t    end      = start + bytes;
    uint32_t    n_sent   = ++shop->n_sent[src];
    uint32_t    n_recvd  = ++shop->n_recvd[dst];
    uint32_t    n_rounds = n_sent > n_recvd ? n_sent : n_recvd;

    fs_draft_transfer(draft, src, dst, bytes, start);
    shop->send_end[src] = shop->recv_end[dst] = end;
    draft->total                              = fs_u64_max(draft->total, end);
    if (n_rounds > draft->n_rounds) {
        draft->n_rounds = n_rounds;
    }
    return end;
}

/* ---- rotation ---- */

/* One round: server i to i + d. False if a server would end later than 1 / part
 * above the bound even if it never idled again. */
static bool round_of(fs_shop_t *shop, uint32_t d, uint32_t part)
{
    const fs_demand_t *demand = shop->demand;
    uint64_t           limit  = demand->bound + demand->bound / part;
    uint32_t           n      = shop->n;

    for (uint32_t i = 0, j = d; i < n; ++i, j = j + 1 == n ? 0 : j + 1) {
        uint64_t bytes = demand->bytes[(size_t)i * n + j];

        if (bytes == 0) {
            continue;
        }
        if (shop->recv_end[j] > shop->send_end[i]) {
            shop->idle[i] += shop->recv_end[j] - shop->send_end[i];
            if (demand->row[i] + shop->idle[i] > limit) {
                return false;
            }
        }
        fs_shop_send(shop, i, j, bytes);
    }
    return true;
}

/* All distances, this one first. Sets the draft's total to UINT64_MAX if it
 * gives up. */
static void rotate(fs_shop_t *shop, uint32_t first, uint32_t part)
{
    uint32_t n    = shop->n;
    bool     good = true;

    for (uint32_t k = 0; k + 1 < n && good; ++k) {
        good = round_of(shop, 1 + (first - 1 + k) % (n - 1), part);
    }
    if (!good) {
        shop->draft->total = UINT64_MAX;
    }
}

/* ---- the best rule ---- */

static bool within(const fs_draft_t *draft, uint64_t bound, uint32_t part)
{
    return draft->total <= bound + bound / part;
}

/* With few servers cutting pairs brings more, with many a priority list does. */
static uint32_t good_enough(uint32_t n)
{
    return n >= FEW && n < SOME ? FAIR : GOOD;
}

static void keep_better(fs_draft_t *draft, fs_draft_t *trial)
{
    if (trial->total < draft->total) {
        fs_draft_swap(draft, trial);
    }
    fs_draft_clear(trial);
}

/* Rotations until one is fair. */
static void turn(fs_shop_t *shop, fs_draft_t *draft, fs_draft_t *trial)
{
    uint32_t n = shop->n;

    for (uint32_t k = 1; k < TURNS && !within(draft, shop->demand->bound, FAIR);
         ++k) {
        fs_shop_open(shop, trial);
        rotate(shop, 1 + k * n / TURNS, FAIR);
        keep_better(draft, trial);
    }
}

/* Cut pairs until it is fair. With few servers the limit is the bound at first,
 * with more it is later, as then fewer pairs are cut. */
static fs_status_t cut(fs_shop_t *shop, fs_arena_t *arena, fs_draft_t *draft,
                       fs_draft_t *trial)
{
    uint64_t    bound  = shop->demand->bound;
    fs_status_t status = FS_OK;

    for (uint32_t k = 0; k < TRIES && status == FS_OK; ++k) {
        uint32_t percent = shop->n < FEW ? k : TRIES - 1 - k;

        fs_shop_open(shop, trial);
        status = fs_shop_by_slack(shop, bound + bound / 100 * percent, arena);
        keep_better(draft, trial);
        if (within(draft, bound, FAIR)) {
            break;
        }
    }
    return status;
}

static bool too_many(const fs_draft_t *draft, uint32_t n)
{
    return draft->n_rounds * (uint64_t)n * n > TOO_MANY;
}

static fs_status_t try_rules(fs_shop_t *shop, fs_arena_t *arena,
                             fs_draft_t *draft, fs_draft_t *trial)
{
    uint64_t    bound  = shop->demand->bound;
    uint32_t    n      = shop->n;
    fs_status_t status = FS_OK;

    fs_shop_open(shop, draft);
    rotate(shop, 1, n < PLENTY ? FAIR : GOOD);
    if (within(draft, bound, good_enough(n))) {
        return FS_OK;
    }
    fs_shop_open(shop, trial);
    status = fs_shop_by_priority(shop, arena);
    keep_better(draft, trial);
    if (n >= FEW) {
        turn(shop, draft, trial);
    }
    if (status == FS_OK && !too_many(draft, n) &&
        !within(draft, bound, n < FEW ? GOOD : FAIR)) {
        status = cut(shop, arena, draft, trial);
    }
    return status;
}

static fs_status_t build(const fs_demand_t *demand, fs_arena_t *arena,
                         fs_draft_t *draft)
{
    fs_draft_t  trial = {.only_server = draft->only_server};
    fs_shop_t   shop;
    fs_status_t status = fs_shop_init(&shop, demand, arena);

    if (status == FS_OK) {
        status = try_rules(&shop, arena, draft, &trial);
    }
    fs_draft_fini(&trial);
    return status == FS_OK ? trial.status : status;
}

const fs_decompose_method_t fs_decompose_openshop = {.build = build};
