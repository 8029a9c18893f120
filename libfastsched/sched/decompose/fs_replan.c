/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new schedule from the one before, when few cells of the matrix differ.
 *
 * All pairs keep their start times. A pair that has become smaller ends earlier.
 * What a pair has more than before is a second message, in the first gap of its
 * sender and its receiver that is long enough. Gaps are found in slots of time, 8 N
 * to 16 N of them: a slot is busy if a transfer uses any part of it. If one pair
 * finds no gap before the limit, or many cells differ, all is planned anew. The
 * limit is the length of the kept schedule over its bound, and 1/128 more: so
 * schedules do not get worse from call to call, and they always start from the one
 * that was kept.
 *
 * Keeping a schedule takes about as long as making one. So one is kept only when
 * the matrix resembles the one before; whether it does, a sample tells. Whenever
 * the next matrix did not fit after all, twice as many calls pass until one is
 * kept again.
 *
 * N^2 comparisons, and for each cell that differs O(N / 4) words of slots.
 */
#include "sched/decompose/fs_replan.h"

#include "base/fs_arith.h"
#include "base/fs_bits.h"
#include "sched/decompose/fs_schedule.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW     = 64,  /* servers, below which planning anew is quick */
    MANY    = 512, /* above which too much memory would be needed */
    ALIKE   = 8,   /* less than 1/8 of the sample differ */
    CHANGED = 16,  /* at most 1/16 of the cells differ */
    SLOTS   = 16,  /* for each server, at most */
    MARGIN  = 8,   /* 1/8 more slots than the schedule has */
    WORSE   = 128, /* 1/128 */
    PAUSE   = 64   /* calls, at most */
};

/* ---- slots ---- */

/* Slots from..to - 1. */
static void set_slots(uint64_t *row, uint32_t from, uint32_t to, bool busy)
{
    for (uint32_t w = from / 64; w * 64 < to; ++w) {
        uint64_t mask = ~UINT64_C(0);

        if (w == from / 64) {
            mask <<= from % 64;
        }
        if (to - w * 64 < 64) {
            mask &= (UINT64_C(1) << (to - w * 64)) - 1;
        }
        row[w] = busy ? row[w] | mask : row[w] & ~mask;
    }
}

/* The first slot from k on, below n, that is busy in either row, or in neither;
 * else n. */
static uint32_t next_slot(const uint64_t *a, const uint64_t *b, uint32_t k,
                          uint32_t n, bool busy)
{
    uint64_t flip = busy ? 0 : ~UINT64_C(0);
    uint64_t from = ~UINT64_C(0) << k % 64;

    for (uint32_t w = k / 64; w * 64 < n; ++w, from = ~UINT64_C(0)) {
        uint64_t bits = ((a[w] | b[w]) ^ flip) & from;

        if (bits != 0) {
            return fs_u32_min(n, w * 64 + (uint32_t)__builtin_ctzll(bits));
        }
    }
    return n;
}

/* The first of len slots below n that are free in both rows, or FS_NO_BIT. */
static uint32_t first_gap(const uint64_t *a, const uint64_t *b, uint32_t n,
                          uint64_t len)
{
    uint32_t start = next_slot(a, b, 0, n, false);

    while (len <= n - start) {
        uint32_t end = next_slot(a, b, start, n, true);

        if (end - start >= len) {
            return start;
        }
        start = next_slot(a, b, end, n, false);
    }
    return FS_NO_BIT;
}

/* ---- a schedule is kept ---- */

static bool can_be_kept(const fs_demand_t *demand, const fs_draft_t *draft)
{
    return draft->n_stages == 0 && draft->n_transfers > 0 &&
           draft->n_transfers == demand->n_pairs;
}

static void size_slots(fs_kept_schedule_t *kept)
{
    uint64_t n_slots;

    kept->shift = 0;
    while (kept->total >> kept->shift > (uint64_t)SLOTS * kept->n) {
        ++kept->shift;
    }
    n_slots       = (kept->total >> kept->shift) + 1;
    kept->n_words = (uint32_t)((n_slots + n_slots / MARGIN + 63) / 64);
}

static bool kept_init(fs_kept_schedule_t *kept, const fs_demand_t *demand,
                      const fs_draft_t *draft, fs_arena_t *arena)
{
    size_t n = demand->n;

    kept->n      = demand->n;
    kept->bound  = demand->bound;
    kept->total  = draft->total;
    kept->digest = draft->digest;
    size_slots(kept);
    kept->bytes = fs_arena_alloc(arena, n * n, sizeof(uint64_t));
    kept->start = fs_arena_alloc(arena, n * n, sizeof(uint64_t));
    kept->load  = fs_arena_alloc(arena, 2 * n, sizeof(uint64_t));
    kept->busy =
        fs_arena_calloc(arena, 2 * n * kept->n_words, sizeof(uint64_t));
    return kept->bytes != NULL && kept->start != NULL && kept->load != NULL &&
           kept->busy != NULL;
}

