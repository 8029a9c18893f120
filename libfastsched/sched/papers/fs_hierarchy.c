/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global subpermutations of ranks, made in two levels (DHBvN Theorem 4).
 *
 *   1. Each block, the bytes from one server to another, is a sum of
 *      subpermutations (Proposition 2), together as long as its scale: its
 *      largest row or column sum.
 *   2. The server matrix of the scales is a sum of subpermutations of servers,
 *      together as long as its own largest line sum (equation 11).
 *   3. Whenever a pair of servers is served, its block goes on where it was.
 *
 * The paper counts units; here every subpermutation has a length, and a block's
 * is cut where the service of its pair is interrupted. Nothing larger than a
 * block or the server matrix is ever decomposed.
 */
#include "sched/papers/fs_hierarchy.h"

#include "base/fs_arena.h"
#include "base/fs_arith.h"
#include "sched/model/fs_topo.h"
#include "sched/papers/fs_papers.h"

#include <stdlib.h>
#include <string.h>

/* The block from one server to another, decomposed: its rows are nodes 0 to
 * n_rows - 1 of a schedule, its columns the nodes behind them. */
typedef struct block {
    uint32_t       n_rows;
    fs_schedule_t *schedule; /* NULL: no bytes */
    size_t         next;   /* first transfer of the stage that is being served,
                                or is the next to be */
    uint64_t       served; /* time for which the block has been served */
} block_t;

typedef struct hierarchy {
    const fs_topo_t *topo;
    const uint64_t  *rank_bytes;
    bool             balanced;
    fs_arena_t       arena;
    block_t         *blocks;  /* [n_servers x n_servers] */
    fs_schedule_t   *servers; /* of the scales */
    fs_transfer_t   *transfers;
    size_t           n_transfers;
    uint64_t        *cuts; /* times at which some rank changes its partner */
    size_t           n_cuts;
} hierarchy_t;

static block_t *block_of(const hierarchy_t *h, uint32_t u, uint32_t w)
{
    return &h->blocks[(size_t)u * h->topo->n_servers + w];
}

/* ---- step 1 ---- */

/* Bytes from lane to lane after balancing. */
static fs_status_t add_lanes(const fs_tile_t *tile, fs_arena_t *arena,
                             uint64_t *bytes)
{
    uint32_t     n = tile->n_lanes;
    fs_streams_t streams;
    fs_status_t  status =
        fs_balance_tile(FS_BALANCE_ROWCOL, tile, arena, &streams);

    for (uint32_t a = 0; status == FS_OK && a < n; ++a) {
        for (uint32_t k = streams.first[a]; k < streams.first[a + 1]; ++k) {
            const fs_extent_t *s = &streams.extents[k];

            bytes[(size_t)a * 2 * n + n + s->dst_lane] += s->len_bytes;
        }
    }
    return status;
}

/* Bytes from rank to rank. */
static void add_ranks(const fs_tile_t *tile, uint64_t *bytes)
{
    size_t n = (size_t)tile->n_src + tile->n_dst;

    for (uint32_t i = 0; i < tile->n_src; ++i) {
        memcpy(bytes + i * n + tile->n_src,
               tile->bytes + (size_t)i * tile->n_dst, tile->n_dst * 8);
    }
}

static fs_status_t decompose_block(hierarchy_t *h, uint32_t u, uint32_t w)
{
    block_t    *block = block_of(h, u, w);
    fs_ports_t  ports = fs_ports_one_each(h->topo);
    fs_arena_t  arena = {0};
    fs_tile_t   tile;
    uint32_t    n_cols;
    uint64_t   *bytes;
    fs_status_t status =
        fs_tile_of_matrix(h->topo, &ports, h->rank_bytes, u, w, &arena, &tile);

    if (status != FS_OK) {
        goto out;
    }
    block->n_rows = h->balanced ? tile.n_lanes : tile.n_src;
    n_cols        = h->balanced ? tile.n_lanes : tile.n_dst;
    bytes         = fs_arena_calloc(
                &arena, (size_t)(block->n_rows + n_cols) * (block->n_rows + n_cols), 8);
    if (bytes == NULL) {
        status = FS_ERR_NOMEM;
        goto out;
    }
    if (h->balanced) {
        status = add_lanes(&tile, &arena, bytes);
    } else {
        add_ranks(&tile, bytes);
    }
    if (status == FS_OK) {
        status = fs_schedule_create(FS_DECOMPOSE_BIRKHOFF, 0,
                                    block->n_rows + n_cols, bytes,
                                    FS_ALL_SERVERS, &block->schedule);
    }
out:
    fs_arena_fini(&arena);
    return status;
}

