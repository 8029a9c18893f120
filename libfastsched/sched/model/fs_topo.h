/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of sched/ and exec/ see of a topology. */
#ifndef FS_TOPO_H
#define FS_TOPO_H

#include "fastsched.h"

struct fs_topo {
    uint32_t  n_ranks;
    uint32_t  n_servers;
    uint32_t *server;  /* [n_ranks] */
    uint32_t *local;   /* [n_ranks] */
    uint32_t *first;   /* [n_servers + 1] index into ranks */
    uint32_t *ranks;   /* [n_ranks] grouped by server, ascending inside */
    uint32_t *n_lanes; /* [n_servers] */
    uint32_t *proxy;   /* [n_ranks] local position, at first[server] + lane */
    uint32_t *lane;    /* [n_ranks] FS_NO_LANE: none */
    uint32_t
        port_width; /* lanes of a port, 0: a server; fs_ports_set_width() */
};

/* The ranks of a server, by local position. */
static inline const uint32_t *fs_topo_ranks(const fs_topo_t *topo,
                                            uint32_t         server)
{
    return topo->ranks + topo->first[server];
}

/* Are these ranks of a server r, r + 1, ...? Most often they are. */
static inline bool fs_in_a_row(const uint32_t *ranks, uint32_t n)
{
    return ranks[n - 1] - ranks[0] == n - 1;
}

/* Has every server as many ranks? */
static inline bool fs_topo_is_even(const fs_topo_t *topo)
{
    bool even = true;

    for (uint32_t v = 0; v < topo->n_servers; ++v) {
        even = even && topo->first[v + 1] - topo->first[v] == topo->first[1];
    }
    return even;
}

/* Has each rank a lane of its own? */
static inline bool fs_topo_all_have_lanes(const fs_topo_t *topo)
{
    bool all = true;

    for (uint32_t v = 0; v < topo->n_servers; ++v) {
        all = all && topo->n_lanes[v] == fs_topo_n_local(topo, v);
    }
    return all;
}

/* Give a server other lanes. proxy: [n_lanes] local positions, ascending; may be
 * the topology's own. After the last server: fs_ports_set_width(). */
void fs_topo_set_lanes(fs_topo_t *topo, uint32_t server, uint32_t n_lanes,
                       const uint32_t *proxy);

/* Lanes that serve the tile from server u to server w, both ends. */
uint32_t fs_topo_tile_lanes(const fs_topo_t *topo, uint32_t u, uint32_t w);

/* The first of a server's lanes that serve what goes to and from another one as a
 * whole; the others follow, in a circle. All servers with fewer lanes than it
 * take the next ones, since otherwise all would have its lane 0. All servers are
 * visited. */
uint32_t fs_topo_first_lane(const fs_topo_t *topo, uint32_t server,
                            uint32_t other);

/* The place of a server's lane among these, from 0; fs_topo_tile_lanes() or more: it is
 * none of them. Lanes of the same place talk to each other. */
uint32_t fs_topo_place(const fs_topo_t *topo, uint32_t server, uint32_t lane,
                       uint32_t other);

#endif
