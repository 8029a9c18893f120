/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rotation: in round d server i sends to server i + d. Good when pairs are
 * nearly equal: no server waits long, and no transfer is left over that does not
 * fit.
 *
 * It is given up when a server has idled too long. With many servers that is
 * seen early: idle time grows evenly from round to round, so after a part of the
 * rounds a server may have used up no more than that part of it, and a quarter.
 *
 * O(1) for each pair that is visited. Of a sparse matrix only pairs with bytes
 * are, sorted by distance once.
 */
#include "sched/decompose/fs_openshop.h"

#include <string.h>

enum {
    SPARSE = 8,   /* of less than 1/8 of all pairs a list is made */
    MANY   = 128, /* servers, from which on it is given up early */
    WHOLE  = 256  /* of the idle time that a server may have */
};

/* ---- pairs by distance ---- */

static uint32_t distance_of(uint32_t n, uint32_t src, uint32_t dst)
{
    return dst >= src ? dst - src : dst + n - src;
}

/* Count the pairs of each distance, or put them in their places. */
static void sort_pairs(const fs_demand_t *demand, uint32_t *first,
                       uint32_t *srcs)
{
    for (uint32_t i = 0; i < demand->n; ++i) {
        const uint64_t *some = demand->some + (size_t)i * demand->n_words;

        for (uint32_t w = 0; w < demand->n_words; ++w) {
            for (uint64_t bits = some[w]; bits != 0; bits &= bits - 1) {
                uint32_t j = w * 64 + (uint32_t)__builtin_ctzll(bits);
                uint32_t d = distance_of(demand->n, i, j);

                if (srcs != NULL) {
                    srcs[first[d]] = i;
                }
                ++first[d];
            }
        }
    }
}

static bool list_pairs(fs_rotation_t *rotation, fs_arena_t *arena)
{
    const fs_demand_t *demand = rotation->shop->demand;
    uint32_t           n      = demand->n;
    uint32_t *first = fs_arena_calloc(arena, (size_t)n + 2, sizeof(*first));

    rotation->srcs  = fs_arena_alloc(arena, demand->n_pairs, sizeof(uint32_t));
    rotation->first = first;
    if (first == NULL || rotation->srcs == NULL) {
        return false;
    }
    /* Counts move up by two, then starts by one: in the end first is right. */
    sort_pairs(demand, first + 2, NULL);
    for (uint32_t d = 2; d < n + 2; ++d) {
        first[d] += first[d - 1];
    }
    sort_pairs(demand, first + 1, rotation->srcs);
    return true;
}

fs_status_t fs_rotation_init(fs_rotation_t *rotation, fs_shop_t *shop,
                             fs_arena_t *arena)
{
    const fs_demand_t *demand = shop->demand;
    size_t             n      = demand->n;

    *rotation = (fs_rotation_t){
        .shop = shop, .idle = fs_arena_alloc(arena, n, sizeof(uint64_t))};
    if (rotation->idle == NULL) {
        return FS_ERR_NOMEM;
    }
    if (demand->n_pairs < n * n / SPARSE && !list_pairs(rotation, arena)) {
        return FS_ERR_NOMEM;
    }
    return FS_OK;
}

/* ---- rounds ---- */

/* A round. */
typedef struct round {
    uint32_t distance;
    uint64_t limit; /* when all shall have ended */
    uint32_t part;  /* of WHOLE: idle time that may have been used up by now */
} round_t;

/* False if the sender has idled too long. */
static inline bool send_pair(const fs_rotation_t *rotation, uint32_t i,
                             uint32_t j, const round_t *round)
{
    fs_shop_t         *shop   = rotation->shop;
    const fs_demand_t *demand = shop->demand;
    uint64_t           bytes  = demand->bytes[(size_t)i * demand->n + j];
    uint64_t           may_idle;

    if (bytes == 0) {
        return true;
    }
    if (shop->recv_end[j] > shop->send_end[i]) {
        rotation->idle[i] += shop->recv_end[j] - shop->send_end[i];
        may_idle = round->limit - demand->row[i];
        if (rotation->idle[i] > (fs_u128_t)may_idle * round->part / WHOLE) {
            return false;
        }
    }
    fs_shop_send(shop, i, j, bytes);
    return true;
}

static bool all_of(const fs_rotation_t *rotation, const round_t *round)
{
    uint32_t n = rotation->shop->n, j = round->distance;

    for (uint32_t i = 0; i < n; ++i, j = j + 1 == n ? 0 : j + 1) {
        if (!send_pair(rotation, i, j, round)) {
            return false;
        }
    }
    return true;
}

static bool listed_of(const fs_rotation_t *rotation, const round_t *round)
{
    const uint32_t *first = rotation->first + round->distance;
    uint32_t        n     = rotation->shop->n;

    for (uint32_t k = first[0]; k < first[1]; ++k) {
        uint32_t i = rotation->srcs[k], j = i + round->distance;

        if (!send_pair(rotation, i, j >= n ? j - n : j, round)) {
            return false;
        }
    }
    return true;
}

/* The k-th round. */
static bool round_of(const fs_rotation_t *rotation, uint32_t k, round_t *round)
{
    uint32_t n = rotation->shop->n;

    if (n >= MANY) {
        round->part = fs_u32_min(WHOLE / 4 + k * WHOLE / n, WHOLE);
    }
    return rotation->first == NULL ? all_of(rotation, round)
                                   : listed_of(rotation, round);
}

void fs_shop_rotate(fs_rotation_t *rotation, uint32_t distance, uint32_t part)
{
    const fs_demand_t *demand = rotation->shop->demand;
    uint32_t           n      = demand->n;
    round_t            round  = {.limit = demand->bound + demand->bound / part,
                                 .part  = WHOLE};

    memset(rotation->idle, 0, n * sizeof(*rotation->idle));
    for (uint32_t k = 0; k + 1 < n; ++k) {
        round.distance = 1 + (distance - 1 + k) % (n - 1);
        if (!round_of(rotation, k, &round)) {
            rotation->shop->draft->total = UINT64_MAX;
            return;
        }
    }
    fs_shop_close(rotation->shop, fs_demand_most_pairs(demand));
}
