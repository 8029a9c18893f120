/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fewest bytes moved inside servers, with merged peer transfer.
 *
 * A byte that travels on the lane of both its ends moves nowhere, on the lane
 * of one end it moves once, on any other lane twice. So:
 *
 *   1. A block whose ends share a lane goes there. Any other goes to the lane
 *      of its source or of its destination, whole, to the emptier one. Lanes
 *      may overflow.
 *   2. Lanes that did pass bytes on: a block between the ranks of lanes a and b
 *      may go from a to b at no cost (fs_balance_flow.h).
 *   3. What overflows even then has to move twice (a detour). It goes to lanes
 *      with room; bytes whose ends share a lane are taken last, because they
 *      cost two moves more.
 *
 * No assignment at this capacity moves fewer bytes: a swap of two bytes between
 * lanes that saved a move would have been a path of step 2.
 *
 * Of the two blocks between two ranks, one in each direction, only the sum
 * matters to a lane, so steps 1 and 2 work on pairs of lanes. The blocks of
 * ranks without a lane can go to one lane, or to none. Whole blocks in step 1
 * and few passes in step 2 keep extents few: about one a block and one a lane.
 */
#include "sched/balance/fs_balance_flow.h"
#include "sched/balance/fs_balance_modes.h"

#include "base/fs_arith.h"
#include "base/fs_assert.h"

#include <string.h>

/* Bytes of a block that move twice. */
typedef struct detour {
    uint32_t src_local;
    uint32_t dst_local;
    uint32_t lane;
    uint64_t offset;
    uint64_t len_bytes;
} detour_t;

/* A block is laid out as: bytes on the lane of its source, bytes on the lane of
 * its destination, detours. */
typedef struct minmove {
    const fs_tile_t   *tile;
    const fs_viewer_t *viewer; /* NULL: all extents are wanted */
    fs_lanes_t         lanes;
    uint64_t *left; /* [n_src x n_dst] bytes of a block less its detours */
    size_t   *row;  /* [n_lanes] where the row of a lane's sender begins */
    uint32_t  n_src_laneless;
    uint32_t  n_dst_laneless;
    uint32_t *src_laneless; /* [n_src_laneless] */
    uint32_t *dst_laneless; /* [n_dst_laneless] */
    uint32_t  open;         /* no lane below it has room, in step 3 */
    uint32_t  n_detours;
    detour_t *detours; /* by lane */
} minmove_t;

/* Bytes left of the block from the sender of lane a to the receiver of lane b. */
static inline uint64_t *between(const minmove_t *mm, uint32_t a, uint32_t b)
{
    return &mm->left[mm->row[a] + mm->tile->dst_proxy[b]];
}

/* Bytes of both blocks between two lanes that lane a carries. */
static inline uint64_t *carried(const minmove_t *mm, uint32_t a, uint32_t b)
{
    return &mm->lanes.movable[(size_t)a * mm->lanes.n + b];
}

/* How many of the len bytes that a lane carries are of its own rank's block of
 * out bytes; the rest is of the block of back bytes. A block is not cut if it
 * need not be. The other lane, which carries out + back - len, finds the same. */
static inline uint64_t share_of_own(uint64_t len, uint64_t out, uint64_t back)
{
    return fs_u64_min(out, len) & -(uint64_t)(len != back);
}

/* ---- set-up ---- */

/* Find the ranks without a lane. FS_OK, FS_ERR_NOMEM. */
static fs_status_t find_laneless(uint32_t n_lanes, const uint32_t *proxy,
                                 uint32_t n_local, fs_arena_t *arena,
                                 uint32_t *n_laneless_p, uint32_t **laneless_p)
{
    uint32_t *lane_of, *laneless, n = 0;

    if (n_local == n_lanes) {
        return FS_OK;
    }
    lane_of  = fs_arena_calloc(arena, n_local, sizeof(*lane_of));
    laneless = fs_arena_calloc(arena, n_local, sizeof(*laneless));
    if (lane_of == NULL || laneless == NULL) {
        return FS_ERR_NOMEM;
    }
    fs_balance_lanes_of(n_lanes, proxy, n_local, lane_of);
    for (uint32_t i = 0; i < n_local; ++i) {
        if (lane_of[i] == FS_NO_LANE) {
            laneless[n++] = i;
        }
    }
    *n_laneless_p = n;
    *laneless_p   = laneless;
    return FS_OK;
}

