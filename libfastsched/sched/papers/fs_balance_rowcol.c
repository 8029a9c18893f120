/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Row and column transfers (DHBvN §IV), then lanes that change partners.
 *
 *   I.  What a row has beyond the capacity moves to rows that have less, inside
 *       its columns. Now no lane sends more than the capacity.
 *   II. What a column has beyond it moves to columns that have less, inside its
 *       rows. Now no lane receives more than the capacity.
 *   III. The matrix of bytes from lane to lane has line sums of at most the
 *       capacity, so it is a sum of subpermutations no longer than that
 *       together (DHBvN Proposition 2): one after another they make the streams.
 *
 * The paper moves unit by unit; surplus and room are both known in advance, so
 * here they are merged like two sorted lists: O(blocks) for I and II. Bytes
 * that move are exactly those beyond the capacity of their row or column, which
 * no assignment can avoid. The price is many short messages: lanes have a dozen
 * partners one after another where the other modes have one.
 */
#include "sched/papers/fs_papers.h"

#include "base/fs_arith.h"
#include "base/fs_assert.h"

/* Bytes of a block from one lane to another. */
typedef struct part {
    uint32_t src_local;
    uint32_t dst_local;
    uint32_t src_lane;
    uint32_t dst_lane; /* FS_NO_LANE: surplus of its column */
    uint64_t offset;
    uint64_t len_bytes;
} part_t;

typedef struct rowcol {
    const fs_tile_t *tile;
    uint64_t        *room;  /* [n_lanes] bytes a column still takes */
    uint64_t         spare; /* room that is not needed */
    uint32_t         n_parts;
    part_t   *parts; /* first in order of filling, then by pair of lanes */
    uint32_t *at;    /* [n_lanes x n_lanes] next part of a pair */
    uint64_t *bytes; /* [2 n_lanes x 2 n_lanes] from lane a to n_lanes +
                                b: it has no diagonal */
} rowcol_t;

/* ---- phase II ---- */

/* Keep what the column has room for; the rest of the part becomes a surplus
 * part behind it. */
static void keep(rowcol_t *rc, part_t part, uint32_t lane)
{
    uint64_t *room = &rc->room[lane];
    uint64_t  rest = part.len_bytes;

    if (rest > *room) {
        part.len_bytes = fs_balance_split(
            rc->tile->bytes[(size_t)part.src_local * rc->tile->n_dst +
                            part.dst_local],
            part.offset, *room, &rc->spare);
        *room = part.len_bytes;
    }
    *room -= part.len_bytes;
    part.dst_lane = lane;
    if (part.len_bytes != 0) {
        rc->parts[rc->n_parts++] = part;
    }
    part.offset += part.len_bytes;
    part.len_bytes = rest - part.len_bytes;
    part.dst_lane  = FS_NO_LANE;
    if (part.len_bytes != 0) {
        rc->parts[rc->n_parts++] = part;
    }
}

/* A surplus part to columns with room; none below *open_p has any. */
static void give(rowcol_t *rc, part_t *part, uint32_t *open_p)
{
    while (rc->room[*open_p] < part->len_bytes) {
        uint64_t here = rc->room[*open_p];

        if (here != 0) {
            part_t head = *part;

            head.dst_lane  = *open_p;
            head.len_bytes = here;
            part->offset += here;
            part->len_bytes -= here;
            rc->parts[rc->n_parts++] = head;
        }
        rc->room[(*open_p)++] = 0;
        fs_assert(*open_p < rc->tile->n_lanes);
    }
    part->dst_lane = *open_p;
    rc->room[*open_p] -= part->len_bytes;
}

static void balance_columns(rowcol_t *rc, const fs_fill_t *rows)
{
    uint32_t open = 0, n;

    for (uint32_t k = 0; k < rows->n_extents; ++k) {
        const fs_extent_t *s    = &rows->extents[k];
        uint32_t           lane = rows->dst_lane[s->dst_local];
        part_t             part = {s->src_local, s->dst_local, s->dst_lane,
                                   FS_NO_LANE,   s->offset,    s->len_bytes};

        if (lane == FS_NO_LANE) {
            rc->parts[rc->n_parts++] = part;
        } else {
            keep(rc, part, lane);
        }
    }
    n = rc->n_parts;
    for (uint32_t k = 0; k < n; ++k) {
        if (rc->parts[k].dst_lane == FS_NO_LANE) {
            give(rc, &rc->parts[k], &open);
        }
    }
}

/* ---- phase III ---- */

