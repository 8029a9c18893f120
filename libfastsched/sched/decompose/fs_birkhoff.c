/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Birkhoff's decomposition (FAST §4.2): write the server matrix as a sum of
 * one-to-one stages whose lengths add up to the busiest row or column.
 *
 * A line with fewer bytes than the busiest may idle for the difference, its
 * slack. The textbook pads the matrix with slack first; here it is spent where
 * a stage can use it: a pair can fill a stage as long as its bytes plus what
 * both of its lines may idle. Whatever the slack of the lines, it could be laid
 * out as a padded matrix with equal line sums, and such a matrix holds a
 * perfect matching; so there always is one among pairs with bytes or with slack
 * at both ends. The busiest line has no slack, so time left and bytes left end
 * together.
 *
 * Two things make it quick and the stages few:
 *   - the matching is kept, only pairs that fell out are matched anew;
 *   - large entries first: only pairs of at least `floor` bytes, or with as
 *     much slack at both ends, take part, and the floor falls by a sixth or
 *     more when they hold no perfect matching any more.
 *
 * O(n^2 / 64) for each broken pair of a stage, O(n^2) for each step of the
 * floor.
 */
#include "sched/decompose/fs_birkhoff.h"

#include "base/fs_arith.h"
#include "base/fs_assert.h"
#include "base/fs_bits.h"

#include <string.h>

/* Mark the entries of a row with at least so many bytes left; returns the
 * largest of the others. */
static uint64_t mark_row(const fs_birkhoff_t *b, uint32_t i, uint64_t bytes,
                         uint64_t *rows)
{
    const uint64_t *left  = b->left + (size_t)i * b->n;
    uint64_t       *row   = rows + (size_t)i * b->matching.n_words;
    uint64_t        other = 0;

    for (uint32_t w = 0; w < b->matching.n_words; ++w) {
        uint32_t end  = fs_u32_min(b->n - w * 64, 64);
        uint64_t bits = 0;

        for (uint32_t j = 0; j < end; ++j) {
            uint64_t here = left[w * 64 + j];

            bits |= (uint64_t)(here >= bytes) << j;
            other = fs_u64_max(other, here < bytes ? here : 0);
        }
        row[w] = bits;
    }
    return other;
}

/* The floor has fallen: only rows that gain an entry are looked at. */
static void find_large(fs_birkhoff_t *b)
{
    for (uint32_t i = 0; i < b->n; ++i) {
        if (b->small[i] >= b->floor) {
            b->small[i] = mark_row(b, i, b->floor, b->large);
        }
    }
}

