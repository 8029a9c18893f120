/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pipelined 2D program of one rank (SABRE §6), for light skew.
 *
 * What goes to local rank j of another server travels on rail j, which ends at
 * that rank: nothing is redistributed. Where all servers have M ranks and lanes
 * the rail starts at local rank j. In general the ranks of all servers, one
 * server behind the other, take the lanes of the sending server in turn: a
 * large server serves several small ones at once, each from another lane.
 *
 *   phase 1  Each rail carries the bytes that already are where it starts,
 *            while that rank gathers the other bytes of the rail from its local
 *            peers.
 *   phase 2  Each rail carries what was gathered, while the ranks exchange what
 *            stays inside the server.
 *
 * In both phases server u sends to u + 1, u + 2, ... and receives from u - 1,
 * u - 2, ...: a step. A tile is a set of streams, one for each rail, with the
 * bytes of phase 1 before those of phase 2. Where several rails start at one
 * rank, their bytes are set one behind the other, so that it serves one
 * receiver at a time. (phase, step, pos, rail) is the order fs_emit.h asks for.
 *
 * Known limit: lanes bounds the ranks that send to other servers, not those
 * that receive.
 */
#include "base/fs_digest.h"
#include "sched/plan/fs_interleave.h"
#include "sched/plan/fs_tiles.h"
#include "sched/model/fs_topo.h"

/* A tile in one direction. */
typedef struct rails {
    fs_stream_t stream;
    uint64_t    direct; /* pos at which phase 2 begins */
    uint64_t    end;
} rails_t;

typedef struct pipe2d {
    const fs_plan_request_t *request;
    const fs_topo_t         *topo;
    fs_arena_t               arena;
    fs_tiles_t               tiles;
    uint32_t                 server;
    rails_t                 *out; /* [n_servers - 1] by step */
    rails_t                 *in;
} pipe2d_t;

/* ---- a tile becomes rails ---- */

typedef struct laying {
    const fs_tile_t *tile;
    const uint32_t  *start;   /* [n_dst] where rails start */
    uint32_t         n_lanes; /* rails that start at different ranks */
    fs_streams_t    *streams;
    uint32_t         n_extents;
} laying_t;

static uint64_t cell(const fs_tile_t *tile, uint32_t i, uint32_t j)
{
    return tile->bytes[(size_t)i * tile->n_dst + j];
}

/* Append the bytes from i to the rail's stream; returns where they end. */
static uint64_t lay(laying_t *l, uint32_t i, uint32_t rail, uint64_t pos)
{
    uint64_t bytes = cell(l->tile, i, rail);

    if (bytes > 0) {
        l->streams->extents[l->n_extents++] = (fs_extent_t){.src_local = i,
                                                            .dst_local = rail,
                                                            .dst_lane  = rail,
                                                            .len_bytes = bytes,
                                                            .pos       = pos};
    }
    return pos + bytes;
}

/* Where the bytes of a phase end if rails first, first + 1, ... of different
 * ranks begin at pos. */
static uint64_t round_end(const laying_t *l, uint32_t first, bool direct,
                          uint64_t pos)
{
    uint64_t end = pos;

    for (uint32_t j = first; j < l->tile->n_dst && j - first < l->n_lanes;
         ++j) {
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < l->tile->n_src; ++i) {
            bytes += (i == l->start[j]) == direct ? cell(l->tile, i, j) : 0;
        }
        end = fs_u64_max(end, pos + bytes);
    }
    return end;
}

/* The stream of a rail: its phases begin at the given positions. Those that
 * gather start behind each other's back: neighbours at different ranks. */
static void lay_rail(laying_t *l, uint32_t rail, uint64_t direct_pos,
                     uint64_t gathered_pos)
{
    uint32_t n_src = l->tile->n_src, start = l->start[rail];

    l->streams->first[rail] = l->n_extents;
    lay(l, start, rail, direct_pos);
    for (uint32_t d = 1; d < n_src; ++d) {
        gathered_pos = lay(l, (start + d) % n_src, rail, gathered_pos);
    }
}

/* Where rails begin, one set of different ranks behind the other. */
static uint64_t set_begins(const laying_t *l, bool direct, uint64_t pos,
                           uint64_t *begin)
{
    for (uint32_t j = 0; j < l->tile->n_dst; j += l->n_lanes) {
        *begin++ = pos;
        pos      = round_end(l, j, direct, pos);
    }
    return pos;
}

static fs_status_t lay_rails(const fs_tile_t *tile, uint32_t n_lanes,
                             fs_arena_t *arena, rails_t *rails)
{
    uint32_t      n_sets  = tile->n_dst / n_lanes + 1;
    fs_streams_t *streams = &rails->stream.streams;
    laying_t      l = {tile, rails->stream.src_proxy, n_lanes, streams, 0};
    uint64_t     *direct =
        fs_arena_calloc(arena, 2 * (size_t)n_sets, sizeof(*direct));

    streams->n_lanes = tile->n_dst;
    streams->first =
        fs_arena_calloc(arena, (size_t)tile->n_dst + 1, sizeof(uint32_t));
    streams->extents = fs_arena_calloc(arena, (size_t)tile->n_src * tile->n_dst,
                                       sizeof(*streams->extents));
    if (direct == NULL || streams->first == NULL || streams->extents == NULL) {
        return FS_ERR_NOMEM;
    }
    rails->direct = set_begins(&l, true, 0, direct);
    rails->end    = set_begins(&l, false, rails->direct, direct + n_sets);
    for (uint32_t j = 0; j < tile->n_dst; ++j) {
        lay_rail(&l, j, direct[j / n_lanes], direct[n_sets + j / n_lanes]);
    }
    streams->first[tile->n_dst] = l.n_extents;
    return FS_OK;
}

