/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes: what a schedule takes turns with. Its matrix has a row and a column for
 * each.
 *
 * A node is a set of lanes of one server, the same number in every node, the
 * largest that divides all servers' lanes. Where all servers have as many lanes,
 * a node is a server. Where they differ, a server of 4 lanes is 2 nodes beside
 * one of 2 lanes, which serves them in turn: no lane idles while its server has
 * bytes to send, so the lower bound can be reached.
 *
 * A tile between servers of a and b nodes is shared by lcm(a, b) pairs of them,
 * as evenly as bytes allow: pair k is node k mod a and node k mod b.
 */
#ifndef FS_PORTS_H
#define FS_PORTS_H

#include "base/fs_arena.h"
#include "fastsched.h"

/* Cost grows with the square of the nodes: where uneven servers would have more
 * together, each is one node. */
enum { FS_MAX_UNEVEN_NODES = 1024 };

typedef struct fs_ports {
    uint32_t  n_nodes;
    uint32_t  width; /* lanes of a node; 0: each server is one node, as wide as
                        the smaller server of a tile */
    uint32_t *first; /* [n_servers + 1] first node of a server; NULL if width
                        is 0 */
} fs_ports_t;

/* Memory comes from arena. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_ports_init(fs_ports_t *ports, const fs_topo_t *topo,
                          fs_arena_t *arena);

/* Each server is one node, whatever its lanes. */
static inline fs_ports_t fs_ports_one_each(const fs_topo_t *topo)
{
    return (fs_ports_t){.n_nodes = fs_topo_n_servers(topo)};
}

/* The first node of a server; of the number of servers: the number of ports. */
static inline uint32_t fs_ports_first(const fs_ports_t *ports, uint32_t server)
{
    return ports->width == 0 ? server : ports->first[server];
}

/* Nodes of a server. */
static inline uint32_t fs_ports_of(const fs_ports_t *ports, uint32_t server)
{
    return fs_ports_first(ports, server + 1) - fs_ports_first(ports, server);
}

/* Pairs of nodes that share the tile between two servers. */
uint32_t fs_ports_pairs(const fs_ports_t *ports, uint32_t u, uint32_t w);

/* The lanes of a tile: those of its pairs, pair by pair. */
typedef struct fs_tile_lanes {
    uint32_t n;
    uint32_t width;  /* of a pair */
    bool     shared; /* one of the servers serves several with one lane */
} fs_tile_lanes_t;

fs_tile_lanes_t fs_ports_lanes(const fs_ports_t *ports, const fs_topo_t *topo,
                               uint32_t u, uint32_t w);

/* [lanes->n] local index that serves a server's end of each lane; NULL if there
 * is no memory. */
uint32_t *fs_ports_proxies(const fs_ports_t *ports, const fs_topo_t *topo,
                           uint32_t server, const fs_tile_lanes_t *lanes,
                           fs_arena_t *arena);

/* The pair of node a of server u, counted from 0, and node b of server w, if
 * there is one: else the number of pairs. */
uint32_t fs_ports_pair(const fs_ports_t *ports, uint32_t u, uint32_t w,
                       uint32_t a, uint32_t b);

/* Does no lane idle by its server's shape? All servers are visited. */
bool fs_ports_use_all_lanes(const fs_topo_t *topo);

/* May lane a of server u send to lane b of server w? They have the same place
 * in the nodes of a pair. Likewise. */
bool fs_ports_talk(const fs_topo_t *topo, uint32_t u, uint32_t w, uint32_t a,
                   uint32_t b);

#endif
