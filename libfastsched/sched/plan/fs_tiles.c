/* SPDX-License-Identifier: BSD-3-Clause */
/* The sending server knows a tile as rows of its send counts, the receiving
 * server as columns of its receive counts. Both get the same tile. */
#include "sched/plan/fs_tiles.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <string.h>

fs_status_t fs_tiles_init(fs_tiles_t *tiles, const fs_plan_request_t *request,
                          fs_arena_t *arena)
{
    const fs_topo_t *topo    = request->topo;
    uint32_t         server  = fs_topo_server(topo, request->rank);
    uint32_t         largest = 0, *count_up;

    for (uint32_t w = 0; w < topo->n_servers; ++w) {
        largest = fs_u32_max(largest, fs_topo_n_local(topo, w));
    }
    count_up     = fs_arena_alloc(arena, largest, sizeof(*count_up));
    tiles->bytes = fs_arena_alloc(
        arena, (size_t)largest * fs_topo_n_local(topo, server), 8);
    tiles->request  = request;
    tiles->server   = server;
    tiles->count_up = count_up;
    if (count_up == NULL || tiles->bytes == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < largest; ++i) {
        count_up[i] = i;
    }
    return FS_OK;
}

static void fill_outgoing(const fs_tiles_t *tiles, const uint32_t *theirs,
                          uint32_t n_theirs, uint32_t n_mine)
{
    const uint64_t *row  = tiles->request->local->send;
    uint64_t       *cell = tiles->bytes;

    for (uint32_t i = 0; i < n_mine; ++i) {
        if (fs_in_a_row(theirs, n_theirs)) {
            memcpy(cell, row + theirs[0], n_theirs * sizeof(*cell));
        } else {
            for (uint32_t j = 0; j < n_theirs; ++j) {
                cell[j] = row[theirs[j]];
            }
        }
        cell += n_theirs;
        row += tiles->request->topo->n_ranks;
    }
}

static void fill_incoming(const fs_tiles_t *tiles, const uint32_t *theirs,
                          uint32_t n_theirs, uint32_t n_mine)
{
    const uint64_t *row = tiles->request->local->recv;

    for (uint32_t i = 0; i < n_mine; ++i) {
        uint64_t *cell = tiles->bytes + i;

        for (uint32_t j = 0; j < n_theirs; ++j) {
            *cell = row[theirs[j]];
            cell += n_mine;
        }
        row += tiles->request->topo->n_ranks;
    }
}

void fs_tiles_get_bytes(fs_tiles_t *tiles, uint32_t other, bool outgoing,
                        fs_tile_t *tile_p)
{
    const fs_topo_t *topo     = tiles->request->topo;
    uint32_t         n_mine   = fs_topo_n_local(topo, tiles->server);
    uint32_t         n_theirs = fs_topo_n_local(topo, other);
    const uint32_t  *theirs   = fs_topo_ranks(topo, other);

    if (outgoing) {
        fill_outgoing(tiles, theirs, n_theirs, n_mine);
    } else {
        fill_incoming(tiles, theirs, n_theirs, n_mine);
    }
    *tile_p = (fs_tile_t){.n_src = outgoing ? n_mine : n_theirs,
                          .n_dst = outgoing ? n_theirs : n_mine,
                          .bytes = tiles->bytes};
}

/* With a lane per rank and nobody twice, the proxies are the ranks themselves. */
static const uint32_t *proxies(const fs_tiles_t *tiles, const fs_ports_t *ports,
                               uint32_t server, const fs_tile_lanes_t *lanes,
                               fs_arena_t *arena)
{
    const fs_topo_t *topo = tiles->request->topo;

    return topo->n_lanes[server] == fs_topo_n_local(topo, server) &&
                   lanes->n <= fs_ports_of(ports, server) * lanes->width
               ? tiles->count_up
               : fs_ports_proxies(ports, topo, server, lanes, arena);
}

fs_status_t fs_tiles_get(fs_tiles_t *tiles, const fs_ports_t *ports,
                         uint32_t other, bool outgoing, fs_arena_t *arena,
                         fs_tile_t *tile_p)
{
    uint32_t        src = outgoing ? tiles->server : other;
    uint32_t        dst = outgoing ? other : tiles->server;
    fs_tile_lanes_t lanes =
        fs_ports_lanes(ports, tiles->request->topo, src, dst);

    fs_tiles_get_bytes(tiles, other, outgoing, tile_p);
    tile_p->n_lanes   = lanes.n;
    tile_p->shared    = lanes.shared;
    tile_p->src_proxy = proxies(tiles, ports, src, &lanes, arena);
    tile_p->dst_proxy = proxies(tiles, ports, dst, &lanes, arena);
    return tile_p->src_proxy == NULL || tile_p->dst_proxy == NULL ? FS_ERR_NOMEM
                                                                  : FS_OK;
}
