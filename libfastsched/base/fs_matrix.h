/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read a square matrix of byte counts from text: CSV or white space, and the
 * matrix files of nccl-tests (white space, bytes, perhaps as 1e6 or 100.0).
 *
 * A row is a line. Values are separated by blanks, tabs or one comma each.
 * A # starts a comment that ends with the line; lines without a value do not
 * count. Values are whole numbers of bytes, in decimal.
 */
#ifndef FS_MATRIX_H
#define FS_MATRIX_H

#include "fastsched.h"

#include <stdint.h>
#include <stdio.h>

#define FS_MATRIX_MAX_ROWS 16384               /* 2 GiB of numbers */
#define FS_MATRIX_MAX_SUM  (UINT64_C(1) << 62) /* fs_traffic_sum() */

typedef struct fs_matrix {
    uint32_t  n;     /* rows, and columns */
    uint64_t *bytes; /* [n x n] row-major; free() it */
} fs_matrix_t;

/* Where reading stopped, both from 1, and why: one line that names the value
 * and what is allowed. Columns count bytes. */
typedef struct fs_matrix_error {
    uint64_t line;
    uint64_t column;
    char     why[256];
} fs_matrix_error_t;

/* So many bytes of the file are read. */
typedef void (*fs_matrix_at_t)(uint64_t n_read);

/* Read a file to its end, or to its first mistake if it has none. at is called
 * after each row; NULL: it is not. FS_OK: the caller's. FS_ERR_INVAL: see
 * *error_p; FS_ERR_NOMEM; FS_ERR_NATIVE: reading failed, see errno. */
fs_status_t fs_matrix_read(FILE *file, fs_matrix_at_t at, fs_matrix_t *matrix_p,
                           fs_matrix_error_t *error_p);

#endif
