/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports of a cluster.
 *
 * A switch gives each rank a port to send and one to receive. In the other
 * fabrics the ports are links: link (i, j) of a server is port i * M + j of its
 * inside, for those i and j that are neighbours. A message of several hops
 * passes through all of them at once (chunks are small, so forwarding is a
 * pipeline).
 */
#include "sim/fs_sim_fabric.h"

#include <stdlib.h>

enum { MAX_RING = 2 * FS_SIM_MAX_PATH, CUBE = 8, CUBE_LINKS = 6 };

/* Links between the ranks of a DGX-1 with V100: two fully connected groups of
 * four, and each rank to its counterpart in the other group. */
static const uint8_t cube_links[CUBE][CUBE] = {
    {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
    {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
};

static bool fits(fs_sim_fabric_t fabric, uint32_t n_local)
{
    switch (fabric) {
    case FS_SIM_SWITCH:
    case FS_SIM_MESH:
        return true;
    case FS_SIM_RING:
        return n_local <= MAX_RING;
    case FS_SIM_CUBE:
        return n_local == CUBE;
    }
    return false;
}

static uint64_t ports_inside(fs_sim_fabric_t fabric, uint32_t n_local)
{
    return fabric == FS_SIM_SWITCH ? 2 * (uint64_t)n_local
                                   : (uint64_t)n_local * n_local;
}

/* Of rate_up, the part of a link. */
static double share_of_link(fs_sim_fabric_t fabric, uint32_t n_local,
                            uint32_t port)
{
    switch (fabric) {
    case FS_SIM_SWITCH:
        break;
    case FS_SIM_MESH:
        return n_local > 1 ? 1.0 / (n_local - 1) : 1.0;
    case FS_SIM_RING:
        /* Both links of two ranks lead to the same neighbour. */
        return n_local > 2 ? 0.5 : 1.0;
    case FS_SIM_CUBE:
        return (double)cube_links[port / CUBE][port % CUBE] / CUBE_LINKS;
    }
    return 1.0;
}

/* Lanes are served by proxies; the ranks behind one share its NIC. */
static void number_nics(fs_sim_wiring_t *wiring, uint32_t server)
{
    const fs_topo_t *topo  = wiring->topo;
    uint32_t         lanes = fs_topo_n_lanes(topo, server), lane = 0;

    for (uint32_t i = 0; i < fs_topo_n_local(topo, server); ++i) {
        while (lane + 1 < lanes && fs_topo_proxy(topo, server, lane + 1) <= i) {
            ++lane;
        }
        wiring->nic[fs_topo_rank(topo, server, i)] = wiring->n_nics + lane;
    }
    wiring->n_nics += lanes;
}

static fs_status_t set_rates(fs_sim_wiring_t       *wiring,
                             const fs_sim_params_t *params)
{
    const fs_topo_t *topo = wiring->topo;
    uint32_t         port = 0;

    wiring->rate = malloc(wiring->n_ports * sizeof(*wiring->rate));
    if (wiring->rate == NULL) {
        return FS_ERR_NOMEM;
    }
    for (; port < wiring->first_up; ++port) {
        wiring->rate[port] = params->rate_out;
    }
    for (uint32_t s = 0; s < fs_topo_n_servers(topo); ++s) {
        uint32_t m = fs_topo_n_local(topo, s);

        for (; port < wiring->up[s] + ports_inside(wiring->fabric, m); ++port) {
            wiring->rate[port] =
                params->rate_up *
                share_of_link(wiring->fabric, m, port - wiring->up[s]);
        }
    }
    for (; port < wiring->n_ports; ++port) {
        wiring->rate[port] = params->rate_copy;
    }
    return FS_OK;
}

fs_status_t fs_sim_wiring_init(fs_sim_wiring_t *wiring, const fs_topo_t *topo,
                               const fs_sim_params_t *params)
{
    uint32_t n = fs_topo_n_ranks(topo), n_servers = fs_topo_n_servers(topo);
    uint64_t port;

    *wiring     = (fs_sim_wiring_t){.topo = topo, .fabric = params->fabric};
    wiring->nic = malloc(n * sizeof(*wiring->nic));
    wiring->up  = malloc(n_servers * sizeof(*wiring->up));
    if (wiring->nic == NULL || wiring->up == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t s = 0; s < n_servers; ++s) {
        number_nics(wiring, s);
    }
    port             = 2 * (uint64_t)wiring->n_nics;
    wiring->first_up = (uint32_t)port;
    for (uint32_t s = 0; s < n_servers; ++s) {
        uint32_t m = fs_topo_n_local(topo, s);

        if (!fits(params->fabric, m)) {
            return FS_ERR_INVAL;
        }
        wiring->up[s] = (uint32_t)port;
        port += ports_inside(params->fabric, m);
        if (port > UINT32_MAX / 2) {
            return FS_ERR_INVAL;
        }
    }
    wiring->first_copy = (uint32_t)port;
    wiring->n_ports    = (uint32_t)port + n;
    return set_rates(wiring, params);
}

void fs_sim_wiring_fini(fs_sim_wiring_t *wiring)
{
    free(wiring->nic);
    free(wiring->up);
    free(wiring->rate);
}

/* The shorter way round. Opposite ranks: half of them each way, so that all
 * links are used alike. */
static uint32_t path_in_ring(uint32_t m, uint32_t i, uint32_t j, uint32_t first,
                             uint32_t *path)
{
    uint32_t up   = (j + m - i) % m;
    bool     down = 2 * up > m || (2 * up == m && i % 2 == 1);
    uint32_t n    = 0;

    while (i != j) {
        uint32_t next = (i + (down ? m - 1 : 1)) % m;

        path[n++] = first + i * m + next;
        i         = next;
    }
    return n;
}

static uint32_t narrowest(uint32_t i, uint32_t via, uint32_t j)
{
    return cube_links[i][via] < cube_links[via][j] ? cube_links[i][via]
                                                   : cube_links[via][j];
}

/* Straight, or over one's own or the other's counterpart, whichever is wider;
 * between equals by turns. */
static uint32_t path_in_cube(uint32_t i, uint32_t j, uint32_t first,
                             uint32_t *path)
{
    uint32_t own = (i + CUBE / 2) % CUBE, other = (j + CUBE / 2) % CUBE;
    uint32_t a = narrowest(i, own, j), b = narrowest(i, other, j);
    uint32_t via = a > b || (a == b && (i + j) % 2 == 0) ? own : other;

    if (cube_links[i][j] > 0) {
        path[0] = first + i * CUBE + j;
        return 1;
    }
    path[0] = first + i * CUBE + via;
    path[1] = first + via * CUBE + j;
    return 2;
}

static uint32_t path_inside(const fs_sim_wiring_t *wiring, uint32_t server,
                            uint32_t src, uint32_t dst, uint32_t *path)
{
    uint32_t i     = fs_topo_local(wiring->topo, src);
    uint32_t j     = fs_topo_local(wiring->topo, dst);
    uint32_t m     = fs_topo_n_local(wiring->topo, server);
    uint32_t first = wiring->up[server];

    switch (wiring->fabric) {
    case FS_SIM_SWITCH:
        path[0] = first + i;
        path[1] = first + m + j;
        return 2;
    case FS_SIM_MESH:
        path[0] = first + i * m + j;
        return 1;
    case FS_SIM_RING:
        return path_in_ring(m, i, j, first, path);
    case FS_SIM_CUBE:
        return path_in_cube(i, j, first, path);
    }
    return 0;
}

uint32_t fs_sim_path(const fs_sim_wiring_t *wiring, uint32_t src, uint32_t dst,
                     uint32_t path[FS_SIM_MAX_PATH])
{
    uint32_t u = fs_topo_server(wiring->topo, src);

    if (src == dst) {
        path[0] = wiring->first_copy + src;
        return 1;
    }
    if (u == fs_topo_server(wiring->topo, dst)) {
        return path_inside(wiring, u, src, dst, path);
    }
    path[0] = wiring->nic[src];
    path[1] = wiring->n_nics + wiring->nic[dst];
    return 2;
}
