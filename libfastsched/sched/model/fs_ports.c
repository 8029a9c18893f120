/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/model/fs_ports.h"

#include "sched/model/fs_topo.h"

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

fs_status_t fs_ports_init(fs_ports_t *ports, const fs_topo_t *topo,
                          fs_arena_t *arena)
{
    uint32_t n = topo->n_servers, next = 0;

    *ports       = fs_ports_one_each(topo);
    ports->width = common_width(topo);
    if (ports->width == 0) {
        return FS_OK;
    }
    ports->first = fs_arena_alloc(arena, (size_t)n + 1, sizeof(*ports->first));
    if (ports->first == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t u = 0; u < n; ++u) {
        ports->first[u] = next;
        next += topo->n_lanes[u] / ports->width;
    }
    ports->first[n] = next;
    ports->n_ports  = next;
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

bool fs_ports_use_all_lanes(const fs_topo_t *topo)
{
    return common_width(topo) > 0;
}

uint32_t fs_ports_most_peers(const fs_topo_t *topo)
{
    uint32_t width = common_width(topo), all = 0, least = UINT32_MAX;

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
    uint32_t width = common_width(topo), d;

    if (width == 0) {
        return a == b && a < fs_topo_tile_lanes(topo, u, w);
    }
    d = gcd(topo->n_lanes[u] / width, topo->n_lanes[w] / width);
    return a % width == b % width && a / width % d == b / width % d;
}
