/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The staged program of one rank (FAST §4).
 *
 *   1. The matrix of bytes per lane becomes a schedule of transfers between
 *      ports (fs_ports.h; most often servers): stages, or list scheduling
 *      without them.
 *   2. A transfer carries the next slice of all lanes of its two ports.
 *   3. The slices this server sends and receives are cut into chunks and
 *      emitted in the order of time (fs_interleave.h). A tile is balanced into lane
 *      streams when its first slice comes.
 *   4. Then comes the traffic inside.
 *
 * Slices end at multiples of the balance's alignment, so that splits keep cache
 * lines whole, and the last transfer of a pair takes all that is left: streams
 * are a little longer than the schedule thinks where capacities are rounded up.
 */
#include "sched/balance/fs_balance_modes.h"
#include "sched/plan/fs_interleave.h"
#include "sched/decompose/fs_schedule.h"
#include "sched/plan/fs_tiles.h"
#include "sched/model/fs_topo.h"

#include <stdlib.h>

/*
 * The first block of planning, mostly untouched. glibc gives memory back to the
 * system as soon as twice the largest block it has mapped and seen freed is free
 * (mallopt(3), M_MMAP_THRESHOLD, at most 32 MiB); then every planning would start
 * with page faults, which cost more than all the rest. With this it never does:
 * besides it there are a matrix, and a little for each of its cells.
 */
enum { WORKSPACE_BYTES = 4 << 20, MOST_WORKSPACE_BYTES = 31 << 20 };

static size_t workspace_bytes(const fs_topo_t *topo)
{
    size_t n = topo->n_servers, matrices = 4 * n * n * sizeof(uint64_t);

    return fs_u64_max(WORKSPACE_BYTES,
                      fs_u64_min(matrices, MOST_WORKSPACE_BYTES));
}

/* A tile in one direction, as lane streams. */
typedef struct cut_tile {
    bool        ready;
    fs_stream_t stream; /* all lanes, not read */
} cut_tile_t;

/* The lanes of a pair of ports, in one direction, and how much of them has its
 * transfer. */
typedef struct route {
    fs_stream_t stream; /* first: a slice finds its route by it */
    bool        ready;
    uint32_t    other;  /* server */
    uint32_t    pair;   /* of ports, in the tile */
    uint64_t    sliced; /* bytes per lane */
} route_t;

typedef struct staged {
    const fs_plan_request_t *request;
    const fs_topo_t         *topo;
    fs_arena_t               arena;
    fs_arena_t               whole[2]; /* a tile in one slice: in, out */
    fs_tiles_t               tiles;
    fs_balance_t             balance;
    uint32_t                 server;
    fs_ports_t               ports;
    uint32_t                 n_own;    /* ports of this server */
    uint64_t                *per_lane; /* [n_ports x n_ports] */
    fs_schedule_t           *schedule;
    cut_tile_t              *cut;    /* [n_servers] out, then [n_servers] in */
    route_t                 *routes; /* [n_own x n_ports] out, then in */
    fs_timeline_t           *timelines; /* [n_own] out, then [n_own] in */
} staged_t;

/* Bytes per lane between ports, then transfers. */
static fs_status_t make_schedule(staged_t *st)
{
    const fs_plan_params_t *params = st->request->params;
    size_t                  n      = st->ports.n_ports;

    /* Every cell is written: nothing has to be zeroed. */
    st->per_lane = malloc(n * n * sizeof(*st->per_lane));
    if (st->per_lane == NULL) {
        return FS_ERR_NOMEM;
    }
    fs_ports_spread(&st->ports, st->topo, st->request->traffic->bytes,
                    st->per_lane);
    return fs_schedule_update(st->request->replan, params->decompose,
                              params->stage_cost, (uint32_t)n, st->per_lane,
                              st->n_own == 1
                                  ? fs_ports_first(&st->ports, st->server)
                                  : FS_ALL_SERVERS,
                              &st->schedule);
}

/* ---- tiles and routes ---- */

/* What concerns this rank of the tile from (outgoing) or to another server. */
static fs_status_t cut(staged_t *st, uint32_t other, const fs_viewer_t *viewer,
                       fs_arena_t *arena, fs_stream_t *stream)
{
    fs_tile_t   tile;
    fs_status_t status = fs_tiles_get(&st->tiles, &st->ports, other,
                                      viewer->outgoing, arena, &tile);

    if (status == FS_OK) {
        status = fs_balance_view(st->balance, &tile, viewer, arena,
                                 &stream->streams);
    }
    if (status == FS_OK) {
        stream->src_proxy = tile.src_proxy;
        stream->dst_proxy = tile.dst_proxy;
        stream->remote    = fs_topo_ranks(st->topo, other);
    }
    return status;
}

/* The lanes of a pair of ports, out of all lanes of the tile. */
static fs_stream_t lanes_of_pair(const fs_stream_t *tile, uint32_t pair,
                                 uint32_t n_pairs)
{
    fs_stream_t lanes = *tile;
    uint32_t    width = tile->streams.n_lanes / n_pairs;

    lanes.streams.n_lanes = width;
    lanes.streams.first += (size_t)pair * width;
    if (lanes.streams.end != NULL) {
        lanes.streams.end += (size_t)pair * width;
    }
    lanes.src_proxy += (size_t)pair * width;
    lanes.dst_proxy += (size_t)pair * width;
    return lanes;
}