static uint64_t *busy_row(const fs_kept_schedule_t *kept, uint64_t *busy,
                          uint32_t line)
{
    return busy + (size_t)line * kept->n_words;
}

static void keep_transfers(fs_kept_schedule_t *kept, const fs_draft_t *draft)
{
    for (size_t k = 0; k < draft->n_transfers; ++k) {
        const fs_transfer_t *t    = &draft->transfers[k];
        uint32_t             from = (uint32_t)(t->start >> kept->shift);
        uint32_t to = (uint32_t)((t->start + t->bytes - 1) >> kept->shift) + 1;

        kept->start[(size_t)t->src * kept->n + t->dst] = t->start;
        set_slots(busy_row(kept, kept->busy, t->src), from, to, true);
        set_slots(busy_row(kept, kept->busy, kept->n + t->dst), from, to, true);
    }
}

static fs_status_t keep(fs_kept_schedule_t *kept, const fs_demand_t *demand,
                        const fs_draft_t *draft, fs_arena_t *arena)
{
    size_t n = demand->n;

    if (!can_be_kept(demand, draft)) {
        return FS_OK;
    }
    if (!kept_init(kept, demand, draft, arena)) {
        return FS_ERR_NOMEM;
    }
    memcpy(kept->bytes, demand->bytes, n * n * sizeof(uint64_t));
    for (size_t i = 0; i < n; ++i) {
        kept->bytes[i * n + i] = 0;
    }
    memcpy(kept->load, demand->row, n * sizeof(uint64_t));
    memcpy(kept->load + n, demand->col, n * sizeof(uint64_t));
    keep_transfers(kept, draft);
    return FS_OK;
}

/* ---- a schedule from the one that is kept ---- */

typedef struct update {
    const fs_kept_schedule_t *kept;
    const uint64_t           *bytes; /* [n x n] the matrix now */
    fs_draft_t               *draft;
    uint32_t                 *cells; /* [n_cells] that differ */
    uint32_t                  n_cells;
    uint32_t                  most_cells;
    uint64_t                 *load;    /* [2 n] now */
    uint64_t                 *busy;    /* [2 n x n_words] now */
    uint32_t                  n_slots; /* before the limit */
    uint64_t                  bound;
} update_t;

static fs_status_t update_init(update_t *update, fs_arena_t *arena)
{
    const fs_kept_schedule_t *kept = update->kept;
    size_t                    n    = kept->n;

    update->most_cells = (uint32_t)(n * n / CHANGED);
    update->cells =
        fs_arena_alloc(arena, update->most_cells, sizeof(*update->cells));
    update->load = fs_arena_alloc(arena, 2 * n, sizeof(uint64_t));
    update->busy =
        fs_arena_alloc(arena, 2 * n * kept->n_words, sizeof(uint64_t));
    if (update->cells == NULL || update->load == NULL || update->busy == NULL) {
        return FS_ERR_NOMEM;
    }
    memcpy(update->load, kept->load, 2 * n * sizeof(uint64_t));
    memcpy(update->busy, kept->busy, 2 * n * kept->n_words * sizeof(uint64_t));
    return FS_OK;
}

/* False: the sum is too large. */
static bool replace(uint64_t *sum, uint64_t old, uint64_t now)
{
    *sum -= old;
    if (now > FS_MAX_BYTES - *sum) {
        return false;
    }
    *sum += now;
    return true;
}

/* False: there are too many, or a sum is too large. */
static bool find_cells(update_t *update)
{
    const uint64_t *was = update->kept->bytes, *is = update->bytes;
    uint32_t        n = update->kept->n, k = 0;

    for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = 0; j < n; ++j, ++k) {
            if (is[k] == was[k] || i == j) {
                continue;
            }
            if (update->n_cells == update->most_cells ||
                !replace(&update->load[i], was[k], is[k]) ||
                !replace(&update->load[n + j], was[k], is[k])) {
                return false;
            }
            update->cells[update->n_cells++] = k;
        }
    }
    return true;
}

/* The bound now, and the slots before the limit. False: the schedule is too long
 * as it is. */
static bool set_limit(update_t *update)
{
    const fs_kept_schedule_t *kept   = update->kept;
    uint64_t                  longer = kept->total + kept->total / WORSE;
    fs_u128_t                 limit;

    for (uint32_t k = 0; k < 2 * kept->n; ++k) {
        update->bound = fs_u64_max(update->bound, update->load[k]);
    }
    limit           = (fs_u128_t)update->bound * longer / kept->bound;
    update->n_slots = kept->n_words * 64;
    if (limit >> kept->shift < update->n_slots) {
        update->n_slots = (uint32_t)(limit >> kept->shift);
    }
    return kept->total <= limit;
}

