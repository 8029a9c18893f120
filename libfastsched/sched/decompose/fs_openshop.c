/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules without stages, named after the open-shop problem: a free server
 * starts its next transfer. A server gets an ordered list of receivers and one
 * of senders. Three rules; the first good one or the best one is taken.
 *
 *   rotation  Server i sends to i + 1, i + 2, ..., fs_openshop_rotation.c.
 *             Good when pairs are nearly equal. From 40 servers on, other first
 *             distances get a try before pairs are cut.
 *   priority  List scheduling, fs_openshop_list.c. Good when pairs differ: a
 *             busy server hardly ever idles.
 *   slack     Pairs are cut so that no server without slack has to wait,
 *             fs_openshop_slack.c. When there are few servers, as the other
 *             rules then end with gaps as long as a message, and before the
 *             priority list is tried where no server has much more than the
 *             mean; or few pairs; or when all servers send and receive as much.
 */
#include "sched/decompose/fs_openshop.h"

#include <string.h>

enum {
    FEW    = 40,  /* servers, below which pairs are cut unless it is good, */
    SOME   = 64,  /* below which a fair rotation is taken, */
    PLENTY = 128, /* below which it is looked for */
    GOOD   = 50,  /* 1/50 above the bound is good, */
    FAIR   = 20,  /* 1/20 is fair */
    UNEVEN = 16,  /* 1/16 above the mean is not even */
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
        .send_end = fs_arena_alloc(arena, 2 * n, sizeof(uint64_t)),
    };
    shop->recv_end = shop->send_end + n;
    return shop->send_end == NULL ? FS_ERR_NOMEM : FS_OK;
}

void fs_shop_open(fs_shop_t *shop, fs_draft_t *draft)
{
    memset(shop->send_end, 0, 2 * (size_t)shop->n * sizeof(uint64_t));
    shop->draft = draft;
}

void fs_shop_close(fs_shop_t *shop, uint32_t n_rounds)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < shop->n; ++i) {
        total = fs_u64_max(total, shop->send_end[i]);
    }
    shop->draft->total    = total;
    shop->draft->n_rounds = n_rounds;
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
static void turn(fs_rotation_t *rotation, fs_draft_t *draft, fs_draft_t *trial)
{
    fs_shop_t *shop = rotation->shop;
    uint32_t   n    = shop->n;

    for (uint32_t k = 1; k < TURNS && !within(draft, shop->demand->bound, FAIR);
         ++k) {
        fs_shop_open(shop, trial);
        fs_shop_rotate(rotation, 1 + k * n / TURNS, FAIR);
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

/* Is the busiest line above the mean by some? Then it alone decides, the others
 * have time, and a priority list is as good as cutting pairs, and quicker. */
static bool is_uneven(const fs_demand_t *demand)
{
    fs_u128_t sum = 0;

    for (uint32_t i = 0; i < demand->n; ++i) {
        sum += demand->row[i];
    }
    return (fs_u128_t)demand->bound * demand->n >= sum + sum / UNEVEN;
}

static fs_status_t list_and_turn(fs_shop_t *shop, fs_rotation_t *rotation,
                                 fs_arena_t *arena, fs_draft_t *draft,
                                 fs_draft_t *trial)
{
    fs_status_t status;

    fs_shop_open(shop, trial);
    status = fs_shop_by_priority(shop, arena);
    keep_better(draft, trial);
    if (shop->n >= FEW) {
        turn(rotation, draft, trial);
    }
    return status;
}

static fs_status_t try_rules(fs_shop_t *shop, fs_arena_t *arena,
                             fs_draft_t *draft, fs_draft_t *trial)
{
    uint64_t      bound     = shop->demand->bound;
    uint32_t      n         = shop->n;
    bool          cut_first = n < FEW && !is_uneven(shop->demand);
    fs_rotation_t rotation;
    fs_status_t   status = fs_rotation_init(&rotation, shop, arena);

    if (status != FS_OK) {
        return status;
    }
    fs_shop_open(shop, draft);
    fs_shop_rotate(&rotation, 1, n < PLENTY && !cut_first ? FAIR : GOOD);
    if (within(draft, bound, good_enough(n))) {
        return FS_OK;
    }
    if (cut_first) {
        status = cut(shop, arena, draft, trial);
        if (status != FS_OK || within(draft, bound, GOOD)) {
            return status;
        }
    }
    status = list_and_turn(shop, &rotation, arena, draft, trial);
    if (status == FS_OK && !cut_first && !too_many(draft, n) &&
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