/* Where the rail from a server to local rank j of another starts. */
static uint32_t rail_start(const fs_topo_t *topo, uint32_t src, uint32_t dst,
                           uint32_t j)
{
    return fs_topo_proxy(topo, src,
                         (topo->first[dst] + j) % topo->n_lanes[src]);
}

/* The rank that starts each rail. */
static uint32_t *starts(const fs_tile_t *tile, const fs_topo_t *topo,
                        uint32_t src, uint32_t dst, fs_arena_t *arena)
{
    uint32_t *start = fs_arena_calloc(arena, tile->n_dst, sizeof(*start));

    for (uint32_t j = 0; start != NULL && j < tile->n_dst; ++j) {
        start[j] = rail_start(topo, src, dst, j);
    }
    return start;
}

static fs_status_t make_rails(pipe2d_t *p, uint32_t other, bool outgoing,
                              rails_t *rails)
{
    uint32_t    src    = outgoing ? p->server : other;
    uint32_t    dst    = outgoing ? other : p->server;
    fs_viewer_t viewer = {fs_topo_local(p->topo, p->request->rank), outgoing};
    fs_tile_t   tile;
    fs_status_t status = FS_ERR_NOMEM;

    fs_tiles_get_bytes(&p->tiles, other, outgoing, &tile);
    rails->stream.src_proxy = starts(&tile, p->topo, src, dst, &p->arena);
    rails->stream.dst_proxy = p->tiles.count_up;
    rails->stream.remote    = fs_topo_ranks(p->topo, other);
    if (rails->stream.src_proxy != NULL) {
        status = lay_rails(&tile, p->topo->n_lanes[src], &p->arena, rails);
    }
    if (status == FS_OK) {
        status = fs_stream_rewind(&rails->stream, &viewer, &p->arena);
    }
    return status;
}

/* ---- steps ---- */

static fs_status_t prepare(pipe2d_t *p)
{
    uint32_t    n      = p->topo->n_servers;
    fs_status_t status = fs_tiles_init(&p->tiles, p->request, &p->arena);

    p->out = fs_arena_calloc(&p->arena, n, sizeof(*p->out));
    p->in  = fs_arena_calloc(&p->arena, n, sizeof(*p->in));
    if (p->out == NULL || p->in == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t d = 1; d < n && status == FS_OK; ++d) {
        status = make_rails(p, (p->server + d) % n, true, &p->out[d - 1]);
        if (status == FS_OK) {
            status =
                make_rails(p, (p->server + n - d) % n, false, &p->in[d - 1]);
        }
    }
    return status;
}

/* All steps of a phase. The time of a step is this server's own: it only puts
 * sends and receives side by side. */
static fs_status_t emit_phase(pipe2d_t *p, fs_emit_t *em, bool direct)
{
    uint32_t      n   = p->topo->n_servers - 1;
    fs_slice_t   *out = fs_arena_calloc(&p->arena, 2 * (size_t)n, sizeof(*out));
    fs_slice_t   *in;
    fs_timeline_t timelines[2];
    uint64_t      now = 0;

    if (out == NULL) {
        return FS_ERR_NOMEM;
    }
    in           = out + n;
    timelines[0] = (fs_timeline_t){true, out, n};
    timelines[1] = (fs_timeline_t){false, in, n};
    for (uint32_t k = 0; k < n; ++k) {
        rails_t *o = &p->out[k], *i = &p->in[k];
        uint64_t sent     = direct ? o->direct : o->end - o->direct;
        uint64_t received = direct ? i->direct : i->end - i->direct;

        out[k] = (fs_slice_t){&o->stream, direct ? o->direct : o->end, now,
                              fs_u64_max(sent, 1), 0};
        in[k]  = (fs_slice_t){&i->stream, direct ? i->direct : i->end, now,
                              fs_u64_max(received, 1), 0};
        now += fs_u64_max(1, fs_u64_max(sent, received));
    }
    fs_interleave_run(em, timelines, 2, NULL);
    return FS_OK;
}

static fs_status_t emit(pipe2d_t *p, fs_program_t *program, fs_plan_t *plan)
{
    fs_emit_t   em;
    uint32_t    last_direct;
    fs_status_t status =
        fs_emit_init(&em, p->request, program, plan, &p->arena);

    if (status == FS_OK) {
        status = emit_phase(p, &em, true);
    }
    if (status == FS_OK) {
        last_direct = em.last_wire_send;
        status      = emit_phase(p, &em, false);
    }
    if (status == FS_OK) {
        fs_emit_intra(&em, last_direct);
        plan->digest = fs_plan_digest(p->request, FS_ALG_PIPE2D);
    }
    return status;
}

static bool talks(const fs_topo_t *topo, const fs_plan_params_t *params,
                  uint32_t src, uint32_t dst)
{
    (void)params;
    return rail_start(topo, fs_topo_server(topo, src),
                      fs_topo_server(topo, dst),
                      fs_topo_local(topo, dst)) == fs_topo_local(topo, src);
}

static fs_status_t build(const fs_plan_request_t *request,
                         fs_program_t *program, fs_plan_t *plan)
{
    pipe2d_t    p = {.request = request,
                     .topo    = request->topo,
                     .server  = fs_topo_server(request->topo, request->rank)};
    fs_status_t status;

    status = prepare(&p);
    if (status == FS_OK) {
        status = emit(&p, program, plan);
    }
    fs_arena_fini(&p.arena);
    return status;
}

const fs_algorithm_t fs_alg_pipe2d = {.build = build, .talks = talks};