static fs_transfer_t kept_transfer(const update_t *update, uint32_t cell)
{
    uint32_t n = update->kept->n;

    return (fs_transfer_t){cell / n, cell % n, update->kept->bytes[cell],
                           update->kept->start[cell]};
}

/* A pair ends earlier: slots that it had alone are free. */
static void shorten(update_t *update, uint32_t cell)
{
    const fs_kept_schedule_t *kept = update->kept;
    fs_transfer_t             was = kept_transfer(update, cell), is = was;
    uint64_t                  slot = (UINT64_C(1) << kept->shift) - 1;
    uint32_t                  from, to;

    is.bytes = update->bytes[cell];
    from     = (uint32_t)((is.start + is.bytes + slot) >> kept->shift);
    to       = (uint32_t)((was.start + was.bytes) >> kept->shift);
    if (from < to) {
        set_slots(busy_row(kept, update->busy, is.src), from, to, false);
        set_slots(busy_row(kept, update->busy, kept->n + is.dst), from, to,
                  false);
    }
    update->draft->digest -= fs_transfer_digest(&was);
    if (is.bytes > 0) {
        update->draft->digest += fs_transfer_digest(&is);
    }
}

/* What a pair has more than before. False: there is no gap. */
static bool place_rest(update_t *update, uint32_t cell)
{
    const fs_kept_schedule_t *kept = update->kept;
    uint32_t                  src = cell / kept->n, dst = cell % kept->n;
    uint64_t                 *a = busy_row(kept, update->busy, src);
    uint64_t                 *b = busy_row(kept, update->busy, kept->n + dst);
    uint64_t                  rest = update->bytes[cell] - kept->bytes[cell];
    uint64_t                  len  = ((rest - 1) >> kept->shift) + 1, start;
    uint32_t                  from = first_gap(a, b, update->n_slots, len);

    if (from == FS_NO_BIT) {
        return false;
    }
    set_slots(a, from, from + (uint32_t)len, true);
    set_slots(b, from, from + (uint32_t)len, true);
    start = (uint64_t)from << kept->shift;
    fs_draft_transfer(update->draft, src, dst, rest, start);
    update->draft->total = fs_u64_max(update->draft->total, start + rest);
    return true;
}

static bool move_cells(update_t *update)
{
    const uint64_t *was = update->kept->bytes, *is = update->bytes;

    for (uint32_t k = 0; k < update->n_cells; ++k) {
        uint32_t cell = update->cells[k];

        if (is[cell] < was[cell]) {
            shorten(update, cell);
        }
    }
    for (uint32_t k = 0; k < update->n_cells; ++k) {
        uint32_t cell = update->cells[k];

        if (is[cell] > was[cell] && !place_rest(update, cell)) {
            return false;
        }
    }
    return true;
}

/* The kept message of a pair, which is in the digest. */
static void add_kept(update_t *update, uint32_t cell)
{
    fs_transfer_t transfer = kept_transfer(update, cell);

    transfer.bytes = fs_u64_min(transfer.bytes, update->bytes[cell]);
    if (transfer.bytes > 0 && transfer.src != transfer.dst) {
        fs_draft_keep(update->draft, &transfer);
    }
}

static void add_all_kept(update_t *update)
{
    uint32_t n = update->kept->n, only = update->draft->only_server;

    for (uint32_t cell = 0; cell < n * n && only == FS_ALL_SERVERS; ++cell) {
        add_kept(update, cell);
    }
    for (uint32_t k = 0; k < n && only < n; ++k) {
        add_kept(update, only * n + k);
        add_kept(update, k * n + only);
    }
}

static bool fits(update_t *update)
{
    return find_cells(update) && set_limit(update) && move_cells(update);
}

/* Write the draft, its status included, and the bound. False: the matrix has to be
 * planned anew. */
static bool update_kept(const fs_kept_schedule_t *kept, const uint64_t *bytes,
                        fs_draft_t *draft, uint64_t *bound_p)
{
    update_t   update = {.kept = kept, .bytes = bytes, .draft = draft};
    fs_arena_t arena  = {0};
    bool       done   = true;

    draft->total  = kept->total;
    draft->digest = kept->digest;
    draft->status = update_init(&update, &arena);
    if (draft->status == FS_OK) {
        done = fits(&update);
    }
    if (draft->status == FS_OK && done) {
        draft->chosen = kept->decompose;
        add_all_kept(&update);
    }
    *bound_p = update.bound;
    fs_arena_fini(&arena);
    return done;
}

/* ---- calls ---- */

