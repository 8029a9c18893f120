/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of text in the making; what does not fit is left out. */
#ifndef FS_STRBUF_H
#define FS_STRBUF_H

#include <stddef.h>

typedef struct fs_strbuf {
    char  *text; /* the caller's, len bytes; always terminated */
    size_t len;
    size_t used;
} fs_strbuf_t;

/* Append, as printf does. */
void fs_strbuf_add(fs_strbuf_t *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append 2^log2, log2 69 at most, with a suffix: 16777216 is "16m". */
void fs_strbuf_add_size(fs_strbuf_t *line, unsigned log2);

#endif