fs_status_t fs_birkhoff_init(fs_birkhoff_t *b, const fs_demand_t *demand,
                             uint64_t spare, fs_arena_t *arena)
{
    uint32_t n = demand->n;
    size_t   words;

    *b = (fs_birkhoff_t){
        .n = n, .n_left = demand->n_pairs, .rest = demand->bound + spare};
    if (fs_matching_init(&b->matching, n, arena) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    words        = b->matching.n_words;
    b->left      = fs_arena_calloc(arena, (size_t)n * n, sizeof(uint64_t));
    b->row_slack = fs_arena_calloc(arena, 3 * (size_t)n, sizeof(uint64_t));
    b->large = fs_arena_calloc(arena, (2 * n + 2) * words, sizeof(uint64_t));
    if (b->left == NULL || b->row_slack == NULL || b->large == NULL) {
        return FS_ERR_NOMEM;
    }
    b->col_slack = b->row_slack + n;
    b->small     = b->col_slack + n;
    b->some      = b->large + n * words;
    b->roomy     = b->some + n * words;
    b->spare     = b->roomy + words;
    memcpy(b->left, demand->bytes, (size_t)n * n * sizeof(uint64_t));
    for (uint32_t i = 0; i < n; ++i) {
        b->left[(size_t)i * n + i] = 0;
        b->row_slack[i]            = b->rest - demand->row[i];
        b->col_slack[i]            = b->rest - demand->col[i];
    }
    for (size_t k = 0; k < (size_t)n * n; ++k) {
        b->floor = fs_u64_max(b->floor, b->left[k]);
    }
    memcpy(b->some, demand->some, n * words * sizeof(uint64_t));
    for (uint32_t i = 0; i < n; ++i) {
        b->small[i] = mark_row(b, i, b->floor, b->large);
    }
    return FS_OK;
}

static void find_roomy(fs_birkhoff_t *b)
{
    for (uint32_t w = 0; w < b->matching.n_words; ++w) {
        uint32_t end  = fs_u32_min(b->n - w * 64, 64);
        uint64_t bits = 0;

        for (uint32_t j = 0; j < end; ++j) {
            bits |= (uint64_t)(b->col_slack[w * 64 + j] >= b->floor) << j;
        }
        b->roomy[w] = bits;
    }
}

/* A row has an edge to where it has many bytes and, if it has slack itself, to
 * every column with slack. */
static void find_edges(fs_birkhoff_t *b)
{
    uint32_t words = b->matching.n_words;

    find_roomy(b);
    for (uint32_t i = 0; i < b->n; ++i) {
        uint64_t  mask  = b->row_slack[i] >= b->floor ? UINT64_MAX : 0;
        uint64_t *edge  = b->matching.edge + (size_t)i * words;
        uint64_t *large = b->large + (size_t)i * words;

        for (uint32_t w = 0; w < words; ++w) {
            edge[w] = large[w] | (b->roomy[w] & mask);
        }
    }
}

/* The largest floor at which one of the stuck rows gets another column. */
static uint64_t next_edge(const fs_birkhoff_t *b)
{
    const fs_matching_t *m    = &b->matching;
    uint64_t             best = 1;

    for (uint32_t k = 0; k < m->n_stuck; ++k) {
        uint32_t        i    = m->queue[k];
        const uint64_t *left = b->left + (size_t)i * b->n;

        for (uint32_t w = 0; w < m->n_words; ++w) {
            for (uint64_t bits = m->unseen[w]; bits != 0; bits &= bits - 1) {
                uint32_t j = w * 64 + (uint32_t)__builtin_ctzll(bits);

                if (j >= b->n) {
                    break;
                }
                best = fs_u64_max(best, left[j]);
                best = fs_u64_max(best,
                                  fs_u64_min(b->row_slack[i], b->col_slack[j]));
            }
        }
    }
    return best;
}

static void match(fs_birkhoff_t *b)
{
    find_edges(b);
    while (!fs_matching_repair(&b->matching)) {
        fs_assert(b->floor > 1);
        b->floor =
            fs_u64_min(b->floor - fs_u64_div_up(b->floor, 6), next_edge(b));
        find_large(b);
        find_edges(b);
    }
}

/* Row i gets column j, and j's row the column of i. */
static void swap_partners(fs_birkhoff_t *b, uint32_t i, uint32_t j)
{
    fs_matching_t *m   = &b->matching;
    uint32_t       old = m->col_of[i], other = m->row_of[j];

    fs_bits_clear(b->spare, j);
    m->col_of[i]     = j;
    m->row_of[j]     = i;
    m->col_of[other] = old;
    m->row_of[old]   = other;
}

/* Pairs that would only fill time may swap partners, as both ends have the
 * slack: give such senders a receiver for which they have something. */
static void use_spare(fs_birkhoff_t *b)
{
    uint32_t words = b->matching.n_words;

    memset(b->spare, 0, words * sizeof(uint64_t));
    for (uint32_t i = 0; i < b->n; ++i) {
        uint32_t j = b->matching.col_of[i];

        if (b->left[(size_t)i * b->n + j] == 0) {
            fs_bits_set(b->spare, j);
        }
    }
    for (uint32_t i = 0; i < b->n; ++i) {
        uint32_t j = b->matching.col_of[i], other;

        if (b->left[(size_t)i * b->n + j] != 0) {
            continue;
        }
        other =
            fs_bits_first_common(b->some + (size_t)i * words, b->spare, words);
        if (other != FS_NO_BIT) {
            swap_partners(b, i, other);
        }
    }
}

/* The longest stage that leaves no line short of time and sends something to
 * its end. */
static uint64_t longest_stage(const fs_birkhoff_t *b)
{
    uint64_t weight = b->rest, longest = 0;

    for (uint32_t i = 0; i < b->n; ++i) {
        uint32_t j    = b->matching.col_of[i];
        uint64_t left = b->left[(size_t)i * b->n + j];

        weight = fs_u64_min(
            weight, left + fs_u64_min(b->row_slack[i], b->col_slack[j]));
        longest = fs_u64_max(longest, left);
    }
    return fs_u64_min(weight, longest);
}

void fs_birkhoff_stage(fs_birkhoff_t *b, fs_draft_t *draft)
{
    uint32_t words = b->matching.n_words;
    uint64_t weight;

    match(b);
    use_spare(b);
    weight = longest_stage(b);
    for (uint32_t i = 0; i < b->n; ++i) {
        uint32_t  j    = b->matching.col_of[i];
        uint64_t *left = &b->left[(size_t)i * b->n + j];
        uint64_t  now  = fs_u64_min(weight, *left);

        fs_draft_transfer(draft, i, j, now, draft->total);
        *left -= now;
        b->row_slack[i] -= weight - now;
        b->col_slack[j] -= weight - now;
        if (now > 0 && *left < b->floor) {
            fs_bits_clear(b->large + (size_t)i * words, j);
            b->small[i] = fs_u64_max(b->small[i], *left);
        }
        if (now > 0 && *left == 0) {
            fs_bits_clear(b->some + (size_t)i * words, j);
            --b->n_left;
        }
    }
    b->rest -= weight;
    fs_draft_end_stage(draft, weight);
}

static fs_status_t build(const fs_demand_t *demand, fs_arena_t *arena,
                         fs_draft_t *draft)
{
    fs_birkhoff_t b;
    fs_status_t   status = fs_birkhoff_init(&b, demand, 0, arena);

    while (status == FS_OK && b.n_left > 0) {
        fs_birkhoff_stage(&b, draft);
    }
    return status;
}

const fs_decompose_method_t fs_decompose_birkhoff = {.build = build};
