/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matrix reader, value by value. The end of the first row determines the
 * number of columns. Everything that is not a whole number, a separator or a
 * comment is an error, reported with its line and column.
 */
#include "base/fs_matrix.h"

#include "base/fs_grow.h"
#include "base/fs_quote.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ALLOWED "allowed: whole numbers of bytes"
#define DIGITS  "0123456789"

enum { TOKEN = 64, SHOWN = 60, QUOTED = 4 * TOKEN };

typedef struct reader {
    FILE              *file;
    fs_matrix_at_t     at;           /* or NULL */
    int                c;            /* the next byte, or EOF */
    uint64_t           line, column; /* of it */
    uint64_t           n_read;
    uint64_t          *cells;
    size_t             n_cells, max_cells;
    uint32_t           n_columns; /* of the first row, 0 before its end */
    uint32_t           n_rows;    /* that have ended */
    uint32_t           in_row;    /* values of this row so far */
    uint64_t           sum;
    bool               comma; /* a value has to follow */
    fs_matrix_error_t *error;
} reader_t;

__attribute__((format(printf, 3, 4))) static fs_status_t
bad(reader_t *reader, uint64_t column, const char *format, ...)
{
    va_list args;

    reader->error->line   = reader->line;
    reader->error->column = column;
    va_start(args, format);
    vsnprintf(reader->error->why, sizeof(reader->error->why), format, args);
    va_end(args);
    return FS_ERR_INVAL;
}

static void advance(reader_t *reader)
{
    if (reader->c == '\n') {
        reader->line++;
        reader->column = 0;
    }
    reader->column++;
    reader->n_read++;
    reader->c = getc_unlocked(reader->file);
}

/* ---- one value ---- */

static const char not_a_number[] = "is not a number";

/* "12", "12.50", "1.25e+01"; NULL, or what is wrong with it. Exponents have up to
 * four digits: larger ones are zero or do not fit. */
static const char *parse(const char *text, uint64_t *value_p)
{
    size_t      whole = strspn(text, DIGITS), n, n_exponent;
    bool        point = text[whole] == '.';
    const char *part = text + whole + point, *end = part;
    long        exponent = 0;

    end += point ? strspn(part, DIGITS) : 0;
    n = whole + (size_t)(end - part);
    if (whole > 0 && (*end == 'e' || *end == 'E')) {
        exponent = strtol(end + 1, NULL, 10);
        end += 1 + (end[1] == '-' || end[1] == '+');
        n_exponent = strspn(end, DIGITS);
        end += n_exponent >= 1 && n_exponent <= 4 ? n_exponent : 0;
        whole = n_exponent == 0 ? 0 : whole;
    }
    if (whole == 0 || *end != '\0') {
        return not_a_number;
    }
    *value_p = 0;
    for (long i = 0, places = (long)whole + exponent;
         i < (long)n || (i<places && * value_p> 0); ++i) {
        const char *digit = i < (long)whole ? text + i : part + i - whole;
        uint64_t    value = i < (long)n ? (uint64_t)(*digit - '0') : 0;

        if (i >= places) {
            if (value != 0) {
                return "is not whole";
            }
        } else if (__builtin_mul_overflow(*value_p, UINT64_C(10), value_p) ||
                   __builtin_add_overflow(*value_p, value, value_p)) {
            return "does not fit in 64 bits";
        }
    }
    return NULL;
}

/* *column_p is where it begins. */
static fs_status_t read_token(reader_t *reader, char token[TOKEN + 1],
                              uint64_t *column_p)
{
    char   quoted[QUOTED];
    size_t len = 0;

    *column_p = reader->column;

    while (reader->c != EOF && strchr(" \t\r\n,#", reader->c) == NULL) {
        token[len] = '\0';
        if (len == TOKEN) {
            return bad(reader, *column_p,
                       "\"%.*s...\" is too long for a number; " ALLOWED, SHOWN,
                       fs_quote(token, quoted, sizeof(quoted)));
        }
        token[len++] = (char)reader->c;
        advance(reader);
        /* Spreadsheets like to start a file with this mark of UTF-8. */
        if (reader->n_read == 4 && len == 3 &&
            memcmp(token, "\xef\xbb\xbf", 3) == 0) {
            len       = 0;
            *column_p = reader->column;
        }
    }
    token[len] = '\0';
    /* strchr() has found the end of its text. */
    return reader->c == '\0' ? bad(reader, reader->column,
                                   "a zero byte; allowed: text with numbers")
                             : FS_OK;
}

