/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server matrix becomes a schedule: a table of methods, each in a file of
 * its own (those of the papers in papers/), and the draft into which they write.
 *
 * A rank needs the transfers of its own server only, but all ranks must find
 * the same: so the draft digests every transfer and keeps those of one server.
 * The digest is a sum over transfers, start included, so the order in which
 * they are found does not matter.
 */
#include "sched/decompose/fs_schedule.h"

#include "base/fs_arith.h"
#include "base/fs_digest.h"
#include "base/fs_grow.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {FS_DECOMPOSE_MAP(FS_LIST_NAME)
                                        FS_PAPERS_DECOMPOSE_MAP(FS_LIST_NAME)};

static const fs_decompose_method_t *const methods[] = {
#define X(_how, _word, _text) [_how] = &fs_decompose_##_word,
    FS_DECOMPOSE_MAP(X)
#undef X
};

const fs_decompose_method_t *fs_decompose_method(fs_decompose_t how)
{
    return (size_t)how < FS_N_DECOMPOSITIONS ? methods[how]
                                             : fs_papers_decompose(how);
}

const char *fs_decompose_name(fs_decompose_t how)
{
    return fs_decompose_method(how) == NULL ? "unknown" : names[how];
}

/* ---- drafts ---- */

static bool grow(fs_draft_t *draft)
{
    void *bigger = fs_grow(draft->transfers, draft->n_transfers,
                           &draft->max_transfers, SIZE_MAX,
                           sizeof(*draft->transfers));

    if (bigger == NULL) {
        draft->status = FS_ERR_NOMEM;
        return false;
    }
    draft->transfers = bigger;
    return true;
}

void fs_draft_keep(fs_draft_t *draft, const fs_transfer_t *transfer)
{
    if (draft->status == FS_OK &&
        (draft->n_transfers < draft->max_transfers || grow(draft))) {
        draft->transfers[draft->n_transfers++] = *transfer;
    }
}

void fs_draft_end_stage(fs_draft_t *draft, uint64_t weight)
{
    ++draft->n_stages;
    ++draft->n_rounds;
    if (!fs_u64_add(draft->total, weight, &draft->total) &&
        draft->status == FS_OK) {
        draft->status = FS_ERR_OVERFLOW;
    }
}

void fs_draft_swap(fs_draft_t *a, fs_draft_t *b)
{
    fs_draft_t held = *a;

    *a = *b;
    *b = held;
}

void fs_draft_clear(fs_draft_t *draft)
{
    draft->n_stages    = 0;
    draft->n_rounds    = 0;
    draft->total       = 0;
    draft->digest      = 0;
    draft->n_transfers = 0;
}

void fs_draft_fini(fs_draft_t *draft)
{
    free(draft->transfers);
    draft->transfers = NULL;
}

/* ---- the matrix ---- */

/* Where the sums of a matrix go. */
typedef struct lines {
    uint64_t *row;    /* [n] */
    uint64_t *col;    /* [n], at first 0 */
    uint64_t *some;   /* [n x n_words] */
    uint32_t *n_dsts; /* [n] */
    uint32_t *n_srcs; /* [n], at first 0 */
} lines_t;

/* Up to 64 cells of a row; returns their bits. *any_p takes up all of them. */
static inline uint64_t add_cells(const uint64_t *cell, uint32_t n,
                                 uint64_t *col, uint32_t *n_srcs,
                                 uint64_t *sum_p, uint64_t *any_p)
{
    uint64_t bits = 0, sum = 0, any = 0;

    for (uint32_t k = 0; k < n; ++k) {
        uint64_t bytes = cell[k];
        bool     some  = bytes != 0;

        bits |= (uint64_t)some << k;
        n_srcs[k] += some;
        col[k] += bytes;
        sum += bytes;
        any |= bytes;
    }
    *sum_p += sum;
    *any_p |= any;
    return bits;
}

/* One row. Sums may wrap, see must_fit(). Returns all cells, or'ed. */
static uint64_t add_row(const fs_demand_t *demand, uint32_t i,
                        const lines_t *lines)
{
    uint32_t        n    = demand->n;
    const uint64_t *line = demand->bytes + (size_t)i * n;
    uint64_t       *some = lines->some + (size_t)i * demand->n_words;
    uint64_t        sum = 0, any = 0;
    uint32_t        n_dsts = 0;

    for (uint32_t j = 0; j < n; j += 64) {
        uint64_t bits = add_cells(line + j, fs_u32_min(n - j, 64),
                                  lines->col + j, lines->n_srcs + j, &sum,
                                  &any);

        if (j / 64 == i / 64) { /* the diagonal does not count */
            bits &= ~(UINT64_C(1) << i % 64);
        }
        some[j / 64] = bits;
        n_dsts += (uint32_t)__builtin_popcountll(bits);
    }
    lines->n_srcs[i] -= line[i] != 0;
    lines->col[i] -= line[i];
    lines->row[i]    = sum - line[i];
    lines->n_dsts[i] = n_dsts;
    return any;
}

