/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/fs_stream.h"

#include "base/fs_arith.h"
#include "sched/fs_topo.h"

/* The counts of the tile. Sender and receiver know it from their own side. */
static uint64_t *tile_bytes(const fs_plan_request_t *request, uint32_t other,
                            bool outgoing, fs_arena_t *arena)
{
    const fs_topo_t *topo   = request->topo;
    uint32_t         server = fs_topo_server(topo, request->rank);
    uint32_t         mine   = fs_topo_n_local(topo, server);
    uint32_t         theirs = fs_topo_n_local(topo, other);
    uint64_t        *bytes  = fs_arena_calloc(arena, (size_t)mine * theirs, 8);

    for (uint32_t i = 0; bytes != NULL && i < mine; ++i) {
        for (uint32_t j = 0; j < theirs; ++j) {
            size_t at = (size_t)i * topo->n_ranks +
                        fs_topo_rank(topo, other, j);

            if (outgoing) {
                bytes[(size_t)i * theirs + j] = request->local->send[at];
            } else {
                bytes[(size_t)j * mine + i] = request->local->recv[at];
            }
        }
    }
    return bytes;
}

static uint32_t *proxies(const fs_topo_t *topo, uint32_t server,
                         uint32_t n_lanes, fs_arena_t *arena)
{
    uint32_t *proxy = fs_arena_calloc(arena, n_lanes, sizeof(*proxy));

    for (uint32_t lane = 0; proxy != NULL && lane < n_lanes; ++lane) {
        proxy[lane] = fs_topo_proxy(topo, server, lane);
    }
    return proxy;
}

fs_status_t fs_stream_init(const fs_plan_request_t *request, uint32_t other,
                           bool outgoing, fs_arena_t *arena,
                           fs_stream_t *stream)
{
    const fs_topo_t *topo   = request->topo;
    uint32_t         server = fs_topo_server(topo, request->rank);
    uint32_t         src    = outgoing ? server : other;
    uint32_t         dst    = outgoing ? other : server;
    uint32_t         lanes  = fs_topo_tile_lanes(topo, src, dst);
    fs_status_t      status;
    fs_tile_t        tile = {
               .n_src     = fs_topo_n_local(topo, src),
               .n_dst     = fs_topo_n_local(topo, dst),
               .bytes     = tile_bytes(request, other, outgoing, arena),
               .n_lanes   = lanes,
               .src_proxy = proxies(topo, src, lanes, arena),
               .dst_proxy = proxies(topo, dst, lanes, arena),
    };

    stream->pos    = 0;
    stream->cursor = fs_arena_calloc(arena, lanes, sizeof(*stream->cursor));
    if (tile.bytes == NULL || tile.src_proxy == NULL ||
        tile.dst_proxy == NULL || stream->cursor == NULL) {
        return FS_ERR_NOMEM;
    }
    status = fs_balance_tile(request->params->balance, &tile, arena,
                             &stream->streams);
    for (uint32_t lane = 0; status == FS_OK && lane < lanes; ++lane) {
        stream->cursor[lane] = stream->streams.first[lane];
    }
    return status;
}

static uint64_t lane_bytes(const fs_streams_t *streams, uint32_t lane)
{
    const fs_segment_t *last;

    if (streams->first[lane] == streams->first[lane + 1]) {
        return 0;
    }
    last = &streams->segments[streams->first[lane + 1] - 1];
    return last->pos + last->len_bytes;
}

bool fs_stream_cut(const fs_stream_t *stream, uint32_t lane, uint64_t slice,
                   uint64_t c, uint64_t chunk_bytes, fs_chunk_t *chunk)
{
    uint64_t end =
        fs_u64_min(stream->pos + slice, lane_bytes(&stream->streams, lane));

    chunk->lane  = lane;
    chunk->begin = stream->pos + c * chunk_bytes;
    chunk->end   = fs_u64_min(chunk->begin + chunk_bytes, end);
    chunk->done  = chunk->begin;
    return chunk->begin < end;
}

static const fs_segment_t *current(const fs_stream_t *stream,
                                   const fs_chunk_t  *chunk)
{
    return &stream->streams.segments[stream->cursor[chunk->lane]];
}

bool fs_stream_is_one_part(const fs_stream_t *stream, const fs_chunk_t *chunk)
{
    const fs_segment_t *s = current(stream, chunk);

    return s->pos + s->len_bytes >= chunk->end;
}

/* A segment that goes on in the next chunk stays under the cursor. */
bool fs_stream_next_part(fs_stream_t *stream, fs_chunk_t *chunk,
                         fs_part_t *part)
{
    const fs_segment_t *s;
    uint64_t            end;

    if (chunk->done == chunk->end) {
        return false;
    }
    s           = current(stream, chunk);
    end         = fs_u64_min(s->pos + s->len_bytes, chunk->end);
    *part       = (fs_part_t){.src_local    = s->src_local,
                              .dst_local    = s->dst_local,
                              .block_offset = s->offset + (chunk->done - s->pos),
                              .chunk_offset = chunk->done - chunk->begin,
                              .len_bytes    = end - chunk->done};
    chunk->done = end;
    if (end == s->pos + s->len_bytes) {
        ++stream->cursor[chunk->lane];
    }
    return true;
}