/* May there be another value at all? */
static fs_status_t check_place(reader_t *reader, uint64_t column)
{
    uint32_t n = reader->n_columns;

    if (n == 0 && reader->in_row == FS_MATRIX_MAX_ROWS) {
        return bad(reader, column,
                   "the matrix is too large; allowed: up to %d rows and "
                   "columns",
                   FS_MATRIX_MAX_ROWS);
    }
    if (n > 0 && reader->n_rows == n) {
        return bad(reader, column,
                   "one row more than the %u columns; the matrix must be "
                   "square",
                   n);
    }
    if (n > 0 && reader->in_row == n) {
        return bad(reader, column,
                   "row %u has more values than the %u of the first row",
                   reader->n_rows + 1, n);
    }
    return FS_OK;
}

static fs_status_t append(reader_t *reader, uint64_t value)
{
    size_t    n = reader->n_columns; /* it will not become larger than n^2 */
    uint64_t *cells = fs_grow(reader->cells, reader->n_cells,
                              &reader->max_cells, n == 0 ? SIZE_MAX : n * n,
                              sizeof(*cells));

    if (cells == NULL) {
        return FS_ERR_NOMEM;
    }
    reader->cells            = cells;
    cells[reader->n_cells++] = value;
    reader->in_row++;
    reader->sum += value;
    reader->comma = false;
    return FS_OK;
}

static fs_status_t read_value(reader_t *reader)
{
    char        token[TOKEN + 1], quoted[QUOTED];
    uint64_t    column, value = 0;
    fs_status_t status = read_token(reader, token, &column);
    const char *wrong;

    if (status != FS_OK || token[0] == '\0') {
        return status;
    }
    status = check_place(reader, column);
    if (status != FS_OK) {
        return status;
    }
    wrong = parse(token, &value);
    if (token[0] == '-' && parse(token + 1, &value) != not_a_number) {
        wrong = "is negative";
    } else if (wrong == NULL && value > FS_MATRIX_MAX_SUM - reader->sum) {
        wrong = "makes the sum of the matrix exceed 2^62";
    }
    return wrong == NULL
               ? append(reader, value)
               : bad(reader, column, "\"%.*s\" %s; " ALLOWED, 3 * TOKEN,
                     fs_quote(token, quoted, sizeof(quoted)), wrong);
}

/* ---- rows ---- */

static fs_status_t end_row(reader_t *reader)
{
    if (reader->at != NULL) {
        reader->at(reader->n_read);
    }
    if (reader->comma) {
        return bad(reader, reader->column,
                   "a value is missing after the last comma");
    }
    if (reader->in_row == 0) {
        return FS_OK;
    }
    if (reader->n_columns == 0) {
        reader->n_columns = reader->in_row;
    }
    if (reader->in_row < reader->n_columns) {
        return bad(reader, reader->column,
                   "row %u ends after %u of %u values; every row must be as "
                   "long as the first",
                   reader->n_rows + 1, reader->in_row, reader->n_columns);
    }
    reader->n_rows++;
    reader->in_row = 0;
    return FS_OK;
}

/* A value, or what stands between values. */
static fs_status_t read_next(reader_t *reader)
{
    fs_status_t status = FS_OK;

    switch (reader->c) {
    case '\n':
        status = end_row(reader);
        advance(reader);
        return status;
    case ' ':
    case '\t':
    case '\r':
        advance(reader);
        return FS_OK;
    case ',':
        if (reader->in_row == 0 || reader->comma) {
            return bad(reader, reader->column,
                       "a value is missing before this comma");
        }
        reader->comma = true;
        advance(reader);
        return FS_OK;
    case '#':
        while (reader->c != '\n' && reader->c != EOF) {
            advance(reader);
        }
        return FS_OK;
    default:
        return read_value(reader);
    }
}

static fs_status_t check_end(reader_t *reader)
{
    fs_status_t status = end_row(reader);

    if (status == FS_OK && reader->n_rows == 0) {
        return bad(reader, reader->column,
                   "no numbers; expected a square matrix of "
                   "bytes");
    }
    if (status == FS_OK && reader->n_rows < reader->n_columns) {
        return bad(reader, reader->column,
                   "the matrix ends after %u rows of %u values; it must be "
                   "square",
                   reader->n_rows, reader->n_columns);
    }
    return status;
}

fs_status_t fs_matrix_read(FILE *file, fs_matrix_at_t at, fs_matrix_t *matrix_p,
                           fs_matrix_error_t *error_p)
{
    reader_t    reader = {.file = file, .at = at, .line = 1, .error = error_p};
    fs_status_t status = FS_OK;

    advance(&reader);
    while (status == FS_OK && reader.c != EOF) {
        status = read_next(&reader);
    }
    if (status == FS_OK) {
        status = ferror(file) ? FS_ERR_NATIVE : check_end(&reader);
    }
    if (status != FS_OK) {
        free(reader.cells);
        return status;
    }
    *matrix_p = (fs_matrix_t){reader.n_rows, reader.cells};
    return FS_OK;
}
