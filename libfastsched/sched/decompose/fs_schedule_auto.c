/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost model: which method is the cheapest for this matrix.
 *
 * A schedule costs its total and, for each message that a server sends or
 * receives one after another, a start-up cost alpha in bytes that a lane could
 * send meanwhile. No schedule costs less than the lower bound and one alpha for
 * each receiver of the server with the most of them. The method that suits the
 * number of servers and their skew goes first and is taken if it comes close to
 * that; otherwise the other one is tried too, and the cheaper is taken.
 */
#include "base/fs_arith.h"
#include "sched/decompose/fs_schedule.h"

enum {
    FOUR   = 4,  /* servers, up to which exact stages are few */
    FEW    = 24, /* and below which stages go first */
    MANY   = 64, /* servers, from which on stages take long to find */
    CLOSE  = 40, /* 1/40 above the least cost is close, */
    ALMOST = 20, /* 1/20 where a second try would not bring much */
    SKEWED = 4   /* 1/4 above the mean is skewed */
};

typedef struct choice {
    fs_decompose_t               how;
    const fs_decompose_method_t *method;
} choice_t;

/* Exact stages mix the pairs more than others do: lanes that share their NIC with other
 * communicators finish together. */
static const choice_t exact  = {FS_DECOMPOSE_BIRKHOFF, &fs_decompose_birkhoff};
static const choice_t stages = {FS_DECOMPOSE_COMPACT, &fs_decompose_compact};
static const choice_t shop   = {FS_DECOMPOSE_OPENSHOP, &fs_decompose_openshop};

/* Receivers of the server with the most of them: so many messages it takes. */
static uint32_t most_receivers(const fs_demand_t *demand)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < demand->n; ++i) {
        most = fs_u32_max(most, demand->n_dsts[i]);
    }
    return most;
}

/* Is the busiest server well above the mean? Then it alone decides, the others
 * have time, and list scheduling comes close with few messages. */
static bool is_skewed(const fs_demand_t *demand)
{
    fs_u128_t sum = 0;

    for (uint32_t i = 0; i < demand->n; ++i) {
        sum += demand->row[i];
    }
    return (fs_u128_t)demand->bound * demand->n >= sum + sum / SKEWED;
}

static fs_u128_t cost(const fs_draft_t *draft, uint64_t alpha)
{
    return draft->total + (fs_u128_t)alpha * draft->n_rounds;
}

static fs_status_t build(const fs_demand_t *demand, fs_arena_t *arena,
                         fs_draft_t *draft)
{
    bool            few    = demand->n <= FOUR;
    bool            staged = demand->n < FEW && !is_skewed(demand);
    const choice_t *first  = few ? &exact : staged ? &stages : &shop;
    const choice_t *second = staged && !few ? &shop : &stages;
    uint64_t        alpha  = demand->stage_cost;
    fs_u128_t least = demand->bound + (fs_u128_t)alpha * most_receivers(demand);
    fs_draft_t  other  = {.only_server = draft->only_server};
    uint32_t    part   = demand->n >= FEW && demand->n < MANY ? CLOSE : ALMOST;
    fs_status_t status = first->method->build(demand, arena, draft);

    draft->chosen = first->how;
    if (status != FS_OK || cost(draft, alpha) <= least + least / part) {
        return status;
    }
    status       = second->method->build(demand, arena, &other);
    other.chosen = second->how;
    if (status == FS_OK && other.status == FS_OK &&
        cost(&other, alpha) < cost(draft, alpha)) {
        fs_draft_swap(draft, &other);
    }
    fs_draft_fini(&other);
    return status == FS_OK ? other.status : status;
}

const fs_decompose_method_t fs_decompose_auto = {.build = build};

/* ---- all of them, for a schedule that is used again and again ---- */

static const choice_t all[] = {
    {FS_DECOMPOSE_COMPACT, &fs_decompose_compact},
    {FS_DECOMPOSE_OPENSHOP, &fs_decompose_openshop},
    {FS_DECOMPOSE_BIRKHOFF, &fs_decompose_birkhoff},
};

/* The first of the cheapest. */
static fs_status_t build_best(const fs_demand_t *demand, fs_arena_t *arena,
                              fs_draft_t *draft)
{
    fs_status_t status = all[0].method->build(demand, arena, draft);

    draft->chosen = all[0].how;
    for (size_t k = 1; k < sizeof(all) / sizeof(all[0]) && status == FS_OK;
         ++k) {
        fs_draft_t other = {.only_server = draft->only_server};

        status       = all[k].method->build(demand, arena, &other);
        other.chosen = all[k].how;
        status       = status == FS_OK ? other.status : status;
        if (status == FS_OK && cost(&other, demand->stage_cost) <
                                   cost(draft, demand->stage_cost)) {
            fs_draft_swap(draft, &other);
        }
        fs_draft_fini(&other);
    }
    return status;
}

const fs_decompose_method_t fs_decompose_best = {.build = build_best};
