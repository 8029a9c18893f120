/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix from a file or from standard input, piece by piece. */
#include "tools/fs_tool.h"
#include "tools/fs_tool_progress.h"
#include "tools/fs_tool_traffic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 1 << 16, NAME_LEN = 512 };

static uint64_t file_size(FILE *file)
{
    struct stat status;

    return fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode)
               ? (uint64_t)status.st_size
               : 0;
}

/* Feed all of it. FS_ERR_HOST: reading failed, see errno. */
static fs_status_t feed(FILE *file, fs_tool_matrix_reader_t *reader)
{
    fs_tool_progress_t *progress =
        fs_tool_progress_begin("reading the matrix", file_size(file));
    static const size_t piece = PIECE;
    char                text[PIECE];
    uint64_t            done   = 0;
    fs_status_t         status = FS_OK;
    size_t              len;

    while (status == FS_OK && (len = fread(text, 1, piece, file)) > 0) {
        status = fs_tool_matrix_feed(reader, text, len);
        done += len;
        fs_tool_progress_at(progress, done);
    }
    fs_tool_progress_end(progress);
    return status == FS_OK && ferror(file) ? FS_ERR_HOST : status;
}

static int report(const char *name, const fs_tool_matrix_reader_t *reader,
                  fs_status_t status)
{
    if (status == FS_ERR_HOST) {
        return fs_tool_bad("%s: %s", name, strerror(errno));
    }
    if (status == FS_ERR_INVAL) {
        return fs_tool_bad(
            "%s:%llu:%llu: %s", name, (unsigned long long)reader->error.line,
            (unsigned long long)reader->error.column, reader->error.why);
    }
    return fs_tool_status(name, status);
}

const char *fs_tool_file_name(const char *path, char *out, size_t out_len)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;

    return fs_tool_quote(name, strlen(name), out, out_len);
}

int fs_tool_matrix_file(const char *path, fs_tool_matrix_t *matrix_p)
{
    bool                    is_stdin = strcmp(path, "-") == 0;
    FILE                   *file     = is_stdin ? stdin : fopen(path, "rb");
    fs_tool_matrix_reader_t reader;
    fs_status_t             status;
    char                    name[NAME_LEN];

    fs_tool_file_name(path, name, sizeof(name));
    if (file == NULL) {
        return fs_tool_bad("%s: %s", name, strerror(errno));
    }
    fs_tool_matrix_init(&reader);
    status = feed(file, &reader);
    if (status == FS_OK) {
        status = fs_tool_matrix_end(&reader, matrix_p);
    }
    fs_tool_matrix_fini(&reader);
    if (status != FS_OK) {
        report(name, &reader, status);
    }
    if (!is_stdin) {
        fclose(file);
    }
    return status == FS_OK          ? FS_TOOL_OK
           : status == FS_ERR_NOMEM ? FS_TOOL_FAILED
                                    : FS_TOOL_BAD;
}
