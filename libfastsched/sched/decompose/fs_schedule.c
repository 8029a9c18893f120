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

/* Odd factors, so that no part can stand in for another; one mix, as there may
 * be a million transfers. */
static uint64_t digest_of(uint32_t src, uint32_t dst, uint64_t bytes,
                          uint64_t start)
{
    return fs_mix64(((uint64_t)src << 32 | dst) * 0x9e3779b97f4a7c15ull +
                    start * 0xd1342543de82ef95ull +
                    bytes * 0xf1357aea2e62a9c5ull);
}

void fs_draft_transfer(fs_draft_t *draft, uint32_t src, uint32_t dst,
                       uint64_t bytes, uint64_t start)
{
    if (bytes == 0) {
        return;
    }
    draft->digest += digest_of(src, dst, bytes, start);
    if (draft->only_server != FS_ALL_SERVERS && draft->only_server != src &&
        draft->only_server != dst) {
        return;
    }
    if (draft->status == FS_OK &&
        (draft->n_transfers < draft->max_transfers || grow(draft))) {
        draft->transfers[draft->n_transfers++] =
            (fs_transfer_t){src, dst, bytes, start};
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

/* ---- creation ---- */

/* Sums without the diagonal, and the largest of them. */
static fs_status_t sum_lines(uint32_t n, const uint64_t *bytes, uint64_t *row,
                             uint64_t *col, uint64_t *bound_p)
{
    uint64_t bound = 0;

    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t *line = bytes + (size_t)i * n;
        uint64_t        sum  = 0;

        for (uint32_t j = 0; j < n; ++j) {
            uint64_t b = j == i ? 0 : line[j];

            /* Two sums below 2^63 do not wrap unseen. */
            if (b > FS_MAX_BYTES || (sum += b) > FS_MAX_BYTES ||
                (col[j] += b) > FS_MAX_BYTES) {
                return FS_ERR_OVERFLOW;
            }
        }
        row[i] = sum;
        bound  = fs_u64_max(bound, sum);
    }
    for (uint32_t j = 0; j < n; ++j) {
        bound = fs_u64_max(bound, col[j]);
    }
    *bound_p = bound;
    return FS_OK;
}

int fs_transfer_by_start(const void *a, const void *b)
{
    const fs_transfer_t *x = a, *y = b;

    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return x->src < y->src ? -1 : x->src > y->src;
}

/* Copy a finished draft into a schedule: one block. */
static fs_schedule_t *seal(fs_draft_t *draft, const fs_demand_t *demand,
                           fs_decompose_t how)
{
    size_t         bytes    = draft->n_transfers * sizeof(fs_transfer_t);
    fs_schedule_t *schedule = malloc(sizeof(*schedule) + bytes);

    if (schedule == NULL) {
        return NULL;
    }
    *schedule = (fs_schedule_t){
        .decompose   = draft->chosen == FS_DECOMPOSE_AUTO ? how : draft->chosen,
        .n_servers   = demand->n,
        .n_stages    = draft->n_stages,
        .lower_bound = demand->bound,
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
    return schedule;
}

fs_status_t fs_schedule_create(fs_decompose_t how, uint64_t stage_cost,
                               uint32_t n_servers, const uint64_t *bytes,
                               uint32_t only_server, fs_schedule_t **schedule_p)
{
    const fs_decompose_method_t *method = fs_decompose_method(how);
    fs_arena_t                   arena  = {0};
    fs_draft_t                   draft  = {.only_server = only_server};
    fs_demand_t                  demand = {
                         .n = n_servers, .bytes = bytes, .stage_cost = stage_cost};
    uint64_t   *sums;
    fs_status_t status;

    if (method == NULL || n_servers == 0) {
        return FS_ERR_INVAL;
    }
    sums = fs_arena_calloc(&arena, 2 * (size_t)n_servers, sizeof(*sums));
    if (sums == NULL) {
        return FS_ERR_NOMEM;
    }
    demand.row = sums;
    demand.col = sums + n_servers;
    status = sum_lines(n_servers, bytes, sums, sums + n_servers, &demand.bound);
    if (status == FS_OK) {
        status = method->build(&demand, &arena, &draft);
        status = status == FS_OK ? draft.status : status;
    }
    if (status == FS_OK) {
        fs_schedule_t *schedule = seal(&draft, &demand, how);

        if (schedule == NULL) {
            status = FS_ERR_NOMEM;
        } else {
            *schedule_p = schedule;
        }
    }
    fs_draft_fini(&draft);
    fs_arena_fini(&arena);
    return status;
}

void fs_schedule_destroy(fs_schedule_t *schedule)
{
    free(schedule);
}
