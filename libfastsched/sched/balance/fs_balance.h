/* SPDX-License-Identifier: BSD-3-Clause */
/* A tile becomes lane streams. */
#ifndef FS_BALANCE_H
#define FS_BALANCE_H

#include "base/fs_arena.h"
#include "fastsched.h"
#include "sched/model/fs_ports.h"

/* Large blocks are split between cache lines of FS_BALANCE_ALIGN bytes as long as
 * lanes have room to spare (FLASH §5); MINMOVE splits anywhere. */
enum { FS_BALANCE_ALIGN = 128, FS_BALANCE_LARGE = 64 * FS_BALANCE_ALIGN };

/* Bytes of block (src_local, dst_local) that travel on a lane. The sending
 * lane is the index into fs_streams_t.first. */
typedef struct fs_extent {
    uint32_t src_local;
    uint32_t dst_local;
    uint32_t dst_lane;  /* lane of the receiving server on which they arrive */
    uint64_t offset;    /* in the block, bytes */
    uint64_t len_bytes; /* never 0 */
    uint64_t pos;       /* in the lane stream, bytes */
} fs_extent_t;

/*
 * The streams of one tile, all lanes. Sending lane l holds extents first[l] to
 * first[l + 1] - 1, in the order in which they travel: by pos, and none
 * overlaps the next.
 *
 * At any pos the sending lanes that have a byte there and the lanes on which
 * those bytes arrive are paired one to one. MINMOVE, EQUALIZE and GREEDY go
 * from each lane to its namesake (merged peer transfer, FAST §4.1): dst_lane is
 * the sending lane, and an extent begins where the one before it ends. With
 * ROWCOL a sending lane visits several receiving lanes, one after another, and
 * is idle where another lane still needs its receiver: then there is a gap, and
 * pos is not the sum of the lengths before it; a stream ends with its last
 * extent.
 */
typedef struct fs_streams {
    uint32_t     n_lanes;
    uint32_t    *first; /* [n_lanes + 1] */
    fs_extent_t *extents;
    uint64_t    *end; /* [n_lanes] where a stream ends, with merged peer
                          transfer; else NULL */
} fs_streams_t;

/* Whose bytes are looked for: a local rank of the sending (outgoing) or of the
 * receiving server. */
typedef struct fs_viewer {
    uint32_t local;
    bool     outgoing;
} fs_viewer_t;

/* The tile from one server to another. */
typedef struct fs_tile {
    uint32_t        n_src; /* ranks of the sending server */
    uint32_t        n_dst;
    const uint64_t *bytes;     /* [n_src x n_dst], the sum at most 2^62 */
    uint32_t        n_lanes;   /* 1 or more */
    const uint32_t *src_proxy; /* [n_lanes] local index that sends a lane, each
                                  another unless shared */
    const uint32_t *dst_proxy; /* [n_lanes] local index that receives it */
    bool            shared;    /* a rank may serve several lanes at one end */
} fs_tile_t;

/*
 * Bytes a lane may carry when total bytes share n_lanes lanes: an equal share,
 * rounded up; to whole cache lines where that adds at most a 64th.
 */
uint64_t fs_balance_capacity(uint64_t total_bytes, uint32_t n_lanes);

/* The longest stream a mode may make of them. That is the capacity, but GREEDY
 * may go 5% beyond it (SABRE §5.3.2). */
uint64_t fs_balance_longest(fs_balance_t how, uint64_t total_bytes,
                            uint32_t n_lanes);

