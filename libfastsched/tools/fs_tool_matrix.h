/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read a square matrix of byte counts from text: CSV or white space, and the
 * matrix files of nccl-tests (white space, bytes, perhaps as 1e6 or 100.0).
 *
 * A row is a line. Values are separated by blanks, tabs or one comma each.
 * A # starts a comment that ends with the line; lines without a value do not
 * count. Values are whole numbers of bytes, in decimal.
 */
#ifndef FS_TOOL_MATRIX_H
#define FS_TOOL_MATRIX_H

#include "fastsched.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FS_TOOL_MATRIX_MAX_ROWS 16384               /* 2 GiB of numbers */
#define FS_TOOL_MATRIX_MAX_SUM  (UINT64_C(1) << 62) /* fs_traffic_sum() */

typedef struct fs_tool_matrix {
    uint32_t  n;     /* rows, and columns */
    uint64_t *bytes; /* [n x n] row-major; free() it */
} fs_tool_matrix_t;

/* Where reading stopped, both from 1, and why: one line that names the value
 * and what is allowed. Columns count bytes. */
typedef struct fs_tool_matrix_error {
    uint64_t line;
    uint64_t column;
    char     why[256];
} fs_tool_matrix_error_t;

enum { FS_TOOL_MATRIX_TOKEN = 64 };

/* Reads text piece by piece, so that a large file need not be in memory, and an
 * endless one ends at its first mistake. */
typedef struct fs_tool_matrix_reader {
    uint64_t *cells;
    size_t    n_cells;
    size_t    max_cells;
    uint32_t  n_columns; /* of the first row, 0 until it has ended */
    uint32_t  n_rows;    /* that have ended */
    uint32_t  in_row;    /* values of this row so far */
    uint64_t  sum;
    uint64_t  line, column; /* of the next byte */
    bool      comment;      /* up to the end of the line */
    bool      comma;        /* a value has to follow */
    size_t    token_len;
    uint64_t  token_column;
    char      token[FS_TOOL_MATRIX_TOKEN];

    fs_tool_matrix_error_t error;
} fs_tool_matrix_reader_t;

void fs_tool_matrix_init(fs_tool_matrix_reader_t *reader);
void fs_tool_matrix_fini(fs_tool_matrix_reader_t *reader);

/* FS_OK; FS_ERR_INVAL: see reader->error, and feed no more; FS_ERR_NOMEM. */
fs_status_t fs_tool_matrix_feed(fs_tool_matrix_reader_t *reader,
                                const char *text, size_t len);

/* The text is over: what it says. Leaves the reader empty if FS_OK. */
fs_status_t fs_tool_matrix_end(fs_tool_matrix_reader_t *reader,
                               fs_tool_matrix_t        *matrix_p);

/* All at once. *error_p is set on FS_ERR_INVAL only. Pure. */
fs_status_t fs_tool_matrix_read(const char *text, size_t len,
                                fs_tool_matrix_t       *matrix_p,
                                fs_tool_matrix_error_t *error_p);

#endif
