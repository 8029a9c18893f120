/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The staged program of one rank (FAST §4).
 *
 *   1. The N x N matrix of bytes per lane becomes a schedule of transfers
 *      between servers: stages, or list scheduling without them.
 *   2. A transfer carries the next slice of all lanes of its tile.
 *   3. The slices this server sends and receives are cut into chunks and
 *      emitted in the order of time (fs_flow.h). A tile is balanced into lane
 *      streams when its first slice comes.
 *   4. Then comes the traffic inside.
 *
 * Slices end at multiples of the balance's alignment, so that splits keep cache
 * lines whole, and the last transfer of a pair takes all that is left: streams
 * are a little longer than the schedule thinks where capacities are rounded up.
 *
 * Known limit: a tile between servers with different numbers of lanes uses the
 * smaller number, and the larger server idles the rest for that time.
 */
#include "sched/fs_flow.h"
#include "sched/fs_tiles.h"
#include "sched/fs_topo.h"

#include <stdlib.h>

/*
 * The first block of planning, mostly untouched. glibc gives memory back to the
 * system as soon as twice the largest block it has mapped and seen freed is free
 * (mallopt(3), M_MMAP_THRESHOLD); then every planning would start with page
 * faults, which cost more than all the rest. With this it never does.
 */
enum { WORKSPACE_BYTES = 4 << 20 };

/* A tile in one direction, and how much of it has its transfer. */
typedef struct route {
    fs_stream_t stream; /* first: a slice finds its route by it */
    bool        ready;
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
    uint64_t                *per_lane; /* [n_servers x n_servers] */
    fs_schedule_t           *schedule;
    route_t                 *routes; /* [n_servers] out, then [n_servers] in */
    fs_slice_t              *out;
    fs_slice_t              *in;
    size_t                   n_out;
    size_t                   n_in;
} staged_t;

/* 64-bit divisions are slow, and there are N x N of them. */
static uint64_t div_up(uint64_t bytes, uint32_t n_lanes)
{
    return bytes >> 32 == 0
               ? ((uint32_t)bytes / n_lanes) + ((uint32_t)bytes % n_lanes != 0)
               : fs_u64_div_up(bytes, n_lanes);
}

/* Bytes per lane between servers, then transfers. */
static fs_status_t make_schedule(staged_t *st)
{
    const fs_plan_params_t *params = st->request->params;
    const uint64_t         *bytes  = st->request->traffic->bytes;
    uint32_t                n      = st->topo->n_servers;
    uint64_t               *cell;

    /* Every cell is written: nothing has to be zeroed. */
    st->per_lane = cell = malloc((size_t)n * n * sizeof(*cell));
    if (cell == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t w = 0; w < n; ++w) {
            *cell++ = div_up(*bytes++, fs_u32_min(st->topo->n_lanes[u],
                                                  st->topo->n_lanes[w]));
        }
    }
    return fs_schedule_create(params->decompose, params->stage_cost, n,
                              st->per_lane, st->server, &st->schedule);
}

static fs_status_t balance(staged_t *st, uint32_t other, bool outgoing,
                           fs_arena_t *arena, fs_stream_t *stream)
{
    fs_tile_t   tile;
    fs_status_t status =
        fs_tiles_get(&st->tiles, other, outgoing, arena, &tile);

    if (status == FS_OK) {
        status = fs_balance_tile(st->balance, &tile, arena, &stream->streams);
    }
    if (status != FS_OK) {
        return status;
    }
    stream->src_proxy = tile.src_proxy;
    stream->dst_proxy = tile.dst_proxy;
    stream->remote    = fs_topo_ranks(st->topo, other);
    stream->straight  = st->balance != FS_BALANCE_ROWCOL;
    return fs_stream_rewind(stream, fs_topo_local(st->topo, st->request->rank),
                            outgoing, arena);
}

/* Most tiles of a large cluster go in one slice: these take turns in the same
 * memory, which stays in the cache. */