/*
 * Cut a tile into lane streams, none that ends after fs_balance_longest(), every
 * byte of the tile in exactly one. Both servers of a tile call this with equal
 * arguments and get equal streams.
 *
 * Where lanes are shared, there is one mode, whatever how says; it moves little,
 * not always least, and is for MINMOVE, EQUALIZE and GREEDY.
 *
 * Inside a stream, MINMOVE and GREEDY put what is only redistributed first and
 * what is only gathered last, so that moves hide behind the wire at both ends;
 * EQUALIZE puts what is for one destination together, the receiver itself last
 * (FLASH §5).
 *
 * Memory comes from arena and lives as long. FS_OK; FS_ERR_INVAL (unknown how);
 * FS_ERR_NOMEM.
 *
 * Cost, and measured with 8 lanes and 64 blocks: MINMOVE O(blocks) and O(lanes^2)
 * for each path over several lanes, 0.5 us (0.7 us on skewed tiles); EQUALIZE
 * O(blocks), 1.2 us; GREEDY O(blocks * (lanes + log blocks)), 4 us; ROWCOL that
 * of fs_schedule_create() for twice the lanes, 60 us.
 */
fs_status_t fs_balance_tile(fs_balance_t how, const fs_tile_t *tile,
                            fs_arena_t *arena, fs_streams_t *streams_p);

/*
 * As fs_balance_tile(), for one rank: the extents of the lanes that the viewer
 * serves and those of its own blocks are all there, others may be left out. So
 * there may be gaps on lanes that it does not serve.
 *
 * One rank needs 22 of the 71 extents or so of a tile with 8 lanes, and MINMOVE
 * writes no others.
 */
fs_status_t fs_balance_view(fs_balance_t how, const fs_tile_t *tile,
                            const fs_viewer_t *viewer, fs_arena_t *arena,
                            fs_streams_t *streams_p);

/* The tile from server u to server w of a matrix [n_ranks x n_ranks], bytes,
 * with the lanes that ports give it. Memory comes from arena. FS_OK;
 * FS_ERR_OVERFLOW (its sum passes 2^62); FS_ERR_NOMEM. */
fs_status_t fs_tile_of_matrix(const fs_topo_t *topo, const fs_ports_t *ports,
                              const uint64_t *rank_bytes, uint32_t u,
                              uint32_t w, fs_arena_t *arena, fs_tile_t *tile);

/* The word users type: "minmove", "equalize", "greedy", "rowcol"; "unknown" for
 * what is not in this program. */
const char *fs_balance_name(fs_balance_t how);

/* The ports between which the lanes of this mode go. Memory comes from arena. FS_OK,
 * FS_ERR_INVAL (no such mode), FS_ERR_NOMEM. */
fs_status_t fs_balance_ports(fs_balance_t how, const fs_topo_t *topo,
                             fs_arena_t *arena, fs_ports_t *ports);

/*
 * Bytes that balance moves inside all servers together, beyond those that stay
 * there anyway.
 *
 * @param[in]  topo        Lanes included.
 * @param[in]  how         See fs_balance_t.
 * @param[in]  rank_bytes  [n_ranks x n_ranks] row-major, [src][dst], bytes.
 *                         Blocks inside a server are ignored. Read during the
 *                         call only.
 * @param[out] gather_p    Bytes that another rank than their source sends to
 *                         the other server. Set on FS_OK only, like redist_p.
 * @param[out] redist_p    Bytes that another rank than their destination
 *                         receives there. A byte may count in both.
 * @return FS_OK; FS_ERR_INVAL (how is not in this program); FS_ERR_OVERFLOW (one
 *         server sends another more than 2^62, or all moves pass 64 bits);
 *         FS_ERR_NOMEM
 *
 * Memory: that of the largest pair of servers. Time: that of fs_balance_tile()
 * for each pair.
 */
fs_status_t fs_balance_moves(const fs_topo_t *topo, fs_balance_t how,
                             const uint64_t *rank_bytes, uint64_t *gather_p,
                             uint64_t *redist_p);

/*
 * Bytes that streams move inside the servers: gathered, because another rank
 * than the source sends them, and redistributed, because another rank than the
 * destination receives them. A byte may count in both.
 */
void fs_streams_moves(const fs_tile_t *tile, const fs_streams_t *streams,
                      uint64_t *gather_p, uint64_t *redist_p);

#endif
