/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules without stages, named after the open-shop problem: whoever is free
 * goes on. A server gets an ordered list of whom to send to and one of whom to
 * receive from. Three rules; the first good one or the best one is taken.
 *
 *   rotation  Server i sends to i + 1, i + 2, ... Good when pairs are nearly
 *             equal: nobody waits long, and nothing is left over that does not
 *             fit. Given up when a server has idled too long.
 *   priority  List scheduling, fs_openshop_list.c. Good when pairs differ: a
 *             busy server hardly ever idles.
 *   relaxed   The stages of fs_compact.c without their barriers. Large pairs
 *             are cut into up to four pieces. When there are few servers: then
 *             the other rules end with gaps as long as a message; or few pairs.
 */
#include "sched/fs_openshop.h"

#include "base/fs_arith.h"

#include <string.h>

enum {
    MAX_PIECES = 4,  /* of a pair */
    FEW        = 40, /* servers, below which pairs are cut unless it is good, */
    SOME       = 64, /* below which a fair rotation is taken, */
    PLENTY     = 128, /* below which it is looked for, */
    MANY       = 512, /* below which pairs are cut unless it is fair */
    GOOD       = 50,  /* 1/50 above the bound is good, */
    FAIR       = 20   /* 1/20 is fair */
};

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

/* Sets the draft's total to UINT64_MAX if it gives up. */
static void rotate(fs_shop_t *shop, uint32_t part)
{
    bool good = true;

    for (uint32_t d = 1; d < shop->n && good; ++d) {
        good = round_of(shop, d, part);
    }
    if (!good) {
        shop->draft->total = UINT64_MAX;
    }
}

/* ---- stages without barriers ---- */

/* The transfers of a compact schedule in their order. The last piece that a
 * pair may have takes all that is left of it. */
static fs_status_t relax(fs_shop_t *shop, fs_arena_t *arena)
{
    size_t      n        = shop->n;
    fs_draft_t  stages   = {.only_server = FS_ALL_SERVERS};
    uint64_t   *sent     = fs_arena_calloc(arena, n * n, sizeof(*sent));
    uint32_t   *n_pieces = fs_arena_calloc(arena, n * n, sizeof(*n_pieces));
    fs_status_t status   = FS_ERR_NOMEM;

    if (sent != NULL && n_pieces != NULL) {
        status = fs_compact_build(shop->demand, arena, &stages);
    }
    for (size_t k = 0; status == FS_OK && k < stages.n_transfers; ++k) {
        const fs_transfer_t *t    = &stages.transfers[k];
        size_t               at   = t->src * n + t->dst;
        uint64_t             left = shop->demand->bytes[at] - sent[at];
        uint64_t bytes = ++n_pieces[at] == MAX_PIECES ? left : t->bytes;

        if (left > 0) {
            fs_shop_send(shop, t->src, t->dst, bytes);
            sent[at] += bytes;
        }
    }
    status = status == FS_OK ? stages.status : status;
    fs_draft_fini(&stages);
    return status;
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

/* Cutting needs stages, and many servers take long to find them. */
static bool worth_cutting(uint32_t n, const fs_draft_t *draft, uint64_t bound)
{
    return n < MANY && !within(draft, bound, n < FEW ? GOOD : FAIR);
}

static void keep_better(fs_draft_t *draft, fs_draft_t *trial)
{
    if (trial->total < draft->total) {
        fs_draft_swap(draft, trial);
    }
    fs_draft_clear(trial);
}

static fs_status_t try_rules(fs_shop_t *shop, fs_arena_t *arena,
                             fs_draft_t *draft, fs_draft_t *trial)
{
    uint64_t    bound  = shop->demand->bound;
    uint32_t    enough = good_enough(shop->n);
    fs_status_t status;

    fs_shop_open(shop, draft);
    rotate(shop, shop->n < PLENTY ? FAIR : GOOD);
    if (within(draft, bound, enough)) {
        return FS_OK;
    }
    fs_shop_open(shop, trial);
    status = fs_shop_by_priority(shop, arena);
    keep_better(draft, trial);
    if (status == FS_OK && worth_cutting(shop->n, draft, bound)) {
        fs_shop_open(shop, trial);
        status = relax(shop, arena);
        keep_better(draft, trial);
    }
    return status;
}

fs_status_t fs_openshop_build(const fs_demand_t *demand, fs_arena_t *arena,
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