static fs_status_t init(minmove_t *mm, fs_arena_t *arena)
{
    const fs_tile_t *tile   = mm->tile;
    size_t           blocks = (size_t)tile->n_src * tile->n_dst;
    size_t           lanes  = tile->n_lanes;
    fs_status_t      status;

    mm->left = fs_arena_alloc(arena, blocks + lanes * lanes + 2 * lanes, 8);
    if (mm->left == NULL) {
        return FS_ERR_NOMEM;
    }
    mm->lanes.movable = mm->left + blocks;
    mm->lanes.fill    = mm->lanes.movable + lanes * lanes;
    mm->row           = mm->lanes.fill + lanes;
    memcpy(mm->left, tile->bytes, blocks * sizeof(*mm->left));
    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        mm->row[l] = (uint64_t)tile->src_proxy[l] * tile->n_dst;
    }
    status = find_laneless(tile->n_lanes, tile->src_proxy, tile->n_src, arena,
                           &mm->n_src_laneless, &mm->src_laneless);
    return status != FS_OK
               ? status
               : find_laneless(tile->n_lanes, tile->dst_proxy, tile->n_dst,
                               arena, &mm->n_dst_laneless, &mm->dst_laneless);
}

/* ---- step 1 ---- */

/* What has one lane to go to, so that what has two can see it. */
static void place_singles(minmove_t *mm)
{
    const fs_tile_t *tile = mm->tile;

    for (uint32_t l = 0; l < tile->n_lanes; ++l) {
        uint64_t fill = *between(mm, l, l);

        for (uint32_t g = 0; g < mm->n_dst_laneless; ++g) {
            fill += mm->left[mm->row[l] + mm->dst_laneless[g]];
        }
        for (uint32_t g = 0; g < mm->n_src_laneless; ++g) {
            fill += mm->left[(size_t)mm->src_laneless[g] * tile->n_dst +
                             tile->dst_proxy[l]];
        }
        mm->lanes.fill[l] = fill;
    }
}

/* bytes to one of two lanes: to the other, b, if that is emptier. Returns how many
 * go there. Random sizes make the choice a coin toss that no branch predictor
 * learns, so there must be no branch. */
static inline uint64_t place(uint64_t bytes, uint64_t *fill_a, uint64_t *fill_b)
{
    uint64_t to_b = bytes & -(uint64_t)(*fill_b < *fill_a);

    *fill_a += bytes;
    *fill_a -= to_b;
    *fill_b += to_b;
    return to_b;
}

static void place_pairs(minmove_t *mm)
{
    uint64_t *fill = mm->lanes.fill;

    for (uint32_t a = 0; a < mm->lanes.n; ++a) {
        uint64_t fill_a = fill[a];

        *carried(mm, a, a) = 0;
        for (uint32_t b = a + 1; b < mm->lanes.n; ++b) {
            uint64_t out = *between(mm, a, b), back = *between(mm, b, a);
            uint64_t fill_b = fill[b], to_b;

            to_b = place(out, &fill_a, &fill_b);
            to_b += place(back, &fill_a, &fill_b);
            fill[b]            = fill_b;
            *carried(mm, b, a) = to_b;
            *carried(mm, a, b) = out + back - to_b;
        }
        fill[a] = fill_a;
    }
}

/* ---- step 3 ---- */

/* Up to len bytes off the end of what is left of a block, but not more than the
 * surplus, to lanes with room. Returns how many. */
static uint64_t move_twice(minmove_t *mm, uint32_t i, uint32_t j, uint64_t len,
                           uint64_t *surplus)
{
    uint64_t *left = &mm->left[(size_t)i * mm->tile->n_dst + j];
    uint64_t  end  = *left, offset;

    len = fs_u64_min(fs_u64_min(len, end), *surplus);
    *surplus -= len;
    *left -= len;
    for (offset = *left; offset != end;) {
        uint64_t *fill = &mm->lanes.fill[mm->open];
        uint64_t  here;

        fs_assert(mm->open < mm->lanes.n);
        if (*fill >= mm->lanes.capacity) {
            ++mm->open;
            continue;
        }
        here = fs_u64_min(end - offset, mm->lanes.capacity - *fill);
        mm->detours[mm->n_detours++] = (detour_t){i, j, mm->open, offset, here};
        *fill += here;
        offset += here;
    }
    return len;
}