/* Sums and a counting sort by pair of lanes. */
static fs_status_t sort_parts(rowcol_t *rc, fs_arena_t *arena)
{
    uint32_t lanes = rc->tile->n_lanes, n = 0;
    part_t  *sorted = fs_arena_calloc(arena, rc->n_parts, sizeof(*sorted));

    rc->at    = fs_arena_calloc(arena, (size_t)lanes * lanes, sizeof(*rc->at));
    rc->bytes = fs_arena_calloc(arena, (size_t)lanes * lanes * 4, 8);
    if (sorted == NULL || rc->at == NULL || rc->bytes == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t k = 0; k < rc->n_parts; ++k) {
        const part_t *p = &rc->parts[k];

        ++rc->at[(size_t)p->src_lane * lanes + p->dst_lane];
        rc->bytes[(size_t)p->src_lane * lanes * 2 + lanes + p->dst_lane] +=
            p->len_bytes;
    }
    for (size_t pair = 0; pair < (size_t)lanes * lanes; ++pair) {
        uint32_t here = rc->at[pair];

        rc->at[pair] = n;
        n += here;
    }
    for (uint32_t k = 0; k < rc->n_parts; ++k) {
        const part_t *p = &rc->parts[k];

        sorted[rc->at[(size_t)p->src_lane * lanes + p->dst_lane]++] = *p;
    }
    /* Each pair's index ran on to where the next pair begins. */
    for (size_t pair = (size_t)lanes * lanes; pair-- > 0;) {
        rc->at[pair] = pair == 0 ? 0 : rc->at[pair - 1];
    }
    rc->parts = sorted;
    return FS_OK;
}

/* The next bytes of a pair of lanes, at the time of a transfer. Returns how
 * many extents they are. */
static uint32_t take(rowcol_t *rc, const fs_transfer_t *transfer,
                     fs_extent_t *out)
{
    uint32_t lanes = rc->tile->n_lanes, dst_lane = transfer->dst - lanes, n = 0;
    uint32_t *at  = &rc->at[(size_t)transfer->src * lanes + dst_lane];
    uint64_t  pos = transfer->start, end = pos + transfer->bytes;

    while (pos < end) {
        part_t  *p   = &rc->parts[*at];
        uint64_t len = fs_u64_min(p->len_bytes, end - pos);

        out[n++] = (fs_extent_t){p->src_local, p->dst_local, dst_lane,
                                 p->offset,    len,          pos};
        pos += len;
        p->offset += len;
        p->len_bytes -= len;
        *at += p->len_bytes == 0;
    }
    return n;
}

static fs_status_t write_streams(rowcol_t *rc, const fs_schedule_t *schedule,
                                 fs_arena_t *arena, fs_streams_t *streams)
{
    uint32_t  lanes = rc->tile->n_lanes, n = 0;
    uint32_t *first = fs_arena_calloc(arena, (size_t)lanes + 1, sizeof(*first));
    /* An extent ends a part or a transfer. */
    fs_extent_t *out = fs_arena_calloc(
        arena, rc->n_parts + schedule->n_transfers, sizeof(*out));

    if (first == NULL || out == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t lane = 0; lane < lanes; ++lane) {
        first[lane] = n;
        for (size_t k = 0; k < schedule->n_transfers; ++k) {
            if (schedule->transfers[k].src == lane) {
                n += take(rc, &schedule->transfers[k], out + n);
            }
        }
    }
    first[lanes] = n;
    *streams     = (fs_streams_t){lanes, first, out, NULL};
    return FS_OK;
}

static fs_status_t balance(rowcol_t *rc, const fs_fill_t *rows,
                           uint64_t capacity, fs_arena_t *arena)
{
    uint32_t lanes = rc->tile->n_lanes;

    rc->room = fs_arena_calloc(arena, lanes, sizeof(*rc->room));
    /* Beyond the first of each extent, a part comes with a full column. */
    rc->parts = fs_arena_calloc(arena, (size_t)rows->n_extents * 2 + lanes,
                                sizeof(*rc->parts));
    if (rc->room == NULL || rc->parts == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t l = 0; l < lanes; ++l) {
        rc->room[l] = capacity;
    }
    balance_columns(rc, rows);
    return sort_parts(rc, arena);
}

static fs_status_t cut(const fs_tile_t *tile, uint64_t total,
                       const fs_viewer_t *viewer, fs_arena_t *arena,
                       fs_streams_t *streams)
{
    uint64_t capacity = fs_balance_capacity(total, tile->n_lanes);
    rowcol_t rc = {.tile = tile, .spare = capacity * tile->n_lanes - total};
    fs_schedule_t *schedule = NULL;
    fs_fill_t      rows;
    fs_status_t    status = fs_fill_init(&rows, tile, total, capacity, arena);

    (void)viewer;
    if (status == FS_OK) {
        fs_fill_rows(&rows);
        status = balance(&rc, &rows, capacity, arena);
    }
    if (status == FS_OK) {
        status = fs_schedule_create(FS_DECOMPOSE_BIRKHOFF, 0, 2 * tile->n_lanes,
                                    rc.bytes, FS_ALL_SERVERS, &schedule);
    }
    if (status == FS_OK) {
        status = write_streams(&rc, schedule, arena, streams);
    }
    fs_schedule_destroy(schedule);
    return status;
}

const fs_balance_mode_t fs_balance_rowcol = {.cut            = cut,
                                             .permutes_lanes = true};
