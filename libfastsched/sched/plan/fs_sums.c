/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each sum of two sums is kept once, found by its parts in a hash table, so that
 * two are the same expression if and only if they have one number. Rank 0 is no
 * sum of others, so 0 marks what is free in the table.
 */
#include "sched/plan/fs_sums.h"

#include "base/fs_arith.h"
#include "base/fs_bits.h"
#include "base/fs_digest.h"

#include <stdlib.h>
#include <string.h>

/* The row of a sum. */
static uint64_t *row_of(const fs_sums_t *sums, uint32_t sum)
{
    return sums->rows + (size_t)sum * sums->n_words;
}

/* Where the sum of two is in the table, or could be. max is a power of two. */
static uint32_t *find(const fs_sums_t *sums, uint32_t left, uint32_t right)
{
    size_t mask = 2 * (size_t)sums->max - 1;
    size_t at   = fs_mix64((uint64_t)left << 32 | right) & mask;

    while (sums->table[at] != 0 &&
           (sums->sum[sums->table[at]].left != left ||
            sums->sum[sums->table[at]].right != right)) {
        at = (at + 1) & mask;
    }
    return &sums->table[at];
}

/* Room for twice as many; what there is keeps its numbers. */
static fs_status_t grow(fs_sums_t *sums)
{
    uint32_t max = 2 * sums->max;
    void    *sum, *rows, *table;

    if (max == 0) {
        return FS_ERR_NOMEM;
    }
    sum       = realloc(sums->sum, max * sizeof(*sums->sum));
    sums->sum = sum == NULL ? sums->sum : sum;
    rows = realloc(sums->rows, (size_t)max * sums->n_words * sizeof(uint64_t));
    sums->rows = rows == NULL ? sums->rows : rows;
    table      = calloc(2 * (size_t)max, sizeof(*sums->table));
    if (sum == NULL || rows == NULL || table == NULL) {
        free(table);
        return FS_ERR_NOMEM;
    }
    free(sums->table);
    sums->table = table;
    sums->max   = max;
    for (uint32_t k = sums->n_ranks; k < sums->n; ++k) {
        *find(sums, sums->sum[k].left, sums->sum[k].right) = k;
    }
    return FS_OK;
}

fs_status_t fs_sums_init(fs_sums_t *sums, uint32_t n_ranks)
{
    *sums = (fs_sums_t){
        .n_ranks = n_ranks, .n_words = (n_ranks + 63) / 64, .max = 64};
    while (sums->max <= n_ranks) {
        sums->max *= 2;
    }
    sums->max /= 2; /* grow() doubles it */
    if (grow(sums) != FS_OK) {
        return FS_ERR_NOMEM;
    }
    memset(sums->rows, 0, (size_t)n_ranks * sums->n_words * sizeof(uint64_t));
    for (uint32_t r = 0; r < n_ranks; ++r) {
        fs_bits_set(row_of(sums, r), r);
    }
    sums->n = n_ranks;
    return FS_OK;
}

void fs_sums_fini(fs_sums_t *sums)
{
    free(sums->sum);
    free(sums->rows);
    free(sums->table);
}

bool fs_sums_is_full(const fs_sums_t *sums, uint32_t sum)
{
    for (uint32_t r = 0; r < sums->n_ranks; ++r) {
        if (!fs_bits_has(row_of(sums, sum), r)) {
            return false;
        }
    }
    return true;
}

static fs_status_t add(fs_sums_t *sums, uint32_t left, uint32_t right,
                       uint32_t *sum_p)
{
    uint32_t *place = find(sums, left, right);

    if (*place == 0 && sums->n == sums->max) {
        if (grow(sums) != FS_OK) {
            return FS_ERR_NOMEM;
        }
        place = find(sums, left, right);
    }
    if (*place == 0) {
        const uint64_t *a = row_of(sums, left), *b = row_of(sums, right);

        if (fs_bits_first_common(a, b, sums->n_words) != FS_NO_BIT) {
            sums->problem = "adds a contribution that the sum has already";
            return FS_ERR_INVAL;
        }
        *place            = sums->n++;
        sums->sum[*place] = (struct fs_sum){left, right};
        for (uint32_t w = 0; w < sums->n_words; ++w) {
            row_of(sums, *place)[w] = a[w] | b[w];
        }
    }
    *sum_p = *place;
    return FS_OK;
}

fs_status_t fs_sums_add(fs_sums_t *sums, const fs_runs_t *left,
                        const fs_runs_t *right, fs_runs_t *result)
{
    uint64_t    at_left = 0, at_right = 0; /* in runs i and k */
    fs_status_t status = FS_OK;

    result->n = 0;
    for (size_t i = 0, k = 0; status == FS_OK && i < left->n && k < right->n;) {
        const fs_run_t *a = &left->run[i], *b = &right->run[k];
        fs_run_t        run = {.dst = a->dst, .offset = a->offset + at_left};

        if (run.offset != b->offset + at_right) {
            sums->problem = "adds bytes of different offsets";
            return FS_ERR_INVAL;
        }
        run.len_bytes =
            fs_u64_min(a->len_bytes - at_left, b->len_bytes - at_right);
        status = add(sums, a->src, b->src, &run.src);
        if (status == FS_OK) {
            status = fs_runs_add(result, run);
        }
        at_left += run.len_bytes;
        at_right += run.len_bytes;
        if (at_left == a->len_bytes) {
            at_left = 0;
            ++i;
        }
        if (at_right == b->len_bytes) {
            at_right = 0;
            ++k;
        }
    }
    return status;
}
