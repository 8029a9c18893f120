/* SPDX-License-Identifier: BSD-3-Clause */
/* -p file:PATH: rank 0 reads the matrix and tells all others, so that the file
 * need not be on every server, and a mistake in it is one line and the same
 * exit status everywhere. */
#include "base/fs_matrix.h"
#include "base/fs_quote.h"
#include "osu_skew_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* False, and why. */
static bool read_matrix(const char *path, fs_matrix_t *matrix_p, char *why)
{
    FILE             *file = fopen(path, "rb");
    fs_matrix_error_t error;
    fs_status_t       status = FS_ERR_NATIVE;
    char              quoted[OSU_WHY_LEN / 2];

    fs_quote(path, quoted, sizeof(quoted));
    if (file != NULL) {
        status = fs_matrix_read(file, NULL, matrix_p, &error);
    }
    if (status == FS_ERR_INVAL) {
        snprintf(why, OSU_WHY_LEN, "-p file:%s:%llu:%llu: %.200s", quoted,
                 (unsigned long long)error.line,
                 (unsigned long long)error.column, error.why);
    } else if (status != FS_OK) {
        snprintf(why, OSU_WHY_LEN, "-p file:%s: %s", quoted,
                 status == FS_ERR_NATIVE ? strerror(errno)
                                         : fs_strerror(status));
    }
    if (file != NULL) {
        fclose(file);
    }
    return status == FS_OK;
}

/* Rank 0: the matrix of all pairs of ranks into bytes. False, and why. */
static bool read_pairs(const bench_t *b, uint64_t *bytes, char *why)
{
    const char *path = b->options->path;
    fs_matrix_t matrix;
    uint64_t    any = 0;
    int         len = snprintf(why, OSU_WHY_LEN, "-p file:%.200s:1:1: ", path);
    fs_status_t status;

    if (!read_matrix(path, &matrix, why)) {
        return false;
    }
    status = fs_pattern_spread(b->cluster.topo, matrix.n, matrix.bytes, bytes,
                               why + len, OSU_WHY_LEN - (size_t)len);
    free(matrix.bytes);
    if (status != FS_OK) {
        return false;
    }
    for (size_t k = 0; k < (size_t)b->n * b->n; ++k) {
        any |= bytes[k];
    }
    if (any == 0) {
        snprintf(why + len, OSU_WHY_LEN - (size_t)len,
                 "the matrix is all zero; allowed: one that is not");
    }
    return any != 0;
}

uint64_t osu_skew_mean(const bench_t *b)
{
    uint64_t sum = 0; /* of what was read: at most 2^62 */
    uint64_t n   = (uint64_t)b->n * b->n;

    for (size_t k = 0; k < n; ++k) {
        sum += b->file[k];
    }
    return sum / n + (sum % n != 0);
}

bool osu_skew_read_file(bench_t *b, char *why)
{
    int n     = (int)b->n;
    int ready = 1;

    if (b->options->path == NULL) {
        return true;
    }
    b->file = malloc((size_t)n * (size_t)n * sizeof(*b->file));
    ready   = b->file != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, b->comm);
    if (!ready) {
        snprintf(why, OSU_WHY_LEN, "out of memory");
        return false;
    }
    if (b->rank == 0) {
        ready = read_pairs(b, b->file, why);
    }
    MPI_Bcast(&ready, 1, MPI_INT, 0, b->comm);
    for (int row = 0; row < n && ready; ++row) {
        MPI_Bcast(b->file + (size_t)row * b->n, n, MPI_UINT64_T, 0, b->comm);
    }
    return ready;
}
