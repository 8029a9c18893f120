/* SPDX-License-Identifier: BSD-3-Clause */
/* A schedule without stages in the making. */
#ifndef FS_OPENSHOP_H
#define FS_OPENSHOP_H

#include "sched/decompose/fs_schedule.h"

/* When the servers are free again. */
typedef struct fs_shop {
    const fs_demand_t *demand;
    uint32_t           n;
    fs_draft_t        *draft;
    uint64_t          *send_end; /* [n] */
    uint64_t          *recv_end; /* [n] */
    uint64_t          *idle;     /* [n] how long a sender has waited */
    uint32_t          *n_sent;   /* [n] transfers of a sender */
    uint32_t          *n_recvd;  /* [n] of a receiver */
} fs_shop_t;

/* FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_shop_init(fs_shop_t *shop, const fs_demand_t *demand,
                         fs_arena_t *arena);

/* Everybody is free; transfers go to draft. */
void fs_shop_open(fs_shop_t *shop, fs_draft_t *draft);

/* Send as soon as both are free; returns when the transfer ends. */
uint64_t fs_shop_send(fs_shop_t *shop, uint32_t src, uint32_t dst,
                      uint64_t bytes);

/* List scheduling by priority. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_shop_by_priority(fs_shop_t *shop, fs_arena_t *arena);

/* Pairs in up to four parts each, cut only for servers that would else not end
 * by the limit, which is at least the bound. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_shop_by_slack(fs_shop_t *shop, uint64_t limit,
                             fs_arena_t *arena);

#endif
