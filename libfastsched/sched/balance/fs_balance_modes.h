/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes of fs_balance_tile(), one file each, and what they share. */
#ifndef FS_BALANCE_MODES_H
#define FS_BALANCE_MODES_H

#include "sched/balance/fs_balance.h"

/* How a mode cuts a tile of total bytes; see fs_balance_tile(). If viewer is not
 * NULL, extents that it has no use for may be left out: see fs_balance_view(). */
typedef fs_status_t fs_balance_cut_t(const fs_tile_t *tile, uint64_t total,
                                     const fs_viewer_t *viewer,
                                     fs_arena_t *arena, fs_streams_t *streams);

/* A mode, which is one file. */
typedef struct fs_balance_mode {
    fs_balance_cut_t *cut;
    /* Lanes change partners: they pair servers of as many lanes, and are never
     * shared. */
    bool permutes_lanes;
    /* A stream may be longer than an equal share, by a part of 1/slack of it; 0:
     * it may not. */
    uint32_t slack;
} fs_balance_mode_t;

/* Those of FS_BALANCE_MAP: fs_balance_minmove and so on. */
#define X(_how, _word, _text) extern const fs_balance_mode_t fs_balance_##_word;
FS_BALANCE_MAP(X)
#undef X

/* NULL: there is none in this program. */
const fs_balance_mode_t *fs_balance_mode(fs_balance_t how);

/* Those of the papers, for fs_balance_mode(). NULL: of no paper, or linked
 * without papers/, as plugins and libfastsched.so are. */
const fs_balance_mode_t *fs_papers_balance(fs_balance_t how);

/* For all modes that do not permute lanes, where lanes are shared. */
fs_balance_cut_t fs_balance_cut_shared;

/* The lane that each of n_local ranks serves, or FS_NO_LANE: the inverse of the
 * proxies. */
void fs_balance_lanes_of(uint32_t n_lanes, const uint32_t *proxy,
                         uint32_t n_local, uint32_t *lane_of);

/* A lane has less room than what is left of a block from begin on: how much it
 * takes. Splits of large blocks are between cache lines, as long as there is
 * room to spare: then the lane stays a little short, and that is no longer
 * spare. */
uint64_t fs_balance_split(uint64_t block_bytes, uint64_t begin, uint64_t room,
                          uint64_t *spare);

/*
 * Blocks assigned to lanes, part by part: each part is the next one of its
 * block. For modes with merged peer transfer.
 */
typedef struct fs_fill {
    const fs_tile_t *tile;
    uint64_t        *done;  /* [n_src x n_dst] bytes assigned, of each block */
    uint64_t        *room;  /* [n_lanes] bytes a lane still takes */
    uint64_t         spare; /* room that is not needed */
    uint32_t        *src_lane; /* [n_src] or FS_NO_LANE */
    uint32_t        *dst_lane; /* [n_dst] or FS_NO_LANE */
    uint32_t         n_extents;
    fs_extent_t     *extents; /* in order of filling; pos is not set yet */
} fs_fill_t;

/* Lanes that may take longest bytes each. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_fill_init(fs_fill_t *fill, const fs_tile_t *tile, uint64_t total,
                         uint64_t longest, fs_arena_t *arena);

/* Put on a lane what fits of the rest of a block. A split closes the lane. */
void fs_fill_put(fs_fill_t *fill, uint32_t i, uint32_t j, uint32_t lane);

/* Where in its lane's stream an extent travels: by turn, below n_turns; equal
 * turns in order of filling. */
typedef uint32_t fs_fill_turn_t(const fs_tile_t   *tile,
                                const fs_extent_t *extent);

/* What is only redistributed first, what is only gathered last. */
enum { FS_FILL_MOVES = 4 };
fs_fill_turn_t fs_fill_by_moves;

/* FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_fill_finish(const fs_fill_t *fill, fs_fill_turn_t *turn,
                           uint32_t n_turns, fs_arena_t *arena,
                           fs_streams_t *streams);

#endif