static fs_status_t open_route(void *ctx, const fs_slice_t *slice, bool outgoing)
{
    staged_t   *st    = ctx;
    route_t    *route = (route_t *)slice->stream;
    uint32_t    other = (uint32_t)(route - st->routes) % st->topo->n_servers;
    fs_arena_t *arena = &st->arena;

    if (route->ready) {
        return FS_OK;
    }
    route->ready = true;
    if (slice->end == UINT64_MAX) {
        arena = &st->whole[outgoing];
        fs_arena_reset(arena);
    }
    return balance(st, other, outgoing, arena, &route->stream);
}

/* The next slice of a route. */
static void add_slice(staged_t *st, const fs_transfer_t *transfer)
{
    uint32_t n        = st->topo->n_servers;
    bool     outgoing = transfer->src == st->server;
    route_t *route = &st->routes[outgoing ? transfer->dst : n + transfer->src];
    fs_slice_t *slice = outgoing ? &st->out[st->n_out++] : &st->in[st->n_in++];
    uint64_t    all   = st->per_lane[(size_t)transfer->src * n + transfer->dst];

    route->sliced += transfer->bytes;
    slice->stream = &route->stream;
    slice->end    = route->sliced == all
                        ? UINT64_MAX
                        : fs_u64_div_up(route->sliced, FS_BALANCE_ALIGN) *
                           FS_BALANCE_ALIGN;
    slice->start  = transfer->start;
    slice->bytes  = transfer->bytes;
}

static fs_status_t make_slices(staged_t *st)
{
    size_t n = st->schedule->n_transfers;

    st->routes = fs_arena_calloc(&st->arena, 2 * (size_t)st->topo->n_servers,
                                 sizeof(*st->routes));
    st->out    = fs_arena_alloc(&st->arena, n, sizeof(*st->out));
    st->in     = fs_arena_alloc(&st->arena, n, sizeof(*st->in));
    if (st->routes == NULL || st->out == NULL || st->in == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t k = 0; k < n; ++k) {
        add_slice(st, &st->schedule->transfers[k]);
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
        fs_flow_run(&em, (fs_slices_t){st->out, st->n_out},
                    (fs_slices_t){st->in, st->n_in}, &opener);
        fs_emit_intra(&em, FS_NO_OP);
        plan->decompose      = st->schedule->decompose;
        plan->n_stages       = st->schedule->n_stages;
        plan->total_per_lane = st->schedule->total;
        plan->digest         = st->schedule->digest;
    }
    return status;
}

/* Each lane to its namesake, but ROWCOL lets any lane talk to any. */
bool fs_alg_staged_talks(const fs_topo_t *topo, const fs_plan_params_t *params,
                         uint32_t src, uint32_t dst)
{
    uint32_t a = fs_topo_lane(topo, src), b = fs_topo_lane(topo, dst);
    uint32_t n_lanes = fs_topo_tile_lanes(topo, fs_topo_server(topo, src),
                                          fs_topo_server(topo, dst));
    bool     any     = params->balance == FS_BALANCE_ROWCOL ||
               params->decompose == FS_DECOMPOSE_HIERARCHICAL;

    return a < n_lanes && b < n_lanes && (any || a == b);
}

fs_status_t fs_alg_staged_build(const fs_plan_request_t *request,
                                fs_program_t *program, fs_plan_t *plan)
{
    staged_t    st = {.request = request,
                      .topo    = request->topo,
                      .server  = fs_topo_server(request->topo, request->rank)};
    fs_status_t status;

    if (fs_arena_reserve(&st.arena, WORKSPACE_BYTES) != 0) {
        return FS_ERR_NOMEM;
    }
    status = make_schedule(&st);
    if (status == FS_OK) {
        /* DHBvN's lanes are full permutations whatever the user asked for. */
        st.balance = st.schedule->decompose == FS_DECOMPOSE_HIERARCHICAL
                         ? FS_BALANCE_ROWCOL
                         : request->params->balance;
        status     = make_slices(&st);
    }
    if (status == FS_OK) {
        status = emit(&st, program, plan);
    }
    fs_schedule_destroy(st.schedule);
    free(st.per_lane);
    fs_arena_fini(&st.whole[0]);
    fs_arena_fini(&st.whole[1]);
    fs_arena_fini(&st.arena);
    return status;
}
