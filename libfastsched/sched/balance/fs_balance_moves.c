/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that balance moves inside the servers, of a tile and of a matrix. */
#include "base/fs_arith.h"
#include "sched/balance/fs_balance_modes.h"
#include "sched/model/fs_topo.h"

void fs_streams_moves(const fs_tile_t *tile, const fs_streams_t *streams,
                      uint64_t *gather_p, uint64_t *redist_p)
{
    uint64_t gather = 0, redist = 0;

    for (uint32_t lane = 0; lane < streams->n_lanes; ++lane) {
        for (uint32_t k = streams->first[lane]; k < streams->first[lane + 1];
             ++k) {
            const fs_extent_t *s = &streams->extents[k];

            if (s->src_local != tile->src_proxy[lane]) {
                gather += s->len_bytes;
            }
            if (s->dst_local != tile->dst_proxy[s->dst_lane]) {
                redist += s->len_bytes;
            }
        }
    }
    *gather_p = gather;
    *redist_p = redist;
}

/* The numbers of one tile; FS_ERR_OVERFLOW if they are too large. */
static fs_status_t fill_bytes(const fs_topo_t *topo, const uint64_t *rank_bytes,
                              uint32_t u, uint32_t w, uint64_t *bytes)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < fs_topo_n_local(topo, u); ++i) {
        size_t row = (size_t)fs_topo_rank(topo, u, i) * topo->n_ranks;

        for (uint32_t j = 0; j < fs_topo_n_local(topo, w); ++j) {
            *bytes = rank_bytes[row + fs_topo_rank(topo, w, j)];
            if (!fs_u64_add(total, *bytes++, &total) || total > FS_MAX_BYTES) {
                return FS_ERR_OVERFLOW;
            }
        }
    }
    return FS_OK;
}

fs_status_t fs_tile_of_matrix(const fs_topo_t *topo, const fs_ports_t *ports,
                              const uint64_t *rank_bytes, uint32_t u,
                              uint32_t w, fs_arena_t *arena, fs_tile_t *tile)
{
    fs_tile_lanes_t lanes = fs_ports_lanes(ports, topo, u, w);
    size_t blocks = (size_t)fs_topo_n_local(topo, u) * fs_topo_n_local(topo, w);
    uint64_t *bytes = fs_arena_calloc(arena, blocks, sizeof(*bytes));

    *tile = (fs_tile_t){
        .n_src     = fs_topo_n_local(topo, u),
        .n_dst     = fs_topo_n_local(topo, w),
        .bytes     = bytes,
        .n_lanes   = lanes.n,
        .src_proxy = fs_ports_proxies(ports, topo, u, &lanes, arena),
        .dst_proxy = fs_ports_proxies(ports, topo, w, &lanes, arena),
        .shared    = lanes.shared};
    if (bytes == NULL || tile->src_proxy == NULL || tile->dst_proxy == NULL) {
        return FS_ERR_NOMEM;
    }
    return fill_bytes(topo, rank_bytes, u, w, bytes);
}

static fs_status_t tile_moves(const fs_topo_t *topo, const fs_ports_t *ports,
                              fs_balance_t how, const uint64_t *rank_bytes,
                              uint32_t u, uint32_t w, uint64_t *gather,
                              uint64_t *redist)
{
    fs_arena_t   arena = {0};
    fs_tile_t    tile;
    fs_streams_t streams;
    uint64_t     g, r;
    fs_status_t  status =
        fs_tile_of_matrix(topo, ports, rank_bytes, u, w, &arena, &tile);

    if (status == FS_OK) {
        status = fs_balance_tile(how, &tile, &arena, &streams);
    }
    if (status == FS_OK) {
        fs_streams_moves(&tile, &streams, &g, &r);
        if (!fs_u64_add(*gather, g, gather) ||
            !fs_u64_add(*redist, r, redist)) {
            status = FS_ERR_OVERFLOW;
        }
    }
    fs_arena_fini(&arena);
    return status;
}

/* DHBvN's lanes are full permutations: they pair servers of as many lanes. */
fs_status_t fs_balance_ports(fs_balance_t how, const fs_topo_t *topo,
                             fs_arena_t *arena, fs_ports_t *ports)
{
    const fs_balance_mode_t *mode = fs_balance_mode(how);

    *ports = fs_ports_one_each(topo);
    return mode == NULL           ? FS_ERR_INVAL
           : mode->permutes_lanes ? FS_OK
                                  : fs_ports_init(ports, topo, arena);
}

fs_status_t fs_balance_moves(const fs_topo_t *topo, fs_balance_t how,
                             const uint64_t *rank_bytes, uint64_t *gather_p,
                             uint64_t *redist_p)
{
    uint64_t    gather = 0, redist = 0;
    fs_arena_t  arena = {0};
    fs_ports_t  ports;
    fs_status_t status = fs_balance_ports(how, topo, &arena, &ports);

    for (uint32_t u = 0; u < topo->n_servers; ++u) {
        for (uint32_t w = 0; w < topo->n_servers && status == FS_OK; ++w) {
            if (w != u) {
                status = tile_moves(topo, &ports, how, rank_bytes, u, w,
                                    &gather, &redist);
            }
        }
    }
    fs_arena_fini(&arena);
    if (status == FS_OK) {
        *gather_p = gather;
        *redist_p = redist;
    }
    return status;
}