/* What lane a carries of the two blocks between it and lane b. */
static void move_pair(minmove_t *mm, uint32_t a, uint32_t b, uint64_t *surplus)
{
    const fs_tile_t *tile = mm->tile;
    uint64_t        *len  = carried(mm, a, b);
    uint64_t own   = share_of_own(*len, *between(mm, a, b), *between(mm, b, a));
    uint64_t other = *len - own;

    *len -=
        move_twice(mm, tile->src_proxy[a], tile->dst_proxy[b], own, surplus);
    *len -=
        move_twice(mm, tile->src_proxy[b], tile->dst_proxy[a], other, surplus);
}

static void empty_lane(minmove_t *mm, uint32_t a)
{
    const fs_tile_t *tile = mm->tile;
    uint32_t         i = tile->src_proxy[a], j = tile->dst_proxy[a];
    uint64_t         surplus = mm->lanes.fill[a] - mm->lanes.capacity;

    mm->lanes.fill[a] = mm->lanes.capacity;
    for (uint32_t b = 0; b < mm->lanes.n && surplus != 0; ++b) {
        move_pair(mm, a, b, &surplus);
    }
    for (uint32_t g = 0; g < mm->n_dst_laneless && surplus != 0; ++g) {
        move_twice(mm, i, mm->dst_laneless[g], UINT64_MAX, &surplus);
    }
    for (uint32_t g = 0; g < mm->n_src_laneless && surplus != 0; ++g) {
        move_twice(mm, mm->src_laneless[g], j, UINT64_MAX, &surplus);
    }
    move_twice(mm, i, j, UINT64_MAX, &surplus);
    fs_assert(surplus == 0);
}

static bool is_too_much(const minmove_t *mm)
{
    bool too_much = mm->n_src_laneless != 0 && mm->n_dst_laneless != 0;

    for (uint32_t a = 0; a < mm->lanes.n; ++a) {
        too_much |= mm->lanes.fill[a] > mm->lanes.capacity;
    }
    return too_much;
}

/* Extents with up to two ends on the lanes of their blocks. */
static size_t max_extents(const minmove_t *mm)
{
    size_t   blocks = (size_t)mm->tile->n_src * mm->tile->n_dst;
    uint64_t pairs  = (uint64_t)mm->lanes.n * mm->lanes.n / 2;

    return blocks + fs_u64_min(mm->lanes.n_passes, pairs);
}

static fs_status_t move_surplus(minmove_t *mm, fs_arena_t *arena)
{
    if (!is_too_much(mm)) {
        return FS_OK;
    }
    /* A detour ends an extent, a lane's surplus or a lane's room. */
    mm->detours = fs_arena_alloc(
        arena, max_extents(mm) + 2 * (size_t)mm->lanes.n, sizeof(*mm->detours));
    if (mm->detours == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t a = 0; a < mm->lanes.n; ++a) {
        if (mm->lanes.fill[a] > mm->lanes.capacity) {
            empty_lane(mm, a);
        }
    }
    for (uint32_t g = 0; g < mm->n_src_laneless; ++g) {
        for (uint32_t h = 0; h < mm->n_dst_laneless; ++h) {
            uint64_t all = UINT64_MAX;

            move_twice(mm, mm->src_laneless[g], mm->dst_laneless[h], all, &all);
        }
    }
    return FS_OK;
}

/* ---- streams ---- */

typedef struct writer {
    fs_extent_t *next;
    uint32_t     lane;
    uint64_t     pos;
} writer_t;

/* Written whatever len is, and kept if there is something: no branch. So there
 * is room for an extent more. */
static inline void add(writer_t *w, uint32_t i, uint32_t j, uint64_t offset,
                       uint64_t len)
{
    *w->next = (fs_extent_t){i, j, w->lane, offset, len, w->pos};
    w->next += len != 0;
    w->pos += len;
}

/* Split what lanes carry of each other into own[], of their rank's own block,
 * and carried(), of the block that comes back. */
static void split_pairs(minmove_t *mm, uint64_t *own)
{
    uint32_t n = mm->lanes.n;

    for (uint32_t a = 0; a < n; ++a) {
        for (uint32_t b = a + 1; b < n; ++b) {
            uint64_t out = *between(mm, a, b), back = *between(mm, b, a);
            uint64_t len   = *carried(mm, a, b);
            uint64_t own_a = share_of_own(len, out, back);

            own[(size_t)a * n + b] = own_a;
            own[(size_t)b * n + a] = back - (len - own_a);
            *carried(mm, a, b)     = len - own_a;
            *carried(mm, b, a)     = out - own_a;
        }
    }
}