/* Most tiles of a large cluster go in one slice: these take turns in the same
 * memory, which stays in the cache. */
static fs_status_t open_route(void *ctx, const fs_slice_t *slice, bool outgoing)
{
    staged_t   *st      = ctx;
    route_t    *route   = (route_t *)slice->stream;
    uint32_t    n_pairs = fs_ports_pairs(&st->ports, st->server, route->other);
    cut_tile_t *tile =
        &st->cut[outgoing ? route->other : st->topo->n_servers + route->other];
    fs_viewer_t viewer = {fs_topo_local(st->topo, st->request->rank), outgoing};
    fs_arena_t *arena  = &st->arena;
    fs_status_t status = FS_OK;

    if (route->ready) {
        return FS_OK;
    }
    route->ready = true;
    if (slice->end == UINT64_MAX && n_pairs == 1) {
        arena = &st->whole[outgoing];
        fs_arena_reset(arena);
    }
    if (!tile->ready) {
        tile->ready = true;
        status      = cut(st, route->other, &viewer, arena, &tile->stream);
    }
    if (status != FS_OK) {
        return status;
    }
    route->stream = lanes_of_pair(&tile->stream, route->pair, n_pairs);
    return fs_stream_rewind(&route->stream, &viewer, arena);
}

/* The route of a transfer from or to port `own` of this server. */
static route_t *find_route(staged_t *st, bool outgoing, uint32_t own,
                           uint32_t other)
{
    uint32_t w        = fs_ports_server(&st->ports, other);
    uint32_t timeline = outgoing ? own : st->n_own + own;
    route_t *route = &st->routes[(size_t)timeline * st->ports.n_ports + other];

    route->other = w;
    other -= fs_ports_first(&st->ports, w);
    route->pair = outgoing
                      ? fs_ports_pair(&st->ports, st->server, w, own, other)
                      : fs_ports_pair(&st->ports, w, st->server, other, own);
    return route;
}

/* The timeline of a transfer's end, if it is here: else NULL. */
static fs_timeline_t *timeline_of(const staged_t      *st,
                                  const fs_transfer_t *transfer, bool outgoing)
{
    uint32_t port = outgoing ? transfer->src : transfer->dst;
    uint32_t own  = port - fs_ports_first(&st->ports, st->server);

    return own >= st->n_own ? NULL
                            : &st->timelines[outgoing ? own : st->n_own + own];
}

/* The next slice of a route. */
static void add_slice(staged_t *st, const fs_transfer_t *transfer,
                      bool outgoing, fs_slice_t *slice)
{
    size_t   n     = st->ports.n_ports;
    uint32_t port  = outgoing ? transfer->src : transfer->dst;
    uint64_t all   = st->per_lane[transfer->src * n + transfer->dst];
    route_t *route = find_route(st, outgoing,
                                port - fs_ports_first(&st->ports, st->server),
                                outgoing ? transfer->dst : transfer->src);

    route->sliced += transfer->bytes;
    slice->stream = &route->stream;
    slice->end    = route->sliced == all
                        ? UINT64_MAX
                        : fs_u64_div_up(route->sliced, FS_BALANCE_ALIGN) *
                           FS_BALANCE_ALIGN;
    slice->start  = transfer->start;
    slice->bytes  = transfer->bytes;
    slice->sender = transfer->src;
}

/* How many slices each timeline has: its list. */
static fs_status_t make_timelines(staged_t *st)
{
    const fs_schedule_t *schedule = st->schedule;
    fs_slice_t          *list =
        fs_arena_alloc(&st->arena, 2 * schedule->n_transfers, sizeof(*list));

    st->timelines = fs_arena_calloc(&st->arena, 2 * (size_t)st->n_own,
                                    sizeof(*st->timelines));
    if (list == NULL || st->timelines == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t k = 0; k < 2 * schedule->n_transfers; ++k) {
        fs_timeline_t *timeline =
            timeline_of(st, &schedule->transfers[k / 2], k % 2 == 0);

        if (timeline != NULL) {
            ++timeline->n;
        }
    }
    for (uint32_t k = 0; k < 2 * st->n_own; ++k) {
        st->timelines[k].outgoing = k < st->n_own;
        st->timelines[k].list     = list;
        list += st->timelines[k].n;
        st->timelines[k].n = 0;
    }
    return FS_OK;
}