typedef struct call {
    fs_decompose_t  how;
    uint64_t        stage_cost;
    uint32_t        n;
    const uint64_t *bytes; /* [n x n] */
    uint32_t        only_server;
    bool            keep; /* the schedule, for later ones */
} call_t;

/* Server i to i + N/2. */
static fs_status_t compare_samples(fs_replan_t *replan, const call_t *call,
                                   bool *alike)
{
    uint32_t n = call->n, n_differ = 0;

    if (replan->n_sample != n) {
        free(replan->sample);
        replan->sample   = calloc(n, sizeof(*replan->sample));
        replan->n_sample = n;
        n_differ         = n;
    }
    if (replan->sample == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < n; ++i) {
        uint64_t cell = call->bytes[(size_t)i * n + (i + n / 2) % n];

        n_differ += cell != replan->sample[i];
        replan->sample[i] = cell;
    }
    *alike = n_differ < n / ALIKE;
    return FS_OK;
}

static bool is_kept_for(const fs_kept_schedule_t *kept, const call_t *call)
{
    return kept->n == call->n && kept->how == call->how &&
           kept->stage_cost == call->stage_cost;
}

/* Only the transfers that were asked for. */
static void narrow(fs_draft_t *draft, uint32_t only_server)
{
    size_t n = 0;

    draft->only_server = only_server;
    for (size_t k = 0; k < draft->n_transfers; ++k) {
        fs_transfer_t t = draft->transfers[k];

        if (only_server == FS_ALL_SERVERS || only_server == t.src ||
            only_server == t.dst) {
            draft->transfers[n++] = t;
        }
    }
    draft->n_transfers = n;
}

static fs_status_t plan_anew(fs_replan_t *replan, const call_t *call,
                             fs_draft_t *draft, uint64_t *bound_p)
{
    fs_demand_t demand = {
        .n = call->n, .bytes = call->bytes, .stage_cost = call->stage_cost};
    fs_arena_t  arena = {0};
    fs_status_t status;

    draft->only_server = call->keep ? FS_ALL_SERVERS : call->only_server;
    status             = fs_draft_make(draft, call->how, &demand, &arena);
    if (status == FS_OK && call->keep) {
        replan->kept.how        = call->how;
        replan->kept.stage_cost = call->stage_cost;
        replan->kept.decompose  = draft->chosen;
        status = keep(&replan->kept, &demand, draft, &replan->arena);
        narrow(draft, call->only_server);
    }
    *bound_p = demand.bound;
    fs_arena_fini(&arena);
    return status;
}

static void drop_kept(fs_replan_t *replan)
{
    if (replan->kept.n > 0) {
        fs_arena_fini(&replan->arena);
        replan->kept  = (fs_kept_schedule_t){0};
        replan->wait  = replan->pause;
        replan->pause = fs_u32_min(2 * replan->pause + 1, PAUSE);
    }
}

/* Is the schedule of this call to be kept? */
static bool is_next(fs_replan_t *replan, bool is_alike)
{
    if (!is_alike || replan->wait == 0) {
        return is_alike;
    }
    --replan->wait;
    return false;
}

static fs_status_t schedule_call(fs_replan_t *replan, call_t *call,
                                 fs_schedule_t **schedule_p)
{
    fs_draft_t  draft = {.only_server = call->only_server};
    uint64_t    bound;
    bool        alike;
    fs_status_t status = compare_samples(replan, call, &alike);

    if (status != FS_OK) {
        return status;
    }
    if (is_kept_for(&replan->kept, call) &&
        update_kept(&replan->kept, call->bytes, &draft, &bound)) {
        replan->pause = 0;
    } else {
        drop_kept(replan);
        fs_draft_clear(&draft);
        call->keep = is_next(replan, alike);
        status     = plan_anew(replan, call, &draft, &bound);
    }
    if (status == FS_OK) {
        status = fs_draft_seal(&draft, call->n, bound, schedule_p);
    }
    fs_draft_fini(&draft);
    return status;
}

fs_status_t fs_schedule_update(fs_replan_t *replan, fs_decompose_t how,
                               uint64_t stage_cost, uint32_t n_servers,
                               const uint64_t *bytes, uint32_t only_server,
                               fs_schedule_t **schedule_p)
{
    call_t      call = {how, stage_cost, n_servers, bytes, only_server, false};
    fs_status_t status;

    if (replan == NULL || n_servers < FEW || n_servers > MANY) {
        return fs_schedule_create(how, stage_cost, n_servers, bytes,
                                  only_server, schedule_p);
    }
    status = schedule_call(replan, &call, schedule_p);
    if (status != FS_OK) {
        fs_replan_clear(replan);
    }
    return status;
}

void fs_replan_clear(fs_replan_t *replan)
{
    free(replan->sample);
    fs_arena_fini(&replan->arena);
    *replan = (fs_replan_t){0};
}