static inline bool has_detour(const minmove_t *mm, uint32_t lane,
                              uint32_t next_detour)
{
    return next_detour < mm->n_detours && mm->detours[next_detour].lane == lane;
}

/* What the lane's own rank sends to receivers of lanes from .. to - 1. */
static inline void add_own(const minmove_t *mm, writer_t *w,
                           const uint64_t *own, uint32_t from, uint32_t to)
{
    uint32_t        i   = mm->tile->src_proxy[w->lane];
    const uint64_t *len = own + (size_t)w->lane * mm->lanes.n;

    for (uint32_t b = from; b < to; ++b) {
        add(w, i, mm->tile->dst_proxy[b], 0, len[b]);
    }
}

/* What the senders of those lanes have for the lane's receiver, beyond what they
 * send on their own lane. */
static inline void add_other(const minmove_t *mm, writer_t *w,
                             const uint64_t *own, uint32_t from, uint32_t to)
{
    uint32_t        j = mm->tile->dst_proxy[w->lane], n = mm->lanes.n;
    const uint64_t *len = carried(mm, w->lane, 0);

    for (uint32_t b = from; b < to; ++b) {
        add(w, mm->tile->src_proxy[b], j, own[(size_t)b * n + w->lane], len[b]);
    }
}

/* First what is only redistributed, last what is only gathered: then no gather
 * delays the first bytes and no redistribution follows the last. Lanes start at
 * different ranks. */
static inline void write_lane(const minmove_t *mm, writer_t *w,
                              const uint64_t *own, uint32_t *next_detour)
{
    const fs_tile_t *tile = mm->tile;
    uint32_t         a = w->lane, lanes = tile->n_lanes;
    uint32_t         i = tile->src_proxy[a], j = tile->dst_proxy[a];

    w->pos = 0;
    add_own(mm, w, own, a + 1, lanes);
    add_own(mm, w, own, 0, a);
    for (uint32_t g = 0; g < mm->n_dst_laneless; ++g) {
        add(w, i, mm->dst_laneless[g], 0,
            mm->left[mm->row[a] + mm->dst_laneless[g]]);
    }
    for (; has_detour(mm, a, *next_detour); ++*next_detour) {
        const detour_t *detour = &mm->detours[*next_detour];

        add(w, detour->src_local, detour->dst_local, detour->offset,
            detour->len_bytes);
    }
    add(w, i, j, 0, *between(mm, a, a));
    add_other(mm, w, own, a + 1, lanes);
    add_other(mm, w, own, 0, a);
    for (uint32_t g = 0; g < mm->n_src_laneless; ++g) {
        uint32_t src = mm->src_laneless[g];

        add(w, src, j, 0, mm->left[(size_t)src * tile->n_dst + j]);
    }
}

/* The sum from one lane to before another, once around. */
static inline uint64_t sum_around(const uint64_t *len, uint32_t n_lanes,
                                  uint32_t from, uint32_t to)
{
    uint32_t end = from <= to ? to : n_lanes;
    uint64_t sum = 0;

    for (uint32_t b = from; b < end; ++b) {
        sum += len[b];
    }
    for (uint32_t b = 0; b < to && from > to; ++b) {
        sum += len[b];
    }
    return sum;
}

/* Of the lane of others: a receiver wants what the lane's sender sends it, */
static inline void write_received(const minmove_t *mm, writer_t *w,
                                  const uint64_t *own, uint32_t viewer)
{
    uint32_t        a = w->lane, n = mm->lanes.n;
    const uint64_t *len = own + (size_t)a * n;

    w->pos = sum_around(len, n, a + 1, viewer);
    add(w, mm->tile->src_proxy[a], mm->tile->dst_proxy[viewer], 0, len[viewer]);
}

/* a sender what it has for the lane's receiver, */
static inline void write_sent(const minmove_t *mm, writer_t *w,
                              const uint64_t *own, uint32_t viewer)
{
    const fs_tile_t *tile = mm->tile;
    uint32_t         a = w->lane, j = tile->dst_proxy[a], n = mm->lanes.n;
    const uint64_t  *len  = carried(mm, a, 0);
    uint64_t         rest = sum_around(len, n, viewer, a);

    for (uint32_t g = 0; g < mm->n_src_laneless; ++g) {
        rest += mm->left[(size_t)mm->src_laneless[g] * tile->n_dst + j];
    }
    w->pos = mm->lanes.fill[a] - rest;
    add(w, tile->src_proxy[viewer], j, own[(size_t)viewer * n + a],
        len[viewer]);
}

