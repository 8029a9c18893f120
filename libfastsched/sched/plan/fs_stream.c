/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/plan/fs_stream.h"

/* Where an extent of a lane arrives: on the lane's namesake where all do. */
static uint32_t arrives_on(const fs_stream_t *stream, uint32_t lane,
                           const fs_extent_t *s)
{
    return stream->streams.end != NULL ? lane : s->dst_lane;
}

/* Does the viewer serve the lane of an extent, at its end of it? */
static bool serves(const fs_stream_t *stream, const fs_viewer_t *viewer,
                   uint32_t lane, const fs_extent_t *s)
{
    return (viewer->outgoing
                ? stream->src_proxy[lane]
                : stream->dst_proxy[arrives_on(stream, lane, s)]) ==
           viewer->local;
}

static bool concerns(const fs_stream_t *stream, const fs_viewer_t *viewer,
                     uint32_t lane)
{
    const fs_streams_t *streams = &stream->streams;

    for (uint32_t k = streams->first[lane]; k < streams->first[lane + 1]; ++k) {
        const fs_extent_t *s = &streams->extents[k];

        if ((viewer->outgoing ? s->src_local : s->dst_local) == viewer->local ||
            serves(stream, viewer, lane, s)) {
            return true;
        }
    }
    return false;
}

fs_status_t fs_stream_rewind(fs_stream_t *stream, const fs_viewer_t *viewer,
                             fs_arena_t *arena)
{
    const fs_streams_t *streams = &stream->streams;
    uint32_t            n       = streams->n_lanes;

    stream->pos    = 0;
    stream->n_mine = 0;
    stream->mine   = fs_arena_alloc(arena, 2 * (size_t)n, sizeof(uint32_t));
    stream->next   = fs_arena_alloc(arena, n, sizeof(*stream->next));
    if (stream->mine == NULL || stream->next == NULL) {
        return FS_ERR_NOMEM;
    }
    stream->cursor = stream->mine + n;
    for (uint32_t lane = 0; lane < n; ++lane) {
        uint32_t first = streams->first[lane];

        if (concerns(stream, viewer, lane)) {
            stream->mine[stream->n_mine++] = lane;
            stream->cursor[lane]           = first;
            stream->next[lane] =
                streams->end == NULL ? streams->extents[first].pos : 0;
        }
    }
    return FS_OK;
}

uint64_t fs_stream_next_pos(const fs_stream_t *stream, uint64_t end)
{
    uint64_t next = UINT64_MAX;

    for (uint32_t k = 0; k < stream->n_mine; ++k) {
        next = fs_u64_min(next, stream->next[stream->mine[k]]);
    }
    return next < end ? next : UINT64_MAX;
}

/* The end of the bytes that follow without a gap to the same lane, or limit if
 * that comes first. */
static uint64_t run_end(const fs_stream_t *stream, uint32_t lane,
                        uint64_t limit)
{
    const fs_extent_t *s    = stream->streams.extents + stream->cursor[lane];
    const fs_extent_t *last = stream->streams.extents +
                              stream->streams.first[lane + 1] - 1;

    if (stream->streams.end != NULL) {
        return fs_u64_min(stream->streams.end[lane], limit);
    }
    while (s < last && s->pos + s->len_bytes < limit &&
           s[1].pos == s->pos + s->len_bytes && s[1].dst_lane == s->dst_lane) {
        ++s;
    }
    return fs_u64_min(s->pos + s->len_bytes, limit);
}

bool fs_stream_cut(const fs_stream_t *stream, uint32_t lane, uint64_t pos,
                   uint64_t end, uint64_t chunk_bytes, fs_chunk_t *chunk)
{
    if (stream->next[lane] != pos) {
        return false;
    }
    if (end - pos > chunk_bytes) {
        end = pos + chunk_bytes;
    }
    chunk->lane     = lane;
    chunk->extent   = stream->streams.extents + stream->cursor[lane];
    chunk->last     = stream->streams.extents + stream->streams.first[lane + 1];
    chunk->dst_lane = arrives_on(stream, lane, chunk->extent);
    chunk->begin    = pos;
    chunk->at       = pos;
    chunk->end      = run_end(stream, lane, end);
    return true;
}
