/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tile between servers with different numbers of lanes: one rank may send, or
 * receive, on several lanes of the tile (fs_ports.h).
 *
 * Lanes take equal shares. A block goes to lanes of both its ends first, then to
 * those of its source, then to those of its destination; what is left moves
 * twice. Inside a stream, what is only redistributed comes first and what is only
 * gathered last.
 */
#include "sched/balance/fs_balance_modes.h"

typedef struct lanes_of {
    uint32_t *first; /* [n_local + 1] index into list */
    uint32_t *list;  /* [n_lanes] by proxy */
} lanes_of_t;

/* Which lanes each rank serves. */
static fs_status_t list_lanes(uint32_t n_lanes, const uint32_t *proxy,
                              uint32_t n_local, fs_arena_t *arena,
                              lanes_of_t *of)
{
    of->first = fs_arena_calloc(arena, (size_t)n_local + 2, sizeof(uint32_t));
    of->list  = fs_arena_alloc(arena, n_lanes, sizeof(uint32_t));
    if (of->first == NULL || of->list == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t l = 0; l < n_lanes; ++l) {
        ++of->first[proxy[l] + 2];
    }
    for (uint32_t i = 2; i < n_local + 2; ++i) {
        of->first[i] += of->first[i - 1];
    }
    for (uint32_t l = 0; l < n_lanes; ++l) {
        of->list[of->first[proxy[l] + 1]++] = l;
    }
    return FS_OK;
}

static bool is_put(const fs_fill_t *fill, uint32_t i, uint32_t j)
{
    size_t block = (size_t)i * fill->tile->n_dst + j;

    return fill->done[block] == fill->tile->bytes[block];
}

/* What fits of a block on lanes of a rank. */
static void put_on(fs_fill_t *fill, uint32_t i, uint32_t j,
                   const lanes_of_t *of, uint32_t local)
{
    for (uint32_t k = of->first[local];
         k < of->first[local + 1] && !is_put(fill, i, j); ++k) {
        fs_fill_put(fill, i, j, of->list[k]);
    }
}

static void put_rows(fs_fill_t *fill, const lanes_of_t *of_src)
{
    for (uint32_t i = 0; i < fill->tile->n_src; ++i) {
        for (uint32_t j = 0; j < fill->tile->n_dst; ++j) {
            put_on(fill, i, j, of_src, i);
        }
    }
}

static void put_columns(fs_fill_t *fill, const lanes_of_t *of_dst)
{
    for (uint32_t j = 0; j < fill->tile->n_dst; ++j) {
        for (uint32_t i = 0; i < fill->tile->n_src; ++i) {
            put_on(fill, i, j, of_dst, j);
        }
    }
}

/* The rest to lanes with room; none below `open` has any. */
static void put_remainder(fs_fill_t *fill)
{
    const fs_tile_t *tile = fill->tile;
    uint32_t         open = 0;

    for (uint32_t i = 0; i < tile->n_src; ++i) {
        for (uint32_t j = 0; j < tile->n_dst; ++j) {
            while (!is_put(fill, i, j)) {
                if (fill->room[open] == 0) {
                    ++open;
                } else {
                    fs_fill_put(fill, i, j, open);
                }
            }
        }
    }
}

fs_status_t fs_balance_cut_shared(const fs_tile_t *tile, uint64_t total,
                                  const fs_viewer_t *viewer, fs_arena_t *arena,
                                  fs_streams_t *streams)
{
    uint64_t    capacity = fs_balance_capacity(total, tile->n_lanes);
    lanes_of_t  of_src, of_dst;
    fs_fill_t   fill;
    fs_status_t status = fs_fill_init(&fill, tile, total, capacity, arena);

    (void)viewer;
    if (status == FS_OK) {
        status = list_lanes(tile->n_lanes, tile->src_proxy, tile->n_src, arena,
                            &of_src);
    }
    if (status == FS_OK) {
        status = list_lanes(tile->n_lanes, tile->dst_proxy, tile->n_dst, arena,
                            &of_dst);
    }
    if (status != FS_OK) {
        return status;
    }
    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        fs_fill_put(&fill, tile->src_proxy[l], tile->dst_proxy[l], l);
    }
    put_rows(&fill, &of_src);
    put_columns(&fill, &of_dst);
    put_remainder(&fill);
    return fs_fill_finish(&fill, fs_fill_by_moves, FS_FILL_MOVES, arena,
                          streams);
}
