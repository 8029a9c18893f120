/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports: the senders and receivers of a schedule. Its matrix has a row and a
 * column for each.
 *
 * A port is a set of lanes of one server, the same number in every port, the
 * largest that divides all servers' lanes. Where all servers have as many
 * lanes, a port is a server. Where they differ, a server of 4 lanes is 2 ports
 * if another one has 2 lanes, which exchanges with them in turn: no lane idles
 * while its server has bytes to send, so the lower bound can be reached.
 *
 * A tile between servers of a and b ports is shared by lcm(a, b) pairs of them,
 * as evenly as bytes allow: pair k is port k mod a and port k mod b.
 */
#ifndef FS_PORTS_H
#define FS_PORTS_H

#include "base/fs_arena.h"
#include "fastsched.h"

/* Cost grows with the square of the number of ports: if uneven servers had more
 * in total, each is one port. */
enum { FS_MAX_UNEVEN_PORTS = 1024 };

typedef struct fs_ports {
    uint32_t  n_ports;
    uint32_t  width;  /* lanes of a port; 0: each server is one port, as wide as
                        the smaller server of a tile */
    uint32_t *first;  /* [n_servers + 1] first port of a server; NULL if width
                         is 0 */
    uint32_t *server; /* [n_ports] of a port; likewise */
} fs_ports_t;

/* After lanes have been set: the width of ports. */
void fs_ports_set_width(fs_topo_t *topo);

/* Memory comes from arena. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_ports_init(fs_ports_t *ports, const fs_topo_t *topo,
                          fs_arena_t *arena);

/* Each server is one port, whatever its lanes. */
static inline fs_ports_t fs_ports_one_each(const fs_topo_t *topo)
{
    return (fs_ports_t){.n_ports = fs_topo_n_servers(topo)};
}

/* The first port of a server; of the number of servers: the number of ports. */
static inline uint32_t fs_ports_first(const fs_ports_t *ports, uint32_t server)
{
    return ports->width == 0 ? server : ports->first[server];
}

/* The server of a port. */
static inline uint32_t fs_ports_server(const fs_ports_t *ports, uint32_t port)
{
    return ports->width == 0 ? port : ports->server[port];
}

/* Ports of a server. */
static inline uint32_t fs_ports_of(const fs_ports_t *ports, uint32_t server)
{
    return fs_ports_first(ports, server + 1) - fs_ports_first(ports, server);
}

/* Pairs of ports that share the tile between two servers. */
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

/* The pair of port a of server u, counted from 0, and port b of server w, if
 * there is one: else the number of pairs. */
uint32_t fs_ports_pair(const fs_ports_t *ports, uint32_t u, uint32_t w,
                       uint32_t a, uint32_t b);

/* Share the bytes between servers, [n_servers x n_servers], as evenly as bytes
 * allow: per_lane is [n_ports x n_ports], written as a whole, in bytes per lane.
 * Tiles of a server with itself count where it is one port, and are 0 elsewhere. */
void fs_ports_spread(const fs_ports_t *ports, const fs_topo_t *topo,
                     const uint64_t *bytes, uint64_t *per_lane);

/* Does no lane idle by its server's shape? */
bool fs_ports_use_all_lanes(const fs_topo_t *topo);

/* Ports that a port of the server with the fewest has to exchange with: it needs so
 * many stages at least, if its bytes are for all. 0: one server. */
uint32_t fs_ports_most_peers(const fs_topo_t *topo);

/* May lane a of server u send to lane b of server w? They have the same place
 * in the ports of a pair. */
bool fs_ports_talk(const fs_topo_t *topo, uint32_t u, uint32_t w, uint32_t a,
                   uint32_t b);

#endif
