/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lane streams read chunk by chunk, in step on both servers of a tile.
 *
 * A chunk is one message: bytes of one sending lane for one receiving lane,
 * without gaps. A slice of the streams is cut in passes: a pass takes the
 * chunks of all lanes that begin at the same pos, lower lanes first. Lanes are
 * independent, so a rank reads only its own. Ranks that cut the same streams at
 * the same ends find the same chunks, in the same order.
 */
#ifndef FS_STREAM_H
#define FS_STREAM_H

#include "base/fs_arith.h"
#include "sched/balance/fs_balance.h"

/* The streams between this server and another, in one direction, and how far
 * they have been read. */
typedef struct fs_stream {
    fs_streams_t    streams;   /* some lanes of a tile's: lane is relative to
                                  these, dst_lane of an extent is not */
    const uint32_t *src_proxy; /* [n_lanes] local index that sends a lane */
    const uint32_t *dst_proxy; /* [n_lanes] local index that receives it */
    const uint32_t *remote;    /* ranks of the other server */
    uint32_t        n_mine;    /* lanes that concern this rank */
    uint32_t       *mine;      /* [n_mine] ascending */
    uint32_t       *cursor;    /* [n_lanes] first extent not yet passed */
    uint64_t       *next;      /* [n_lanes] pos of a lane's next byte;
                                  UINT64_MAX at its end */
    uint64_t        pos;       /* where the next slice begins */
} fs_stream_t;

/* One message on the wire: bytes begin to end of a lane's stream, and how far
 * its parts have been taken. */
typedef struct fs_chunk {
    uint32_t           lane;
    uint32_t           dst_lane;
    uint64_t           begin;
    uint64_t           end;
    uint64_t           at;
    const fs_extent_t *extent; /* that holds `at` */
    const fs_extent_t *last;   /* one behind those of the lane */
} fs_chunk_t;

/* What a chunk holds of one block. */
typedef struct fs_part {
    uint32_t src_local;
    uint32_t dst_local;
    uint64_t block_offset;
    uint64_t chunk_offset;
    uint64_t len_bytes;
} fs_part_t;

/* Begin reading the lanes that concern the viewer: it serves them, or they carry
 * bytes of its blocks. streams, proxies and remote are set. Memory comes from
 * arena. FS_OK, FS_ERR_NOMEM. */
fs_status_t fs_stream_rewind(fs_stream_t *stream, const fs_viewer_t *viewer,
                             fs_arena_t *arena);

/* Where the first chunk below end begins; UINT64_MAX if there is none. */
uint64_t fs_stream_next_pos(const fs_stream_t *stream, uint64_t end);

/* Cut the chunk of a lane that begins at pos, of at most chunk_bytes and not
 * past end; false if none begins there. */
bool fs_stream_cut(const fs_stream_t *stream, uint32_t lane, uint64_t pos,
                   uint64_t end, uint64_t chunk_bytes, fs_chunk_t *chunk);

/* All parts of the chunk have been taken: the lane goes on behind it. */
static inline void fs_stream_advance(fs_stream_t      *stream,
                                     const fs_chunk_t *chunk)
{
    uint64_t next = chunk->end;

    if (chunk->extent == chunk->last) {
        next = UINT64_MAX;
    } else if (stream->streams.end == NULL) {
        next = fs_u64_max(chunk->extent->pos, next);
    }
    stream->next[chunk->lane] = next;
    stream->cursor[chunk->lane] =
        (uint32_t)(chunk->extent - stream->streams.extents);
}

/* Is what remains of the chunk in one block? */
static inline bool fs_chunk_is_one_part(const fs_chunk_t *chunk)
{
    const fs_extent_t *s = chunk->extent;

    return s->pos + s->len_bytes >= chunk->end;
}

/* Take the chunk's next part; false when there is none. An extent that goes on
 * in the next chunk stays where it is. */
static inline bool fs_chunk_take(fs_chunk_t *chunk, fs_part_t *part)
{
    const fs_extent_t *s  = chunk->extent;
    uint64_t           at = chunk->at, extent_end, end;

    if (at == chunk->end) {
        return false;
    }
    extent_end         = s->pos + s->len_bytes;
    end                = fs_u64_min(extent_end, chunk->end);
    part->src_local    = s->src_local;
    part->dst_local    = s->dst_local;
    part->block_offset = s->offset + (at - s->pos);
    part->chunk_offset = at - chunk->begin;
    part->len_bytes    = end - at;
    chunk->at          = end;
    chunk->extent      = s + (end == extent_end);
    return true;
}

/* As fs_chunk_take(), but drop the parts that other ranks send (or else receive):
 * most chunks are of no interest to most ranks, and what is of none may not even
 * be there. */
static inline bool fs_chunk_take_of(fs_chunk_t *chunk, uint32_t local,
                                    bool sends, fs_part_t *part)
{
    const fs_extent_t *s = chunk->extent;

    for (; s < chunk->last && s->pos < chunk->end; ++s) {
        if ((sends ? s->src_local : s->dst_local) == local) {
            chunk->extent = s;
            chunk->at     = fs_u64_max(chunk->at, s->pos);
            return fs_chunk_take(chunk, part);
        }
        if (s->pos + s->len_bytes > chunk->end) {
            break;
        }
    }
    chunk->extent = s;
    return false;
}

/* The parts that src_local sends. */
static inline bool fs_chunk_take_from(fs_chunk_t *chunk, uint32_t src_local,
                                      fs_part_t *part)
{
    return fs_chunk_take_of(chunk, src_local, true, part);
}

/* The parts that dst_local receives. */
static inline bool fs_chunk_take_for(fs_chunk_t *chunk, uint32_t dst_local,
                                     fs_part_t *part)
{
    return fs_chunk_take_of(chunk, dst_local, false, part);
}

#endif
