/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/fs_lane_pairs.h"

#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

/* Bundles that are cut leave a lane little beyond the mean of its server's lanes, but
 * lanes have more messages. They are cut where the fullest lane would save so many
 * bytes, and so many for each message more. */
enum { SAVED_BYTES = 1875, MESSAGE_BYTES = 500 };

/* Bytes of a block are counted in so many parts. */
enum { PARTS = 1024 };

/* Of more servers each lane has many pairs, which come out even, and to cut their
 * bundles would cost too many messages. */
enum { FEW_SERVERS = 64 };

/* While pairs are spread. */
typedef struct spread {
    const fs_topo_t *topo;
    uint64_t *load; /* blocks of each lane, at topo->first[server] + lane */
    bool      even; /* all servers are alike */
} spread_t;

static uint64_t n_blocks(const fs_topo_t *topo, uint32_t u, uint32_t v)
{
    return (uint64_t)fs_topo_n_local(topo, u) * fs_topo_n_local(topo, v);
}

static bool is_even(const fs_topo_t *topo)
{
    bool even = fs_topo_is_even(topo);

    for (uint32_t u = 1; u < fs_topo_n_servers(topo); ++u) {
        even = even && fs_topo_n_lanes(topo, u) == fs_topo_n_lanes(topo, 0);
    }
    return even;
}

/* Partners of a server have lanes of their own, as far as there are so many. */
static uint32_t turn(const fs_topo_t *topo, uint32_t u, uint32_t v)
{
    return (u + v) % fs_topo_tile_lanes(topo, u, v);
}

static uint64_t *load_of(const spread_t *s, uint32_t server, uint32_t lane)
{
    return &s->load[s->topo->first[server] +
                    lane % fs_topo_n_lanes(s->topo, server)];
}

/* Where servers are alike each pair takes its turn. Else it has the place that has least
 * at the end that has more, its turn if that is one of them. */
static uint32_t spread_pair(spread_t *s, uint32_t u, uint32_t v)
{
    uint32_t n       = fs_topo_tile_lanes(s->topo, u, v);
    uint32_t first_u = fs_topo_first_lane(s->topo, u, v);
    uint32_t first_v = fs_topo_first_lane(s->topo, v, u);
    uint32_t best    = 0;
    uint64_t least   = UINT64_MAX;

    for (uint32_t k = 0; k < (s->even ? 1 : n); ++k) {
        uint32_t place = (turn(s->topo, u, v) + k) % n;
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

static uint32_t most_lanes(const fs_topo_t *topo)
{
    uint32_t most = 0;

    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        most = fs_u32_max(most, fs_topo_n_lanes(topo, u));
    }
    return most;
}

/* All pairs, in the same order on all ranks, those with the least choice first; those of
 * one server are kept. */
static void spread_all(spread_t *s, uint32_t server, fs_lane_pair_t *pairs)
{
    uint32_t n = fs_topo_n_servers(s->topo), most = most_lanes(s->topo);

    for (uint32_t lanes = 1; lanes <= most; ++lanes) {
        for (uint32_t k = 0; k < n * n; ++k) {
            uint32_t u = k / n, v = k % n;

            if (u < v && fs_topo_tile_lanes(s->topo, u, v) == lanes) {
                uint32_t head = spread_pair(s, u, v);

                if (u == server || v == server) {
                    pairs[u == server ? v : u].head = head;
                }
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

/* All lanes as the load says, and block_to_cut(). */
static fs_status_t spread_few(const fs_topo_t *topo, uint32_t server,
                              fs_lane_pair_t *pairs, uint64_t *block)
{
    spread_t s = {topo, calloc(fs_topo_n_ranks(topo), sizeof(*s.load)),
                  is_even(topo)};

    if (s.load == NULL) {
        return FS_ERR_NOMEM;
    }
    spread_all(&s, server, pairs);
    *block = block_to_cut(&s);
    free(s.load);
    return FS_OK;
}

/* Blocks of the two servers with several lanes that have the fewest; 0: there are no
 * two. */
static uint64_t fewest_blocks(const fs_topo_t *topo)
{
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX}; /* ranks of a server */

    for (uint32_t u = 0; u < fs_topo_n_servers(topo); ++u) {
        uint64_t m = fs_topo_n_lanes(topo, u) > 1 ? fs_topo_n_local(topo, u)
                                                  : UINT64_MAX;

        least[1] = fs_u64_min(least[1], fs_u64_max(least[0], m));
        least[0] = fs_u64_min(least[0], m);
    }
    return least[1] == UINT64_MAX ? 0 : least[0] * least[1];
}

fs_status_t fs_lane_pairs(const fs_topo_t *topo, uint32_t server,
                          fs_lane_pair_t *pairs, uint64_t *least_cut_p)
{
    uint32_t    n      = fs_topo_n_servers(topo);
    uint64_t    fewest = fewest_blocks(topo), block;
    fs_status_t status;

    *least_cut_p = fewest == 0 ? UINT64_MAX : FS_LANE_CUT_BYTES;
    for (uint32_t v = 0; v < n; ++v) {
        pairs[v] = (fs_lane_pair_t){fs_topo_tile_lanes(topo, server, v),
                                    turn(topo, server, v), FS_LANE_CUT_BYTES};
    }
    if (n > FEW_SERVERS) {
        return FS_OK;
    }
    status = spread_few(topo, server, pairs, &block);
    for (uint32_t v = 0; v < n && status == FS_OK; ++v) {
        pairs[v].cut_bytes = cut_bytes(block * n_blocks(topo, server, v));
    }
    if (status == FS_OK && fewest > 0) {
        *least_cut_p = cut_bytes(block * fewest);
    }
    return status;
}
