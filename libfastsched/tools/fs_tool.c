/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages, exit codes and time. */
#include "tools/fs_tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void complain(const char *format, va_list args)
{
    fputs("fastsched: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int fs_tool_bad(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(format, args);
    va_end(args);
    return FS_TOOL_BAD;
}

int fs_tool_failed(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(format, args);
    va_end(args);
    return FS_TOOL_FAILED;
}

int fs_tool_status(const char *what, fs_status_t status)
{
    if (status == FS_ERR_INVAL || status == FS_ERR_OVERFLOW) {
        return fs_tool_bad("%s: %s", what, fs_strerror(status));
    }
    return fs_tool_failed("%s: %s", what, fs_strerror(status));
}

const char *fs_tool_quote(const char *text)
{
    static char out[256];
    size_t      n = 0;

    for (; *text != '\0'; ++text) {
        unsigned char byte  = (unsigned char)*text;
        bool          plain = byte >= ' ' && byte < 0x7f;

        /* Room for this one, for "..." and for the end. */
        if (n + (plain ? 1 : 4) + 4 > sizeof(out)) {
            memcpy(out + n, "...", 4);
            return out;
        }
        n += (size_t)snprintf(out + n, sizeof(out) - n,
                              plain ? "%c" : "\\x%02x", byte);
    }
    out[n] = '\0';
    return out;
}

int fs_tool_finish(int rc)
{
    bool lost = fflush(stdout) != 0 || ferror(stdout) != 0;

    if (lost && rc == FS_TOOL_OK) {
        return fs_tool_failed("cannot write to standard output: %s",
                              errno != 0 ? strerror(errno) : "unknown error");
    }
    return rc;
}

uint64_t fs_tool_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
