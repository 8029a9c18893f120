/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of text in the making; what does not fit is left out. */
#ifndef FS_LINE_H
#define FS_LINE_H

#include <stddef.h>

typedef struct fs_line {
    char  *text; /* the caller's, len bytes; always terminated */
    size_t len;
    size_t used;
} fs_line_t;

/* Append, as printf does. */
void fs_line_say(fs_line_t *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
