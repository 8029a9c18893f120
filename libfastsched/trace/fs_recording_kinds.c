/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/fs_recording_kinds.h"

#include "base/fs_arith.h"

#include <stdlib.h>

#define MOST (UINT64_C(1) << 62) /* as of the matrix in a file */

/* Of one matrix; row: [n_ranks] scratch. False: too many. */
static bool sum_up(const fs_recorded_kind_t *kind, uint64_t *row,
                   uint64_t *sum_p)
{
    const fs_recording_t *comm = kind->comm;
    uint32_t              n    = comm->n_ranks;

    *sum_p = 0;
    for (uint32_t k = 0; k < n; ++k) {
        fs_record_file_row(&comm->ranks[k],
                           comm->rows[(size_t)kind->matrix * n + k], row);
        for (uint32_t r = 0; r < n; ++r) {
            if (!fs_u64_add(*sum_p, row[r], sum_p) || *sum_p > MOST) {
                return false;
            }
        }
    }
    return true;
}

/* kinds: [n_matrices], zeroed. */
static void count(const fs_recording_t *comm, fs_recorded_kind_t *kinds)
{
    for (size_t k = comm->n_calls; k-- > 0;) {
        const fs_recorded_call_t *call = &comm->calls[k];
        fs_recorded_kind_t       *kind = &kinds[call->matrix];

        kind->comm     = comm;
        kind->matrix   = call->matrix;
        kind->function = call->function;
        kind->first    = k;
        kind->n++;
    }
}

/* Those of one communicator; *n_p grows by those that have bytes. */
static fs_status_t add(const fs_recording_t *comm, fs_recorded_kind_t *kinds,
                       size_t *n_p, uint64_t *all)
{
    fs_recorded_kind_t *mine   = kinds + *n_p;
    uint64_t           *row    = malloc(comm->n_ranks * sizeof(*row));
    fs_status_t         status = row != NULL ? FS_OK : FS_ERR_NOMEM;

    count(comm, mine);
    for (uint32_t m = 0; m < comm->n_matrices && status == FS_OK; ++m) {
        fs_recorded_kind_t kind = mine[m];
        uint64_t           bytes;

        mine[m] = (fs_recorded_kind_t){.n = 0};
        if (!sum_up(&kind, row, &kind.bytes) ||
            !fs_u64_mul(kind.bytes, kind.n, &bytes) ||
            !fs_u64_add(*all, bytes, all) || *all > MOST) {
            status = FS_ERR_OVERFLOW;
        } else if (kind.bytes > 0) {
            kinds[(*n_p)++] = kind;
        }
    }
    free(row);
    return status;
}

/* Ties: in the order in which they were made. */
static int by_bytes(const void *left, const void *right)
{
    const fs_recorded_kind_t *a = left, *b = right;

    if (a->n * a->bytes != b->n * b->bytes) {
        return a->n * a->bytes > b->n * b->bytes ? -1 : 1;
    }
    if (a->comm != b->comm) {
        return a->comm < b->comm ? -1 : 1;
    }
    return a->first < b->first ? -1 : a->first > b->first;
}

fs_status_t fs_recordings_kinds(const fs_recordings_t *recordings,
                                fs_recorded_kind_t **kinds_p, size_t *n_p)
{
    fs_recorded_kind_t *kinds;
    size_t              n      = 0;
    uint64_t            all    = 0;
    fs_status_t         status = FS_OK;

    for (size_t k = 0; k < recordings->n; ++k) {
        n += recordings->all[k].n_matrices;
    }
    kinds = calloc(n + 1, sizeof(*kinds));
    *n_p  = 0;
    if (kinds == NULL) {
        return FS_ERR_NOMEM;
    }
    for (size_t k = 0; k < recordings->n && status == FS_OK; ++k) {
        status = add(&recordings->all[k], kinds, n_p, &all);
    }
    if (status != FS_OK) {
        free(kinds);
        return status;
    }
    qsort(kinds, *n_p, sizeof(*kinds), by_bytes);
    *kinds_p = kinds;
    return FS_OK;
}
