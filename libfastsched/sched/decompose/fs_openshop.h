/* SPDX-License-Identifier: BSD-3-Clause */
/* A schedule without stages in the making. */
#ifndef FS_OPENSHOP_H
#define FS_OPENSHOP_H

#include "base/fs_arith.h"
#include "sched/decompose/fs_schedule.h"

/* When the servers are free again. */
typedef struct fs_shop {
    const fs_demand_t *demand;
    uint32_t           n;
    fs_draft_t        *draft;
    uint64_t          *send_end; /* [n] */
    uint64_t          *recv_end; /* [n] */
} fs_shop_t;

/* FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_shop_init(fs_shop_t *shop, const fs_demand_t *demand,
                         fs_arena_t *arena);

/* Everybody is free; transfers go to draft. */
void fs_shop_open(fs_shop_t *shop, fs_draft_t *draft);

/* Send as soon as both are free; returns when the transfer ends. */
static inline uint64_t fs_shop_send(fs_shop_t *shop, uint32_t src, uint32_t dst,
                                    uint64_t bytes)
{
    uint64_t start = fs_u64_max(shop->send_end[src], shop->recv_end[dst]);

    fs_draft_transfer(shop->draft, src, dst, bytes, start);
    shop->send_end[src] = shop->recv_end[dst] = start + bytes;
    return start + bytes;
}

/* All has been sent, with at most so many messages of a server in a row. */
void fs_shop_close(fs_shop_t *shop, uint32_t n_rounds);

/* Rotations of one matrix. */
typedef struct fs_rotation {
    fs_shop_t *shop;
    uint64_t  *idle;  /* [n] how long a sender has waited */
    uint32_t  *first; /* [n + 1] index into srcs of a distance; NULL: pairs are
                         many, and all are visited */
    uint32_t  *srcs;  /* [n_pairs] by distance */
} fs_rotation_t;

/* FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_rotation_init(fs_rotation_t *rotation, fs_shop_t *shop,
                             fs_arena_t *arena);

/* Server i to i + distance, i + distance + 1, ... all around. It is given up,
 * and the draft's total is UINT64_MAX, when it will pass the bound by more than
 * 1 / part. */
void fs_shop_rotate(fs_rotation_t *rotation, uint32_t distance, uint32_t part);

/* List scheduling by priority. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_shop_by_priority(fs_shop_t *shop, fs_arena_t *arena);

/* Pairs in up to four parts each, cut only for servers that would else not end
 * by the limit, which is at least the bound. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_shop_by_slack(fs_shop_t *shop, uint64_t limit,
                             fs_arena_t *arena);

#endif
