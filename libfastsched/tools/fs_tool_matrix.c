/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matrix reader: a state machine over bytes.
 *
 *     between values   a digit or the like  -> in a value
 *     in a value       a separator          -> between values, value stored
 *     anywhere         #                    -> in a comment
 *     in a comment     end of line          -> between values
 *
 * The first row that ends says how many columns there are. Nothing is guessed:
 * what is no whole number, no separator and no comment is an error, told with
 * its line and column.
 */
#include "tools/fs_tool_matrix.h"

#include "tools/fs_tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOWED "allowed: whole numbers of bytes"

void fs_tool_matrix_init(fs_tool_matrix_reader_t *reader)
{
    memset(reader, 0, sizeof(*reader));
    reader->line   = 1;
    reader->column = 1;
}

void fs_tool_matrix_fini(fs_tool_matrix_reader_t *reader)
{
    free(reader->cells);
    reader->cells = NULL;
}

static fs_status_t bad(fs_tool_matrix_reader_t *reader, uint64_t column,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static fs_status_t bad(fs_tool_matrix_reader_t *reader, uint64_t column,
                       const char *format, ...)
{
    va_list args;

    reader->error.line   = reader->line;
    reader->error.column = column;
    va_start(args, format);
    vsnprintf(reader->error.why, sizeof(reader->error.why), format, args);
    va_end(args);
    return FS_ERR_INVAL;
}

static fs_status_t bad_token(fs_tool_matrix_reader_t *reader, const char *what)
{
    char quoted[FS_TOOL_MATRIX_TOKEN];

    fs_tool_quote(reader->token, reader->token_len, quoted, sizeof(quoted));
    return bad(reader, reader->token_column, "\"%s\" %s; " ALLOWED, quoted,
               what);
}

/* ---- one value ---- */

/* A decimal number in pieces: digits[0..n) with the point after `point` of
 * them, which may lie outside. */
typedef struct decimal {
    char digits[FS_TOOL_MATRIX_TOKEN];
    int  n;
    int  point;
} decimal_t;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The exponent, at most four digits: larger ones are zero or do not fit. */
static bool split_exponent(const char *p, const char *end, int *exponent_p)
{
    bool minus = p < end && *p == '-';

    *exponent_p = 0;
    p += p < end && (*p == '-' || *p == '+');
    if (p == end || end - p > 4) {
        return false;
    }
    for (; p < end; ++p) {
        if (!is_digit(*p)) {
            return false;
        }
        *exponent_p = *exponent_p * 10 + (*p - '0');
    }
    *exponent_p = minus ? -*exponent_p : *exponent_p;
    return true;
}

/* "12", "12.50", "1.25e+01"; false: no such thing. */
static bool split_decimal(const char *p, size_t len, decimal_t *decimal)
{
    const char *end      = p + len;
    int         exponent = 0;

    decimal->n     = 0;
    decimal->point = -1;
    if (len == 0 || !is_digit(*p)) {
        return false;
    }
    for (; p < end && *p != 'e' && *p != 'E'; ++p) {
        if (*p == '.' && decimal->point < 0) {
            decimal->point = decimal->n;
        } else if (is_digit(*p)) {
            decimal->digits[decimal->n++] = *p;
        } else {
            return false;
        }
    }
    if (p < end && !split_exponent(p + 1, end, &exponent)) {
        return false;
    }
    decimal->point = (decimal->point < 0 ? decimal->n : decimal->point) +
                     exponent;
    return true;
}

/* NULL: *value_p is the number; else what is wrong with it. */
static const char *value_of(const decimal_t *decimal, uint64_t *value_p)
{
    uint64_t value = 0;

    for (int i = 0; i < decimal->n || (i < decimal->point && value > 0); ++i) {
        int digit = i < decimal->n ? decimal->digits[i] - '0' : 0;

        if (i >= decimal->point) {
            if (digit != 0) {
                return "is not whole";
            }
        } else if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
                   __builtin_add_overflow(value, (uint64_t)digit, &value)) {
            return "does not fit in 64 bits";
        }
    }
    *value_p = value;
    return NULL;
}

/* ---- cells and rows ---- */

static fs_status_t append(fs_tool_matrix_reader_t *reader, uint64_t value)
{
    if (reader->n_cells == reader->max_cells) {
        size_t    max = reader->max_cells * 2 + 64;
        uint64_t *cells;

        if (reader->n_columns > 0) { /* it will not become larger than that */
            size_t all = (size_t)reader->n_columns * reader->n_columns;

            max = max < all ? max : all;
        }
        cells = realloc(reader->cells, max * sizeof(*cells));
        if (cells == NULL) {
            return FS_ERR_NOMEM;
        }
        reader->cells     = cells;
        reader->max_cells = max;
    }
    reader->cells[reader->n_cells++] = value;
    reader->in_row++;
    return FS_OK;
}

/* May there be another value at all? */
static fs_status_t check_place(fs_tool_matrix_reader_t *reader)
{
    uint32_t n = reader->n_columns;

    if (n == 0 && reader->in_row == FS_TOOL_MATRIX_MAX_ROWS) {
        return bad(reader, reader->token_column,
                   "the matrix is too large; allowed: up to %d rows and "
                   "columns",
                   FS_TOOL_MATRIX_MAX_ROWS);
    }
    if (n > 0 && reader->n_rows == n) {
        return bad(reader, reader->token_column,
                   "one row more than the %u columns; the matrix must be "
                   "square",
                   n);
    }
    if (n > 0 && reader->in_row == n) {
        return bad(reader, reader->token_column,
                   "row %u has more values than the %u of the first row",
                   reader->n_rows + 1, n);
    }
    return FS_OK;
}