/* Do the sums of a matrix with large cells fit? */
static fs_status_t must_fit(const fs_demand_t *demand, uint64_t *col)
{
    uint32_t n = demand->n;

    memset(col, 0, n * sizeof(*col));
    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t *line = demand->bytes + (size_t)i * n;
        uint64_t        sum  = 0;

        for (uint32_t j = 0; j < n; ++j) {
            uint64_t b = j == i ? 0 : line[j];

            /* Two sums below 2^63 do not wrap unseen. */
            if (b > FS_MAX_BYTES || (sum += b) > FS_MAX_BYTES ||
                (col[j] += b) > FS_MAX_BYTES) {
                return FS_ERR_OVERFLOW;
            }
        }
    }
    return FS_OK;
}

/* All that the methods read of a matrix, in one pass over it. */
static fs_status_t read_matrix(fs_demand_t *demand, fs_arena_t *arena)
{
    size_t   n = demand->n, words = (n + 63) / 64;
    uint64_t any = 0;
    lines_t  lines;

    lines.row    = fs_arena_calloc(arena, 2 * n, sizeof(uint64_t));
    lines.some   = fs_arena_alloc(arena, n * words, sizeof(uint64_t));
    lines.n_dsts = fs_arena_calloc(arena, 2 * n, sizeof(uint32_t));
    if (lines.row == NULL || lines.some == NULL || lines.n_dsts == NULL) {
        return FS_ERR_NOMEM;
    }
    lines.col       = lines.row + n;
    lines.n_srcs    = lines.n_dsts + n;
    demand->n_words = (uint32_t)words;
    for (uint32_t i = 0; i < n; ++i) {
        any |= add_row(demand, i, &lines);
    }
    if (any > FS_MAX_BYTES / n && must_fit(demand, lines.col) != FS_OK) {
        return FS_ERR_OVERFLOW;
    }
    for (uint32_t i = 0; i < n; ++i) {
        demand->bound =
            fs_u64_max(demand->bound, fs_u64_max(lines.row[i], lines.col[i]));
        demand->n_pairs += lines.n_dsts[i];
    }
    demand->row    = lines.row;
    demand->col    = lines.col;
    demand->some   = lines.some;
    demand->n_dsts = lines.n_dsts;
    demand->n_srcs = lines.n_srcs;
    return FS_OK;
}

uint32_t fs_demand_most_pairs(const fs_demand_t *demand)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < demand->n; ++i) {
        most =
            fs_u32_max(most, fs_u32_max(demand->n_dsts[i], demand->n_srcs[i]));
    }
    return most;
}

/* ---- creation ---- */

int fs_transfer_by_start(const void *a, const void *b)
{
    const fs_transfer_t *x = a, *y = b;

    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return x->src < y->src ? -1 : x->src > y->src;
}

fs_status_t fs_draft_make(fs_draft_t *draft, fs_decompose_t how,
                          fs_demand_t *demand, fs_arena_t *arena)
{
    const fs_decompose_method_t *method = fs_decompose_method(how);
    fs_status_t                  status;

    if (method == NULL || demand->n == 0) {
        return FS_ERR_INVAL;
    }
    status = read_matrix(demand, arena);
    if (status == FS_OK) {
        status = method->build(demand, arena, draft);
    }
    if (draft->chosen == FS_DECOMPOSE_AUTO) {
        draft->chosen = how;
    }
    return status == FS_OK ? draft->status : status;
}

fs_status_t fs_draft_seal(const fs_draft_t *draft, uint32_t n_servers,
                          uint64_t bound, fs_schedule_t **schedule_p)
{
    size_t         bytes    = draft->n_transfers * sizeof(fs_transfer_t);
    fs_schedule_t *schedule = malloc(sizeof(*schedule) + bytes);

    if (draft->status != FS_OK || schedule == NULL) {
        free(schedule);
        return draft->status == FS_OK ? FS_ERR_NOMEM : draft->status;
    }
    *schedule = (fs_schedule_t){
        .decompose   = draft->chosen,
        .n_servers   = n_servers,
        .n_stages    = draft->n_stages,
        .lower_bound = bound,
        .total       = draft->total,
        .n_transfers = draft->n_transfers,
        .transfers   = (fs_transfer_t *)(schedule + 1),
        .digest      = fs_digest_add(fs_digest_add(draft->digest, draft->total),
                                     draft->n_stages),
    };
    if (bytes > 0) {
        memcpy(schedule->transfers, draft->transfers, bytes);
    }
    /* Stages come in order. */
    if (draft->n_stages == 0 && draft->n_transfers > 1) {
        qsort(schedule->transfers, draft->n_transfers, sizeof(fs_transfer_t),
              fs_transfer_by_start);
    }
    *schedule_p = schedule;
    return FS_OK;
}

fs_status_t fs_schedule_create(fs_decompose_t how, uint64_t stage_cost,
                               uint32_t n_servers, const uint64_t *bytes,
                               uint32_t only_server, fs_schedule_t **schedule_p)
{
    fs_arena_t  arena  = {0};
    fs_draft_t  draft  = {.only_server = only_server};
    fs_demand_t demand = {
        .n = n_servers, .bytes = bytes, .stage_cost = stage_cost};
    fs_status_t status = fs_draft_make(&draft, how, &demand, &arena);

    if (status == FS_OK) {
        status = fs_draft_seal(&draft, n_servers, demand.bound, schedule_p);
    }
    fs_draft_fini(&draft);
    fs_arena_fini(&arena);
    return status;
}

void fs_schedule_destroy(fs_schedule_t *schedule)
{
    free(schedule);
}
