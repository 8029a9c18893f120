/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz the matrix reader: whatever the bytes, it ends with a matrix that is
 * square and not too large, or with a place and a reason. */
#include "fuzz_input.h"
#include "base/fs_matrix.h"

#include <string.h>

static void check_matrix(const fs_matrix_t *matrix)
{
    uint64_t sum = 0;

    fuzz_must(matrix->n >= 1 && matrix->n <= FS_MATRIX_MAX_ROWS,
              "rows out of range");
    for (size_t k = 0; k < (size_t)matrix->n * matrix->n; ++k) {
        fuzz_must(matrix->bytes[k] <= FS_MATRIX_MAX_SUM - sum,
                  "the sum passes 2^62");
        sum += matrix->bytes[k];
    }
}

/* The error is inside the text, or right behind it, and is one line. */
static void check_error(const fs_matrix_error_t *error, const char *text,
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char       *text   = (const char *)data;
    fs_matrix_t       matrix = {0, NULL};
    fs_matrix_error_t error;
    FILE             *file = size == 0 ? fopen("/dev/null", "r")
                                       : fmemopen((void *)data, size, "r");
    fs_status_t       status;

    fuzz_must(file != NULL, "no file");
    status = fs_matrix_read(file, NULL, &matrix, &error);
    fclose(file);
    if (status == FS_OK) {
        check_matrix(&matrix);
    } else {
        fuzz_must(status == FS_ERR_INVAL, "an odd status");
        check_error(&error, text, size);
    }
    free(matrix.bytes);
    return 0;
}
