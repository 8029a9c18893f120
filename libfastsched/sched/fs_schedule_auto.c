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
#include "sched/fs_schedule.h"

enum {
    FEW    = 24, /* servers, below which stages go first */
    MANY   = 64, /* servers, from which on stages take long to find */
    CLOSE  = 40, /* 1/40 above the least cost is close, */
    ALMOST = 20, /* 1/20 where a second try would not bring much */
    SKEWED = 4   /* 1/4 above the mean is skewed */
};

typedef struct method {
    fs_decompose_t       how;
    fs_schedule_build_t *build;
} method_t;

static const method_t stages = {FS_DECOMPOSE_COMPACT, fs_compact_build};
static const method_t shop   = {FS_DECOMPOSE_OPENSHOP, fs_openshop_build};

/* Receivers of the server with the most of them: so many messages it takes. */
static uint32_t most_receivers(const fs_demand_t *demand)
{
    uint32_t n = demand->n, most = 0;

    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t *bytes = demand->bytes + (size_t)i * n;
        uint32_t        here  = 0;

        for (uint32_t j = 0; j < n; ++j) {
            here += bytes[j] != 0;
        }
        here -= bytes[i] != 0;
        most = here > most ? here : most;
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

static fs_u128_t cost(const fs_draft_t *draft, uint64_t stage_cost)
{
    return draft->total + (fs_u128_t)stage_cost * draft->n_rounds;
}

fs_status_t fs_schedule_auto(const fs_demand_t *demand, uint64_t stage_cost,
                             fs_arena_t *arena, fs_draft_t *draft,
                             fs_decompose_t *how_p)
{
    bool            staged = demand->n < FEW && !is_skewed(demand);
    const method_t *first  = staged ? &stages : &shop;
    const method_t *second = staged ? &shop : &stages;
    fs_u128_t       least  = demand->bound +
                      (fs_u128_t)stage_cost * most_receivers(demand);
    fs_draft_t  other  = {.only_server = draft->only_server};
    uint32_t    part   = demand->n >= FEW && demand->n < MANY ? CLOSE : ALMOST;
    fs_status_t status = first->build(demand, arena, draft);

    *how_p = first->how;
    if (status != FS_OK || cost(draft, stage_cost) <= least + least / part) {
        return status;
    }
    status = second->build(demand, arena, &other);
    if (status == FS_OK && other.status == FS_OK &&
        cost(&other, stage_cost) < cost(draft, stage_cost)) {
        fs_draft_swap(draft, &other);
        *how_p = second->how;
    }
    fs_draft_fini(&other);
    return status == FS_OK ? other.status : status;
}
