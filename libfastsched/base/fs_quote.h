/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FS_QUOTE_H
#define FS_QUOTE_H

#include <stddef.h>

/* Text for a message, in out: what is not printable ASCII becomes \xNN, what
 * does not fit in len bytes, eight or more, "...". Returns out. */
const char *fs_quote(const char *text, char *out, size_t len);

/* A name for a file, in out: what is no letter, digit, "_" or "." becomes "-";
 * nothing becomes "comm", what does not fit is left out. Returns out. */
const char *fs_quote_file(const char *text, char *out, size_t len);

#endif