static fs_status_t end_value(fs_tool_matrix_reader_t *reader)
{
    decimal_t   decimal;
    const char *wrong;
    uint64_t    value  = 0;
    fs_status_t status = FS_OK;

    if (reader->token_len == 0) {
        return FS_OK;
    }
    status = check_place(reader);
    if (status != FS_OK) {
        return status;
    }
    if (reader->token[0] == '-' &&
        split_decimal(reader->token + 1, reader->token_len - 1, &decimal)) {
        return bad_token(reader, "is negative");
    }
    if (!split_decimal(reader->token, reader->token_len, &decimal)) {
        return bad_token(reader, "is not a number");
    }
    wrong = value_of(&decimal, &value);
    if (wrong != NULL) {
        return bad_token(reader, wrong);
    }
    if (value > FS_TOOL_MATRIX_MAX_SUM - reader->sum) {
        return bad_token(reader, "makes the sum of the matrix pass 2^62");
    }
    reader->sum += value;
    reader->token_len = 0;
    reader->comma     = false;
    return append(reader, value);
}

static fs_status_t end_row(fs_tool_matrix_reader_t *reader)
{
    fs_status_t status = end_value(reader);

    if (status != FS_OK) {
        return status;
    }
    if (reader->comma) {
        return bad(reader, reader->column,
                   "a value is missing after the last comma");
    }
    if (reader->in_row > 0) {
        if (reader->n_columns == 0) {
            reader->n_columns = reader->in_row;
        }
        if (reader->in_row < reader->n_columns) {
            return bad(reader, reader->column,
                       "row %u ends after %u of %u values; every row must be "
                       "as long as the first",
                       reader->n_rows + 1, reader->in_row, reader->n_columns);
        }
        reader->n_rows++;
        reader->in_row = 0;
    }
    return FS_OK;
}

/* ---- bytes ---- */

static fs_status_t feed_comma(fs_tool_matrix_reader_t *reader)
{
    fs_status_t status = end_value(reader);

    if (status != FS_OK) {
        return status;
    }
    if (reader->in_row == 0 || reader->comma) {
        return bad(reader, reader->column,
                   "a value is missing before this comma");
    }
    reader->comma = true;
    return FS_OK;
}

/* Spreadsheets like to start a file with this mark of UTF-8. */
static bool is_mark(const fs_tool_matrix_reader_t *reader)
{
    return reader->line == 1 && reader->token_column == 1 &&
           reader->token_len == 3 &&
           memcmp(reader->token, "\xef\xbb\xbf", 3) == 0;
}

static fs_status_t feed_value(fs_tool_matrix_reader_t *reader, char byte)
{
    if (byte == '\0') {
        return bad(reader, reader->column,
                   "a zero byte; allowed: text with numbers");
    }
    if (reader->token_len == 0) {
        reader->token_column = reader->column;
    }
    if (reader->token_len == sizeof(reader->token)) {
        return bad_token(reader, "is too long for a number");
    }
    reader->token[reader->token_len++] = byte;
    if (is_mark(reader)) {
        reader->token_len = 0;
    }
    return FS_OK;
}

static fs_status_t feed_byte(fs_tool_matrix_reader_t *reader, char byte)
{
    if (byte == '\n') {
        reader->comment = false;
        return end_row(reader);
    }
    if (reader->comment) {
        return FS_OK;
    }
    switch (byte) {
    case ' ':
    case '\t':
    case '\r':
        return end_value(reader);
    case ',':
        return feed_comma(reader);
    case '#':
        reader->comment = true;
        return end_value(reader);
    default:
        return feed_value(reader, byte);
    }
}

fs_status_t fs_tool_matrix_feed(fs_tool_matrix_reader_t *reader,
                                const char *text, size_t len)
{
    fs_status_t status;

    for (size_t i = 0; i < len; ++i) {
        status = feed_byte(reader, text[i]);
        if (status != FS_OK) {
            return status;
        }
        reader->column++;
        if (text[i] == '\n') {
            reader->line++;
            reader->column = 1;
        }
    }
    return FS_OK;
}

fs_status_t fs_tool_matrix_end(fs_tool_matrix_reader_t *reader,
                               fs_tool_matrix_t        *matrix_p)
{
    fs_status_t status = end_row(reader);

    if (status != FS_OK) {
        return status;
    }
    if (reader->n_rows == 0) {
        return bad(reader, reader->column,
                   "no number up to the end; expected a square matrix of "
                   "bytes");
    }
    if (reader->n_rows < reader->n_columns) {
        return bad(reader, reader->column,
                   "the matrix ends after %u rows of %u values; it must be "
                   "square",
                   reader->n_rows, reader->n_columns);
    }
    *matrix_p     = (fs_tool_matrix_t){reader->n_rows, reader->cells};
    reader->cells = NULL;
    return FS_OK;
}

fs_status_t fs_tool_matrix_read(const char *text, size_t len,
                                fs_tool_matrix_t       *matrix_p,
                                fs_tool_matrix_error_t *error_p)
{
    fs_tool_matrix_reader_t reader;
    fs_status_t             status;

    fs_tool_matrix_init(&reader);
    status = fs_tool_matrix_feed(&reader, text, len);
    if (status == FS_OK) {
        status = fs_tool_matrix_end(&reader, matrix_p);
    }
    if (status == FS_ERR_INVAL) {
        *error_p = reader.error;
    }
    fs_tool_matrix_fini(&reader);
    return status;
}
