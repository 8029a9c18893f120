/* SPDX-License-Identifier: BSD-3-Clause */
/* The tiles of one server: what its ranks exchange with those of another. */
#ifndef FS_TILES_H
#define FS_TILES_H

#include "sched/balance/fs_balance.h"
#include "sched/model/fs_ports.h"
#include "sched/plan/fs_plan.h"

typedef struct fs_tiles {
    const fs_plan_request_t *request;
    uint32_t                 server;
    const uint32_t          *count_up; /* 0, 1, 2, ... for any local rank */
    uint64_t                *bytes;    /* room for the largest tile */
} fs_tiles_t;

/* Memory comes from arena. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_tiles_init(fs_tiles_t *tiles, const fs_plan_request_t *request,
                          fs_arena_t *arena);

/* The tile from (outgoing) or to this server, with the lanes of all pairs of
 * ports, pair by pair. Its bytes are valid until the next call, its proxies as
 * long as arena. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_tiles_get(fs_tiles_t *tiles, const fs_ports_t *ports,
                         uint32_t other, bool outgoing, fs_arena_t *arena,
                         fs_tile_t *tile_p);

/* The bytes alone: no lanes. */
void fs_tiles_get_bytes(fs_tiles_t *tiles, uint32_t other, bool outgoing,
                        fs_tile_t *tile_p);

#endif
