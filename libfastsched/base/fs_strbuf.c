/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fs_strbuf.h"

#include "base/fs_arith.h"

#include <stdarg.h>
#include <stdio.h>

void fs_strbuf_add(fs_strbuf_t *line, const char *format, ...)
{
    va_list args;
    int     n;

    va_start(args, format);
    n = vsnprintf(line->text + line->used, line->len - line->used, format,
                  args);
    va_end(args);
    if (n > 0) {
        line->used = fs_u64_min(line->used + (size_t)n, line->len - 1);
    }
}

void fs_strbuf_add_size(fs_strbuf_t *line, unsigned log2)
{
    static const char *const units[] = {"", "k", "m", "g", "t", "p", "e"};

    fs_strbuf_add(line, "%u%s", 1u << log2 % 10, units[log2 / 10]);
}