/* ---- step 2 ---- */

static fs_status_t decompose_servers(hierarchy_t *h)
{
    uint32_t  n      = h->topo->n_servers;
    uint64_t *scales = fs_arena_calloc(&h->arena, (size_t)n * n, 8);

    if (scales == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t k = 0; k < (size_t)n * n; ++k) {
        scales[k] =
            h->blocks[k].schedule == NULL ? 0 : h->blocks[k].schedule->total;
    }
    return fs_schedule_create(FS_DECOMPOSE_BIRKHOFF, 0, n, scales,
                              FS_ALL_SERVERS, &h->servers);
}

/* ---- step 3 ---- */

/* A row or column of a block is a lane, served by its proxy, or a rank. */
static uint32_t rank_of(const hierarchy_t *h, uint32_t server, uint32_t line)
{
    return fs_topo_rank(h->topo, server,
                        h->balanced ? fs_topo_proxy(h->topo, server, line)
                                    : line);
}

/* The part of a transfer of the block between two of its times, of which the
 * first is at start in the schedule of all. */
static void emit(hierarchy_t *h, const fs_transfer_t *pair, uint32_t n_rows,
                 const fs_transfer_t *transfer, uint64_t from, uint64_t to)
{
    uint64_t begin = transfer->start, end = begin + transfer->bytes;

    begin = fs_u64_max(begin, from);
    end   = fs_u64_min(end, to);
    if (begin < end) {
        h->transfers[h->n_transfers++] =
            (fs_transfer_t){rank_of(h, pair->src, transfer->src),
                            rank_of(h, pair->dst, transfer->dst - n_rows),
                            end - begin, pair->start + (begin - from)};
    }
}

/* Serve a pair of servers: its block goes on for as long. */
static void serve(hierarchy_t *h, const fs_transfer_t *pair)
{
    block_t             *block    = block_of(h, pair->src, pair->dst);
    const fs_schedule_t *schedule = block->schedule;
    const fs_transfer_t *t        = schedule->transfers;
    uint64_t             from = block->served, to = from + pair->bytes;

    h->cuts[h->n_cuts++] = pair->start;
    h->cuts[h->n_cuts++] = pair->start + pair->bytes;
    for (size_t k = block->next; k < schedule->n_transfers && t[k].start < to;
         ++k) {
        if (t[k].start != t[block->next].start) {
            block->next = k; /* a new stage */
        }
        if (k == block->next && t[k].start > from) {
            h->cuts[h->n_cuts++] = pair->start + (t[k].start - from);
        }
        emit(h, pair, block->n_rows, &t[k], from, to);
    }
    block->served = to;
}

/* Room for all that serve() will write. An interruption cuts at most a transfer
 * of each row. */
static fs_status_t make_room(hierarchy_t *h)
{
    uint32_t n        = h->topo->n_servers;
    size_t   n_served = h->servers->n_transfers, n_all = 0, n_stages = 0;
    uint32_t max_rows = 0;

    for (size_t k = 0; k < (size_t)n * n; ++k) {
        const block_t *block = &h->blocks[k];

        if (block->schedule != NULL) {
            n_all += block->schedule->n_transfers;
            n_stages += block->schedule->n_stages;
            max_rows = max_rows > block->n_rows ? max_rows : block->n_rows;
        }
    }
    h->transfers = fs_arena_calloc(&h->arena, n_all + n_served * max_rows,
                                   sizeof(*h->transfers));
    h->cuts =
        fs_arena_calloc(&h->arena, n_stages + 2 * n_served, sizeof(*h->cuts));
    return h->transfers == NULL || h->cuts == NULL ? FS_ERR_NOMEM : FS_OK;
}