/* and both their detours. */
static inline void write_detours(const minmove_t *mm, writer_t *w,
                                 const uint64_t *own, uint32_t *next_detour)
{
    const fs_viewer_t *viewer = mm->viewer;
    uint32_t           a = w->lane, n = mm->lanes.n;

    if (!has_detour(mm, a, *next_detour)) {
        return;
    }
    w->pos = sum_around(own + (size_t)a * n, n, a + 1, a);
    for (uint32_t g = 0; g < mm->n_dst_laneless; ++g) {
        w->pos += mm->left[mm->row[a] + mm->dst_laneless[g]];
    }
    for (; has_detour(mm, a, *next_detour); ++*next_detour) {
        const detour_t *p = &mm->detours[*next_detour];

        if ((viewer->outgoing ? p->src_local : p->dst_local) == viewer->local) {
            add(w, p->src_local, p->dst_local, p->offset, p->len_bytes);
        } else {
            w->pos += p->len_bytes;
        }
    }
}

/* The lane that the viewer serves; FS_NO_LANE if none does or all is wanted. */
static uint32_t viewer_lane(const minmove_t *mm)
{
    const fs_viewer_t *viewer = mm->viewer;
    const uint32_t    *proxy;

    if (viewer == NULL) {
        return FS_NO_LANE;
    }
    proxy = viewer->outgoing ? mm->tile->src_proxy : mm->tile->dst_proxy;
    for (uint32_t l = 0; l < mm->lanes.n; ++l) {
        if (proxy[l] == viewer->local) {
            return l;
        }
    }
    return FS_NO_LANE;
}

static fs_status_t write_streams(minmove_t *mm, fs_arena_t *arena,
                                 fs_streams_t *streams)
{
    uint32_t     lanes       = mm->lanes.n;
    size_t       max         = max_extents(mm) + mm->n_detours + 1;
    uint32_t    *first       = fs_arena_alloc(arena, (size_t)lanes + 1, 4);
    fs_extent_t *out         = fs_arena_alloc(arena, max, sizeof(*out));
    uint64_t    *own         = fs_arena_alloc(arena, (size_t)lanes * lanes, 8);
    uint32_t     viewer      = viewer_lane(mm);
    uint32_t     next_detour = 0;
    writer_t     w           = {.next = out};

    if (out == NULL || first == NULL || own == NULL) {
        return FS_ERR_NOMEM;
    }
    split_pairs(mm, own);
    for (w.lane = 0; w.lane < lanes; ++w.lane) {
        first[w.lane] = (uint32_t)(w.next - out);
        if (viewer == FS_NO_LANE || w.lane == viewer) {
            write_lane(mm, &w, own, &next_detour);
        } else if (mm->viewer->outgoing) {
            write_detours(mm, &w, own, &next_detour);
            write_sent(mm, &w, own, viewer);
        } else {
            write_received(mm, &w, own, viewer);
            write_detours(mm, &w, own, &next_detour);
        }
    }
    first[lanes] = (uint32_t)(w.next - out);
    *streams     = (fs_streams_t){lanes, first, out, mm->lanes.fill};
    return FS_OK;
}

static fs_status_t cut(const fs_tile_t *tile, uint64_t total,
                       const fs_viewer_t *viewer, fs_arena_t *arena,
                       fs_streams_t *streams)
{
    minmove_t mm = {
        .tile   = tile,
        .viewer = viewer,
        .lanes  = {.n        = tile->n_lanes,
                   .capacity = fs_balance_capacity(total, tile->n_lanes)}};
    fs_status_t status = init(&mm, arena);

    if (status == FS_OK) {
        place_singles(&mm);
        place_pairs(&mm);
        status = fs_lanes_level(&mm.lanes, arena);
    }
    if (status == FS_OK) {
        status = move_surplus(&mm, arena);
    }
    return status == FS_OK ? write_streams(&mm, arena, streams) : status;
}

const fs_balance_mode_t fs_balance_minmove = {.cut = cut};