static fs_status_t make_slices(staged_t *st)
{
    size_t      n_routes = 2 * (size_t)st->n_own * st->ports.n_ports;
    fs_status_t status   = make_timelines(st);

    st->cut    = fs_arena_calloc(&st->arena, 2 * (size_t)st->topo->n_servers,
                                 sizeof(*st->cut));
    st->routes = fs_arena_calloc(&st->arena, n_routes, sizeof(*st->routes));
    if (status != FS_OK || st->cut == NULL || st->routes == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t k = 0; k < 2 * st->schedule->n_transfers; ++k) {
        const fs_transfer_t *transfer = &st->schedule->transfers[k / 2];
        fs_timeline_t       *timeline = timeline_of(st, transfer, k % 2 == 0);

        if (timeline != NULL) {
            add_slice(st, transfer, timeline->outgoing,
                      &timeline->list[timeline->n++]);
        }
    }
    return fs_tiles_init(&st->tiles, st->request, &st->arena);
}

static fs_status_t emit(staged_t *st, fs_program_t *program, fs_plan_t *plan)
{
    const fs_opener_t opener = {open_route, st};
    fs_emit_t         em;
    fs_status_t       status =
        fs_emit_init(&em, st->request, program, plan, &st->arena);

    if (status == FS_OK) {
        fs_interleave_run(&em, st->timelines, 2 * st->n_own, &opener);
        fs_emit_intra(&em, FS_NO_OP);
        plan->decompose      = st->schedule->decompose;
        plan->n_stages       = st->schedule->n_stages;
        plan->total_per_lane = st->schedule->total;
        plan->digest         = st->schedule->digest;
    }
    return status;
}

/* Some schedules come with a balance, whatever the user asked for. */
static fs_balance_t balance_of(const fs_plan_params_t *params)
{
    const fs_decompose_method_t *method =
        fs_decompose_method(params->decompose);

    return method != NULL && method->fixes_balance ? method->balance
                                                   : params->balance;
}

/* DHBvN's lanes are full permutations: they pair servers of as many lanes. */
static bool permutes_lanes(const fs_plan_params_t *params)
{
    const fs_balance_mode_t *mode = fs_balance_mode(balance_of(params));

    return mode != NULL && mode->permutes_lanes;
}

static fs_status_t find_ports(staged_t *st)
{
    fs_status_t status = fs_balance_ports(balance_of(st->request->params),
                                          st->topo, &st->arena, &st->ports);

    st->n_own = status == FS_OK ? fs_ports_of(&st->ports, st->server) : 0;
    return status;
}

/* Each lane to its like in the ports of its pair, unless any lane may talk to
 * any. */
static bool talks(const fs_topo_t *topo, const fs_plan_params_t *params,
                  uint32_t src, uint32_t dst)
{
    uint32_t a = fs_topo_lane(topo, src), b = fs_topo_lane(topo, dst);
    uint32_t u = fs_topo_server(topo, src), w = fs_topo_server(topo, dst);

    if (a == FS_NO_LANE || b == FS_NO_LANE) {
        return false;
    }
    if (permutes_lanes(params)) {
        return fs_u32_max(a, b) < fs_topo_tile_lanes(topo, u, w);
    }
    return fs_ports_talk(topo, u, w, a, b);
}

/* Keep only what this rank's lane sends and receives, with servers for ports. */
static void keep_lane(const staged_t *st, fs_schedule_t *schedule)
{
    uint32_t lane = fs_topo_lane(st->topo, st->request->rank);
    uint32_t own  = fs_ports_first(&st->ports, st->server) +
                   (st->ports.width == 0 ? 0 : lane / st->ports.width);
    size_t n = 0;

    for (size_t k = 0; k < schedule->n_transfers; ++k) {
        fs_transfer_t t = schedule->transfers[k];

        if (lane != FS_NO_LANE && (t.src == own || t.dst == own)) {
            t.src                    = fs_ports_server(&st->ports, t.src);
            t.dst                    = fs_ports_server(&st->ports, t.dst);
            schedule->transfers[n++] = t;
        }
    }
    schedule->n_transfers = n;
}

static fs_status_t write_plan(staged_t *st, fs_program_t *program,
                              fs_plan_t *plan)
{
    fs_status_t status = find_ports(st);

    if (status == FS_OK) {
        status = make_schedule(st);
    }
    if (status == FS_OK) {
        status = make_slices(st);
    }
    if (status == FS_OK) {
        status = emit(st, program, plan);
    }
    return status;
}

static fs_status_t build(const fs_plan_request_t *request,
                         fs_program_t *program, fs_plan_t *plan)
{
    staged_t    st = {.request = request,
                      .topo    = request->topo,
                      .balance = balance_of(request->params),
                      .server  = fs_topo_server(request->topo, request->rank)};
    fs_status_t status;

    if (fs_arena_reserve(&st.arena, workspace_bytes(st.topo)) != 0) {
        return FS_ERR_NOMEM;
    }
    status = write_plan(&st, program, plan);
    if (status == FS_OK && request->lane_p != NULL) {
        keep_lane(&st, st.schedule);
        *request->lane_p = st.schedule;
        st.schedule      = NULL;
    }
    fs_schedule_destroy(st.schedule);
    free(st.per_lane);
    fs_arena_fini(&st.whole[0]);
    fs_arena_fini(&st.whole[1]);
    fs_arena_fini(&st.arena);
    return status;
}

const fs_algorithm_t fs_alg_staged = {
    .build = build, .talks = talks, .has_schedule = true};
