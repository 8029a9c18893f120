/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz the matrix reader: whatever the bytes, it ends with a matrix that is
 * square and not too large, or with a place and a reason; and it does not
 * matter in which pieces they come. */
#include "fuzz_input.h"
#include "tools/fs_tool_matrix.h"

#include <string.h>

static void check_matrix(const fs_tool_matrix_t *matrix)
{
    uint64_t sum = 0;

    fuzz_must(matrix->n >= 1 && matrix->n <= FS_TOOL_MATRIX_MAX_ROWS,
              "rows out of range");
    for (size_t k = 0; k < (size_t)matrix->n * matrix->n; ++k) {
        fuzz_must(matrix->bytes[k] <= FS_TOOL_MATRIX_MAX_SUM - sum,
                  "the sum passes 2^62");
        sum += matrix->bytes[k];
    }
}

/* The error is inside the text, or right behind it, and is one line. */
static void check_error(const fs_tool_matrix_error_t *error, const char *text,
                        size_t size)
{
    uint64_t lines = 1;

    for (size_t k = 0; k < size; ++k) {
        lines += text[k] == '\n';
    }
    fuzz_must(error->line >= 1 && error->line <= lines,
              "the error is on no line");
    fuzz_must(error->column >= 1 && error->column <= size + 1,
              "the error is in no column");
    fuzz_must(memchr(error->why, '\0', sizeof(error->why)) != NULL,
              "the reason does not end");
    for (const char *p = error->why; *p != '\0'; ++p) {
        fuzz_must(*p >= ' ' && *p <= '~', "the reason is not one line of text");
    }
}

/* Pieces of 1, 2, 3, 5, 8, 13 bytes and so on. */
static fs_status_t read_in_pieces(const char *text, size_t size,
                                  fs_tool_matrix_t       *matrix,
                                  fs_tool_matrix_error_t *error)
{
    fs_tool_matrix_reader_t reader;
    fs_status_t             status = FS_OK;
    size_t                  at = 0, piece = 1, next = 2;

    fs_tool_matrix_init(&reader);
    while (status == FS_OK && at < size) {
        size_t len = piece < size - at ? piece : size - at;

        status = fs_tool_matrix_feed(&reader, text + at, len);
        at += len;
        next += piece;
        piece = next - piece;
    }
    if (status == FS_OK) {
        status = fs_tool_matrix_end(&reader, matrix);
    }
    *error = reader.error;
    fs_tool_matrix_fini(&reader);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char            *text  = (const char *)data;
    fs_tool_matrix_t       whole = {0, NULL}, pieces = {0, NULL};
    fs_tool_matrix_error_t error, other;
    fs_status_t status = fs_tool_matrix_read(text, size, &whole, &error);

    fuzz_must(read_in_pieces(text, size, &pieces, &other) == status,
              "pieces end otherwise");
    if (status == FS_OK) {
        check_matrix(&whole);
        fuzz_must(whole.n == pieces.n, "pieces have other rows");
        fuzz_must(memcmp(whole.bytes, pieces.bytes,
                         (size_t)whole.n * whole.n * sizeof(uint64_t)) == 0,
                  "pieces have other bytes");
    } else {
        fuzz_must(status == FS_ERR_INVAL, "an odd status");
        check_error(&error, text, size);
        fuzz_must(error.line == other.line && error.column == other.column,
                  "pieces fail elsewhere");
        fuzz_must(strcmp(error.why, other.why) == 0,
                  "pieces fail for another reason");
    }
    free(whole.bytes);
    free(pieces.bytes);
    return 0;
}