/* ---- the result ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Times from one cut to the next; some pair is served until the last. */
static size_t count_stages(hierarchy_t *h)
{
    size_t n = 0;

    if (h->n_cuts != 0) {
        qsort(h->cuts, h->n_cuts, sizeof(*h->cuts), by_value);
    }
    for (size_t k = 1; k < h->n_cuts; ++k) {
        n += h->cuts[k] != h->cuts[k - 1];
    }
    return n;
}

/* The busiest rank's bytes, sent or received. */
static fs_status_t find_bound(hierarchy_t *h, uint64_t *bound_p)
{
    size_t    n    = h->topo->n_ranks;
    uint64_t *sums = fs_arena_calloc(&h->arena, 2 * n, sizeof(*sums));

    if (sums == NULL) {
        return FS_ERR_NOMEM;
    }
    *bound_p = 0;
    for (size_t k = 0; k < h->n_transfers; ++k) {
        sums[h->transfers[k].src] += h->transfers[k].bytes;
        sums[n + h->transfers[k].dst] += h->transfers[k].bytes;
    }
    for (size_t k = 0; k < 2 * n; ++k) {
        *bound_p = fs_u64_max(*bound_p, sums[k]);
    }
    return FS_OK;
}

static fs_status_t seal(hierarchy_t *h, fs_hierarchy_t **hierarchy_p)
{
    size_t          bytes = h->n_transfers * sizeof(fs_transfer_t);
    uint64_t        bound;
    fs_hierarchy_t *result;

    if (find_bound(h, &bound) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    result = malloc(sizeof(*result) + bytes);
    if (result == NULL) {
        return FS_ERR_NOMEM;
    }
    *result = (fs_hierarchy_t){
        .n_ranks     = h->topo->n_ranks,
        .n_stages    = count_stages(h),
        .lower_bound = bound,
        .total       = h->servers->total,
        .n_transfers = h->n_transfers,
        .transfers   = (fs_transfer_t *)(result + 1),
    };
    if (bytes != 0) {
        memcpy(result->transfers, h->transfers, bytes);
        qsort(result->transfers, h->n_transfers, sizeof(fs_transfer_t),
              fs_transfer_by_start);
    }
    *hierarchy_p = result;
    return FS_OK;
}

static fs_status_t build(hierarchy_t *h)
{
    uint32_t    n      = h->topo->n_servers;
    fs_status_t status = FS_OK;

    h->blocks = fs_arena_calloc(&h->arena, (size_t)n * n, sizeof(*h->blocks));
    if (h->blocks == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t u = 0; u < n; ++u) {
        for (uint32_t w = 0; w < n && status == FS_OK; ++w) {
            if (w != u) {
                status = decompose_block(h, u, w);
            }
        }
    }
    if (status == FS_OK) {
        status = decompose_servers(h);
    }
    if (status == FS_OK) {
        status = make_room(h);
    }
    for (size_t k = 0; status == FS_OK && k < h->servers->n_transfers; ++k) {
        serve(h, &h->servers->transfers[k]);
    }
    return status;
}

fs_status_t fs_hierarchy_create(const fs_topo_t *topo, bool balanced,
                                const uint64_t  *rank_bytes,
                                fs_hierarchy_t **hierarchy_p)
{
    hierarchy_t h = {
        .topo = topo, .rank_bytes = rank_bytes, .balanced = balanced};
    fs_status_t status = build(&h);

    if (status == FS_OK) {
        status = seal(&h, hierarchy_p);
    }
    for (size_t k = 0;
         h.blocks != NULL && k < (size_t)topo->n_servers * topo->n_servers;
         ++k) {
        fs_schedule_destroy(h.blocks[k].schedule);
    }
    fs_schedule_destroy(h.servers);
    fs_arena_fini(&h.arena);
    return status;
}

void fs_hierarchy_destroy(fs_hierarchy_t *hierarchy)
{
    free(hierarchy);
}

/* ---- as a method of schedules ---- */

/* The server stages of "birkhoff"; what makes it is the order of lanes inside a
 * stage. */
static fs_status_t build_stages(const fs_demand_t *demand, fs_arena_t *arena,
                                fs_draft_t *draft)
{
    return fs_decompose_birkhoff.build(demand, arena, draft);
}

const fs_decompose_method_t fs_decompose_hierarchical = {
    .build = build_stages, .fixes_balance = true, .balance = FS_BALANCE_ROWCOL};
