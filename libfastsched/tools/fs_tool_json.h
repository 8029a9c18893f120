/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON, written as it is made: nothing is kept but the nesting. */
#ifndef FS_TOOL_JSON_H
#define FS_TOOL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { FS_TOOL_JSON_DEPTH = 8 };

typedef struct fs_tool_json {
    FILE    *out;
    unsigned wrap;  /* what is nested less deep has a line for each member */
    unsigned depth; /* open objects and arrays */
    uint64_t n[FS_TOOL_JSON_DEPTH + 1]; /* members so far, by depth */
    char     close[FS_TOOL_JSON_DEPTH + 1];
} fs_tool_json_t;

/* wrap 0: everything in one line. */
void fs_tool_json_init(fs_tool_json_t *json, FILE *out, unsigned wrap);

/* key is NULL for members of an array and for the outermost value. Keys are
 * written as they are. kind: '{' or '['. After the outermost value has been
 * closed comes a newline. */
void fs_tool_json_open(fs_tool_json_t *json, const char *key, char kind);
void fs_tool_json_close(fs_tool_json_t *json);

void fs_tool_json_u64(fs_tool_json_t *json, const char *key, uint64_t value);
/* Not a number, or infinite: null. */
void fs_tool_json_real(fs_tool_json_t *json, const char *key, double value,
                       int decimals);
void fs_tool_json_bool(fs_tool_json_t *json, const char *key, bool value);
void fs_tool_json_null(fs_tool_json_t *json, const char *key);
/* Quotes, backslashes, control characters and bytes above 126 are escaped. */
void fs_tool_json_text(fs_tool_json_t *json, const char *key, const char *text);

#endif
