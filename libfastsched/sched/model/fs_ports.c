/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/model/fs_ports.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <string.h>

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The width of a port; 0 if there would be too many. */
static uint32_t common_width(const fs_topo_t *topo)
{
    uint32_t width  = topo->n_lanes[0];
    bool     uneven = false;
    uint64_t lanes  = 0;

    for (uint32_t u = 0; u < topo->n_servers; ++u) {
        uneven = uneven || topo->n_lanes[u] != topo->n_lanes[0];
        width  = topo->n_lanes[u] == width ? width
                                           : gcd(width, topo->n_lanes[u]);
        lanes += topo->n_lanes[u];
    }
    return uneven && lanes / width > FS_MAX_UNEVEN_PORTS ? 0 : width;
}

void fs_ports_set_width(fs_topo_t *topo)
{
    topo->port_width = common_width(topo);
}

fs_status_t fs_ports_init(fs_ports_t *ports, const fs_topo_t *topo,
                          fs_arena_t *arena)
{
    uint32_t n = topo->n_servers, n_ports = 0;

    *ports       = fs_ports_one_each(topo);
    ports->width = topo->port_width;
    if (ports->width == 0) {
        return FS_OK;
    }
    for (uint32_t u = 0; u < n; ++u) {
        n_ports += topo->n_lanes[u] / ports->width;
    }
    ports->n_ports = n_ports;
    ports->first  = fs_arena_alloc(arena, (size_t)n + 1, sizeof(*ports->first));
    ports->server = fs_arena_alloc(arena, n_ports, sizeof(*ports->server));
    if (ports->first == NULL || ports->server == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t u = 0, next = 0; u < n; ++u) {
        ports->first[u] = next;
        for (uint32_t k = topo->n_lanes[u] / ports->width; k > 0; --k) {
            ports->server[next++] = u;
        }
    }
    ports->first[n] = n_ports;
    return FS_OK;
}

uint32_t fs_ports_pairs(const fs_ports_t *ports, uint32_t u, uint32_t w)
{
    uint32_t a = fs_ports_of(ports, u), b = fs_ports_of(ports, w);

    return a == b ? a : a / gcd(a, b) * b;
}

fs_tile_lanes_t fs_ports_lanes(const fs_ports_t *ports, const fs_topo_t *topo,
                               uint32_t u, uint32_t w)
{
    uint32_t pairs = fs_ports_pairs(ports, u, w);
    uint32_t width = ports->width == 0 ? fs_topo_tile_lanes(topo, u, w)
                                       : ports->width;

    return (fs_tile_lanes_t){.n      = pairs * width,
                             .width  = width,
                             .shared = pairs > fs_ports_of(ports, u) ||
                                       pairs > fs_ports_of(ports, w)};
}

uint32_t *fs_ports_proxies(const fs_ports_t *ports, const fs_topo_t *topo,
                           uint32_t server, const fs_tile_lanes_t *lanes,
                           fs_arena_t *arena)
{
    uint32_t  own   = fs_ports_of(ports, server) * lanes->width;
    uint32_t *proxy = fs_arena_alloc(arena, lanes->n, sizeof(*proxy));

    for (uint32_t lane = 0; proxy != NULL && lane < lanes->n; ++lane) {
        proxy[lane] = fs_topo_proxy(topo, server, lane % own);
    }
    return proxy;
}

uint32_t fs_ports_pair(const fs_ports_t *ports, uint32_t u, uint32_t w,
                       uint32_t a, uint32_t b)
{
    uint32_t n = fs_ports_pairs(ports, u, w), k = a;

    while (k < n && k % fs_ports_of(ports, w) != b) {
        k += fs_ports_of(ports, u);
    }
    return k < n ? k : n;
}

/* ---- bytes per lane ---- */

/* 64-bit divisions are slow, and there are N x N of them. */
static uint64_t div_up(uint64_t bytes, uint32_t n_lanes)
{
    return bytes >> 32 == 0
               ? ((uint32_t)bytes / n_lanes) + ((uint32_t)bytes % n_lanes != 0)
               : fs_u64_div_up(bytes, n_lanes);
}

/* Most often a server is a port: then the matrix is that of the servers. */
static void spread_plain(uint32_t width, size_t n_cells, const uint64_t *bytes,
                         uint64_t *per_lane)
{
    unsigned shift = (unsigned)__builtin_ctz(width);

    if (width == 1u << shift) {
        for (size_t k = 0; k < n_cells; ++k) {
            per_lane[k] = (bytes[k] >> shift) + ((bytes[k] & (width - 1)) != 0);
        }
    } else {
        for (size_t k = 0; k < n_cells; ++k) {
            per_lane[k] = div_up(bytes[k], width);
        }
    }
}

/* All pairs of ports of a tile carry as much. */
static void spread_tile(const fs_ports_t *ports, const fs_topo_t *topo,
                        uint32_t u, uint32_t w, uint64_t bytes,
                        uint64_t *per_lane)
{
    size_t   n     = ports->n_ports;
    uint32_t pairs = fs_ports_pairs(ports, u, w);
    uint64_t share = div_up(bytes, fs_ports_lanes(ports, topo, u, w).n);

    for (uint32_t k = 0; k < pairs; ++k) {
        uint32_t a = fs_ports_first(ports, u) + k % fs_ports_of(ports, u);
        uint32_t b = fs_ports_first(ports, w) + k % fs_ports_of(ports, w);

        per_lane[a * n + b] = share;
    }
}

void fs_ports_spread(const fs_ports_t *ports, const fs_topo_t *topo,
                     const uint64_t *bytes, uint64_t *per_lane)
{
    size_t n       = topo->n_servers,
           n_cells = (size_t)ports->n_ports * ports->n_ports;

    if (ports->n_ports == n && ports->width > 0) {
        spread_plain(ports->width, n_cells, bytes, per_lane);
        return;
    }
    memset(per_lane, 0, n_cells * sizeof(*per_lane));
    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            if (w != u) {
                spread_tile(ports, topo, u, w, bytes[u * n + w], per_lane);
            }
        }
    }
}

bool fs_ports_use_all_lanes(const fs_topo_t *topo)
{
    return topo->port_width > 0;
}

uint32_t fs_ports_most_peers(const fs_topo_t *topo)
{
    uint32_t width = topo->port_width, all = 0, least = UINT32_MAX;

    for (uint32_t u = 0; u < topo->n_servers; ++u) {
        uint32_t n = width == 0 ? 1 : topo->n_lanes[u] / width;

        all += n;
        least = n < least ? n : least;
    }
    return all - least;
}

bool fs_ports_talk(const fs_topo_t *topo, uint32_t u, uint32_t w, uint32_t a,
                   uint32_t b)
{
    uint32_t width = topo->port_width, d;

    if (width == 0) {
        return a == b && a < fs_topo_tile_lanes(topo, u, w);
    }
    d = gcd(topo->n_lanes[u] / width, topo->n_lanes[w] / width);
    return a % width == b % width && a / width % d == b / width % d;
}
