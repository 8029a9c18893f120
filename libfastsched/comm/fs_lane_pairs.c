/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/fs_lane_pairs.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

/* Bundles that are cut leave a lane nothing beyond the mean of its server's lanes, but
 * all lanes have a message for each server. They are cut where the fullest lane would
 * save so many bytes, and so many for each message more. */
enum { SAVED_BYTES = 1875, MESSAGE_BYTES = 500 };

/* Bytes of a block are counted in so many parts. */
enum { PARTS = 1024 };

/* While pairs are spread. */
typedef struct spread {
    const fs_topo_t *topo;
    uint64_t *load;   /* blocks of each lane, at topo->first[server] + lane */
    uint32_t *passed; /* [N] lanes of the smaller servers so far */
    bool      even;   /* all servers have as many lanes */
} spread_t;

static uint64_t n_blocks(const fs_topo_t *topo, uint32_t u, uint32_t v)
{
    return (uint64_t)fs_topo_n_local(topo, u) * fs_topo_n_local(topo, v);
}

static bool is_even(const fs_topo_t *topo)
{
    uint32_t n = fs_topo_n_servers(topo), u = 1;

    while (u < n && fs_topo_n_lanes(topo, u) == fs_topo_n_lanes(topo, 0)) {
        ++u;
    }
    return u == n;
}

/* fs_topo_first_lane() of a server, which is asked for all others in turn. */
static uint32_t next_first(spread_t *s, uint32_t server, uint32_t other)
{
    uint32_t n     = fs_topo_n_lanes(s->topo, server);
    uint32_t m     = fs_topo_n_lanes(s->topo, other);
    uint32_t first = 0;

    if (m < n) {
        first             = s->passed[server];
        s->passed[server] = (first + m) % n;
    }
    return first;
}

static uint64_t *load_of(const spread_t *s, uint32_t server, uint32_t lane)
{
    return &s->load[s->topo->first[server] +
                    lane % fs_topo_n_lanes(s->topo, server)];
}

/* (u + v) modulo the number of lanes where all servers have as many: no lane has more
 * than one pair beyond another's. Else the place that has least at the end that has
 * more. */
static uint32_t spread_pair(spread_t *s, uint32_t u, uint32_t v)
{
    uint32_t n       = fs_topo_tile_lanes(s->topo, u, v);
    uint32_t first_u = next_first(s, u, v);
    uint32_t first_v = next_first(s, v, u);
    uint32_t best    = 0;
    uint64_t least   = UINT64_MAX;

    for (uint32_t k = 0; k < (s->even ? 1 : n); ++k) {
        uint32_t place = (u + v + k) % n;
        uint64_t load  = fs_u64_max(*load_of(s, u, first_u + place),
                                    *load_of(s, v, first_v + place));

        if (load < least) {
            least = load;
            best  = place;
        }
    }
    *load_of(s, u, first_u + best) += n_blocks(s->topo, u, v);
    *load_of(s, v, first_v + best) += n_blocks(s->topo, u, v);
    return best;
}

/* All pairs, in the same order on all ranks; those of one server are kept. */
static void spread_all(spread_t *s, uint32_t server, fs_lane_pair_t *pairs)
{
    uint32_t n = fs_topo_n_servers(s->topo);

    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t v = u + 1; v < n; ++v) {
            uint32_t head = spread_pair(s, u, v);

            if (u == server || v == server) {
                pairs[u == server ? v : u].head = head;
            }
        }
    }
}

/* The length of all blocks, from which on bundles are cut, in PARTS. */
static uint64_t block_to_cut(const spread_t *s)
{
    const fs_topo_t *topo   = s->topo;
    uint64_t         others = fs_topo_n_servers(topo) - 1;
    uint64_t         least  = (uint64_t)FS_LANE_CUT_BYTES * PARTS;

    for (uint32_t u = 0; u <= others; ++u) {
        uint64_t m   = fs_topo_n_local(topo, u);
        uint64_t n   = fs_topo_n_lanes(topo, u);
        uint64_t sum = m * (fs_topo_n_ranks(topo) - m);
        uint64_t saved =
            fs_u64_max(SAVED_BYTES * n, MESSAGE_BYTES * others * (n - 1));

        for (uint32_t lane = 0; lane < n; ++lane) {
            uint64_t load = *load_of(s, u, lane) * n;

            if (load > sum) {
                least = fs_u64_min(least, saved * PARTS / (load - sum));
            }
        }
    }
    return least;
}

static uint64_t cut_bytes(uint64_t parts)
{
    return fs_u64_min(FS_LANE_CUT_BYTES,
                      fs_u64_max(FS_LANE_RANGE_BYTES, parts / PARTS));
}

fs_status_t fs_lane_pairs(const fs_topo_t *topo, uint32_t server,
                          fs_lane_pair_t *pairs)
{
    uint32_t n  = fs_topo_n_servers(topo);
    spread_t s  = {topo, calloc(fs_topo_n_ranks(topo), sizeof(*s.load)),
                   calloc(n, sizeof(*s.passed)), is_even(topo)};
    bool     ok = s.load != NULL && s.passed != NULL;
    uint64_t block;

    if (ok) {
        spread_all(&s, server, pairs);
    }
    block = ok ? block_to_cut(&s) : 0;
    for (uint32_t v = 0; v < n && ok; ++v) {
        if (v != server) {
            pairs[v].n_lanes   = fs_topo_tile_lanes(topo, server, v);
            pairs[v].cut_bytes = cut_bytes(block * n_blocks(topo, server, v));
        }
    }
    free(s.load);
    free(s.passed);
    return ok ? FS_OK : FS_ERR_NOMEM;
}
