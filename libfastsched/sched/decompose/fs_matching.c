/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Augmenting paths over bit rows: the columns that a row can still reach are
 * one AND per 64 columns, so a search costs about n^2/64 word operations.
 */
#include "sched/decompose/fs_matching.h"

#include "base/fs_bits.h"

#include <string.h>

fs_status_t fs_matching_init(fs_matching_t *matching, uint32_t n,
                             fs_arena_t *arena)
{
    uint32_t words = (n + 63) / 64;

    *matching = (fs_matching_t){
        .n         = n,
        .n_words   = words,
        .edge      = fs_arena_calloc(arena, (size_t)n * words, 8),
        .col_of    = fs_arena_calloc(arena, n, sizeof(uint32_t)),
        .row_of    = fs_arena_calloc(arena, n, sizeof(uint32_t)),
        .unseen    = fs_arena_calloc(arena, words, 8),
        .single    = fs_arena_calloc(arena, words, 8),
        .came_from = fs_arena_calloc(arena, n, sizeof(uint32_t)),
        .queue     = fs_arena_calloc(arena, n, sizeof(uint32_t)),
    };
    if (matching->edge == NULL || matching->col_of == NULL ||
        matching->row_of == NULL || matching->unseen == NULL ||
        matching->single == NULL || matching->came_from == NULL ||
        matching->queue == NULL) {
        return FS_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < n; ++i) {
        matching->col_of[i] = FS_UNMATCHED;
        matching->row_of[i] = FS_UNMATCHED;
        fs_bits_set(matching->single, i);
    }
    return FS_OK;
}

/* Give col to the row that reached it; that row's old column goes to the row
 * that reached that one, and so on to the root. */
static void flip_path(fs_matching_t *matching, uint32_t root, uint32_t col)
{
    for (;;) {
        uint32_t row = matching->came_from[col];
        uint32_t old = matching->col_of[row];

        matching->row_of[col] = row;
        matching->col_of[row] = col;
        if (row == root) {
            return;
        }
        col = old;
    }
}

/* Breadth first from an unmatched row to any unmatched column. */
static bool augment(fs_matching_t *matching, uint32_t root)
{
    uint32_t head = 0, tail = 0;

    memset(matching->unseen, 0xff, matching->n_words * sizeof(uint64_t));
    matching->queue[tail++] = root;
    while (head < tail) {
        uint32_t        row  = matching->queue[head++];
        const uint64_t *edge = matching->edge + (size_t)row * matching->n_words;
        uint32_t        col =
            fs_bits_first_common(edge, matching->single, matching->n_words);

        if (col != FS_NO_BIT) {
            matching->came_from[col] = row;
            fs_bits_clear(matching->single, col);
            flip_path(matching, root, col);
            return true;
        }
        for (uint32_t w = 0; w < matching->n_words; ++w) {
            uint64_t hits = edge[w] & matching->unseen[w];

            matching->unseen[w] &= ~hits;
            for (; hits != 0; hits &= hits - 1) {
                col = w * 64 + (uint32_t)__builtin_ctzll(hits);
                matching->came_from[col] = row;
                matching->queue[tail++]  = matching->row_of[col];
            }
        }
    }
    matching->n_stuck = tail;
    return false;
}

static bool complete(fs_matching_t *matching)
{
    for (uint32_t row = 0; row < matching->n; ++row) {
        if (matching->col_of[row] == FS_UNMATCHED && !augment(matching, row)) {
            return false;
        }
    }
    return true;
}

bool fs_matching_repair(fs_matching_t *matching)
{
    for (uint32_t row = 0; row < matching->n; ++row) {
        uint32_t        col  = matching->col_of[row];
        const uint64_t *edge = matching->edge + (size_t)row * matching->n_words;

        if (col != FS_UNMATCHED && !fs_bits_has(edge, col)) {
            matching->col_of[row] = FS_UNMATCHED;
            matching->row_of[col] = FS_UNMATCHED;
            fs_bits_set(matching->single, col);
        }
    }
    return complete(matching);
}
