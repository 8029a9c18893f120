/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Birkhoff's decomposition (FAST §4.2): write the server matrix as a sum of
 * one-to-one stages whose lengths add up to the busiest row or column.
 *
 * The matrix is padded until all rows and columns have the sum of the busiest.
 * Such a matrix always holds a perfect matching; subtract its smallest entry,
 * and again, until nothing is left. Two things make it quick and the stages
 * few:
 *   - the matching is kept, only the pairs whose entry ran out are matched
 *     anew;
 *   - large entries first: only entries of at least `floor` take part, and the
 *     floor halves when they hold no perfect matching any more.
 * A stage carries real bytes before padding, so padding is what is left when a
 * pair's bytes are all sent.
 */
#include "sched/fs_decompose.h"

#include "base/fs_arith.h"
#include "base/fs_assert.h"
#include "sched/fs_matching.h"

typedef struct birkhoff {
    uint32_t      n;
    uint64_t     *padded; /* [n x n] what is left, padding included */
    uint64_t     *real;   /* [n x n] what is left to send */
    uint64_t      left;   /* every row and column sum of padded */
    uint64_t      floor;  /* smaller entries have no edge */
    fs_matching_t matching;
} birkhoff_t;

/* Copy the matrix without its diagonal; return the largest line sum. */
static uint64_t load(birkhoff_t *b, const uint64_t *bytes, uint64_t *row,
                     uint64_t *col)
{
    uint64_t largest = 0;

    for (uint32_t i = 0; i < b->n; ++i) {
        for (uint32_t j = 0; j < b->n; ++j) {
            size_t k = (size_t)i * b->n + j;

            b->real[k] = b->padded[k] = i == j ? 0 : bytes[k];
            row[i] += b->real[k];
            col[j] += b->real[k];
        }
    }
    for (uint32_t i = 0; i < b->n; ++i) {
        largest = fs_u64_max(largest, fs_u64_max(row[i], col[i]));
    }
    return largest;
}

/* Raise all line sums to the largest: fill rows and columns in step, each
 * addition completing one of them (FAST §4.4, "valid form"). */
static void pad(birkhoff_t *b, uint64_t *row, uint64_t *col)
{
    uint32_t i = 0, j = 0;

    while (i < b->n && j < b->n) {
        uint64_t gap = fs_u64_min(b->left - row[i], b->left - col[j]);

        b->padded[(size_t)i * b->n + j] += gap;
        row[i] += gap;
        col[j] += gap;
        if (row[i] == b->left) {
            ++i;
        } else {
            ++j;
        }
    }
}

static void add_edges(birkhoff_t *b)
{
    for (uint32_t i = 0; i < b->n; ++i) {
        for (uint32_t j = 0; j < b->n; ++j) {
            uint64_t left = b->padded[(size_t)i * b->n + j];

            if (left != 0 && left >= b->floor) {
                fs_matching_add_edge(&b->matching, i, j);
            }
        }
    }
}

/* Entries of at least 1 always hold a perfect matching (Birkhoff). */
static void match(birkhoff_t *b)
{
    while (!fs_matching_complete(&b->matching)) {
        fs_assert(b->floor > 1);
        b->floor /= 2;
        add_edges(b);
    }
}

static uint64_t smallest_matched(const birkhoff_t *b)
{
    uint64_t smallest = UINT64_MAX;

    for (uint32_t i = 0; i < b->n; ++i) {
        smallest = fs_u64_min(
            smallest, b->padded[(size_t)i * b->n + b->matching.col_of[i]]);
    }
    return smallest;
}

static fs_stage_t *new_stage(fs_stages_t *stages, uint32_t n, fs_arena_t *arena)
{
    fs_stage_t *stage = &stages->stage[stages->n];

    stage->dst   = fs_arena_calloc(arena, n, sizeof(*stage->dst));
    stage->bytes = fs_arena_calloc(arena, n, sizeof(*stage->bytes));
    if (stage->dst == NULL || stage->bytes == NULL) {
        return NULL;
    }
    ++stages->n;
    return stage;
}

/* Send weight along the matching, real bytes first. */
static void subtract(birkhoff_t *b, uint64_t weight, fs_stage_t *stage)
{
    stage->weight = weight;
    for (uint32_t i = 0; i < b->n; ++i) {
        uint32_t j   = b->matching.col_of[i];
        size_t   k   = (size_t)i * b->n + j;
        uint64_t now = fs_u64_min(weight, b->real[k]);

        stage->dst[i]   = now == 0 ? FS_NO_SERVER : j;
        stage->bytes[i] = now;
        b->real[k] -= now;
        b->padded[k] -= weight;
        if (b->padded[k] == 0 || b->padded[k] < b->floor) {
            fs_matching_remove_edge(&b->matching, i, j);
        }
    }
    b->left -= weight;
}

static fs_status_t birkhoff(uint32_t n, const uint64_t *bytes,
                            fs_arena_t *arena, fs_stages_t *stages)
{
    size_t      cells = (size_t)n * n;
    birkhoff_t  b     = {.n = n};
    uint64_t   *row   = fs_arena_calloc(arena, n, sizeof(*row));
    uint64_t   *col   = fs_arena_calloc(arena, n, sizeof(*col));
    fs_stage_t *stage;

    b.padded = fs_arena_calloc(arena, cells, sizeof(*b.padded));
    b.real   = fs_arena_calloc(arena, cells, sizeof(*b.real));
    /* Every stage but the last empties an entry; n entries end together. */
    stages->stage = fs_arena_calloc(arena, cells + 1, sizeof(*stages->stage));
    if (row == NULL || col == NULL || b.padded == NULL || b.real == NULL ||
        stages->stage == NULL ||
        fs_matching_init(&b.matching, n, arena) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    b.left = stages->total = load(&b, bytes, row, col);
    pad(&b, row, col);
    b.floor = fs_u64_max(1, b.left);
    add_edges(&b);
    while (b.left > 0) {
        match(&b);
        stage = new_stage(stages, n, arena);
        if (stage == NULL) {
            return FS_ERR_NOMEM;
        }
        subtract(&b, smallest_matched(&b), stage);
    }
    return FS_OK;
}

fs_status_t fs_decompose(fs_decompose_t how, uint32_t n, const uint64_t *bytes,
                         fs_arena_t *arena, fs_stages_t *stages_p)
{
    fs_stages_t stages = {0};
    fs_status_t status = FS_ERR_INVAL;

    switch (how) {
    case FS_DECOMPOSE_BIRKHOFF:
        status = birkhoff(n, bytes, arena, &stages);
        break;
    }
    if (status == FS_OK) {
        *stages_p = stages;
    }
    return status;
}
