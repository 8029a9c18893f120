/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/fs_stream.h"

/* Does this rank serve the lane, at this end of it? Where lanes have no
 * namesakes, the receiver of each segment tells. */
static bool serves(const fs_stream_t *stream, uint32_t lane, uint32_t local,
                   bool outgoing)
{
    return outgoing ? stream->src_proxy[lane] == local
                    : stream->straight && stream->dst_proxy[lane] == local;
}

static bool sends_some(const fs_segment_t *s, const fs_segment_t *end,
                       uint32_t local)
{
    while (s < end && s->src_local != local) {
        ++s;
    }
    return s < end;
}

static bool gets_some(const fs_stream_t *stream, const fs_segment_t *s,
                      const fs_segment_t *end, uint32_t local)
{
    if (stream->straight) {
        while (s < end && s->dst_local != local) {
            ++s;
        }
    } else {
        while (s < end && s->dst_local != local &&
               stream->dst_proxy[s->dst_lane] != local) {
            ++s;
        }
    }
    return s < end;
}

fs_status_t fs_stream_rewind(fs_stream_t *stream, uint32_t local, bool outgoing,
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
        const fs_segment_t *s   = streams->segments + streams->first[lane];
        const fs_segment_t *end = streams->segments + streams->first[lane + 1];

        if (s < end && (serves(stream, lane, local, outgoing) ||
                        (outgoing ? sends_some(s, end, local)
                                  : gets_some(stream, s, end, local)))) {
            stream->mine[stream->n_mine++] = lane;
            stream->cursor[lane]           = streams->first[lane];
            stream->next[lane]             = s->pos;
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
    const fs_segment_t *s    = stream->streams.segments + stream->cursor[lane];
    const fs_segment_t *last = stream->streams.segments +
                               stream->streams.first[lane + 1] - 1;

    if (stream->straight) {
        s = last;
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
    chunk->segment  = stream->streams.segments + stream->cursor[lane];
    chunk->dst_lane = chunk->segment->dst_lane;
    chunk->begin    = pos;
    chunk->at       = pos;
    chunk->end      = run_end(stream, lane, end);
    return true;
}
