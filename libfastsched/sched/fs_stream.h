/* SPDX-License-Identifier: BSD-3-Clause */
/* Lane streams read chunk by chunk, in step on both servers of a tile. */
#ifndef FS_STREAM_H
#define FS_STREAM_H

#include "sched/fs_balance.h"
#include "sched/fs_plan.h"

/* The streams between this server and another, in one direction, and how far
 * they have been read. */
typedef struct fs_stream {
    fs_streams_t streams;
    uint32_t    *cursor; /* [n_lanes] first segment not yet passed */
    uint64_t     pos;    /* bytes per lane in earlier stages */
} fs_stream_t;

/* One message on the wire: bytes begin to end of a lane's stream. */
typedef struct fs_chunk {
    uint32_t lane;
    uint64_t begin;
    uint64_t end;
    uint64_t done; /* up to here parts have been taken */
} fs_chunk_t;

/* What a chunk holds of one block. */
typedef struct fs_part {
    uint32_t src_local;
    uint32_t dst_local;
    uint64_t block_offset;
    uint64_t chunk_offset;
    uint64_t len_bytes;
} fs_part_t;

/* Balance the tile from (outgoing) or to the server of request's rank.
 * Memory comes from arena. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_stream_init(const fs_plan_request_t *request, uint32_t other,
                           bool outgoing, fs_arena_t *arena,
                           fs_stream_t *stream);

/* Chunk c, of at most chunk_bytes, of the next slice bytes of a lane; false if
 * the lane has no bytes there. */
bool fs_stream_cut(const fs_stream_t *stream, uint32_t lane, uint64_t slice,
                   uint64_t c, uint64_t chunk_bytes, fs_chunk_t *chunk);

/* Is what remains of the chunk in one block? */
bool fs_stream_is_one_part(const fs_stream_t *stream, const fs_chunk_t *chunk);

/* Take the chunk's next part; false when there is none. Every rank of both
 * servers takes all parts of all chunks in the same order. */
bool fs_stream_next_part(fs_stream_t *stream, fs_chunk_t *chunk,
                         fs_part_t *part);

#endif
