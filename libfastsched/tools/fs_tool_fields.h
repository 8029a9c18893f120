/* SPDX-License-Identifier: BSD-3-Clause */
/* A small JSON object: its members, those of objects inside it among them. */
#ifndef FS_TOOL_FIELDS_H
#define FS_TOOL_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FS_TOOL_MAX_FIELDS = 32 };

typedef struct fs_tool_field {
    const char *key, *value; /* into the text */
    size_t      key_len, value_len;
    bool        is_text; /* value is without its quotes, escapes as they are */
} fs_tool_field_t;

typedef struct fs_tool_fields {
    size_t          n;
    fs_tool_field_t list[FS_TOOL_MAX_FIELDS];
} fs_tool_fields_t;

/* text is borrowed while fields are in use. No arrays, no more fields than
 * there is room for, nothing after the object. NULL, or what is wrong. */
const char *fs_tool_fields_read(const char *text, fs_tool_fields_t *fields);

/* The last of that name; false: there is none, or it is not what was asked for.
 * A time is microseconds with up to three decimals, and becomes nanoseconds. */
bool fs_tool_fields_u64(const fs_tool_fields_t *fields, const char *key,
                        uint64_t *value_p);
bool fs_tool_fields_time(const fs_tool_fields_t *fields, const char *key,
                         uint64_t *ns_p);
/* Cut to what fits. */
bool fs_tool_fields_text(const fs_tool_fields_t *fields, const char *key,
                         char *text, size_t text_len);
bool fs_tool_fields_is(const fs_tool_fields_t *fields, const char *key,
                       const char *text);

/* The same of one field. */
bool fs_tool_field_time(const fs_tool_field_t *field, uint64_t *ns_p);
bool fs_tool_field_is_named(const fs_tool_field_t *field, const char *key);

#endif
