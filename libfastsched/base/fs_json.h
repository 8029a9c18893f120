/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON, written as it is made: nothing is kept but the nesting. */
#ifndef FS_JSON_H
#define FS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FS_JSON_DEPTH = 8 };

typedef struct fs_json {
    FILE    *out;
    unsigned wrap;  /* what is nested less deep has a line for each member */
    unsigned depth; /* open objects and arrays */
    uint64_t n[FS_JSON_DEPTH + 1]; /* members so far, by depth */
    char     close[FS_JSON_DEPTH + 1];
} fs_json_t;

/* wrap 0: everything in one line. */
void fs_json_init(fs_json_t *json, FILE *out, unsigned wrap);

/* key is NULL for members of an array and for the outermost value. Keys are
 * written as they are. kind: '{' or '['. After the outermost value has been
 * closed comes a newline. */
void fs_json_open(fs_json_t *json, const char *key, char kind);
void fs_json_close(fs_json_t *json);

void fs_json_u64(fs_json_t *json, const char *key, uint64_t value);
/* An array of n numbers, in one line. */
void fs_json_u64s(fs_json_t *json, const char *key, size_t n,
                  const uint64_t *values);
/* The value over 1000, exactly. */
void fs_json_milli(fs_json_t *json, const char *key, uint64_t value);
/* Not a number, or infinite: null. */
void fs_json_real(fs_json_t *json, const char *key, double value, int decimals);
void fs_json_bool(fs_json_t *json, const char *key, bool value);
/* Quotes, backslashes, control characters and bytes above 126 are escaped.
 * NULL: null. */
void fs_json_text(fs_json_t *json, const char *key, const char *text);
/* As printf() does; what comes of it is cut to 99 characters. */
void fs_json_say(fs_json_t *json, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
