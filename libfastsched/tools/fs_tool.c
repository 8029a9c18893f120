/* SPDX-License-Identifier: BSD-3-Clause */
/* How the command ends, and time. */
#include "tools/fs_tool.h"

#include "base/fs_quote.h"
#include "tools/fs_tool_progress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Noreturn void end(int rc, const char *format, va_list args)
{
    fs_tool_progress_end();
    fputs("fastsched: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(rc);
}

void fs_tool_bad(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    end(FS_TOOL_BAD, format, args);
}

void fs_tool_failed(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    end(FS_TOOL_FAILED, format, args);
}

void fs_tool_must(fs_status_t status, const char *what)
{
    if (status == FS_ERR_INVAL || status == FS_ERR_OVERFLOW) {
        fs_tool_bad("%s: %s", what, fs_strerror(status));
    }
    if (status != FS_OK) {
        fs_tool_failed("%s: %s", what, fs_strerror(status));
    }
}

void *fs_tool_calloc(size_t n, size_t elem_bytes)
{
    void *memory = calloc(n == 0 ? 1 : n, elem_bytes);

    if (memory == NULL) {
        fs_tool_failed("%s", fs_strerror(FS_ERR_NOMEM));
    }
    return memory;
}

const char *fs_tool_quote(const char *text)
{
    static char out[256];

    return fs_quote(text, out, sizeof(out));
}

void fs_tool_finish(void)
{
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        fs_tool_failed("cannot write to standard output: %s",
                       errno != 0 ? strerror(errno) : "unknown error");
    }
    exit(FS_TOOL_OK);
}

uint64_t fs_tool_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

double fs_tool_median_us(uint64_t *times, uint32_t n)
{
    qsort(times, n, sizeof(*times), compare_times);
    return (double)(times[(n - 1) / 2] + times[n / 2]) / 2000;
}
